"""Lesson 08's ratios of times: only what was measured is drawn, each ratio in its panel."""

import pytest

from utils.draw.order_ratios import RATIOS, by_point, draw, ratios
from utils.draw.palette import png
from utils.traffic import v1_bytes, v2_bytes


def row(heads, n, d, order, ms):
    return {"heads": heads, "n": n, "d": d, "order": order, "ms": ms}


ROWS = [
    row(heads, n, d, order, ms * heads * n * d)
    for heads in (16, 528)
    for n in (512, 1024)
    for d in (64, 128)
    for order, ms in (("v1", 6.0), ("v2_serial", 3.0), ("v2", 2.0))
    if (heads, n, order) != (528, 1024, "v1")
]


def test_a_ratio_exists_where_both_orders_were_measured():
    assert len(by_point(ROWS)) == 8
    order = ratios(ROWS, "v1", "v2_serial", "ms")
    assert set(order.values()) == {2.0} and len(order) == 6 and (528, 1024, 64) not in order
    assert len(ratios(ROWS, "v2_serial", "v2", "ms")) == 8


@pytest.mark.filterwarnings("error")
def test_every_panel_shows_its_ratio_with_a_line_for_each_number_of_heads():
    figure = draw(ROWS, "CARD")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == [
        f"{name}, d = {d}"
        for d in (64, 128)
        for name in ("order: v1 / v2_serial", "parallelism: v2_serial / v2")
    ]
    for axes, ratio, foretold in zip(figure.axes, (2, 1.5, 2, 1.5), (2.5, 1, 2.5, 1), strict=True):
        *drawn, dashed = axes.lines
        assert set(dashed.get_ydata()) == {foretold} and dashed.get_label() == "by bytes"
        low, high = axes.get_ylim()
        assert low < 1 and high > max(ratio, foretold)
        assert [line.get_label() for line in drawn] == ["16 heads", "528 heads"]
        assert all(y == ratio for line in drawn for y in line.get_ydata())
    assert len(figure.axes[0].lines[1].get_xdata()) == 1
    assert "CARD" in figure.get_suptitle()
    png(figure)


def test_what_bytes_foretell_is_what_they_come_to_for_large_n_on_equal_tiles():
    v1, v2 = (
        sum(f(2**16, 2**16, 4096, 4096, b_r=64, b_c=64).values()) for f in (v1_bytes, v2_bytes)
    )
    foretold = [number for _, _, number in RATIOS.values()]
    assert foretold == pytest.approx([v1 / v2, 1], rel=0.01)


@pytest.mark.filterwarnings("error")
def test_heads_of_which_nothing_was_measured_leave_an_empty_line():
    rows = [r for r in ROWS if r["heads"] == 16 or r["order"] == "v2"]
    assert len(draw(rows, "CARD").axes[0].lines[1].get_xdata()) == 0
