"""One attention, three kernels: what the order of the two loops costs on a GPU (lesson 08).

    v1         one program per head      outer loop over key tiles, inner over query tiles
    v2_serial  one program per head      outer loop over query tiles, inner over key tiles
    v2         one program per query tile: the outer loop has become the grid

All call the same `visit` on the same tiles. v1 beside v2_serial shows the loop order, v2_serial
beside v2 the parallelism; v1 beside v2 would mix the two. After Algorithm 1 of FlashAttention (Dao
et al., 2022), whose division by ℓ at each visit is left out, and of FlashAttention-2 (Dao, 2023).
"""

import math

import torch
import triton
import triton.language as tl

from utils.device import interpreter_is_on
from utils.kernels.arguments import check_arguments


@triton.jit
def load_tile(x, first, end, B: tl.constexpr, D: tl.constexpr):
    """Load rows first … first + B − 1 of one head, (B, D), contiguous; zeros from row `end` on."""
    rows, f = first + tl.arange(0, B), tl.arange(0, D)
    return tl.load(x + rows[:, None] * D + f[None, :], mask=(rows < end)[:, None], other=0.0)


@triton.jit
def store_tile(x, tile, first, end, B: tl.constexpr, D: tl.constexpr):
    """Store what load_tile loads."""
    rows, f = first + tl.arange(0, B), tl.arange(0, D)
    place = x + rows[:, None] * D + f[None, :]
    tl.store(place, tile.to(x.dtype.element_ty), mask=(rows < end)[:, None])


@triton.jit
def no_keys(B_R: tl.constexpr, D: tl.constexpr):
    """Return the state m, ℓ, Õ of rows that have seen no key yet."""
    m = tl.full([B_R], -float("inf"), tl.float32)
    return m, tl.zeros([B_R], tl.float32), tl.zeros([B_R, D], tl.float32)


@triton.jit
def visit(
    q_tile, k_tile, v_tile, m, l, acc, r0, c0, n_q, n_k, scale_log2,
    CAUSAL: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr,
):  # fmt: skip
    """Take the key tile from c0 on into the state of the query tile from r0 on: lesson 05's update."""
    rows, cols = r0 + tl.arange(0, B_R), c0 + tl.arange(0, B_C)
    scores = tl.dot(q_tile, tl.trans(k_tile), input_precision="ieee")
    if CAUSAL:  # and the last query, r = N_q − 1, sees the last key
        visible = cols[None, :] <= rows[:, None] + (n_k - n_q)
    else:
        visible = cols[None, :] < n_k
    scores = tl.where(visible, scores, -float("inf"))
    m_new = tl.maximum(m, tl.max(scores, 1) * scale_log2)  # in base 2, as exp2 counts
    m_ref = tl.where(m_new == -float("inf"), 0.0, m_new)  # no key yet: −∞ − (−∞) is no number
    p = tl.exp2(scores * scale_log2 - m_ref[:, None])
    alpha = tl.exp2(m - m_ref)
    l = alpha * l + tl.sum(p, 1)
    acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None], input_precision="ieee")
    return m_new, l, acc


@triton.jit
def finish(m, l, acc, out, lse, r0, n_q, B_R: tl.constexpr, D: tl.constexpr):
    """Store O = Õ / ℓ and L = m + ln ℓ, from base 2 to base e; rows without a key: 0 and −∞."""
    rows = r0 + tl.arange(0, B_R)
    l = tl.where(l == 0.0, 1.0, l)
    store_tile(out, acc / l[:, None], r0, n_q, B_R, D)
    tl.store(lse + rows, (m + tl.log2(l)) * 0.6931471805599453, mask=rows < n_q)


@triton.jit
def load_state(m, l, acc, r0, n_q, B_R: tl.constexpr, D: tl.constexpr):
    rows = r0 + tl.arange(0, B_R)
    m_tile = tl.load(m + rows, mask=rows < n_q, other=-float("inf"))
    l_tile = tl.load(l + rows, mask=rows < n_q, other=0.0)
    return m_tile, l_tile, load_tile(acc, r0, n_q, B_R, D)


