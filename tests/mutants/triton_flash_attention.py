"""Answers to the exercises of lesson 11: right ones, and typical wrong ones."""

import math
from functools import partial

import numpy as np
import torch
import triton
import triton.language as tl

from utils.checks.capstone_models import SLIPS
from utils.device import interpreter_is_on


def head_divide(h, h_q, h_kv):
    return h // (h_q // h_kv)


def head_scaled(h, h_q, h_kv):
    return h * h_kv // h_q


def head_modulo(h, h_q, h_kv):
    return h % h_kv


def head_by_count(h, h_q, h_kv):
    return int(h / h_kv)


def head_fraction(h, h_q, h_kv):
    return h * h_kv / h_q


def head_same(h, h_q, h_kv):
    return h


def tiles_formula(r1, b_c, n_q, n_k):
    visible = min(n_k, max(0, r1 + n_k - n_q))
    return math.ceil(visible / b_c)


def tiles_counted(r1, b_c, n_q, n_k):
    return sum(1 for start in range(0, n_k, b_c) if start <= r1 - 1 + n_k - n_q)


def tiles_floor(r1, b_c, n_q, n_k):
    visible = max(0, min(n_k, r1 + n_k - n_q))
    return int(visible / b_c)


def tiles_top_left(r1, b_c, n_q, n_k):
    return math.ceil(min(r1, n_k) / b_c)


def tiles_swapped(r1, b_c, n_q, n_k):
    visible = max(0, min(n_k, r1 - (n_k - n_q)))
    return math.ceil(visible / b_c)


def tiles_negative(r1, b_c, n_q, n_k):
    visible = min(n_k, r1 + n_k - n_q)
    return math.ceil(visible / b_c)


def tiles_one_more(r1, b_c, n_q, n_k):
    last_key = r1 + n_k - n_q
    return math.ceil(min(n_k, max(0, last_key + 1)) / b_c)


def tiles_of_all_keys(r1, b_c, n_q, n_k):
    return math.ceil(n_k / b_c)


def tiles_to_last_row(r1, b_c, n_q, n_k):
    last_key = min(n_k, r1 - 1 + n_k - n_q)
    return math.ceil(max(0, last_key) / b_c)


def tiles_plus_one(r1, b_c, n_q, n_k):
    return min(n_k, max(0, r1 + n_k - n_q)) // b_c + 1


def tiles_keys(r1, b_c, n_q, n_k):
    return max(0, min(n_k, r1 + n_k - n_q))


def lse_whole(m2, l):
    return (m2 + np.log2(l)) * np.log(2)


def lse_parts(m2, l):
    return m2 / math.log2(math.e) + np.log(l)


def lse_base_2(m2, l):
    return np.log2(l) + m2


def lse_power(m2, l):
    return np.log(l * 2.0**m2)


def lse_only_m(m2, l):
    return np.log(2) * m2 + np.log2(l)


def lse_only_l(m2, l):
    return m2 + np.log2(l) * np.log(2)


def lse_wrong_way(m2, l):
    return (m2 + np.log2(l)) / np.log(2)


