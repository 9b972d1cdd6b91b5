"""Time and memory of attention on this machine's GPU: the methods that lesson 11 compares.

Everything is measured with CUDA events and PyTorch's own memory counters; torch is imported when a
function is called, so that a machine without it can still import the module.
"""

import importlib.util
import math
import statistics
from collections.abc import Callable


def attention_flops(batch: int, heads: int, n_q: int, n_k: int, d: int, causal: bool) -> float:
    """Return the floating-point operations of one forward pass: two products of 2·N_q·N_k·d each.

    Causal counts half of them, whatever a kernel really computes (the usual convention; FlashAttention-2,
    section 4.1).
    """
    return 4 * batch * heads * n_q * n_k * d / (2 if causal else 1)


def naive(q, k, v, causal: bool = False):
    """Return attention with S and P written out: q, k, v (B, H, N, d), softmax in float32."""
    import torch

    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        n_q, n_k = scores.shape[-2:]
        visible = torch.ones(n_q, n_k, dtype=torch.bool, device=q.device).tril(n_k - n_q)
        scores = scores.masked_fill(~visible, -math.inf)
    return torch.softmax(scores, dim=-1, dtype=torch.float32).to(v.dtype) @ v


def sdpa(backend: str, causal: bool) -> Callable:
    """Return PyTorch's scaled_dot_product_attention held to one backend, for N_q = N_k."""
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def call(q, k, v):
        with sdpa_kernel(getattr(SDPBackend, backend)):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return call


def flash_attention_3(causal: bool) -> Callable:
    """Return FlashAttention-3's forward pass, from the wheel `fa3-fwd` (GPUs of capability 9.0)."""

    def call(q, k, v):
        from fa3_fwd_interface import flash_attn_func

        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return flash_attn_func(q, k, v, causal=causal).transpose(1, 2)

    return call


def methods(flash_attention: Callable, causal: bool) -> dict[str, Callable]:
    """Return name → call(q, k, v) of every method to compare; some may refuse a GPU or a dtype."""
    installed = importlib.util.find_spec("fa3_fwd_interface") is not None
    return {
        "this course": lambda q, k, v: flash_attention(q, k, v, causal=causal),
        "SDPA flash": sdpa("FLASH_ATTENTION", causal),
        "SDPA cuDNN": sdpa("CUDNN_ATTENTION", causal),
        "SDPA mem-efficient": sdpa("EFFICIENT_ATTENTION", causal),
        "naive": lambda q, k, v: naive(q, k, v, causal),
    } | ({"FlashAttention-3": flash_attention_3(causal)} if installed else {})


def runnable(calls: dict[str, Callable], tensors) -> tuple[dict[str, Callable], dict[str, str]]:
    """Return the calls that work on these tensors, and for the others the reason they gave."""
    import warnings

    works, refused = {}, {}
    for name, call in calls.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # SDPA explains a refusal in warnings
                call(*tensors)
            works[name] = call
        except Exception as error:  # out of memory, no such backend, dtype not supported
            refused[name] = (str(error).splitlines() or [type(error).__name__])[0]
    return works, refused


def race(
    calls: dict[str, Callable], tensors, rounds: int = 15, warm_ups: int = 3
) -> dict[str, float]:
    """Return the median milliseconds of each call, measured in turns so that clocks drift for all."""
    names, times = list(calls), {name: [] for name in calls}
    for name in names:
        for _ in range(warm_ups):
            calls[name](*tensors)
    repeats = {name: repeats_for(calls[name], tensors) for name in names}
    for number in range(rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            times[name].append(milliseconds(calls[name], tensors, repeats[name]))
    return {name: statistics.median(values) for name, values in times.items()}


def milliseconds(call: Callable, tensors, repeats: int) -> float:
    """Return the milliseconds of one call among repeats of them, launched while the GPU sleeps.

    Some 10 ms of sleep let the host get ahead of all the launches. When it did not, waiting for it
    would be counted too: the same again with twice the sleep, three times at most.
    """
    import torch

    for cycles in (20_000_000, 40_000_000, 80_000_000, 160_000_000):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(cycles)
        start.record()
        for _ in range(repeats):
            call(*tensors)
        stop.record()
        ahead = not start.query()  # the GPU still sleeps
        stop.synchronize()
        if ahead:
            break
    return start.elapsed_time(stop) / repeats


def repeats_for(call: Callable, tensors, span: float = 5.0) -> int:
    """Return how many calls fill about `span` milliseconds."""
    import torch

    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call(*tensors)
    stop.record()
    stop.synchronize()
    return max(1, min(20, round(span / max(start.elapsed_time(stop), 1e-3))))


def random_tensors(batch: int, heads: int, n: int, d: int, dtype):
    """Return q, k, v of shape (B, H, N, d) on the GPU, standard normal."""
    import torch

    return torch.randn(3, batch, heads, n, d, device="cuda", dtype=dtype).unbind(0)


def speed_rows(
    flash_attention: Callable,
    points,
    tokens: int,
    dtype,
    rounds: int = 15,
    say=print,
    others: Callable = lambda causal: {},
):
    """Measure every point (d, causal, n); yield a dict for each method that ran.

    tokens: batch·n; heads are 2048/d, as in the papers. Naive takes part while its S stays small.
    others(causal): more methods for the race, name → call(q, k, v).
    """
    import torch

    room = torch.cuda.get_device_properties(0).total_memory
    for d, causal, n in points:
        batch, heads = max(1, tokens // n), 2048 // d
        calls = methods(flash_attention, causal) | others(causal)
        if (
            12 * batch * heads * n * n > room / 2
        ):  # S and P in 2 bytes, the softmax in 4, and one more
            del calls["naive"]
        tensors = random_tensors(batch, heads, n, d, dtype)
        calls, refused = runnable(calls, tensors)
        for name, reason in refused.items():
            say(f"d={d} causal={causal} N={n}: {name} refuses: {reason[:90]}")
        for name, ms in race(calls, tensors, rounds).items():
            tflops = attention_flops(batch, heads, n, n, d, causal) / ms / 1e9
            yield {"method": name, "d": d, "causal": causal, "n": n, "ms": ms, "tflops": tflops}


def peak_extra_bytes(call: Callable, tensors) -> int:
    """Return the most memory in use during the call, beyond what was in use before it."""
    import torch

    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call(*tensors)
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def memory_rows(flash_attention: Callable, sizes, heads: int, d: int, dtype, say=print):
    """Yield for each N and method the extra bytes of one call; naive ends where it runs out."""
    import torch

    calls = {"this course": flash_attention, "naive": naive}
    for n in sizes:
        tensors = random_tensors(1, heads, n, d, dtype)
        for name in list(calls):
            try:
                extra = peak_extra_bytes(calls[name], tensors)
            except torch.cuda.OutOfMemoryError:
                say(f"{name} runs out of memory at N = {n:,}")
                del calls[name]
                continue
            yield {"method": name, "n": n, "bytes": extra}
