"""Answers to the exercises of lesson 03: right ones, and typical wrong ones."""

import math

import numpy as np

INF = np.inf


def softmax_guarded(x, axis):
    m = x.max(axis=axis, keepdims=True)
    m = np.where(m == -INF, 0, m)
    terms = np.exp(x - m)
    l = terms.sum(axis=axis, keepdims=True)
    return terms / np.where(l == 0, 1, l)


def softmax_row_by_row(x, axis):
    def one(row):
        if np.all(row == -INF):
            return np.zeros(len(row))
        terms = [math.exp(s - max(row)) for s in row]
        return np.array(terms) / math.fsum(terms)

    return np.apply_along_axis(one, axis, x.astype(float))


def softmax_cleaned(x, axis):
    terms = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.nan_to_num(terms / terms.sum(axis=axis, keepdims=True))


def softmax_of_logarithms(x, axis):
    """Through the logarithm, and along the last axis."""
    x = np.moveaxis(x, axis, -1)
    log_sum = np.logaddexp.reduce(x, axis=-1)[..., None]
    weights = np.exp(x - np.where(log_sum == -INF, 0, log_sum))
    return np.moveaxis(weights, -1, axis)


def softmax_axis_zero(x, axis):
    e = np.exp(x - x.max(axis=0, keepdims=True))
    return e / e.sum(axis=0, keepdims=True)


def softmax_axis_last(x, axis):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_no_keepdims(x, axis):
    e = np.exp(x - np.max(x, axis))
    return e / np.sum(e, axis, keepdims=True)


def softmax_no_keepdims_at_all(x, axis):
    e = np.exp(x - np.max(x, axis))
    return e / np.sum(e, axis)


def softmax_new_axis(x, axis):
    e = np.exp(x - x.max(axis)[:, None])
    return e / e.sum(axis)[:, None]


def softmax_sum_no_keepdims(x, axis):
    m = np.max(x, axis, keepdims=True)
    return np.exp(x - m) / np.exp(x - m).sum(axis)


def softmax_total(x, axis):
    e = np.exp(x - np.max(x, axis, keepdims=True))
    return e / np.sum(e)


def softmax_terms(x, axis):
    return np.exp(x - np.amax(x, axis=axis, keepdims=True))


def softmax_half_shifted(x, axis):
    e = np.exp(x)
    return np.exp(x - np.max(x, axis, keepdims=True)) / e.sum(axis, keepdims=True)


def softmax_turned(x, axis):
    e = np.exp(np.max(x, axis, keepdims=True) - x)
    return e / e.sum(axis, keepdims=True)


def softmax_plain(x, axis):
    return np.exp(x) / np.exp(x).sum(axis, keepdims=True)


def softmax_plain_cleaned(x, axis):
    return np.nan_to_num(softmax_plain(x, axis))


def softmax_clipped(x, axis):
    return softmax_plain(np.minimum(x, 80), axis)


def softmax_maximum_initial(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True, initial=0))
    return e / e.sum(axis=axis, keepdims=True)


