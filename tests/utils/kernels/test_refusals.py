"""What flash_attention refuses: by name, with what it got and what is allowed."""

import re

import pytest
import torch

from tests.utils.kernels.reference import PLACE
from utils.kernels import flash_attention, forward


def made(*shape, dtype=torch.float16):
    return torch.zeros(shape, dtype=dtype, device=PLACE)


Q = made(2, 4, 5, 16)
WRONG = {
    "a list": (([[1.0]], Q, Q), "q must be a torch.Tensor, got list"),
    "three dimensions": ((Q, Q[0], Q), "k must have shape (B, H, N, d), got (4, 5, 16)"),
    "float64": ((Q, Q, Q.double()), "v must be float16, bfloat16 or float32, got torch.float64"),
    "mixed dtypes": ((Q, Q, Q.float()), "v must have q's dtype torch.float16, got torch.float32"),
    "another device": ((Q, Q.to("meta"), Q), f"k must be on q's device {Q.device}, got meta"),
    "a strange device": (
        (Q.to("meta"),) * 3,
        "q, k, v must be on an NVIDIA GPU or the CPU, got meta",
    ),
    "large d": ((made(1, 1, 3, 257),) * 3, "q must have 1 ≤ d ≤ 256, got d = 257"),
    "no d": ((made(1, 1, 3, 0),) * 3, "q must have 1 ≤ d ≤ 256, got d = 0"),
    "k's d": (
        (Q, made(2, 4, 5, 32), Q),
        "k must have q's B and d, (2, H_kv, N_k, 16), got (2, 4, 5, 32)",
    ),
    "k's batch": (
        (Q, made(1, 4, 5, 16), Q),
        "k must have q's B and d, (2, H_kv, N_k, 16), got (1, 4, 5, 16)",
    ),
    "v's length": (
        (Q, Q, made(2, 4, 6, 16)),
        "v must have k's shape (2, 4, 5, 16), got (2, 4, 6, 16)",
    ),
    "heads": (
        (Q, *[made(2, 3, 5, 16)] * 2),
        "q's heads must be a multiple of k's, got H_q = 4, H_kv = 3",
    ),
    "no key heads": ((Q, *[made(2, 0, 5, 16)] * 2), "got H_q = 4, H_kv = 0"),
}


@pytest.fixture(autouse=True)
def no_launch(monkeypatch):
    monkeypatch.setattr(forward, "attention_kernel", None)


@pytest.mark.parametrize("case", WRONG)
def test_tensors(case):
    tensors, message = WRONG[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        flash_attention(*tensors)


@pytest.mark.parametrize("scale", [0, 0.0, -1.0, float("nan"), float("inf"), "1", torch.ones(2)])
def test_scales(scale):
    with pytest.raises(ValueError, match="scale must be a positive, finite number, got "):
        flash_attention(Q, Q, Q, scale=scale)


def test_a_missing_gradient_is_refused_not_dropped():
    k = Q.clone().requires_grad_()
    with pytest.raises(ValueError, match="k requires a gradient"):
        flash_attention(Q, k, Q)
    with torch.no_grad(), pytest.raises(TypeError):  # it goes on to launch, which is cut off here
        flash_attention(Q, k, Q)


@pytest.mark.gpu
def test_bfloat16_needs_compute_capability_8(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    with pytest.raises(ValueError, match="bfloat16, which needs compute capability 8.0"):
        flash_attention(Q.bfloat16(), Q.bfloat16(), Q.bfloat16())
