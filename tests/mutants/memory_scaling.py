"""Answers to the exercises of lesson 09: right ones, and typical wrong ones."""

import math

import numpy as np


def bytes_product(n_q, n_k, d, heads, batch, itemsize):
    return n_q * n_k * heads * batch * itemsize


def bytes_of_array(n_q, n_k, d, heads, batch, itemsize):
    return np.empty((batch, heads, n_q, n_k), dtype=np.int8).nbytes * itemsize


def bytes_without_heads(n_q, n_k, d, heads, batch, itemsize):
    return batch * n_q * n_k * itemsize


def bytes_without_batch(n_q, n_k, d, heads, batch, itemsize):
    return np.empty((heads, n_q, n_k), dtype=np.int8).nbytes * itemsize


def bytes_of_one_head(n_q, n_k, d, heads, batch, itemsize):
    s = n_q * n_k
    return s * itemsize


def bytes_as_elements(n_q, n_k, d, heads, batch, itemsize):
    return math.prod((batch, heads, n_q, n_k))


def bytes_with_d(n_q, n_k, d, heads, batch, itemsize):
    return math.prod((n_q, n_k, d, heads, batch, itemsize))


def bytes_of_q(n_q, n_k, d, heads, batch, itemsize):
    return batch * heads * n_q * d * itemsize


def bytes_q_squared(n_q, n_k, d, heads, batch, itemsize):
    return batch * heads * n_q * n_q * itemsize


def bytes_k_squared(n_q, n_k, d, heads, batch, itemsize):
    return batch * heads * n_k * n_k * itemsize


def bytes_as_bits(n_q, n_k, d, heads, batch, itemsize):
    return bytes_product(n_q, n_k, d, heads, batch, itemsize * 8)


def bytes_with_p(n_q, n_k, d, heads, batch, itemsize):
    s = bytes_product(n_q, n_k, d, heads, batch, itemsize)
    p = s
    return s + p


def bytes_causal(n_q, n_k, d, heads, batch, itemsize):
    return 0.5 * bytes_product(n_q, n_k, d, heads, batch, itemsize)


def bytes_in_gb(n_q, n_k, d, heads, batch, itemsize):
    return bytes_product(n_q, n_k, d, heads, batch, itemsize) / 10**9


def bytes_in_gib(n_q, n_k, d, heads, batch, itemsize):
    return bytes_product(n_q, n_k, d, heads, batch, itemsize) / 1024**3


def bytes_of_bfloat16(n_q, n_k, d, heads, batch, itemsize):
    return batch * heads * n_q * n_k * 2


def bytes_of_float32(n_q, n_k, d, heads, batch, itemsize):
    return np.zeros((batch, heads, n_q, n_k), np.float32).nbytes


def bytes_of_numpy(n_q, n_k, d, heads, batch, itemsize):
    return np.zeros((batch, heads, n_q, n_k)).nbytes


def bytes_in_mb(n_q, n_k, d, heads, batch, itemsize):
    return bytes_product(n_q, n_k, d, heads, batch, itemsize) / 1e6


def bytes_in_words(n_q, n_k, d, heads, batch, itemsize):
    return f"{bytes_product(n_q, n_k, d, heads, batch, itemsize)} bytes"


def bytes_of_triangle(n_q, n_k, d, heads, batch, itemsize):
    return bytes_product(n_q, n_k, d, heads, batch, itemsize) * (n_k + 1) / (2 * n_k)


def equal_formula(d, h_q, h_kv, layers):
    return 2 * layers * h_kv * d / h_q


def equal_by_slope(d, h_q, h_kv, layers):
    cache_per_token = layers * h_kv * 2 * d
    scores_per_square = h_q
    return cache_per_token / scores_per_square


def equal_by_search(d, h_q, h_kv, layers):
    low, high = 0.0, 1e9
    for _ in range(200):
        n = (low + high) / 2
        low, high = (n, high) if h_q * n * n < 2 * layers * h_kv * n * d else (low, n)
    return low


def equal_k_only(d, h_q, h_kv, layers):
    return layers * (h_kv / h_q) * d


