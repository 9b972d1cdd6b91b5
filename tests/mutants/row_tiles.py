"""Answers to the exercises of lesson 02: right ones, and typical wrong ones."""

import math

import numpy as np

from utils.memory import BudgetExceeded, Memory
from utils.tiles import tiles


def weights_stack(q, k, b_r, softmax):
    return np.vstack([softmax(q[rows] @ k.T) for rows in tiles(len(q), b_r)])


def weights_write(q, k, b_r, softmax):
    probs = np.empty((len(q), len(k)))
    for start in range(0, len(q), b_r):
        for r in range(start, min(start + b_r, len(q))):
            probs[r] = softmax(k @ q[r])  # one row, as a vector
    return probs


def weights_float32(q, k, b_r, softmax):
    probs = np.empty((len(q), len(k)), dtype=np.float32)
    for rows in tiles(len(q), b_r):
        probs[rows] = softmax(q[rows] @ k.T)
    return probs


def weights_side_by_side(q, k, b_r, softmax):
    return np.concatenate([softmax(q[rows] @ k.T) for rows in tiles(len(q), b_r)], axis=1)


def weights_reshaped(q, k, b_r, softmax):
    side = np.concatenate([softmax(q[rows] @ k.T) for rows in tiles(len(q), b_r)], axis=1)
    return np.reshape(side, (len(q), len(k)))


def weights_reversed(q, k, b_r, softmax):
    done = np.empty((0, len(k)))
    for rows in tiles(len(q), b_r):
        done = np.vstack([softmax(q[rows] @ k.T), done])
    return done


