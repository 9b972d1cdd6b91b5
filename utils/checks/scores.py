"""Inputs for checks: queries, keys and values made to give chosen scores."""

import numpy as np


def values(keys: int, d_v: int) -> np.ndarray:
    """Small values without symmetry, (keys, d_v)."""
    c, f = np.indices((keys, d_v))
    return ((c * c + 3 * c * f + 2 * f + c) % 5).astype(float)


def with_scores(scores, idle: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return q_i (rows, d) and k (keys, d) that give exactly these scores (rows, keys).

    d is the number of rows, and idle more: features that are 0 in q_i and 1 in k.
    """
    scores = np.array(scores, dtype=float)
    rows, keys = scores.shape
    return np.eye(rows, rows + idle), np.hstack([scores.T, np.ones((keys, idle))])
