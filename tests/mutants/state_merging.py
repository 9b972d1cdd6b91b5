"""Answers to the exercises of lesson 05: right ones, and typical wrong ones."""

from functools import reduce

import numpy as np

from utils import states

INF = np.inf


def merge_by_formula(a, b):
    m = np.maximum(a.m, b.m)
    c = np.where(np.isinf(m), 0, m)
    x, y = np.exp(a.m - c), np.exp(b.m - c)
    return m, x * a.l + y * b.l, x[:, None] * a.acc + y[:, None] * b.acc


def merge_by_rows(a, b):
    """Row by row, returning normalised outputs with the reference L: also a state."""
    lse, out = [], []
    for parts in zip(zip(*a, strict=True), zip(*b, strict=True), strict=True):
        parts = [(m + np.log(l), acc / l) for m, l, acc in parts if l > 0]
        total = reduce(np.logaddexp, [part[0] for part in parts], -INF)
        lse.append(total)
        out.append(sum((np.exp(L - total) * o for L, o in parts), np.zeros(a.acc.shape[1])))
    return np.array(lse), np.ones(len(lse)), np.array(out)


def merge_with(reference):
    def merge(a, b):
        m = reference(a, b)
        safe = np.where(m == -INF, 0, m)
        alpha_a, alpha_b = np.exp(a.m - safe), np.exp(b.m - safe)
        l = a.l * alpha_a + b.l * alpha_b
        return m, l, a.acc * alpha_a[:, None] + b.acc * alpha_b[:, None]

    return merge


def merge_empty_nan(a, b):
    m = np.maximum(a.m, b.m)
    alpha_a, alpha_b = np.exp(a.m - m), np.exp(b.m - m)
    l = alpha_a * a.l + alpha_b * b.l
    return m, l, alpha_a[:, None] * a.acc + alpha_b[:, None] * b.acc


def merge_nan_to_zero(a, b):
    m_a, m_b = np.nan_to_num(a.m, neginf=0), np.nan_to_num(b.m, neginf=0)
    m = np.maximum(m_a, m_b)
    alpha, beta = np.exp(m_a - m), np.exp(m_b - m)
    return m, alpha * a.l + beta * b.l, alpha[:, None] * a.acc + beta[:, None] * b.acc


def merge_adding(a, b):
    return np.maximum(a.m, b.m), a.l + b.l, a.acc + b.acc


def merge_l_unscaled(a, b):
    m = np.maximum(a.m, b.m)
    acc = np.exp(a.m - m)[:, None] * a.acc + np.exp(b.m - m)[:, None] * b.acc
    return m, a.l + b.l, acc


def merge_acc_unscaled(a, b):
    m = np.maximum(a.m, b.m)
    return m, np.exp(a.m - m) * a.l + np.exp(b.m - m) * b.l, a.acc + b.acc


def merge_like_a_stream(a, b):
    m = np.maximum(a.m, b.m)
    alpha = np.exp(a.m - m)
    return m, alpha * a.l + b.l, alpha[:, None] * a.acc + b.acc


def merge_stream_l(a, b):
    m = np.maximum(a.m, b.m)
    alpha, beta = np.exp(a.m - m), np.exp(b.m - m)
    return m, alpha * a.l + b.l, alpha[:, None] * a.acc + beta[:, None] * b.acc


def merge_exp2(a, b):
    m = np.maximum(a.m, b.m)
    alpha, beta = 2.0 ** (a.m - m), 2.0 ** (b.m - m)
    return m, alpha * a.l + beta * b.l, alpha[:, None] * a.acc + beta[:, None] * b.acc


def merge_and_divide(a, b):
    m, l, acc = merge_by_formula(a, b)
    return m, l, acc / l[:, None]


def merge_upside_down(a, b):
    m = np.maximum(a.m, b.m)
    alpha, beta = np.exp(m - a.m), np.exp(m - b.m)
    return m, alpha * a.l + beta * b.l, alpha[:, None] * a.acc + beta[:, None] * b.acc


def merge_crossed(a, b):
    m = np.maximum(a.m, b.m)
    alpha, beta = np.exp(b.m - m), np.exp(a.m - m)
    return m, alpha * a.l + beta * b.l, alpha[:, None] * a.acc + beta[:, None] * b.acc


def merge_add_then_scale(a, b):
    m = np.maximum(a.m, b.m)
    alpha, beta = np.exp(a.m - m), np.exp(b.m - m)
    return m, alpha * a.l + beta * b.l, (a.acc + b.acc) * alpha[:, None]


def merge_outputs(a, b):
    m = np.maximum(a.m, b.m)
    l = np.exp(a.m - m) * a.l + np.exp(b.m - m) * b.l
    return m, l, a.acc / a.l[:, None] + b.acc / b.l[:, None]


