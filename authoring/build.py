"""All steps together: lessons in, notebooks out, and either all are written or none."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from authoring.course import Course, Lesson, read_course
from authoring.editions import EDITIONS, assemble, check_syntax, edition
from authoring.embed import add_setup, closure, fill
from authoring.execute import digest, execute, keep_outputs
from authoring.form import check_form
from authoring.lint import lint, read_glossary
from authoring.read import Cell, read
from authoring.shuffle import loose_letters

FOLDERS = {"learner": "", "solution": "solutions"}


@dataclass(frozen=True)
class Plan:
    """What to build: run is "changed", "all" or "none" (solutions to execute)."""

    slugs: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # all of the course's
    run: str = "changed"


def build(root: Path, plan: Plan, report: Callable[[str], None] = print) -> None:
    """Write the notebooks of a plan; raise an ExceptionGroup of SourceErrors, and write none."""
    course, ready = prepare(root, plan)
    for note in course.notes:
        report(f"note      {note}")
    planned = [
        (lesson, cells, path, nb)
        for lesson, cells in ready
        for path, nb in notebooks(course, lesson, cells, plan.languages or course.languages)
    ]  # all of them first: a fault in the last lesson shows before the first one is executed
    texts = {}
    for lesson, cells, path, nb in planned:
        if nb.metadata.course.edition == "solution":
            _add_outputs(course, lesson, cells, path, nb, plan.run, report)
        texts[path] = canonical(nb)
    write_all(texts, report)
    remove_others(course, report)


def build_colab(
    root: Path, plan: Plan, report: Callable[[str], None] = print, into: Path | None = None
) -> None:
    """Write learner's notebooks that hold all their files into dist/colab, or into a folder."""
    course, ready = prepare(root, plan)
    folder, texts = into or root / "dist" / "colab", {}
    for lesson, cells in ready:
        for language in plan.languages or course.languages:
            nb = notebook(course, lesson, cells, language, "learner", alone=True)
            texts[folder / language / f"{lesson.slug}.ipynb"] = canonical(nb)
    write_all(texts, report)


def notebooks(
    course: Course, lesson: Lesson, cells: list[Cell], languages: tuple[str, ...]
) -> Iterator[tuple[Path, NotebookNode]]:
    """Yield the path and the notebook, not executed, of each language and edition."""
    for language in languages:
        for kind in EDITIONS:
            folder = course.root / "notebooks" / language / FOLDERS[kind]
            nb = notebook(course, lesson, cells, language, kind, alone=lesson.device != "cpu")
            yield folder / f"{lesson.slug}.ipynb", nb


def remove_others(course: Course, report: Callable[[str], None]) -> None:
    """Remove notebooks that an earlier build made of lessons or languages no longer listed."""
    slugs = {lesson.slug for lesson in course.lessons}
    for path in sorted((course.root / "notebooks").glob("*/**/*.ipynb")):
        language = path.relative_to(course.root / "notebooks").parts[0]
        if path.stem in slugs and language in course.languages:
            continue
        old = _read_old(path)
        if old is not None and "edition" in old.metadata.get("course", {}):  # ours
            path.unlink()
            report(f"removed   {path}")


def canonical(nb: NotebookNode) -> str:
    """Return the one text of a valid notebook; an invalid one raises ValidationError."""
    nbformat.validate(nb)
    return nbformat.writes(nb, version=4).rstrip("\n") + "\n"


def write_all(texts: dict[Path, str], report: Callable[[str], None]) -> None:
    """Replace the files only when every new text is on the disk; unchanged ones stay."""
    parts = {}
    try:
        for path, text in texts.items():
            if path.is_file() and path.read_text(encoding="utf-8") == text:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            parts[path] = path.with_suffix(".part")
            parts[path].write_text(text, encoding="utf-8", newline="\n")
        for path, part in parts.items():
            os.replace(part, path)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
    for path in texts:
        report(f"{'written  ' if path in parts else 'unchanged'} {path}")


def load(root: Path, lesson: Lesson) -> list[Cell]:
    """Return a lesson's cells, checked, and those with source=… filled."""
    cells = read(lesson.source)
    check_form(cells)
    return fill(root, cells)


def prepare(root: Path, plan: Plan) -> tuple[Course, list[tuple[Lesson, list[Cell]]]]:
    """Read and lint all lessons before anything is executed or written."""
    course, glossary = read_course(root), read_glossary(root)
    ready = [(lesson, load(root, lesson)) for lesson in course.pick(plan.slugs)]
    found = [error for lesson, cells in ready for error in lint(lesson, cells, glossary)]
    found += [error for _, cells in ready for error in loose_letters(cells)]
    if found:
        raise ExceptionGroup("the texts of the lessons", found)
    return course, ready


def notebook(
    course: Course,
    lesson: Lesson,
    cells: list[Cell],
    language: str,
    kind: str,
    *,
    alone: bool,
    variant: str | None = None,
) -> NotebookNode:
    """Return one notebook; alone: it holds its files; variant: it is an assignment's source."""
    files = files_of(course, lesson, cells)
    whole = assemble(lesson, cells)
    nb = edition(whole, language, kind)
    check_syntax(nb, cells, [cell.id for cell in whole.cells])
    add_setup(nb, course, lesson, language, files if alone else {}, variant)
    nb.metadata["course"] = {"edition": kind, "language": language, "lesson": lesson.slug}
    if variant is not None:
        nb.metadata["course"]["variant"] = variant
    return nb


def files_of(course: Course, lesson: Lesson, cells: list[Cell]) -> dict[str, str]:
    """Return the `utils` files that a lesson's notebooks need, set-up cell included."""
    device = ("utils.device.choose_triton_mode",) if lesson.device != "cpu" else ()
    return closure(course.root, cells, ("utils", *device))


def _add_outputs(course, lesson, cells, path, nb, run, report) -> None:
    """Take the outputs of the last run where its digest still holds, else execute."""
    now = digest(nb, files_of(course, lesson, cells))
    old = _read_old(path)
    if run != "all" and old is not None and old.metadata.get("course", {}).get("digest") == now:
        keep_outputs(nb, old)
    elif run == "none":
        report(f"not executed: {path}")
        return
    else:
        report(f"executing {path}")
        lines = dict(zip((c.id for c in assemble(lesson, cells).cells), cells, strict=True))
        execute(nb, course.root, lesson.source, lines)
    nb.metadata["course"]["digest"] = now


def _read_old(path: Path) -> NotebookNode | None:
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError):  # none yet, or not JSON any more
        return None
