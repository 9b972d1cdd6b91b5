"""The whole way of nbgrader, on what students hand in: each gets exactly the points it earned."""

import copy
import csv
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from authoring.assignment import build_assignment
from tests.authoring.submissions import ALL, MARKS, POINTS, SLUG, cell_of, filled, submissions
from tests.authoring.workshop import OVERLAY

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def nbgrader(course: Path, *command: str, code: int = 0, **env: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        [sys.executable, "-m", "nbgrader", *command],
        cwd=course,
        env={**os.environ, "PATH": path, **env},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert run.returncode == code, run.stderr
    return run.stderr


def read(course: Path, step: str, slug: str = SLUG):
    return nbformat.read(course / step / slug / f"{slug}.ipynb", as_version=4)


def hand_in(course: Path, student: str, nb, name: str = SLUG, slug: str = SLUG) -> None:
    folder = course / "submitted" / student / slug
    folder.mkdir(parents=True)
    (folder / f"{name}.ipynb").write_text(nbformat.writes(nb), encoding="utf-8")


def make_course(folder: Path, language: str, seconds: int) -> Path:
    course = build_assignment(ROOT, SLUG, language, into=folder, report=lambda _: None)
    settings = course / "nbgrader_config.py"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(f"{text}\nc.Execute.timeout = {seconds}\n", encoding="utf-8")
    return course


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Return the course folder after the whole flow, and what each student handed in."""
    course = make_course(tmp_path_factory.mktemp("course"), "en", 8)
    handed_in = submissions(read(course, "release"), read(course, "source"))
    for student, (nb, _) in handed_in.items():
        hand_in(course, student, nb)
    nbgrader(course, "autograde", SLUG)
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        for student, points in MARKS.items():
            grade = book.find_grade(f"{SLUG}-induction", SLUG, SLUG, student)
            assert grade.needs_manual_grade
            grade.manual_score, grade.needs_manual_grade = points, False
        book.db.commit()
    nbgrader(course, "generate_feedback", SLUG)
    nbgrader(course, "export", "--to", "grades.csv")
    return course, handed_in


def test_each_submission_gets_exactly_the_points_it_earned(graded):
    course, handed_in = graded
    with (course / "grades.csv").open(encoding="utf-8") as file:
        got = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert got == {student: points for student, (_, points) in handed_in.items()}


def test_nobody_waits_for_a_teacher_but_whose_written_answer_is_lost(graded):
    course, handed_in = graded
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        waiting = {s for s in handed_in if book.find_submission(SLUG, s).needs_manual_grade}
    assert waiting == {"plain"}


def test_feedback_shows_why(graded):
    course, handed_in = graded
    pages = {s: course / "feedback" / s / SLUG / f"{SLUG}.html" for s in handed_in}
    text = {student: page.read_text(encoding="utf-8") for student, page in pages.items()}
    assert "the old l is not rescaled" in text["wrong"]
    assert "Not counted: the kernel died" in text["dies"]
    assert "5 of 5 exercises passed" in text["perfect"]
    assert all("_fresh_check" not in page for page in text.values())


def test_the_release_has_neither_answers_nor_model_answers(graded):
    course, _ = graded
    release, source = read(course, "release"), read(course, "source")
    text = nbformat.writes(release)
    assert "### BEGIN" not in text and "model answer" not in text
    assert "A model answer" in cell_of(source, "induction").source
    assert cell_of(release, "induction").source == "*Write your answer here.*"
    assert "...  # your turn" in cell_of(release, "merge").source


def test_a_chinese_course_on_a_machine_without_utf8(tmp_path):
    course = make_course(tmp_path, "zh", 30)
    release, source = read(course, "release"), read(course, "source")
    hand_in(course, "li", release, f"{SLUG} (1)")  # a wrong name: stops none of the others
    hand_in(course, "wang", filled(release, source, POINTS))
    c = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert "submitted/li" in nbgrader(course, "autograde", SLUG, code=1, **c)
    nbgrader(course, "generate_feedback", SLUG, **c)
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        assert book.find_submission(SLUG, "wang").score == ALL
    page = course / "feedback" / "wang" / SLUG / f"{SLUG}.html"
    assert "通过 5/5 个练习" in page.read_text(encoding="utf-8")


def test_hidden_tests_and_exercises_of_an_overlay_count(graded_workshop):
    slug = "01_sums"
    graded_workshop.write("private/01_sums.py", OVERLAY)
    course = build_assignment(graded_workshop.root, slug, "en", report=lambda _: None)
    release, source = (read(course, step, slug) for step in ("release", "source"))
    assert "private" not in nbformat.writes(release)
    hand_in(course, "full", source, slug, slug)
    two_only = "def add(xs):\n    return xs[0] + xs[1]"  # passes what the student sees
    hand_in(course, "part", replaced(source, "def add", two_only), slug, slug)
    hand_in(course, "blank", release, slug, slug)
    nbgrader(course, "autograde", slug)
    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        marks = {s: book.find_submission(slug, s).score for s in ("full", "part", "blank")}
    assert marks == {"full": 3, "part": 1, "blank": 0}


def replaced(nb, start: str, text: str):
    nb = copy.deepcopy(nb)
    (cell,) = [cell for cell in nb.cells if cell.source.startswith(start)]
    cell.source = text
    return nb
