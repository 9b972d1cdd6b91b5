"""Answers to the exercises of lesson 07: right ones, and typical wrong ones."""

import itertools

import numpy as np

from utils.attention import naive_attention
from utils.states import State, finish, identity, update
from utils.tiles import classify, tiles, visible


def kind_corners(rows, cols, offset):
    if cols[0] >= rows[1] + offset:
        return "skip"
    if cols[1] <= rows[0] + offset + 1:
        return "full"
    return "boundary"


def kind_counting(rows, cols, offset):
    width = cols[1] - cols[0]
    seen = [min(width, max(0, r + offset + 1 - cols[0])) for r in range(*rows)]
    return "skip" if seen[-1] == 0 else "full" if seen[0] == width else "boundary"


def kind_stop_inclusive(rows, cols, offset):
    return kind_corners((rows[0], rows[1] + 1), cols, offset)


def kind_diagonal_skipped(rows, cols, offset):
    return "skip" if cols[0] >= rows[1] - 1 + offset else kind_corners(rows, cols, offset)


def kind_strict(rows, cols, offset):
    answer = kind_corners(rows, cols, offset)
    return "boundary" if answer == "full" and cols[1] - 1 == rows[0] + offset else answer


def kind_full_too_soon(rows, cols, offset):
    if cols[0] >= rows[1] + offset:
        return "skip"
    return "full" if cols[1] - 2 <= rows[0] + offset else "boundary"


def kind_no_offset(rows, cols, offset):
    return kind_counting(rows, cols, 0)


def kind_minus(rows, cols, offset):
    return kind_counting(rows, cols, -offset)


def kind_first_query(rows, cols, offset):
    width = cols[1] - cols[0]
    seen = min(width, max(0, rows[0] + offset + 1 - cols[0]))
    return "skip" if seen == 0 else "full" if seen == width else "boundary"


def kind_last_query(rows, cols, offset):
    return kind_first_query((rows[1] - 1, rows[1]), cols, offset)


def kind_swapped(rows, cols, offset):
    return kind_counting(cols, rows, offset)


def kind_either(skip, full):
    """Decides by two comparisons of (r_0, r_1, c_0, c_1, offset), one of them wrong."""

    def answer(rows, cols, offset):
        bounds = (*rows, *cols, offset)
        return "skip" if skip(*bounds) else "full" if full(*bounds) else "boundary"

    return answer


def skips(r_0, r_1, c_0, c_1, offset):
    return c_0 >= r_1 + offset


def fills(r_0, r_1, c_0, c_1, offset):
    return c_1 <= r_0 + offset + 1


def kind_exchanged(rows, cols, offset):
    names = {"skip": "full", "full": "skip", "boundary": "boundary"}
    return names[kind_counting(rows, cols, offset)]


def kind_called_partial(rows, cols, offset):
    return kind_corners(rows, cols, offset).replace("boundary", "partial")


def tile_of_lesson(q_i, r_0, k, v, b_c, offset):
    rows, state = (r_0, r_0 + len(q_i)), identity(len(q_i), v.shape[1])
    for cols in tiles(len(k), b_c):
        kind = classify(rows, cols, offset=offset)
        if kind != "skip":
            s = q_i @ k[cols].T
            if kind == "boundary":
                s = np.where(visible(rows, cols, offset=offset), s, -np.inf)
            state = update(state, s, v[cols])
    return finish(state)


def tile_classified_without_offset(q_i, r_0, k, v, b_c, offset):
    rows, state = (r_0, r_0 + len(q_i)), identity(len(q_i), v.shape[1])
    for cols in tiles(len(k), b_c):
        if classify(rows, cols) != "skip":
            s = np.where(visible(rows, cols, offset=offset), q_i @ k[cols].T, -np.inf)
            state = update(state, s, v[cols])
    return finish(state)


