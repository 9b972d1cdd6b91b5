"""Lesson 09's picture: its lines are the sizes, its points the recorded rows; it draws fast."""

import itertools

import pytest

from tests.utils.draw.picture_rules import (
    assert_a_redraw_is_fast,
    assert_texts_lie_inside,
    smallest,
)
from utils.draw.controls import settle
from utils.draw.measured import STYLE
from utils.draw.memory_scaling import (
    FIRST,
    LAST,
    STEP,
    MemoryScaling,
    controls,
    draw,
    place,
    size_text,
)
from utils.draw.palette import png
from utils.measurements import h200_forward as recorded
from utils.sizes import score_ratio

MEASURED = f"16 heads, d = 64, bfloat16, on {recorded.CARD}"
LONG = "16 heads, d = 64, bfloat16, on NVIDIA RTX PRO 6000 Blackwell Server Edition"
ENDS = list(
    itertools.product((FIRST, LAST), (8, 256), (1, 128), ("Q", "QKVO"), ("float16", "float32"))
)


def state(**wanted):
    return MemoryScaling(**settle(controls(), wanted))


def picture(now):
    return draw(now, recorded.MEMORY, MEASURED)


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def value_of(figure, name):
    """Return what stands after the last text of this name: the lines' own labels come earlier."""
    words = texts(figure)
    return words[len(words) - words[::-1].index(name)]


def measured(figure, method):
    """Return the points of a method; the last line with its colour is the sample in the legend."""
    lines = [x for x in figure.axes[0].get_lines() if x.get_color() == STYLE[method][0]]
    return list(zip(*lines[0].get_data(), strict=True))


def test_default_is_where_the_card_was_measured():
    figure = picture(state())
    assert value_of(figure, "S") == "2.15 GB"
    assert value_of(figure, "S : Q") == "128"
    assert value_of(figure, "S = Q at") == "N = 64"
    assert recorded.CARD in " ".join(texts(figure))
    assert "naive, up to N = 16,384" in texts(figure)


@pytest.mark.parametrize(("ruler", "times", "even"), [("Q", "32", 256), ("QKVO", "8", 1024)])
def test_the_two_rulers_differ_by_four(ruler, times, even):
    figure = picture(state(d=256, ruler=ruler))
    names = ("S : Q", "S = Q at") if ruler == "Q" else ("S : all four", "S = all four at")
    assert [value_of(figure, name) for name in names] == [times, f"N = {even}"]


@pytest.mark.parametrize(("d", "ruler"), [(8, "Q"), (64, "QKVO"), (100, "QKVO")])
def test_the_ring_lies_where_both_lines_meet(d, ruler):
    now = state(d=d, ruler=ruler)
    n = now.break_even
    assert score_ratio(n, d, ruler) == 1 and now.bytes("S", n) == now.bytes(ruler, n)
    ring = picture(now).axes[0].get_lines()[0]
    assert tuple(zip(*ring.get_data(), strict=True)) == (place(n, now.bytes("S", n)),)


def test_s_rises_twice_as_steeply():
    now = state()
    rise = {
        name: place(64, now.bytes(name, 64))[1] - place(128, now.bytes(name, 128))[1]
        for name in ("S", "Q", "L")
    }
    assert rise == pytest.approx({"S": 2 * STEP, "Q": STEP, "L": STEP})


@pytest.mark.parametrize("method", ["naive", "this course"])
@pytest.mark.parametrize("heads", [16, 128])
def test_measured_points_stay_where_they_were_measured(method, heads):
    found = measured(picture(state(heads=heads)), method)
    rows = [row for row in recorded.MEMORY if row["method"] == method]
    assert found == [place(row["n"], row["bytes"]) for row in rows]


def test_a_card_without_naive_rows_still_gets_its_picture():
    rows = [row for row in recorded.MEMORY if row["method"] == "this course"]
    assert "naive, up to N = 0" in texts(draw(state(), rows, "another card"))


def test_sizes_are_written_in_decimal_units():
    sizes = (512, 2e8, 8192**2 * 32 * 2, 131_072**2 * 32 * 2)
    assert [size_text(x) for x in sizes] == ["512 B", "200 MB", "4.29 GB", "1.1 TB"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("x", "d", "heads", "ruler", "dtype"), ENDS)
def test_every_end_draws_inside_the_picture(x, d, heads, ruler, dtype):
    figure = draw(MemoryScaling(x, d, heads, ruler, dtype), recorded.MEMORY, LONG)
    assert_texts_lie_inside(figure, apart=True)
    assert smallest(figure) >= 9


def test_equal_states_have_equal_bytes():
    assert png(picture(state())) == png(picture(state()))
    assert png(picture(state())) != png(picture(state(d=65)))


def test_a_redraw_is_fast(capsys):
    assert_a_redraw_is_fast(
        "memory_scaling", lambda step: picture(state(x=FIRST + step, ruler="QKVO")), capsys
    )
