"""The kernel against float64 on sizes small enough for the interpreter; the layouts it must read."""

import itertools
import time

import numpy as np
import pytest
import torch

from tests.utils.kernels import many_calls
from tests.utils.kernels.conftest import GPU
from tests.utils.kernels.reference import PLACE, assert_right, plain, random_qkv
from utils.attention import naive_attention
from utils.device import LaunchSettings
from utils.kernels import flash_attention, forward

pytestmark = pytest.mark.filterwarnings(
    "error::RuntimeWarning"
)  # a warning in a graded cell costs its points
DTYPES = [torch.float16, torch.bfloat16, torch.float32]
FUZZ_SECONDS = 60 if GPU else 6
# B, H_q, H_kv, N_q, N_k, d
SHAPES = [
    (1, 1, 1, 96, 96, 64),
    (1, 2, 1, 1, 239, 32),
    (1, 1, 1, 113, 70, 59),
    (2, 2, 2, 70, 113, 40),
    (1, 4, 2, 33, 65, 128),
    (1, 3, 1, 65, 33, 16),
    (1, 1, 1, 40, 70, 256),
    (1, 1, 1, 50, 50, 1),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_as_exact_as_naive_attention(shape, causal, dtype):
    assert_right(*random_qkv(shape, dtype), causal)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_way_to_load_gives_the_same_bits(shape, causal, monkeypatch):
    """Pointers or descriptors, Q in shared memory or registers: a GPU's table chooses one of each.

    On a GPU, kernels with Q in registers were right, but not to the same bits: they are compiled apart.
    """
    if GPU and torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("this GPU has no copy engine for tiles")
    tensors, answers = random_qkv(shape), []
    for descriptors, q_in_registers in itertools.product((False, True), repeat=2):
        settings = LaunchSettings(32, 32, 4, 1, q_in_registers, descriptors=descriptors)
        monkeypatch.setattr(forward, "launch_settings", lambda *_, chosen=settings: chosen)
        answer = assert_right(*tensors, causal)
        if not (GPU and q_in_registers):
            answers.append(answer)
    assert all(all(map(torch.equal, answers[0], other)) for other in answers[1:])


@pytest.mark.parametrize("causal", [False, True])
def test_it_agrees_with_the_numpy_reference(causal):
    q, k, v = random_qkv((1, 1, 1, 37, 71, 24), torch.float32)
    out, lse = flash_attention(q, k, v, causal=causal, return_lse=True)
    true_out, true_lse = naive_attention(*(x[0, 0].cpu().numpy() for x in (q, k, v)), causal=causal)
    np.testing.assert_allclose(out[0, 0].cpu(), true_out, atol=2e-6)
    np.testing.assert_allclose(lse[0, 0].cpu(), true_lse, atol=2e-6)


@pytest.mark.parametrize("n_q, n_k", [(40, 70), (70, 40)])
def test_the_reference_aligned_top_left_is_told_apart(n_q, n_k):
    q, k, v = random_qkv((1, 1, 1, n_q, n_k, 16), torch.float32)
    out = flash_attention(q, k, v, causal=True)
    top_left, _ = plain(q, k, v, causal=True, offset=0)
    assert (out - top_left).abs().max() > 0.1


@pytest.mark.parametrize("scale", [1e-3, 1.0, 40.0])
def test_scales_and_wild_scores(scale):
    q, k, v = random_qkv((1, 2, 2, 70, 70, 32), torch.float16)
    assert_right(q, k, v, scale=scale)
    assert_right(q * 50, k * 50, v, causal=True, scale=scale)


def test_scores_that_rise_fall_and_stay_low():
    q, k, v = random_qkv((1, 1, 1, 70, 160, 16), torch.float32)
    for bias in (
        torch.linspace(0, 400, 160),
        torch.linspace(400, 0, 160),
        torch.full((160,), -200.0),
    ):
        q[..., 0], k[..., 0] = 4.0, bias.to(PLACE)  # d = 16: the scale is 1/4
        assert_right(q, k, v)
        assert_right(q, k, v, causal=True)


def test_batch_and_heads_in_either_order():
    q, k, v = (x.transpose(1, 2).contiguous() for x in random_qkv((2, 4, 2, 33, 47, 32)))
    assert_right(*(x.transpose(1, 2) for x in (q, k, v)), causal=True)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
@pytest.mark.parametrize("d", [1, 24, 32])
@pytest.mark.parametrize("descriptors", [False, True])
def test_axes_in_any_order_in_memory(descriptors, d, order, monkeypatch):
    """What is copied first, or padded, must come out with its features side by side."""
    if GPU and descriptors and torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("this GPU has no copy engine for tiles")
    settings = LaunchSettings(32, 32, 4, 1, descriptors=descriptors)
    monkeypatch.setattr(forward, "launch_settings", lambda *_: settings)
    back = [order.index(axis) for axis in range(4)]
    tensors = [x.permute(order).contiguous().permute(back) for x in random_qkv((2, 2, 1, 5, 7, d))]
    assert_right(*tensors, causal=True)


def test_a_last_dimension_that_is_not_contiguous():
    q, k, v = (x.transpose(2, 3).contiguous() for x in random_qkv((1, 2, 2, 33, 47, 32)))
    assert_right(*(x.transpose(2, 3) for x in (q, k, v)))


def test_windows_into_a_larger_buffer_at_odd_addresses():
    buffer = torch.full((3, 2, 60, 101), float("nan"), dtype=torch.float16, device=PLACE)
    q, k, v = buffer[:, :, 1:41:3, 1:34], buffer[:, :, 2:58:2, 35:68], buffer[:, :, 3:59:2, 68:]
    for target, x in zip((q, k, v), random_qkv((3, 2, 2, 14, 28, 33)), strict=True):
        target.copy_(x)
    assert_right(q, k, v, causal=True)


def test_overlapping_and_expanded_tensors():
    q, k, v = random_qkv((2, 4, 1, 33, 90, 32))
    k, v = k.expand(2, 4, 90, 32), v[:1].expand(2, 4, 90, 32)
    assert_right(q, k, v)
    line = random_qkv((1, 1, 1, 1, 40, 32))[1].reshape(-1)
    sliding = line.as_strided(
        (1, 1, 80, 32), (0, 0, 8, 1)
    )  # each row shares 24 features with the next
    assert_right(sliding, sliding, sliding, causal=True)


def test_calls_that_differ_are_counted(monkeypatch):
    """The trial of test_gpu.py, small: the kernel repeats itself, and one that does not is told."""
    longest, repeats = (3000, 25) if GPU else (40, 2)
    assert many_calls.differing_calls(0, 1, longest, repeats) == (repeats, 0)
    turns = itertools.count()
    monkeypatch.setattr(
        many_calls, "flash_attention", lambda q, *_, **__: torch.full_like(q, next(turns))
    )
    assert many_calls.differing_calls(0, 1, longest, repeats) == (repeats, repeats)


def test_inputs_are_left_alone_and_repeats_are_identical():
    tensors = random_qkv((1, 2, 1, 70, 70, 40))
    copies = [x.clone() for x in tensors]
    first, lse = flash_attention(*tensors, causal=True, return_lse=True)
    for _ in range(250 if GPU else 2):
        again, lse_again = flash_attention(*tensors, causal=True, return_lse=True)
        assert torch.equal(first, again) and torch.equal(lse, lse_again)
    assert all(torch.equal(x, y) for x, y in zip(tensors, copies, strict=True))


def test_rows_more_than_two_to_the_31_elements_apart(monkeypatch):
    monkeypatch.undo()  # a huge buffer, of which only the rows in use are ever touched
    n, stride = 136, 2**24
    buffer = torch.empty(n * stride, dtype=torch.float16, device=PLACE)
    spread = [buffer.as_strided((1, 1, n, 16), (0, 0, stride, 1), 16 * i) for i in range(3)]
    tensors = random_qkv((1, 1, 1, n, n, 16))
    for target, x in zip(spread, tensors, strict=True):
        target.copy_(x)
    assert torch.equal(flash_attention(*spread), flash_attention(*tensors))


def test_random_shapes_while_time_lasts():
    stop, seed = time.monotonic() + FUZZ_SECONDS, 0
    limit = 1500 if GPU else 150
    while time.monotonic() < stop:
        rng = np.random.default_rng(seed)
        h_kv, group = rng.integers(1, 4, 2)
        n_q, n_k = (int(limit ** rng.uniform(0, 1)) for _ in range(2))
        shape = (
            int(rng.integers(1, 3)),
            int(h_kv * group),
            int(h_kv),
            n_q,
            n_k,
            int(rng.integers(1, 257)),
        )
        dtype, causal = DTYPES[rng.integers(3)], bool(rng.integers(2))
        try:
            assert_right(*random_qkv(shape, dtype, seed), causal, scale=float(rng.uniform(0.01, 1)))
        except AssertionError as error:
            pytest.fail(f"seed {seed}, shape {shape}, {dtype}, causal={causal}: {error}")
        seed += 1
