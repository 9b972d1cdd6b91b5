"""Attention in NumPy: the plain definition, and the tiled ways to compute it on counted memory.

All return (out, lse): O (N_q, d_v), and the natural log-sum-exp L (N_q,) of the scaled scores.
Capitals are tensors in slow memory, small letters are tiles on chip (see memory.py).
"""

import math

import numpy as np

from utils.memory import Memory
from utils.states import (
    State,
    at_least_one_key,
    finish,
    identity,
    reference,
    update,
    without_hidden,
)
from utils.tiles import classify, tiles, visible


def naive_attention(q, k, v, *, scale=None, causal=False):
    """Return O = softmax(scale · Q Kᵀ) V and the log-sum-exp L of the scaled scores.

    q: (N_q, d), k: (N_k, d), v: (N_k, d_v). scale: 1/√d when None. Computed in float64; returns
    out (N_q, d_v) and lse (N_q,), natural logarithm. causal: key c is visible to query r when
    c ≤ r + N_k − N_q (bottom-right, as flash-attn since 2.1); a score of −∞ hides its key as well.
    A row that sees no key has O = 0 and L = −∞. Hidden keys and values take no part, not even NaN.
    Raises ValueError when shapes differ.
    """
    q, k, v, scale = arguments(q, k, v, scale)
    n_q, n_k = len(q), len(k)
    out, lse = np.zeros((n_q, v.shape[1])), np.full(n_q, -np.inf)
    for r in range(n_q):
        first = min(n_k, max(0, r + n_k - n_q + 1)) if causal else n_k  # visible keys come first
        scores = scale * (k[:first] @ q[r])
        seen = scores != -np.inf  # a score of −∞ hides its key too
        if seen.any():
            m = scores[seen].max()
            weights = np.exp(scores[seen] - m)
            out[r] = weights @ v[:first][seen] / weights.sum()
            lse[r] = m + np.log(weights.sum())
    return out, lse


def tiled_attention(
    q, k, v, *, b_r, b_c, scale=None, causal=False, skip=True, memory=None
) -> tuple[np.ndarray, np.ndarray]:
    """Return naive_attention's result, one tile of scores at a time: outer Q, inner K and V.

    The loop order of FlashAttention-2, Algorithm 1: Q_i is read once, its state stays on chip, O_i
    and L_i are written once. b_r, b_c: rows of a query and of a key tile. skip=False visits tiles
    that the causal mask hides, for comparison. memory: a Memory, whose counters go on counting.
    Hidden values must be finite where another row of the same tile sees them (0 · NaN is NaN).
    """
    q, k, v, scale = arguments(q, k, v, scale)
    memory = Memory(log=False) if memory is None else memory
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    offset = len(k) - len(q) if causal else None
    for rows in memory.turns(tiles(len(q), b_r)):
        q_i = Q[rows]
        state = on_chip(memory, identity(len(q_i), v.shape[1]))
        for cols in memory.turns(key_tiles(rows, len(k), b_c, offset, skip)):
            s = memory.chip("S", score_tile(q_i, K[cols], scale, rows, cols, offset))
            state = update(state, s, V[cols])  # m, ℓ, Õ, rescaled and added to
        O[rows], L[rows] = finish(state)  # O_i = Õ / ℓ, L_i = m + ln ℓ
    return O.array, L.array


