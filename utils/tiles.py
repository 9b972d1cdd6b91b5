"""Cut a range of tokens into tiles, and tell what a causal mask does to a tile of scores."""

import numpy as np


def tiles(n: int, b: int) -> list[slice]:
    """Return slices of b tokens that cover range(n); the last one is ragged when b ∤ n.

    n: number of tokens, 0 or more. b: tokens in a tile, 1 or more. Raises ValueError otherwise.
    """
    if n < 0:
        raise ValueError(f"n counts tokens and cannot be negative, got {n}")
    if b < 1:
        raise ValueError(f"a tile holds at least one token, got b = {b}")
    return [slice(start, min(start + b, n)) for start in range(0, n, b)]


def classify(rows, cols, *, offset: int = 0) -> str:
    """Say what the causal mask does to the scores of these rows and columns.

    rows, cols: half-open token ranges, as slices, ranges or (start, stop). Key c is visible to
    query r when c ≤ r + offset; bottom-right alignment has offset = N_k − N_q. Returns "skip" (no
    pair is visible), "full" (every pair is) or "boundary" (some are, so mask element by element).
    Known from the bounds alone, before anything is loaded. Raises ValueError for an empty range.
    """
    r_0, r_1 = bounds_of(rows, "rows")
    c_0, c_1 = bounds_of(cols, "cols")
    if c_0 > (r_1 - 1) + offset:  # the last query does not see the first key
        return "skip"
    if c_1 - 1 <= r_0 + offset:  # the first query sees the last key
        return "full"
    return "boundary"


def visible(rows, cols, *, offset: int = 0) -> np.ndarray:
    """Return the mask of one tile, True where key c is visible to query r: c ≤ r + offset."""
    r, c = np.arange(*bounds_of(rows, "rows")), np.arange(*bounds_of(cols, "cols"))
    return c[None, :] <= r[:, None] + offset


def visible_keys(rows, n_k: int, *, offset: int = 0) -> slice:
    """Return the keys, out of n_k, that at least one of these queries sees: always the first few."""
    r_1 = bounds_of(rows, "rows")[1]
    return slice(0, min(n_k, max(0, r_1 + offset)))


def bounds_of(span, name: str) -> tuple[int, int]:
    """Return (start, stop) of a slice, a range or a pair; ValueError when it holds no token."""
    if isinstance(span, slice | range):
        ends = (span.start or 0, span.stop) if span.step in (None, 1) else ()
    else:
        ends = span if isinstance(span, tuple) else ()
    if len(ends) != 2 or ends[1] is None or not 0 <= ends[0] < ends[1]:
        raise ValueError(f"{name} must be a half-open range of at least one token, got {span}")
    return ends
