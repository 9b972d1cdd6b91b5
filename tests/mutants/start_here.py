"""Answers to the exercises of lesson 00: right ones, and typical wrong ones."""

from fractions import Fraction

import numpy as np


def drop_keepdims(x):
    return x - x.max(axis=1, keepdims=True)


def drop_newaxis(x):
    largest = np.array([max(row) for row in x])
    return x - largest[:, None]


def drop_flat(x):
    largest = np.max(x, axis=1)
    return x - largest


def drop_columns(x):
    return x - np.amax(x, axis=0)


def drop_global(x):
    return x - np.max(x)


def cast_first(q, k):
    return q.astype(np.float32) @ k.astype(np.float32).T


def cast_einsum(q, k):
    return np.einsum("rf,cf->rc", np.float32(q), np.float32(k))


def cast_never(q, k):
    return np.matmul(q, k.T)


def cast_scalar(q, k):
    return (1.0 * q) @ (1.0 * k).T


def cast_late(q, k):
    return np.float32(q @ k.T)


def cast_double(q, k):
    return np.asarray(q, dtype=float) @ np.asarray(k, dtype=float).T


def cast_untransposed(q, k):
    return np.float32(q) @ np.float32(k)


def exact_list(scores):
    powers = [Fraction(2) ** s for s in scores]
    return [p / sum(powers) for p in powers]


def exact_shifted(scores):
    top = max(scores)
    powers = np.array([Fraction(1, 2 ** (top - s)) for s in scores])
    return powers / powers.sum()


def exact_floats(scores):
    powers = [2**s for s in scores]
    return [p / sum(powers) for p in powers]


def exact_base_e(scores):
    powers = np.exp(np.array(scores, dtype=float))
    return powers / np.sum(powers)


def exact_unnormalised(scores):
    return np.array([Fraction(2) ** int(s) for s in scores])


INFINITY = {"a": 0, "b": 3, "c": -np.inf, "d": np.nan, "e": np.nan}

RIGHT = {
    "drop_to_zero": [drop_keepdims, drop_newaxis],
    "infinity": [INFINITY],
    "scores_in_float32": [cast_first, cast_einsum],
    "exact_softmax": [exact_list, exact_shifted],
}

WRONG = {
    "drop_to_zero": {
        "keepdims_missing": [drop_flat],
        "wrong_axis": [drop_columns],
        "one_maximum_for_all": [drop_global],
    },
    "infinity": {"": [{**INFINITY, key: 1.0} for key in INFINITY] + [{**INFINITY, "e": 0}]},
    "scores_in_float32": {
        "no_cast": [cast_never, cast_scalar],
        "cast_after": [cast_late],
        "float64": [cast_double],
        "k_not_transposed": [cast_untransposed],
    },
    "exact_softmax": {
        "floats_used": [exact_floats],
        "base_e": [exact_base_e],
        "not_normalised": [exact_unnormalised],
    },
}