@triton.jit
def store_state(m, l, acc, m_tile, l_tile, acc_tile, r0, n_q, B_R: tl.constexpr, D: tl.constexpr):
    rows = r0 + tl.arange(0, B_R)
    tl.store(m + rows, m_tile, mask=rows < n_q)
    tl.store(l + rows, l_tile, mask=rows < n_q)
    store_tile(acc, acc_tile, r0, n_q, B_R, D)


@triton.jit(do_not_specialize=["n_q", "n_k"])
def v1_kernel(
    q, k, v, out, lse, m, l, acc, n_q, n_k, scale_log2,
    CAUSAL: tl.constexpr, D: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr,
):  # fmt: skip
    """One head. Its state lives in global memory: m, l (N_q,) and acc (N_q, D), all float32.

    A program is many threads, and Triton decides which of them loads or stores an element: one
    thread may load what another has stored, and several may load the same m and ℓ. Threads do not
    wait for each other by themselves. A barrier makes them: no visit loads a row before it is
    stored, and none stores a row while another thread has yet to load it.
    """
    head = tl.program_id(0).to(tl.int64)
    q, k, v, out = q + head * n_q * D, k + head * n_k * D, v + head * n_k * D, out + head * n_q * D
    lse, m, l, acc = lse + head * n_q, m + head * n_q, l + head * n_q, acc + head * n_q * D
    for r0 in range(0, n_q, B_R):
        m_i, l_i, acc_i = no_keys(B_R, D)
        store_state(m, l, acc, m_i, l_i, acc_i, r0, n_q, B_R, D)
    for c0 in range(0, n_k, B_C):
        k_tile, v_tile = load_tile(k, c0, n_k, B_C, D), load_tile(v, c0, n_k, B_C, D)
        # the first query tile that sees a key of this tile; all later ones do too
        first = tl.maximum(0, c0 + n_q - n_k) // B_R * B_R if CAUSAL else 0
        for r0 in range(first, n_q, B_R):
            tl.debug_barrier()
            q_tile = load_tile(q, r0, n_q, B_R, D)
            m_i, l_i, acc_i = load_state(m, l, acc, r0, n_q, B_R, D)
            tl.debug_barrier()
            m_i, l_i, acc_i = visit(
                q_tile, k_tile, v_tile, m_i, l_i, acc_i, r0, c0, n_q, n_k, scale_log2,
                CAUSAL, B_R, B_C,
            )  # fmt: skip
            store_state(m, l, acc, m_i, l_i, acc_i, r0, n_q, B_R, D)
    tl.debug_barrier()
    for r0 in range(0, n_q, B_R):
        m_i, l_i, acc_i = load_state(m, l, acc, r0, n_q, B_R, D)
        finish(m_i, l_i, acc_i, out, lse, r0, n_q, B_R, D)


@triton.jit
def query_tile(
    q, k, v, out, lse, head, r0, n_q, n_k, scale_log2,
    CAUSAL: tl.constexpr, D: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr,
):  # fmt: skip
    """The inner loop of both v2 kernels: one query tile, its state on chip throughout."""
    head = head.to(tl.int64)
    q, k, v, out = q + head * n_q * D, k + head * n_k * D, v + head * n_k * D, out + head * n_q * D
    seen = tl.minimum(n_k, r0 + B_R + n_k - n_q) if CAUSAL else n_k  # by the tile's last row
    q_tile = load_tile(q, r0, n_q, B_R, D)
    m, l, acc = no_keys(B_R, D)
    for c0 in range(0, seen, B_C):
        k_tile, v_tile = load_tile(k, c0, n_k, B_C, D), load_tile(v, c0, n_k, B_C, D)
        m, l, acc = visit(
            q_tile, k_tile, v_tile, m, l, acc, r0, c0, n_q, n_k, scale_log2, CAUSAL, B_R, B_C
        )
    finish(m, l, acc, out, lse + head * n_q, r0, n_q, B_R, D)


