"""Lesson 09's picture: bytes of S, of a ruler and of L over N, and what was measured."""

from dataclasses import dataclass
from math import log2
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from utils.draw.controls import Choice, Slider
from utils.draw.measured import STYLE
from utils.draw.palette import COLOUR, FAINT, INK, LARGE, canvas, write
from utils.language import say
from utils.memory import itemsize
from utils.sizes import elements, score_ratio

LEFT, TOP, SIDE = 2.6, 1.7, 9.2  # cells: margins, room for the numbers
FIRST, LAST = 3, 17  # N = 2³ … 2¹⁷, one cell for each doubling
LOW, HIGH, STEP = 4, 44, 0.25  # 2⁴ … 2⁴⁴ bytes, a quarter of a cell for each doubling
BOTTOM, RIGHT = TOP + (HIGH - LOW) * STEP, LEFT + LAST - FIRST
UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
WORDS = 13.5  # points: a page of 800 pixels shows the picture smaller


@dataclass(frozen=True)
class MemoryScaling:
    """N = 2^x tokens, head dimension d, batch × heads, ruler "Q" or "QKVO", and a dtype."""

    x: int
    d: int
    heads: int
    ruler: str
    dtype: str

    def bytes(self, name: str, n: int) -> int:
        """Return the bytes of "S", "L" (always float32) or the ruler's tensors, over all heads."""
        count = elements(n, self.d)
        size = 4 if name == "L" else itemsize(self.dtype)
        return self.heads * size * sum(count[letter] for letter in name)

    @property
    def break_even(self) -> int:
        """The N at which S has as many elements as the ruler: d or 4d."""
        return self.d * len(self.ruler)


def controls() -> dict[str, Slider | Choice]:
    """Return the picture's controls; they start where the H200 was measured."""
    one = say(en="one tensor, Q", zh="一个张量 Q")
    four = say(en="all four, Q K V O", zh="四个张量 Q K V O")
    dtypes = {"float16, bfloat16": "float16", "float32": "float32"}
    return {
        "x": Slider(say(en="N = 2^x tokens, x", zh="N = 2^x 个 token，x"), FIRST, LAST, 13),
        "d": Slider(say(en="head dimension, d", zh="头维度 d"), 8, 256, 64),
        "heads": Slider(say(en="batch × heads", zh="batch × 头数"), 1, 128, 16),
        "ruler": Choice(say(en="ruler", zh="尺子"), {one: "Q", four: "QKVO"}, "Q"),
        "dtype": Choice(say(en="dtype", zh="数据类型"), dtypes, "float16"),
    }


def alt() -> str:
    """Return the picture in words."""
    return say(
        en="Bytes over N, both logarithmic. The line of S is twice as steep as those of the ruler"
        " and of L, and crosses the ruler at N = d or 4d. Measured points: naive attention parallel"
        " to S, the kernel along the line of one tensor.",
        zh="字节数随 N 的变化，两个轴都是对数刻度。S 的线比尺子和 L 的线陡一倍，在 N = d 或 4d 处"
        "与尺子相交。测得的点：朴素注意力与 S 平行，kernel 沿着一个张量的线。",
    )


def draw(state: MemoryScaling, rows: list[dict], measured: str) -> Figure:
    """Return the lines of theory with the measured rows (method, n, bytes) laid over them.

    measured: with what, and on which card.
    """
    figure, axes = canvas(RIGHT + 1.5 + SIDE, BOTTOM + 1.8)
    dtype = "2 bytes" if itemsize(state.dtype) == 2 else "4 bytes"
    title = f"bytes over N: batch × heads = {state.heads}, d = {state.d}, {dtype} an element"
    write(axes, LEFT, 0.7, title, size=LARGE, at="left")
    paper(axes)
    for name in ("L", state.ruler, "S"):
        ends = [place(n, state.bytes(name, n)) for n in (2**FIRST, 2**LAST)]
        line(axes, ends, COLOUR["ℓ" if name == "L" else name[0]])
        write(axes, RIGHT + 0.35, ends[1][1], " ".join(name), at="left", weight="bold", size=WORDS)
    cursor(axes, state)
    points(axes, rows)
    panel(axes, state, rows, measured)
    return figure


def place(n: float, size: float) -> tuple[float, float]:
    """Return where N tokens and so many bytes lie on the paper, in cells."""
    return LEFT + log2(n) - FIRST, BOTTOM - (log2(size) - LOW) * STEP


