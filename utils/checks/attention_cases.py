"""Small attention problems whose scores are chosen, and their right answers. NumPy; torch to run."""

import math

import numpy as np

from utils.attention import naive_attention
from utils.checks import capstone_models
from utils.language import say

D = 16  # features of these problems: the least that tl.dot sums over
SHOWN = 4  # of which the first few are compared, so that a message stays short


def qkv_for_scores(scores, v=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q (N_q, D), k (N_k, D), v (N_k, D) with Q Kᵀ = scores, the same for every row.

    scores: (N_k,) for a single query, or (N_q, N_k) with equal rows. All numbers are exact in
    float16 if the scores are: q is 1 or 0, and k holds the scores in feature 0. v, unless given,
    tells every key and feature apart.
    """
    scores = np.atleast_2d(np.asarray(scores, dtype=float)).astype(np.float16).astype(float)
    n_q, n_k = scores.shape
    q, k = np.zeros((n_q, D)), np.zeros((n_k, D))
    q[:, 0], k[:, 0] = 1, scores[0]
    if v is None:
        v = (
            np.cos(np.arange(n_k)[:, None] * (0.3 + np.arange(D) / 8))
            + np.arange(n_k)[:, None] / 50
        )
    return q, k, v


def O_and_L(update, q, k, v, causal: bool, scale: float, dtype: str):
    """Run the lesson's kernel with this update on guarded q, k, v; return some features of O, and L."""
    from utils.checks.guarded import Guarded, must_be_a_kernel
    from utils.checks.heart_faults import must_return_three, named
    from utils.kernels.forward import flash_attention

    must_be_a_kernel(update, "fn")
    must_return_three(update)
    inputs = {name: Guarded(x[None, None], dtype) for name, x in zip("qkv", (q, k, v), strict=True)}
    tensors = [x.tensor for x in inputs.values()]
    how = {"causal": causal, "scale": scale, "return_lse": True, "update": update}
    try:
        answer = flash_attention(*tensors, **how)
    except Exception as error:
        raise named(error, update) from None
    for name, x in inputs.items():
        x.must_be_left_alone_outside(name)
    out, lse = (x[0, 0].double().cpu().numpy() for x in answer)
    return out[:, :SHOWN], lse


def wild_qkv(
    shape: tuple, wild: float, peak: bool, low: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q (B, H_q, N_q, d), k and v (B, H_kv, N_k, d), exact in float16.

    wild: how far scores rise and fall along the keys. peak: the last key has the score 1000 for
    every query. low: all scores lie near −1000.
    """
    b, h_q, h_kv, n_q, n_k, d = shape
    rng = np.random.default_rng(n_q + n_k)
    q = rng.standard_normal((b, h_q, n_q, d))
    k, v = rng.standard_normal((2, b, h_kv, n_k, d))
    v[..., 0] += np.arange(n_k) / 50  # far keys have other values
    if wild or peak or low:
        q[..., 0] = math.sqrt(d)
        k[..., 0] = wild * np.sin(np.arange(n_k) / 40) - 1000 * low
        k[..., -1, 0] += 1000 * peak
    return tuple(x.astype(np.float16) for x in (q, k, v))


def definition(q, k, v, causal: bool) -> np.ndarray:
    """Return O (B, H_q, N_q, d) by the definition, head by head."""
    group = q.shape[1] // k.shape[1]
    heads = [
        [
            naive_attention(q[b, h], k[b, h // group], v[b, h // group], causal=causal)[0]
            for h in range(len(q[b]))
        ]
        for b in range(len(q))
    ]
    return np.array(heads)


def guarded_call(attention, q, k, v, causal: bool):
    """Run a learner's attention on tensors inside poison, its own included; models get arrays."""
    if getattr(attention, "func", None) is capstone_models.attention:
        return rows_of(attention(q, k, v, causal))
    from utils.checks.allocations import GuardedAllocations
    from utils.checks.guarded import Guarded, unwrapped
    from utils.checks.watch import watched

    inputs = {name: Guarded(x, "float16") for name, x in zip("qkv", (q, k, v), strict=True)}
    with GuardedAllocations(dict(inputs)) as own, watched(own.memories) as strays, unwrapped():
        out = attention(*(x.tensor for x in inputs.values()), causal=causal)
    own.must_be_left_alone_outside()
    for name, x in inputs.items():
        x.must_be_left_alone(name)
        x.must_be_left_alone_outside(name)
    if out is None:
        return None
    must_be_like(out, inputs["q"].tensor)
    out = rows_of(out.detach().cpu().double().numpy())
    if strays and np.isfinite(out).all():  # NaN shows by itself where poison was read
        raise IndexError(
            say(
                en=f"the result is not the poison’s, but the kernel read outside its tensors: {', '.join(strays[:3])}"
                " (elements after the start). Give that load a mask, and other=0.0.",
                zh=f"结果里没有“毒”，但 kernel 读到了张量之外：{'、'.join(strays[:3])}（离开头的元素个数）。那个 load 要加掩码，并写 other=0.0。",
            )
        )
    return out


def must_be_like(out, q) -> None:
    """Raise TypeError or ValueError unless out is one tensor with the shape and the dtype of q."""
    if not hasattr(out, "dtype"):
        name = type(out).__name__
        raise TypeError(say(en=f"return O alone, not a {name}", zh=f"只返回 O，不要返回 {name}"))
    if out.shape != q.shape:
        raise ValueError(
            say(
                en=f"O has the shape {tuple(out.shape)}, but q has {tuple(q.shape)}",
                zh=f"O 的形状是 {tuple(out.shape)}，而 q 的是 {tuple(q.shape)}",
            )
        )
    if out.dtype != q.dtype:
        raise TypeError(
            say(
                en=f"O is {out.dtype}, but q is {q.dtype}: allocate it like q",
                zh=f"O 是 {out.dtype}，而 q 是 {q.dtype}：分配时请与 q 一致",
            )
        )


def rows_of(out):
    """Return O (B, H, N, d) as one row a query, (B·H·N, d): a message prints that in a few lines."""
    return out.reshape(-1, out.shape[-1])
