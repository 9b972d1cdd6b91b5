"""Lesson 01's picture: which rows of Q and of K one tile of S is made of."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from utils.draw.controls import Slider
from utils.draw.palette import COLOUR, LARGE, boxes, canvas, grid, minus, numbers, subscript, write
from utils.language import say
from utils.tiles import tiles

LEFT, TOP, GAP = 1.7, 1.2, 1.2  # cells: room for the names of tiles, and between the matrices


@dataclass(frozen=True)
class BlockMatrix:
    """Tile (i, j) of S = Q Kᵀ, cut into tiles of b_r query rows and b_c key rows.

    q: (n_q, d) integers. k: (n_k, d) integers. i and j count from 1, as in Q_1 … Q_Tr.
    Raises ValueError when there is no such tile.
    """

    q: np.ndarray
    k: np.ndarray
    b_r: int
    b_c: int
    i: int
    j: int

    def __post_init__(self) -> None:
        for name, t in (("i", len(self.row_tiles)), ("j", len(self.column_tiles))):
            if not 1 <= getattr(self, name) <= t:
                raise ValueError(f"{name} counts tiles from 1 to {t}, got {getattr(self, name)}")

    @property
    def row_tiles(self) -> list[slice]:
        return tiles(len(self.q), self.b_r)

    @property
    def column_tiles(self) -> list[slice]:
        return tiles(len(self.k), self.b_c)

    @property
    def rows(self) -> slice:
        return self.row_tiles[self.i - 1]

    @property
    def cols(self) -> slice:
        return self.column_tiles[self.j - 1]


def controls(q: np.ndarray, k: np.ndarray) -> dict[str, Slider]:
    """Return the picture's controls for q (n_q, d) and k (n_k, d): two sizes, then the tile."""
    n_q, n_k = len(q), len(k)
    return {
        "b_r": Slider(say(en="rows of Q in a tile, B_r", zh="每块的 Q 行数 B_r"), 1, 4, 2),
        "b_c": Slider(say(en="rows of K in a tile, B_c", zh="每块的 K 行数 B_c"), 1, 4, 2),
        "i": Slider(say(en="tile of Q, i", zh="Q 的第 i 块"), 1, lambda v: -(-n_q // v["b_r"]), 2),
        "j": Slider(say(en="tile of K, j", zh="K 的第 j 块"), 1, lambda v: -(-n_k // v["b_c"]), 3),
    }


def alt() -> str:
    """Return the picture in words."""
    return say(
        en="Matrix Q on the left, K transposed on top, S between them; one tile of S is lit, with"
        " the rows of Q and the columns of K transposed that it is made of.",
        zh="左边是矩阵 Q，上边是 K 的转置，中间是 S；S 的一个 tile 亮着，它用到的 Q 的行、K 转置的列也亮着。",
    )


def draw(state: BlockMatrix) -> Figure:
    """Return the picture of one tile: Q on the left, Kᵀ on top, S where they meet."""
    (n_q, d), n_k = state.q.shape, len(state.k)
    x, y = LEFT + d + GAP, TOP + d + GAP  # the corner of S
    figure, axes = canvas(max(x + n_k + 1.6, 11), y + n_q + 1.6)
    in_rows, in_cols = np.zeros(n_q, bool), np.zeros(n_k, bool)
    in_rows[state.rows], in_cols[state.cols] = True, True
    fields = [
        (LEFT, y, state.q, np.repeat(in_rows[:, None], d, axis=1), "Q"),
        (x, TOP, state.k.T, np.repeat(in_cols[None], d, axis=0), "K"),
        (x, y, state.q @ state.k.T, in_rows[:, None] & in_cols, "S"),
    ]
    for left, top, values, lit, name in fields:
        grid(axes, left, top, lit, COLOUR[name])
        numbers(axes, left, top, values, lit)
    borders(axes, state, x, y)
    names(axes, state, x, y)
    first_element(axes, state, x, y)
    return figure


def borders(axes: Axes, state: BlockMatrix, x: float, y: float) -> None:
    """Outline every tile of the three matrices, the ragged ones too."""
    d = state.q.shape[1]
    rows = [(y + s.start, s.stop - s.start) for s in state.row_tiles]
    cols = [(x + s.start, s.stop - s.start) for s in state.column_tiles]
    of_q = [(LEFT, top, d, height) for top, height in rows]
    of_k = [(left, TOP, width, d) for left, width in cols]
    of_s = [(left, top, width, height) for top, height in rows for left, width in cols]
    boxes(axes, of_q + of_k + of_s, line=1.6)


def names(axes: Axes, state: BlockMatrix, x: float, y: float) -> None:
    """Write the matrices' letters, the tile's names, and the tokens it takes."""
    rows, cols, i, j = state.rows, state.cols, subscript(state.i), subscript(state.j)
    middle = y + (rows.start + rows.stop) / 2
    write(axes, LEFT - 0.3, middle, f"Q{i}", size=LARGE, at="right")
    write(axes, x + len(state.k) + 0.3, middle, f"S{i}{j}", size=LARGE, at="left")
    write(axes, x + (cols.start + cols.stop) / 2, TOP - 0.5, f"K{j}ᵀ", size=LARGE)
    write(axes, 0.4, TOP, f"S{i}{j} = Q{i} K{j}ᵀ", size=LARGE, at="left")
    write(axes, 0.4, TOP + 1, f"Q{i} = Q[{rows.start}:{rows.stop}]", at="left")
    write(axes, 0.4, TOP + 1.8, f"K{j} = K[{cols.start}:{cols.stop}]", at="left")
    for r in range(rows.start, rows.stop):
        write(axes, x - GAP / 2, y + r + 0.5, r)
    for c in range(cols.start, cols.stop):
        write(axes, x + c + 0.5, y - GAP / 2, c)


def first_element(axes: Axes, state: BlockMatrix, x: float, y: float) -> None:
    """Frame the tile's first element with the row and the column behind it; write out its sum."""
    r, c, d = state.rows.start, state.cols.start, state.q.shape[1]
    boxes(axes, [(LEFT, y + r, d, 1), (x + c, TOP, 1, d), (x + c, y + r, 1, 1)], line=3)
    pairs = zip(state.q[r], state.k[c], strict=True)
    products = " + ".join(f"{factor(a)}·{factor(b)}" for a, b in pairs)
    total = f"{products} = {state.q[r] @ state.k[c]}"
    line = f"S[{r}, {c}] = Σ Q[{r}, f]·K[{c}, f] = {total}"
    write(axes, 0.4, y + len(state.q) + 0.9, line, at="left")


def factor(number: int) -> str:
    """Return a number as a factor of a product: in brackets when negative."""
    return minus(f"({number})" if number < 0 else number)
