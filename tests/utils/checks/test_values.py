"""Whether two values differ, and how a message shows them."""

from fractions import Fraction

import numpy as np
import pytest

from utils.checks.values import differ, first_difference, shown


@pytest.mark.parametrize(
    ("got", "expected", "tolerance"),
    [
        (np.float32(1.0), 1.0, 0.0),
        ([1, 2], np.array([1.0, 2.0]), 0.0),
        ([Fraction(1, 3)], np.array([Fraction(1, 3)], dtype=object), 0.0),
        (np.array([np.nan, -np.inf, 1]), np.array([np.nan, -np.inf, 1]), 0.0),
        (np.array([1 + 1e-8, np.inf]), np.array([1, np.inf]), 1e-6),
        ([(0, 3)], [(0, 3)], 0.0),
        (True, True, 0.0),
    ],
)
def test_equal_values(got, expected, tolerance):
    assert not differ(got, expected, tolerance)


@pytest.mark.parametrize(
    ("got", "expected", "tolerance"),
    [
        (np.ones((1, 2)), np.ones(2), 0.0),
        (1 / 3, Fraction(1, 3), 0.0),
        (np.array([np.inf]), np.array([1.0]), 1e-3),
        (np.array([np.nan]), np.array([1.0]), 1e-3),
        (np.array([1.1]), np.array([1.0]), 1e-3),
        ([(0, 3), (3, 4)], [(0, 3)], 0.0),
        (1, True, 0.0),
        ("1", 1, 0.0),
        (None, np.ones(2), 1e-3),
    ],
)
def test_different_values(got, expected, tolerance):
    assert differ(got, expected, tolerance)


def test_what_fits_on_a_line_is_shown_whole():
    assert shown(np.zeros((1, 2, 2))) == "np.array([[[0., 0.], [0., 0.]]])"
    assert shown(np.zeros((9, 9))).count("0.") == 36  # two axes: NumPy's own corners


def test_a_deep_array_is_shown_by_a_piece_of_a_row():
    deep = np.arange(2 * 3 * 20.0).reshape(2, 3, 20)
    assert (
        shown(deep, place=(1, 2, 17)) == "117, [1, 2, 16:20] = np.array([116., 117., 118., 119.])"
    )
    assert shown(deep).startswith("shape (2, 3, 20), [0, 0, 0:8] = np.array([0., 1.,")


def test_words_in_a_deep_array_break_no_message():
    words = np.full((2, 3, 4), "a")
    assert first_difference(words, np.zeros((2, 3, 4)), 0.0) is None
    assert "'a'" in shown(words)
