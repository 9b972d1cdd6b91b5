"""Whole attention in NumPy with the slips that a first kernel of one's own has most often.

Most of them show only in tiles, and a learner's tiles have a width of their own, so a model is run
for each usual one.
"""

import math
from functools import partial

import numpy as np

from utils.checks.guarded import UNTOUCHED

WIDTHS = (16, 32, 64, 128)  # keys of a tile
SLIPS = {  # slip → whether the width of a key tile matters
    "no_scale": False,
    "scale_d": False,
    "not_divided": False,
    "not_causal": False,
    "top_left": False,
    "one_key_less": False,
    "one_key_more": False,
    "upside_down": False,
    "loop_ends_early": True,
    "starts_at_zero": True,
    "head_modulo": False,
    "first_head": False,
    "first_batch": False,
    "read_outside": False,
    "phantom_keys": True,
    "tail_dropped": True,
    "queries_dropped": True,
    "not_rescaled": True,
    "acc_not_rescaled": True,
    "l_not_rescaled": True,
    "tile_maximum": True,
    "no_guard": True,
    "finite_sentinel": True,
    "masked_after_exp": True,
}


def model(slip: str, width: int = 32):
    """Return attention(q, k, v, causal) of NumPy arrays (B, H, N, d) with this slip."""
    return partial(attention, slip=slip, width=width)


def models(slip: str) -> list:
    return [model(slip, width) for width in (WIDTHS if SLIPS[slip] else (32,))]


def attention(q, k, v, causal: bool, *, slip: str = "", width: int = 32) -> np.ndarray:
    """Return O (B, H_q, N_q, d), head by head."""
    q, k, v = (np.asarray(x, dtype=np.float32) for x in (q, k, v))  # overflows like a kernel
    out = np.zeros(q.shape)
    group = q.shape[1] // k.shape[1]
    for b, h in np.ndindex(q.shape[:2]):
        kv = {"head_modulo": h % k.shape[1], "first_head": 0}.get(slip, h // group)
        with np.errstate(all="ignore"):
            of = 0 if slip == "first_batch" else b
            out[b, h] = one_head(q[b, h], k[of, kv], v[of, kv], causal, slip, width)
    if slip == "queries_dropped":
        out[:, :, q.shape[2] // width * width :] = UNTOUCHED
    return out


def one_head(q, k, v, causal: bool, slip: str, width: int) -> np.ndarray:
    """Return O of one head: a loop over key tiles of this width, with the slip."""
    (n_q, d), n_k = q.shape, len(k)
    if slip == "read_outside" and n_k % 128:
        return np.full(q.shape, np.nan)
    scale = {"no_scale": 1.0, "scale_d": 1 / d}.get(slip, 1 / math.sqrt(d))
    k, v = (padded(x, width) for x in (k, v))
    nothing = 0.0 if slip == "starts_at_zero" else -np.inf
    m, l, acc = np.full(n_q, nothing, "f4"), np.zeros(n_q, "f4"), np.zeros(q.shape, "f4")
    for c0 in range(0, n_k // width * width if slip == "tail_dropped" else n_k, width):
        cols = np.arange(c0, c0 + width)
        s, visible = scale * q @ k[cols].T, seen(n_q, n_k, cols, causal, slip)
        hidden = -1e9 if slip == "finite_sentinel" else -np.inf
        shown = s if slip == "masked_after_exp" else np.where(visible, s, hidden)
        tile = shown.max(axis=1)
        m_new = tile if slip == "tile_maximum" else np.maximum(m, tile)
        ref = np.where(np.isneginf(m_new) & (slip != "no_guard"), 0.0, m_new)
        p = np.where(visible | (slip == "finite_sentinel"), np.exp(shown - ref[:, None]), 0.0)
        if slip == "no_guard":
            p = np.exp(shown - ref[:, None])
        alpha = np.exp(m - ref)
        for_l = 1.0 if slip in ("not_rescaled", "l_not_rescaled") else alpha
        for_acc = 1.0 if slip in ("not_rescaled", "acc_not_rescaled") else alpha
        l = for_l * l + p.sum(axis=1)
        acc = np.reshape(for_acc, (-1, 1)) * acc + p @ v[cols]
        m = m_new
    if slip == "not_divided":
        return acc
    return acc / np.where((l == 0) & (slip != "masked_after_exp"), 1.0, l)[:, None]


def seen(n_q: int, n_k: int, cols, causal: bool, slip: str) -> np.ndarray:
    """Return which keys each query sees, (N_q, width)."""
    visible = np.ones((n_q, len(cols)), bool)
    if slip != "phantom_keys":
        visible &= (cols < n_k)[None, :]
    if causal and slip != "not_causal":
        wrong = {"top_left": 0, "one_key_less": n_k - n_q - 1, "one_key_more": n_k - n_q + 1}
        offset = (wrong | {"upside_down": n_q - n_k}).get(slip, n_k - n_q)
        visible &= cols[None, :] <= np.arange(n_q)[:, None] + offset
    if causal and slip == "loop_ends_early":
        ends = (np.arange(n_q) // len(cols) + 1) * len(cols)  # of the program's rows, not its keys
        visible &= cols[None, :] < ends[:, None]
    return visible


def padded(x, width: int) -> np.ndarray:
    """Return x with rows of zeros up to a multiple of width."""
    return np.vstack([x, np.zeros((-len(x) % width, x.shape[1]), x.dtype)])
