"""Release check: a notebook that another program saved becomes what the builder would write.

Colab drops cell ids, adds metadata of its own, and saves widgets without their state, on which
nbconvert and GitHub's viewer stop.
"""

import copy
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from authoring.build import canonical
from authoring.editions import METADATA
from authoring.errors import SourceError
from authoring.execute import tidy

OURS = {"cellView", "jupyter", "nbgrader", "tags"}  # a cell's metadata
OF_NOTEBOOK = {"course", *METADATA}
ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def check(path: Path) -> list[str]:
    """Rewrite a notebook that needs it; return what was wrong with it, or nothing."""
    try:
        text = path.read_text(encoding="utf-8")
        nb = nbformat.reads(text, as_version=4)
    except (OSError, ValueError) as error:
        raise SourceError(path, 1, f"not a notebook: {error}") from None
    wrong = list(faults(nb)) or ["other white space or order of keys"]
    cleaned = canonical(clean(nb))
    if cleaned == text:
        return []
    path.write_text(cleaned, encoding="utf-8", newline="\n")
    return wrong


def clean(nb: NotebookNode) -> NotebookNode:
    """Return a copy with ids, and without what only the other program reads."""
    nb = copy.deepcopy(nb)
    nb.nbformat_minor = 5
    _restore_ids(nb)
    for cell in nb.cells:
        cell.metadata = NotebookNode({k: v for k, v in cell.metadata.items() if k in OURS})
    ran = any(cell.get("outputs") or cell.get("execution_count") for cell in nb.cells)
    if ran:
        tidy(nb)
    kept = {k: v for k, v in nb.metadata.items() if k == "course"}
    nb.metadata = nbformat.from_dict(copy.deepcopy(METADATA) | kept)
    return nb


def faults(nb: NotebookNode) -> Iterator[str]:
    """Say what clean will change."""
    widgets = nb.metadata.get("widgets", {}).values()
    if any("state" not in model for model in widgets):
        yield "widgets without their state"
    elif widgets:
        yield "widgets that no kernel stands behind"
    others = set(nb.metadata) - OF_NOTEBOOK - {"widgets"}
    if others:
        yield f"the notebook's metadata {', '.join(sorted(others))}"
    if any(nb.metadata.get(key) != value for key, value in METADATA.items()):
        yield "another kernel's name"
    others = set().union(*(cell.metadata for cell in nb.cells)) - OURS
    if others:
        yield f"cells' metadata {', '.join(sorted(others))}"
    if any("id" not in cell for cell in nb.cells):
        yield "cells without ids"


def _restore_ids(nb: NotebookNode) -> None:
    """Give each cell its id: Colab keeps one in the metadata; else a hash of kind and text."""
    used: set[str] = set()
    for cell in nb.cells:
        name = cell.get("id") or cell.metadata.get("id", "")
        text = f"{cell.cell_type}\n{cell.source}"
        if not ID.fullmatch(name) or name in used:
            name = hashlib.sha256(text.encode()).hexdigest()[:12]
        number, first = 2, name
        while name in used:
            name, number = f"{first}-{number}", number + 1
        used.add(name)
        cell["id"] = name