def tiled_attention_v1(
    q, k, v, *, b_r, b_c, scale=None, causal=False, skip=True, memory=None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same in FlashAttention-1's loop order: outer K and V, inner Q.

    K_j and V_j are read once and serve all query tiles, but the states live in slow memory: each
    visit reads Q_i, m_i, ℓ_i, Õ_i and writes the last three back. Not all of the paper's Algorithm
    1: that one also divides by ℓ at each visit and chooses the tile sizes. Arguments as above.
    """
    q, k, v, scale = arguments(q, k, v, scale)
    memory = Memory(log=False) if memory is None else memory
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    M, SUM, ACC = states_in_slow_memory(memory, len(q), v.shape[1])
    offset = len(k) - len(q) if causal else None
    for cols in memory.turns(tiles(len(k), b_c)):
        visitors = query_tiles(cols, len(q), b_r, offset, skip)
        if not visitors:
            continue  # K_j and V_j stay where they are
        k_j, v_j = K[cols], V[cols]
        for rows in memory.turns(visitors):
            q_i, state = Q[rows], State(M[rows], SUM[rows], ACC[rows])
            s = memory.chip("S", score_tile(q_i, k_j, scale, rows, cols, offset))
            M[rows], SUM[rows], ACC[rows] = update(state, s, v_j)
    for rows in memory.turns(tiles(len(q), b_r)):
        O[rows], L[rows] = finish(State(M[rows], SUM[rows], ACC[rows]))
    return O.array, L.array


def row_tile_attention(
    q, k, v, *, b_r, b_c=None, scale=None, causal=False, skip=True, memory=None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same with whole rows of scores on chip, b_r × N_k, and so with a plain softmax.

    K and V stream by in tiles of b_c rows (all at once when None). Nothing needs to be rescaled,
    but the row's room grows with N_k. Arguments as in tiled_attention.
    """
    q, k, v, scale = arguments(q, k, v, scale)
    memory = Memory(log=False) if memory is None else memory
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    n_k, offset = len(k), len(k) - len(q) if causal else None
    b_c = max(1, n_k) if b_c is None else b_c
    for rows in memory.turns(tiles(len(q), b_r)):
        q_i, col_tiles = Q[rows], key_tiles(rows, n_k, b_c, offset, skip)
        s = memory.chip("S", np.full((len(q_i), n_k), -np.inf))
        for cols in memory.turns(col_tiles):
            s[:, cols] = score_tile(q_i, K[cols], scale, rows, cols, offset)
        p, L[rows] = softmax_rows(s)
        o_i = memory.chip("O", np.zeros((len(q_i), v.shape[1])))
        for cols in memory.turns(col_tiles):
            o_i += p[:, cols] @ without_hidden(V[cols], s[:, cols])
        O[rows] = o_i
    return O.array, L.array


def materialised_attention(
    q, k, v, *, b_r, b_c, scale=None, causal=False, skip=True, memory=None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same in three steps that write S and P whole to slow memory and read them again.

    The naive way on the same tiles. On chip it needs whole rows, b_r × N_k, for the softmax. Next
    to tiled_attention's traffic stand exactly four passes over S and P. Arguments as there.
    """
    q, k, v, scale = arguments(q, k, v, scale)
    memory = Memory(log=False) if memory is None else memory
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    S, P = (memory.slow(name, (len(q), len(k))) for name in "SP")
    offset = len(k) - len(q) if causal else None
    work = [(rows, key_tiles(rows, len(k), b_c, offset, skip)) for rows in tiles(len(q), b_r)]
    for rows, col_tiles in memory.turns(work):  # S = scale · Q Kᵀ
        q_i = Q[rows]
        for cols in memory.turns(col_tiles):
            s = memory.chip("S", score_tile(q_i, K[cols], scale, rows, cols, offset))
            S[rows, cols] = s
    for rows, col_tiles in memory.turns(work):  # P = softmax(S)
        visited = slice(0, col_tiles[-1].stop if col_tiles else 0)
        P[rows, visited], L[rows] = softmax_rows(S[rows, visited])
    for rows, col_tiles in memory.turns(work):  # O = P V
        o_i = memory.chip("O", np.zeros((rows.stop - rows.start, v.shape[1])))
        for cols in memory.turns(col_tiles):
            o_i += P[rows, cols] @ V[cols]  # hidden values must be finite: 0 · NaN is NaN
        O[rows] = o_i
    return O.array, L.array


def arguments(q, k, v, scale):
    """Return q, k, v in float64 and the scale, 1/√d when None; ValueError when shapes differ."""
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    if q.ndim != 2 or v.ndim != 2 or k.shape != (len(v), q.shape[1]):
        got = f"{q.shape}, {k.shape}, {v.shape}"
        raise ValueError(f"need q (N_q, d), k (N_k, d), v (N_k, d_v), got {got}")
    return q, k, v, 1 / math.sqrt(q.shape[1]) if scale is None else scale


def in_slow_memory(memory, q, k, v):
    """Return Q, K, V, and room for O and L. L counts as float32, as in a real kernel."""
    Q, K, V = memory.slow("Q", q), memory.slow("K", k), memory.slow("V", v)
    O = memory.slow("O", (len(q), v.shape[1]))
    return Q, K, V, O, memory.slow("L", (len(q),), dtype="float32")


def states_in_slow_memory(memory, n_q, d_v):
    """Return m, ℓ, Õ in slow memory, in float32, with the state of no keys written to them."""
    arrays = zip(("m", "l", "acc"), ((n_q,), (n_q,), (n_q, d_v)), strict=True)
    M, SUM, ACC = (memory.slow(name, shape, dtype="float32") for name, shape in arrays)
    M[:], SUM[:], ACC[:] = identity(n_q, d_v)
    return M, SUM, ACC


def on_chip(memory, state):
    """Make room on chip for a state; later values of m, ℓ and Õ take the same room."""
    return State(*(memory.chip(name, array) for name, array in state._asdict().items()))


def key_tiles(rows, n_k, b_c, offset, skip):
    """Return the key tiles that a query tile visits: all, or those that it can see."""
    everything = tiles(n_k, b_c)
    if offset is None or not skip:
        return everything
    return [cols for cols in everything if classify(rows, cols, offset=offset) != "skip"]


def query_tiles(cols, n_q, b_r, offset, skip):
    """Return the query tiles that visit a key tile: all, or those that can see it."""
    everything = tiles(n_q, b_r)
    if offset is None or not skip:
        return everything
    return [rows for rows in everything if classify(rows, cols, offset=offset) != "skip"]


def score_tile(q_i, k_j, scale, rows, cols, offset):
    """Return S_ij, −∞ where the causal mask hides; offset None means that there is no mask."""
    s = scale * (q_i @ k_j.T)  # S_ij = scale · Q_i K_jᵀ
    if offset is None or classify(rows, cols, offset=offset) == "full":
        return s
    return np.where(visible(rows, cols, offset=offset), s, -np.inf)


def softmax_rows(s):
    """Return P and L of whole rows of scores: m and ℓ are final. Rows without a key: 0 and −∞."""
    m = s.max(axis=1, initial=-np.inf)
    weights = np.exp(s - reference(m)[:, None])  # e^{S − m}
    l = at_least_one_key(weights.sum(axis=1))
    return weights / l[:, None], m + np.log(l)  # P = e^{S − m} / ℓ,  L = m + ln ℓ
