"""Answers to the exercises of lesson 10: right kernels, and typical wrong ones."""

import triton
import triton.language as tl

from utils.device import interpreter_is_on


@triton.jit
def copy_tile(x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    mask = (rows[:, None] < n) & (cols[None, :] < d)
    tile = tl.load(x + rows.to(tl.int64)[:, None] * stride + cols[None, :], mask=mask)
    tl.store(out + rows[:, None] * d + cols[None, :], tile, mask=mask)


@triton.jit
def copy_row_by_row(x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr):
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    for r in range(B_R):
        row = (tl.program_id(0) * B_R + r).to(tl.int64)
        mask = (cols < d) & (row < n)
        tl.store(out + row * d + cols, tl.load(x + row * stride + cols, mask, other=0), mask)


@triton.jit
def copy_no_row_mask(x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    mask = cols[None, :] < d
    tile = tl.load(x + rows[:, None] * stride + cols[None, :], mask=mask)
    tl.store(out + rows[:, None] * d + cols[None, :], tile, mask=mask)


@triton.jit
def copy_no_column_mask(x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    mask = rows[:, None] < n
    tile = tl.load(x + rows[:, None] * stride + cols[None, :], mask=mask)
    tl.store(out + rows[:, None] * d + cols[None, :], tile, mask=mask)


@triton.jit
def copy_no_mask(x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    tile = tl.load(x + rows[:, None] * stride + cols[None, :])
    tl.store(out + rows[:, None] * d + cols[None, :], tile)


@triton.jit
def copy_load_unmasked(x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr):
    rows = (tl.program_id(0) * B_R + tl.arange(0, B_R)).to(tl.int64)
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    tile = tl.load(x + rows[:, None] * stride + cols[None, :])
    mask = (rows[:, None] < n) & (cols[None, :] < d)
    tl.store(out + rows[:, None] * d + cols[None, :], tile, mask=mask)


@triton.jit
def copy_half_masked(
    x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr, SLIP: tl.constexpr
):
    """Masks that cover half, numbers of tiles that are used wrongly, an address far from all."""
    rows = (tl.program_id(0) * B_R + tl.arange(0, B_R)).to(tl.int64)
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    if SLIP == "one_number":
        cols = tl.program_id(0) * B_C + tl.arange(0, B_C)
    if SLIP == "not_times_side":
        rows = (tl.program_id(0) + tl.arange(0, B_R)).to(tl.int64)
        cols = tl.program_id(1) + tl.arange(0, B_C)
    mask = (rows[:, None] < n) & (cols[None, :] < d)
    if SLIP == "and":
        mask = (rows[:, None] < n) and (cols[None, :] < d)
    if SLIP == "or":
        mask = (rows[:, None] < n) | (cols[None, :] < d)
    if SLIP == "at_most":
        mask = (rows[:, None] <= n) & (cols[None, :] < d)
    of_load = mask
    if SLIP == "rows":
        of_load = (rows[:, None] < n) & (cols[None, :] >= 0)
    if SLIP == "cols":
        of_load = (rows[:, None] >= 0) & (cols[None, :] < d)
    if SLIP == "far":
        rows += 2**40
    tile = tl.load(x + rows[:, None] * stride + cols[None, :], mask=of_load)
    tl.store(out + rows[:, None] * d + cols[None, :], tile, mask=mask)


@triton.jit
def copy_sizes_fixed(x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr):
    rows = (tl.program_id(0) * 4 + tl.arange(0, 4)).to(tl.int64)
    cols = tl.program_id(1) * 8 + tl.arange(0, 8)
    mask = (rows[:, None] < n) & (cols[None, :] < d)
    tile = tl.load(x + rows[:, None] * stride + cols[None, :], mask=mask)
    tl.store(out + rows[:, None] * d + cols[None, :], tile, mask=mask)


@triton.jit
def copy_everything(x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr):
    """Every program copies the whole matrix."""
    for r0 in range(0, n, B_R):
        for c0 in range(0, d, B_C):
            rows = (r0 + tl.arange(0, B_R)).to(tl.int64)
            cols = c0 + tl.arange(0, B_C)
            mask = (rows[:, None] < n) & (cols[None, :] < d)
            tile = tl.load(x + rows[:, None] * stride + cols[None, :], mask=mask)
            tl.store(out + rows[:, None] * d + cols[None, :], tile, mask=mask)


@triton.jit
def copy_stride_d(x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    where = rows[:, None] * d + cols[None, :]
    mask = (rows[:, None] < n) & (cols[None, :] < d)
    tl.store(out + where, tl.load(x + where, mask=mask), mask=mask)


@triton.jit
def copy_stride_twice(x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    where = rows[:, None] * stride + cols[None, :]
    mask = (rows[:, None] < n) & (cols[None, :] < d)
    tl.store(out + where, tl.load(x + where, mask=mask), mask=mask)


@triton.jit
def copy_swapped(x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr):
    rows = tl.program_id(1) * B_R + tl.arange(0, B_R)
    cols = tl.program_id(0) * B_C + tl.arange(0, B_C)
    mask = (rows[:, None] < n) & (cols[None, :] < d)
    tile = tl.load(x + rows[:, None] * stride + cols[None, :], mask=mask)
    tl.store(out + rows[:, None] * d + cols[None, :], tile, mask=mask)


@triton.jit
def copy_int32(x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    mask = (rows[:, None] < n) & (cols[None, :] < d)
    tile = tl.load(x + rows[:, None] * stride + cols[None, :], mask=mask)
    tl.store(out + rows[:, None] * d + cols[None, :], tile, mask=mask)


@triton.jit
def max_tile(x, out, n, stride, D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.arange(0, D_PAD)
    mask = (rows[:, None] < n) & (cols[None, :] < D)
    tile = tl.load(x + rows[:, None] * stride + cols[None, :], mask, other=-float("inf"))
    tl.store(out + rows, tl.max(tile, axis=1), mask=rows < n)


@triton.jit
def max_where(x, out, n, stride, D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr):
    for r in range(B_R):
        row = tl.program_id(0) * B_R + r
        cols = tl.arange(0, D_PAD)
        values = tl.load(x + row * stride + cols, mask=(cols < D) & (row < n), other=0)
        tl.store(out + row, tl.max(tl.where(cols < D, values, -float("inf")), 0), mask=row < n)


@triton.jit
def max_no_other(x, out, n, stride, D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.arange(0, D_PAD)
    mask = (rows[:, None] < n) & (cols[None, :] < D)
    tile = tl.load(x + rows[:, None] * stride + cols[None, :], mask=mask)
    tl.store(out + rows, tl.max(tile, axis=1), mask=rows < n)


@triton.jit
def max_other_0(x, out, n, stride, D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.arange(0, D_PAD)
    mask = (rows[:, None] < n) & (cols[None, :] < D)
    tile = tl.load(x + rows[:, None] * stride + cols[None, :], mask=mask, other=0)
    tl.store(out + rows, tl.max(tile, axis=1), mask=rows < n)


@triton.jit
def max_half_right(
    x, out, n, stride, D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr, SLIP: tl.constexpr
):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.arange(0, D_PAD)
    if SLIP == "not_times_side":
        rows = tl.program_id(0) + tl.arange(0, B_R)
    where = x + rows[:, None] * stride + cols[None, :]
    if SLIP == "not_times_side":
        mask = (rows[:, None] < n) & (cols[None, :] < D)
        tile = tl.load(where, mask=mask, other=-float("inf"))
    if SLIP == "finite":
        tile = tl.load(where, mask=(rows[:, None] < n) & (cols[None, :] < D), other=-1e30)
    if SLIP == "rows":
        tile = tl.load(where, mask=cols[None, :] < D, other=-float("inf"))
    if SLIP == "cols":
        tile = tl.load(where, mask=rows[:, None] < n)
        tile = tl.where(cols[None, :] < D, tile, -float("inf"))
    tl.store(out + rows, tl.max(tile, axis=1), mask=rows < n)


@triton.jit
def max_arange_d(x, out, n, stride, D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    tile_at = x + rows[:, None] * stride + tl.arange(0, D)[None, :]
    tile = tl.load(tile_at, mask=rows[:, None] < n, other=-float("inf"))
    tl.store(out + rows, tl.max(tile, axis=1), mask=rows < n)


@triton.jit
def max_axis_0(x, out, n, stride, D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.arange(0, D_PAD)
    mask = (rows[:, None] < n) & (cols[None, :] < D)
    tile = tl.load(x + rows[:, None] * stride + cols[None, :], mask, other=-float("inf"))
    tl.store(out + rows, tl.max(tile, axis=0), mask=rows < n)


@triton.jit
def max_is_sum(x, out, n, stride, D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.arange(0, D_PAD)
    mask = (rows[:, None] < n) & (cols[None, :] < D)
    tile = tl.load(x + rows[:, None] * stride + cols[None, :], mask, other=0.0)
    tl.store(out + rows, tl.sum(tile, axis=1), mask=rows < n)


@triton.jit
def max_stride_d(x, out, n, stride, D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.arange(0, D_PAD)
    mask = (rows[:, None] < n) & (cols[None, :] < D)
    tile = tl.load(x + rows[:, None] * D + cols[None, :], mask, other=-float("inf"))
    tl.store(out + rows, tl.max(tile, axis=1), mask=rows < n)


@triton.jit
def max_no_column_mask(x, out, n, stride, D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.arange(0, D_PAD)
    tile = tl.load(x + rows[:, None] * stride + cols[None, :], rows[:, None] < n, other=-1e30)
    tl.store(out + rows, tl.max(tile, axis=1), mask=rows < n)


@triton.jit
def max_no_row_mask(x, out, n, stride, D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.arange(0, D_PAD)
    tile = tl.load(x + rows[:, None] * stride + cols[None, :], cols[None, :] < D, -float("inf"))
    tl.store(out + rows, tl.max(tile, axis=1))


@triton.jit
def softmax_two_loops(
    s, out, n_q, n_k, s_row, out_row, B_R: tl.constexpr, B_C: tl.constexpr, SLIP: tl.constexpr = ""
):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.arange(0, B_C)
    if SLIP == "stride":
        s_row = n_k
    if SLIP == "out_stride":
        out_row = n_k
    if SLIP == "stride_for_out":
        out_row = s_row
    if SLIP == "sizes":
        rows, cols = tl.program_id(0) * 4 + tl.arange(0, 4), tl.arange(0, 4)
    if SLIP == "no_rows":
        n_q = 1000
    end = n_k
    if SLIP == "floor":
        end = n_k // B_C * B_C
    here = s + rows[:, None] * s_row
    there = out + rows[:, None] * out_row
    m = tl.full(rows.shape, -1e38 if SLIP != "m0" else 0.0, tl.float32)
    l = tl.full(rows.shape, 0.0, tl.float32)
    for c0 in range(0, end, B_C):
        mask = (rows[:, None] < n_q) & (c0 + cols[None, :] < n_k)
        of_load = mask
        if SLIP == "reads_rows":
            of_load = (rows[:, None] >= 0) & (c0 + cols[None, :] < n_k)
        x = tl.load(here + c0 + cols[None, :], mask=of_load, other=-float("inf"))
        if SLIP == "tail":
            x = tl.where(mask, x, 0.0)
        old = m
        m = tl.maximum(old, tl.max(x, 1))
        if SLIP == "tile":
            m = tl.max(x, 1)
        new = tl.sum(tl.exp(x - m[:, None]), 1)
        if SLIP == "no_alpha":
            l += new
        elif SLIP == "upside_down":
            l = tl.where(l > 0, l / tl.exp(old - m), 0.0) + new
        elif SLIP == "after":
            l = (l + new) * tl.where(old > -1e37, tl.exp(old - m), 1.0)
        elif SLIP == "last":
            l = new
        else:
            l = l * tl.exp(old - m) + new
    for c0 in range(0, end, B_C):
        mask = (rows[:, None] < n_q) & (c0 + cols[None, :] < n_k)
        if SLIP == "store":
            mask = (rows[:, None] < n_q) & (cols[None, :] < B_C)
        p = tl.exp(tl.load(here + c0 + cols[None, :], mask=mask, other=0.0) - m[:, None])
        if SLIP != "undivided":
            p /= l[:, None]
        tl.store(there + c0 + cols[None, :], p, mask=mask)


@triton.jit
def softmax_lse(s, out, n_q, n_k, s_row, out_row, B_R: tl.constexpr, B_C: tl.constexpr):
    for r in range(B_R):
        row = tl.program_id(0) * B_R + r
        if row < n_q:
            lse = tl.full([1], -float("inf"), tl.float32)
            for c0 in range(0, n_k, B_C):
                cols = c0 + tl.arange(0, B_C)
                x = tl.load(s + row * s_row + cols, mask=cols < n_k, other=-float("inf"))
                top = tl.maximum(lse, tl.max(x, 0))
                lse = top + tl.log(tl.exp(lse - top) + tl.sum(tl.exp(x - top), 0))
            for c0 in range(0, n_k, B_C):
                cols = c0 + tl.arange(0, B_C)
                x = tl.load(s + row * s_row + cols, mask=cols < n_k, other=0.0)
                tl.store(out + row * out_row + cols, tl.exp(x - lse), mask=cols < n_k)


@triton.jit
def scores_dot(
    q, k, out, n_q, n_k, q_row, k_row, out_row,
    D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr,
    SLIP: tl.constexpr = "",
):  # fmt: skip
    i = tl.program_id(1 if SLIP == "swapped" else 0)
    j = tl.program_id(0 if SLIP == "swapped" or SLIP == "one_number" else 1)
    rows = i * B_R + tl.arange(0, B_R)
    cols = j * B_C + tl.arange(0, B_C)
    f = tl.arange(0, D_PAD)
    q_mask, k_mask = rows[:, None] < n_q, cols[None, :] < n_k
    if SLIP == "one_stride":
        k_row = q_row
    if SLIP == "tight":
        q_row, k_row = D, D
    if SLIP == "reads_queries":
        q_mask = rows[:, None] >= 0
    if SLIP == "reads_keys":
        k_mask = cols[None, :] >= 0
    if SLIP != "feature":
        q_mask, k_mask = q_mask & (f[None, :] < D), k_mask & (f[:, None] < D)
    q_tile = tl.load(q + rows[:, None] * q_row + f[None, :], mask=q_mask, other=0.0)
    if SLIP == "straight":
        k_at = k + cols[:, None] * k_row + f[None, :]
        k_tile = tl.load(k_at, mask=(cols[:, None] < n_k) & (f[None, :] < D), other=0.0)
    else:  # read transposed
        k_tile = tl.load(k + cols[None, :] * k_row + f[:, None], mask=k_mask, other=0.0)
    tile = tl.dot(q_tile, k_tile)
    if SLIP == "half":
        tile = tl.dot(q_tile, k_tile, out_dtype=tl.float16)
    mask = (rows[:, None] < n_q) & (cols[None, :] < n_k)
    if SLIP == "rows":
        mask = (rows[:, None] >= 0) & (cols[None, :] < n_k)
    if SLIP == "cols":
        mask = (rows[:, None] < n_q) & (cols[None, :] >= 0)
    if SLIP == "mask":
        mask = (rows[:, None] >= 0) & (cols[None, :] >= 0)
    if SLIP == "stride":
        out_row = n_k
    tl.store(out + rows[:, None] * out_row + cols[None, :], tile, mask=mask)


@triton.jit
def scores_summed(
    q, k, out, n_q, n_k, q_row, k_row, out_row,
    D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    s = tl.zeros([B_R, B_C], tl.float32)
    for f in range(D):
        a = tl.load(q + rows * q_row + f, mask=rows < n_q, other=0.0).to(tl.float32)
        b = tl.load(k + cols * k_row + f, mask=cols < n_k, other=0.0).to(tl.float32)
        s += a[:, None] * b[None, :]
    mask = (rows[:, None] < n_q) & (cols[None, :] < n_k)
    tl.store(out + rows[:, None] * out_row + cols[None, :], s, mask=mask)


@triton.jit
def scores_no_other(
    q, k, out, n_q, n_k, q_row, k_row, out_row,
    D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    f = tl.arange(0, D_PAD)
    q_mask = (rows[:, None] < n_q) & (f[None, :] < D)
    k_mask = (cols[:, None] < n_k) & (f[None, :] < D)
    q_tile = tl.load(q + rows[:, None] * q_row + f[None, :], mask=q_mask)
    k_tile = tl.load(k + cols[:, None] * k_row + f[None, :], mask=k_mask)
    mask = (rows[:, None] < n_q) & (cols[None, :] < n_k)
    s = tl.dot(q_tile, tl.trans(k_tile))
    tl.store(out + rows[:, None] * out_row + cols[None, :], s, mask=mask)


@triton.jit
def products_fused(
    q, k, v, out, n_q, n_k, q_head, q_row, k_head, k_row, v_head, v_row, out_head, out_row,
    D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr,
    SLIP: tl.constexpr = "",
):  # fmt: skip
    h = tl.program_id(0 if SLIP == "swapped" else 1).to(tl.int64)
    rows = tl.program_id(1 if SLIP == "swapped" else 0) * B_R + tl.arange(0, B_R)
    f = tl.arange(0, D_PAD)
    if SLIP == "sizes":
        rows = tl.program_id(0) * 16 + tl.arange(0, 16)
    if SLIP == "features":
        f_mask = f >= 0
    else:
        f_mask = f < D
    if SLIP == "one_stride":
        k_head, k_row, v_head, v_row = q_head, q_row, q_head, q_row
        out_head, out_row = q_head, q_row
    if SLIP != "head":
        q += h * q_head
        k += h * k_head
        v += h * v_head
    if SLIP != "out":
        out += h * out_head
    q_mask = (rows[:, None] < n_q) & f_mask[None, :]
    q_tile = tl.load(q + rows[:, None] * q_row + f[None, :], mask=q_mask, other=0.0)
    acc = tl.zeros(q_tile.shape, tl.float16 if SLIP == "half" else tl.float32)
    end = n_k // B_C * B_C if SLIP == "floor" else n_k
    for c0 in range(0, end, B_C):
        cols = c0 + tl.arange(0, B_C)
        mask = (cols[:, None] < n_k) & f_mask[None, :]
        if SLIP == "keys":
            mask = (f[None, :] < D) & (cols[:, None] >= 0)
        k_from = tl.arange(0, B_C) if SLIP == "k" else cols
        of_k = (f[None, :] < D) & (cols[:, None] >= 0) if SLIP == "reads_keys" else mask
        k_tile = tl.load(k + k_from[:, None] * k_row + f[None, :], mask=of_k, other=0.0)
        if SLIP == "reads_keys":
            k_tile = tl.where(mask, k_tile, 0.0)
        s = tl.dot(q_tile, tl.trans(k_tile)).to(tl.float16)
        v_from = tl.arange(0, B_C) if SLIP == "v" else cols
        v_tile = tl.load(v + v_from[:, None] * v_row + f[None, :], mask=mask, other=0.0)
        if SLIP == "last":
            acc = tl.dot(s, v_tile)
        elif SLIP == "half":
            acc += tl.dot(s, v_tile).to(tl.float16)
        else:
            acc = tl.dot(s, v_tile, acc)
    if SLIP == "rows":
        q_mask = f[None, :] + 0 * rows[:, None] < D
    tl.store(out + rows[:, None] * out_row + f[None, :], acc, mask=q_mask)


@triton.jit
def products_other_way(
    q, k, v, out, n_q, n_k, q_head, q_row, k_head, k_row, v_head, v_row, out_head, out_row,
    D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr,
):  # fmt: skip
    """Q (Kᵀ V): no softmax stands between, so the products may be grouped the other way."""
    h, f = tl.program_id(1), tl.arange(0, D_PAD)
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    q_mask = (rows[:, None] < n_q) & (f[None, :] < D)
    kv = tl.zeros([D_PAD, D_PAD], tl.float32)
    for c0 in range(0, n_k, B_C):
        cols = c0 + tl.arange(0, B_C)
        mask = (cols[:, None] < n_k) & (f[None, :] < D)
        k_tile = tl.load(k + h * k_head + cols[:, None] * k_row + f[None, :], mask, 0.0)
        v_tile = tl.load(v + h * v_head + cols[:, None] * v_row + f[None, :], mask, 0.0)
        kv += tl.dot(tl.trans(k_tile), v_tile)
    q_tile = tl.load(q + h * q_head + rows[:, None] * q_row + f[None, :], q_mask, 0.0)
    o = tl.dot(q_tile.to(tl.float32), kv, input_precision="ieee")
    tl.store(out + h * out_head + rows[:, None] * out_row + f[None, :], o, mask=q_mask)


class With:
    """A kernel above, with one of its slips."""

    def __init__(self, kernel, slip: str) -> None:
        self.kernel, self.slip = kernel, slip

    def __getitem__(self, grid):
        return lambda *args, **sizes: self.kernel[grid](*args, **sizes, SLIP=self.slip)


def where_watched(kernel, *slips: str) -> list:
    """Return a kernel's slips where its addresses are watched: on a GPU they would go unseen."""
    return [With(kernel, slip) for slip in slips if interpreter_is_on()]


TRUTH = {"a": False, "b": True, "c": False, "d": False, "e": True}

RIGHT = {
    "copy": [copy_tile, copy_row_by_row],
    "row_max": [max_tile, max_where],
    "row_softmax": [softmax_two_loops, softmax_lse],
    "tile_side": [
        lambda d: max(16, triton.next_power_of_2(d)),
        lambda d: 16 if d < 17 else 2 ** len(f"{d - 1:b}"),
    ],
    "scores_tile": [scores_dot, scores_summed],
    "two_products": [products_fused, products_other_way],
    "judge": [TRUTH],
}

WRONG = {
    "copy": {
        "swapped": [copy_swapped],
        "no_row_mask": [
            copy_no_row_mask,
            *(With(copy_half_masked, slip) for slip in ("or", "at_most")),
            *where_watched(copy_half_masked, "and"),  # what the compiler understands as "&"
        ],
        "no_column_mask": [copy_no_column_mask],
        "no_mask": [copy_no_mask],
        "stride_forgotten": [copy_stride_d],
        "one_number": [With(copy_half_masked, "one_number")],
        "not_times_side": [With(copy_half_masked, "not_times_side")],
        "stride_for_out": [copy_stride_twice],
        "int32": [copy_int32],
        "": [
            copy_load_unmasked,
            copy_sizes_fixed,
            copy_everything,
            *where_watched(copy_half_masked, "rows", "cols", "far"),
        ],
    },
    "row_max": {
        "other": [max_no_other, max_other_0],
        "arange": [max_arange_d],
        "axis": [max_axis_0],
        "sum": [max_is_sum],
        "stride_forgotten": [max_stride_d],
        "no_column_mask": [max_no_column_mask],
        "no_row_mask": [max_no_row_mask],
        "not_times_side": [With(max_half_right, "not_times_side")],
        "": [With(max_half_right, "finite"), *where_watched(max_half_right, "rows", "cols")],
    },
    "row_softmax": {
        "not_divided": [With(softmax_two_loops, "undivided")],
        "only_the_last_tile": [With(softmax_two_loops, "last")],
        "not_rescaled": [With(softmax_two_loops, "no_alpha")],
        "alpha_upside_down": [With(softmax_two_loops, "upside_down")],
        "rescaled_after_adding": [With(softmax_two_loops, "after")],
        "tail_weighs": [With(softmax_two_loops, "tail")],
        "no_column_mask": [With(softmax_two_loops, "store")],
        "m_starts_at_0": [With(softmax_two_loops, "m0")],
        "tile_maximum": [With(softmax_two_loops, "tile")],
        "no_row_mask": [With(softmax_two_loops, "no_rows")],
        "tail_lost": [With(softmax_two_loops, "floor")],
        "stride_forgotten": [With(softmax_two_loops, "stride")],
        "stride_for_out": [With(softmax_two_loops, s) for s in ("out_stride", "stride_for_out")],
        "": [
            With(softmax_two_loops, "sizes"),
            *where_watched(softmax_two_loops, "reads_rows"),
        ],
    },
    "tile_side": {
        "below_16": [triton.next_power_of_2],
        "multiple_of_16": [lambda d: (d + 15) // 16 * 16],
        "rounded_down": [lambda d: max(16, 2 ** (d.bit_length() - 1))],
        "doubled": [lambda d: max(16, 2 ** d.bit_length())],
    },
    "scores_tile": {
        "not_transposed": [With(scores_dot, "straight")],
        "swapped": [With(scores_dot, "swapped")],
        "stride_forgotten": [With(scores_dot, "stride")],
        "no_row_mask": [With(scores_dot, "rows")],
        "no_column_mask": [With(scores_dot, "cols")],
        "no_mask": [With(scores_dot, "mask")],
        "no_feature_mask": [With(scores_dot, "feature")],
        "half": [With(scores_dot, "half")],
        "input_strides_forgotten": [With(scores_dot, "tight")],
        "one_stride": [With(scores_dot, "one_stride")],
        "one_number": [With(scores_dot, "one_number")],
        "": [scores_no_other, *where_watched(scores_dot, "reads_queries", "reads_keys")],
    },
    "two_products": {
        "only_the_last_tile": [With(products_fused, "last")],
        "v_not_moved": [With(products_fused, "v")],
        "head_forgotten": [With(products_fused, "head")],
        "out_head_forgotten": [With(products_fused, "out")],
        "no_row_mask": [With(products_fused, "rows")],
        "no_key_mask": [With(products_fused, "keys")],
        "half": [With(products_fused, "half")],
        "tail_lost": [With(products_fused, "floor")],
        "k_not_moved": [With(products_fused, "k")],
        "swapped": [With(products_fused, "swapped")],
        "one_stride": [With(products_fused, "one_stride")],
        "no_feature_mask": [With(products_fused, "features")],
        "": [With(products_fused, "sizes"), *where_watched(products_fused, "reads_keys")],
    },
    "judge": {"": [{**TRUTH, key: not truth} for key, truth in TRUTH.items()]},
}
