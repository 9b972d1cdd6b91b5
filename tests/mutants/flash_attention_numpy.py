"""Answers to the exercises of lesson 06: right ones, and wrong ones made by editing their lines."""

import numpy as np

from utils.states import identity, merge, state_of
from utils.tiles import tiles

INNER = """
def inner_loop(q_i, k, v, b_c):
    m = np.full(len(q_i), -np.inf)
    l = np.zeros(len(q_i))
    acc = np.zeros((len(q_i), v.shape[1]))
    for c in range(0, len(k), b_c):
        s = q_i @ k[c : c + b_c].T
        m_new = np.maximum(m, s.max(axis=1))
        alpha = np.exp(m - m_new)
        p = np.exp(s - m_new[:, None])
        l = alpha * l + p.sum(axis=1)
        acc = alpha[:, None] * acc + p @ v[c : c + b_c]
        m = m_new
    return m, l, acc
"""

SCALED = """
def scaled(q_i, k, v, b_c, scale):
    m = np.full(len(q_i), -np.inf)
    l = np.zeros(len(q_i))
    acc = np.zeros((len(q_i), v.shape[1]))
    for cols in tiles(len(k), b_c):
        s = scale * (q_i @ k[cols].T)
        m_new = np.maximum(m, s.max(axis=1))
        alpha = np.exp(m - m_new)
        p = np.exp(s - m_new[:, None])
        l = alpha * l + p.sum(axis=1)
        acc = alpha[:, None] * acc + p @ v[cols]
        m = m_new
    return acc / l[:, None], m + np.log(l)
"""


def edited(source: str, *edits: tuple[str, str]):
    """Return the function of a source in which the right lines were replaced by wrong ones."""
    for old, new in edits:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    names = {"np": np, "tiles": tiles}
    exec(source, names)
    return names[source.split("def ")[1].split("(")[0]]


def inner(*edits):
    return edited(INNER, *edits)


def scale(*edits):
    return edited(SCALED, *edits)


def inner_by_merging(q_i, k, v, b_c):
    state = identity(len(q_i), v.shape[1])
    for cols in reversed(tiles(len(k), b_c)):
        state = merge(state_of(q_i @ k[cols].T, v[cols]), state)
    return tuple(state)


def inner_of_all_keys(q_i, k, v, b_c):
    """The right state, but all scores at once."""
    return tuple(state_of(q_i @ k.T, v))


def inner_by_einsum(q_i, k, v, b_c):
    """A product on the transposed tile, and in-place sums."""
    m, l, acc = -np.inf, np.zeros(len(q_i)), np.zeros((len(q_i), v.shape[1]))
    for cols in tiles(len(k), b_c):
        s = (k[cols] @ q_i.T).T
        m_new = np.maximum(m, s.max(axis=1))
        p = np.exp(s - m_new[:, None])
        l *= np.exp(m - m_new)
        l += p.sum(axis=1)
        acc *= np.exp(m - m_new)[:, None]
        acc += np.einsum("rc,cf->rf", p, v[cols])
        m = m_new
    return [m, l, acc]


def inner_with_shifted_m(q_i, k, v, b_c):
    """Another reference than the maximum is as right."""
    m, l, acc = inner()(q_i, k, v, b_c)
    return m - 1, l * np.e, acc * np.e


def finish_plain(m, l, acc):
    return acc / l[:, None], m + np.log(l)


def finish_row_by_row(m, l, acc):
    rows = range(len(m))
    return np.array([acc[r] / l[r] for r in rows]), np.array([m[r] + np.log(l[r]) for r in rows])


def scaled_keys(q_i, k, v, b_c, scale):
    m, l, acc = inner()(q_i, scale * k, v, b_c)
    return finish_plain(m, l, acc)


def scaled_m_raw(q_i, k, v, b_c, scale):
    """m of the raw scores, as some kernels keep it, and scaled in L."""
    return scale_raw(("m + np.log(l)", "scale * m + np.log(l)"))(q_i, k, v, b_c, scale)


def scale_raw(*edits):
    return scale(
        ("s = scale * (q_i @ k[cols].T)", "s = q_i @ k[cols].T"),
        ("np.exp(s - m_new[:, None])", "np.exp(scale * (s - m_new[:, None]))"),
        ("np.exp(m - m_new)", "np.exp(scale * (m - m_new))"),
        *edits,
    )


