"""Lesson 10's picture: its addresses are those of the expression, its words count what it shows."""

import itertools

import numpy as np
import pytest

from tests.utils.draw.picture_rules import assert_a_redraw_is_fast, assert_texts_lie_inside
from utils.draw.controls import settle
from utils.draw.palette import png
from utils.draw.pointers import LINE, LINES, Pointers, controls, draw

ENDS = list(itertools.product((1, 8), (1, 10), (1, 8), (0, 7), (1, 4), (1, 8)))
NAMES = ("n", "stride", "d", "row", "b_r", "b_c")


def state(**wanted):
    return Pointers(**settle(controls(), wanted))


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def strokes(figure):
    return [len(c.get_segments()) for c in figure.axes[0].collections if hasattr(c, "get_segments")]


def test_default_is_the_tile_of_the_text():
    now = state()
    rows, cols = 4 + np.arange(4), np.arange(8)
    assert (now.offsets == rows[:, None] * 8 + cols[None, :]).all()
    assert (now.mask == ((rows[:, None] < 6) & (cols[None, :] < 5))).all()
    words = texts(draw(now))
    assert "32 addresses: 10 read, 22 hidden" in words
    assert "last address 63; the matrix ends at 44" in words


def test_rows_that_touch_hide_elements_of_the_next_row():
    words = texts(draw(state(stride=5, d=5, row=1, b_r=2)))
    assert "of the hidden, 6 lie in other rows of the matrix" in words


def test_hidden_addresses_are_crossed_out_in_the_tile_and_in_memory():
    now = state(row=5)
    hidden = int((~now.mask).sum())
    assert strokes(draw(now)) == [2 * hidden, 2 * hidden, 2]


def test_only_addresses_of_the_matrix_are_read():
    for values in ENDS:
        now = state(**dict(zip(NAMES, values, strict=True)))
        assert np.isin(now.offsets[now.mask], now.owned).all()


def test_rows_cannot_overlap():
    with pytest.raises(ValueError, match="rows of 6 elements cannot lie 5"):
        Pointers(n=4, d=6, stride=5, row=0, b_r=2, b_c=4)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", ENDS)
def test_every_end_of_the_controls_draws_inside_memory_and_in_few_numbers(values):
    now = state(**dict(zip(NAMES, values, strict=True)))
    figure = draw(now)
    png(figure)
    assert now.offsets.max() < LINE * LINES
    assert len([text for text in texts(figure) if text.isdigit()]) <= 48


def test_all_text_lies_inside_the_picture():
    figure = draw(state(n=8, stride=10, d=8, row=7))
    assert_texts_lie_inside(figure)


def test_equal_states_have_equal_bytes():
    assert png(draw(state())) == png(draw(state()))
    assert png(draw(state())) != png(draw(state(row=1)))


def test_a_redraw_is_fast(capsys):
    assert_a_redraw_is_fast("pointers", lambda step: draw(state(row=step % 3)), capsys)