def tile_whole_rows(q_i, r_0, k, v, b_c, offset):
    """Reads the visible keys at once, without tiles: no online softmax."""
    n = min(len(k), max(0, r_0 + len(q_i) + offset))
    keep = np.arange(n)[None] <= np.arange(r_0, r_0 + len(q_i))[:, None] + offset
    s = np.where(keep, q_i @ k[0:n].T, -np.inf)
    m = s.max(axis=1, initial=-np.inf)
    p = np.exp(s - np.where(np.isinf(m), 0, m)[:, None])
    l = p.sum(axis=1)
    return p @ v[0:n] / np.maximum(l, 1e-300)[:, None], m + np.log(l)


def tile_backwards(q_i, r_0, k, v, b_c, offset):
    """Visits the key tiles from the last to the first: ⊕ is commutative."""
    rows, state = (r_0, r_0 + len(q_i)), identity(len(q_i), v.shape[1])
    for cols in reversed(tiles(len(k), b_c)):
        if classify(rows, cols, offset=offset) != "skip":
            s = np.where(visible(rows, cols, offset=offset), q_i @ k[cols].T, -np.inf)
            state = update(state, s, v[cols])
    return finish(state)


def tile_wrong(
    *, skip=("skip",), once=False, keep=True, fresh=False, d_v=None, sign=1, early=False
):
    """The lesson's answer with one slip of a learner's hand."""

    def answer(q_i, r_0, k, v, b_c, offset):
        rows, offset = (r_0, r_0 + len(q_i)), sign * offset
        empty = identity(len(q_i), d_v(q_i) if d_v else v.shape[1])
        state = empty
        for cols in tiles(len(k), b_c):
            k_j = k[cols] if early else None
            if classify(rows, cols, offset=offset) in skip:
                continue
            s = q_i @ (k_j if early else k[cols]).T
            s = np.where(visible(rows, cols, offset=offset), s, -np.inf)
            new = update(empty if fresh else state, s, v[cols])
            state = new if keep else state
            if once:
                return finish(state)
        return finish(state)

    return answer


def tile_scaled(q_i, *args):
    return tile_of_lesson(q_i * q_i.shape[1] ** -0.5, *args)


def loop(mask, stop=lambda last, n_k, b_c: min(n_k, last + 1), merge=update, end=finish):
    """An answer whose mask(s, r, c, offset, r_0) or whose number of keys to visit is wrong."""

    def answer(q_i, r_0, k, v, b_c, offset):
        r = np.arange(r_0, r_0 + len(q_i))[:, None]
        state = identity(len(q_i), v.shape[1])
        for start in range(0, stop(int(r[-1, 0]) + offset, len(k), b_c), b_c):
            cols = slice(start, min(start + b_c, len(k)))
            c = np.arange(cols.start, cols.stop)[None]
            state = merge(state, mask(q_i @ k[cols].T, r, c, offset, r_0), v[cols])
        return end(state)

    return answer


def hide(s, keep):
    s = s.copy()
    s[~keep] = -np.inf
    return s


def right_mask(s, r, c, offset, r_0):
    return hide(s, c <= r + offset)


def plus(value):
    return lambda s, r, c, offset, r_0: s + value * (c > r + offset)


def lower(value):
    return lambda s, r, c, offset, r_0: np.where(c <= r + offset, s, value)


def no_guard(state, s, v_j):
    m = np.maximum(state.m, s.max(axis=1))
    p, alpha = np.exp(s - m[:, None]), np.exp(state.m - m)
    return State(m, alpha * state.l + p.sum(axis=1), alpha[:, None] * state.acc + p @ v_j)


def divide(state):
    return state.acc / state.l[:, None], state.m + np.log(state.l)


def weights_hidden(end):
    """Hides the weights and not the scores: right algebra."""

    def answer(q_i, r_0, k, v, b_c, offset):
        rows, (m, l, acc) = (r_0, r_0 + len(q_i)), identity(len(q_i), v.shape[1])
        for cols in tiles(len(k), b_c):
            if classify(rows, cols, offset=offset) != "skip":
                s = q_i @ k[cols].T
                m_new = np.maximum(m, s.max(axis=1))
                p = np.exp(s - m_new[:, None]) * visible(rows, cols, offset=offset)
                alpha = np.exp(m - m_new)
                l = alpha * l + p.sum(axis=1)
                acc = alpha[:, None] * acc + p @ v[cols]
                m = m_new
        return end(State(m, l, acc))

    return answer


