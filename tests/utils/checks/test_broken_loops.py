"""Lesson 06's black boxes: honest where they must be, exposed by what the lesson says, scored."""

import numpy as np
import pytest

from utils.checks.broken_loops import BOXES, honest, run, score, secrets, truth, verdict

HARMLESS = ([2, 2, 2, 2], [0, 1, 0, 1], 2)
RIGHT = {
    "a": ([0, 0, 3, 3], [1, 1, 0, 0], 2),
    "b": ([3, 3, 0, 0], [1, 1, 0, 0], 2),
    "c": ([0, 0, 3, 3], [1, 1, 0, 0], 2),
    "d": ([0, 0, 0], [0, 0, 1], 2),
    "e": ([-800, -801], [1, 0], 1),
    "f": ([0, 1, 2], [0, 0, 1], 1),
}


def exposed_by(attempt) -> str:
    return "".join(box for box in BOXES if verdict(box, attempt) == "exposed")


def test_a_harmless_input_exposes_none():
    assert exposed_by(HARMLESS) == ""


@pytest.mark.parametrize("seed", range(20))
def test_no_allowed_input_breaks_an_honest_loop(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    s, v = rng.uniform(-1, 1, (2, n)) * 10.0 ** rng.integers(0, 7, (2, n))
    for tile in range(1, n + 1):
        with np.errstate(under="ignore"):
            gap = abs(run(honest, s, v, tile) - truth(s, v))
        assert gap <= 1e-9 * max(1, np.abs(v).max())


@pytest.mark.parametrize(
    ("attempt", "boxes"),
    [
        (([0, 0, 3, 3], [1, 1, 0, 0], 2), "ac"),  # rising
        (([3, 3, 0, 0], [1, 1, 0, 0], 2), "bc"),  # falling
        (([0, 0, 0], [0, 0, 1], 2), "cd"),  # a ragged tail
        (([-800, -801], [1, 0], 1), "bce"),  # very low
        (([-800, -801], [1, 0], 2), "e"),
        (([0, 1, 2], [0, 0, 1], 1), "cf"),  # rising twice
        (([0, 1, 2], [1, 1, 1], 1), "a"),  # equal values hide wrong weights that add up to 1
        (([5], [1], 3), ""),
    ],
)
def test_each_input_exposes_what_it_can(attempt, boxes):
    assert exposed_by(attempt) == boxes


@pytest.mark.filterwarnings("error")
def test_boxes_take_lists_and_give_nan_without_a_warning():
    assert np.isnan(BOXES["e"]([-800, -801], [1, 0], 1))


@pytest.mark.parametrize(
    ("attempt", "says"),
    [
        (3, "(s, v, tile)"),
        (([1, 2], [1, 2]), "(s, v, tile)"),
        ((["x"], [1], 1), "(s, v, tile)"),
        (([1, 2], [1], 1), "equal length"),
        (([], [], 1), "equal length"),
        (([1, 2], [0, 1], 0), "whole number"),
        (([1, 2], [0, 1], True), "whole number"),
        (([1, np.nan], [0, 1], 1), "finite"),
        (([1, 2e6], [0, 1], 1), "finite"),
        (([1, 2], [1, 1], 1), "values are equal"),
        (([1, 2], [0, 1], 2), "one tile"),
        (([1, 1, 1, 1], [0, 1, 1, 0], 2), "scores are equal"),
        (([1, 2, 2, 1], [0, 1, 1, 0], 2), "other tile maxima"),
    ],
)
def test_an_input_that_exposes_nothing_is_told_why(attempt, says):
    assert says in verdict("c", attempt)


def test_the_score_counts_and_reveals_only_what_was_exposed(capsys):
    score({**RIGHT, "b": HARMLESS, "f": ...})
    printed = capsys.readouterr().out
    assert "4 of 6 exposed" in printed and printed.count("✓") == 4
    assert secrets()["a"] in printed and secrets()["b"] not in printed
    assert "✗ b: not exposed" in printed and "· f\n" in printed


def test_the_score_speaks_chinese(capsys, monkeypatch):
    monkeypatch.setenv("COURSE_LANGUAGE", "zh")
    score(RIGHT)
    assert "识破 6/6" in capsys.readouterr().out
