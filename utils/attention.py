"""Attention in NumPy, as plainly as it can be said: the reference of the course."""

import math

import numpy as np


def naive_attention(q, k, v, *, scale=None, causal=False):
    """Return O = softmax(scale · Q Kᵀ) V and the log-sum-exp L of the scaled scores.

    q: (N_q, d), k: (N_k, d), v: (N_k, d_v). scale: 1/√d when None. Computed in float64; returns
    out (N_q, d_v) and lse (N_q,), natural logarithm. causal: key c is visible to query r when
    c ≤ r + N_k − N_q (bottom-right, as flash-attn since 2.1). A row that sees no key has O = 0 and
    L = −∞; hidden keys and values take no part, not even NaN. Raises ValueError when shapes differ.
    """
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    if q.ndim != 2 or k.shape != (len(v), q.shape[1]) or v.ndim != 2:
        raise ValueError(
            f"need q (N_q, d), k (N_k, d), v (N_k, d_v), got {q.shape}, {k.shape}, {v.shape}"
        )
    scale = 1 / math.sqrt(q.shape[1]) if scale is None else scale
    n_q, n_k = len(q), len(k)
    out, lse = np.zeros((n_q, v.shape[1])), np.full(n_q, -np.inf)
    for r in range(n_q):
        seen = min(n_k, max(0, r + n_k - n_q + 1)) if causal else n_k  # the visible keys come first
        if seen:
            scores = scale * (k[:seen] @ q[r])
            weights = np.exp(scores - scores.max())
            out[r] = weights @ v[:seen] / weights.sum()
            lse[r] = scores.max() + math.log(weights.sum())
    return out, lse
