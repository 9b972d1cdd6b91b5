"""States: numbers worked by hand, then the laws of ⊕, exactly in base 2 and to a bound in floats."""

import math
from fractions import Fraction
from functools import partial, reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.states import (
    State,
    exact_exp2,
    finish,
    from_finished,
    identity,
    merge,
    merge_finished,
    merge_normalised,
    normalise,
    output,
    state_of,
    unnormalise,
    update,
)

pytestmark = pytest.mark.filterwarnings("error")
bounded = settings(max_examples=60, deadline=None, derandomize=True)
exact = partial(state_of, exp=exact_exp2)
exact_merge = partial(merge, exp=exact_exp2)
NOBODY = -np.inf


def row(*scores, v=None):
    v = np.ones(len(scores)) if v is None else np.array(v, dtype=float)
    return state_of(np.array([scores], dtype=float), v[:, None])


def same(a: State, b: State) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def close(a, b, bound: float) -> bool:
    """Both empty in the same rows, else equal to the bound, relative to the entries' size or 1."""
    return all(np.allclose(x, y, rtol=bound, atol=bound) for x, y in zip(a, b, strict=True))


@st.composite
def blocks(draw, entries, how_many: int):
    """Return how_many blocks (scores (2, keys), v (keys, 2)), some rows or blocks fully masked."""
    result = []
    for _ in range(how_many):
        keys = draw(st.integers(1, 4))
        s = draw(
            st.lists(st.one_of(entries, st.just(NOBODY)), min_size=2 * keys, max_size=2 * keys)
        )
        v = draw(st.lists(st.integers(-9, 9), min_size=2 * keys, max_size=2 * keys))
        result.append((np.array(s, dtype=float).reshape(2, keys), np.array(v).reshape(keys, 2)))
    return result


whole = st.integers(-300, 300)
real = st.floats(-800, 800)


# By hand


def test_a_single_key_is_the_state_s_1_v():
    assert same(row(3.0, v=[7]), State(np.array([3.0]), np.array([1.0]), np.array([[7.0]])))


def test_two_blocks_by_hand():
    left, right = row(1, 2), row(3, 5)
    assert left.m == 2 and left.l == pytest.approx(math.exp(-1) + 1)
    assert right.m == 5 and right.l == pytest.approx(math.exp(-2) + 1)
    both = merge(left, right)
    assert both.m == 5 and both.l == pytest.approx(1.2034, abs=5e-5)
    assert both.l * np.exp(both.m) == pytest.approx(178.606, abs=5e-4)


def test_base_2_by_hand():
    both = exact_merge(exact([[0, 1]], [[1], [0]]), exact([[3]], [[1]]))
    assert both.m == 3 and both.l == Fraction(1, 8) + Fraction(1, 4) + 1
    assert output(both) == [[Fraction(9, 11)]]  # (1 + 8) / (1 + 2 + 8)


def test_n40_the_accumulator_is_rescaled_when_the_maximum_rises():
    a = merge(row(0, v=[1]), row(5, v=[0]))
    assert output(a) == pytest.approx(0.00669, abs=5e-6)
    b = merge(row(0, 0, v=[0, 0]), row(10, 10, v=[1, 1]))
    assert output(b) == pytest.approx(0.99995, abs=5e-6)


def test_the_tempting_wrong_softmax_of_lesson_6():
    assert output(merge(row(1, 2, v=[1, 1]), row(3, 5, v=[0, 0]))) == pytest.approx(
        0.0566, abs=5e-5
    )


def test_n19_natural_and_base_2_logarithms():
    scores, v = np.array([[0, math.log(3)]]), np.ones((2, 1))
    assert finish(state_of(scores, v))[1] == pytest.approx(math.log(4))
    in_base_2 = state_of(scores / math.log(2), v, exp=np.exp2)
    assert finish(in_base_2, log=np.log2)[1] == pytest.approx(2.0)


def test_n20_an_empty_state_changes_nothing_and_two_zeros_make_ln_2():
    empty, zero = finish(identity(1, 1)), (np.array([[1.0]]), np.array([0.0]))
    assert empty[1] == NOBODY and empty[0] == 0
    assert close(merge_finished(empty, zero), zero, 0)
    assert same(from_finished(*empty), identity(1, 1))
    assert merge_finished(zero, zero)[1] == pytest.approx(math.log(2))
    phantom = merge_finished(
        (np.array([[0.0]]), np.array([0.0])), (np.ones((1, 1)), np.array([-5.0]))
    )
    assert phantom[1] == pytest.approx(0.0067, abs=5e-5)  # what (0, 0) as identity would do


def test_n18_the_denominator_is_not_summed_in_float16():
    ones = np.zeros((1, 4096), dtype=np.float16)
    assert state_of(ones, np.ones((4096, 1), dtype=np.float16)).l == 4096


