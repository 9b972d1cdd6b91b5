"""Lesson 11's pictures: speed and memory as measured, with the card in the title."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from utils.draw.palette import DPI, INK, LARGE, PAPER, SMALL
from utils.language import say

# method → colour, marker: told apart by the marker too; all reach 3:1 on white
STYLE = {
    "this course": ("#b34700", "o"),
    "SDPA flash": ("#0072b2", "s"),
    "SDPA cuDNN": ("#007a5a", "^"),
    "FlashAttention-3": ("#c2185b", "v"),
    "SDPA mem-efficient": ("#8a4fa0", "D"),
    "naive": ("#5c636e", "x"),
}


def speed(rows: list[dict], card: str) -> Figure:
    """Draw TFLOP/s over N: a column for each d, a row for causal or not.

    rows: dicts with method, d, causal, n, tflops, as utils.benchmark.speed_rows gives them.
    """
    sides = sorted({row["d"] for row in rows})
    figure = Figure(figsize=(5.2 * len(sides), 7.6), dpi=DPI, facecolor=PAPER)
    figure.suptitle(f"forward pass on {card}", fontsize=LARGE, color=INK)
    top = 1.08 * max(row["tflops"] for row in rows)
    for place, (causal, d) in enumerate([(c, d) for c in (False, True) for d in sides], 1):
        axes = figure.add_subplot(2, len(sides), place)
        lines(axes, [r for r in rows if (r["d"], r["causal"]) == (d, causal)], "tflops")
        axes.set_title(f"d = {d}{', causal' if causal else ''}", fontsize=SMALL + 1)
        axes.set_ylim(0, top)
        axes.set_ylabel("TFLOP/s", fontsize=SMALL)
    finish(figure)
    return figure


def speed_alt(card: str) -> str:
    """Return that picture in words."""
    return say(
        en=f"TFLOP/s over N as measured on {card}, a panel for each head dimension, with and without"
        " the causal mask; in each, one line for every method.",
        zh=f"在 {card} 上测得的每秒运算次数（TFLOP/s）随 N 的变化：头维度、有无因果掩码的每种组合各占一格，"
        "每种方法一条线。",
    )


def memory(rows: list[dict], card: str) -> Figure:
    """Draw the extra bytes of one call over N, both axes logarithmic (rows: method, n, bytes)."""
    figure = Figure(figsize=(8.4, 5.4), dpi=DPI, facecolor=PAPER)
    figure.suptitle(f"extra memory of one call on {card}", fontsize=LARGE, color=INK)
    axes = figure.add_subplot()
    lines(axes, rows, "bytes")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(value)))
    axes.set_ylabel("beyond Q, K, V", fontsize=SMALL)
    finish(figure)
    return figure


def memory_alt(card: str) -> str:
    """Return that picture in words."""
    return say(
        en=f"Bytes that one call takes beyond Q, K and V over N, as measured on {card}, both axes"
        " logarithmic; one line for every method.",
        zh=f"在 {card} 上测得的一次调用在 Q、K、V 之外多占的字节数随 N 的变化，两个轴都是对数刻度，每种方法一条线。",
    )


def lines(axes: Axes, rows: list[dict], what: str) -> None:
    """Draw one line for each method over N, which doubles from tick to tick; what is missing is a gap."""
    sizes = sorted({row["n"] for row in rows})
    for method, (colour, marker) in STYLE.items():
        found = {row["n"]: row[what] for row in rows if row["method"] == method}
        if found:
            heights = [found.get(n, math.nan) for n in sizes]
            axes.plot(sizes, heights, color=colour, marker=marker, label=method)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{n // 1024}k" if n >= 1024 else str(n) for n in sizes])
    axes.minorticks_off()
    axes.set_xlabel("N", fontsize=SMALL)
    axes.tick_params(labelsize=SMALL)
    axes.grid(alpha=0.3)


def finish(figure: Figure) -> None:
    """Put one legend below all panels, naming only what was measured."""
    handles, labels = {}, []
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    labels = [method for method in STYLE if method in handles]
    places = [handles[label] for label in labels]
    figure.legend(places, labels, loc="lower center", ncols=3, fontsize=SMALL, frameon=False)
    figure.subplots_adjust(bottom=0.2 if len(figure.axes) > 1 else 0.24, hspace=0.35, wspace=0.25)


def size_text(number: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.0f} TiB"
