"""Lesson 03's picture: bars where the numbers are, numbers as computed, a fast redraw."""

import itertools

import numpy as np
import pytest

from tests.utils.draw.picture_rules import (
    assert_a_redraw_is_fast,
    assert_texts_lie_inside,
    smallest,
)
from utils.draw.controls import settle
from utils.draw.palette import png
from utils.draw.safe_softmax import BEYOND, HEIGHT, ROWS, controls, draw, edges, height_of

SHIFTS = (-120, -20, 0, 83, 120)


@np.errstate(all="ignore")
def stages(x):
    terms = np.exp(x)
    return x, terms, terms.sum(), terms / terms.sum()


def picture(**wanted):
    values = settle(controls(), wanted)
    x = np.array(values["row"], values["dtype"]) + np.array(values["shift"], values["dtype"])
    return draw(stages(x), stages(x - x.max()))


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def bars(figure):
    """Return the heights of the bars: of the plain formula, and of safe softmax."""
    drawn = {False: [], True: []}
    for collection in figure.axes[0].collections:
        for path in collection.get_paths():
            (left, top), (right, bottom) = path.get_extents().get_points()
            if right - left < 1.5:
                drawn[left > 13].append(bottom - top)
    return drawn[False], drawn[True]


def test_default_shows_the_failure_and_its_repair():
    words = texts(picture())
    assert words.count("nan") == 1 and words.count("inf") == 2
    assert [word for word in words if word in ("0.01522", "0.04137", "0.1125", "0.831")]
    assert "1.203" in words and "e^(x − m),  m = 90   (float32)" in words


def test_the_silent_failure_has_finite_terms_and_four_zeros():
    words = texts(picture(row=ROWS[1], shift=83))
    assert words.count("1.7e38") == 4 and words.count("inf") == 1
    assert words.count("0.25") == 4 and "nan" not in words


def test_the_safe_side_stays_under_every_shift():
    safe = [bars(picture(shift=shift))[1] for shift in SHIFTS]
    assert len(safe[0]) == 5
    assert all(np.allclose(heights, safe[0]) for heights in safe)


def test_an_underflowed_term_has_no_bar():
    plain, safe = bars(picture(row=ROWS[2], dtype="float16", shift=0))
    assert (len(plain), len(safe)) == (5, 2)  # e^−39 … are 0 in float16: the top and ℓ remain
    assert bars(picture(shift=-120))[0] == []


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_edges_are_those_of_the_type(dtype):
    low, high = (np.array(edge, np.float64) for edge in edges(np.dtype(dtype)))
    with np.errstate(all="ignore"):
        inside = np.exp(np.array([low + 0.02, high - 0.02]).astype(dtype))
        outside = np.exp(np.array([low - 0.02, high + 0.02]).astype(dtype))
    assert inside[0] > 0 and np.isfinite(inside[1])
    assert outside[0] == 0 and np.isinf(outside[1])


def test_heights_end_at_the_frame():
    dtype = np.dtype("float32")
    assert height_of(np.float32(0), dtype) == 0
    assert height_of(np.finfo(dtype).max, dtype) == pytest.approx(HEIGHT)
    assert height_of(np.float32(np.inf), dtype) == HEIGHT + BEYOND


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("row", "dtype", "shift"), list(itertools.product(ROWS, ("float16", "float32"), SHIFTS))
)
def test_every_state_draws_within_the_picture(row, dtype, shift):
    figure = picture(row=row, dtype=dtype, shift=shift)
    assert_texts_lie_inside(figure, apart=True)
    assert smallest(figure) >= 9
    assert len(figure.axes[0].texts) <= 48


def test_equal_states_have_equal_bytes():
    assert png(picture()) == png(picture())
    assert png(picture()) != png(picture(shift=84))


def test_a_redraw_is_fast(capsys):
    assert_a_redraw_is_fast("safe_softmax", lambda step: picture(shift=step), capsys)