def merge_columns(a, b):
    m = np.maximum(a.m, b.m)
    alpha, beta = np.exp(a.m - m), np.exp(b.m - m)
    return m, alpha * a.l + beta * b.l, alpha * a.acc + beta * b.acc


def merge_old_m(a, b):
    _, l, acc = merge_empty_nan(a, b)
    return a.m, l, acc


def merge_python_max(a, b):
    m = max(a.m, b.m)
    alpha, beta = np.exp(a.m - m), np.exp(b.m - m)
    return m, alpha * a.l + beta * b.l, alpha[:, None] * a.acc + beta[:, None] * b.acc


def merge_in_place(a, b):
    m, l, acc = merge_by_formula(a, b)
    a.acc[:] = acc
    return m, l, a.acc


def merge_with_operator(a, b):
    m, _, acc = merge_by_formula(a, b)
    l = a.l
    l *= np.exp(a.m - m)
    return m, l + np.exp(b.m - m) * b.l, acc


def merge_finished_too_early(a, b):
    return states.finish(states.State(*merge_by_formula(a, b)))


def merge_without_acc(a, b):
    return merge_by_formula(a, b)[:2]


def merge_returns_safe(a, b):
    m, l, acc = merge_by_formula(a, b)
    return np.where(l == 0, 0, m), l, acc


def merge_times_l(a, b):
    m = np.maximum(a.m, b.m)
    w_a, w_b = np.exp(a.m - m) * a.l, np.exp(b.m - m) * b.l
    return m, w_a + w_b, w_a[:, None] * a.acc + w_b[:, None] * b.acc


def all_by_states(blocks):
    return states.finish(reduce(states.merge, [states.from_finished(*block) for block in blocks]))


def all_at_once(blocks):
    out, lse = np.stack([b[0] for b in blocks]), np.stack([b[1] for b in blocks])
    total = np.logaddexp.reduce(lse, axis=0)
    weights = np.exp(lse - np.where(total == -INF, 0, total))
    return np.einsum("br,brd->rd", weights, out), total


def all_nan(blocks):
    lse = np.array([b[1] for b in blocks])
    m = lse.max(axis=0)
    w = np.exp(lse - m)
    out = sum(w[n][:, None] * blocks[n][0] for n in range(len(blocks)))
    return out / w.sum(axis=0)[:, None], m + np.log(w.sum(axis=0))


def all_nan_pairs(blocks):
    out, lse = np.zeros_like(blocks[0][0]), np.full(len(blocks[0][1]), -INF)
    for o, x in blocks:
        new = np.logaddexp(lse, x)
        out = np.exp(lse - new)[:, None] * out + np.exp(x - new)[:, None] * o
        lse = new
    return out, lse


def all_exp(blocks):
    w = [np.exp(lse) for _, lse in blocks]
    total = sum(w)
    out = sum(x[:, None] * o for x, (o, _) in zip(w, blocks, strict=True)) / total[:, None]
    return out, np.log(total)


def all_last_reference(blocks):
    c = blocks[-1][1]
    w = [np.exp(lse - c) for _, lse in blocks]
    out = sum(x[:, None] * o for x, (o, _) in zip(w, blocks, strict=True)) / sum(w)[:, None]
    return out, c + np.log(sum(w))


def all_from_zero(blocks):
    out, lse = np.zeros_like(blocks[0][0]), np.zeros_like(blocks[0][1])
    for block in blocks:
        out, lse = states.merge_finished((out, lse), block)
    return out, lse


def all_empty_is_zero(blocks):
    return all_by_states([(out, np.nan_to_num(lse, neginf=0)) for out, lse in blocks])


def all_no_key_zero(blocks):
    out, lse = all_by_states(blocks)
    return out, np.nan_to_num(lse, neginf=0)


def all_added(blocks):
    return sum(out for out, _ in blocks), all_by_states(blocks)[1]


def all_added_both(blocks):
    return sum(out for out, _ in blocks), sum(lse for _, lse in blocks)


def all_averaged(blocks):
    return np.mean([out for out, _ in blocks], axis=0), all_by_states(blocks)[1]


def all_running_mean(blocks):
    out, lse = blocks[0]
    for o, x in blocks[1:]:
        out, lse = (out + o) / 2, np.logaddexp(lse, x)
    return out, lse


def all_weighted_by_lse(blocks):
    lse = np.array([b[1] for b in blocks])[:, :, None]
    out = np.array([b[0] for b in blocks])
    return (out * lse).sum(axis=0) / lse.sum(axis=0), all_by_states(blocks)[1]


def all_not_divided(blocks):
    m = np.max([lse for _, lse in blocks], axis=0)
    safe = np.where(m == -INF, 0, m)
    return sum(np.exp(lse - safe)[:, None] * out for out, lse in blocks), all_by_states(blocks)[1]