def equal_one_layer(d, h_q, h_kv, layers):
    return 2 * d * h_kv / h_q


def equal_two_d(d, h_q, h_kv, layers):
    return d + d


def equal_mha(d, h_q, h_kv, layers):
    return 2 * d * layers


def equal_one_head(d, h_q, h_kv, layers):
    return h_kv * 2 * d * layers


def equal_swapped(d, h_q, h_kv, layers):
    return 2 * layers * d * (h_q / h_kv)


def equal_divided_by_layers(d, h_q, h_kv, layers):
    return 2 * h_kv * d / h_q / layers


def equal_root(d, h_q, h_kv, layers):
    return math.sqrt(2 * layers * h_kv * d / h_q)


def equal_four(d, h_q, h_kv, layers):
    return layers * h_kv * 4 * d / h_q


def equal_inverse(d, h_q, h_kv, layers):
    return h_q / (layers * h_kv * 2 * d)


def equal_floor(d, h_q, h_kv, layers):
    return layers * h_kv * d * 2 // h_q


def equal_ceil(d, h_q, h_kv, layers):
    return math.ceil(equal_formula(d, h_q, h_kv, layers))


def equal_rounded(d, h_q, h_kv, layers):
    return round(equal_formula(d, h_q, h_kv, layers))


def equal_rows(d, h_q, h_kv, layers):
    return 2 * layers * h_kv / h_q


def equal_d(d, h_q, h_kv, layers):
    return d


def equal_group(d, h_q, h_kv, layers):
    return d * h_q / h_kv


RULERS = {
    "a": "four tensors",
    "b": "extra",
    "c": "on chip",
    "d": "one tensor",
    "e": "traffic",
    "f": "arithmetic",
}
SHOUTED = {key: f" {name.upper()}" for key, name in RULERS.items()}
HYPHENED = {key: name.replace(" ", "-") for key, name in RULERS.items()}
TRUTH = {"a": False, "b": True, "c": False, "d": False, "e": False, "f": True}

RIGHT = {
    "layer_bytes": [bytes_product, bytes_of_array],
    "equal_n": [equal_formula, equal_by_slope, equal_by_search],
    "rulers": [RULERS, SHOUTED, HYPHENED],
    "judge": [TRUTH],
}

WRONG = {
    "layer_bytes": {
        "heads_forgotten": [bytes_without_heads],
        "batch_forgotten": [bytes_without_batch],
        "one_head": [bytes_of_one_head],
        "elements": [bytes_as_elements],
        "with_d": [bytes_with_d],
        "features_not_keys": [bytes_of_q],
        "queries_squared": [bytes_q_squared],
        "keys_squared": [bytes_k_squared],
        "bits": [bytes_as_bits],
        "s_and_p": [bytes_with_p],
        "half": [bytes_causal],
        "other_unit": [bytes_in_gb, bytes_in_gib, bytes_in_mb],
        "itemsize_fixed": [bytes_of_bfloat16, bytes_of_float32, bytes_of_numpy],
        "": [bytes_in_words, bytes_of_triangle],
    },
    "equal_n": {
        "v_forgotten": [equal_k_only],
        "layers_forgotten": [equal_one_layer],
        "one_layer_equal_heads": [equal_two_d],
        "query_heads_in_the_cache": [equal_mha],
        "heads_of_s_forgotten": [equal_one_head],
        "scores_of_key_heads": [equal_swapped],
        "s_of_every_layer": [equal_divided_by_layers],
        "square_root": [equal_root],
        "all_four": [equal_four],
        "upside_down": [equal_inverse],
        "d_forgotten": [equal_rows],
        "rounded": [equal_floor, equal_ceil, equal_rounded],
        "": [equal_d, equal_group],
    },
    "rulers": {
        "": [{**RULERS, key: "stored"} for key in RULERS]
        + [{**RULERS, "a": "one tensor"}, {**RULERS, "d": "four tensors"}, {**RULERS, "c": 3}]
        + [{**RULERS, "e": "bytes"}]
    },
    "judge": {"": [{**TRUTH, key: not truth} for key, truth in TRUTH.items()]},
}
