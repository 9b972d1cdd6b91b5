"""Third step: files of `utils` go into cells, shown (`source=`) or folded in the set-up cell."""

import ast
import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat.v4 as v4
from nbformat import NotebookNode

from authoring.course import Course, Lesson
from authoring.editions import plain_python
from authoring.errors import SourceError
from authoring.form import MARKS
from authoring.read import Cell
from authoring.setup_cell import NEXT, POINTS, notice, setup_code


def fill(root: Path, cells: list[Cell]) -> list[Cell]:
    """Return the cells, those with `source="utils/…"` holding that whole file."""
    return [_filled(root, cell) if "source" in cell.keys else cell for cell in cells]


def closure(root: Path, cells: list[Cell], also: tuple[str, ...] = ()) -> dict[str, str]:
    """Return path → text of every `utils` file that the code cells import, directly or not."""
    todo = [found for cell in cells if cell.kind == "code" for found in _cell_imports(cell)]
    todo += [(name, cells[0].file, 1) for name in also]
    files: dict[str, str] = {}
    while todo:
        for name in _files_of(root, *todo.pop()):
            if name not in files:
                files[name] = _text(root, name)
                todo += _imports(ast.parse(files[name]), root / name, 1)
    return dict(sorted(files.items()))


def add_setup(
    nb: NotebookNode,
    course: Course,
    lesson: Lesson,
    language: str,
    files: dict[str, str],
    variant: str | None = None,
) -> None:
    """Put notice and set-up cell after the title, and the way on at the end.

    files is empty when the notebook holds none. With a variant, be it "", the notebook is an
    assignment: its set-up is locked, and it links to no other lesson.
    """
    folder = f"flashattention_course_{fingerprint(files)[:10]}" if files else ""
    code = setup_code(lesson, language, folder, files, variant)
    ast.parse(code)
    metadata = {"cellView": "form", "jupyter": {"source_hidden": True}, "tags": ["hide-input"]}
    if variant is not None:
        metadata["nbgrader"] = {
            "grade": False,
            "grade_id": f"{lesson.slug}-set-up",
            "locked": True,
            "schema_version": 3,
            "solution": False,
            "task": False,
        }
    says = notice(course, lesson, language, folder, variant)
    if variant is not None:
        says += "\n\n" + POINTS[language].format(_points(nb, lesson))
    nb.cells[1:1] = [
        v4.new_markdown_cell(says, id="notice"),
        v4.new_code_cell(code, id="set-up", metadata=metadata),
    ]
    if variant is None and (following := course.after(lesson)):
        way_on = NEXT[language].format(following.link(language))
        nb.cells.append(v4.new_markdown_cell(way_on, id="next"))


def _points(nb: NotebookNode, lesson: Lesson) -> str:
    """Return the names of exercises with their points, such as "`merge` 2 · `judge` 2"."""
    graded = [cell.metadata.nbgrader for cell in nb.cells if "nbgrader" in cell.metadata]
    names = {about.grade_id: about.points for about in graded if about.grade}
    prefix, suffix = f"{lesson.slug}-", "-check"
    return " · ".join(
        f"`{name.removeprefix(prefix).removesuffix(suffix)}` {n}" for name, n in names.items()
    )


def fingerprint(files: dict[str, str]) -> str:
    """Return a hash of names and contents."""
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def _filled(root: Path, cell: Cell) -> Cell:
    name = cell.keys["source"]
    path = (root / name).resolve()
    if cell.text.strip():
        raise cell.error(f"the cell is filled from {name}: it must be empty here")
    if not path.is_relative_to(root.resolve()) or not path.is_file():
        raise cell.error(f"source={name!r}: there is no such file in the repository")
    return dataclasses.replace(cell, text=path.read_text(encoding="utf-8").strip("\n"))


def _cell_imports(cell: Cell) -> list[tuple[str, Path, int]]:
    try:
        return list(_imports(ast.parse(plain_python(cell.text)), cell.file, cell.start))
    except SyntaxError as error:
        line = cell.start + (error.lineno or 1) - 1
        raise cell.error(f"{error.msg}: {(error.text or '').strip()!r}", line) from None


def _imports(tree: ast.AST, file: Path, start: int) -> Iterator[tuple[str, Path, int]]:
    """Yield dotted names under `utils`, the last part a module or a thing in one; file, line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        line = start + node.lineno - 1
        yield from ((name, file, line) for name in names if name.split(".")[0] == "utils")


def _files_of(root: Path, dotted: str, file: Path, line: int) -> Iterator[str]:
    """Yield the files that importing `dotted` runs: each package on the way, then the module."""
    parts, last = dotted.split("."), ""
    for depth in range(1, len(parts) + 1):
        stem = "/".join(parts[:depth])
        found = [n for n in (f"{stem}/__init__.py", f"{stem}.py") if (root / n).is_file()]
        if found:
            last = found[0]
            yield last
        elif depth < len(parts) or not re.search(rf"\b{parts[-1]}\b", _text(root, last)):
            raise SourceError(file, line, f"imports {dotted}, but there is no {stem}.py")


def _text(root: Path, name: str) -> str:
    text = (root / name).read_text(encoding="utf-8")
    for line, content in enumerate(text.split("\n"), 1):
        if content.strip() in MARKS:
            raise SourceError(root / name, line, "an exercise delimiter: a grader would cut here")
    return text
