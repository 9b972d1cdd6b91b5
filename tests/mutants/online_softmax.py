"""Answers to the exercises of lesson 04: right ones, and typical wrong ones."""

import numpy as np

from utils.tiles import tiles

INF = np.inf


# update_tile


def update_guarded(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    reference = np.where(m_new == -INF, 0, m_new)
    return m_new, np.exp(m - reference) * l + np.exp(x - reference[:, None]).sum(axis=1)


def update_row_by_row(m, l, x):
    """Through the merge with the state of the tile, skipping what is masked."""
    m, l = list(map(float, m)), list(map(float, l))
    for r, row in enumerate(np.asarray(x, dtype=float)):
        row = row[row > -INF]
        if len(row):
            top = max(m[r], row.max())
            l[r] = l[r] * np.exp(m[r] - top) + sum(np.exp(s - top) for s in row)
            m[r] = top
    return np.array(m), np.array(l)


def update_cleaned(m, l, x):
    m_new = np.fmax(m, np.max(x, 1))
    old, p = np.exp(m - m_new), np.exp((x.T - m_new).T)
    return [m_new, np.nan_to_num(old) * l + np.nan_to_num(p).sum(1)]


def update_by_logarithms(m, l, x):
    lse = np.logaddexp(m + np.log(l), np.logaddexp.reduce(x, axis=1))
    m_new = np.maximum(m, x.max(axis=1))
    return m_new, np.exp(lse - np.where(m_new == -INF, 0, m_new))


def update_unguarded(m, l, x):
    m_new = np.maximum(m, x.max(1))
    return m_new, l * np.exp(m - m_new) + np.sum(np.exp(x - m_new[:, np.newaxis]), -1)


def update_guarded_in_the_tile_only(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    safe = np.where(np.isinf(m_new), 0, m_new)
    return m_new, np.exp(m - m_new) * l + np.exp(x - safe[:, None]).sum(axis=1)


def update_returns_zero(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    m_new = np.where(np.isfinite(m_new), m_new, 0.0)
    return m_new, np.exp(m - m_new) * l + np.exp(x - m_new[:, None]).sum(axis=1)


def update_sentinel(m, l, x):
    return update_unguarded(m, l, np.nan_to_num(x, neginf=-10000.0))


def update_sentinel_e9(m, l, x):
    return update_unguarded(m, l, np.maximum(x, -1e9))


def update_initial_zero(m, l, x):
    m_new = np.maximum(m, x.max(axis=1, initial=0))
    return m_new, l * np.exp(m - m_new) + np.exp(x - m_new[:, None]).sum(axis=1)


def update_axis_zero(m, l, x):
    m_new = np.maximum(m, x.max(axis=0))
    return m_new, l * np.exp(m - m_new) + np.exp(x - m_new).sum(axis=0)


def update_sum_axis_zero(m, l, x):
    m_new = np.maximum(m, x.max(axis=-1))
    return m_new, l * np.exp(m - m_new) + np.exp(x - m_new[:, None]).sum(axis=0)


def update_no_second_axis(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    return m_new, l * np.exp(m - m_new) + np.exp(x - m_new).sum(axis=1)


def update_no_alpha(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    return m_new, l + np.exp(x - m_new[:, None]).sum(axis=1)


def update_alpha_inverted(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    return m_new, l / np.exp(m - m_new) + np.exp(x - m_new[:, None]).sum(axis=1)


def update_alpha_on_new(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    return m_new, l + np.exp(m - m_new) * np.exp(x - m_new[:, None]).sum(axis=1)


def update_alpha_on_both(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    l = l + np.exp(x - m_new[:, None]).sum(axis=1)
    return m_new, l * np.exp(m - m_new)


def update_tile_reference(m, l, x):
    m_tile = x.max(axis=1)
    m_new = np.maximum(m, m_tile)
    return m_new, np.exp(m - m_new) * l + np.exp(x - m_tile[:, None]).sum(axis=1)


def update_old_reference(m, l, x):
    l = l + np.exp(x - m[:, None]).sum(axis=1)
    return np.maximum(m, x.max(axis=1)), l


def update_old_reference_rescaled(m, l, x):
    p = np.exp(x - m[:, None]).sum(axis=1)
    m_new = np.maximum(m, x.max(axis=1))
    return m_new, np.exp(m - m_new) * l + p


def update_overwrites(m, l, x):
    m = np.maximum(m, x.max(axis=1))
    return m, np.exp(x - m[:, None]).sum(axis=1)


def update_tile_maximum(m, l, x):
    m_new = x.max(axis=1)
    return m_new, np.exp(m - m_new) * l + np.exp(x - m_new[:, None]).sum(axis=1)


def update_returns_old_m(m, l, x):
    return m, update_unguarded(m, l, x)[1]


def update_one_maximum(m, l, x):
    m_new = np.maximum(m, x.max())
    return m_new, np.exp(m - m_new) * l + np.exp(x - m_new[:, None]).sum(axis=1)


def update_m_overwritten_first(m, l, x):
    """α is computed from the m that was just overwritten: it is always 1."""
    m = np.maximum(m, x.max(axis=1))
    alpha = np.exp(m - m)
    return m, alpha * l + np.exp(x - m[:, None]).sum(axis=1)


def update_alpha_from_the_tile(m, l, x):
    m_tile = x.max(axis=1)
    m_new = np.maximum(m, m_tile)
    return m_new, np.exp(m - m_tile) * l + np.exp(x - m_new[:, None]).sum(axis=1)


def update_pair_swapped(m, l, x):
    return update_guarded(m, l, x)[::-1]


def update_python_max(m, l, x):
    m_new = max(m, x.max(axis=1))
    return m_new, np.exp(m - m_new) * l + np.exp(x - m_new[:, None]).sum(axis=1)


def update_guarded_for_all_rows_at_once(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    if np.all(m_new == -INF):
        return m, l
    return m_new, np.exp(m - m_new) * l + np.exp(x - m_new[:, None]).sum(axis=1)


def update_alpha_guarded_only(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    alpha = np.where(m == -INF, 0, np.exp(m - m_new))
    return m_new, alpha * l + np.exp(x - m_new[:, None]).sum(axis=1)


def update_base_two(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    return m_new, 2 ** (m - m_new) * l + 2 ** (x - m_new[:, None]).sum(axis=1)


def update_key_by_key(m, l, x):
    for c in range(x.shape[1]):
        s = x[:, c]
        m_new = np.maximum(m, s)
        m, l = m_new, np.exp(m - m_new) * l + np.exp(s - m_new)
    return m, l


def update_sums_all_rows(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    return m_new, np.exp(m - m_new) * l + np.exp(x - m_new[:, None]).sum()


def update_axis_kept(m, l, x):
    m, l = m.reshape(-1, 1), l.reshape(-1, 1)
    m_new = np.maximum(m, x.max(axis=1, keepdims=True))
    c = np.where(np.isinf(m_new), 0, m_new)
    return m_new, np.exp(m - c) * l + np.exp(x - c).sum(axis=1, keepdims=True)


def update_np_max(m, l, x):
    m_new = np.max(m, x.max(axis=1))
    return m_new, np.exp(m - m_new) * l + np.exp(x - m_new[:, None]).sum(axis=1)


def update_prints(m, l, x):
    """Forgets to return."""
    update_guarded(m, l, x)


def update_log_of_plain_sum(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    lse = np.log(np.exp(m) * l + np.exp(x).sum(axis=1))
    return m_new, np.exp(lse - m_new)


def update_plain_sum(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    total = l * np.exp(m) + np.exp(x).sum(axis=1)
    return m_new, total / np.exp(m_new)


# merge


def merge_guarded(a, b):
    m = np.maximum(a[0], b[0])
    c = np.where(m == -INF, 0, m)
    return m, np.exp(a[0] - c) * a[1] + np.exp(b[0] - c) * b[1]


def merge_cases(a, b):
    """Row by row; an empty side returns the other."""

    def one(m_a, l_a, m_b, l_b):
        if l_a == 0:
            return m_b, l_b
        if l_b == 0:
            return m_a, l_a
        if m_a < m_b:
            m_a, l_a, m_b, l_b = m_b, l_b, m_a, l_a
        return m_a, l_a + np.exp(m_b - m_a) * l_b

    m, l = zip(*map(one, *map(np.float64, (*a, *b))), strict=True)
    return np.array(m), np.array(l)


def merge_by_logarithms(a, b):
    """One array of two rows, through ln(l·e^m)."""
    lse = np.logaddexp(a[0] + np.log(a[1]), b[0] + np.log(b[1]))
    m = np.maximum(a[0], b[0])
    return np.array([m, np.exp(lse - np.where(m == -INF, 0, m))])


def merge_python_max(a, b):
    m = max(a[0], b[0])
    return m, np.exp(a[0] - m) * a[1] + np.exp(b[0] - m) * b[1]


def merge_np_max(a, b):
    m = np.max(a[0], b[0])
    return m, np.exp(a[0] - m) * a[1] + np.exp(b[0] - m) * b[1]


def merge_by_if(a, b):
    if a[0] > b[0]:
        return a[0], a[1] + np.exp(b[0] - a[0]) * b[1]
    return b[0], np.exp(a[0] - b[0]) * a[1] + b[1]


def merge_pair_swapped(a, b):
    return merge_guarded(a, b)[::-1]


def merge_log_of_plain_sums(a, b):
    m = np.maximum(a[0], b[0])
    return m, np.exp(np.log(np.exp(a[0]) * a[1] + np.exp(b[0]) * b[1]) - m)


def merge_in_place(a, b):
    m = np.maximum(a[0], b[0])
    c = np.where(m == -INF, 0, m)
    a[1][:] *= np.exp(a[0] - c)
    return m, a[1] + np.exp(b[0] - c) * b[1]


def merge_unguarded(a, b):
    (m_a, l_a), (m_b, l_b) = a, b
    m = np.maximum(m_a, m_b)
    return m, l_a * np.exp(m_a - m) + l_b * np.exp(m_b - m)


def merge_returns_zero(a, b):
    m = np.maximum(a[0], b[0])
    m = np.where(m == -INF, 0, m)
    return m, np.exp(a[0] - m) * a[1] + np.exp(b[0] - m) * b[1]


def merge_from_zero(a, b):
    m = np.maximum(0, np.maximum(a[0], b[0]))
    return m, np.exp(a[0] - m) * a[1] + np.exp(b[0] - m) * b[1]


def merge_plain_sums(a, b):
    m = np.maximum(a[0], b[0])
    total = np.exp(a[0]) * a[1] + np.exp(b[0]) * b[1]
    return m, total * np.exp(-m)


def merge_added(a, b):
    return np.maximum(a[0], b[0]), a[1] + b[1]


def merge_left_only(a, b):
    m = np.maximum(a[0], b[0])
    return m, np.exp(a[0] - m) * a[1] + b[1]


def merge_right_only(a, b):
    m = np.maximum(a[0], b[0])
    return m, a[1] + np.exp(b[0] - m) * b[1]


def merge_as_if_b_were_larger(a, b):
    m = np.maximum(a[0], b[0])
    return m, np.exp(a[0] - b[0]) * a[1] + b[1]


def merge_inverted(a, b):
    m = np.maximum(a[0], b[0])
    return m, np.exp(m - a[0]) * a[1] + np.exp(m - b[0]) * b[1]


def merge_swapped(a, b):
    m = np.maximum(a[0], b[0])
    return m, np.exp(b[0] - m) * a[1] + np.exp(a[0] - m) * b[1]


def merge_maxima_added(a, b):
    m = a[0] + b[0]
    return m, np.exp(a[0] - m) * a[1] + np.exp(b[0] - m) * b[1]


def merge_keeps_a(a, b):
    return a


# two_pass


def two_pass_guarded(x, y, b, memory):
    m, l = -INF, 0.0
    for part in memory.turns(tiles(len(x), b)):
        tile = x[part]
        m_new = max(m, tile.max())
        if m_new > -INF:
            m, l = m_new, l * np.exp(m - m_new) + np.exp(tile - m_new).sum()
    for part in memory.turns(tiles(len(x), b)):
        y[part] = np.exp(x[part] - m) / l


def two_pass_logsumexp(x, y, b, memory):
    """Carries L instead of (m, l), and writes e^{x − L}."""
    lse = -INF
    for part in memory.turns(tiles(len(x), b)):
        lse = np.logaddexp(lse, np.logaddexp.reduce(x[part]))
    for part in memory.turns(tiles(len(x), b)):
        y[part] = np.exp(x[part] - lse)


def two_pass_score_by_score(x, y, b, memory):
    m, l = -INF, 0.0
    for c in memory.turns(range(len(x))):
        s = x[c]
        if s > m:
            m, l = s, l * np.exp(m - s) + 1
        elif s > -INF:
            l += np.exp(s - m)
    for c in memory.turns(range(len(x))):
        y[c] = np.exp(x[c] - m) / l


def loops(step, start=(-INF, 0.0), weigh=lambda tile, m, l: np.exp(tile - m) / l):
    def attempt(x, y, b, memory):
        m, l = start
        for part in memory.turns(tiles(len(x), b)):
            m, l = step(m, l, x[part])
        for part in memory.turns(tiles(len(x), b)):
            y[part] = weigh(x[part], m, l)

    return attempt


def plain_step(m, l, tile):
    m_new = max(m, tile.max())
    return m_new, l * np.exp(m - m_new) + np.exp(tile - m_new).sum()


def guarded_step(m, l, tile):
    return plain_step(m, l, tile) if max(m, tile.max()) > -INF else (m, l)


def two_pass_three_loops(x, y, b, memory):
    m, l = -INF, 0.0
    for part in memory.turns(tiles(len(x), b)):
        m = max(m, x[part].max())
    for part in memory.turns(tiles(len(x), b)):
        l += np.exp(x[part] - m).sum()
    for part in memory.turns(tiles(len(x), b)):
        y[part] = np.exp(x[part] - m) / l


def two_pass_reads_twice_in_a_loop(x, y, b, memory):
    m, l = -INF, 0.0
    for part in memory.turns(tiles(len(x), b)):
        m_new = max(m, x[part].max())
        l = l * np.exp(m - m_new) + np.exp(x[part] - m_new).sum()
        m = m_new
    for part in memory.turns(tiles(len(x), b)):
        y[part] = np.exp(x[part] - m) / l


def two_pass_whole_row(x, y, b, memory):
    row = x[:]
    y[:] = np.exp(row - row.max()) / np.exp(row - row.max()).sum()


def two_pass_without_turns(x, y, b, memory):
    m, l = -INF, 0.0
    for part in tiles(len(x), b):
        m, l = plain_step(m, l, x[part])
    for part in tiles(len(x), b):
        y[part] = np.exp(x[part] - m) / l


def two_pass_floor(x, y, b, memory):
    parts = [slice(i * b, (i + 1) * b) for i in range(len(x) // b)]
    m, l = -INF, 0.0
    for part in memory.turns(parts):
        m, l = plain_step(m, l, x[part])
    for part in memory.turns(parts):
        y[part] = np.exp(x[part] - m) / l


def two_pass_writes_early(x, y, b, memory):
    m, l = -INF, 0.0
    for part in memory.turns(tiles(len(x), b)):
        tile = x[part]
        m, l = guarded_step(m, l, tile)
        y[part] = np.exp(tile - m) / l


def two_pass_tile_softmax(x, y, b, memory):
    for part in memory.turns(tiles(len(x), b)):
        e = np.exp(x[part] - x[part].max())
        y[part] = e / e.sum()


def two_pass_writes_all_at_once(x, y, b, memory):
    probs = np.empty(len(x))
    m, l = -INF, 0.0
    for part in memory.turns(tiles(len(x), b)):
        m, l = guarded_step(m, l, x[part])
    for part in memory.turns(tiles(len(x), b)):
        probs[part] = np.exp(x[part] - m) / l
    y[:] = probs


def two_pass_keeps_the_tiles(x, y, b, memory):
    kept, m, l = [], -INF, 0.0
    for part in memory.turns(tiles(len(x), b)):
        kept.append(x[part])
        m, l = guarded_step(m, l, kept[-1])
    for part, tile in zip(tiles(len(x), b), kept, strict=True):
        y[part] = np.exp(tile - m) / l


def two_pass_without_memory(x, y, b):
    """One argument is missing."""


# same_in_any_order


def order_shuffled(fold, rng):
    for _ in range(30):
        row = rng.standard_normal(8)
        if not np.allclose(fold(row), fold(rng.permutation(row))):
            return False
    return True


def order_by_lists(fold, rng):
    """Two shuffles against the sorted row, with an own tolerance."""
    rows = [sorted(rng.uniform(-3, 3, 12)) for _ in range(25)]
    pairs = [(fold(np.array(row)), fold(rng.permutation(row))) for row in rows * 2]
    return np.all([abs(u - v) < 1e-9 for a, b in pairs for u, v in zip(a, b, strict=True)])


def order_exact(fold, rng):
    for _ in range(20):
        row = rng.standard_normal(10)
        if fold(row) != fold(rng.permutation(row)):
            return False
    return True


def order_not_shuffled(fold, rng):
    rows = [rng.standard_normal(10) for _ in range(20)]
    return all(np.allclose(fold(row), fold(row)) for row in rows)


def order_shuffled_in_place(fold, rng):
    for _ in range(20):
        row = rng.standard_normal(10)
        other = row
        rng.shuffle(other)
        if not np.allclose(fold(row), fold(other)):
            return False
    return True


def order_constant_rows(fold, rng):
    rows = [np.full(10, value) for value in rng.standard_normal(20)]
    return all(np.allclose(fold(row), fold(rng.permutation(row))) for row in rows)


def order_by_m_alone(fold, rng):
    rows = rng.standard_normal((20, 10))
    return all(np.isclose(fold(row)[0], fold(rng.permutation(row))[0]) for row in rows)


def order_by_l_e_m(fold, rng):
    def total(row):
        m, l = fold(row)
        return l * np.exp(m)

    rows = rng.standard_normal((20, 10))
    return all(np.isclose(total(row), total(rng.permutation(row))) for row in rows)


def order_tolerant(fold, rng):
    rows = rng.standard_normal((20, 10))
    return all(np.allclose(fold(row), fold(rng.permutation(row)), rtol=0.1) for row in rows)


def order_assigns_the_shuffle(fold, rng):
    row = rng.standard_normal(10)
    return bool(np.allclose(fold(row), fold(rng.shuffle(row))))


def order_one_row(fold, rng):
    for _ in range(20):
        row = rng.standard_normal(10)
        return bool(np.allclose(fold(row), fold(row[::-1])))


def order_by_l_alone(fold, rng):
    rows = rng.standard_normal((20, 10))
    return all(np.isclose(fold(row)[1], fold(rng.permutation(row))[1]) for row in rows)


def order_reversed(fold, rng):
    for _ in range(20):
        row = rng.standard_normal(10)
        if not np.allclose(fold(row), fold(row[::-1])):
            return False
    return True


def order_against_safe_softmax(fold, rng):
    for _ in range(20):
        row = rng.standard_normal(10)
        m = row.max()
        if not np.allclose(fold(row), (m, np.exp(row - m).sum())):
            return False
    return True


def order_returns_in_the_loop(fold, rng):
    for _ in range(20):
        row = rng.standard_normal(10)
        return np.allclose(fold(row), fold(rng.permutation(row)))


TRUTH = {"a": False, "b": True, "c": False, "d": False, "e": True, "f": False}

RIGHT = {
    "update_tile": [update_guarded, update_row_by_row, update_cleaned, update_by_logarithms],
    "merge": [merge_guarded, merge_cases, merge_by_logarithms],
    "two_pass": [two_pass_guarded, two_pass_logsumexp, two_pass_score_by_score],
    "same_in_any_order": [order_shuffled, order_by_lists],
    "judge": [TRUTH],
}

# exercise → {key of the mistake that the check must name: wrong answers}
WRONG = {
    "update_tile": {
        "masked_nan": [
            update_unguarded,
            update_guarded_in_the_tile_only,
            update_guarded_for_all_rows_at_once,
            update_alpha_guarded_only,
            update_key_by_key,
        ],
        "reference_returned": [update_returns_zero],
        "finite_sentinel": [update_sentinel, update_sentinel_e9],
        "maximum_from_zero": [update_initial_zero],
        "wrong_axis": [update_axis_zero, update_sum_axis_zero, update_sums_all_rows],
        "second_axis_missing": [update_no_second_axis],
        "l_not_rescaled": [update_no_alpha, update_m_overwritten_first],
        "alpha_upside_down": [update_alpha_inverted],
        "alpha_on_the_new_terms": [update_alpha_on_new],
        "rescaled_after_adding": [update_alpha_on_both],
        "relative_to_the_tile": [update_tile_reference],
        "relative_to_the_old_m": [update_old_reference, update_old_reference_rescaled],
        "old_l_forgotten": [update_overwrites],
        "old_m_forgotten": [update_tile_maximum],
        "old_m_returned": [update_returns_old_m],
        "one_maximum_for_all": [update_one_maximum],
        "through_the_plain_sum": [update_plain_sum, update_log_of_plain_sum],
        "": [update_base_two, update_prints],
        "axis_kept": [update_axis_kept],
        "one_truth_for_all_rows": [update_python_max, update_np_max],
        "pair_swapped": [update_pair_swapped],
        "alpha_from_the_tile": [update_alpha_from_the_tile],
    },
    "merge": {
        "masked_nan": [merge_unguarded],
        "reference_returned": [merge_returns_zero],
        "maximum_from_zero": [merge_from_zero],
        "through_the_plain_sum": [merge_plain_sums, merge_log_of_plain_sums],
        "l_not_rescaled": [merge_added],
        "only_the_left_rescaled": [merge_left_only, merge_right_only, merge_as_if_b_were_larger],
        "alpha_upside_down": [merge_inverted],
        "factors_swapped": [merge_swapped],
        "maxima_added": [merge_maxima_added],
        "pair_swapped": [merge_pair_swapped],
        "one_truth_for_all_rows": [merge_python_max, merge_np_max, merge_by_if],
        "changed_input": [merge_in_place],
        "": [merge_keeps_a],
    },
    "two_pass": {
        "masked_nan": [loops(plain_step)],
        "maximum_from_zero": [loops(guarded_step, start=(0.0, 0.0))],
        "nothing_subtracted": [
            loops(
                lambda m, l, tile: (m, l + np.exp(tile).sum()),
                weigh=lambda tile, m, l: np.exp(tile) / l,
            )
        ],
        "l_not_rescaled": [
            loops(lambda m, l, t: (max(m, t.max()), l + np.exp(t - max(m, t.max())).sum()))
        ],
        "relative_to_the_tile": [
            loops(lambda m, l, t: (max(m, t.max()), l + np.exp(t - t.max()).sum()))
        ],
        "tiles_normalised": [two_pass_tile_softmax],
        "written_too_early": [two_pass_writes_early],
        "not_normalised": [loops(guarded_step, weigh=lambda t, m, l: np.exp(t - m))],
        "m_forgotten_in_the_weights": [loops(guarded_step, weigh=lambda t, m, l: np.exp(t) / l)],
        "": [
            two_pass_three_loops,
            two_pass_reads_twice_in_a_loop,
            two_pass_whole_row,
            two_pass_without_turns,
            two_pass_floor,
            two_pass_writes_all_at_once,
            two_pass_keeps_the_tiles,
            two_pass_without_memory,
        ],
    },
    "same_in_any_order": {
        "exact_comparison": [order_exact],
        "only_one_of_both_compared": [order_by_l_e_m, order_by_l_alone],
        "only_reversed": [order_reversed],
        "compared_with_the_definition": [order_against_safe_softmax],
        "nothing_found": [
            order_not_shuffled,
            order_shuffled_in_place,
            order_constant_rows,
            order_by_m_alone,
            order_tolerant,
        ],
        "": [order_assigns_the_shuffle, order_one_row, order_returns_in_the_loop],
    },
    "judge": {"": [{**TRUTH, key: not truth} for key, truth in TRUTH.items()]},
}
