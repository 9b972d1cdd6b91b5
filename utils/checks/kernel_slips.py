"""Lesson 10's five kernels, each with the slips that are made most often; SLIP names the one.

With SLIP = "none" they are right. Checks run them to explain a wrong answer. Imports triton.
"""

import triton
import triton.language as tl


class Slip:
    """A kernel with one slip, launched like any kernel: Slip(kernel, "no_mask")[grid](...)."""

    def __init__(self, kernel, name: str) -> None:
        self.kernel, self.name = kernel, name

    def __getitem__(self, grid):
        return lambda *args, **constants: self.kernel[grid](*args, **constants, SLIP=self.name)


@triton.jit
def copy(x, out, n, d, stride, B_R: tl.constexpr, B_C: tl.constexpr, SLIP: tl.constexpr):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    cols = tl.program_id(1) * B_C + tl.arange(0, B_C)
    if SLIP == "swapped":
        rows = tl.program_id(1) * B_R + tl.arange(0, B_R)
        cols = tl.program_id(0) * B_C + tl.arange(0, B_C)
    if SLIP == "one_number":
        cols = tl.program_id(0) * B_C + tl.arange(0, B_C)
    if SLIP == "not_times_side":
        rows, cols = tl.program_id(0) + tl.arange(0, B_R), tl.program_id(1) + tl.arange(0, B_C)
    mask = (rows < n)[:, None] & (cols < d)[None, :]
    if SLIP == "no_row_mask":
        mask = (rows >= 0)[:, None] & (cols < d)[None, :]
    if SLIP == "no_column_mask":
        mask = (rows < n)[:, None] & (cols >= 0)[None, :]
    if SLIP == "no_mask":
        mask = (rows >= 0)[:, None] & (cols >= 0)[None, :]
    far = rows.to(tl.int64)[:, None] * stride
    if SLIP == "int32":
        far = (rows[:, None] * stride).to(tl.int64)
    if SLIP == "stride_forgotten":
        far = rows.to(tl.int64)[:, None] * d
    to = rows[:, None] * d
    if SLIP == "stride_for_out":
        to = rows[:, None] * stride
    tl.store(out + to + cols[None, :], tl.load(x + far + cols[None, :], mask=mask), mask=mask)


@triton.jit
def row_max(
    x, out, n, stride, D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr, SLIP: tl.constexpr
):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    if SLIP == "not_times_side":
        rows = tl.program_id(0) + tl.arange(0, B_R)
    if SLIP == "arange":
        cols = tl.arange(0, D)
    else:
        cols = tl.arange(0, D_PAD)
    mask = (rows < n)[:, None] & (cols < D)[None, :]
    if SLIP == "no_column_mask":
        mask = (rows < n)[:, None] & (cols >= 0)[None, :]
    step = rows[:, None] * stride
    if SLIP == "stride_forgotten":
        step = rows[:, None] * D
    if SLIP == "other":
        tile = tl.load(x + step + cols[None, :], mask=mask, other=0.0)
    else:
        tile = tl.load(x + step + cols[None, :], mask=mask, other=-float("inf"))
    if SLIP == "sum":
        best = tl.sum(tile, 1)
    elif SLIP == "axis":
        best = tl.max(tile, 0)
    else:
        best = tl.max(tile, 1)
    if SLIP == "no_row_mask":
        tl.store(out + rows, best)
    else:
        tl.store(out + rows, best, mask=rows < n)


@triton.jit
def row_softmax(
    s, out, n_q, n_k, s_row, out_row, B_R: tl.constexpr, B_C: tl.constexpr, SLIP: tl.constexpr
):
    rows = tl.program_id(0) * B_R + tl.arange(0, B_R)
    inside = (rows < n_q)[:, None]
    end = n_k
    if SLIP == "tail_lost":
        end = n_k // B_C * B_C
    if SLIP == "no_row_mask":
        inside = (rows >= 0)[:, None]
    if SLIP == "stride_forgotten":
        s_row = n_k
    if SLIP == "stride_for_out":
        out_row = n_k
    outside = 0.0 if SLIP == "tail_weighs" else -float("inf")
    m = tl.full([B_R], 0.0 if SLIP == "m_starts_at_0" else -float("inf"), tl.float32)
    l = tl.zeros([B_R], tl.float32)
    for c0 in range(0, end, B_C):
        cols = c0 + tl.arange(0, B_C)
        mask = inside & (cols < n_k)[None, :]
        tile = tl.load(s + rows[:, None] * s_row + cols[None, :], mask=mask, other=outside)
        m_new = tl.maximum(m, tl.max(tile, 1))
        if SLIP == "tile_maximum":
            m_new = tl.max(tile, 1)
        alpha = tl.exp(m - m_new)
        p = tl.sum(tl.exp(tile - m_new[:, None]), 1)
        if SLIP == "not_rescaled":
            l = l + p
        elif SLIP == "alpha_upside_down":
            l = tl.where(m == -float("inf"), 0.0, l * tl.exp(m_new - m)) + p
        elif SLIP == "rescaled_after_adding":
            l = (l + p) * tl.where(m == -float("inf"), 1.0, alpha)
        elif SLIP == "only_the_last_tile":
            l = p
        else:
            l = l * alpha + p
        m = m_new
    for c0 in range(0, end, B_C):
        cols = c0 + tl.arange(0, B_C)
        mask = inside & (cols < n_k)[None, :]
        if SLIP == "no_column_mask":
            mask = inside & (cols >= 0)[None, :]
        tile = tl.load(s + rows[:, None] * s_row + cols[None, :], mask=mask, other=0.0)
        p = tl.exp(tile - m[:, None])
        if SLIP != "not_divided":
            p = p / l[:, None]
        tl.store(out + rows[:, None] * out_row + cols[None, :], p, mask=mask)


