"""Lesson 10's picture: the addresses of a tile of pointers, and which of them the mask hides."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from utils.draw.controls import Slider
from utils.draw.palette import COLOUR, INK, LARGE, PAPER, boxes, canvas, grid, numbers, write
from utils.language import say

LINE, LINES = 20, 6  # the memory is printed in lines of 20: it has no rows of its own
LEFT, TOP, MEMORY = 2.4, 2.6, 8.2  # cells: corner of the tile, top of the memory
LIT, MATRIX = COLOUR["K"], COLOUR["ℓ"]


@dataclass(frozen=True)
class Pointers:
    """A tile b_r × b_c of pointers into a matrix (n, d) whose rows lie `stride` elements apart.

    row: number of the tile's first row. Raises ValueError when the stride is below d.
    """

    n: int
    d: int
    stride: int
    row: int
    b_r: int
    b_c: int

    def __post_init__(self) -> None:
        if self.stride < self.d:
            raise ValueError(f"rows of {self.d} elements cannot lie {self.stride} elements apart")

    @property
    def rows(self) -> np.ndarray:
        return self.row + np.arange(self.b_r)

    @property
    def cols(self) -> np.ndarray:
        return np.arange(self.b_c)

    @property
    def offsets(self) -> np.ndarray:
        """Return the kernel's own expression, (b_r, b_c)."""
        return self.rows[:, None] * self.stride + self.cols[None, :]

    @property
    def mask(self) -> np.ndarray:
        return (self.rows[:, None] < self.n) & (self.cols[None, :] < self.d)

    @property
    def owned(self) -> np.ndarray:
        """Return the addresses that hold the matrix; all others are gaps or somebody else's."""
        every = np.arange(self.n)[:, None] * self.stride + np.arange(self.d)[None, :]
        return every.ravel()


def controls() -> dict[str, Slider]:
    """Return the picture's controls: the matrix in memory, then the tile."""
    return {
        "n": Slider(say(en="rows of the matrix, N", zh="矩阵的行数 N"), 1, 8, 6),
        "stride": Slider(say(en="stride: from row to row", zh="步长：从一行到下一行"), 1, 10, 8),
        "d": Slider(say(en="columns, d (≤ stride)", zh="列数 d（≤ 步长）"), 1, _up_to_8, 5),
        "row": Slider(say(en="first row of the tile", zh="tile 的第一行"), 0, _last_row, 4),
        "b_r": Slider(say(en="rows of the tile, B_R", zh="tile 的行数 B_R"), 1, 4, 4),
        "b_c": Slider(say(en="columns of the tile, B_C", zh="tile 的列数 B_C"), 1, 8, 8),
    }


def _up_to_8(before: dict) -> int:
    return min(8, before["stride"])


def _last_row(before: dict) -> int:
    return before["n"] - 1


def alt() -> str:
    """Return the picture in words."""
    return say(
        en="Above, a tile of offsets, row times stride plus column; below, memory as one long line of"
        " cells, in which the addresses of the tile are lit, or crossed out where the mask hides them.",
        zh="上面是一个 tile 的偏移量：行号乘步长加列号；下面是排成一长串的内存，tile 的地址在其中亮着，被掩码遮住的打了叉。",
    )


def draw(state: Pointers) -> Figure:
    """Return the picture: the tile of offsets above, the memory that it points into below."""
    figure, axes = canvas(LEFT + LINE + 0.8, MEMORY + LINES + 1.8)
    tile(axes, state)
    facts(axes, state)
    memory(axes, state)
    legend(axes)
    return figure


def tile(axes: Axes, state: Pointers) -> None:
    """Draw the tile of offsets with the numbers of its rows and columns."""
    mask = state.mask
    formula = f"rows[:, None] * stride + cols[None, :]      stride = {state.stride}"
    write(axes, 0.3, 0.6, formula, size=LARGE, at="left", family="DejaVu Sans Mono")
    write(axes, LEFT, TOP - 0.5, f"cols = 0 … {state.b_c - 1},  mask: cols < {state.d}", at="left")
    grid(axes, LEFT, TOP, mask, LIT)
    numbers(axes, LEFT, TOP, state.offsets, np.ones_like(mask))
    cross(axes, [(LEFT + c, TOP + r) for r, c in np.argwhere(~mask)], line=0.7)
    for r, row in enumerate(state.rows):
        write(axes, LEFT - 0.3, TOP + r + 0.5, f"row {row}", at="right")


def facts(axes: Axes, state: Pointers) -> None:
    """Say what the tile does: how much it reads, hides, and how far it reaches."""
    taken = np.isin(state.offsets[~state.mask], state.owned).sum()
    last, end = state.offsets.max(), state.owned.max()
    lines = [
        f"matrix: N = {state.n} rows of d = {state.d}, stride {state.stride}",
        f"mask: (rows < {state.n}) & (cols < {state.d})",
        f"{state.mask.size} addresses: {state.mask.sum()} read, {(~state.mask).sum()} hidden",
        f"of the hidden, {taken} lie in other rows of the matrix",
        f"last address {last}; the matrix ends at {end}",
    ]
    for number, line in enumerate(lines):
        write(axes, LEFT + 8.8, TOP + 0.1 + 0.85 * number, line, at="left")


def memory(axes: Axes, state: Pointers) -> None:
    """Draw memory from address 0 on, wrapped into lines; the address stands before each line."""
    owned = np.isin(np.arange(LINE * LINES), state.owned)
    read = np.isin(np.arange(LINE * LINES), state.offsets[state.mask])
    places = [(*place(a), 1, 1) for a in range(LINE * LINES)]
    boxes(axes, places, fill=np.where(read, LIT, np.where(owned, MATRIX, PAPER)), line=0.8)
    boxes(axes, [places[a] for a in np.flatnonzero(read)], line=2.2)
    cross(axes, [place(a) for a in state.offsets[~state.mask]])
    write(axes, 0.3, MEMORY - 0.6, "memory", size=LARGE, at="left")
    for line in range(LINES):
        write(axes, LEFT - 0.3, MEMORY + line + 0.5, LINE * line, at="right")


def place(address: int) -> tuple[float, float]:
    """Return the corner of an address's cell."""
    return LEFT + int(address) % LINE, MEMORY + int(address) // LINE


def cross(axes: Axes, corners: list[tuple[float, float]], line: float = 1.6) -> None:
    """Cross cells out."""
    strokes = []
    for x, y in corners:
        strokes += [
            [(x + 0.1, y + 0.1), (x + 0.9, y + 0.9)],
            [(x + 0.1, y + 0.9), (x + 0.9, y + 0.1)],
        ]
    style = {"colors": COLOUR["m"], "linewidths": line}
    axes.add_collection(LineCollection(strokes, **style), autolim=False)


def legend(axes: Axes) -> None:
    """Explain the four looks of a cell."""
    y = MEMORY + LINES + 0.5
    texts = ["read", "hidden by the mask", "of the matrix, not in this tile", "gap, or not ours"]
    for x, text, fill in zip(
        (0.4, 3.4, 9.8, 18.2), texts, (LIT, PAPER, MATRIX, PAPER), strict=True
    ):
        boxes(axes, [(x, y, 0.8, 0.8)], fill=fill, edge=INK, line=2.2 if fill == LIT else 0.8)
        write(axes, x + 1.1, y + 0.4, text, at="left")
    cross(axes, [(3.3, y - 0.1)])