L = "l = alpha * l + p.sum(axis=1)"
ACC = "acc = alpha[:, None] * acc + p @ v[c : c + b_c]"
P = "p = np.exp(s - m_new[:, None])"
ALPHA = "alpha = np.exp(m - m_new)"
MAXIMUM = "np.maximum(m, s.max(axis=1))"
FIRST = "np.where(m == -np.inf, 1, "

INPUTS = {
    "a": ([0, 0, 3, 3], [1, 1, 0, 0], 2),
    "b": ([3, 3, 0, 0], [1, 1, 0, 0], 2),
    "c": ([0, 0, 3, 3], [1, 1, 0, 0], 2),
    "d": ([0, 0, 0], [0, 0, 1], 2),
    "e": ([-800, -801], [1, 0], 1),
    "f": ([0, 1, 2], [0, 0, 1], 1),
}
OTHERS = {
    "a": (np.array([-900.0, 0, 5]), np.array([0.0, 1, 0]), 1),
    "b": ((5, 0, 1, 2), (0, 1, 1, 1), 1),
    "c": ([1, 2, 3, 5], [1, 1, 0, 0], 2),
    "d": ([1, 5, 2, 8], [0, 0, 0, -3.0], 3),
    "e": ([-2000, -2001, -2002], [1, 2, 3], 2),
    "f": ([0, 5, 0, 9, 1], [1, 0, 0, 1, 2], 2),
}
TRUTH = {"a": False, "b": False, "c": True, "d": False, "e": False}

RIGHT = {
    "inner_loop": [inner(), inner_by_merging, inner_by_einsum, inner_with_shifted_m],
    "finish": [finish_plain, finish_row_by_row],
    "scaled": [scale(), scaled_keys, scaled_m_raw],
    "break_it": [INPUTS, OTHERS],
    "judge": [TRUTH],
}