def test_n21_and_n37_weights_and_masked_scores():
    identity_v = np.eye(2)
    weights = output(state_of(np.array([[0.0, 1.0]]), identity_v))
    assert weights == pytest.approx(np.array([[0.2689, 0.7311]]), abs=5e-5)
    assert np.array_equal(output(state_of(np.array([[0.0, NOBODY]]), identity_v)), [[1, 0]])


def test_n04_a_key_hidden_from_every_row_takes_no_part():
    scores, v = np.array([[1.0, NOBODY], [2.0, NOBODY]]), np.array([[3.0], [np.nan]])
    assert np.array_equal(output(state_of(scores, v)), [[3], [3]])
    assert np.array_equal(output(update(identity(2, 1), scores, v)), [[3], [3]])


def test_masked_prefix_then_a_key():
    state = update(
        update(identity(2, 1), np.full((2, 3), NOBODY), np.ones((3, 1))), [[4.0]] * 2, [[2]]
    )
    assert finish(state)[0].tolist() == [[2], [2]] and finish(state)[1].tolist() == [4, 4]


def test_all_scores_near_minus_200_and_a_fall_by_hundreds():
    low = row(-200, -201, v=[1, 0])
    assert output(low) == pytest.approx(1 / (1 + math.exp(-1)))
    assert output(merge(row(900, v=[1]), row(-900, v=[0]))) == 1


def test_shapes_must_agree():
    with pytest.raises(ValueError, match=r"\(2, 3\) and \(1, 3\)"):
        merge(identity(2, 3), identity(1, 3))


def test_exact_powers_refuse_what_is_not_rational():
    with pytest.raises(ValueError, match="0.5"):
        exact([[0.5, 0]], [[1], [1]])


# Laws, exactly


@bounded
@given(blocks(whole, 1))
def test_identity_exactly(drawn):
    state, nothing = exact(*drawn[0]), identity(2, 2, dtype=object)
    assert same(exact_merge(state, nothing), state) and same(exact_merge(nothing, state), state)


@bounded
@given(blocks(whole, 3))
def test_commutative_and_associative_exactly(drawn):
    a, b, c = (exact(*block) for block in drawn)
    assert same(exact_merge(a, b), exact_merge(b, a))
    assert same(exact_merge(exact_merge(a, b), c), exact_merge(a, exact_merge(b, c)))


@bounded
@given(blocks(whole, 4), st.permutations(range(4)))
def test_fold_tree_and_shuffle_equal_the_whole_exactly(drawn, order):
    a, b, c, d = states = [exact(*block) for block in drawn]
    at_once = exact(np.hstack([s for s, _ in drawn]), np.vstack([v for _, v in drawn]))
    assert same(reduce(exact_merge, states, identity(2, 2, dtype=object)), at_once)
    assert same(exact_merge(exact_merge(a, b), exact_merge(c, d)), at_once)
    assert same(reduce(exact_merge, [states[i] for i in order]), at_once)


@bounded
@given(blocks(whole, 2))
def test_update_is_a_merge_with_a_tile_exactly(drawn):
    (s, v), state = drawn[1], exact(*drawn[0])
    assert same(update(state, s, v, exp=exact_exp2), exact_merge(state, exact(s, v)))


# Laws, in floats: m is exact; each merge rounds ℓ and Õ a few times, so 1e-13 is generous


@bounded
@given(blocks(real, 3))
def test_laws_in_floats_within_1e_13(drawn):
    a, b, c = (state_of(*block) for block in drawn)
    assert same(merge(a, identity(2, 2)), a)
    assert same(merge(a, b), merge(b, a))
    assert close(merge(merge(a, b), c), merge(a, merge(b, c)), 1e-13)


@bounded
@given(blocks(real, 2))
def test_three_forms_agree(drawn):
    a, b = (state_of(*block) for block in drawn)
    expected = finish(merge(a, b))
    divided = merge_normalised(normalise(a), normalise(b))
    assert close(finish(unnormalise(divided)), expected, 1e-12)
    assert close(merge_finished(finish(a), finish(b)), expected, 1e-12)
    assert close(
        finish(merge(from_finished(*finish(a)), from_finished(*finish(b)))), expected, 1e-12
    )


@bounded
@given(blocks(real, 2))
def test_weights_are_a_softmax(drawn):
    """With V = I the output is the row of weights: they sum to 1, or to 0 in a row without keys."""
    scores = np.hstack([s for s, _ in drawn])
    weights = output(state_of(scores, np.eye(scores.shape[1])))
    sees = (scores > NOBODY).any(axis=1)
    assert np.allclose(weights.sum(axis=1), sees, rtol=0, atol=1e-13)
    assert (weights[scores == NOBODY] == 0).all()