def softmax_maximum_absolute(x, axis):
    e = np.exp(x - np.abs(x).max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def softmax_one_maximum(x, axis):
    e = np.exp(x - x.max())
    return e / e.sum(axis, keepdims=True)


def softmax_one_maximum_guarded(x, axis):
    e = np.exp(x - max(x.max(), -1e300))
    l = e.sum(axis, keepdims=True)
    return np.divide(e, l, out=np.zeros_like(e), where=l > 0)


def softmax_epsilon(x, axis):
    m = np.max(x, axis, keepdims=True)
    e = np.exp(x - np.where(np.isfinite(m), m, 0))
    return e / (e.sum(axis, keepdims=True) + 1e-6)


def softmax_mean(x, axis):
    e = np.exp(x - np.mean(x, axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def softmax_minimum(x, axis):
    e = np.exp(x - np.min(x, axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def softmax_sentinel(x, axis):
    return softmax_guarded(np.nan_to_num(x, neginf=-10000), axis)


def softmax_zero_for_masked(x, axis):
    return softmax_guarded(np.nan_to_num(x, neginf=0), axis)


def softmax_lowest_float(x, axis):
    return softmax_guarded(np.nan_to_num(x), axis)


def softmax_unguarded(x, axis):
    e = np.exp(x - np.max(x, axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def softmax_half_guarded(x, axis):
    m = np.max(x, axis, keepdims=True)
    e = np.exp(x - np.where(np.isfinite(m), m, 0))
    return e / e.sum(axis, keepdims=True)


def softmax_clipped_below(x, axis):
    return softmax_guarded(np.maximum(x, -1e4), axis)


def softmax_single_precision(x, axis):
    return softmax_guarded(np.asarray(x, dtype="f4"), axis)


def overflow_bisected(dtype):
    low, high = 0.0, 1000.0
    while high - low > 0.001:
        middle = (low + high) / 2
        if np.exp(np.array(middle, dtype)) == INF:
            high = middle
        else:
            low = middle
    return low


def overflow_by_digits(dtype):
    x = 0.0
    for step in (100, 10, 1, 0.1, 0.01, 0.001):
        while np.isfinite(np.exp(np.dtype(dtype).type(x + step))):
            x += step
    return x


def overflow_uncast(dtype):
    low, high = 0.0, 1000.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if np.isinf(np.exp(middle)) else (middle, high)
    return high


def overflow_cast_after(dtype):
    low, high = 0.0, 1000.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if np.isinf(np.exp(np.array(middle, dtype))) else (low, middle)
    return high


def overflow_counted(dtype):
    return next(x for x in range(1001) if np.isinf(np.exp(np.array(x, dtype))))


def overflow_maximum(dtype):
    return np.finfo(dtype).max


def overflow_few_halvings(dtype):
    low, high = 0.0, 1000.0
    for _ in range(8):
        middle = (low + high) / 2
        low, high = (low, middle) if np.isinf(np.exp(np.array(middle, dtype))) else (middle, high)
    return high


def lse_guarded(x, axis):
    m = x.max(axis=axis, keepdims=True)
    m = np.where(m == -INF, 0, m)
    l = np.exp(x - m).sum(axis=axis, keepdims=True)
    return np.squeeze(m + np.log(l), axis=axis)


def lse_library(x, axis):
    return np.logaddexp.reduce(x, axis=axis)


def lse_axis_zero(x, axis):
    return np.logaddexp.reduce(x, axis=0)


def lse_axis_last(x, axis):
    return np.logaddexp.reduce(x, axis=-1)


def lse_no_keepdims(x, axis):
    m = x.max(axis=axis)
    return m + np.log(np.exp(x - m).sum(axis=axis))


def lse_new_axis(x, axis):
    m = x.max(axis=axis)
    return m + np.log(np.exp(x - m[:, None]).sum(axis=axis))


def lse_parts(x, axis):
    m = np.max(x, axis, keepdims=True)
    return np.max(x, axis), np.exp(x - m).sum(axis)


def lse_no_maximum(x, axis):
    return np.log(lse_parts(x, axis)[1])


def lse_subtracted(x, axis):
    m, l = lse_parts(x, axis)
    return -m + np.log(l)


def lse_no_logarithm(x, axis):
    return sum(lse_parts(x, axis))


def lse_base_two(x, axis):
    m, l = lse_parts(x, axis)
    return m + np.log(l) / np.log(2)


def lse_maximum(x, axis):
    return x.max(axis)


def lse_kept(x, axis):
    m = np.max(x, axis, keepdims=True)
    return m + np.log(np.exp(x - m).sum(axis, keepdims=True))


def lse_plain(x, axis):
    return np.log(np.sum(np.exp(x), axis=axis))


def lse_maximum_initial(x, axis):
    m = np.maximum(0, x.max(axis=axis, keepdims=True))
    return np.squeeze(m, axis) + np.log(np.exp(x - m).sum(axis=axis))


def lse_one_maximum(x, axis):
    return x.max() + np.log(np.exp(x - x.max()).sum(axis=axis))


def lse_mean(x, axis):
    c = x.mean(axis=axis, keepdims=True)
    return np.squeeze(c, axis) + np.log(np.exp(x - c).sum(axis=axis))


def lse_sentinel(x, axis):
    return lse_guarded(np.nan_to_num(x, neginf=-10000), axis)


def lse_unguarded(x, axis):
    m, l = lse_parts(x, axis)
    return m + np.log(l)


def lse_guarded_twice(x, axis):
    m = np.max(x, axis, keepdims=True)
    m = np.where(np.isfinite(m), m, 0)
    l = np.exp(x - m).sum(axis, keepdims=True)
    return np.squeeze(m + np.log(np.where(l == 0, 1, l)), axis)


def lse_squeezed(x, axis):
    m = np.max(x, axis, keepdims=True)
    m = np.where(np.isfinite(m), m, 0)
    return np.squeeze(m + np.log(np.exp(x - m).sum(axis, keepdims=True)))


def lse_epsilon(x, axis):
    m = np.max(x, axis, keepdims=True)
    m = np.where(np.isfinite(m), m, 0)
    return np.squeeze(m + np.log(np.exp(x - m).sum(axis, keepdims=True) + 1e-6), axis)


def lse_tiny_epsilon(x, axis):
    m = np.max(x, axis, keepdims=True)
    m = np.where(np.isfinite(m), m, 0)
    return np.squeeze(m + np.log(np.exp(x - m).sum(axis, keepdims=True) + 1e-12), axis)


def lse_product(x, axis):
    m, l = lse_parts(x, axis)
    return np.log(l) * m


TRUTH = {"a": True, "b": False, "c": False, "d": False, "e": False, "f": True}

RIGHT = {
    "safe_softmax": [softmax_guarded, softmax_row_by_row, softmax_cleaned, softmax_of_logarithms],
    "first_overflow": [overflow_bisected, overflow_by_digits],
    "logsumexp": [lse_guarded, lse_library],
    "judge": [TRUTH],
}

# exercise → {key of the mistake that the check must name: wrong answers}
WRONG = {
    "safe_softmax": {
        "wrong_axis": [softmax_axis_zero, softmax_axis_last],
        "keepdims_missing": [softmax_no_keepdims],
        "axis_by_hand": [softmax_new_axis],
        "keepdims_missing_in_sum": [softmax_sum_no_keepdims],
        "sum_of_everything": [softmax_total],
        "epsilon_added": [softmax_epsilon],
        "not_normalised": [softmax_terms],
        "denominator_not_shifted": [softmax_half_shifted],
        "sign_turned": [softmax_turned],
        "nothing_subtracted": [softmax_plain, softmax_plain_cleaned],
        "constant_too_high": [softmax_maximum_initial, softmax_maximum_absolute],
        "one_maximum_for_all": [softmax_one_maximum, softmax_one_maximum_guarded],
        "constant_too_low": [softmax_mean, softmax_minimum],
        "finite_sentinel": [
            softmax_sentinel,
            softmax_lowest_float,
            softmax_zero_for_masked,
            softmax_clipped_below,
        ],
        "all_masked_nan": [softmax_unguarded, softmax_half_guarded],
        "keepdims_missing_twice": [softmax_no_keepdims_at_all],
        "rounded_to_float32": [softmax_single_precision],
        "": [softmax_clipped],
    },
    "first_overflow": {
        "type_ignored": [overflow_uncast],
        "halves_swapped": [overflow_cast_after],
        "whole_steps": [overflow_counted],
        "number_for_exponent": [overflow_maximum],
        "": [overflow_few_halvings],
    },
    "logsumexp": {
        "wrong_axis": [lse_axis_zero, lse_axis_last],
        "keepdims_missing": [lse_no_keepdims],
        "axis_by_hand": [lse_new_axis],
        "all_masked_zero": [lse_guarded_twice],
        "m_forgotten": [lse_no_maximum],
        "m_subtracted": [lse_subtracted],
        "log_missing": [lse_no_logarithm],
        "base_two": [lse_base_two],
        "maximum_only": [lse_maximum],
        "axis_kept": [lse_kept],
        "all_axes_squeezed": [lse_squeezed],
        "epsilon_added": [lse_epsilon, lse_tiny_epsilon],
        "logs_multiplied": [lse_product],
        "nothing_subtracted": [lse_plain],
        "constant_too_high": [lse_maximum_initial],
        "one_maximum_for_all": [lse_one_maximum],
        "constant_too_low": [lse_mean],
        "finite_sentinel": [lse_sentinel],
        "all_masked_nan": [lse_unguarded],
    },
    "judge": {"": [{**TRUTH, key: not truth} for key, truth in TRUTH.items()]},
}
