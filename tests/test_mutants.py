"""Each check passes right answers that differ, and tells each typical mistake by its name.

Answers that are Triton kernels need a process of their own: `TRITON_INTERPRET=1 pytest` with this file
runs them in the interpreter, `TRITON_INTERPRET=0` on a GPU, and a plain run starts the first.
"""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from utils.checks.core import Check, Mistake
from utils.device import trouble

FOLDER = Path(__file__).parent / "mutants"
KERNELS = "TRITON_INTERPRET" in os.environ
LESSONS = sorted(
    path.stem
    for path in FOLDER.glob("*.py")
    if ("import triton" in path.read_text(encoding="utf-8")) == KERNELS
)


def load(lesson: str):
    """Return the check module of a lesson and the module with its right and wrong answers."""
    spec = importlib.util.spec_from_file_location(f"mutants_{lesson}", FOLDER / f"{lesson}.py")
    answers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(answers)
    return importlib.import_module(f"utils.checks.{lesson}"), answers


def checks_of(module) -> dict[str, Check]:
    return {name: value for name, value in vars(module).items() if isinstance(value, Check)}


def right_answers():
    for lesson in LESSONS:
        module, answers = load(lesson)
        for name, attempts in answers.RIGHT.items():
            for number, attempt in enumerate(attempts):
                yield pytest.param(module, name, attempt, id=f"{lesson}-{name}-{number}")


def wrong_answers():
    for lesson in LESSONS:
        module, answers = load(lesson)
        for name, mistakes in answers.WRONG.items():
            for key, attempts in mistakes.items():
                for number, attempt in enumerate(attempts):
                    yield pytest.param(
                        module, name, key, attempt, id=f"{lesson}-{name}-{key}-{number}"
                    )


def definitions():
    for lesson in LESSONS:
        module, answers = load(lesson)
        for name, check in checks_of(module).items():
            yield pytest.param(check, answers, id=f"{lesson}-{name}")


@pytest.mark.parametrize(("module", "name", "attempt"), list(right_answers()))
def test_a_right_answer_passes(module, name, attempt):
    result = getattr(module, name).examine(attempt)
    assert result.state == "passed", result.message


@pytest.mark.parametrize(("module", "name", "key", "attempt"), list(wrong_answers()))
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_wrong_answer_is_told_by_its_name(module, name, key, attempt, language, monkeypatch):
    monkeypatch.setenv("COURSE_LANGUAGE", language)
    check = getattr(module, name)
    result = check.examine(attempt)
    assert (result.state, result.mistake) == ("failed", key), result.message
    if check.build().show_all:
        cases = check.build().cases
        missing = [case.args[0] for case in cases if case.args[0] not in attempt]
        assert any(told in result.message for told in missing or [case.says for case in cases])
    intended = [m for m in check.build().mistakes if m.key == key]
    assert all(m.says in result.message and m.kind == result.kind for m in intended)


@pytest.mark.parametrize(("check", "answers"), list(definitions()))
def test_each_typical_mistake_has_a_mutant_and_each_check_two_right_answers(check, answers):
    exercise = check.build()
    assert {m.key for m in exercise.mistakes} <= set(answers.WRONG[check.name])
    assert len(answers.RIGHT[check.name]) >= (1 if exercise.show_all else 2)
    assert all(
        isinstance(m, Mistake) and m.kind in ("algebra", "floats", "") for m in exercise.mistakes
    )


@pytest.mark.parametrize(("check", "answers"), list(definitions()))
def test_messages_exist_in_both_languages(check, answers, monkeypatch):
    spoken = {}
    for language in ("en", "zh"):
        monkeypatch.setenv("COURSE_LANGUAGE", language)
        exercise = check.build()
        spoken[language] = [case.says for case in exercise.cases]
        spoken[language] += [mistake.says for mistake in exercise.mistakes]
    assert all(en != zh for en, zh in zip(spoken["en"], spoken["zh"], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["2027a", "2027b", "autumn"])
def test_checks_of_other_terms_tell_right_from_wrong(seed, monkeypatch):
    """What a variant draws must serve as well; its letters are tested with the assignments."""
    monkeypatch.setenv("COURSE_VARIANT", seed)
    for case in right_answers():
        module, name, attempt = case.values
        if name != "judge":
            result = getattr(module, name).examine(attempt)
            assert result.state == "passed", result.message
    for case in wrong_answers():
        module, name, key, attempt = case.values
        if name != "judge":
            result = getattr(module, name).examine(attempt)
            assert (result.state, result.mistake) == ("failed", key), result.message


@pytest.mark.skipif(KERNELS, reason="this is the process that it starts")
def test_answers_that_are_kernels_in_the_interpreter():
    if problem := trouble(None):
        pytest.skip(problem)
    options = ["-q", "-rfE", "-m", "not slow", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, __file__],
        env=os.environ | {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    print(run.stdout, run.stderr)
    assert run.returncode == 0, "the run above failed"
