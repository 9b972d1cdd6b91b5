"""What the commands of the Makefile say before they do anything, and when they are done."""

import os
import subprocess
from pathlib import Path

import pytest

MAKEFILE = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
LESSON = "04_online_softmax"


@pytest.fixture
def make(tmp_path):
    """Return a function that runs make in an empty repository, as a person would in a terminal."""
    (tmp_path / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text("", encoding="utf-8")

    def run(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["make", "--no-print-directory", *arguments],
            cwd=tmp_path,
            env={k: v for k, v in os.environ.items() if not k.startswith("MAKE")},
            capture_output=True,
            text=True,
            encoding="utf-8",
        )

    return run


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("refused", "sentence"),
    [("version_info", "Python 3.11 or newer is needed"), ("ensurepip", "venv is missing")],
)
def test_make_env_stops_with_one_sentence(refused, sentence, make, tmp_path):
    python = program(tmp_path / "python", f'case "$2" in *{refused}*) exit 1;; esac')
    run = make("env", f"PYTHON={python}")
    assert run.returncode != 0
    assert run.stdout.count("\n") == 1 and sentence in run.stdout
    assert not (tmp_path / ".venv").exists()


@pytest.fixture
def marked(make, tmp_path):
    """Return (make grade with these settings, its course folder); nbgrader notes its calls.

    Its step `autograde` fails if the file `stuck` is there.
    """
    course = tmp_path / "marks"
    note = (
        f'echo "$@" >> "{tmp_path}/calls"; test "$1" != autograde || test ! -e "{tmp_path}/stuck"'
    )
    program(tmp_path / ".venv/bin/nbgrader", note)
    (tmp_path / ".venv/.ready").touch()
    return lambda: make("grade", f"LESSON={LESSON}", "COURSE_DIR=marks"), course


def hand_in(course: Path, lesson: str = LESSON) -> None:
    folder = course / "submitted" / "ada" / lesson
    folder.mkdir(parents=True)
    (folder / f"{lesson}.ipynb").write_text("{}", encoding="utf-8")


def refusal(run: subprocess.CompletedProcess, folder: Path) -> str:
    """Return the one line that a refused command says; nothing was graded."""
    assert run.returncode != 0
    assert not (folder / "calls").exists()
    (line,) = run.stdout.splitlines()
    return line


def test_make_grade_says_that_the_assignment_is_missing(marked, tmp_path):
    grade, course = marked
    hand_in(course)
    (course / "source" / "05_state_merging").mkdir(parents=True)
    assert refusal(grade(), tmp_path) == (
        f"{LESSON} is not in marks: first make assignment, with the same LESSON, LANGUAGE,"
        " VARIANT and COURSE_DIR"
    )


@pytest.mark.parametrize("empty", [False, True])
def test_make_grade_says_that_nothing_was_handed_in(empty, marked, tmp_path):
    grade, course = marked
    (course / "source" / LESSON).mkdir(parents=True)
    hand_in(course, "05_state_merging")
    if empty:
        (course / "submitted" / "li" / LESSON).mkdir(parents=True)
    said = refusal(grade(), tmp_path)
    assert said == f"nothing in marks/submitted/STUDENT/{LESSON}/ yet"


@pytest.mark.parametrize("stuck", [False, True])
def test_make_grade_ends_with_where_the_marks_are(stuck, marked, tmp_path):
    grade, course = marked
    (course / "source" / LESSON).mkdir(parents=True)
    hand_in(course)
    if stuck:
        (tmp_path / "stuck").touch()
    run = grade()
    assert run.returncode == 0, run.stderr
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert [call.split()[0] for call in calls] == ["autograde", "generate_feedback", "export"]
    assert ("Not all could be graded: see above" in run.stdout.splitlines()) == stuck
    marks, feedback = run.stdout.splitlines()[-2:]
    assert marks.startswith("Marks: marks/grades.csv (written answers count 0 until somebody")
    assert feedback == f"Feedback: marks/feedback/STUDENT/{LESSON}/{LESSON}.html"