@triton.jit
def scores_tile(
    q, k, out, n_q, n_k, q_row, k_row, out_row,
    D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr, SLIP: tl.constexpr,
):  # fmt: skip
    i, j = tl.program_id(0), tl.program_id(1)
    if SLIP == "swapped":
        i, j = tl.program_id(1), tl.program_id(0)
    if SLIP == "one_number":
        j = i
    rows, cols = i * B_R + tl.arange(0, B_R), j * B_C + tl.arange(0, B_C)
    f = tl.arange(0, D_PAD)
    inside = f < D
    if SLIP == "no_feature_mask":
        inside = f >= 0
    if SLIP == "one_stride":
        k_row = q_row
    if SLIP == "input_strides_forgotten":
        q_row, k_row = D, D
    q_mask = (rows < n_q)[:, None] & inside[None, :]
    k_mask = (cols < n_k)[:, None] & inside[None, :]
    q_tile = tl.load(q + rows[:, None] * q_row + f[None, :], mask=q_mask, other=0.0)
    k_tile = tl.load(k + cols[:, None] * k_row + f[None, :], mask=k_mask, other=0.0)
    if SLIP == "not_transposed":
        tile = tl.dot(q_tile, k_tile)
    elif SLIP == "half":
        tile = tl.dot(q_tile, tl.trans(k_tile)).to(tl.float16)
    else:
        tile = tl.dot(q_tile, tl.trans(k_tile))
    mask = (rows < n_q)[:, None] & (cols < n_k)[None, :]
    if SLIP == "no_row_mask":
        mask = (rows >= 0)[:, None] & (cols < n_k)[None, :]
    if SLIP == "no_column_mask":
        mask = (rows < n_q)[:, None] & (cols >= 0)[None, :]
    if SLIP == "no_mask":
        mask = (rows >= 0)[:, None] & (cols >= 0)[None, :]
    step = n_k if SLIP == "stride_forgotten" else out_row
    tl.store(out + rows[:, None] * step + cols[None, :], tile, mask=mask)


@triton.jit
def two_products(
    q, k, v, out, n_q, n_k, q_head, q_row, k_head, k_row, v_head, v_row, out_head, out_row,
    D: tl.constexpr, D_PAD: tl.constexpr, B_R: tl.constexpr, B_C: tl.constexpr, SLIP: tl.constexpr,
):  # fmt: skip
    i, h = tl.program_id(0), tl.program_id(1)
    if SLIP == "swapped":
        i, h = tl.program_id(1), tl.program_id(0)
    if SLIP == "one_stride":
        k_head, k_row, v_head, v_row = q_head, q_row, q_head, q_row
        out_head, out_row = q_head, q_row
    if SLIP != "head_forgotten":
        q, k, v = q + h * q_head, k + h * k_head, v + h * v_head
    if SLIP != "out_head_forgotten":
        out += h * out_head
    rows, f = i * B_R + tl.arange(0, B_R), tl.arange(0, D_PAD)
    inside = (f < D)[None, :]
    if SLIP == "no_feature_mask":
        inside = (f >= 0)[None, :]
    mask = (rows < n_q)[:, None] & inside
    q_tile = tl.load(q + rows[:, None] * q_row + f[None, :], mask=mask, other=0.0)
    end = n_k
    if SLIP == "tail_lost":
        end = n_k // B_C * B_C
    acc = tl.zeros([B_R, D_PAD], tl.float32)
    for c0 in range(0, end, B_C):
        cols = c0 + tl.arange(0, B_C)
        k_mask = (cols < n_k)[:, None] & inside
        if SLIP == "no_key_mask":
            k_mask = (cols >= 0)[:, None] & inside
        k_rows = cols
        if SLIP == "k_not_moved":
            k_rows = tl.arange(0, B_C)
        k_tile = tl.load(k + k_rows[:, None] * k_row + f[None, :], mask=k_mask, other=0.0)
        s = tl.dot(q_tile, tl.trans(k_tile))
        if SLIP == "v_not_moved":
            cols = tl.arange(0, B_C)
        v_tile = tl.load(v + cols[:, None] * v_row + f[None, :], mask=k_mask, other=0.0)
        o = tl.dot(s.to(v_tile.dtype), v_tile)
        if SLIP == "only_the_last_tile":
            acc = o
        elif SLIP == "half":
            acc = (acc + o).to(tl.float16).to(tl.float32)
        else:
            acc += o
    if SLIP == "no_row_mask":
        mask = (rows >= 0)[:, None] & inside
    tl.store(out + rows[:, None] * out_row + f[None, :], acc, mask=mask)