def all_one_sum(blocks):
    lse = np.array([b[1] for b in blocks])
    w = np.exp(lse - lse.max())
    out = np.einsum("br,brd->rd", w / w.sum(), np.array([b[0] for b in blocks]))
    return out, all_by_states(blocks)[1]


def all_exp2(blocks):
    lse = np.array([b[1] for b in blocks])
    m = lse.max(axis=0)
    w = np.exp2(lse - m)
    out = np.einsum("br,brd->rd", w, np.array([b[0] for b in blocks]))
    return out / w.sum(axis=0)[:, None], m + np.log2(w.sum(axis=0))


def all_overwritten(blocks):
    for out, lse in blocks:
        whole = out, lse
    return whole


def all_relative(blocks):
    lse = np.array([b[1] for b in blocks])
    m = np.maximum(lse.max(axis=0), -1e300)
    return all_by_states(blocks)[0], np.log(np.exp(lse - m).sum(axis=0))


def all_lse_added(blocks):
    return all_by_states(blocks)[0], np.sum([lse for _, lse in blocks], axis=0)


def all_lse_maximum(blocks):
    return all_by_states(blocks)[0], np.max([lse for _, lse in blocks], axis=0)


def all_in_place(blocks):
    out, lse = blocks[0]
    for block in blocks[1:]:
        out += block[0]
    return out, lse


def all_from_reference_zero(blocks):
    rows, d_v = blocks[0][0].shape
    start = states.State(np.zeros(rows), np.zeros(rows), np.zeros((rows, d_v)))
    return states.finish(reduce(states.merge, [states.from_finished(*b) for b in blocks], start))


def all_values(blocks):
    parts = []
    for out, lse in blocks:
        value = np.exp(lse)
        parts.append(states.State(np.zeros_like(lse), value, value[:, None] * out))
    return states.finish(reduce(states.merge, parts))


def all_unfinished(blocks):
    return reduce(states.merge, [states.from_finished(*block) for block in blocks])


def all_swapped(blocks):
    out, lse = all_at_once(blocks)
    return lse, out


def all_without_log(blocks):
    out, lse = all_at_once(blocks)
    return out, np.exp(lse)


def finish_two(out_a, lse_a, out_b, lse_b):
    lse = np.logaddexp(lse_a, lse_b)
    return np.exp(lse_a - lse)[:, None] * out_a + np.exp(lse_b - lse)[:, None] * out_b, lse


def kernels_by_logs(a, b):
    return finish_two(a[2], a[0] + np.log(a[1]), b[0], b[1] / np.log2(np.e))


def kernels_by_states(a, b):
    m, l, out = a
    first = states.unnormalise(states.Normalised(m, l, out))
    second = states.from_finished(b[0], b[1] * np.log(2))
    return states.finish(states.merge(first, second))


def kernels_values(a, b):
    value_a, value_b = a[1] * np.exp(a[0]), 2.0 ** b[1]
    out = (value_a[:, None] * a[2] + value_b[:, None] * b[0]) / (value_a + value_b)[:, None]
    return out, np.log(value_a + value_b)


def kernels_base_ignored(a, b):
    return finish_two(a[2], a[0] + np.log(a[1]), *b)


def kernels_base_turned(a, b):
    return finish_two(a[2], a[0] + np.log(a[1]), b[0], b[1] * np.log2(np.e))


def kernels_all_in_base_2(a, b):
    out, lse = kernels_by_logs(a, b)
    return out, lse / np.log(2)


def kernels_both_converted(a, b):
    return finish_two(a[2], (a[0] + np.log(a[1])) * np.log(2), b[0], b[1] * np.log(2))


def kernels_log2(a, b):
    return finish_two(a[2], a[0] + np.log2(a[1]), b[0], b[1] * np.log(2))


def kernels_no_l(a, b):
    return finish_two(a[2], a[0], b[0], b[1] * np.log(2))


def kernels_no_log(a, b):
    return finish_two(a[2], a[0] + a[1], b[0], b[1] * np.log(2))


def kernels_divided_again(a, b):
    return finish_two(a[2] / a[1][:, None], a[0] + np.log(a[1]), b[0], b[1] * np.log(2))


def kernels_out_as_acc(a, b):
    return states.finish(
        states.merge(states.State(*a), states.from_finished(b[0], b[1] * np.log(2)))
    )


def kernels_multiplied(a, b):
    return finish_two(a[2] * a[1][:, None], a[0] + np.log(a[1]), b[0], b[1] * np.log(2))


def kernels_mean(a, b):
    return (a[2] + b[0]) / 2, kernels_by_logs(a, b)[1]


def kernels_swapped(a, b):
    out, lse = kernels_by_logs(a, b)
    return lse, out


def kernels_value_of_b(a, b):
    return finish_two(a[2], a[0] + np.log(a[1]), b[0], np.log(2 ** b[1]))


