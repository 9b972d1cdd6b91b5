"""Lesson 11's heart with the slips that are made most often, each a @triton.jit function.

All have the signature of `update` in utils/kernels/forward.py, and are handed to its kernel. Checks
run them to explain a wrong answer. Imports triton.
"""

import triton
import triton.language as tl


@triton.jit
def maximum(m, scores, scale_log2):
    return tl.maximum(m, tl.max(scores, 1) * scale_log2)


@triton.jit
def product(p, v_tile, acc):
    return tl.dot(p.to(v_tile.dtype), v_tile, acc, input_precision="ieee")


@triton.jit
def acc_not_rescaled(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    return m_new, tl.exp2(m - m_new) * l + tl.sum(p, 1), product(p, v_tile, acc)


@triton.jit
def l_not_rescaled(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    acc = product(p, v_tile, acc * tl.exp2(m - m_new)[:, None])
    return m_new, l + tl.sum(p, 1), acc


@triton.jit
def alpha_upside_down(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m_new - m)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def rescaled_after_adding(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    return m_new, alpha * (l + tl.sum(p, 1)), product(p, v_tile, acc) * alpha[:, None]


@triton.jit
def acc_rescaled_after(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc) * alpha[:, None]


@triton.jit
def l_rescaled_after(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    return m_new, alpha * (l + tl.sum(p, 1)), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def not_rescaled(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    return m_new, l + tl.sum(p, 1), product(p, v_tile, acc)


@triton.jit
def started_anew(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    return m_new, tl.sum(p, 1), product(p, v_tile, acc * 0.0)


@triton.jit
def relative_to_the_tile(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - (tl.max(scores, 1) * scale_log2)[:, None])
    alpha = tl.exp2(m - m_new)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def alpha_scaled_twice(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2((m - m_new) * scale_log2)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def finite_sentinel(m, l, acc, scores, v_tile, scale_log2):
    scores = tl.where(scores == -float("inf"), -1e9, scores)
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def m_scaled_again(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, tl.max(scores, 1)) * scale_log2
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def hidden_tile(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.where(tl.max(scores, 1) == -float("inf"), 0.0, tl.exp2(m - m_new))
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def hidden_tile_at_zero(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    ref = tl.where(tl.max(scores, 1) == -float("inf"), 0.0, m_new)
    p = tl.exp2(scores * scale_log2 - ref[:, None])
    alpha = tl.exp2(m - ref)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def maximum_kept(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.where(l == 0.0, maximum(m, scores, scale_log2), m)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def m_divided(m, l, acc, scores, v_tile, scale_log2):
    bare = tl.maximum(m / scale_log2, tl.max(scores, 1))
    p = tl.exp2((scores - bare[:, None]) * scale_log2)
    alpha = tl.exp2((m / scale_log2 - bare) * scale_log2)
    return bare * scale_log2, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def old_m_returned(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    return m, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def scores_not_scaled(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, 1.0)
    p = tl.exp2(scores - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def scaled_twice(m, l, acc, scores, v_tile, scale_log2):
    scores = scores * scale_log2
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def exp_not_exp2(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp(m - m_new)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def alpha_with_exp(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp(m - m_new)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def sum_axis(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    return m_new, alpha * l + tl.sum(p, 0), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def tile_maximum(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.max(scores, 1) * scale_log2
    m_ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    p = tl.exp2(scores * scale_log2 - m_ref[:, None])
    alpha = tl.exp2(m - m_ref)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def m_not_scaled(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, 1.0)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def m_not_base_2(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, 1.0)
    p = tl.exp2((scores - m_new[:, None]) * scale_log2)
    alpha = tl.exp2((m - m_new) * scale_log2)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def divided_inside(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    l = alpha * l + tl.sum(p, 1)
    return m_new, l, product(p, v_tile, acc * alpha[:, None]) / l[:, None]


@triton.jit
def one_maximum_for_all(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, tl.max(scores) * scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def max_axis(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, tl.max(scores, 0) * scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def never_below_zero(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)
    m_ref = tl.maximum(m_new, 0.0)
    p = tl.exp2(scores * scale_log2 - m_ref[:, None])
    alpha = tl.exp2(m - m_ref)
    return m_new, alpha * l + tl.sum(p, 1), product(p, v_tile, acc * alpha[:, None])


@triton.jit
def half(m, l, acc, scores, v_tile, scale_log2):
    m_new = maximum(m, scores, scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    acc = product(p, v_tile.to(tl.float16), acc * alpha[:, None])
    return m_new, alpha * l + tl.sum(p, 1), acc


@triton.jit
def nothing_returned(m, l, acc, scores, v_tile, scale_log2):
    m = tl.maximum(m, tl.max(scores, 1) * scale_log2)


@triton.jit
def not_three_returned(m, l, acc, scores, v_tile, scale_log2):
    return l, acc
