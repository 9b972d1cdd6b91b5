"""Lesson 04's picture: online softmax one score at a time; the old terms shrink together."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from utils.draw.controls import Choice, Slider
from utils.draw.palette import COLOUR, FAINT, LARGE, PAPER, boxes, canvas, minus, subscript, write
from utils.language import say

LEFT, TOP, COLUMN = 1.6, 1.0, 2.3  # cells: room for names, the row of scores, width of a column
FLOOR, UNIT, BAR = 7.6, 4.0, 1.1  # where the bars stand, the height of a term of 1, a bar's width
STRIP, LENGTH = 10.4, 2.2  # top of the strip that lays the terms end to end, its length per 1
ROWS = ([1, 2, 3, 5], [5, 3, 2, 1], [2, 2, 2, 2], [1, 40, 3, 2], [2, 1, 3, 0, 4, 3])


@dataclass(frozen=True)
class Walk:
    """A row of n scores and the n + 1 states (m, ℓ) before the first score and after each.

    step 2t asks what score t + 1 will do, step 2t + 1 shows it. Raises ValueError for another.
    """

    row: list
    states: list
    step: int

    def __post_init__(self) -> None:
        if len(self.states) != len(self.row) + 1:
            raise ValueError(f"{len(self.row)} scores have {len(self.row) + 1} states")
        if not 0 <= self.step < 2 * len(self.row):
            raise ValueError(f"step runs from 0 to {2 * len(self.row) - 1}, got {self.step}")

    @property
    def current(self) -> int:
        """The index of the score that comes next, or that was just read."""
        return self.step // 2

    @property
    def answered(self) -> bool:
        return self.step % 2 == 1

    @property
    def read(self) -> int:
        """How many scores are read."""
        return self.current + self.answered

    def terms(self, read: int) -> np.ndarray:
        """The terms of the first scores, relative to the m that the walk then has."""
        return np.exp(np.array(self.row[:read], float) - self.states[read][0])


def controls() -> dict[str, Choice | Slider]:
    """Return the picture's controls: the row, and the step, two for every score."""
    rows = {", ".join(map(str, row)): row for row in ROWS}
    return {
        "row": Choice(say(en="scores", zh="分数"), rows, ROWS[0]),
        "step": Slider(say(en="step", zh="步"), 0, lambda v: 2 * len(v["row"]) - 1, 5),
    }


def alt() -> str:
    """Return the picture in words."""
    return say(
        en="A row of scores, and below each score that is read a bar for its term. When the maximum"
        " moves, all old bars shrink by the same factor; their former heights stay as outlines."
        " At the bottom the bars lie end to end: their length is the running denominator.",
        zh="上面是一行分数，每个读过的分数下面有一根柱，表示它那一项。最大值变动时，旧的柱按同一个系数一起变矮，"
        "原来的高度留作空框。最下面把各柱首尾相接，总长就是归一化分母。",
    )


def draw(walk: Walk) -> Figure:
    """Return the picture of one step."""
    n = len(walk.row)
    side = LEFT + COLUMN * n + 0.9  # where the words begin
    figure, axes = canvas(side + 9.6, STRIP + 1.8)
    scores(axes, walk)
    bars(axes, walk)
    strip(axes, walk)
    for line, text in enumerate(words(walk)):
        write(axes, side, TOP + 0.5 + 1.15 * line, text, at="left", size=LARGE)
    return figure


def scores(axes: Axes, walk: Walk) -> None:
    """Draw the row: read scores are filled, the current one is framed, the largest marked m."""
    places = [(middle(c) - 0.75, TOP, 1.5, 1) for c in range(len(walk.row))]
    fills = [COLOUR["S"] if c < walk.read else PAPER for c in range(len(walk.row))]
    boxes(axes, places, fill=fills, edge=FAINT)
    boxes(axes, [places[walk.current]], line=3)
    write(axes, LEFT - 0.3, TOP + 0.5, "x", at="right", size=LARGE)
    for c, score in enumerate(walk.row):
        write(axes, middle(c), TOP + 0.5, score if c <= walk.current else "?")
    if walk.read:
        c = int(np.argmax(walk.row[: walk.read]))
        boxes(axes, [(middle(c) - 0.75, TOP + 1.1, 1.5, 0.2)], fill=COLOUR["m"])
        write(axes, middle(c), TOP + 1.75, "m")


