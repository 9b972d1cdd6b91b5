"""The checker: three states, the smallest failing case, the likely mistake, strict mode."""

import types
from fractions import Fraction

import numpy as np
import pytest

from utils.checks.core import Case, Check, Exercise, Mistake, differ, progress

DOUBLE = Check(
    "double",
    lambda: Exercise(
        cases=[
            Case("zero", (0,), 0),
            Case("three", (3,), 6),
            Case("large", (1e308,), np.inf, kind="floats"),
        ],
        mistakes=[
            Mistake("squared", "algebra", lambda x: x**2, "this is the square"),
            Mistake("clipped", "floats", lambda x: min(2 * x, 1e308), "clipped"),
            Mistake("raises", "algebra", lambda x: [][int(x)], "an index, not a product"),
        ],
    ),
)


def stub(x): ...  # your turn


def test_a_stub_is_not_attempted():
    assert DOUBLE.examine(stub).state == "not attempted"
    assert DOUBLE.examine(...).state == "not attempted"
    assert DOUBLE.examine({"a": ..., "b": True}).state == "not attempted"


def test_the_first_failing_case_is_shown_with_the_likely_mistake():
    result = DOUBLE.examine(lambda x: x * x)
    assert (result.state, result.mistake, result.kind) == ("failed", "squared", "algebra")
    assert "three" in result.message and "this is the square" in result.message
    assert "6" in result.message and "9" in result.message


def test_a_mistake_that_only_floats_show_says_so():
    result = DOUBLE.examine(lambda x: min(x + x, 1e308))
    assert (result.mistake, result.kind) == ("clipped", "floats")
    assert "only in floating point" in result.message


def test_an_unknown_mistake_is_not_given_a_name():
    result = DOUBLE.examine(lambda x: 7)
    assert (result.state, result.mistake) == ("failed", "")
    assert "Likely mistake" not in result.message


def raising(x):
    numbers = []
    return numbers[x]


def test_what_the_learner_raised_is_shown_with_their_line_and_none_of_ours():
    result = DOUBLE.examine(raising)
    assert "IndexError" in result.message and "return numbers[x]" in result.message
    assert "core.py" not in result.message
    assert result.mistake == "raises"


def test_a_crash_that_nothing_explains_is_not_called_algebra():
    result = DOUBLE.examine(lambda x: undefined_name)  # noqa: F821
    assert "NameError" in result.message and "algebra" not in result.message


def test_returning_nothing_is_named():
    assert "None" in DOUBLE.examine(lambda x: None).message


def test_arguments_are_copies():
    data = [1, 2]
    check = Check("first", lambda: Exercise([Case("a list", (data,), 1)]))
    check.examine(lambda values: values.clear())
    assert data == [1, 2]


def test_language_of_the_message(monkeypatch):
    monkeypatch.setenv("COURSE_LANGUAGE", "zh")
    assert "可能的错误" in DOUBLE.examine(lambda x: x * x).message


def test_outside_grading_nothing_is_raised(monkeypatch, capsys):
    monkeypatch.delenv("COURSE_STRICT", raising=False)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    DOUBLE(lambda x: x * x)
    assert capsys.readouterr().out.startswith("✗ double")


@pytest.mark.parametrize("variable", ["COURSE_STRICT", "NBGRADER_EXECUTION"])
def test_grading_raises_unless_passed(variable, monkeypatch, capsys):
    monkeypatch.setenv(variable, "1")
    for attempt in (stub, lambda x: x * x):
        with pytest.raises(AssertionError):
            DOUBLE(attempt)
    assert capsys.readouterr().out == ""
    DOUBLE(lambda x: 2 * x)
    assert "passed" in capsys.readouterr().out


def test_warnings_of_an_attempt_stay_quiet(capfd):
    DOUBLE.examine(lambda x: np.float64(0) / np.float64(0))
    assert capfd.readouterr().err == ""


def test_progress_lists_every_exercise(monkeypatch, capsys):
    monkeypatch.delenv("COURSE_STRICT", raising=False)
    one, two = Check("one", DOUBLE.build), Check("two", DOUBLE.build)
    one(lambda x: 2 * x)
    capsys.readouterr()
    progress(types.SimpleNamespace(one=one, two=two))
    assert capsys.readouterr().out == "✓ one\n· two\n1 of 2 exercises passed\n"


@pytest.mark.parametrize(
    ("got", "expected", "tolerance"),
    [
        (np.float32(1.0), 1.0, 0.0),
        ([1, 2], np.array([1.0, 2.0]), 0.0),
        ([Fraction(1, 3)], np.array([Fraction(1, 3)], dtype=object), 0.0),
        (np.array([np.nan, -np.inf, 1]), np.array([np.nan, -np.inf, 1]), 0.0),
        (np.array([1 + 1e-8, np.inf]), np.array([1, np.inf]), 1e-6),
        ([(0, 3)], [(0, 3)], 0.0),
        (True, True, 0.0),
    ],
)
def test_equal_values(got, expected, tolerance):
    assert not differ(got, expected, tolerance)


@pytest.mark.parametrize(
    ("got", "expected", "tolerance"),
    [
        (np.ones((1, 2)), np.ones(2), 0.0),
        (1 / 3, Fraction(1, 3), 0.0),
        (np.array([np.inf]), np.array([1.0]), 1e-3),
        (np.array([np.nan]), np.array([1.0]), 1e-3),
        (np.array([1.1]), np.array([1.0]), 1e-3),
        ([(0, 3), (3, 4)], [(0, 3)], 0.0),
        (1, True, 0.0),
        ("1", 1, 0.0),
        (None, np.ones(2), 1e-3),
    ],
)
def test_different_values(got, expected, tolerance):
    assert differ(got, expected, tolerance)
