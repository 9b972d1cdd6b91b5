"""Second step: all cells of a lesson become one language and one edition of it."""

import ast
import copy
import hashlib
import re

import nbformat.v4 as v4
from nbconvert.preprocessors import TagRemovePreprocessor
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions

from authoring.course import LANGUAGES, Lesson
from authoring.form import MARKS, TAGS
from authoring.read import Cell

EDITIONS = ("learner", "solution")
STUB = "...  # your turn"
ANSWER = {"en": "*Write your answer here.*", "zh": "*把你的答案写在这里。*"}
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def assemble(lesson: Lesson, cells: list[Cell]) -> NotebookNode:
    """Return everything in one notebook, with ids that depend on kind and text alone."""
    nb = v4.new_notebook(metadata=copy.deepcopy(METADATA))
    used: dict[str, int] = {}
    for cell in cells:
        new = v4.new_markdown_cell if cell.kind == "markdown" else v4.new_code_cell
        name = hashlib.sha256(f"{cell.kind}\n{cell.text}".encode()).hexdigest()[:12]
        used[name] = used.get(name, 0) + 1
        name += f"-{used[name]}" if used[name] > 1 else ""
        metadata = _nbgrader(lesson, cell) | ({"tags": sorted(cell.tags)} if cell.tags else {})
        nb.cells.append(new(cell.text, id=name, metadata=metadata))
    return nb


def edition(whole: NotebookNode, language: str, kind: str) -> NotebookNode:
    """Return one language of the learner's, the solution or the assignment's source edition.

    The last has the learner's cells with all answers in them, for nbgrader to take out.
    whole is left alone.
    """
    nb = copy.deepcopy(whole)
    kept = (language, "solution" if kind == "solution" else "learner")
    unwanted = {tag for tag in (*LANGUAGES, *EDITIONS, "slide") if tag not in kept}
    steps = [TagRemovePreprocessor(remove_cell_tags=unwanted)]
    if kind == "learner":
        steps.append(
            ClearSolutions(
                code_stub={"python": STUB},
                begin_solution_delimeter="### BEGIN SOLUTION",
                end_solution_delimeter="### END SOLUTION",
                text_stub=ANSWER[language],
            )
        )
    if kind != "assignment":
        steps.append(
            ClearHiddenTests(
                begin_test_delimeter="### BEGIN HIDDEN TESTS",
                end_test_delimeter="### END HIDDEN TESTS",
            )
        )
    for step in steps:
        nb, _ = step.preprocess(nb, {})
    for cell in nb.cells:
        if kind != "assignment":
            cell.source = "\n".join(t for t in cell.source.split("\n") if t.strip() not in MARKS)
        if not set(cell.metadata.get("tags", ())) - TAGS:
            cell.metadata.pop("tags", None)
    return nb


def check_syntax(nb: NotebookNode, cells: list[Cell], ids: list[str]) -> None:
    """Every code cell of this edition must parse; the error names the cell's line."""
    lines = dict(zip(ids, cells, strict=True))
    for cell in nb.cells:
        if cell.cell_type == "code" and cell.id in lines:
            try:
                ast.parse(plain_python(cell.source))
            except SyntaxError as error:
                source = lines[cell.id]
                raise source.error(f"{error.msg}: {(error.text or '').strip()!r}") from None


def plain_python(source: str) -> str:
    """Return a cell's code; where it has IPython's magics, `pass` stands for each."""
    try:
        ast.parse(source)
    except SyntaxError:
        return re.sub(r"(?m)^([ \t]*)[%!].*$", r"\1pass", source)
    return source


def _nbgrader(lesson: Lesson, cell: Cell) -> dict:
    keys = [key for key in ("exercise", "check", "written") if key in cell.keys]
    if not keys:
        return {}
    (key,) = keys
    metadata = {
        "grade": key != "exercise",
        "grade_id": f"{lesson.slug}-{cell.keys[key]}" + ("-check" if key == "check" else ""),
        "locked": key == "check",
        "schema_version": 3,
        "solution": key != "check",
        "task": False,
    }
    points = {} if key == "exercise" else {"points": cell.keys["points"]}
    return {"nbgrader": metadata | points}
