"""What the kernel's answers are held against: plain attention, written out, in torch."""

import math

import torch

from utils.kernels import flash_attention

PLACE = "cuda" if torch.cuda.is_available() else "cpu"


def plain(q, k, v, causal=False, scale=None, wide=torch.float64, offset=None):
    """Return O and L with S written out. Sums in `wide`; P is rounded to q's dtype as it is stored.

    q of dtype `wide` gives the reference itself. offset: n_k − n_q unless a test aligns otherwise.
    """
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, dim=1).to(wide) for x in (k, v))
    scale = 1 / math.sqrt(q.shape[3]) if scale is None else scale
    multiply = in_order if wide == torch.float32 == q.dtype else torch.matmul
    scores = multiply(q.to(wide), k.transpose(-1, -2)) * scale
    n_q, n_k = scores.shape[-2:]
    if causal:
        rows, cols = (torch.arange(n, device=q.device) for n in (n_q, n_k))
        offset = n_k - n_q if offset is None else offset
        scores.masked_fill_(cols[None, :] > rows[:, None] + offset, -math.inf)
    lse = torch.logsumexp(scores, -1)
    probs = torch.exp(scores - lse.nan_to_num(neginf=0.0)[..., None])
    return multiply(probs.to(q.dtype).to(wide), v).to(q.dtype), lse


def in_order(a, b):
    """Return a @ b, adding the products of every entry one after the other.

    With float32 inputs the sums have no spare digits, so naive attention's error depends on the
    order of its additions, which a library chooses by shape. The rule takes the plainest order.
    """
    total = torch.zeros(*a.shape[:-1], b.shape[-1], dtype=a.dtype, device=a.device)
    for f in range(a.shape[-1]):
        total += a[..., f : f + 1] * b[..., f : f + 1, :]
    return total


def unit(dtype, x) -> float:
    """Return one unit in the last place of dtype at the largest |x|."""
    largest = x.abs().max().item() if x.numel() else 0.0
    smallest = torch.finfo(dtype).smallest_normal
    return torch.finfo(dtype).eps * 2.0 ** math.floor(math.log2(max(largest, smallest)))


def largest(x) -> float:
    return x.abs().max().item() if x.numel() else 0.0


def assert_right(q, k, v, causal=False, scale=None, call=flash_attention):
    """Hold flash_attention, or another call like it, to the course's rule; return its O and L.

    max|O − ref64| ≤ 2 · max|naive − ref64| + one unit in the last place of the output dtype at the
    largest |ref64|, naive being in the same dtype with float32 sums and softmax. L likewise, with 8
    units of its float32: GPUs approximate exp2 and log2, and tensor cores cut sums. Rows without a
    key are exact.
    """
    out, lse = call(q, k, v, causal=causal, scale=scale, return_lse=True)
    assert out.shape == q.shape and out.dtype == q.dtype and out.device == q.device
    assert lse.shape == q.shape[:3] and lse.dtype == torch.float32
    true_out, true_lse = plain(q.double(), k.double(), v.double(), causal, scale)
    naive_out, naive_lse = plain(q, k, v, causal, scale, torch.float32)
    empty = torch.isneginf(true_lse)
    assert (lse[empty] == -math.inf).all() and (out[empty] == 0).all()
    error, allowed = largest(out - true_out), 2 * largest(naive_out - true_out)
    allowed += unit(q.dtype, true_out)
    assert error <= allowed, f"O is off by {error:.3e}, allowed {allowed:.3e}"
    lse_, true_lse, naive_lse = (x[~empty] for x in (lse, true_lse, naive_lse))
    error, allowed = largest(lse_ - true_lse), 2 * largest(naive_lse - true_lse)
    allowed += 8 * max(unit(torch.float32, true_lse), torch.finfo(torch.float32).eps)
    assert error <= allowed, f"L is off by {error:.3e}, allowed {allowed:.3e}"
    return out, lse


def random_qkv(shape, dtype=torch.float16, seed=0):
    """Return q, k, v; shape: B, H_q, H_kv, N_q, N_k, d."""
    batch, h_q, h_kv, n_q, n_k, d = shape
    generator = torch.Generator().manual_seed(seed)
    sizes = [(batch, h_q, n_q, d), (batch, h_kv, n_k, d), (batch, h_kv, n_k, d)]
    return [torch.randn(size, generator=generator).to(PLACE, dtype) for size in sizes]