# exercise → {key of the mistake that the check must name: wrong answers}
WRONG = {
    "inner_loop": {
        "acc_not_rescaled": [inner((ACC, "acc = acc + p @ v[c : c + b_c]"))],
        "l_not_rescaled": [inner((L, "l += p.sum(axis=1)"))],
        "nothing_rescaled": [
            inner((L, "l += p.sum(axis=1)"), (ACC, "acc += p @ v[c : c + b_c]")),
            inner((ALPHA, "m = m_new"), (P, f"{P}; alpha = np.exp(m - m_new)")),
        ],
        "alpha_upside_down": [
            inner((ALPHA, f"alpha = {FIRST}np.exp(m_new - m))")),
            inner((ALPHA, "alpha = np.exp(np.where(m == -np.inf, 0, m_new - m))")),
        ],
        "nan_at_once": [
            inner((ALPHA, "alpha = np.exp(m_new - m)")),
            inner((ALPHA, "alpha = 1 / np.exp(m - m_new)")),
            inner((ALPHA, "alpha = m - m_new")),
            inner((MAXIMUM, "np.minimum(m, s.max(axis=1))")),
            inner(("np.full(len(q_i), -np.inf)", "np.full(len(q_i), np.inf)")),
        ],
        "tiles_normalised": [
            inner((P, f"{P}; p /= p.sum(axis=1, keepdims=True)")),
            inner((P, f"{P}; p = (p.T / p.sum(axis=1)).T")),
        ],
        "sum_over_queries": [
            inner((L, "l = alpha * l + p.sum()")),
            inner((L, "l = alpha * l + p.sum(axis=0)")),
        ],
        "rescaled_after_adding": [
            inner((ACC, "acc = alpha[:, None] * (acc + p @ v[c : c + b_c])")),
            inner((ACC, "acc += p @ v[c : c + b_c]; acc *= alpha[:, None]")),
            inner((L, "l = (l + p.sum(axis=1)) * alpha")),
            inner(
                (ALPHA, f"alpha = {FIRST}np.exp(m - m_new))"),
                (L, "l = (l + p.sum(axis=1)) * alpha"),
            ),
            inner(
                (ALPHA, f"alpha = {FIRST}np.exp(m - m_new))"),
                (ACC, "acc += p @ v[c : c + b_c]; acc *= alpha[:, None]"),
            ),
        ],
        "alpha_on_new_tile": [
            inner((ACC, "acc = acc + alpha[:, None] * (p @ v[c : c + b_c])")),
            inner(
                (L, "l = l + alpha * p.sum(axis=1)"),
                (ACC, "acc = acc + alpha[:, None] * (p @ v[c : c + b_c])"),
            ),
        ],
        "old_m": [
            inner((P, "p = np.exp(s - m[:, None])")),
            inner((L, "l = alpha * l + np.exp(s - m[:, None]).sum(axis=1)")),
        ],
        "own_maximum": [inner((P, "p = np.exp(s - s.max(axis=1, keepdims=True))"))],
        "divided_in_loop": [
            inner(("m = m_new\n", "m = m_new\n        acc = acc / l[:, None]\n")),
            inner((ACC, "acc = (alpha[:, None] * acc + p @ v[c : c + b_c]) / l[:, None]")),
        ],
        "divided_at_end": [inner(("return m, l, acc", "return m, l, acc / l[:, None]"))],
        "last_tile_only": [
            inner((L, "l = p.sum(axis=1)"), (ACC, "acc = p @ v[c : c + b_c]")),
        ],
        "first_tile_only": [inner(("m = m_new\n", "m = m_new\n        return m, l, acc\n"))],
        "l_before_m": [inner(("return m, l, acc", "return l, m, acc"))],
        "scaled_anyway": [
            inner(("c : c + b_c].T\n", "c : c + b_c].T / np.sqrt(k.shape[1])\n")),
        ],
        "m_not_carried": [inner(("        m = m_new\n", ""))],
        "tail_dropped": [inner(("range(0, len(k), b_c)", "range(0, len(k) - b_c + 1, b_c)"))],
        "wrong_axis": [inner((MAXIMUM, "np.maximum(m, s.max(axis=0))"))],
        "axis_kept": [
            inner(("return m, l, acc", "return m.reshape(-1, 1), l.reshape(-1, 1), acc")),
        ],
        "": [
            inner(("return m, l, acc", "pass")),
            inner((ACC, "acc = alpha[:, None] * acc + p @ v[:b_c]")),
            inner((ACC, "acc = alpha[:, None] * acc + p @ v")),  # not one tile
            inner(("return m, l, acc", "return acc / l[:, None], m + np.log(l)")),  # finished
            inner(("return m, l, acc", "return m, l, acc.T")),
            inner(("np.zeros(len(q_i))", "np.zeros(q_i.shape[1])")),  # features, not rows
            inner_of_all_keys,
            inner((ACC, "acc = alpha * acc + p @ v[c : c + b_c]")),
            inner((P, "p = np.exp(s - m_new)")),
        ],
        "no_maximum": [
            inner((MAXIMUM, "np.zeros(len(q_i))"), (ALPHA, "alpha = np.ones(len(q_i))")),
        ],
        "quotient_of_exponentials": [
            inner(
                (ALPHA, "alpha = np.exp(m) / np.exp(m_new)"),
                (P, "p = np.exp(s) / np.exp(m_new)[:, None]"),
            ),
        ],
        "one_maximum_for_all": [inner((MAXIMUM, "np.maximum(m, s.max())"))],
        "tile_reference": [inner((MAXIMUM, "s.max(axis=1)"))],
        "starts_at_zero": [
            inner(("np.full(len(q_i), -np.inf)", "np.zeros(len(q_i))")),
            inner(("np.full(len(q_i), -np.inf)", "np.full(len(q_i), -100.0)")),
        ],
    },
    "finish": {
        "not_divided": [lambda m, l, acc: (acc, m + np.log(l))],
        "divided_by_columns": [lambda m, l, acc: (acc / l, m + np.log(l))],
        "m_forgotten": [lambda m, l, acc: (acc / l[:, None], np.log(l))],
        "log_missing": [lambda m, l, acc: (acc / l[:, None], l + m)],
        "sign_turned": [lambda m, l, acc: (acc / l[:, None], m + np.log(1 / l))],
        "base_two": [lambda m, l, acc: (acc / l[:, None], np.log2(l) + m)],
        "back_to_large_numbers": [
            lambda m, l, acc: (acc / l[:, None], np.log(np.exp(m) * l)),
        ],
        "exchanged": [lambda m, l, acc: (m + np.log(l), (acc.T / l).T)],
        "axis_kept": [lambda m, l, acc: (acc / l[:, None], m[:, None] + np.log(l[:, None]))],
        "": [lambda m, l, acc: acc / l[:, None], lambda m, l, acc: (m + np.log(l), acc)],
    },
    "scaled": {
        "state_returned": [scale(("acc / l[:, None], m + np.log(l)", "m, l, acc"))],
        "first_tile_only": [
            scale(("m = m_new\n", "m = m_new\n        return acc / l[:, None], m + np.log(l)\n"))
        ],
        "lse_of_raw_scores": [
            scale(("m + np.log(l)", "np.log(np.exp(q_i @ k.T).sum(axis=1))")),
        ],
        "lse_scaled_back": [scale(("m + np.log(l)", "(m + np.log(l)) / scale"))],
        "scale_forgotten": [
            scale(
                ("scale * (q_i @ k[cols].T)", "q_i @ k[cols].T"),
                ("s.max(axis=1)", "scale * s.max(axis=1)"),
            ),
            scale(("scale * (q_i @ k[cols].T)", "q_i @ k[cols].T")),
        ],
        "scale_twice": [scale(("scale * (q_i @ k[cols].T)", "scale * (scale * q_i @ k[cols].T)"))],
        "scale_every_turn": [
            scale(("s = scale * (q_i @ k[cols].T)", "q_i = scale * q_i; s = q_i @ k[cols].T"))
        ],
        "scale_not_used": [
            scale(("scale * (q_i @ k[cols].T)", "q_i @ k[cols].T / np.sqrt(q_i.shape[1])"))
        ],
        "divided_by_scale": [scale(("scale * (q_i @ k[cols].T)", "(q_i @ k[cols].T) / scale"))],
        "scale_on_output": [
            scale(
                ("scale * (q_i @ k[cols].T)", "q_i @ k[cols].T"),
                ("acc / l[:, None]", "scale * acc / l[:, None]"),
            )
        ],
        "scale_missing_in_alpha": [
            scale(
                ("scale * (q_i @ k[cols].T)", "q_i @ k[cols].T"),
                ("np.exp(s - m_new[:, None])", "np.exp(scale * (s - m_new[:, None]))"),
            )
        ],
        "m_unscaled_in_lse": [scale_raw()],
        "maximum_unscaled": [
            scale(("s.max(axis=1)", "(q_i @ k[cols].T).max(axis=1)")),
        ],
    },
    "break_it": {
        "": [
            {**INPUTS, "c": ([0, 0, 3, 3], [1, 1, 1, 1], 2)},  # equal values
            {**INPUTS, "a": ([2, 2, 2, 2], [0, 1, 0, 1], 2)},  # equal scores
            {**INPUTS, "a": ([3, 3, 0, 0], [1, 1, 0, 0], 2)},  # the maximum never rises
            {**INPUTS, "b": ([0, 0, 3, 3], [1, 1, 0, 0], 2)},  # it never falls
            {**INPUTS, "c": ([0, 1, 2], [1, 0, 0], 3)},  # one tile
            {**INPUTS, "d": ([0, 1, 2, 3], [1, 0, 0, 1], 2)},  # no ragged tail
            {**INPUTS, "e": ([-700, -701], [1, 0], 1)},  # not low enough
            {**INPUTS, "f": ([0, 2], [0, 1], 1)},  # two tiles
            {**INPUTS, "e": ([-np.inf, 0], [1, 0], 1)},  # not finite
            {**INPUTS, "e": ([0, 1], [np.nan, 0], 1)},
            {**INPUTS, "d": ([0, 1], [0, 1, 2], 1)},  # lengths differ
            {**INPUTS, "d": ([0, 1, 2], [0, 1, 2], 0)},  # no such tile
            {**INPUTS, "d": ([0, 1, 2], [0, 1, 2], 1.5)},
            {**INPUTS, "d": ([0, 1, 2], [0, 1, 2])},  # no tile at all
            {**INPUTS, "d": 3},
            {key: value for key, value in INPUTS.items() if key != "f"},
        ]
    },
    "judge": {"": [{**TRUTH, key: not truth} for key, truth in TRUTH.items()]},
}
