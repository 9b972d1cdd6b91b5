"""Answers to the exercises of lesson 11: right ones, and typical wrong ones."""

import math

import numpy as np


def head_divide(h, h_q, h_kv):
    return h // (h_q // h_kv)


def head_scaled(h, h_q, h_kv):
    return h * h_kv // h_q


def head_modulo(h, h_q, h_kv):
    return h % h_kv


def head_by_count(h, h_q, h_kv):
    return int(h / h_kv)


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


def tiles_keys(r1, b_c, n_q, n_k):
    return max(0, min(n_k, r1 + n_k - n_q))


def lse_whole(m2, l):
    return (m2 + np.log2(l)) * np.log(2)


def lse_parts(m2, l):
    return m2 / math.log2(math.e) + np.log(l)


def lse_base_2(m2, l):
    return np.log2(l) + m2


def lse_only_m(m2, l):
    return np.log(2) * m2 + np.log2(l)


def lse_only_l(m2, l):
    return m2 + np.log2(l) * np.log(2)


def lse_wrong_way(m2, l):
    return (m2 + np.log2(l)) / np.log(2)


TRUTH = {"a": False, "b": True, "c": False, "d": True, "e": False}

RIGHT = {
    "kv_head": [head_divide, head_scaled],
    "key_tiles": [tiles_formula, tiles_counted],
    "natural_lse": [lse_whole, lse_parts],
    "judge": [TRUTH],
}

WRONG = {
    "kv_head": {
        "tiled_not_repeated": [head_modulo],
        "divided_by_kv_heads": [head_by_count],
        "no_groups": [head_same],
    },
    "key_tiles": {
        "rounded_down": [tiles_floor],
        "offset_forgotten": [tiles_top_left],
        "offset_upside_down": [tiles_swapped],
        "negative_not_clamped": [tiles_negative],
        "off_by_one": [tiles_one_more],
        "keys_not_tiles": [tiles_keys],
    },
    "natural_lse": {
        "left_in_base_2": [lse_base_2],
        "only_m_converted": [lse_only_m],
        "only_l_converted": [lse_only_l],
        "wrong_direction": [lse_wrong_way],
    },
    "judge": {"": [{**TRUTH, key: not truth} for key, truth in TRUTH.items()]},
}
