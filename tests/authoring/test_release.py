"""Notebooks as Colab saves them: the release check leaves what the builder had written."""

import json
from pathlib import Path

import nbformat
import pytest
from nbconvert import HTMLExporter

from authoring.__main__ import main
from authoring.build import Plan, build
from authoring.course import read_course
from authoring.errors import SourceError
from authoring.release import check

ROOT = Path(__file__).parents[2]
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
SLUGS = [lesson.slug for lesson in read_course(ROOT).lessons]


def saved_by_colab(text: str, *, ran: bool) -> str:
    """Return the text of a notebook as Colab's File → Save writes it: format 4.0, no cell ids."""
    nb = json.loads(text)
    nb["nbformat_minor"] = 0
    nb["metadata"] |= {
        "accelerator": "GPU",
        "colab": {"gpuType": "T4", "provenance": [], "collapsed_sections": ["abcDEF123"]},
        "kernelspec": {"display_name": "Python 3", "name": "python3"},
        "widgets": {STATE: {"0a1b": {"model_module": "@jupyter-widgets/controls", "state": {}}}},
    }
    for number, cell in enumerate(nb["cells"], 1):
        cell["metadata"]["id"] = cell.pop("id")
        if cell["cell_type"] == "code" and ran:
            run(cell, number)
    return json.dumps(nb, indent=2, ensure_ascii=False)


def run(cell: dict, number: int) -> None:
    """Add what a run in Colab leaves in a cell."""
    cell["metadata"] |= {
        "executionInfo": {"status": "ok", "timestamp": 1, "user": {"displayName": "A. Learner"}},
        "outputId": "0a1b2c3d",
        "colab": {"base_uri": "https://localhost:8080/", "height": 34},
    }
    cell["execution_count"] = 3 * number
    for out in cell["outputs"]:
        if "data" in out:
            out["metadata"]["needs_background"] = "light"
        if out["output_type"] == "execute_result":
            out["execution_count"] = 3 * number
    slider = {VIEW: {"model_id": "0a1b", "version_major": 2, "version_minor": 0}, "text/plain": "…"}
    cell["outputs"].append({"output_type": "display_data", "data": slider, "metadata": {}})


@pytest.mark.parametrize("kind", ["", "solutions"])
@pytest.mark.parametrize("slug", SLUGS)
def test_a_notebook_from_colab_becomes_the_builders_again(slug, kind, tmp_path):
    ours = (ROOT / "notebooks" / "en" / kind / f"{slug}.ipynb").read_text(encoding="utf-8")
    file = tmp_path / "saved.ipynb"
    file.write_text(saved_by_colab(ours, ran=kind == "solutions"), encoding="utf-8")
    wrong = check(file)
    assert file.read_text(encoding="utf-8") == ours
    assert wrong[:2] == [
        "widgets without their state",
        "the notebook's metadata accelerator, colab",
    ]
    assert "cells without ids" in wrong
    assert check(file) == []


def test_what_colab_saved_cannot_be_shown_and_what_is_cleaned_can(tmp_path):
    ours = (ROOT / "notebooks/en/solutions/01_block_matrix.ipynb").read_text(encoding="utf-8")
    file = tmp_path / "saved.ipynb"
    file.write_text(saved_by_colab(ours, ran=True), encoding="utf-8")
    with pytest.raises(KeyError, match="state"):
        HTMLExporter().from_filename(str(file))
    check(file)
    assert "A. Learner" not in HTMLExporter().from_filename(str(file))[0]


def test_outputs_stay_but_for_live_widgets(tmp_path):
    file = tmp_path / "mine.ipynb"
    cell = nbformat.v4.new_code_cell("1 + 1", execution_count=7)
    cell.outputs = [
        nbformat.v4.new_output(
            "execute_result",
            {"text/plain": "2", "application/vnd.google.colaboratory.intrinsic+json": {"a": 1}},
            execution_count=7,
        )
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), file)
    check(file)
    (cell,) = nbformat.read(file, as_version=4).cells
    assert cell.outputs[0].data == {"text/plain": "2"}
    assert cell.execution_count == cell.outputs[0].execution_count == 1


def test_ids_lost_or_doubled_are_made_anew_and_always_the_same(tmp_path):
    texts = []
    for name in ("a", "b"):
        nb = nbformat.v4.new_notebook(nbformat_minor=0)
        nb.cells = [nbformat.v4.new_markdown_cell("same") for _ in range(3)]
        for cell, old in zip(nb.cells, ("x", "x", "not an id!"), strict=True):
            del cell["id"]
            cell.metadata["id"] = old
        file = tmp_path / f"{name}.ipynb"
        file.write_text(json.dumps(nb), encoding="utf-8")
        check(file)
        texts.append(file.read_text(encoding="utf-8"))
    ids = [cell["id"] for cell in json.loads(texts[0])["cells"]]
    assert ids[0] == "x" and len(set(ids)) == 3
    assert texts[0] == texts[1]


def test_the_command_says_what_it_did(tmp_path, capsys):
    ours = (ROOT / "notebooks/en/00_start_here.ipynb").read_text(encoding="utf-8")
    file = tmp_path / "saved.ipynb"
    file.write_text(saved_by_colab(ours, ran=False), encoding="utf-8")
    assert main(["check", str(file)]) == 0
    assert f"cleaned   {file}: widgets without their state; " in capsys.readouterr().out
    assert main(["check", str(file)]) == 0
    assert capsys.readouterr().out == f"in order  {file}\n"


def test_what_is_no_notebook_is_named_and_left(tmp_path, capsys):
    file = tmp_path / "saved.ipynb"
    file.write_text("no notebook", encoding="utf-8")
    assert main(["check", str(file)]) == 1
    assert f"{file}:1: not a notebook" in capsys.readouterr().err
    with pytest.raises(SourceError):
        check(tmp_path / "none.ipynb")
    assert file.read_text(encoding="utf-8") == "no notebook"


def test_the_builder_takes_outputs_back_from_colab_clean(workshop):
    build(workshop.root, Plan(), lambda line: None)
    file = workshop.root / "notebooks" / "en" / "solutions" / "01_sums.ipynb"
    ours = file.read_text(encoding="utf-8")
    file.write_text(saved_by_colab(ours, ran=True), encoding="utf-8")
    said = []
    build(workshop.root, Plan(), said.append)
    assert file.read_text(encoding="utf-8") == ours
    assert not [line for line in said if line.startswith("executing")]
