"""Lesson 08's ratios of times: only what was measured is drawn, each ratio in its panel."""

import pytest

from utils.draw.order_ratios import by_point, draw, ratios
from utils.draw.palette import png
from utils.traffic import v1_bytes, v2_bytes


def row(heads, n, d, order, ms):
    return {"heads": heads, "n": n, "d": d, "b_r": 64, "b_c": 64, "order": order, "ms": ms}


ROWS = [
    row(heads, n, d, order, ms * heads * n * d)
    for heads in (16, 528)
    for n in (512, 1024)
    for d in (64, 128)
    for order, ms in (("v1", 6.0), ("v2_serial", 3.0), ("v2", 2.0))
    if (heads, n, order) != (528, 1024, "v1")
]


def by_bytes(n, d):
    v1, v2 = (sum(f(n, n, d, d, b_r=64, b_c=64).values()) for f in (v1_bytes, v2_bytes))
    return v1 / v2


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
    for axes, ratio, d in zip(figure.axes, (2, 1.5, 2, 1.5), (64, 64, 128, 128), strict=True):
        *drawn, dashed = axes.lines
        told = [by_bytes(n, d) if ratio == 2 else 1 for n in (512, 1024)]
        assert list(dashed.get_ydata()) == told and dashed.get_label() == "by bytes"
        low, high = axes.get_ylim()
        assert low < 1 and high > max(ratio, *told)
        assert [line.get_label() for line in drawn] == ["16 heads", "528 heads"]
        assert all(y == ratio for line in drawn for y in line.get_ydata())
    assert len(figure.axes[0].lines[1].get_xdata()) == 1
    assert "CARD" in figure.get_suptitle()
    png(figure)


def test_for_large_n_on_equal_tiles_the_bytes_of_v1_order_come_to_two_and_a_half_times():
    assert by_bytes(2**16, 4096) == pytest.approx(2.5, rel=0.01)


@pytest.mark.filterwarnings("error")
def test_heads_of_which_nothing_was_measured_leave_an_empty_line():
    rows = [r for r in ROWS if r["heads"] == 16 or r["order"] == "v2"]
    assert len(draw(rows, "CARD").axes[0].lines[1].get_xdata()) == 0
