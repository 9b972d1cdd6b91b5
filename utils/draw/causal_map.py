"""Lesson 07's picture: what a causal mask does to each tile of S, and what skipping saves."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from utils.draw.controls import Choice, Slider
from utils.draw.palette import COLOUR, FAINT, INK, boxes, canvas, grid, write
from utils.language import say
from utils.tiles import classify, tiles, visible

LEFT, TOP, SIDE, LARGEST = 1.9, 2.2, 7.6, 16  # cells: margins, room for the counts, longest side
WORDS, TITLE = 15, 18  # points: a slide and a page of 800 pixels show the picture smaller
BYTES = 2 * (64 + 64)  # of K and V for one key: d = d_v = 64, two bytes a number
ALIGNMENTS = ("bottom-right", "top-left")


@dataclass(frozen=True)
class CausalMap:
    """n_q × n_k scores in tiles of b_r × b_c under a causal mask, tied to one of two corners."""

    n_q: int
    n_k: int
    b_r: int
    b_c: int
    alignment: str

    @property
    def offset(self) -> int:
        return self.n_k - self.n_q if self.alignment == "bottom-right" else 0

    @property
    def kinds(self) -> list[tuple[slice, slice, str]]:
        """Every tile: its rows, its columns, and what classify says of it."""
        pairs = [(r, c) for r in tiles(self.n_q, self.b_r) for c in tiles(self.n_k, self.b_c)]
        return [(r, c, classify(r, c, offset=self.offset)) for r, c in pairs]

    def count(self, kind: str) -> int:
        return sum(found == kind for _, _, found in self.kinds)

    @property
    def mask(self) -> np.ndarray:
        return visible((0, self.n_q), (0, self.n_k), offset=self.offset)

    @property
    def computed(self) -> int:
        """Scores in tiles that are visited."""
        return sum(area(r, c) for r, c, kind in self.kinds if kind != "skip")

    @property
    def saved(self) -> int:
        """Keys that skipping does not read, over all query tiles."""
        return sum(c.stop - c.start for _, c, kind in self.kinds if kind == "skip")


def area(rows: slice, cols: slice) -> int:
    return (rows.stop - rows.start) * (cols.stop - cols.start)


def controls() -> dict[str, Slider | Choice]:
    """Return the picture's controls: two lengths, two tile sizes, the alignment."""
    corners = {say(en="bottom-right", zh="右下"): ALIGNMENTS[0]}
    corners |= {say(en="top-left", zh="左上"): ALIGNMENTS[1]}
    return {
        "n_q": Slider(say(en="queries, N_q", zh="query 的个数 N_q"), 1, LARGEST, 8),
        "n_k": Slider(say(en="keys, N_k", zh="key 的个数 N_k"), 1, LARGEST, 12),
        "b_r": Slider(say(en="rows of Q in a tile, B_r", zh="每块的 Q 行数 B_r"), 1, 8, 3),
        "b_c": Slider(say(en="rows of K in a tile, B_c", zh="每块的 K 行数 B_c"), 1, 8, 3),
        "alignment": Choice(say(en="alignment", zh="对齐方式"), corners, ALIGNMENTS[0]),
    }


def alt() -> str:
    """Return the picture in words."""
    return say(
        en="A map of the scores, queries downwards and keys to the right, cut into tiles. Visible"
        " pairs are filled, skipped tiles crossed out, boundary tiles have a thick border; beside it"
        " the count of each kind and the bytes that skipping saves.",
        zh="分数的地图，query 从上往下，key 从左往右，切成 tile。可见的对填色，跳过的 tile 画叉，"
        "边界块画粗边；旁边是每一种的个数和跳过省下的字节数。",
    )


def draw(state: CausalMap) -> Figure:
    """Return the map on the left and its counts on the right."""
    figure, axes = canvas(LEFT + LARGEST + 1 + SIDE, TOP + LARGEST + 0.6)
    corner = "δ = N_k − N_q" if state.alignment == "bottom-right" else "δ"
    name = state.alignment.replace("-", "\N{HYPHEN}")  # write() makes a minus of the other one
    title = f"{name}: c ≤ r + δ, {corner} = {state.offset}"
    write(axes, LEFT, 0.6, title, size=TITLE, at="left")
    grid(axes, LEFT, TOP, state.mask, COLOUR["S"])
    outlines(axes, state)
    for n in {0, state.n_q - 1}:
        write(axes, LEFT - 0.2, TOP + n + 0.5, f"r = {n}", size=WORDS, at="right")
    for n in {0, state.n_k - 1}:
        write(axes, LEFT + n + 0.5, TOP - 0.4, f"c = {n}" if n == 0 else n, size=WORDS)
    counts(axes, state)
    return figure


def outlines(axes: Axes, state: CausalMap) -> None:
    """Outline every tile, thicker when it is a boundary tile; cross out what is skipped."""
    places = {"skip": [], "full": [], "boundary": []}
    for rows, cols, kind in state.kinds:
        box = (LEFT + cols.start, TOP + rows.start, cols.stop - cols.start, rows.stop - rows.start)
        places[kind].append(box)
    boxes(axes, places["skip"] + places["full"], line=1.3)
    boxes(axes, places["boundary"], line=3.2)
    crosses(axes, places["skip"])


def crosses(axes: Axes, places: list) -> None:
    """Draw both diagonals of each box."""
    down = [[(x, y), (x + w, y + h)] for x, y, w, h in places]
    up = [[(x, y + h), (x + w, y)] for x, y, w, h in places]
    lines = LineCollection(down + up, colors=FAINT, linewidths=1.2)
    axes.add_collection(lines, autolim=False)


def counts(axes: Axes, state: CausalMap) -> None:
    """Write the number of tiles of each kind, beside a small sample of it, and the savings."""
    x, y = LEFT + LARGEST + 1, TOP
    for kind in ("full", "boundary", "skip"):
        sample(axes, x, y, kind)
        entry(axes, x + 1.6, y + 0.5, f"{kind} tiles", state.count(kind))
        y += 1.5
    empty = int((~state.mask.any(axis=1)).sum())
    lines = [
        ("scores in all", f"{state.mask.size}"),
        ("computed", f"{state.computed}"),
        ("visible", f"{state.mask.sum()}"),
        ("rows without a key", f"{empty}"),
        ("reads of a key and value", f"{len(tiles(state.n_q, state.b_r)) * state.n_k}"),
        ("saved by skipping", f"{state.saved}"),
        ("in bytes of K and V", f"{state.saved * BYTES:,}"),
    ]
    for name, value in lines:
        entry(axes, x, y + 0.6, name, value)
        y += 1.05


def entry(axes: Axes, x: float, y: float, name: str, value) -> None:
    """Write a name at x and its number at the right edge of the picture."""
    write(axes, x, y, name, size=WORDS, at="left")
    right = LEFT + LARGEST + 1 + SIDE - 0.3
    write(axes, right, y, value, size=WORDS, at="right", weight="bold")


def sample(axes: Axes, x: float, y: float, kind: str) -> None:
    """Draw one small tile as the map shows this kind."""
    if kind == "full":
        boxes(axes, [(x, y, 1, 1)], fill=COLOUR["S"], line=1.3)
    elif kind == "boundary":
        boxes(axes, [(x, y, 0.5, 1), (x, y + 0.5, 1, 0.5)], fill=COLOUR["S"], edge="none")
        boxes(axes, [(x, y, 1, 1)], edge=INK, line=3.2)
    else:
        boxes(axes, [(x, y, 1, 1)], line=1.3)
        crosses(axes, [(x, y, 1, 1)])
