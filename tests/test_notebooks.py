"""The notebooks of the repository: what the sources say, and they run from top to bottom."""

import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

from authoring.build import FOLDERS, files_of, load, notebook, notebooks
from authoring.course import LANGUAGES, read_course
from authoring.execute import digest, kernel_environment

ROOT = Path(__file__).parents[1]
COURSE = read_course(ROOT)
SECONDS = 60  # for a whole notebook
ALONE = "import importlib.util; assert importlib.util.find_spec('utils') is None"
MARKS = {"en": (), "zh": (pytest.mark.slow,)}
LESSONS = [pytest.param(lesson, id=lesson.slug) for lesson in COURSE.lessons]
EACH = [
    pytest.param(
        lesson, language, kind, id=f"{lesson.slug}-{language}-{kind}", marks=MARKS[language]
    )
    for lesson in COURSE.lessons
    for language in LANGUAGES
    for kind in FOLDERS
]


def path_of(lesson, language: str, kind: str) -> Path:
    return ROOT / "notebooks" / language / FOLDERS[kind] / f"{lesson.slug}.ipynb"


def committed(lesson, language: str, kind: str):
    return nbformat.read(path_of(lesson, language, kind), as_version=4)


def without_runs(nb):
    """Return a notebook without what an execution adds."""
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nb.metadata.course.pop("digest", None)
    return nb


@pytest.mark.parametrize("lesson", LESSONS)
def test_committed_notebooks_are_those_of_the_sources(lesson):
    fresh = dict(notebooks(COURSE, lesson, load(ROOT, lesson), LANGUAGES))
    for path, nb in fresh.items():
        assert without_runs(nbformat.read(path, as_version=4)) == nb, f"{path}: run make notebooks"


@pytest.mark.parametrize("lesson", LESSONS)
def test_committed_outputs_belong_to_this_code(lesson):
    cells = load(ROOT, lesson)
    for language in LANGUAGES:
        nb = committed(lesson, language, "solution")
        files = files_of(COURSE, lesson, cells)
        assert nb.metadata.course.get("digest") == digest(nb, files), "run make notebooks"


def test_no_notebook_is_left_over():
    expected = {path_of(*each.values) for each in EACH}
    assert set((ROOT / "notebooks").rglob("*.ipynb")) == expected


def test_every_source_is_listed():
    listed = {lesson.source for lesson in COURSE.lessons}
    assert set((ROOT / "lessons_src").glob("*.py")) == listed


@pytest.mark.parametrize("lesson", LESSONS)
def test_learners_notebooks_have_no_answers_and_no_outputs(lesson):
    for language in LANGUAGES:
        for cell in committed(lesson, language, "learner").cells:
            assert "### " not in cell.source or cell.cell_type == "markdown"
            assert not cell.get("outputs")


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("kind", FOLDERS)
def test_code_but_for_the_first_cell_is_the_same_in_both_languages(lesson, kind):
    en, zh = (
        [c.source for c in committed(lesson, language, kind).cells if c.cell_type == "code"]
        for language in LANGUAGES
    )
    assert en[1:] == zh[1:] and en[0] != zh[0]


@pytest.mark.parametrize("lesson", LESSONS)
def test_committed_outputs_hold_pictures_and_no_warning_error_or_path(lesson):
    for language in LANGUAGES:
        nb = committed(lesson, language, "solution")
        for cell in nb.cells:
            for out in cell.get("outputs", ()):
                assert out.output_type != "error" and out.get("name") != "stderr", cell.source
                data = out.get("data", {})
                figure = data.get("text/plain", "").startswith("<Figure size")
                assert not figure or "image/png" in data, f"no picture is shown: {cell.source}"
                assert "/ipykernel_" not in str(out) and str(ROOT) not in str(out), cell.source


@pytest.mark.parametrize(("lesson", "language", "kind"), EACH)
def test_it_runs_from_top_to_bottom(lesson, language, kind, tmp_path):
    """In an empty folder: alone if it is a learner's that holds its files, else beside `utils`."""
    nb = committed(lesson, language, kind)
    if lesson.device != "cpu" and kind == "learner":
        nb.cells.insert(0, new_code_cell(ALONE))
    else:
        (tmp_path / "utils").symlink_to(ROOT / "utils")
    run(nb, tmp_path)


@pytest.mark.parametrize("lesson", [p for p in LESSONS if p.values[0].device == "cpu"])
def test_the_single_file_of_a_lesson_for_the_cpu_runs_alone(lesson, tmp_path):
    """As those above that hold their files; tests/colab runs both languages of every lesson."""
    nb = notebook(COURSE, lesson, load(ROOT, lesson), "en", "learner", alone=True)
    nb.cells.insert(0, new_code_cell(ALONE))
    run(nb, tmp_path)


def run(nb, folder: Path) -> None:
    """Run a notebook in a folder, within the time that a notebook may take."""
    client = NotebookClient(
        nb,
        timeout=SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--log-level=40"],
    )
    start = time.monotonic()
    client.execute(env=kernel_environment())
    assert time.monotonic() - start < SECONDS
