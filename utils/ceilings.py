"""The ceilings under which attention runs: products, exponentials, traffic; and what they allow.

The model knows three numbers of a GPU, which `measure` finds on the card at hand. After S. Williams
et al., *Roofline* (2009); the second ceiling as in FlashAttention-3 (Shah et al., 2024), section 3.2.
"""

from collections.abc import Callable
from typing import NamedTuple


class Ceilings(NamedTuple):
    """What one GPU reaches: FLOP/s of a large product, exponentials per second, bytes per second."""

    flops: float
    exponentials: float
    bytes: float


def two_ceilings(d: int, flops: float, exponentials: float) -> float:
    """Return the FLOP/s of attention if products and exponentials take turns, each at its ceiling.

    A score costs 4·d operations in the two products, and one exponential. Kernels that overlap the
    two can pass this; whatever else a kernel does keeps it below. A model, not a bound.
    """
    seconds_per_score = 4 * d / flops + 1 / exponentials
    return 4 * d / seconds_per_score


def roof(intensity: float, flops: float, bytes_: float) -> float:
    """Return the most FLOP/s at this many FLOPs per byte of traffic: the lower of two ceilings."""
    return min(flops, intensity * bytes_)


def intensities(n: int, d: int, element: int = 2) -> dict[str, float]:
    """Return FLOPs per byte of HBM traffic for one head, N_q = N_k = n, no mask.

    naive: S and P are each written and read once, element bytes an entry: 4·n²·d FLOPs over 4·n²
    elements (Q, K, V, O are small beside them). streaming: Q, K, V are read and O is written once,
    which a GPU comes near while K and V of a head stay in its L2 cache.
    """
    flops = 4 * n * n * d
    return {
        "naive": flops / (element * (4 * n * n + 4 * n * d)),
        "streaming": flops / (element * 4 * n * d),
    }


def measure() -> Ceilings:
    """Measure the three on this machine's GPU: a product, a copy, and exponentials in registers."""
    import torch

    from utils.kernels.exponentials import exponentials

    dtype = torch.bfloat16 if torch.cuda.get_device_capability() >= (8, 0) else torch.float16
    side, programs, rounds = 8192, 8192, 256
    a, b = torch.randn(2, side, side, device="cuda", dtype=dtype)
    product = 2 * side**3 / median_seconds(lambda: a @ b)
    copy = 2 * a.numel() * 2 / median_seconds(lambda: b.copy_(a))
    powers = programs * 1024 * rounds / median_seconds(lambda: exponentials(programs, rounds))
    return Ceilings(product, powers, copy)


def median_seconds(call: Callable, runs: int = 10) -> float:
    """Return the median time of a call on the GPU, after two that do not count."""
    import statistics

    import torch

    call(), call()
    times = []
    for _ in range(runs):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(2_000_000)  # the host gets ahead of the launch
        start.record()
        call()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) / 1000)
    return statistics.median(times)
