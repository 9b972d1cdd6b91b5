"""The concept test and the exam: their form, their points, and every number of the marking scheme."""

import re
from pathlib import Path

import numpy as np
import pytest

from utils.states import Normalised, finish, identity, merge_normalised, unnormalise, update
from utils.tiles import classify, tiles, visible
from utils.traffic import materialised_bytes, v2_bytes

TEACH = Path(__file__).parents[2] / "docs" / "teach"
LANGUAGES = ("en", "zh")


def read(language: str, name: str) -> str:
    return (TEACH / language / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("language", LANGUAGES)
def test_twelve_questions_of_four_options_and_a_key_for_each(language):
    asked = re.findall(
        r"^\*\*(\d+)\*\*.*\n\n((?:- \([A-D]\).*\n?)+)", read(language, "concept_test.md"), re.M
    )
    assert [int(number) for number, _ in asked] == list(range(1, 13))
    assert all(re.findall(r"^- \((\w)\)", o, re.M) == list("ABCD") for _, o in asked)
    key = re.findall(
        r"^\| (\d+) \| ([A-D]) \| (.*) \| ([\d,、 ]+) \|$",
        read(language, "concept_test_key.md"),
        re.M,
    )
    assert [int(number) for number, *_ in key] == list(range(1, 13))
    for _, right, reveals, _ in key:
        assert re.findall(r"\b([A-D])[:：]", reveals) == [x for x in "ABCD" if x != right]
    assert "".join(right for _, right, *_ in key) == "CDADCBACADBD"


def exam() -> dict[str, list[str]]:
    """Return the numbers that the marking scheme of each question must hold."""
    s, m, l, start = [0.0, 2, 1, 3], [], [], identity(1, 1)
    for score in s:
        start = update(start, [[score]], [[0]])
        m, l = [*m, f"{start.m[0]:.0f}"], [*l, f"{start.l[0]:.4f}"]
    tops = np.maximum.accumulate(s)
    tempting = [f"{x:.4f}" for x in np.cumsum(np.exp(np.array(s) - tops))]
    a = Normalised(np.zeros(1), np.array([2.0]), np.ones((1, 1)))
    b = Normalised(np.log([2.0]), np.array([2.0]), np.array([[4.0]]))
    out, lse = finish(unnormalise(merge_normalised(a, b)))
    values = [f"{x.l[0] * np.exp(x.m[0]):.0f}" for x in (a, b)]
    sizes = {"b_c": 64, "e": 2}
    by_height = [v2_bytes(4096, 4096, 128, 128, b_r=h, **sizes) for h in (64, 128)]
    naive = materialised_bytes(4096, 4096, 128, 128, b_r=64, **sizes)
    sign = {"full": "F", "boundary": "b", "skip": "."}
    kinds = [" ".join(sign[classify(r, c, offset=6)] for c in tiles(10, 4)) for r in tiles(4, 2)]
    pairs = [visible((0, 4), (0, 10), offset=delta).sum() for delta in (6, 0)]
    return {
        "E1": [str(len(tiles(10, 4)) * len(tiles(7, 3))), "2 × 1"],
        "E2": [" ".join(m), " ".join(l), " ".join(tempting)],
        "E3": [*values, f"{out[0, 0]:.4f}", f"{lse[0]:.4f}", f"{(1 + 4) / 2:.4f}"],
        "E5": [str(x["K"] + x["V"]) for x in by_height]
        + [
            str(naive["S"] + naive["P"]),
            *(str(4 * 4096**2 * 128 // (x["K"] + x["V"])) for x in by_height),
        ],  # fmt: skip
        "E6": [*kinds, *map(str, pairs)],
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_exam_has_sixty_points_and_right_numbers(language):
    questions, marking = read(language, "exam.md"), read(language, "exam_marking.md")
    for text in (questions, marking):
        heads = re.findall(r"^## (E\d) · .*[（(](\d+)[）)]$", text, re.MULTILINE)
        assert heads == [(f"E{n}", "10") for n in range(1, 7)]
    parts = questions.split("\n## ")[1:]
    for part in parts:
        points = re.findall(r"^- \(\w\).*[（(](\d+)[）)]$", part, re.MULTILINE)
        assert sum(map(int, points)) == 10, part
    answers = {part[:2]: part for part in marking.split("\n## ")[1:]}
    for question, numbers in exam().items():
        missing = [number for number in numbers if f"`{number}`" not in answers[question]]
        assert missing == [], question
