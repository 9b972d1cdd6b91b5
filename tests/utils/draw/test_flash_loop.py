"""Lesson 06's picture: frames follow the loop, sabotage shows, a fast redraw."""

import itertools

import numpy as np
import pytest

from tests.utils.draw.picture_rules import assert_a_redraw_is_fast, assert_texts_lie_inside
from utils.attention import in_slow_memory, on_chip
from utils.draw.controls import settle
from utils.draw.flash_loop import WIDE, controls, draw, film
from utils.draw.palette import png
from utils.states import State, finish, identity, state_of, update
from utils.tiles import tiles

X, Y = [0, 1, 2, 1, 4, 3, 1, 0], [3, 0, 1, 0, 0, 1, 0, 2]
K = np.array([X, Y, [1] * 8, [1] * 8]).T
Q = np.array([[2, 0, 0, 0], [0, 2, -800, -800], [-2, 0, 0, 0], [0, 4, 0, 0]])
V = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [0, 1], [0, 0], [1, 0], [1, 1]])


def flash(q, k, v, b_r, b_c, memory, update):
    scale = 1 / np.sqrt(q.shape[1])
    slow_q, slow_k, slow_v, out, lse = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(q), b_r)):
        q_i = slow_q[rows]
        state = on_chip(memory, identity(len(q_i), v.shape[1]))
        for cols in memory.turns(tiles(len(k), b_c)):
            s = memory.chip("S", scale * (q_i @ slow_k[cols].T))
            state = update(state, s, slow_v[cols])
        out[rows], lse[rows] = finish(state)
    return out.array, lse.array


def no_alpha(state, s, v):
    m_new = np.maximum(state.m, s.max(axis=1))
    p = np.exp(s - m_new[:, None])
    return State(m_new, state.l + p.sum(axis=1), state.acc + p @ v)


def tiles_normalised(state, s, v):
    m, l, acc = state_of(s, v)
    return State(np.maximum(state.m, m), np.ones_like(l), state.acc + acc / l[:, None])


def from_zero(state, s, v):
    return update(State(np.maximum(state.m, 0), state.l, state.acc), s, v)


UPDATES = [update, no_alpha, tiles_normalised, from_zero]


def picture(b_r=2, b_c=2, **wanted):
    values = settle(controls(), wanted)
    return draw(film(flash, UPDATES[values["sabotage"]], Q, K, V, b_r, b_c), values["step"])


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def marks(figure):
    """Return the number of dots, crosses and rings drawn."""
    found = {"o": 0, "X": 0, "ring": 0}
    for line in figure.axes[0].lines:
        kind = "ring" if line.get_markerfacecolor() == "none" else line.get_marker()
        found[kind] += len(line.get_xdata())
    return found


def test_frames_walk_over_all_tiles_and_end_with_an_empty_chip():
    frames = film(flash, update, Q, K, V, 2, 2).frames
    assert [(f.rows, f.cols) for f in frames[:-1]] == list(
        itertools.product(tiles(4, 2), tiles(8, 2))
    )
    assert [f.held for f in frames] == [4 * (8 + 8 + 4 + 4 + 2 + 2 + 4)] * 8 + [0]
    assert frames[-1].moved == {
        "Q read": 64,
        "K read": 256,
        "V read": 128,
        "O written": 32,
        "L written": 16,
    }


def test_the_right_loop_never_leaves_the_truth():
    assert marks(picture(step=9)) == {"o": 16, "X": 0, "ring": 16}


@pytest.mark.parametrize(("sabotage", "wrong"), [(1, 3), (2, 12), (3, 4)])
def test_each_sabotage_leaves_it_where_the_lesson_says(sabotage, wrong):
    """No α: row 0 from its second tile; tiles normalised: all from the second; m₀ = 0: row 1."""
    assert marks(picture(sabotage=sabotage, step=9)) == {"o": 16 - wrong, "X": wrong, "ring": 16}


def test_default_tells_the_numbers_of_the_present_tile():
    words = texts(picture())
    assert {"−800", "4", "3", "0.04   0.70", "4.00", "−797"} <= set(words)
    assert "bytes moved:  Q read 32   K read 96   V read 48" in words


def test_a_division_by_zero_is_shown_as_nan():
    assert "NaN   NaN" in texts(picture(sabotage=3, step=1))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("b_r", "b_c", "step"), [(3, 3, 1), (3, 3, 6), (1, 8, 4), (4, 5, 2)])
def test_other_tiles_ragged_ones_too_draw_without_warnings(b_r, b_c, step):
    png(picture(b_r, b_c, step=step))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("sabotage", "step"), list(itertools.product(range(4), range(1, 10))))
def test_all_text_lies_inside_the_picture_in_few_numbers(sabotage, step):
    figure = picture(sabotage=sabotage, step=step)
    assert_texts_lie_inside(figure)
    assert len([text for text in texts(figure) if any(c.isdigit() for c in text)]) <= 48


@pytest.mark.parametrize("step", [1, 4])
def test_the_widest_score_leaves_room_in_its_cell(step):
    figure = picture(step=step)
    png(figure)
    cell = figure.axes[0].transData.transform([(0, 0), (WIDE, 0)])[:, 0]
    widths = [t.get_window_extent().width for t in figure.axes[0].texts if t.get_text() == "−800"]
    assert widths and max(widths) < 0.9 * (cell[1] - cell[0])


def test_equal_states_have_equal_bytes():
    assert png(picture()) == png(picture()) != png(picture(step=4))


def test_a_redraw_is_fast(capsys):
    assert_a_redraw_is_fast(
        "flash_loop", lambda turn: picture(sabotage=2, step=7 + turn % 2), capsys
    )