def probe_two_three(attend):
    p = attend(np.zeros((2, 1)), np.zeros((3, 1)), np.eye(3))
    return ["top-left", "bottom-right", "none"][np.count_nonzero(p[0] > 0) - 1]


def probe_changing_a_value(attend):
    q, k, v = np.ones((5, 2)), np.ones((2, 2)), np.zeros((2, 1))
    other = v.copy()
    other[1] = 1
    moved = np.nan_to_num(attend(q, k, v)) != np.nan_to_num(attend(q, k, other))
    return {5: "none", 4: "top-left", 1: "bottom-right"}[int(moved.sum())]


def probe_square(guess):
    def answer(attend):
        v = np.array([0.0, 1, 1, 1])[:, None]
        same = attend(np.zeros((4, 2)), np.zeros((4, 2)), v)
        return "none" if same[0, 0] > 0 else guess

    return answer


def probe_one(guess):
    def answer(attend):
        out = attend(np.zeros((1, 2)), np.zeros((4, 2)), np.array([[0.0], [1], [1], [1]]))
        return guess if out[0, 0] > 0 else "top-left"

    return answer


def probe_against_naive(attend):
    rng = np.random.default_rng(3)
    q, k, v = rng.standard_normal((2, 4)), rng.standard_normal((5, 4)), rng.standard_normal((5, 3))
    for causal, name in ((False, "none"), (True, "bottom-right")):
        if np.allclose(attend(q, k, v), naive_attention(q, k, v, causal=causal)[0]):
            return name
    return "top-left"


def probe_last_query(attend):
    p = attend(np.zeros((2, 1)), np.zeros((3, 1)), np.eye(3))
    return "bottom-right" if np.all(p[1] > 0) else "top-left"


def probe_zero_row(attend):
    p = attend(np.zeros((4, 1)), np.zeros((2, 1)), np.eye(2))
    if p[0].max() == 0:
        return "bottom-right"
    return "none" if p[0].min() > 0 else "top-left"


def probe_underscored(attend):
    return probe_two_three(attend).replace("-", "_")


def probe_by_name(attend):
    """Never asks: the function's name says it."""
    named = attend.__name__.replace("_", "-")
    return "none" if named == "no-mask" else named


def probe_by_closure(attend):
    """Never asks: looks into what the function remembers."""
    held = [cell.cell_contents for cell in attend.__closure__ or ()]
    return next((x for x in held if x in ("top-left", "bottom-right", "none")), "none")


def probe_in_turn():
    """Never asks: knows the order in which the check hands its programs over."""
    told = itertools.cycle(["top-left", "bottom-right", "none"])
    return lambda attend: next(told)


def probe_exchanged(attend):
    names = {"top-left": "bottom-right", "bottom-right": "top-left", "none": "none"}
    return names[probe_two_three(attend)]


TRUTH = {"a": True, "b": False, "c": False, "d": False, "e": False, "f": True}

RIGHT = {
    "kind": [kind_corners, kind_counting],
    "causal_tile": [tile_of_lesson, tile_whole_rows, tile_backwards, loop(right_mask)],
    "alignment": [probe_two_three, probe_changing_a_value, probe_against_naive],
    "judge": [TRUTH],
}