def bars(axes: Axes, walk: Walk) -> None:
    """Draw one bar a term; after a step also the outlines of the old terms before it."""
    boxes(axes, [(LEFT, FLOOR, COLUMN * len(walk.row), 0)], line=1.4)
    boxes(axes, [(LEFT, FLOOR - UNIT, COLUMN * len(walk.row), 0)], edge=FAINT)
    write(axes, LEFT - 0.3, FLOOR - UNIT, "1", at="right")
    write(axes, LEFT - 0.3, FLOOR, "0", at="right")
    if walk.answered:
        boxes(axes, [bar(c, term) for c, term in enumerate(walk.terms(walk.current))], edge=FAINT)
    terms = walk.terms(walk.read)
    boxes(axes, [bar(c, term) for c, term in enumerate(terms)], fill=COLOUR["S"], line=1.4)
    for c, term in enumerate(terms):
        power = f"e^{exponent(walk.row[c], walk.states[walk.read][0])}"
        write(axes, middle(c), FLOOR + 0.5, power)
        write(axes, middle(c), FLOOR + 1.3, number(term))


def strip(axes: Axes, walk: Walk) -> None:
    """Lay the terms end to end, and below them ℓ as long as the state says."""
    ends = LEFT + LENGTH * np.cumsum([0, *walk.terms(walk.read)])
    parts = [(a, STRIP, b - a, 0.5) for a, b in zip(ends[:-1], ends[1:], strict=True)]
    boxes(axes, parts, fill=COLOUR["S"])
    l = walk.states[walk.read][1]
    boxes(axes, [(LEFT, STRIP + 0.5, LENGTH * l, 0.5)], fill=COLOUR["ℓ"], line=1.4)
    write(axes, LEFT - 0.3, STRIP + 0.25, "Σ", at="right", size=LARGE)
    write(axes, LEFT - 0.3, STRIP + 0.85, "ℓ", at="right", size=LARGE)
    write(axes, LEFT + LENGTH * l + 0.3, STRIP + 0.75, number(l), at="left")


def words(walk: Walk) -> list[str]:
    """Say what is asked, or what happened."""
    t = walk.current + 1
    (m, l), (m_new, l_new) = walk.states[t - 1], walk.states[t]
    x = walk.row[t - 1]
    if not walk.answered:
        return [f"x{subscript(t)} = {x} comes next", f"m = {sign(m)}", "will m move?"]
    alpha, term = np.exp(m - m_new), np.exp(x - m_new)
    return [
        f"m moves: {sign(m)} → {sign(m_new)}" if m_new > m else f"m stays: {sign(m)}",
        f"α = e^{exponent(m, m_new)} = {number(alpha)}",
        f"new term e^{exponent(x, m_new)} = {number(term)}",
        f"ℓ = α · {number(l)} + {number(term)} = {number(l_new)}",
    ]


def bar(c: int, term: float) -> tuple[float, float, float, float]:
    return (middle(c) - BAR / 2, FLOOR - UNIT * term, BAR, UNIT * term)


def middle(c: int) -> float:
    return LEFT + COLUMN * (c + 0.5)


def sign(value: float) -> str:
    return minus("-∞" if value == -np.inf else f"{value:g}")


def exponent(x: float, m: float) -> str:
    """Return x − m as it stands in an exponent."""
    return f"({sign(x)} − {sign(m)})"


def number(value: float) -> str:
    """Return a number of at most seven characters: 1.503, 0.1353, 1.2e−17."""
    text = f"{value:.4g}" if value == 0 or value >= 1e-3 else f"{value:.1e}"
    return minus(text)
