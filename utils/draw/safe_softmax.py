"""Lesson 03's picture: one row's terms in the range of its type, plain and with m subtracted."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from utils.draw.controls import Choice, Slider
from utils.draw.palette import COLOUR, FAINT, LARGE, boxes, canvas, minus, write
from utils.language import say

LEFT, TOP, GAP = 3.2, 2.0, 3.2  # cells: room for the rows' names, for titles, between the frames
COLUMN, HEIGHT, BAR = 1.9, 6.0, 1.1  # width of a bar's column, height of a frame, width of a bar
BEYOND = 0.45  # how far an infinite bar stands out of the frame
WORDS = 12.5  # points: a page of 800 pixels shows the picture smaller
ROWS = ([1, 2, 3, 5], [5, 5, 5, 5], [1, 2, 3, 40])

Stages = tuple[np.ndarray, np.ndarray, np.floating, np.ndarray]  # exponents, terms, sum, weights


def controls() -> dict[str, Choice | Slider]:
    """Return the picture's controls: the row, its type, and a shift of all its scores."""
    rows = {", ".join(map(str, row)): row for row in ROWS}
    types = {name: name for name in ("float32", "float16")}
    return {
        "row": Choice(say(en="scores", zh="分数"), rows, ROWS[0]),
        "dtype": Choice(say(en="type", zh="类型"), types, "float32"),
        "shift": Slider(say(en="added to all scores", zh="所有分数加上"), -120, 120, 85),
    }


def alt() -> str:
    """Return the picture in words."""
    return say(
        en="Two frames span the range of a floating-point type. Left, the terms e to the x and their"
        " sum run into the edges when all scores are shifted; right, with the maximum subtracted,"
        " they stay. Below are exponents, terms and weights.",
        zh="两个方框表示浮点类型的范围。左边是 e 的 x 次方各项及其和，分数一起平移时会撞上框沿；"
        "右边减去了最大值，各项不动。下面是指数、各项和权重。",
    )


def edges(dtype: np.dtype) -> tuple[float, float]:
    """Return the exponents at which e^x becomes 0 and inf in a floating-point type."""
    info = np.finfo(dtype)
    return (
        float(np.log(float(info.smallest_subnormal)) - np.log(2)),  # half of it rounds to 0
        float(np.log(float(info.max))),
    )


def draw(plain: Stages, safe: Stages) -> Figure:
    """Return the picture of two computations on one row of n scores, of type float16 or float32.

    Each is (exponents (n,), terms (n,), their sum, weights (n,)), all as they were computed.
    """
    width = COLUMN * (len(plain[1]) + 1)
    right = LEFT + width + GAP
    figure, axes = canvas(right + width + 0.4, TOP + HEIGHT + 3.9)
    m = f"{float(np.max(plain[0])):g}"
    titles = ("e^x", f"e^(x − m),  m = {m}")
    for left, stages, title in zip((LEFT, right), (plain, safe), titles, strict=True):
        frame(axes, left, width, stages[1].dtype)
        bars(axes, left, stages)
        table(axes, left, stages)
        write(axes, left + width / 2, 0.7, f"{title}   ({stages[1].dtype})", size=LARGE)
    for line, name in enumerate(("exponent", "term", "weight")):
        write(axes, LEFT - 0.3, row_of_table(line), name, at="right", size=WORDS)
    return figure


def height_of(value: np.floating, dtype: np.dtype) -> float:
    """Return how high a bar stands in its frame: 0 for 0, above the frame for inf."""
    low, high = edges(dtype)
    if value == 0:
        return 0.0
    if not np.isfinite(value):
        return HEIGHT + BEYOND
    return HEIGHT * (float(np.log(float(value))) - low) / (high - low)


def frame(axes: Axes, left: float, width: float, dtype: np.dtype) -> None:
    """Draw the range of a type, with the exponents of its edges and a line at e⁰ = 1."""
    low, high = edges(dtype)
    one = TOP + HEIGHT - height_of(np.float64(1), dtype)
    boxes(axes, [(left, TOP, width, HEIGHT)], line=2)
    boxes(axes, [(left, one, width, 0)], edge=FAINT, line=1.2)
    named = ((TOP, f"e^{high:.1f} → inf"), (one, "e^0 = 1"), (TOP + HEIGHT, f"e^{low:.1f} → 0"))
    for y, name in named:
        write(axes, left - 0.15, y, name, at="right", size=WORDS)


def bars(axes: Axes, left: float, stages: Stages) -> None:
    """Draw one bar a term, and one for the sum."""
    _, terms, total, _ = stages
    values = [*terms, total]
    colours = [COLOUR["S"]] * len(terms) + [COLOUR["ℓ"]]
    places, fills = [], []
    for n, value in enumerate(values):
        high = height_of(value, terms.dtype)
        if high > 0:
            places.append((middle(left, n) - BAR / 2, TOP + HEIGHT - high, BAR, high))
            fills.append(colours[n])
    boxes(axes, places, fill=fills, line=1.4)


def table(axes: Axes, left: float, stages: Stages) -> None:
    """Write below each bar its exponent, its value, and the weight that comes out."""
    exponents, terms, total, weights = stages
    lines = ([*map(str_of, exponents), "ℓ"], map(str_of, [*terms, total]), map(str_of, weights))
    for line, entries in enumerate(lines):
        for n, entry in enumerate(entries):
            lost = line == 2 and entry in ("0", "nan", "inf")
            style = {"weight": "bold"} if lost else {}
            write(axes, middle(left, n), row_of_table(line), entry, **style, size=WORDS)


def middle(left: float, n: int) -> float:
    return left + COLUMN * (n + 0.5)


def row_of_table(line: int) -> float:
    return TOP + HEIGHT + 1.1 + 1.1 * line


def str_of(value: np.floating) -> str:
    """Return a number in at most seven characters: 1.2e38, 0.01522, −85, inf."""
    text = f"{float(value):.4g}" if 1e-4 <= abs(value) < 1e4 else f"{float(value):.1e}"
    if value == 0 or not np.isfinite(value):
        text = f"{float(value):g}"
    return minus(text.replace("e+0", "e").replace("e-0", "e-").replace("e+", "e"))
