"""How much attention stores: elements of each tensor, compared with one of two rulers.

Counts are elements of one head with N queries and N keys; bytes are elements × the size of one.
"""

import numpy as np

from utils.memory import itemsize


def elements(n: int, d: int) -> dict[str, int]:
    """Return the elements of each tensor of one head: Q, K, V, O have N·d, S and P N², L has N."""
    if n < 1 or d < 1:
        raise ValueError(f"n and d count tokens and features, 1 or more; got n = {n}, d = {d}")
    return dict.fromkeys("QKVO", n * d) | dict.fromkeys("SP", n * n) | {"L": n}


def score_ratio(n: int, d: int, ruler: str) -> float:
    """Return the elements of S as a multiple of those of the ruler's tensors.

    ruler: the tensors that S is held against, "Q" (one: N/d) or "QKVO" (all four: N/(4d)).
    A ratio of elements, not of times.
    """
    if ruler not in ("Q", "QKVO"):
        raise ValueError(f'ruler must be "Q" or "QKVO", got {ruler!r}')
    count = elements(n, d)
    return count["S"] / sum(count[name] for name in ruler)


def score_bytes(n: int, *, heads: int = 1, dtype: str = "float16") -> int:
    """Return the bytes of S alone, written out for every head; heads: batch × heads."""
    return heads * n * n * itemsize(dtype)


def forward_extra_bytes(n: int, d: int, *, heads: int = 1, dtype: str = "float16") -> int:
    """Return the bytes that a FlashAttention call allocates beyond Q, K and V: O, and L in float32."""
    return heads * (n * d * itemsize(dtype) + 4 * n)


def growth(sizes, values) -> float:
    """Return the power p of the law values ≈ c · sizes^p: the slope on two logarithmic axes.

    Least squares on the logarithms. A constant added to the law bends it at small sizes, so hand
    over the upper ones. Raises ValueError for fewer than two different sizes.
    """
    if len(set(sizes)) < 2:
        raise ValueError(f"a slope needs two different sizes, got {list(sizes)}")
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
