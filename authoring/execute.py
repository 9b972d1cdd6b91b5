"""Fourth step: run the solution edition, and keep of its outputs only what stays the same."""

import os
import re
import tempfile
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from authoring.embed import fingerprint
from authoring.errors import SourceError
from authoring.read import Cell

SECONDS = 300  # for one cell
WIDGET = "application/vnd.jupyter.widget-view+json"
COLABS = "application/vnd.google.colaboratory"  # what only Colab's own page reads
ADDRESS = re.compile(r" at 0x[0-9a-f]+>")


def digest(nb: NotebookNode, files: dict[str, str]) -> str:
    """Return the hash of all that the outputs depend on: code cells and imported files."""
    code = {str(n): cell.source for n, cell in enumerate(_code(nb))}
    return fingerprint(code | files)


def keep_outputs(nb: NotebookNode, old: NotebookNode) -> None:
    """Copy the outputs of an earlier run of the same code, whatever program saved them since."""
    for cell, before in zip(_code(nb), _code(old), strict=True):
        cell.outputs = before.outputs
    tidy(nb)


def execute(nb: NotebookNode, root: Path, source: Path, cells: dict[str, Cell]) -> None:
    """Run nb in a scratch folder below root, without a GPU, and clean what it left."""
    (root / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root / "build") as scratch:
        client = NotebookClient(
            nb,
            timeout=SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": scratch}},
            record_timing=False,
            store_widget_state=False,
            coalesce_streams=True,
            extra_arguments=["--log-level=40"],  # else it warns of TCP without encryption
        )
        try:
            client.execute(env=kernel_environment())
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise _failure(nb, source, cells, error) from None
    tidy(nb)


def tidy(nb: NotebookNode) -> None:
    """Leave of a run what every program shows and every machine gives; count cells from 1."""
    for count, cell in enumerate(_code(nb), 1):
        cell.execution_count = count
        cell.metadata.pop("execution", None)
        cell.outputs = [out for out in map(_clean, cell.outputs) if out is not None]
        for out in cell.outputs:
            if out.output_type == "execute_result":
                out.execution_count = count
    nb.metadata.pop("widgets", None)
    nb.metadata["language_info"] = {"name": "python"}  # the run named the version, too


def kernel_environment() -> dict[str, str]:
    """Return the environment of a run that gives the same outputs on every machine."""
    unwanted = ("COURSE_", "TRITON_", "NBGRADER_", "MPL", "PYTHONPATH")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
    return kept | {"CUDA_VISIBLE_DEVICES": "", "COURSE_STATIC": "1"}


def _code(nb: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def _clean(out: NotebookNode) -> NotebookNode | None:
    """Drop live widgets (their picture stays beside them) and addresses in memory."""
    if out.output_type == "stream":
        out.text = ADDRESS.sub(">", out.text)
        return out
    data = out.get("data", {})
    if WIDGET in data:
        return None
    for kind in [kind for kind in data if kind.startswith(COLABS)]:
        del data[kind]
    if data:
        out.metadata = NotebookNode({k: v for k, v in out.metadata.items() if k in data})
    if "text/plain" in data:
        data["text/plain"] = ADDRESS.sub(">", data["text/plain"])
    return out


def _failure(nb: NotebookNode, source: Path, cells: dict[str, Cell], error) -> SourceError:
    """Say which cell failed: the first with an error output, else the last one that ran."""
    failed = [c for c in _code(nb) if any(o.output_type == "error" for o in c.outputs)]
    begun = [c for c in _code(nb) if c.execution_count or c.outputs]
    cell = cells.get((failed[:1] or begun[-1:] or nb.cells[:1])[0].id)
    plain = re.sub(r"\x1b\[[\d;]*m", "", str(error))  # without colours
    said = [line for line in plain.split("\n") if line.strip()]
    reason = f"running the solution failed: {said[-1] if said else type(error).__name__}"
    return cell.error(reason) if cell else SourceError(source, 1, reason)