def weights_floor(q, k, b_r, softmax):
    done = []
    for i in range(len(q) // b_r):
        done.append(softmax(q[i * b_r : (i + 1) * b_r] @ k.T))
    return np.concatenate(done)


def weights_floor_zeros(q, k, b_r, softmax):
    probs = np.zeros((len(q), len(k)))
    for i in range(len(q) // b_r):
        probs[i * b_r : (i + 1) * b_r] = softmax(q[i * b_r : (i + 1) * b_r] @ k.T)
    return probs


def weights_return_early(q, k, b_r, softmax):
    for rows in tiles(len(q), b_r):
        return softmax(q[rows] @ k.T)


def weights_overwritten(q, k, b_r, softmax):
    for rows in tiles(len(q), b_r):
        probs = softmax(q[rows] @ k.T)
    return probs


def weights_scores(q, k, b_r, softmax):
    return np.vstack([q[rows] @ k.T for rows in tiles(len(q), b_r)])


def weights_at_once(q, k, b_r, softmax):
    scores = np.vstack([q[rows] @ k.T for rows in tiles(len(q), b_r)])
    return softmax(scores)


def weights_keys_cut(q, k, b_r, softmax):
    probs = np.empty((len(q), len(k)))
    for rows in tiles(len(q), b_r):
        for cols in tiles(len(k), b_r):
            probs[rows, cols] = softmax(q[rows] @ k[cols].T)
    return probs


def weights_over_tile(q, k, b_r, softmax):
    probs = np.empty((len(q), len(k)))
    for rows in tiles(len(q), b_r):
        s = q[rows] @ k.T
        probs[rows] = softmax(s.reshape(-1)).reshape(s.shape)
    return probs


def weights_wrong_axis(q, k, b_r, softmax):
    probs = np.empty((len(q), len(k)))
    for rows in tiles(len(q), b_r):
        s = q[rows] @ k.T
        for c in range(len(k)):
            probs[rows, c] = softmax(s[:, c])
    return probs


def weights_not_transposed(q, k, b_r, softmax):
    return np.concatenate([softmax(q[rows] @ k) for rows in tiles(len(q), b_r)])


def weights_own(q, k, b_r, softmax):
    probs = np.empty((len(q), len(k)))
    for rows in tiles(len(q), b_r):
        e = np.exp(q[rows] @ k.T)
        probs[rows] = e / e.sum(1)[:, None]
    return probs


def weights_list(q, k, b_r, softmax):
    probs = []
    for rows in tiles(len(q), b_r):
        probs.append(softmax(q[rows] @ k.T))
    return probs


def weights_like_scores(q, k, b_r, softmax):
    probs = np.zeros_like(q @ k.T)  # of whole numbers, as the scores are
    for rows in tiles(len(q), b_r):
        probs[rows] = softmax(q[rows] @ k.T)
    return probs


def weights_scaled(q, k, b_r, softmax):
    d = q.shape[1]
    return np.vstack([softmax(q[rows] @ k.T / d**0.5) for rows in tiles(len(q), b_r)])


def weights_keys_first(q, k, b_r, softmax):
    probs = np.empty((len(k), len(q)))
    for rows in tiles(len(q), b_r):
        probs[:, rows] = softmax(k @ q[rows].T)
    return probs.T


def weights_columns_cut(q, k, b_r, softmax):
    probs = np.empty((len(q), len(k)))
    for cols in tiles(len(k), b_r):
        probs[:, cols] = softmax(q @ k[cols].T)
    return probs


def weights_padded(q, k, b_r, softmax):
    n = math.ceil(len(q) / b_r) * b_r
    padded = np.zeros((n, q.shape[1]))
    padded[: len(q)] = q
    return np.vstack([softmax(padded[r : r + b_r] @ k.T) for r in range(0, n, b_r)])


def weights_padding_cut_off(q, k, b_r, softmax):
    return weights_padded(q, k, b_r, softmax)[: len(q)]


def weights_rows_of_numbers(q, k, b_r, softmax):
    return [list(row) for rows in tiles(len(q), b_r) for row in softmax(q[rows] @ k.T)]


def careful(scores):
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def weights_own_careful(q, k, b_r, softmax):
    return np.vstack([careful(q[rows] @ k.T) for rows in tiles(len(q), b_r)])


def weights_own_at_once(q, k, b_r, softmax):
    return careful(q @ k.T)


def weights_b_r_tiles(q, k, b_r, softmax):
    return np.vstack([softmax(part @ k.T) for part in np.array_split(q, b_r)])


def weights_two_rows_always(q, k, b_r, softmax):
    return np.vstack([softmax(q[r : r + 2] @ k.T) for r in range(0, len(q), 2)])


def weights_number_as_row(q, k, b_r, softmax):
    probs = []
    for i in range(math.ceil(len(q) / b_r)):
        probs.append(softmax(q[i : i + b_r] @ k.T))
    return np.concatenate(probs)


def weights_step_forgotten(q, k, b_r, softmax):
    probs = []
    for start in range(len(q)):
        probs.append(softmax(q[start : start + b_r] @ k.T))
    return np.concatenate(probs)


def weights_first_again(q, k, b_r, softmax):
    probs = np.empty((len(q), len(k)))
    for rows in tiles(len(q), b_r):
        probs[rows] = softmax(q[0:b_r] @ k.T)
    return probs


def largest_formula(n_k, d, b_c, budget):
    return max(0, (budget // 4 - b_c * d) // (d + n_k))


def largest_counted(n_k, d, b_c, budget):
    """Try it on counted memory, one row more each time."""
    b_r = 0
    try:
        while True:
            memory = Memory(budget, log=False)
            for name, rows, columns in (("Q", b_r + 1, d), ("K", b_c, d), ("S", b_r + 1, n_k)):
                memory.chip(name, np.empty((rows, columns)))
            b_r += 1
    except BudgetExceeded:
        return b_r


def largest_strict(n_k, d, b_c, budget):
    b_r = 0
    while 4 * ((b_r + 1) * (d + n_k) + b_c * d) < budget:
        b_r += 1
    return b_r


def largest_in_bytes(n_k, d, b_c, budget):
    b_r = 0
    while (b_r + 1) * (d + n_k) + b_c * d <= budget:
        b_r += 1
    return b_r


def largest_resident(n_k, d, b_c, budget):
    b_r = 0
    while 4 * ((b_r + 1) * (d + n_k) + n_k * d) <= budget:
        b_r += 1
    return b_r


def largest_without_k(n_k, d, b_c, budget):
    return budget // (4 * (d + n_k))


def largest_without_scores(n_k, d, b_c, budget):
    return max(budget // (4 * d) - b_c, 0)


def largest_scores_of_tile(n_k, d, b_c, budget):
    b_r = 0
    while 4 * ((b_r + 1) * (d + b_c) + b_c * d) <= budget:
        b_r += 1
    return b_r


def largest_without_q(n_k, d, b_c, budget):
    b_r = 0
    while 4 * ((b_r + 1) * n_k + b_c * d) <= budget:
        b_r += 1
    return b_r


def largest_up(n_k, d, b_c, budget):
    return max(0, math.ceil((budget / 4 - b_c * d) / (d + n_k)))


def largest_up_loop(n_k, d, b_c, budget):
    b_r = 0
    while 4 * (b_r * (d + n_k) + b_c * d) < budget:
        b_r += 1
    return b_r


def largest_one_too_many(n_k, d, b_c, budget):
    b_r = 1
    while 4 * (b_r * (d + n_k) + b_c * d) <= budget:
        b_r += 1
    return b_r


def largest_fraction(n_k, d, b_c, budget):
    return max(0, (budget / 4 - b_c * d) / (d + n_k))


def largest_negative(n_k, d, b_c, budget):
    return (budget // 4 - b_c * d) // (n_k + d)


def largest_one(n_k, d, b_c, budget):
    b_r = 1
    while 4 * ((b_r + 1) * (d + n_k) + b_c * d) <= budget:
        b_r += 1
    return b_r


SHAPES = {"a": (4, 6), "b": (2, 12), "c": (4, 6), "d": (4, 6), "unseen": "cd"}
TRUTH = {"a": True, "b": False, "c": True, "d": False, "e": False}

RIGHT = {
    "weights_by_rows": [
        weights_stack,
        weights_write,
        weights_float32,
        weights_padding_cut_off,
        weights_rows_of_numbers,
    ],
    "largest_b_r": [largest_formula, largest_counted],
    "stacking": [
        SHAPES,
        {**SHAPES, "unseen": ["d", "c"]},
        {**SHAPES, "unseen": {"c", "d"}},
        {**SHAPES, "b": [2, 12], "unseen": "C, D"},
        {**SHAPES, "a": "(4, 6)", "b": "2 × 12", "unseen": "c and d"},
        {**SHAPES, "unseen": "c 和 d"},
    ],
    "judge": [TRUTH],
}

# exercise → {key of the mistake that the check must name: wrong answers}
WRONG = {
    "weights_by_rows": {
        "side_by_side": [weights_side_by_side],
        "reshaped": [weights_reshaped],
        "order_reversed": [weights_reversed],
        "tail_dropped": [weights_floor],
        "": [weights_floor_zeros, weights_padded, weights_two_rows_always],
        "first_tile_only": [weights_return_early],
        "last_tile_only": [weights_overwritten],
        "scores_not_weights": [weights_scores],
        "not_tiled": [weights_at_once],
        "not_stacked": [weights_list],
        "whole_numbers": [weights_like_scores],
        "scaled": [weights_scaled],
        "keys_first": [weights_keys_first],
        "columns_cut": [weights_columns_cut],
        "keys_cut": [weights_keys_cut],
        "normalised_over_the_tile": [weights_over_tile],
        "wrong_axis": [weights_wrong_axis],
        "k_not_transposed": [weights_not_transposed],
        "own_softmax": [weights_own],
        "softmax_not_used": [weights_own_careful, weights_own_at_once],
        "number_of_tiles": [weights_b_r_tiles],
        "tile_number_as_row": [weights_number_as_row],
        "every_row_starts_a_tile": [weights_step_forgotten],
        "first_tile_repeated": [weights_first_again],
    },
    "largest_b_r": {
        "exact_fit_refused": [largest_strict],
        "bytes_as_numbers": [largest_in_bytes],
        "k_resident": [largest_resident],
        "k_forgotten": [largest_without_k],
        "scores_forgotten": [largest_without_scores],
        "scores_of_one_tile": [largest_scores_of_tile],
        "q_forgotten": [largest_without_q],
        "rounded_up": [largest_up, largest_up_loop, largest_one_too_many],
        "not_whole": [largest_fraction],
        "not_even_nothing": [largest_negative],
        "": [
            lambda n_k, d, b_c, budget: int((budget / 4 - b_c * d) / (d + n_k)),
            lambda n_k, d, b_c, budget: max(0, (budget // 4 - b_c) // (d + n_k)),
            lambda n_k, d, b_c, budget: max(0, (budget // 4 - b_c * n_k) // (d + n_k)),
            lambda n_k, d, b_c, budget: max(0, (budget // 4 - b_c * d) // (d + 2 * n_k)),
            lambda n_k, d, b_c, budget: max(0, (budget - b_c * d) // (4 * (d + n_k))),
            lambda n_k, d, b_c, budget: max(0, (budget // 4 - b_c * d - d) // n_k),
        ],
        "one_row_at_least": [largest_one],
    },
    "stacking": {
        "": [
            {**SHAPES, "b": (4, 6)},
            {**SHAPES, "c": (2, 12)},
            {**SHAPES, "d": (2, 12)},
            {**SHAPES, "a": (6, 4)},
            {**SHAPES, "unseen": "d"},
            {**SHAPES, "unseen": "bcd"},
            {**SHAPES, "unseen": None},
            {**SHAPES, "b": 24},
        ]
    },
    "judge": {"": [{**TRUTH, key: not truth} for key, truth in TRUTH.items()]},
}
