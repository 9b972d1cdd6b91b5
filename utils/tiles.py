"""Cut a range of tokens into tiles."""


def tiles(n: int, b: int) -> list[slice]:
    """Return slices of b tokens that cover range(n); the last one is ragged when b ∤ n.

    n: number of tokens, 0 or more. b: tokens in a tile, 1 or more. Raises ValueError otherwise.
    """
    if n < 0:
        raise ValueError(f"n counts tokens and cannot be negative, got {n}")
    if b < 1:
        raise ValueError(f"a tile holds at least one token, got b = {b}")
    return [slice(start, min(start + b, n)) for start in range(0, n, b)]
