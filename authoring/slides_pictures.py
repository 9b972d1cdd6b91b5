"""Draw a lesson's pictures as SVG, at the settings that its slides ask for.

The lesson's own cells make the states: its solution is run up to the last cell that is asked
for, with a `show` in place of the course's that draws those settings and displays SVG.
"""

import re

import nbformat.v4 as v4
from nbformat import NotebookNode

from authoring.execute import execute
from authoring.read import Cell

TYPE = "image/svg+xml"
DRAW = """
import io

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.transforms import Bbox

import utils.draw.show
from utils.draw.controls import settle

matplotlib.rcParams["svg.hashsalt"] = "flashattention-course"  # the same bytes every time
_settings = []


def _drawn(figure):
    # where it is not white, in inches: pictures keep room for their other settings
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    ink = (np.asarray(canvas.buffer_rgba())[::-1, :, :3] < 255).any(axis=2)  # rows from below
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    corners = [[columns[0], rows[0]], [columns[-1] + 1, rows[-1] + 1]]
    return Bbox(np.array(corners) / figure.dpi).padded(0.1)


def _show(draw, controls=None, alt=""):
    controls = controls or {}
    for wanted in _settings:
        values = settle(controls, wanted)
        if any(values.get(name) != value for name, value in wanted.items()):
            raise ValueError(f"the picture cannot be set to {wanted}")
        svg = io.StringIO()
        figure = draw(**values)
        bare = {"Date": None, "Creator": None}
        figure.savefig(svg, format="svg", metadata=bare, bbox_inches=_drawn(figure))
        display({"image/svg+xml": svg.getvalue()}, raw=True)
    _settings.clear()


utils.draw.show.show = _show
"""


def draw_all(nb: NotebookNode, course, lesson, cells: dict[str, Cell], asked: dict) -> dict:
    """Return cell id → SVG texts: asked is cell id → settings, in the same order.

    nb is the lesson's solution with its set-up cell; it is changed. cells is for error messages.
    """
    last = max((n for n, cell in enumerate(nb.cells) if cell.id in asked), default=-1)
    if last < 0:
        return {}
    nb.cells[last + 1 :] = []
    for cell in nb.cells:
        if cell.id in asked:
            cell.source = f"_settings[:] = {asked[cell.id]!r}\n{cell.source}"
    at = next(n for n, cell in enumerate(nb.cells) if cell.id == "set-up")
    nb.cells.insert(at + 1, v4.new_code_cell(DRAW, id="draw-svg"))
    execute(nb, course.root, lesson.source, cells)
    return {cell.id: _svgs(cell, cells, asked[cell.id]) for cell in nb.cells if cell.id in asked}


def _svgs(cell: NotebookNode, cells: dict[str, Cell], settings: list[dict]) -> list[str]:
    found = [out.data[TYPE] for out in cell.outputs if TYPE in out.get("data", {})]
    if len(found) != len(settings):
        raise cells[cell.id].error(f"{len(settings)} pictures asked for, {len(found)} drawn")
    return found


def file_name(slug: str, nth: int, settings: dict) -> str:
    """Return the file name of a lesson's nth picture at these settings.

    04_online_softmax.svg, 11_triton_flash_attention-2.svg, 04_online_softmax-row-5-3-2-1-step-3.svg
    """
    parts = [slug, str(nth) if nth > 1 else "", *(f"{k} {v}" for k, v in settings.items())]
    return re.sub(r"[^\w.]+", "-", " ".join(parts)).strip("-") + ".svg"
