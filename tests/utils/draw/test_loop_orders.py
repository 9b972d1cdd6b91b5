"""Lesson 08's films: frames follow the loops, the bars are the counted bytes, a fast redraw."""

import itertools

import numpy as np
import pytest

from tests.utils.draw.picture_rules import (
    assert_a_redraw_is_fast,
    assert_texts_lie_inside,
    smallest,
)
from utils.attention import tiled_attention, tiled_attention_v1
from utils.draw.controls import settle
from utils.draw.loop_orders import GROUPS, SIZES, bytes_of, controls, draw, film
from utils.draw.palette import png
from utils.tiles import tiles
from utils.traffic import v1_bytes, v2_bytes

Q, K, V = np.random.default_rng(8).standard_normal((3, 64, 64))


def v1_order(q, k, v, b_r, b_c, memory):
    return tiled_attention_v1(q, k, v, b_r=b_r, b_c=b_c, memory=memory)


def v2_order(q, k, v, b_r, b_c, memory):
    return tiled_attention(q, k, v, b_r=b_r, b_c=b_c, memory=memory)


def films(b_r, b_c, tensors=(Q, K, V)):
    return [film(loop, *tensors, b_r, b_c) for loop in (v1_order, v2_order)]


def picture(**wanted):
    values = settle(controls(64), wanted)
    return draw(films(values["b_r"], values["b_c"]), values["step"])


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def pairs(n, n_k, b_r, b_c):
    rows = [(part.start, part.stop) for part in tiles(n, b_r)]
    keys = [(part.start, part.stop) for part in tiles(n_k, b_c)]
    return rows, keys


@pytest.mark.parametrize(("b_r", "b_c"), list(itertools.product((8, 16, 24), repeat=2)))
def test_v1_order_goes_down_the_columns_and_v2_order_along_the_rows(b_r, b_c):
    rows, keys = pairs(64, 64, b_r, b_c)
    v1, v2 = (one.frames for one in films(b_r, b_c))
    assert v1[-1].visited == [(r, c) for c in keys for r in rows]
    assert v2[-1].visited == [(r, c) for r in rows for c in keys]
    for frames in (v1, v2):
        assert [len(frame.visited) for frame in frames[:-1]] == list(range(1, len(frames)))


@pytest.mark.parametrize(("b_r", "b_c"), list(itertools.product(SIZES, repeat=2)))
def test_the_last_frame_has_the_bytes_of_the_closed_forms(b_r, b_c):
    for one, formula in zip(films(b_r, b_c), (v1_bytes, v2_bytes), strict=True):
        moved = formula(64, 64, 64, 64, b_r=b_r, b_c=b_c)
        expected = {g: sum(moved.get(name, 0) for name in names) for g, names in GROUPS.items()}
        assert bytes_of(one.frames[-1]) == expected


def test_states_travel_in_v1_order_only():
    assert [one.travels for one in films(16, 16)] == [True, False]


def test_v2_order_writes_a_tile_of_o_with_its_last_visit_and_v1_order_at_the_end():
    v1, v2 = (one.frames for one in films(16, 16))
    assert [len(frame.finished) for frame in v2] == [n // 4 for n in range(1, 17)] + [4]
    assert [len(frame.finished) for frame in v1] == [0] * 16 + [4]


def test_default_tells_the_bytes_of_the_first_visits():
    """v1: one column of 4 and 2 more visits; v2: one row of 4 and 2 more."""
    words = texts(picture())
    assert {"12,288", "8,192", "total 88,064", "4,096", "24,576", "total 30,784"} <= set(words)
    assert "bytes so far, v1 order : v2 order = 2.86" in words


def test_wide_tiles_end_with_fewer_bytes_in_v1_order():
    end = {"step": 10**6}
    assert "bytes so far, v1 order : v2 order = 0.97" in texts(picture(b_r=8, b_c=32, **end))


def test_the_step_ends_after_the_last_visit():
    for b_r, b_c in itertools.product(SIZES, repeat=2):
        last = settle(controls(64), {"b_r": b_r, "b_c": b_c, "step": 10**6})["step"]
        assert [last, last] == [len(one.frames) for one in films(b_r, b_c)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("b_r", "b_c"), list(itertools.product((8, 32), repeat=2)))
@pytest.mark.parametrize("step", [1, 10**6])
def test_all_text_lies_inside_the_picture_in_few_numbers(b_r, b_c, step):
    figure = picture(b_r=b_r, b_c=b_c, step=step)
    assert_texts_lie_inside(figure, apart=True)
    assert smallest(figure) >= 9
    assert len([text for text in texts(figure) if any(c.isdigit() for c in text)]) <= 48


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("step", [1, 6, 12])
def test_ragged_tiles_and_unequal_lengths_draw_without_warnings(step):
    png(draw(films(16, 24, (Q[:50], K, V)), step))


def test_equal_states_have_equal_bytes():
    assert png(picture()) == png(picture()) != png(picture(step=7))


def test_a_redraw_is_fast(capsys):
    assert_a_redraw_is_fast(
        "loop_orders", lambda turn: picture(b_r=8, b_c=8, step=60 + turn % 2), capsys
    )
