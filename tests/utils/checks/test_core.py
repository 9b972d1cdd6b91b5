"""The checker: three states, the smallest failing case, the likely mistake, strict mode."""

import types

import numpy as np
import pytest

from utils.checks.core import Case, Check, Exercise, Mistake, progress
from utils.checks.source import Named

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


LETTERS = Check(
    "judge",
    lambda: Exercise(
        cases=[Case(f"{key}: why", (key,), True, kind="") for key in "abc"],
        use=lambda answers, key: answers[key],
        show_all=True,
    ),
)


@pytest.mark.parametrize(
    ("language", "asks"), [("en", "no answer to a, c. Add"), ("zh", "没有回答 a、c。请")]
)
def test_a_letter_that_is_missing_is_named_and_its_answer_is_not_told(language, asks, monkeypatch):
    monkeypatch.setenv("COURSE_LANGUAGE", language)
    result = LETTERS.examine({"b": True})
    assert result.state == "failed" and asks in result.message and '"a": ...' in result.message
    assert "KeyError" not in result.message and "why" not in result.message


def test_a_key_that_is_no_letter_is_named():
    message = LETTERS.examine({"a": True, "B": True, "c": True}).message
    assert "no answer to b" in message and "'B' is none of a, b, c" in message


@pytest.mark.parametrize(("language", "asks"), [("en", "not a list"), ("zh", "不是 list")])
def test_answers_that_are_no_dictionary_are_named(language, asks, monkeypatch):
    monkeypatch.setenv("COURSE_LANGUAGE", language)
    message = LETTERS.examine([True, True, True]).message
    assert asks in message and '{"a": ..., "b": ..., "c": ...}' in message


def test_errors_with_a_name_are_the_same_mistake_whatever_they_say():
    class Slipped(Named):
        """A slip that the check looks for."""

    def slip(says):
        def attempt(x):
            raise Slipped(says)

        return attempt

    check = Check(
        "slips",
        lambda: Exercise(
            [Case("one", (1,), 1)], [Mistake("slipped", "", slip("model"), "you slipped")]
        ),
    )
    result = check.examine(slip("learner"))
    assert result.mistake == "slipped" and "learner" in result.message
    assert check.examine(raising).mistake == ""


@pytest.mark.parametrize(
    ("language", "first"), [("en", "first at [1, 0, 11]"), ("zh", "第一处在 [1, 0, 11]")]
)
def test_of_three_axes_the_first_difference_is_shown(language, first, monkeypatch):
    monkeypatch.setenv("COURSE_LANGUAGE", language)
    right = np.arange(3 * 16 * 16.0).reshape(3, 16, 16)
    wrong = right.copy()
    wrong[1, 0, 11:], wrong[2] = 7.25, 0
    check = Check("cube", lambda: Exercise([Case("three axes", (), right)]))
    message = check.examine(lambda: wrong).message
    assert first in message and "261" in message and "267, " in message and "7.25" in message
    assert "[1, 0, 8:16]" in message and len(message.splitlines()) <= 8
    for attempt in (raising, lambda: wrong[:2], lambda: None):
        assert len(check.examine(attempt).message.splitlines()) <= 8
