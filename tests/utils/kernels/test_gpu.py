"""What only a GPU can show: the full list of shapes, every launch setting, very large tensors."""

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.utils.kernels.reference import assert_right, plain, random_qkv
from utils.device import LAUNCH, UNMASKED, LaunchSettings
from utils.kernels import flash_attention, forward

pytestmark = pytest.mark.gpu
PAIRS = [(1, 239), (3, 799), (127, 512), (113, 203), (128, 217), (108, 256), (1023, 1024)]
PAIRS += [(n_k, n_q) for n_q, n_k in PAIRS]
SIDES = [32, 40, 59, 64, 80, 96, 111, 128, 160, 192, 224, 256]
DTYPES = [torch.float16, torch.bfloat16, torch.float32]
HEADS = [(4, 4), (4, 2), (4, 1)]
SETTINGS = {
    (side, size, LaunchSettings(*row[place]))
    for (_, size), row in LAUNCH.items()
    for place, side in enumerate((64, 128, 256))
} | {
    ((64, 128, 256)[place], size, LaunchSettings(*row))
    for (_, size, place), row in UNMASKED.items()
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("d", SIDES)
def test_all_shapes(d, causal, dtype):
    for (n_q, n_k), (h_q, h_kv) in itertools.product(PAIRS, HEADS):
        try:
            assert_right(*random_qkv((2, h_q, h_kv, n_q, n_k, d), dtype), causal)
        except AssertionError as error:
            pytest.fail(f"N_q={n_q} N_k={n_k} heads {h_q}/{h_kv}: {error}")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("d, size, settings", sorted(SETTINGS, key=str))
def test_every_launch_setting(d, size, settings, causal, monkeypatch):
    """Settings for other GPUs too, where this one has room: some have been wrong on a GPU alone."""
    monkeypatch.setattr(forward, "launch_settings", lambda *_: settings)
    for dtype in [x for x in DTYPES if x.itemsize == size]:
        for n_q, n_k in ((515, 515), (1024, 1024), (130, 700)):
            tensors = random_qkv((1, 4, 2, n_q, n_k, d), dtype)
            try:
                assert_right(*tensors, causal)
            except forward.triton.runtime.errors.OutOfResources:
                pytest.skip(f"{settings} needs more shared memory than this GPU has")


def test_65536_heads_and_more_than_two_to_the_31_outputs():
    q = torch.randn(512, 128, 257, 128, device="cuda", dtype=torch.float16)
    k, v = torch.randn(2, 512, 1, 100, 128, device="cuda", dtype=torch.float16)
    assert q.numel() > 2**31
    out = flash_attention(q, k, v, causal=True)
    for batch, head in ((0, 0), (255, 127), (256, 0), (511, 127)):
        one = q[batch : batch + 1, head : head + 1], k[batch : batch + 1], v[batch : batch + 1]
        true, _ = plain(*(x.double() for x in one), causal=True)
        torch.testing.assert_close(out[batch, head].double(), true[0, 0], atol=2e-3, rtol=2e-3)


def test_long_sequences():
    assert_right(*random_qkv((1, 2, 1, 8192, 8192, 128), torch.bfloat16), causal=True)
    assert_right(*random_qkv((1, 1, 1, 16, 65_537, 64), torch.float16), causal=True)


def test_kernels_that_are_interrupted_come_back_as_they_went():
    """Processes that share a GPU take turns; triton 3.6's warp-specialised kernels came back with NaN."""
    command = [sys.executable, str(Path(__file__).with_name("many_calls.py")), "15"]
    runs = [subprocess.Popen([*command, str(seed)]) for seed in range(3)]
    try:
        assert [run.wait(timeout=300) for run in runs] == [0, 0, 0]
    finally:
        for run in runs:
            run.kill()
