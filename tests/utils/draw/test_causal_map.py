"""Lesson 07's picture: its counts are those of the mask and of the counted bytes; it draws fast."""

import itertools

import pytest

from tests.utils.draw.picture_rules import (
    assert_a_redraw_is_fast,
    assert_texts_lie_inside,
    smallest,
)
from utils.draw.causal_map import ALIGNMENTS, BYTES, LARGEST, CausalMap, controls, draw
from utils.draw.controls import settle
from utils.draw.palette import COLOUR, png
from utils.traffic import v2_bytes

ENDS = list(itertools.product((1, LARGEST), (1, LARGEST), (1, 8), (1, 8), ALIGNMENTS))
SOME = list(itertools.product((1, 5, 8), (1, 6, 12), (1, 3), (2, 5)))


def state(**wanted):
    return CausalMap(**settle(controls(), wanted))


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def crosses(figure):
    return len(figure.axes[0].collections[3].get_segments()) // 2


def test_default_shows_all_three_kinds():
    assert [state().count(kind) for kind in ("full", "boundary", "skip")] == [6, 5, 1]
    words = texts(draw(state()))
    assert "bottom‐right: c ≤ r + δ, δ = N_k − N_q = 4" in words
    assert words[words.index("visible") + 1] == "68"


@pytest.mark.parametrize(("n_q", "n_k", "b_r", "b_c"), SOME)
def test_saved_bytes_are_those_that_counted_memory_saves(n_q, n_k, b_r, b_c):
    sizes = {"b_r": b_r, "b_c": b_c}
    with_skip = v2_bytes(n_q, n_k, 64, 64, causal=True, **sizes)
    without = v2_bytes(n_q, n_k, 64, 64, causal=False, **sizes)
    saved = sum(without.values()) - sum(with_skip.values())
    assert CausalMap(n_q, n_k, b_r, b_c, "bottom-right").saved * BYTES == saved


@pytest.mark.parametrize("alignment", ALIGNMENTS)
@pytest.mark.parametrize(("n_q", "n_k", "b_r", "b_c"), SOME)
def test_every_visible_pair_is_computed_and_filled(n_q, n_k, b_r, b_c, alignment):
    now = CausalMap(n_q, n_k, b_r, b_c, alignment)
    offset = n_k - n_q if alignment == "bottom-right" else 0
    pairs = sum(c <= r + offset for r in range(n_q) for c in range(n_k))
    cells = draw(now).axes[0].collections[0].get_facecolor()
    filled = sum(tuple(colour[:3]) != (1, 1, 1) for colour in cells)
    assert filled == pairs <= now.computed <= n_q * n_k


def test_alignments_are_the_same_for_equal_lengths_only():
    same, other = ({"n_q": 8, "n_k": n_k, "b_r": 3, "b_c": 3} for n_k in (8, 9))
    kinds = [[CausalMap(**s, alignment=a).kinds for a in ALIGNMENTS] for s in (same, other)]
    assert kinds[0][0] == kinds[0][1]
    assert kinds[1][0] != kinds[1][1]


def test_skipped_tiles_are_crossed_out():
    now = CausalMap(8, 16, 4, 4, "top-left")
    assert (crosses(draw(now)), now.count("full")) == (now.count("skip"), 1) == (5, 1)


def test_decode_sees_everything_or_one_key():
    low, high = (CausalMap(1, 16, 1, 4, a).mask.sum() for a in ("top-left", "bottom-right"))
    assert (low, high) == (1, 16)


def test_colour_is_that_of_the_scores():
    cells = draw(CausalMap(1, 1, 1, 1, "top-left")).axes[0].collections[0].get_facecolor()
    assert "#" + "".join(f"{round(255 * c):02x}" for c in cells[0][:3]) == COLOUR["S"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("n_q", "n_k", "b_r", "b_c", "alignment"), ENDS)
def test_every_end_draws_inside_the_picture(n_q, n_k, b_r, b_c, alignment):
    figure = draw(CausalMap(n_q, n_k, b_r, b_c, alignment))
    assert_texts_lie_inside(figure, apart=True)
    assert smallest(figure) >= 10


def test_equal_states_have_equal_bytes():
    assert png(draw(state())) == png(draw(state()))
    assert png(draw(state())) != png(draw(state(alignment="top-left")))


def test_a_redraw_is_fast(capsys):
    assert_a_redraw_is_fast(
        "causal_map", lambda step: draw(state(n_q=16, n_k=16, b_r=1, b_c=1 + step % 2)), capsys
    )
