"""The FlashAttention forward pass in Triton: one program computes one query tile of one head.

The loop of lesson 06, line by line. Its outer loop over query tiles has become the grid: programs
run side by side, and none needs another's result. After FlashAttention-2 (Dao, 2023), Algorithm 1.
"""

import math

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from utils.device import interpreter_is_on, launch_settings
from utils.kernels.arguments import aligned, check_arguments

LOWEST = tl.constexpr(-3.4028234663852886e38)  # the lowest finite float32


@triton.jit
def load_tile(
    x, batch, head, first, end, stride,
    B: tl.constexpr, D: tl.constexpr, D_PAD: tl.constexpr, DESCRIPTORS: tl.constexpr,
):  # fmt: skip
    """Load rows first … first + B − 1 of one head, shape (B, D_PAD); zeros outside the tensor.

    Triton's tiles have powers of two as sides, so D features (80, say) are padded with zeros to
    D_PAD (128). With DESCRIPTORS x describes the whole tensor (B, H, N, D) and the GPU's copy
    engine finds the tile and its edges. Without, x points at the head's first element, stride is
    the step from one row to the next, and rows from `end` on are not read.
    """
    if DESCRIPTORS:
        tile = x.load([batch, head, first, 0]).reshape(B, D_PAD)
    else:
        rows = first + tl.arange(0, B)
        f = tl.arange(0, D_PAD)
        mask = (rows < end)[:, None]
        if D < D_PAD:
            mask = mask & (f < D)[None, :]
        # 64-bit offsets: row · stride may pass 2³¹ elements
        offsets = rows.to(tl.int64)[:, None] * stride + f[None, :]
        tile = tl.load(x + offsets, mask=mask, other=0.0)
    return tile


@triton.jit
def update(m, l, acc, scores, v_tile, scale_log2):
    """Merge one key tile into the state: scores (B_R, B_C), −∞ where hidden; v_tile (B_C, D_PAD).

    m (B_R,) counts in base 2, as GPUs compute 2^x, and is never −∞; l (B_R,) and acc (B_R, D_PAD)
    are relative to m.
    """
    # m_new = max(m, m̃); P̃ = e^{scale · S − m_new} and α = e^{m − m_new}
    m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)
    p = tl.exp2(scores * scale_log2 - m_new[:, None])
    alpha = tl.exp2(m - m_new)
    # Õ = α Õ + P̃ V and ℓ = α ℓ + Σ P̃
    acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None], input_precision="ieee")
    l = alpha * l + tl.sum(p, 1)
    return m_new, l, acc


# sizes are not specialised: one compiled kernel serves every length and number of heads
@triton.jit(do_not_specialize=["n_q", "n_k", "h_q", "group"])
def attention_kernel(
    q, k, v, out, lse,
    scale_log2,
    n_q, n_k, h_q, group,
    q_batch, q_head, q_row,
    k_batch, k_head, k_row,
    v_batch, v_head, v_row,
    CAUSAL: tl.constexpr, DESCRIPTORS: tl.constexpr, Q_IN_REGISTERS: tl.constexpr,
    UPDATE: tl.constexpr,
    D: tl.constexpr, D_PAD: tl.constexpr,
    B_R: tl.constexpr, B_C: tl.constexpr,
):  # fmt: skip
    """Write O_i (B_R, D) and L_i (B_R,) of one query tile; out and lse are contiguous."""
    # which tile? the tiles of one head follow each other, so they find its K and V in the cache
    t_r = tl.cdiv(n_q, B_R)
    number = tl.program_id(0) // t_r  # of batch · h_q heads
    i = tl.program_id(0) % t_r
    if CAUSAL:
        i = t_r - 1 - i  # of each head, the tiles that see most keys start first
    batch, head = number // h_q, number % h_q
    kv_head = head // group  # a group of query heads shares K, V
    if not DESCRIPTORS:
        q += batch.to(tl.int64) * q_batch + head.to(tl.int64) * q_head
        k += batch.to(tl.int64) * k_batch + kv_head.to(tl.int64) * k_head
        v += batch.to(tl.int64) * v_batch + kv_head.to(tl.int64) * v_head

    # how many keys does each row see? c ≤ r + N_k − N_q: the first row sees fewest, the last most
    rows = i * B_R + tl.arange(0, B_R)
    if CAUSAL:
        offset = n_k - n_q
        seen = tl.minimum(rows + offset + 1, n_k)
        seen_by_all = i * B_R + offset + 1
        seen_by_any = tl.minimum(i * B_R + B_R + offset, n_k)
    else:
        seen = tl.full([B_R], 0, tl.int32) + n_k
        seen_by_all = n_k
        seen_by_any = n_k

    # Nothing seen yet: the state of lesson 05, but for m. ℓ and Õ are 0, whatever m is; no score
    # lies below the lowest number, and from −∞ it could meet −∞ − (−∞), which is NaN.
    m = tl.full([B_R], LOWEST, tl.float32)
    l = tl.zeros([B_R], tl.float32)
    acc = tl.zeros([B_R, D_PAD], tl.float32)

    q_tile = load_tile(q, batch, head, i * B_R, n_q, q_row, B_R, D, D_PAD, DESCRIPTORS)
    # With Q in registers, the tiles before `whole`, whose keys every row sees, get a loop without a
    # mask; the other loop then masks every tile: with an `if`, P has come to lie on top of Q.
    whole = 0
    if Q_IN_REGISTERS:
        # a computed tile lies in registers; one only loaded is read from shared memory
        q_tile += 0.0
        whole = tl.maximum(seen_by_all, 0) // B_C * B_C
    for MASKED in tl.static_range(2):  # written out for MASKED = 0 and 1; either loop may be empty
        start, end = (whole, seen_by_any) if MASKED else (0, whole)
        # where there are two loops, the second has few tiles: two stages fill and empty sooner
        for c0 in tl.range(start, end, B_C, num_stages=2 if MASKED and Q_IN_REGISTERS else None):
            k_tile = load_tile(
                k, batch, kv_head, c0, seen_by_any, k_row, B_C, D, D_PAD, DESCRIPTORS
            )
            v_tile = load_tile(
                v, batch, kv_head, c0, seen_by_any, v_row, B_C, D, D_PAD, DESCRIPTORS
            )
            # S = Q Kᵀ, in float32; "ieee" keeps float32 inputs from being cut to TF32
            scores = tl.dot(q_tile, tl.trans(k_tile), input_precision="ieee")
            # a boundary tile, or the ragged tail
            if MASKED and (Q_IN_REGISTERS or c0 + B_C > seen_by_all):
                visible = (c0 + tl.arange(0, B_C))[None, :] < seen[:, None]
                scores = tl.where(visible, scores, -float("inf"))
            m, l, acc = UPDATE(m, l, acc, scores, v_tile, scale_log2)

    # O = Õ / ℓ and L = m + ln ℓ, from base 2 to base e; a row without a key gets 0 and −∞
    l = tl.where(l == 0.0, 1.0, l)
    acc *= (1.0 / l)[:, None]
    m += tl.log2(l)
    natural = tl.where(m == LOWEST, -float("inf"), m * 0.6931471805599453)
    f = tl.arange(0, D_PAD)
    mask = (rows < n_q)[:, None] & (f < D)[None, :]
    token = number.to(tl.int64) * n_q + rows
    tl.store(out + token[:, None] * D + f[None, :], acc.to(out.dtype.element_ty), mask=mask)
    tl.store(lse + token, natural, mask=rows < n_q)


