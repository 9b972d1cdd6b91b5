"""Lesson 11's roofline: how fast bytes let attention be, and how fast it was."""

import numpy as np
from matplotlib.figure import Figure

from utils.ceilings import Ceilings, intensities, roof, two_ceilings
from utils.draw.controls import Choice
from utils.draw.measured import STYLE
from utils.draw.palette import DPI, INK, LARGE, PAPER, SMALL
from utils.language import say

ROOM = 1.6  # factor left free above the highest ceiling


def roofline(rows: list[dict], ceilings: Ceilings, card: str, d: int) -> Figure:
    """Draw TFLOP/s over FLOPs per byte for head dimension d, without a mask, at the longest N.

    rows: dicts with method, d, causal, n, tflops, as utils.benchmark.speed_rows gives them. The
    methods' intensities come from the byte model `intensities`, their speeds from the clock.
    """
    figure = Figure(figsize=(8.4, 5.4), dpi=DPI, facecolor=PAPER)
    figure.suptitle(f"roofline of {card}, d = {d}", fontsize=LARGE, color=INK)
    axes = figure.add_subplot()
    draw_roof(axes, ceilings, d)
    for method in ("naive", "this course"):
        draw_point(axes, [r for r in rows if (r["d"], r["causal"]) == (d, False)], method, d)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    slowest = min(row["tflops"] for row in rows)
    axes.set_ylim(min(8, slowest / 2), ROOM * ceilings.flops / 1e12)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
    axes.set_xlabel("FLOPs per byte moved to and from HBM (byte model)", fontsize=SMALL)
    axes.set_ylabel("TFLOP/s", fontsize=SMALL)
    axes.tick_params(labelsize=SMALL)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize=SMALL, frameon=False)
    figure.subplots_adjust(bottom=0.14, left=0.14, right=0.97, top=0.91)
    return figure


def draw_roof(axes, ceilings: Ceilings, d: int) -> None:
    """Draw the traffic and product ceilings, and the level where exponentials take their turn."""
    reach = np.geomspace(4, 2**15, 200)
    flops = [roof(x, ceilings.flops, ceilings.bytes) / 1e12 for x in reach]
    axes.plot(reach, flops, color=INK, label="measured: copy, then matrix product")
    both = two_ceilings(d, ceilings.flops, ceilings.exponentials) / 1e12
    axes.axhline(both, color=INK, linestyle="--", label="model: products and exponentials in turns")


def draw_point(axes, rows: list[dict], method: str, d: int) -> None:
    """Put a method at its modelled intensity and its measured speed, at the longest N it ran."""
    mine = [row for row in rows if row["method"] == method]
    if not mine:
        return
    row = max(mine, key=lambda row: row["n"])
    kind = "naive" if method == "naive" else "streaming"
    colour, marker = STYLE[method]
    label = f"{method}, N = {row['n']:,}"
    x = intensities(row["n"], d)[kind]
    axes.plot(
        [x], [row["tflops"]], color=colour, marker=marker, markersize=9, linestyle="", label=label
    )


def controls() -> dict:
    """Return what the reader can set: the head dimension."""
    return {"d": Choice("d", {"64": 64, "128": 128}, 128)}


def alt(card: str) -> str:
    """Return that picture in words."""
    return say(
        en=f"TFLOP/s over operations per byte for {card}, both axes logarithmic: the ceilings of copy,"
        " matrix product and exponentials, and two points, naive attention and this course's kernel.",
        zh=f"{card} 的每秒运算次数（TFLOP/s）随每字节运算次数的变化，两个轴都是对数刻度：复制、矩阵乘法和"
        "指数运算的上限，以及两个点：朴素注意力和本课程的 kernel。",
    )