@triton.jit
def update_plain(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    top = tl.maximum(m, tl.max(s, 1))
    safe = tl.where(top == float("-inf"), 0.0, top)
    old, p = tl.exp2(m - safe), tl.exp2(s - safe[:, None])
    acc = acc * old[:, None] + tl.dot(p.to(v_tile.dtype), v_tile, input_precision="ieee")
    return top, old * l + tl.sum(p, axis=1), acc


@triton.jit
def update_merged(m, l, acc, scores, v_tile, scale_log2):
    """The state of the tile alone, then lesson 05's merge of two states."""
    m_tile = tl.max(scores, 1) * scale_log2
    low = tl.where(m_tile == -float("inf"), 0.0, m_tile)
    p = tl.exp2(scores * scale_log2 - low[:, None])
    both = tl.maximum(m, m_tile)
    ref = tl.where(both == -float("inf"), 0.0, both)
    a, b = tl.exp2(m - ref), tl.exp2(m_tile - ref)
    pv = tl.dot(p.to(v_tile.dtype), v_tile, input_precision="ieee")
    return both, a * l + b * tl.sum(p, 1), a[:, None] * acc + b[:, None] * pv


@triton.jit
def heart_acc(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    p = tl.exp2(s - ref[:, None])
    l = tl.exp2(m - ref) * l + tl.sum(p, 1)
    acc += tl.dot(p.to(v_tile.dtype), v_tile, input_precision="ieee")
    return m_new, l, acc


@triton.jit
def heart_l(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    p = tl.exp2(s - ref[:, None])
    l += tl.sum(p, 1)
    acc = acc * tl.exp2(m - ref)[:, None] + tl.dot(p.to(v_tile.dtype), v_tile)
    return m_new, l, acc


@triton.jit
def heart_upside_down(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    alpha = tl.exp2(m_new - m)
    p = tl.exp2(s - m_new[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_after(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(s - ref[:, None])
    l = (l + tl.sum(p, 1)) * alpha
    acc = (acc + tl.dot(p.to(v_tile.dtype), v_tile)) * alpha[:, None]
    return m_new, l, acc


@triton.jit
def heart_old_m(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(s - ref[:, None])
    return m, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_no_scale(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, tl.max(scores, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(scores - ref[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_m_scaled(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, scale_log2 * tl.max(scores, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(scores - ref[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_twice(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1) * scale_log2)
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(s * scale_log2 - ref[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_exp(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp(m - ref), tl.exp(s - ref[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_alpha_exp(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp(m - ref), tl.exp2(s - ref[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_axis(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(s - ref[:, None])
    return m_new, alpha * l + tl.sum(p, 0), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_tile_max(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.max(s, 1)
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(s - ref[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_bare_m(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, tl.max(scores, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(scores * scale_log2 - ref[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_acc_after(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    alpha, p = tl.exp2(m - m_new), tl.exp2(s - m_new[:, None])
    acc = tl.dot(p.to(v_tile.dtype), v_tile, acc) * alpha[:, None]
    return m_new, alpha * l + tl.sum(p, 1), acc


@triton.jit
def heart_l_after(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    alpha, p = tl.exp2(m - m_new), tl.exp2(s - m_new[:, None])
    l = (l + tl.sum(p, 1)) * alpha
    return m_new, l, tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_no_alpha(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    p = tl.exp2(s - m_new[:, None])
    return m_new, l + tl.sum(p, 1), acc + tl.dot(p.to(v_tile.dtype), v_tile)


@triton.jit
def heart_m_overwritten(m, l, acc, scores, v_tile, scale_log2):
    m = tl.maximum(m, tl.max(scores, 1) * scale_log2)
    p = tl.exp2(scores * scale_log2 - m[:, None])
    alpha = tl.exp2(m - m)
    return m, l * alpha + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_anew(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    p = tl.exp2(s - m_new[:, None])
    return m_new, tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile)


@triton.jit
def heart_tile_reference(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    top = tl.max(s, 1)
    m_new = tl.maximum(m, top)
    alpha, p = tl.exp2(m - m_new), tl.exp2(s - top[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_alpha_twice(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(scale_log2 * (m - m_new))
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_sentinel(m, l, acc, scores, v_tile, scale_log2):
    s = tl.where(scores == -float("inf"), -1e9, scores) * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    alpha, p = tl.exp2(m - m_new), tl.exp2(s - m_new[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_bracket(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, tl.max(scores, 1)) * scale_log2
    alpha, p = tl.exp2(m - m_new), tl.exp2(scores * scale_log2 - m_new[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_hidden_tile_forgets(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    top = tl.max(s, 1)
    m_new = tl.maximum(m, top)
    alpha = tl.where(top == -float("inf"), 0.0, tl.exp2(m - m_new))
    p = tl.exp2(s - m_new[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_guard_of_the_tile(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    top = tl.max(s, 1)
    m_new = tl.maximum(m, top)
    ref = tl.where(top == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(s - ref[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_first_maximum(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.where(l == 0.0, tl.maximum(m, tl.max(s, 1)), m)
    alpha, p = tl.exp2(m - m_new), tl.exp2(s - m_new[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_alpha_bounded(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    alpha, p = tl.exp2(tl.maximum(m - m_new, -5.0)), tl.exp2(s - m_new[:, None])
    return m_new, alpha * l + tl.sum(p, 1), tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])


@triton.jit
def heart_bare_inside(m, l, acc, scores, v_tile, scale_log2):
    bare = m / scale_log2
    m_new = tl.maximum(bare, tl.max(scores, 1))
    alpha = tl.exp2((bare - m_new) * scale_log2)
    p = tl.exp2((scores - m_new[:, None]) * scale_log2)
    acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])
    return m_new * scale_log2, alpha * l + tl.sum(p, 1), acc


@triton.jit
def heart_half(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(s - ref[:, None])
    acc = tl.dot(p.to(tl.float16), v_tile.to(tl.float16), acc * alpha[:, None])
    return m_new, alpha * l + tl.sum(p, 1), acc


@triton.jit
def heart_half_p_only(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(s - ref[:, None])
    acc = tl.dot(p.to(tl.float16), v_tile, acc * alpha[:, None])
    return m_new, alpha * l + tl.sum(p, 1), acc


@triton.jit
def heart_clamped(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    ref = tl.maximum(m_new, 0.0)
    alpha, p = tl.exp2(m - ref), tl.exp2(s - ref[:, None])
    l = alpha * l + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p.to(v_tile.dtype), v_tile)
    return m_new, l, acc


@triton.jit
def heart_one_maximum(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(s - ref[:, None])
    l = alpha * l + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p.to(v_tile.dtype), v_tile)
    return m_new, l, acc


@triton.jit
def heart_divided(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(s - ref[:, None])
    l = alpha * l + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p.to(v_tile.dtype), v_tile)
    acc /= l[:, None]
    return m_new, l, acc


@triton.jit
def heart_bare_units(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, tl.max(scores, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2((m - ref) * scale_log2), tl.exp2((scores - ref[:, None]) * scale_log2)
    l = alpha * l + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p.to(v_tile.dtype), v_tile)
    return m_new, l, acc


@triton.jit
def heart_natural(m, l, acc, scores, v_tile, scale_log2):
    s = scores * (scale_log2 * 0.6931471805599453)
    m_new = tl.maximum(m, tl.max(s, 1))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp(m - ref), tl.exp(s - ref[:, None])
    l = alpha * l + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p.to(v_tile.dtype), v_tile)
    return m_new, l, acc


@triton.jit
def update_guards_weights(m, l, acc, scores, v_tile, scale_log2):
    """Guards α and P themselves instead of the reference."""
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    alpha = tl.where(m == -float("inf"), 0.0, tl.exp2(m - m_new))
    p = tl.where(scores == -float("inf"), 0.0, tl.exp2(s - m_new[:, None]))
    return (
        m_new,
        alpha * l + tl.sum(p, 1),
        alpha[:, None] * acc + tl.dot(p.to(v_tile.dtype), v_tile),
    )


@triton.jit
def heart_max_axis(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, axis=0))
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(s - ref[:, None])
    l = alpha * l + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p.to(v_tile.dtype), v_tile)
    return m_new, l, acc


@triton.jit
def heart_no_return(m, l, acc, scores, v_tile, scale_log2):
    s = scores * scale_log2
    m_new = tl.maximum(m, tl.max(s, 1))
    alpha, p = tl.exp2(m - m_new), tl.exp2(s - m_new[:, None])
    l = alpha * l + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p.to(v_tile.dtype), v_tile)
    m = m_new


@triton.jit
def heart_bare_return(m, l, acc, scores, v_tile, scale_log2):
    l += tl.sum(tl.exp2(scores * scale_log2 - m[:, None]), 1)
    return


@triton.jit
def heart_passes_nothing_on(m, l, acc, scores, v_tile, scale_log2):
    return heart_no_return(m, l, acc, scores, v_tile, scale_log2)


@triton.jit
def heart_two_returned(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    l = alpha * l + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p.to(v_tile.dtype), v_tile)
    return l, acc


@triton.jit
def heart_four_returned(m, l, acc, scores, v_tile, scale_log2):
    m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)
    ref = tl.where(m_new == -float("inf"), 0.0, m_new)
    alpha, p = tl.exp2(m - ref), tl.exp2(scores * scale_log2 - ref[:, None])
    l = alpha * l + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p.to(v_tile.dtype), v_tile)
    return m_new, l, acc, p


@triton.jit
def heart_acc_only(m, l, acc, scores, v_tile, scale_log2):
    p = tl.exp2(scores * scale_log2 - m[:, None])
    acc = tl.dot(p.to(v_tile.dtype), v_tile, acc)
    return acc


@triton.jit
def heart_passes_two_on(m, l, acc, scores, v_tile, scale_log2):
    state = heart_two_returned(m, l, acc, scores, v_tile, scale_log2)
    return state


@triton.jit
def update_passed_on(m, l, acc, scores, v_tile, scale_log2):
    state = update_plain(m, l, acc, scores, v_tile, scale_log2)
    return state


def heart_undecorated(m, l, acc, scores, v_tile, scale_log2):
    return m, l, acc


@triton.jit
def whole_kernel(
    q, k, v, out, n_q, n_k, h_q, h_kv, scale,
    CAUSAL: tl.constexpr, D: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr, SLIP: tl.constexpr,
):  # fmt: skip
    i, bh = tl.program_id(0), tl.program_id(1).to(tl.int64)
    b, h = bh // h_q, bh % h_q
    kv_head = h // (h_q // h_kv)
    if SLIP == "head_modulo":
        kv_head = h % h_kv
    if SLIP == "first_head":
        kv_head = 0 * h
    kv = (b * h_kv + kv_head) * n_k * D
    if SLIP == "first_batch":
        kv = kv_head * n_k * D
    if SLIP == "far_away":
        kv = (b * h_kv + kv_head) * n_k * D * 4096
    rows, f = i * B_R + tl.arange(0, B_R), tl.arange(0, D)
    inside = (rows < n_q)[:, None]
    at = (bh * n_q + rows)[:, None] * D + f[None, :]
    q_tile = tl.load(q + at, mask=inside, other=0.0)
    if SLIP == "q_not_masked":
        q_tile = tl.load(q + at)
    m = tl.full([B_R], -float("inf"), tl.float32)
    if SLIP == "starts_at_zero":
        m = tl.zeros([B_R], tl.float32)
    l = tl.zeros([B_R], tl.float32)
    acc = tl.zeros([B_R, D], tl.float32)
    offset = n_k - n_q
    if SLIP == "top_left":
        offset = 0
    if SLIP == "one_key_less":
        offset -= 1
    if SLIP == "one_key_more":
        offset += 1
    if SLIP == "upside_down":
        offset = n_q - n_k
    end = n_k
    if CAUSAL and SLIP == "loop_ends_early":
        end = tl.minimum(n_k, (i + 1) * B_R)
    if SLIP == "tail_dropped":
        end = n_k // B_C * B_C
    hidden = -1e9 if SLIP == "finite_sentinel" else -float("inf")
    for c0 in range(0, end, B_C):
        cols = c0 + tl.arange(0, B_C)
        known = (cols < n_k)[:, None]
        if SLIP == "read_outside":
            known = (cols >= 0)[:, None]
        k_tile = tl.load(k + kv + cols[:, None] * D + f[None, :], mask=known, other=0.0)
        v_tile = tl.load(v + kv + cols[:, None] * D + f[None, :], mask=known, other=0.0)
        s = tl.dot(q_tile, tl.trans(k_tile)) * scale
        visible = (cols < n_k)[None, :]
        if SLIP == "phantom_keys":
            visible = (cols >= 0)[None, :]
        if CAUSAL and SLIP != "not_causal":
            visible = visible & (cols[None, :] <= rows[:, None] + offset)
        if SLIP != "masked_after_exp":
            s = tl.where(visible, s, hidden)
        m_new = tl.maximum(m, tl.max(s, 1))
        if SLIP == "tile_maximum":
            m_new = tl.max(s, 1)
        ref = m_new
        if SLIP != "no_guard":
            ref = tl.where(m_new == -float("inf"), 0.0, m_new)
        p, alpha = tl.exp(s - ref[:, None]), tl.exp(m - ref)
        if SLIP == "masked_after_exp":
            p = tl.where(visible, p, 0.0)
        if SLIP == "not_rescaled" or SLIP == "l_not_rescaled":
            l = l + tl.sum(p, 1)
        else:
            l = l * alpha + tl.sum(p, 1)
        if SLIP == "not_rescaled" or SLIP == "acc_not_rescaled":
            acc = tl.dot(p.to(v_tile.dtype), v_tile, acc)
        else:
            acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])
        m = m_new
    if SLIP != "not_divided":
        if SLIP != "masked_after_exp":
            l = tl.where(l == 0, 1.0, l)
        acc = acc / l[:, None]
    if SLIP == "write_outside":
        inside = (rows >= 0)[:, None]
    tl.store(out + at, acc.to(out.dtype.element_ty), mask=inside)


def whole(slip: str = "", b_r: int = 32, b_c: int = 32):
    def my_flash_attention(q, k, v, causal=False):
        (b, h_q, n_q, d), (h_kv, n_k) = q.shape, k.shape[1:3]
        scale = {"no_scale": 1.0, "scale_d": 1 / d}.get(slip, d**-0.5)
        out = torch.empty_like(q)
        if slip == "float32_out":
            out = out.float()
        if slip == "q_overwritten":
            out = q
        if slip == "q_scaled_in_place":
            scale, q = 1.0, q.mul_(scale)
        grid = (triton.cdiv(n_q, b_r), b * h_q)
        if slip == "queries_dropped":
            grid = (n_q // b_r, b * h_q)
        sides = {"D": d, "B_R": b_r, "B_C": b_c}
        whole_kernel[grid](q, k, v, out, n_q, n_k, h_q, h_kv, scale, causal, **sides, SLIP=slip)
        return out

    return my_flash_attention


def whole_repeated(q, k, v, causal=False):
    """Copies K and V for each query head first; the copies come from elsewhere than torch.empty."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    return whole()(q, k, torch.from_numpy(v.cpu().numpy()).to(q.device), causal)


def whole_by_hand(q, k, v, causal=False):
    """Attention without a kernel, with its sums in float64: right, if not what was asked."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1).double() for x in (k, v))
    s = q.double() @ k.transpose(2, 3) / q.shape[3] ** 0.5
    if causal:
        r, c = torch.arange(s.shape[2])[:, None], torch.arange(s.shape[3])[None, :]
        s = s.masked_fill((c > r + s.shape[3] - s.shape[2]).to(s.device), -math.inf)
    return (torch.softmax(s, 3).nan_to_num() @ v).to(q.dtype)


UNNAMED = ("write_outside", "q_overwritten", "q_scaled_in_place", "float32_out")
WATCHED = ("q_not_masked", "far_away")  # a GPU shows neither
TRUTH = {"a": False, "b": True, "c": False, "d": True, "e": False}

RIGHT = {
    "kv_head": [head_divide, head_scaled],
    "key_tiles": [tiles_formula, tiles_counted],
    "natural_lse": [lse_whole, lse_parts],
    "update": [update_plain, update_merged, update_guards_weights, update_passed_on],
    "judge": [TRUTH],
    "capstone": [whole(), whole(b_r=16, b_c=64), whole_repeated, whole_by_hand, partial(whole())],
}

WRONG = {
    "kv_head": {
        "tiled_not_repeated": [head_modulo],
        "divided_by_kv_heads": [head_by_count],
        "not_whole": [head_fraction],
        "no_groups": [head_same],
    },
    "key_tiles": {
        "rounded_down": [tiles_floor],
        "all_tiles": [tiles_of_all_keys],
        "last_key_left_out": [tiles_to_last_row],
        "offset_forgotten": [tiles_top_left],
        "offset_upside_down": [tiles_swapped],
        "negative_not_clamped": [tiles_negative],
        "off_by_one": [tiles_one_more, tiles_plus_one],
        "keys_not_tiles": [tiles_keys],
    },
    "natural_lse": {
        "left_in_base_2": [lse_base_2],
        "only_m_converted": [lse_only_m],
        "only_l_converted": [lse_only_l],
        "wrong_direction": [lse_wrong_way],
        "power_taken": [lse_power],
    },
    "update": {
        "acc_not_rescaled": [heart_acc],
        "l_not_rescaled": [heart_l],
        "alpha_upside_down": [heart_upside_down],
        "rescaled_after_adding": [heart_after, heart_acc_after, heart_l_after],
        "not_rescaled": [heart_no_alpha, heart_m_overwritten],
        "started_anew": [heart_anew],
        "relative_to_the_tile": [heart_tile_reference],
        "alpha_scaled_twice": [heart_alpha_twice],
        "finite_sentinel": [heart_sentinel],
        "m_scaled_again": [heart_bracket],
        "hidden_tile": [heart_hidden_tile_forgets, heart_guard_of_the_tile],
        "maximum_kept": [heart_first_maximum],
        "m_divided": [heart_bare_inside],
        "old_m_returned": [heart_old_m],
        "scores_not_scaled": [heart_no_scale, heart_m_scaled],
        "scaled_twice": [heart_twice],
        "exp_not_exp2": [heart_exp],
        "alpha_with_exp": [heart_alpha_exp],
        "sum_axis": [heart_axis],
        "tile_maximum": [heart_tile_max],
        "m_not_scaled": [heart_bare_m],
        "m_not_base_2": [heart_bare_units, heart_natural],
        "divided_inside": [heart_divided],
        "one_maximum_for_all": [heart_one_maximum, heart_max_axis],
        "never_below_zero": [heart_clamped],
        "half": [heart_half],
        "nothing_returned": [heart_no_return, heart_bare_return, heart_passes_nothing_on],
        "not_three_returned": [
            heart_two_returned,
            heart_four_returned,
            heart_acc_only,
            heart_passes_two_on,
        ],
        "": [
            heart_half_p_only,
            heart_undecorated,
            heart_alpha_bounded,
        ],
    },
    "judge": {"": [{**TRUTH, key: not truth} for key, truth in TRUTH.items()]},
    "capstone": {slip: [whole(slip), whole(slip, b_r=16, b_c=64)] for slip in SLIPS}
    | {"": [whole(slip) for slip in UNNAMED + (WATCHED if interpreter_is_on() else ())]},
}
