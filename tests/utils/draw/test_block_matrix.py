"""Lesson 01's picture: every state draws, says the right numbers, and draws fast."""

import itertools

import numpy as np
import pytest

from tests.utils.draw.picture_rules import assert_a_redraw_is_fast, assert_texts_lie_inside
from utils.draw.block_matrix import BlockMatrix, controls, draw
from utils.draw.controls import settle
from utils.draw.palette import png

Q = np.array([[1, 0, 2], [0, 3, 1], [2, 1, 0], [1, 1, 1]])
K = np.array([[1, 2, 0], [0, 1, 1], [2, 0, 1], [1, 1, 1], [0, 2, 1], [3, 0, 0]])


def state(**wanted):
    return BlockMatrix(Q, K, **settle(controls(Q, K), wanted))


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_default_is_the_tile_of_the_text():
    assert "S[2, 4] = Σ Q[2, f]·K[4, f] = 2·0 + 1·2 + 0·1 = 2" in texts(draw(state()))


def test_lit_numbers_are_the_tiles_own():
    numbers = [int(text) for text in texts(draw(state())) if text.isdigit()]
    rows, cols = Q[2:4], K[4:6]
    drawn = [*rows.ravel(), *cols.T.ravel(), *(rows @ cols.T).ravel()]
    assert sorted(numbers) == sorted([*drawn, 2, 3, 4, 5])  # and the tokens' indices


def test_ragged_tile_is_as_small_as_it_is():
    last = state(b_r=3, b_c=4, i=2, j=2)
    assert (last.rows, last.cols) == (slice(3, 4), slice(4, 6))
    assert "Q₂ = Q[3:4]" in texts(draw(last))


def test_negative_factors_stand_in_brackets():
    figure = draw(BlockMatrix(-Q, K, 1, 1, 1, 1))
    assert "S[0, 0] = Σ Q[0, f]·K[0, f] = (−1)·1 + 0·2 + (−2)·0 = −1" in texts(figure)


@pytest.mark.parametrize(("name", "i", "j"), [("i", 0, 1), ("i", 3, 1), ("j", 1, 0), ("j", 1, 4)])
def test_a_tile_that_is_not_there_is_refused(name, i, j):
    with pytest.raises(ValueError, match=f"{name} counts tiles from 1"):
        BlockMatrix(Q, K, 2, 2, i, j)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("b_r", "b_c"), list(itertools.product(range(1, 5), repeat=2)))
def test_every_blocking_draws_without_warnings_in_few_numbers(b_r, b_c):
    figure = draw(state(b_r=b_r, b_c=b_c, i=1, j=99))  # 99: the last tile, ragged or not
    png(figure)
    assert len([text for text in texts(figure) if text.isdigit()]) <= 48


def test_the_largest_tile_stays_within_the_number_budget():
    figure = draw(state(b_r=4, b_c=4, i=1, j=1))
    assert len([text for text in texts(figure) if text.isdigit()]) <= 48


def test_all_text_lies_inside_the_picture():
    figure = draw(BlockMatrix(np.full((4, 3), -10), K, 3, 4, 2, 2))
    assert_texts_lie_inside(figure)


def test_equal_states_have_equal_bytes():
    assert png(draw(state())) == png(draw(state()))
    assert png(draw(state())) != png(draw(state(j=1)))


def test_a_redraw_is_fast(capsys):
    assert_a_redraw_is_fast(
        "block_matrix", lambda step: draw(state(b_r=4, b_c=4, j=1 + step % 2)), capsys
    )