def described(x, rows: int, d_pad: int) -> TensorDescriptor:
    """Return how the GPU's copy engine finds tiles of (rows, d_pad) in x (B, H, N, D)."""
    return TensorDescriptor(x, list(x.shape), list(x.stride()), [1, 1, rows, d_pad])


def flash_attention(q, k, v, *, causal=False, scale=None, return_lse=False, update=update):
    """Return softmax(scale · Q Kᵀ) V without ever storing S: O (B, H_q, N_q, d), like q.

    q: (B, H_q, N_q, d); k, v: (B, H_kv, N_k, d), H_q a multiple of H_kv: query head h uses K and V
    of head h // (H_q / H_kv). float16, bfloat16 or float32 (no TF32), 1 ≤ d ≤ 256, scale > 0, 1/√d
    unless given. Any strides; see `aligned` for which tensors are copied first.

    causal: query r sees key c iff c ≤ r + N_k − N_q: the last query sees every key ("bottom-right",
    as flash-attn from 2.1 on). PyTorch's is_causal=True aligns top-left, c ≤ r; the two agree when
    N_q = N_k. A row that sees no key gives O = 0 and L = −∞.

    return_lse: return (O, L); L (B, H_q, N_q) = ln Σ_c e^{scale · S_rc}, natural log, float32.

    update: how a key tile enters the state, a @triton.jit function like `update` above.

    A row whose scores all overflow to −∞ counts as one that sees no key. Key tiles that no row of a
    query tile sees are never read. A NaN or ∞ in V in a key tile that is read can reach all rows of
    the query tile, as 0 · NaN is NaN; in K it reaches only rows that see its key. Scores are
    float32, rounded by whole units beyond 10⁷: from some 10⁸ on O, from 10⁹ on L, can be wrong on a
    GPU.

    Forward only. Tensors on a GPU, or on the CPU in Triton's interpreter, where bfloat16 is
    computed in float32. Raises ValueError for arguments it cannot take, RuntimeError for a machine
    that cannot run it, before anything is launched.
    """
    check_arguments(q, k, v, scale)
    (batch, h_q, n_q, d), (h_kv, n_k), dtype = q.shape, k.shape[1:3], q.dtype
    if dtype == torch.bfloat16 and interpreter_is_on():  # the interpreter's own bfloat16 is wrong
        q, k, v = (x.float() for x in (q, k, v))
    capability = torch.cuda.get_device_capability(q.device) if q.is_cuda else None
    settings = launch_settings(capability, d, q.dtype, causal)
    q, k, v = (aligned(x) for x in (q, k, v))
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty((batch, h_q, n_q), dtype=torch.float32, device=q.device)
    d_pad = triton.next_power_of_2(q.shape[3])
    # a tensor without elements cannot be described
    descriptors = settings.descriptors and min(q.numel(), k.numel()) > 0
    strides = *q.stride()[:3], *k.stride()[:3], *v.stride()[:3]
    if descriptors:
        q = described(q, settings.b_r, d_pad)
        k, v = (described(x, settings.b_c, d_pad) for x in (k, v))
    programs = triton.cdiv(n_q, settings.b_r) * batch * h_q
    if programs > 0:
        scale = 1 / math.sqrt(d) if scale is None else scale
        with torch.cuda.device_of(out):
            attention_kernel[(programs,)](
                q, k, v, out, lse,
                scale * math.log2(math.e),  # e^x = 2^{x · log₂ e}: GPUs compute exp2
                n_q, n_k, h_q, h_q // h_kv,
                *strides,
                CAUSAL=causal, DESCRIPTORS=descriptors, Q_IN_REGISTERS=settings.q_in_registers,
                UPDATE=update, D=out.shape[3], D_PAD=d_pad, B_R=settings.b_r, B_C=settings.b_c,
                num_warps=settings.num_warps, num_stages=settings.num_stages,
                maxnreg=settings.max_registers,
            )  # fmt: skip
    out = out[..., :d].contiguous().to(dtype)
    return (out, lse) if return_lse else out