# exercise → {key of the mistake that the check must name: wrong answers}
WRONG = {
    "kind": {
        "skip_off_by_one": [kind_stop_inclusive, kind_diagonal_skipped],
        "full_off_by_one": [kind_strict, kind_full_too_soon],
        "offset_ignored": [kind_no_offset],
        "offset_sign": [kind_minus],
        "first_query_only": [kind_first_query],
        "last_query_only": [kind_last_query],
        "full_by_first_key": [kind_either(skips, lambda r_0, r_1, c_0, c_1, o: c_0 <= r_0 + o)],
        "skip_by_last_key": [kind_either(lambda r_0, r_1, c_0, c_1, o: c_1 > r_1 + o, fills)],
        "offset_in_one_place": [
            kind_either(skips, lambda r_0, r_1, c_0, c_1, o: c_1 <= r_0 + 1),
            kind_either(lambda r_0, r_1, c_0, c_1, o: c_0 >= r_1, fills),
            kind_either(lambda r_0, r_1, c_0, c_1, o: c_0 >= r_1 - o, fills),
        ],
        "words_exchanged": [kind_exchanged],
        "": [kind_called_partial, kind_either(lambda *bounds: False, fills)],
        "axes_swapped": [kind_swapped],
    },
    "causal_tile": {
        "offset_ignored": [loop(lambda s, r, c, offset, r_0: hide(s, c <= r))],
        "own_key_hidden": [loop(lambda s, r, c, offset, r_0: hide(s, c < r + offset))],
        "next_key_seen": [loop(lambda s, r, c, offset, r_0: hide(s, c <= r + offset + 1))],
        "rows_from_zero": [loop(lambda s, r, c, offset, r_0: hide(s, c <= r - r_0 + offset))],
        "columns_from_zero": [
            loop(lambda s, r, c, offset, r_0: hide(s, c - c.min() <= r + offset))
        ],
        "no_mask": [loop(lambda s, r, c, offset, r_0: s)],
        "times_zero": [loop(lambda s, r, c, offset, r_0: s * (c <= r + offset))],
        "tiles_without_offset": [tile_classified_without_offset],
        "nothing_arrives": [
            loop(right_mask, lambda last, n_k, b_c: min(n_k, last + 1) - b_c),
            tile_wrong(keep=False),
            tile_wrong(skip=("skip", "boundary")),
        ],
        "last_tile_dropped": [
            loop(right_mask, lambda last, n_k, b_c: max(b_c, min(n_k, last + 1) - b_c))
        ],
        "first_tile_only": [tile_wrong(once=True)],
        "last_tile_only": [tile_wrong(fresh=True)],
        "full_left_out": [tile_wrong(skip=("skip", "full"))],
        "mask_inverted": [loop(lambda s, r, c, offset, r_0: hide(s, c > r + offset))],
        "scaled": [tile_scaled],
        "offset_sign": [tile_wrong(sign=-1)],
        "zero_times_infinity": [loop(lambda s, r, c, offset, r_0: s + (c > r + offset) * -np.inf)],
        "tail_dropped": [loop(right_mask, lambda last, n_k, b_c: min(n_k // b_c * b_c, last + 1))],
        "": [
            loop(right_mask, lambda last, n_k, b_c: n_k),
            tile_wrong(early=True),
            tile_wrong(d_v=lambda q_i: q_i.shape[1]),
        ],
        "nan_without_key": [
            loop(right_mask, merge=no_guard),
            loop(right_mask, merge=no_guard, end=divide),
        ],
        "max_over_hidden": [weights_hidden(finish), weights_hidden(divide)],
        "zero_over_zero": [loop(right_mask, end=divide)],
        "finite_sentinel": [
            loop(lower(-1e4)),
            loop(lower(-1e9)),
            loop(lower(-1e30)),
            loop(lower(-100)),
            loop(plus(-1e9)),
        ],
    },
    "alignment": {
        "square_probe": [probe_square("top-left"), probe_square("bottom-right")],
        "one_query_probe": [probe_one("bottom-right"), probe_one("none"), probe_last_query],
        "nan_not_expected": [probe_zero_row],
        "": [
            probe_underscored,
            lambda attend: None,
            lambda attend: "none",
            probe_by_name,
            probe_by_closure,
            probe_in_turn(),
        ],
        "corners_exchanged": [probe_exchanged],
    },
    "judge": {"": [{**TRUTH, key: not truth} for key, truth in TRUTH.items()]},
}
