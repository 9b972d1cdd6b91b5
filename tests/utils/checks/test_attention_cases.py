"""The problems that lesson 11's checks pose, and the models that explain wrong answers."""

import math

import numpy as np
import pytest

from utils.attention import naive_attention
from utils.checks import triton_flash_attention as check
from utils.checks.attention_cases import (
    definition,
    guarded_call,
    qkv_for_scores,
    rows_of,
    wild_qkv,
)
from utils.checks.capstone_models import SLIPS, WIDTHS, attention, models

SHAPE = (2, 4, 2, 9, 40, 16)


def test_the_answer_by_hand():
    out, lse = naive_attention(
        *qkv_for_scores([0.0, math.log(3)], np.array([[1.0], [0.0]])), scale=1.0
    )
    np.testing.assert_allclose(out, [[0.25]], atol=1e-3)  # ln 3 is rounded to float16
    np.testing.assert_allclose(lse, [math.log(4)], atol=1e-3)


def test_scores_are_those_that_were_asked_for():
    scores = np.tile([-3.0, 600.0, 0.25], (2, 1))
    q, k, _ = qkv_for_scores(scores)
    assert (q @ k.T == scores).all()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("causal", [False, True])
def test_the_model_without_a_slip_is_right(width, causal):
    q, k, v = wild_qkv(SHAPE, 3.0, False)
    got = attention(q, k, v, causal, width=width)
    np.testing.assert_allclose(got, definition(q, k, v, causal), atol=1e-4)


@pytest.mark.parametrize("slip", SLIPS)
def test_each_slip_fails_a_case_at_every_width(slip):
    """Else a kernel with that slip and those tiles would pass."""
    cases = check.capstone.build().cases
    for model in models(slip):
        gaps = [rows_of(model(*case.args)) - case.expected for case in cases]
        assert any(not (np.abs(gap) < 5e-3).all() for gap in gaps)


def test_a_result_of_another_shape_is_said_so():
    q, k, v = wild_qkv(SHAPE, 0.0, False)
    with pytest.raises(ValueError, match=r"O has the shape \(9, 16\), but q has \(2, 4, 9, 16\)"):
        guarded_call(lambda q, k, v, causal: q[0, 0], q, k, v, False)
