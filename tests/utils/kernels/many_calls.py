"""Call flash_attention on random shapes, many times each, and count the calls that differ.

`python tests/utils/kernels/many_calls.py SECONDS SEED` on a GPU, in several processes at once: a GPU
that processes share interrupts their kernels, and those must come back as they went.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

import torch

from utils.kernels import flash_attention


def differing_calls(
    seconds: float, seed: int, longest: int = 3000, repeats: int = 25
) -> tuple[int, int]:
    """Return how many calls were made, one shape at least, and how many differed in a bit."""
    place = "cuda" if torch.cuda.is_available() else "cpu"
    draw = torch.Generator().manual_seed(seed)
    calls = different = 0
    end = time.monotonic() + seconds
    while calls == 0 or time.monotonic() < end:
        n_q, n_k, heads, wide, causal = (
            int(torch.randint(1, most + 1, (1,), generator=draw))
            for most in (longest, longest, 8, 2, 2)
        )
        d = 64 * wide  # few sizes, so that the time goes into calls and not into compiling
        q = torch.randn(2, 2 * heads, n_q, d, device=place, dtype=torch.float16)
        k, v = torch.randn(2, 2, heads, n_k, d, device=place, dtype=torch.float16)
        first = flash_attention(q, k, v, causal=causal == 2)
        others = [flash_attention(q, k, v, causal=causal == 2) for _ in range(repeats)]
        different += sum(not torch.equal(first, other) for other in others)
        calls += repeats
    return calls, different


if __name__ == "__main__":
    calls, different = differing_calls(float(sys.argv[1]), int(sys.argv[2]))
    print(f"{calls} calls, {different} differ from the first on the same input")
    sys.exit(1 if different else 0)