def line(axes: Axes, ends: list, colour: str) -> None:
    """Draw a coloured line with a dark edge: seen on white whatever its colour."""
    style = {"linewidths": (6.0, 3.4), "colors": (INK, colour), "capstyle": "butt"}
    axes.add_collection(LineCollection([ends, ends], **style), autolim=False)


def paper(axes: Axes) -> None:
    """Draw the logarithmic paper: a line for each fourfold N and each thousandfold size."""
    uprights = [2**e for e in range(FIRST, LAST + 1, 2)]
    lines = [[(place(n, 1)[0], TOP), (place(n, 1)[0], BOTTOM)] for n in uprights]
    levels = {unit: place(1, size)[1] for unit, size in UNITS.items()}
    lines += [[(LEFT, y), (RIGHT, y)] for y in levels.values()]
    lines += [[(LEFT, TOP), (LEFT, BOTTOM)], [(LEFT, BOTTOM), (RIGHT, BOTTOM)]]
    axes.add_collection(LineCollection(lines, colors=FAINT, linewidths=0.7), autolim=False)
    for n in uprights:
        write(axes, place(n, 1)[0], BOTTOM + 0.45, f"{n // 1024}k" if n >= 1024 else n, size=WORDS)
    for unit, y in levels.items():
        write(axes, LEFT - 0.2, y, f"1 {unit}", at="right", size=WORDS)
    write(axes, RIGHT, BOTTOM + 1.15, "N", weight="bold", size=WORDS)


def cursor(axes: Axes, state: MemoryScaling) -> None:
    """Mark the chosen N by a line, and where S meets the ruler by a ring."""
    n = 2**state.x
    upright = [[(place(n, 1)[0], TOP), (place(n, 1)[0], BOTTOM)]]
    style = {"colors": INK, "linewidths": 1.4, "linestyles": "dashed"}
    axes.add_collection(LineCollection(upright, **style), autolim=False)
    meeting = place(state.break_even, state.bytes("S", state.break_even))
    axes.plot(*meeting, "o", markersize=15, fillstyle="none", color=INK, markeredgewidth=1.6)


def points(axes: Axes, rows: list[dict]) -> None:
    """Draw the measured rows, each method with its own marker."""
    for method in ("naive", "this course"):
        colour, marker = STYLE[method]
        found = [place(row["n"], row["bytes"]) for row in rows if row["method"] == method]
        if found:
            style = {"markersize": 9, "markeredgecolor": INK if marker == "o" else colour}
            x, y = zip(*found, strict=True)
            axes.plot(x, y, marker, color=colour, markeredgewidth=2, **style)


def panel(axes: Axes, state: MemoryScaling, rows: list[dict], measured: str) -> None:
    """Write the numbers at the chosen N, and what the markers mean."""
    n, x, y = 2**state.x, RIGHT + 2.4, TOP + 0.4
    ruler = " + ".join(state.ruler)
    times = score_ratio(n, state.d, state.ruler)
    even = f"S = {ruler} at" if len(state.ruler) == 1 else "S = all four at"
    lines = [
        ("N", f"{n:,}"),
        ("S", size_text(state.bytes("S", n))),
        (ruler, size_text(state.bytes(state.ruler, n))),
        ("L (float32)", size_text(state.bytes("L", n))),
        (f"S : {'Q' if state.ruler == 'Q' else 'all four'}", f"{times:,.5g}"),
        (even, f"N = {state.break_even}"),
    ]
    for name, value in lines:
        write(axes, x, y, name, at="left", size=WORDS)
        write(axes, x + 8, y, value, at="right", weight="bold", size=WORDS)
        y += 0.95
    for text in wrap(f"measured: {measured}", 32):
        y += 0.8
        write(axes, x, y, text, at="left", size=WORDS)
    for number, (method, says) in enumerate((("naive", "naive"), ("this course", "kernel"))):
        colour, marker = STYLE[method]
        here = (x + 0.3, y + 1.1 + number)
        axes.plot(*here, marker, color=colour, markersize=9, markeredgewidth=2)
        last = max((row["n"] for row in rows if row["method"] == method), default=0)
        write(axes, x + 0.9, here[1], f"{says}, up to N = {last:,}", at="left", size=WORDS)


def size_text(number: float) -> str:
    """Return bytes in decimal units with three digits: 4294967296 becomes 4.29 GB."""
    unit = max((u for u in UNITS if number >= UNITS[u]), key=UNITS.get, default="B")
    return f"{number / UNITS.get(unit, 1):.3g} {unit}"
