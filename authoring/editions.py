"""Step 2: the cells of a lesson → one notebook for each language and edition."""

import copy

from nbconvert.preprocessors import TagRemovePreprocessor
from nbformat import NotebookNode, v4
from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions
from traitlets.config import Config

from authoring.read import BEGIN, END, HIDDEN_BEGIN, HIDDEN_END

EDITIONS = ("learner", "solution")
STUB = "...  # your turn"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def make_edition(cells: list[NotebookNode], language: str, edition: str) -> NotebookNode:
    """Return a notebook without the other language's cells and the other edition's answers."""
    notebook = v4.new_notebook(cells=copy.deepcopy(cells), metadata=copy.deepcopy(METADATA))
    others = ({"en", "zh"} | set(EDITIONS)) - {language, edition}
    remove = TagRemovePreprocessor(remove_cell_tags=others, enabled=True)
    notebook, _ = remove.preprocess(notebook, {})
    for cell in notebook.cells:
        name_for_grading(cell)
    return clear(notebook) if edition == "learner" else drop_markers(notebook)


def name_for_grading(cell: NotebookNode) -> None:
    """Replace the short header keys by nbgrader's metadata."""
    written = cell.metadata
    cell.metadata = NotebookNode()
    common = {"schema_version": 3, "task": False}
    if "source" in written:
        cell.metadata["source"] = written["source"]  # filled, and taken away, by the next step
    if "exercise" in written:
        cell.metadata["nbgrader"] = NotebookNode(
            grade=False, grade_id=written["exercise"], locked=False, solution=True, **common
        )
    if "check" in written:
        cell.metadata["nbgrader"] = NotebookNode(
            grade=True,
            grade_id=f"check_{written['check']}",
            locked=True,
            points=written["points"],
            solution=False,
            **common,
        )


def clear(notebook: NotebookNode) -> NotebookNode:
    """The learner's edition: solutions become the stub, hidden tests go."""
    config = Config()
    config.ClearSolutions.code_stub = {"python": STUB}
    config.ClearSolutions.begin_solution_delimeter = BEGIN
    config.ClearSolutions.end_solution_delimeter = END
    config.ClearHiddenTests.begin_test_delimeter = HIDDEN_BEGIN
    config.ClearHiddenTests.end_test_delimeter = HIDDEN_END
    for preprocessor in (ClearSolutions(config=config), ClearHiddenTests(config=config)):
        notebook, _ = preprocessor.preprocess(notebook, {})
    return notebook


def drop_markers(notebook: NotebookNode) -> NotebookNode:
    """The solutions: the answers stay, the marker lines and the hidden tests go."""
    for cell in notebook.cells:
        kept, hidden = [], False
        for line in cell.source.splitlines():
            marker = line.strip()
            hidden = marker == HIDDEN_BEGIN or (hidden and marker != HIDDEN_END)
            if not hidden and marker not in (BEGIN, END, HIDDEN_END):
                kept.append(line)
        cell.source = "\n".join(kept)
    return notebook
