"""Sizes: the course's numbers, worked by hand; and the recorded bytes of the kernel are O and L."""

import math

import numpy as np
import pytest

from utils.measurements import h200_forward as recorded
from utils.sizes import elements, forward_extra_bytes, growth, score_bytes, score_ratio


def test_small_head_by_hand():
    count = elements(10, 8)
    assert count == {"Q": 80, "K": 80, "V": 80, "O": 80, "S": 100, "P": 100, "L": 10}


@pytest.mark.parametrize(
    ("n", "d", "one", "four"),
    [(10, 8, 1.25, 0.3125), (10_000, 128, 78.125, 19.53125), (100_000, 128, 781.25, 195.3125)],
)
def test_two_rulers(n, d, one, four):
    assert (score_ratio(n, d, "Q"), score_ratio(n, d, "QKVO")) == (one, four)


@pytest.mark.parametrize("d", [8, 64, 128])
def test_break_even_is_at_d_and_at_four_d(d):
    assert score_ratio(d, d, "Q") == score_ratio(4 * d, d, "QKVO") == 1


@pytest.mark.parametrize(
    ("n", "heads", "dtype", "expected"),
    [
        (10_000, 1, "float16", 200e6),
        (100_000, 1, "float16", 20e9),
        (8192, 32, "float16", 4_294_967_296),
        (131_072, 32, "float16", 1_099_511_627_776),
        (10, 1, "float32", 400),
    ],
)
def test_bytes_of_s(n, heads, dtype, expected):
    assert score_bytes(n, heads=heads, dtype=dtype) == expected


def test_the_recorded_kernel_allocates_o_and_l_to_the_byte():
    rows = [row for row in recorded.MEMORY if row["method"] == "this course"]
    assert len(rows) >= 3
    for row in rows:
        assert row["bytes"] == forward_extra_bytes(row["n"], 64, heads=16, dtype="bfloat16")


def test_the_recorded_naive_attention_holds_ten_bytes_a_score():
    rows = [row for row in recorded.MEMORY if row["method"] == "naive"]
    assert len(rows) >= 3
    for row in rows:
        assert row["bytes"] == 5 * score_bytes(row["n"], heads=16, dtype="bfloat16")


@pytest.mark.parametrize("power", [0, 1, 2, 2.5])
def test_growth_finds_the_power(power):
    sizes = np.array([100, 300, 1000])
    assert math.isclose(growth(sizes, 7.0 * sizes**power), power, abs_tol=1e-12)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: elements(0, 8), "n = 0"),
        (lambda: elements(10, 0), "d = 0"),
        (lambda: score_ratio(10, 8, "QK"), "'QK'"),
        (lambda: score_bytes(10, dtype="float12"), "'float12'"),
        (lambda: growth([5, 5], [1, 2]), "two different sizes"),
    ],
)
def test_errors_quote_what_they_got(call, word):
    with pytest.raises(ValueError, match=word):
        call()
