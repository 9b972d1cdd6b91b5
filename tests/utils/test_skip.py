"""Without Triton a lesson skips the cells that need it, says so, and reaches its end."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

from utils.skip import MARKS, without_triton

ROOT = Path(__file__).parents[2]
WITHOUT_TRITON = """
import importlib.metadata, sys
sys.modules["triton"] = None
real = importlib.metadata.version
def version(name):
    if name == "triton":
        raise importlib.metadata.PackageNotFoundError(name)
    return real(name)
importlib.metadata.version = version
"""


@pytest.mark.parametrize("mark", MARKS)
def test_a_marked_cell_only_says_that_it_is_skipped(mark):
    (line,) = without_triton([f"{mark}\n", "launch()\n"])
    assert line.startswith("print(") and "skipped" in line


def test_a_cell_that_only_mentions_triton_runs():
    lines = ["print('import triton')  # no mark\n"]
    assert without_triton(lines) == lines


def texts(nb) -> list[str]:
    return ["".join(o.get("text", "") for o in c.get("outputs", ())) for c in nb.cells]


@pytest.mark.parametrize(
    ("lesson", "cells", "works", "skipped"),
    [
        ("10_triton_from_zero", 15, "✓ tile_side", "· copy"),
        ("11_triton_flash_attention", 12, "✓ natural_lse", "· capstone"),
    ],
)
def test_a_lesson_runs_to_its_end_without_triton(lesson, cells, works, skipped, tmp_path):
    path = ROOT / "notebooks" / "en" / "solutions" / f"{lesson}.ipynb"
    nb = nbformat.read(path, as_version=4)
    nb.cells.insert(0, new_code_cell(WITHOUT_TRITON))
    (tmp_path / "utils").symlink_to(ROOT / "utils")
    NotebookClient(nb, resources={"metadata": {"path": str(tmp_path)}}).execute()
    said = texts(nb)
    code = [i for i, c in enumerate(nb.cells) if c.cell_type == "code" and c.id != "set-up"]
    marked = [i for i in code if set(MARKS) & set(nb.cells[i].source.splitlines())]
    assert len(marked) >= cells and all("skipped" in said[i] for i in marked)
    assert sum("· skipped:" in text for text in said) == len(marked)
    assert works in said[-2] + said[-1] and skipped in said[-2] + said[-1]
