"""How many exponentials a GPU computes in a second: one kernel that does nothing else."""

import torch
import triton
import triton.language as tl


@triton.jit
def exponentials_kernel(out, ROUNDS: tl.constexpr, B: tl.constexpr):
    """Apply x ← 2^(−x) ROUNDS times to B numbers in registers, and write them, so that all is needed."""
    place = tl.program_id(0) * B + tl.arange(0, B)
    x = place.to(tl.float32) / B
    for _ in range(ROUNDS):
        x = tl.exp2(-x)
    tl.store(out + place, x)


def exponentials(programs: int, rounds: int, block: int = 1024, device: str = "cuda"):
    """Run programs · block · rounds exponentials; return the numbers left, near 0.6412 = 2^(−0.6412)."""
    out = torch.empty(programs * block, dtype=torch.float32, device=device)
    exponentials_kernel[(programs,)](out, ROUNDS=rounds, B=block, num_warps=8)
    return out
