"""What flash_attention accepts, and what it copies before the kernel reads it.

Every refusal names the argument, what it got, and what is allowed.
"""

import math
from numbers import Real

import torch

from utils.device import interpreter_is_on, trouble
from utils.language import say

DTYPES = (torch.float16, torch.bfloat16, torch.float32)
LARGEST_D = 256


def check_arguments(q, k, v, scale) -> None:
    """Raise ValueError for arguments that no machine takes, RuntimeError where this one cannot."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        _check_tensor(name, x)
    _check_together(q, k, v)
    if scale is not None and not (isinstance(scale, Real) and 0 < scale < math.inf):
        raise ValueError(f"scale must be a positive, finite number, got {scale!r}")
    _check_machine(q)


def aligned(x):
    """Return x, or a copy when a GPU could not load it 16 bytes at a time.

    Loading element by element needs a register for every address, and the kernel has none to spare.
    So rows must be contiguous and start at multiples of 16 elements; the copy of a tensor whose d is
    no multiple of 16 is padded with zeros, which change no product.
    """
    if x.shape[3] % 16:
        # not torch's pad, which may keep x's order of axes in memory
        padded = x.new_zeros((*x.shape[:3], x.shape[3] + -x.shape[3] % 16))
        padded[..., : x.shape[3]] = x
        return padded
    steps = x.stride()
    if steps[3] == 1 and x.data_ptr() % 16 == 0 and all(step % 16 == 0 for step in steps[:3]):
        return x
    return x.clone(memory_format=torch.contiguous_format)


def _check_tensor(name: str, x) -> None:
    if not isinstance(x, torch.Tensor):
        raise ValueError(f"{name} must be a torch.Tensor, got {type(x).__name__}")
    if x.ndim != 4:
        raise ValueError(f"{name} must have shape (B, H, N, d), got {tuple(x.shape)}")
    if x.dtype not in DTYPES:
        raise ValueError(f"{name} must be float16, bfloat16 or float32, got {x.dtype}")
    if not 1 <= x.shape[3] <= LARGEST_D:
        raise ValueError(f"{name} must have 1 ≤ d ≤ {LARGEST_D}, got d = {x.shape[3]}")
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            f"{name} requires a gradient, and this kernel is forward only: call it under"
            f" torch.no_grad(), or with {name}.detach()"
        )


def _check_together(q, k, v) -> None:
    for name, x in (("k", k), ("v", v)):
        if x.dtype != q.dtype:
            raise ValueError(f"{name} must have q's dtype {q.dtype}, got {x.dtype}")
        if x.device != q.device:
            raise ValueError(f"{name} must be on q's device {q.device}, got {x.device}")
    (batch, h_q, _, d), h_kv = q.shape, k.shape[1]
    if k.shape[0] != batch or k.shape[3] != d:
        allowed = f"({batch}, H_kv, N_k, {d})"
        raise ValueError(f"k must have q's B and d, {allowed}, got {tuple(k.shape)}")
    if v.shape != k.shape:
        raise ValueError(f"v must have k's shape {tuple(k.shape)}, got {tuple(v.shape)}")
    if h_kv == 0 or h_q % h_kv:
        raise ValueError(f"q's heads must be a multiple of k's, got H_q = {h_q}, H_kv = {h_kv}")


def _check_machine(q) -> None:
    if q.device.type not in ("cuda", "cpu"):
        raise ValueError(f"q, k, v must be on an NVIDIA GPU or the CPU, got {q.device}")
    if interpreter_is_on():
        return
    if not q.is_cuda:
        raise RuntimeError(
            say(
                en="q, k, v are on the CPU, where the kernel runs in Triton's interpreter only, and"
                " that is off. Restart, and run the set-up cell first (or set TRITON_INTERPRET=1)"
                " before anything imports triton; or move the tensors to a GPU.",
                zh="q、k、v 在 CPU 上：那里 kernel 只能在 Triton 的解释器里运行，而解释器没有打开。请重启，"
                "在导入 triton 之前先运行准备单元格（或设置 TRITON_INTERPRET=1）；也可以把张量移到 GPU 上。",
            )
        )
    capability = torch.cuda.get_device_capability(q.device)
    if q.dtype == torch.bfloat16 and capability < (8, 0):
        raise ValueError(
            f"q, k, v are bfloat16, which needs compute capability 8.0; this GPU has"
            f" {capability[0]}.{capability[1]}: use float16"
        )
    if problem := trouble(capability):
        raise RuntimeError(problem)