@triton.jit(do_not_specialize=["n_q", "n_k"])
def v2_serial_kernel(
    q, k, v, out, lse, n_q, n_k, scale_log2,
    CAUSAL: tl.constexpr, D: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr,
):  # fmt: skip
    """One head, its query tiles one after the other."""
    head = tl.program_id(0)
    for r0 in range(0, n_q, B_R):
        query_tile(q, k, v, out, lse, head, r0, n_q, n_k, scale_log2, CAUSAL, D, B_R, B_C)


@triton.jit(do_not_specialize=["n_q", "n_k"])
def v2_kernel(
    q, k, v, out, lse, n_q, n_k, scale_log2,
    CAUSAL: tl.constexpr, D: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr,
):  # fmt: skip
    """One query tile of one head; the tiles of a head follow each other."""
    t_r = tl.cdiv(n_q, B_R)
    head, r0 = tl.program_id(0) // t_r, tl.program_id(0) % t_r * B_R
    query_tile(q, k, v, out, lse, head, r0, n_q, n_k, scale_log2, CAUSAL, D, B_R, B_C)


ORDERS = ("v1", "v2_serial", "v2")


def loop_order_attention(
    q, k, v, *, order, b_r, b_c, causal=False, scale=None, num_warps=4, num_stages=1,
    return_lse=False,
):  # fmt: skip
    """Return O (B, H, N_q, d) like flash_attention, computed in one of the three loop orders.

    q: (B, H, N_q, d); k, v: (B, H, N_k, d), H the same; d a power of two, 16 … 128. order: "v1",
    "v2_serial" or "v2". b_r, b_c: rows of a query and of a key tile, powers of two from 16 on.
    causal: bottom-right; tiles that it hides are not visited. num_stages: from 2 on, v2 loads tiles
    ahead of their use; in v1 Triton does not, because of the barriers, so 1 compares like with like.
    return_lse: return (O, L), L (B, H, N_q) in float32. The bytes that each order asks for are those
    of utils/traffic.py (v1_bytes, v2_bytes). Raises ValueError for arguments it cannot take.
    """
    check_arguments(q, k, v, scale)
    check_tiles(q, k, order, b_r, b_c)
    (batch, heads, n_q, d), n_k, dtype = q.shape, k.shape[2], q.dtype
    if dtype == torch.bfloat16 and interpreter_is_on():  # the interpreter's own bfloat16 is wrong
        q, k, v = (x.float() for x in (q, k, v))
    q, k, v = (x.contiguous() for x in (q, k, v))
    out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    room = {"dtype": torch.float32, "device": q.device}
    lse = torch.empty(q.shape[:3], **room)
    scale = 1 / math.sqrt(d) if scale is None else scale
    sizes = n_q, n_k, scale * math.log2(math.e)
    sides = {"D": d, "B_R": b_r, "B_C": b_c}
    settings = {"CAUSAL": causal, **sides, "num_warps": num_warps, "num_stages": num_stages}
    programs = batch * heads
    if programs * n_q > 0:
        with torch.cuda.device_of(q):
            if order == "v1":
                state = [torch.empty(x, **room) for x in (lse.shape, lse.shape, q.shape)]  # m, ℓ, Õ
                v1_kernel[(programs,)](q, k, v, out, lse, *state, *sizes, **settings)
            elif order == "v2_serial":
                v2_serial_kernel[(programs,)](q, k, v, out, lse, *sizes, **settings)
            else:
                programs *= triton.cdiv(n_q, b_r)
                v2_kernel[(programs,)](q, k, v, out, lse, *sizes, **settings)
    out = out.to(dtype)
    return (out, lse) if return_lse else out


def check_tiles(q, k, order, b_r, b_c) -> None:
    """Raise ValueError for what flash_attention takes and these simple kernels do not."""
    if order not in ORDERS:
        raise ValueError(f"order must be one of {ORDERS}, got {order!r}")
    for name, side in (("b_r", b_r), ("b_c", b_c), ("d", q.shape[3])):
        if not (isinstance(side, int) and 16 <= side <= 128 and side & (side - 1) == 0):
            raise ValueError(f"{name} must be a power of two, 16 … 128, got {side!r}")
    if k.shape[1] != q.shape[1]:
        raise ValueError(f"k must have q's number of heads {q.shape[1]}, got {k.shape[1]}")
