"""Answers to the exercises of lesson 01: right ones, and typical wrong ones."""

import math

import numpy as np


def bounds_range(n, b):
    return [(start, min(start + b, n)) for start in range(0, n, b)]


def bounds_ceil(n, b):
    edges = [min(i * b, n) for i in range(math.ceil(n / b) + 1)]
    return list(zip(edges[:-1], edges[1:], strict=True))


def bounds_slices(n, b):
    return [slice(s, min(s + b, n)) for s in range(0, n, b)]


def bounds_floor(n, b):
    result = []
    for i in range(int(n / b)):
        result.append((i * b, i * b + b))
    return result


def bounds_unclipped(n, b):
    return [(i * b, i * b + b) for i in range(-(-n // b))]


def bounds_extra(n, b):
    result = []
    for i in range(n // b + 1):
        result.append((b * i, min(n, b * i + b)))
    return result


def bounds_inclusive(n, b):
    return [(s, min(s + b - 1, n - 1)) for s in range(0, n, b)]


def bounds_equal(n, b):
    count = -(-n // b)
    if count == 0:
        return []
    sizes = [n // count + (i < n % count) for i in range(count)]
    stops = np.cumsum(sizes).tolist()
    return [(stop - size, stop) for stop, size in zip(stops, sizes, strict=True)]


def assemble_loops(q, k, b_r, b_c):
    scores = np.empty((len(q), len(k)))
    for r in range(0, len(q), b_r):
        for c in range(0, len(k), b_c):
            scores[r : r + b_r, c : c + b_c] = q[r : r + b_r] @ k[c : c + b_c].T
    return scores


def assemble_block(q, k, b_r, b_c):
    return np.block(
        [
            [q[r : r + b_r] @ k[c : c + b_c].T for c in range(0, len(k), b_c)]
            for r in range(0, len(q), b_r)
        ]
    )


def assemble_no_transpose(q, k, b_r, b_c):
    scores = np.empty((len(q), len(k)))
    for r in range(0, len(q), b_r):
        for c in range(0, len(k), b_c):
            scores[r : r + b_r, c : c + b_c] = q[r : r + b_r] @ k[c : c + b_c]
    return scores


def assemble_swapped(q, k, b_r, b_c):
    scores = np.empty((len(q), len(k)))
    for r in range(0, len(q), b_r):
        for c in range(0, len(k), b_c):
            scores[c : c + b_c, r : r + b_r] = q[r : r + b_r] @ k[c : c + b_c].T
    return scores


def assemble_keys_first(q, k, b_r, b_c):
    scores = np.zeros((len(k), len(q)))
    for c in range(0, len(k), b_c):
        for r in range(0, len(q), b_r):
            scores[c : c + b_c, r : r + b_r] = k[c : c + b_c] @ q[r : r + b_r].T
    return scores


def assemble_columns(q, k, b_r, b_c):
    scores = np.zeros((len(q), len(k)))
    for r in range(0, len(q), b_r):
        for c in range(0, len(k), b_c):
            scores[r : r + b_r, c : c + b_c] = q[r : r + b_r] @ k[:, c : c + b_c].T
    return scores


def assemble_floor(q, k, b_r, b_c):
    scores = np.zeros((len(q), len(k)))
    for i in range(len(q) // b_r):
        for j in range(len(k) // b_c):
            rows, cols = slice(i * b_r, i * b_r + b_r), slice(j * b_c, j * b_c + b_c)
            scores[rows, cols] = q[rows] @ k[cols].T
    return scores


def assemble_at_once(q, k, b_r, b_c):
    scores = np.matmul(q, k.T)
    return scores


def assemble_row_tiles(q, k, b_r, b_c):
    return np.vstack([q[r : r + b_r] @ k.T for r in range(0, len(q), b_r)])


def assemble_sizes_swapped(q, k, b_r, b_c):
    return assemble_loops(q, k, b_c, b_r)


def split_at_once(q, k, b_d):
    return np.matmul(q, np.transpose(k))


def split_add(q, k, b_d):
    scores = np.zeros((len(q), len(k)))
    for f in range(0, q.shape[1], b_d):
        scores += q[:, f : f + b_d] @ k[:, f : f + b_d].T
    return scores


def split_einsum(q, k, b_d):
    starts = range(0, q.shape[1], b_d)
    return sum(np.einsum("rf,cf->rc", q[:, s : s + b_d], k[:, s : s + b_d]) for s in starts)


def split_overwrite(q, k, b_d):
    for f in range(0, q.shape[1], b_d):
        scores = q[:, f : f + b_d] @ k[:, f : f + b_d].T
    return scores


def split_return_early(q, k, b_d):
    for f in range(0, q.shape[1], b_d):
        return q[:, f : f + b_d] @ k[:, f : f + b_d].T


def split_floor(q, k, b_d):
    scores = np.zeros((len(q), len(k)))
    for i in range(q.shape[1] // b_d):
        features = slice(i * b_d, i * b_d + b_d)
        scores += q[:, features] @ k[:, features].T
    return scores


def split_average(q, k, b_d):
    starts = range(0, q.shape[1], b_d)
    total = sum(q[:, s : s + b_d] @ k[:, s : s + b_d].T for s in starts)
    return total / len(starts)


def split_stack(q, k, b_d):
    starts = range(0, q.shape[1], b_d)
    return np.concatenate([q[:, s : s + b_d] @ k[:, s : s + b_d].T for s in starts], axis=1)


TRUTH = {"a": False, "b": False, "c": True, "d": False, "e": False}

RIGHT = {
    "bounds": [bounds_range, bounds_ceil],
    "assemble": [assemble_loops, assemble_block],
    "split_features": [split_add, split_einsum],
    "judge": [TRUTH],
}

# exercise → {key of the mistake that the check must name: wrong answers}
WRONG = {
    "bounds": {
        "slices": [bounds_slices],
        "floor_for_ceil": [bounds_floor],
        "tail_not_clipped": [bounds_unclipped],
        "one_tile_too_many": [bounds_extra],
        "stop_inclusive": [bounds_inclusive],
        "equal_parts": [bounds_equal],
    },
    "assemble": {
        "k_not_transposed": [assemble_no_transpose],
        "tiles_swapped": [assemble_swapped],
        "keys_first": [assemble_keys_first],
        "k_cut_by_columns": [assemble_columns],
        "tail_dropped": [assemble_floor],
        "whole_product": [assemble_at_once],
        "sizes_swapped": [assemble_sizes_swapped],
        "": [assemble_row_tiles],
    },
    "split_features": {
        "whole_product": [split_at_once],
        "last_piece_only": [split_overwrite],
        "first_piece_only": [split_return_early],
        "tail_dropped": [split_floor],
        "pieces_averaged": [split_average],
        "pieces_stacked": [split_stack],
    },
    "judge": {"": [{**TRUTH, key: not truth} for key, truth in TRUTH.items()]},
}
