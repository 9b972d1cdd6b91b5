"""Softmax states and their merge ⊕: what is left of the keys read so far, one state a row.

A state (m, ℓ, Õ) stands for the sums Σ e^{s} = ℓ·e^m and Σ e^{s} v = Õ·e^m over the keys it has seen.
m plays the part of an exponent, ℓ and Õ of mantissas: to merge is to align exponents and add.
Scores are finite, or −∞ for a hidden key; +∞ and NaN have no state.
`exp=exact_exp2` gives the same algebra in base 2 without any rounding, for whole-number scores.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np


class State(NamedTuple):
    """m (rows,), l (rows,) and acc (rows, d_v); l and acc are relative to m, so not normalised."""

    m: np.ndarray
    l: np.ndarray
    acc: np.ndarray


def identity(rows: int, d_v: int, *, dtype=float) -> State:
    """Return the state of no keys at all: (−∞, 0, 0). dtype=object keeps Fractions exact."""
    return State(np.full(rows, -np.inf), np.zeros(rows, dtype), np.zeros((rows, d_v), dtype))


def state_of(scores, v, *, exp=np.exp) -> State:
    """Return the state of one tile: scores (rows, keys), −∞ where hidden; v (keys, d_v)."""
    scores, v = as_scores(scores), np.asarray(v)
    m = scores.max(axis=1, initial=-np.inf)  # m̃
    p = exp(scores - reference(m)[:, None])  # P̃ = e^{S − m̃}
    return State(m, p.sum(axis=1), p @ without_hidden(v, scores))


def merge(a: State, b: State, *, exp=np.exp) -> State:
    """Return a ⊕ b, the state of the keys of both. No factor exceeds 1."""
    if a.acc.shape != b.acc.shape:
        raise ValueError(f"states of different shapes: acc {a.acc.shape} and {b.acc.shape}")
    m = np.maximum(a.m, b.m)
    alpha_a, alpha_b = exp(a.m - reference(m)), exp(b.m - reference(m))
    l = alpha_a * a.l + alpha_b * b.l  # ℓ = e^{m_a−m} ℓ_a + e^{m_b−m} ℓ_b
    acc = alpha_a[:, None] * a.acc + alpha_b[:, None] * b.acc  # Õ likewise
    return State(m, l, acc)


def update(state: State, scores, v, *, exp=np.exp) -> State:
    """Return state ⊕ state_of(scores, v) with one rescale: the new keys are weighed with m_new.

    FlashAttention-2, Algorithm 1. scores (rows, keys), −∞ where hidden; v (keys, d_v).
    """
    (m, l, acc), scores, v = state, as_scores(scores), np.asarray(v)
    m_new = np.maximum(m, scores.max(axis=1, initial=-np.inf))  # m_new = max(m, m̃)
    p = exp(scores - reference(m_new)[:, None])  # P̃ = e^{S − m_new}
    alpha = exp(m - reference(m_new))  # α = e^{m − m_new}
    l = alpha * l + p.sum(axis=1)  # ℓ ← α ℓ + Σ P̃
    acc = alpha[:, None] * acc + p @ without_hidden(v, scores)  # Õ ← α Õ + P̃ V
    return State(m_new, l, acc)


def as_scores(scores):
    """Return scores in float64 (float16 would lose whole keys from ℓ); objects stay exact."""
    scores = np.asarray(scores)
    return scores if scores.dtype == object else scores.astype(np.float64)


def reference(m):
    """Return m, with 0 for −∞: a row without keys may use any reference, as e^{−∞ − 0} = 0."""
    return np.where(m == -np.inf, 0, m)


def without_hidden(v, scores):
    """Return v with zeros for keys that no row sees: their weight is 0, but 0 · NaN is NaN."""
    hidden = (scores == -np.inf).all(axis=0)
    return np.where(hidden[:, None], 0, v) if hidden.any() else v


def output(state: State):
    """Return O = Õ / ℓ (rows, d_v); 0 for a row without keys. Exact when the state is."""
    return state.acc / at_least_one_key(state.l)[:, None]


def finish(state: State, *, log=np.log):
    """Return (O, L): O = Õ / ℓ, and L = m + ln ℓ (rows,). A row without keys: 0 and −∞.

    log=np.log2 belongs to states made with exp=np.exp2, and gives L in base 2. Fractions have no
    logarithm: use output for an exact state.
    """
    return output(state), state.m + log(at_least_one_key(state.l))


def at_least_one_key(l):
    """Return ℓ, with 1 for 0: an empty row becomes 0 / 1 and −∞ + ln 1, without a warning."""
    return np.where(l == 0, 1, l)


# Two other forms of the same state. All three give the same O; they differ in what they divide.


class Normalised(NamedTuple):
    """m (rows,), l (rows,) and out = Õ / ℓ (rows, d_v): the mean so far, divided at every merge."""

    m: np.ndarray
    l: np.ndarray
    out: np.ndarray


def normalise(state: State) -> Normalised:
    return Normalised(state.m, state.l, output(state))


def unnormalise(state: Normalised) -> State:
    return State(state.m, state.l, state.l[:, None] * state.out)


def merge_normalised(a: Normalised, b: Normalised, *, exp=np.exp) -> Normalised:
    """Return a ⊕ b: O = (ℓ_a e^{m_a−m} O_a + ℓ_b e^{m_b−m} O_b) / ℓ."""
    m = np.maximum(a.m, b.m)
    l_a, l_b = exp(a.m - reference(m)) * a.l, exp(b.m - reference(m)) * b.l
    l = l_a + l_b
    out = (l_a[:, None] * a.out + l_b[:, None] * b.out) / at_least_one_key(l)[:, None]
    return Normalised(m, l, out)


def merge_finished(a: tuple, b: tuple) -> tuple:
    """Merge two finished blocks (O, L), L natural: the weights are e^{L_a−L} and e^{L_b−L}."""
    (out_a, lse_a), (out_b, lse_b) = a, b
    lse = np.logaddexp(lse_a, lse_b)  # L = ln(e^{L_a} + e^{L_b})
    w_a, w_b = np.exp(lse_a - reference(lse)), np.exp(lse_b - reference(lse))
    return w_a[:, None] * out_a + w_b[:, None] * out_b, lse


def from_finished(out, lse) -> State:
    """Return the state of a finished block: its mantissa is 1, so (L, 1, O); empty rows (−∞, 0, 0)."""
    return State(lse, np.where(lse == -np.inf, 0.0, 1.0), out)


def _exact_exp2(x) -> Fraction:
    if x == -np.inf:
        return Fraction(0)
    if x != int(x):
        raise ValueError(f"2^x is rational for whole x only, got {x}")
    return Fraction(2) ** int(x)


exact_exp2 = np.frompyfunc(_exact_exp2, 1, 1)  # entry by entry; the result holds Fractions
