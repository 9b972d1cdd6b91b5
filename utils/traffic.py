"""Bytes that each algorithm of attention.py moves, in closed form: what counted memory counts.

e: bytes of an element of Q, K, V, O (and S, P); s: of m, ℓ, Õ and L. All functions return bytes by
tensor, both directions together, for one head with the true ragged sizes.
"""

from utils.tiles import tiles


def v2_bytes(n_q, n_k, d, d_v, *, b_r, b_c, causal=False, e=2, s=4) -> dict:
    """Outer Q, inner K and V: e·N_q(d + d_v) + s·N_q + e·(d + d_v)·W, W keys in visited tiles.

    The same for row_tile_attention: it moves no more, it only needs more room on chip.
    """
    w = sum(keys for _, keys in visits(n_q, n_k, b_r, b_c, causal))
    return {"Q": e * n_q * d, "K": e * d * w, "V": e * d_v * w, "O": e * n_q * d_v, "L": s * n_q}


def v1_bytes(n_q, n_k, d, d_v, *, b_r, b_c, causal=False, e=2, s=4) -> dict:
    """Outer K and V, inner Q: a state is written once to begin with, then read and written at
    every visit, and read once more to be finished: 2 · (rows + rows of all visits) times."""
    rows = sum(h * -(-keys // b_c) for h, keys in visits(n_q, n_k, b_r, b_c, causal))
    keys = n_k if n_q else 0  # the last query sees every key, so every key tile has a visit
    state = 2 * s * (n_q + rows)
    moved = {"Q": e * d * rows, "K": e * d * keys, "V": e * d_v * keys}
    return moved | {"m": state, "l": state, "acc": d_v * state, "O": e * n_q * d_v, "L": s * n_q}


def materialised_bytes(n_q, n_k, d, d_v, *, b_r, b_c, causal=False, e=2, s=4) -> dict:
    """The same as v2, and S and P written once and read once: 4·e·N_q·N_k when all is visited."""
    pairs = sum(h * keys for h, keys in visits(n_q, n_k, b_r, b_c, causal))
    plain = v2_bytes(n_q, n_k, d, d_v, b_r=b_r, b_c=b_c, causal=causal, e=e, s=s)
    return plain | {"S": 2 * e * pairs, "P": 2 * e * pairs}


def visits(n_q, n_k, b_r, b_c, causal) -> list[tuple[int, int]]:
    """Return (h_i, keys in the tiles that it visits) for each query tile of h_i rows.

    Causal: min(N_k, B_c · ⌈max(0, r_1 + N_k − N_q) / B_c⌉), where r_1 is the end of the tile.
    """
    result = []
    for rows in tiles(n_q, b_r):
        seen = max(0, rows.stop + n_k - n_q) if causal else n_k
        result.append((rows.stop - rows.start, min(n_k, b_c * -(-seen // b_c))))
    return result
