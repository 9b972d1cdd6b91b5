"""One palette and one drawing convention for every picture of the course.

Lengths are counted in cells: one matrix entry is a square of side 1, x grows to the right and y
downwards, as in a printed matrix. Fields never rely on colour alone: each has a dark outline and a
letter. The fills are after Okabe and Ito (Color Universal Design, 2008), so they stay apart for
colour-blind readers, and dark ink reads well on all of them.
"""

import io

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

COLOUR = {
    "Q": "#e69f00",
    "K": "#7cc8f5",
    "V": "#0fa67c",
    "O": "#d289b1",
    "S": "#f0e442",
    "m": "#d55e00",
    "ℓ": "#dfe2e6",
}
INK = "#16181d"
FAINT = "#8b919b"  # lines that only remind of what is not in use
PAPER = "#ffffff"  # set on the figure itself: dark pages would swallow dark ink

DPI = 80  # a redraw at this size stays below 100 ms
CELL = 36  # pixels
SMALL, LARGE = 11, 14  # 11 points at 80 dpi are 9 points on the screen, whose pixel is 1/96 inch
FONT = "DejaVu Sans"  # ships with Matplotlib, so a picture has the same bytes wherever it is drawn

Box = tuple[float, float, float, float]  # left, top, width, height in cells


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure of width × height cells with one Axes that fills it, without ticks."""
    figure = Figure(figsize=(width * CELL / DPI, height * CELL / DPI), dpi=DPI, facecolor=PAPER)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    return figure, axes


def boxes(axes: Axes, places: list[Box], *, fill="none", edge=INK, line=1.0) -> None:
    """Draw rectangles as one collection; fill is one colour or one for each of them."""
    corners = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for x, y, w, h in places]
    style = {"facecolors": fill, "edgecolors": edge, "linewidths": line}
    axes.add_collection(PolyCollection(corners, **style), autolim=False)


def grid(axes: Axes, x: float, y: float, lit: np.ndarray, colour: str) -> None:
    """Draw a matrix with its corner at (x, y): lit is its Boolean mask, (rows, columns)."""
    places = [(x + c, y + r, 1, 1) for r, c in np.ndindex(lit.shape)]
    boxes(axes, places, fill=np.where(lit.ravel(), colour, PAPER), edge=FAINT, line=0.8)


def write(axes: Axes, x: float, y: float, text, *, size=SMALL, at="center", **style) -> None:
    """Write text centred on the height y; at says which end of it is at x. No math text."""
    style = {"color": INK, "family": FONT, "ha": at, "va": "center"} | style
    axes.text(x, y, minus(text), fontsize=size, parse_math=False, **style)


def numbers(axes: Axes, x: float, y: float, values: np.ndarray, lit: np.ndarray) -> None:
    """Write the lit entries of a matrix into its cells. Each costs about 0.5 ms: keep below 48."""
    for r, c in np.argwhere(lit):
        write(axes, x + c + 0.5, y + r + 0.5, values[r, c])


def minus(text) -> str:
    """Return the text with a real minus sign in front of negative numbers."""
    return str(text).replace("-", "−")


def subscript(n: int) -> str:
    """Return a number as Unicode subscript digits: 12 becomes ₁₂."""
    return str(n).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def png(figure: Figure) -> bytes:
    """Return the picture as PNG bytes without metadata: equal pictures have equal bytes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, facecolor=PAPER, metadata={"Software": None})
    return buffer.getvalue()
