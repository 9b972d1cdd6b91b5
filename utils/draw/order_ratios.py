"""Lesson 08's second picture: what loop order and parallelism did to the time, as measured."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from utils.draw.palette import DPI, FONT, INK, LARGE, PAPER, SMALL
from utils.language import say
from utils.traffic import v1_bytes, v2_bytes

RATIOS = {
    "order: v1 / v2_serial": ("v1", "v2_serial"),
    "parallelism: v2_serial / v2": ("v2_serial", "v2"),
}
MODEL = {"v1": v1_bytes, "v2_serial": v2_bytes, "v2": v2_bytes}
STYLES = [("#0072b2", "s"), ("#b34700", "o"), ("#007a5a", "^"), ("#8a4fa0", "D")]


def by_point(rows: list[dict]) -> dict[tuple, dict[str, dict]]:
    """Return {(heads, n, d): {order: row}} for rows as in utils/measurements/h200_loop_orders.py."""
    points: dict[tuple, dict[str, dict]] = {}
    for row in rows:
        points.setdefault((row["heads"], row["n"], row["d"]), {})[row["order"]] = row
    return points


def ratios(rows: list[dict], above: str, below: str, what: str) -> dict[tuple, float]:
    """Return {(heads, n, d): row of `above` / row of `below`} where both were measured."""
    points = by_point(rows).items()
    return {at: r[above][what] / r[below][what] for at, r in points if {above, below} <= r.keys()}


def foretold(rows: list[dict], above: str, below: str) -> dict[int, float]:
    """Return {n: ratio of the bytes} by the model, for rows of one head dimension."""

    def moved(order: str, n: int, d: int, b_r: int, b_c: int) -> int:
        return sum(MODEL[order](n, n, d, d, b_r=b_r, b_c=b_c).values())

    points = sorted({(row["n"], row["d"], row["b_r"], row["b_c"]) for row in rows})
    return {at[0]: moved(above, *at) / moved(below, *at) for at in points}


def alt(card: str) -> str:
    """Return the picture in words."""
    return say(
        en=f"Ratios of times over N as measured on {card}, a row of panels for each head dimension:"
        " left v1 over v2 one after another, right that over v2 in parallel; a line for each number"
        " of heads. Dashed: the ratio that the bytes predict.",
        zh=f"在 {card} 上测得的用时之比随 N 的变化，每种头维度一行：左边是 v1 与逐个执行的 v2 之比，"
        "右边是逐个执行的 v2 与并行的 v2 之比；每种头数一条线。虚线是按字节预测的比值。",
    )


def draw(rows: list[dict], card: str) -> Figure:
    """Draw both ratios of times over N: a row for each d, a line for each number of heads."""
    sides = sorted({row["d"] for row in rows})
    figure = Figure(figsize=(10.4, 0.9 + 3.4 * len(sides)), dpi=DPI, facecolor=PAPER)
    figure.suptitle(f"ratios of times on {card}", fontsize=LARGE, color=INK, family=FONT)
    heads = sorted({row["heads"] for row in rows})
    for number, d in enumerate(sides):
        for column, (title, (above, below)) in enumerate(RATIOS.items()):
            axes = figure.add_subplot(len(sides), 2, 2 * number + column + 1)
            mine = [row for row in rows if row["d"] == d]
            lines(axes, ratios(mine, above, below, "ms"), heads)
            model = foretold(mine, above, below)
            axes.plot(
                model.keys(), model.values(), "--", color=INK, linewidth=1.2, label="by bytes"
            )
            axes.set_title(f"{title}, d = {d}", fontsize=SMALL + 1)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, fontsize=SMALL, frameon=False)
    figure.subplots_adjust(
        bottom=0.24 / len(sides) + 0.01,
        hspace=0.45,
        wspace=0.2,
        top=0.86 if len(sides) > 1 else 0.8,
    )
    return figure


def lines(axes: Axes, found: dict[tuple, float], heads: list[int]) -> None:
    """Draw one line for each number of heads; 1 means that both take the same time."""
    for (colour, marker), many in zip(STYLES, heads, strict=False):
        points = sorted((n, ratio) for (h, n, _), ratio in found.items() if h == many)
        axes.plot(
            *(zip(*points, strict=True) if points else ((), ())),
            color=colour,
            marker=marker,
            label=f"{many} heads",
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    sizes = sorted({n for _, n, _ in found})
    axes.set_xticks(sizes, [f"{n // 1024}k" if n >= 1024 else str(n) for n in sizes])
    ticks = [1, 2, 4, 8, 16, 32] if max(found.values(), default=1) > 6 else [1, 1.5, 2, 2.5, 3, 4]
    axes.set_yticks(ticks)
    axes.set_ylim(0.9, 1.15 * max([3, *found.values()]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.minorticks_off()
    axes.set_xlabel("N", fontsize=SMALL)
    axes.tick_params(labelsize=SMALL)
    axes.grid(alpha=0.3)
