"""A lesson as an nbgrader assignment: a course folder with source, release and settings."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat

from authoring.build import Plan, canonical, notebook, prepare, write_all
from authoring.course import Course, Lesson
from authoring.editions import ANSWER, STUB
from authoring.embed import fill
from authoring.errors import SourceError
from authoring.form import check_form
from authoring.overlay import with_overlay
from authoring.read import Cell, read
from authoring.shuffle import shuffled

SHIPPED = Path(__file__).parent / "grading"


def build_assignment(
    root: Path,
    slug: str,
    language: str,
    seed: str = "",
    into: Path | None = None,
    report: Callable[[str], None] = print,
) -> Path:
    """Write the course folder of a lesson, its release included, and return it."""
    if not re.fullmatch(r"[\w-]*", seed):
        raise SystemExit(f"VARIANT={seed!r}: use letters, digits, - and _")
    folder = into or root / "dist" / "assignments" / (f"{language}-{seed}" if seed else language)
    texts = files_of_course(root, slug, language, seed, folder)
    _check_same(folder, slug, texts[_source_path(folder, slug)])
    write_all(texts, report)
    _generate(folder, slug)
    report(f"released {folder / 'release' / slug}")
    return folder


def files_of_course(
    root: Path, slug: str, language: str, seed: str, folder: Path
) -> dict[Path, str]:
    """Return the text of each file that nbgrader starts from."""
    course, ((lesson, _),) = prepare(root, Plan((slug,)))
    cells = with_overlay(course, lesson, read(lesson.source))
    check_form(cells)
    _check_graded(lesson, cells)
    texts = {
        folder / name: (SHIPPED / name).read_text(encoding="utf-8")
        for name in ("nbgrader_config.py", "proven.py")
    }
    settings = folder / "nbgrader_config.py"
    texts[settings] = (
        texts[settings].replace("CODE_STUB", STUB).replace("TEXT_STUB", ANSWER[language])
    )
    nb = _source(course, lesson, shuffled(fill(root, cells), lesson, seed), language, seed)
    return texts | {_source_path(folder, slug): canonical(nb)}


def _source_path(folder: Path, slug: str) -> Path:
    return folder / "source" / slug / f"{slug}.ipynb"


def _check_same(folder: Path, slug: str, text: str) -> None:
    """Answers that came in must not be marked by another variant or language."""
    old, submitted = _source_path(folder, slug), list(folder.glob(f"submitted/*/{slug}"))
    if submitted and old.is_file():
        was = nbformat.read(old, as_version=4).metadata.course
        now = nbformat.reads(text, as_version=4).metadata.course
        if was != now:
            raise SystemExit(
                f"{folder} holds submissions of {slug} in language {was.language!r} and variant"
                f" {was.variant!r}: choose another COURSE_DIR for {now.language!r}, {now.variant!r}"
            )


def _source(course: Course, lesson: Lesson, cells: list[Cell], language: str, seed: str):
    return notebook(course, lesson, cells, language, "assignment", alone=True, variant=seed)


def _check_graded(lesson: Lesson, cells: list[Cell]) -> None:
    """The grader takes the checks from this module, fresh for every check cell."""
    wanted = f"from utils.checks import {lesson.slug.split('_', 1)[1]} as check"
    if not any(wanted in cell.text.split("\n") for cell in cells if cell.kind == "code"):
        raise SourceError(lesson.source, 1, f"an assignment needs the line: {wanted}")


def _generate(folder: Path, slug: str) -> None:
    """Let nbgrader make the release, and remember the cells in its gradebook."""
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"  # for alembic
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", slug, "--force"]
    run = subprocess.run(
        [*command, "--log-level=WARN"],
        cwd=folder,
        env={**os.environ, "PATH": here, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if run.returncode:
        raise SystemExit(f"nbgrader generate_assignment failed:\n{run.stderr}")