def kernels_ln_2_added(a, b):
    return finish_two(a[2], a[0] + np.log(a[1]), b[0], b[1] + np.log(2))


def kernels_no_m(a, b):
    return finish_two(a[2], np.log(a[1]), b[0], b[1] * np.log(2))


def kernels_m_in_base_2(a, b):
    lse_a = a[0] + np.log2(a[1])
    lse = np.logaddexp2(lse_a, b[1])
    out = np.exp2(lse_a - lse)[:, None] * a[2] + np.exp2(b[1] - lse)[:, None] * b[0]
    return out, lse * np.log(2)


def kernels_in_place(a, b):
    lse_b = b[1]
    lse_b *= np.log(2)
    return finish_two(a[2], a[0] + np.log(a[1]), b[0], lse_b)


TRUTH = {"a": False, "b": False, "c": True, "d": False, "e": True, "f": False}

RIGHT = {
    "merge": [merge_by_formula, merge_by_rows],
    "merge_all": [all_by_states, all_at_once],
    "two_kernels": [kernels_by_logs, kernels_by_states],
    "judge": [TRUTH],
}

# exercise → {key of the mistake that the check must name: wrong answers}
WRONG = {
    "merge": {
        "changed_input": [merge_in_place, merge_with_operator],
        "python_max": [merge_python_max],
        "not_a_triple": [merge_finished_too_early, merge_without_acc],
        "empty_comes_back_as_zero": [merge_returns_safe],
        "multiplied_by_l": [merge_times_l],
        "empty_nan": [merge_empty_nan],
        "empty_as_zero": [merge_nan_to_zero],
        "one_reference_for_all": [
            merge_with(lambda a, b: np.max([a.m, b.m]) + 0 * a.l),
        ],
        "zero_as_reference": [
            merge_with(lambda a, b: np.maximum(0, np.maximum(a.m, b.m))),
            merge_with(lambda a, b: 0 * a.l),
        ],
        "one_sides_reference": [merge_with(lambda a, b: b.m), merge_with(lambda a, b: a.m)],
        "reference_too_low": [
            merge_with(lambda a, b: np.minimum(a.m, b.m)),
            merge_with(lambda a, b: a.m + b.m),
            merge_with(lambda a, b: (a.m + b.m) / 2),
        ],
        "nothing_scaled": [merge_adding],
        "l_unscaled": [merge_l_unscaled],
        "acc_unscaled": [merge_acc_unscaled],
        "new_side_unscaled": [merge_like_a_stream, merge_stream_l],
        "base_2": [merge_exp2],
        "result_divided": [merge_and_divide],
        "upside_down": [merge_upside_down],
        "factors_swapped": [merge_crossed],
        "scaled_after_adding": [merge_add_then_scale],
        "divided": [merge_outputs],
        "factor_on_columns": [merge_columns],
        "m_of_one_side": [merge_old_m],
    },
    "merge_all": {
        "changed_input": [all_in_place],
        "zero_as_reference": [all_from_reference_zero, all_values],
        "not_finished": [all_unfinished],
        "pair_swapped": [all_swapped],
        "log_forgotten": [all_without_log],
        "empty_nan": [all_nan, all_nan_pairs],
        "no_reference": [all_exp],
        "poor_reference": [all_last_reference],
        "phantom_key": [all_from_zero, all_empty_is_zero],
        "empty_lse_zero": [all_no_key_zero],
        "outputs_added": [all_added, all_added_both],
        "outputs_averaged": [all_averaged, all_running_mean],
        "weighted_by_L": [all_weighted_by_lse],
        "weights_not_divided": [all_not_divided],
        "summed_across_rows": [all_one_sum],
        "base_2": [all_exp2],
        "one_block_only": [all_overwritten],
        "maximum_not_added": [all_relative],
        "lse_added": [all_lse_added],
        "lse_maximum": [all_lse_maximum],
    },
    "two_kernels": {
        "changed_input": [kernels_in_place],
        "pair_swapped": [kernels_swapped],
        "ln_2_added": [kernels_ln_2_added],
        "m_forgotten": [kernels_no_m],
        "no_reference": [kernels_values, kernels_value_of_b],
        "base_2_as_natural": [kernels_base_ignored],
        "base_upside_down": [kernels_base_turned],
        "result_in_base_2": [kernels_all_in_base_2],
        "A_converted_too": [kernels_both_converted, kernels_m_in_base_2],
        "log2_of_l": [kernels_log2],
        "l_forgotten": [kernels_no_l],
        "log_forgotten": [kernels_no_log],
        "divided_again": [kernels_divided_again, kernels_out_as_acc],
        "multiplied_back": [kernels_multiplied],
        "outputs_added": [kernels_mean],
    },
    "judge": {"": [{**TRUTH, key: not truth} for key, truth in TRUTH.items()]},
}
