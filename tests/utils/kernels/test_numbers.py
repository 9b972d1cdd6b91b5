"""Answers worked out by hand. Scores are set through q = 1, k = score, scale = 1, in one feature."""

import math

import pytest
import torch

from tests.utils.kernels.conftest import GPU
from tests.utils.kernels.reference import PLACE
from utils.device import LaunchSettings
from utils.kernels import flash_attention, forward


def attend(scores, values, **options):
    """Return O and L of one query whose scores and values (both lists) are given."""
    k, v = (
        torch.tensor(x, dtype=torch.float32, device=PLACE).reshape(1, 1, -1, 1)
        for x in (scores, values)
    )
    q = torch.ones(1, 1, 1, 1, device=PLACE)
    out, lse = flash_attention(q, k, v, scale=1.0, return_lse=True, **options)
    return out.item(), lse.item()


def test_softmax_has_base_e_and_so_has_l():
    out, lse = attend([0, 1], [0, 1])
    assert out == pytest.approx(math.e / (1 + math.e), rel=1e-6)  # base 2 would give 2/3
    assert lse == pytest.approx(math.log(1 + math.e), rel=1e-6)
    assert attend([0, math.log(3)], [1, 1])[1] == pytest.approx(math.log(4), rel=1e-6)


@pytest.mark.parametrize("first, second", [(0, 5), (5, 0), (0, 300), (300, 0), (-300, -305)])
def test_old_sums_are_rescaled_when_the_maximum_moves(first, second):
    scores = [first] * 40 + [second] * 60  # the change lies inside a tile and between tiles
    weight = 60 / (60 + 40 * math.exp(min(first - second, 700)))
    out, lse = attend(scores, [0] * 40 + [1] * 60)
    assert out == pytest.approx(weight, abs=1e-6)
    true = max(first, second) + math.log(
        40 * math.exp(first - max(first, second)) + 60 * math.exp(second - max(first, second))
    )
    assert lse == pytest.approx(true, rel=1e-6)


def test_tiles_are_weighted_not_averaged():
    out, _ = attend([0.0] * 128 + [10.0] * 128, [0.0] * 128 + [1.0] * 128)
    assert out == pytest.approx(1 / (1 + math.exp(-10)), rel=1e-6)


def test_many_equal_weights_add_up():
    ones = torch.ones(1, 1, 4096, 16, dtype=torch.float16, device=PLACE)
    out, lse = flash_attention(ones[:, :, :1] * 0, ones, ones, return_lse=True)
    assert (out == 1).all()  # a float16 sum of ones stops at 2048
    assert lse.item() == pytest.approx(math.log(4096), rel=1e-6)


def test_scores_do_not_overflow_float16():
    q = torch.full((1, 1, 2, 128), 256.0, dtype=torch.float16, device=PLACE)
    v = torch.arange(2.0, device=PLACE)[:, None].expand(2, 128).half()[None, None]
    out, lse = flash_attention(q, q, v, return_lse=True)
    assert (out == 0.5).all()
    assert lse[0, 0, 0].item() == pytest.approx(256 * 256 * math.sqrt(128) + math.log(2), rel=1e-6)


def test_the_default_scale_is_one_over_the_root_of_d():
    q = torch.tensor([[2.0, 0, 0, 0]], device=PLACE)[None, None]
    k = torch.tensor([[2.0, 0, 0, 0], [0, 0, 0, 0]], device=PLACE)[None, None]
    v = torch.tensor([[1.0] * 4, [0.0] * 4], device=PLACE)[None, None]
    assert flash_attention(q, k, v)[0, 0, 0, 0].item() == pytest.approx(0.880797, abs=1e-6)


def test_every_feature_counts():
    k = torch.zeros(1, 1, 2, 128, device=PLACE)
    k[0, 0, 0, 64:] = 1
    v = torch.tensor([1.0, 0.0], device=PLACE)[:, None].expand(2, 128)[None, None]
    assert flash_attention(k[:, :, :1], k, v)[0, 0, 0, 0].item() == pytest.approx(0.9965, abs=1e-4)


@pytest.mark.parametrize(
    "n_q, n_k, visible",
    [
        (2, 5, ["11110", "11111"]),
        (5, 2, ["00", "00", "00", "10", "11"]),
        (3, 3, ["100", "110", "111"]),
        (1, 4, ["1111"]),
    ],
)
def test_the_causal_mask_is_aligned_bottom_right(n_q, n_k, visible):
    q = torch.zeros(1, 1, n_q, 16, device=PLACE)  # all scores equal: O is the mean of what is seen
    v = torch.eye(n_k, 16, device=PLACE)[None, None]
    out, lse = flash_attention(q, q.new_zeros(1, 1, n_k, 16), v, causal=True, return_lse=True)
    mask = torch.tensor([[int(c) for c in row] for row in visible], device=PLACE)
    count = mask.sum(1, keepdim=True)
    torch.testing.assert_close(out[0, 0, :, :n_k], mask / count.clamp(min=1))
    torch.testing.assert_close(lse[0, 0], count[:, 0].float().log())


def test_query_heads_share_key_heads_in_groups():
    q = torch.zeros(1, 4, 1, 16, device=PLACE)
    v = torch.tensor([10.0, 20.0], device=PLACE).reshape(1, 2, 1, 1).expand(1, 2, 1, 16)
    assert flash_attention(q, v, v)[0, :, 0, 0].tolist() == [10, 10, 20, 20]


def test_rows_without_a_key_are_zero():
    v = torch.arange(8.0, device=PLACE).reshape(1, 1, 2, 4)
    q = torch.ones(1, 1, 40, 4, device=PLACE)  # a whole tile and more sees nothing
    out, lse = flash_attention(q, v, v, causal=True, return_lse=True)
    assert (out[0, 0, :38] == 0).all() and (lse[0, 0, :38] == -math.inf).all()
    assert out[0, 0, 38].tolist() == [0, 1, 2, 3] and lse[0, 0, 38].item() == 3


@pytest.fixture(params=[False, True], ids=["pointers", "descriptors"])
def loads(request, monkeypatch):
    """A GPU's table chooses one way to load; a tensor without elements has to pass both."""
    if GPU and request.param and torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("this GPU has no copy engine for tiles")
    settings = LaunchSettings(32, 32, 4, 1, descriptors=request.param)
    monkeypatch.setattr(forward, "launch_settings", lambda *_: settings)


@pytest.mark.usefixtures("loads")
@pytest.mark.parametrize("causal", [False, True])
def test_no_keys_at_all(causal):
    q, k = torch.ones(2, 2, 3, 8, device=PLACE), torch.ones(2, 1, 0, 8, device=PLACE)
    out, lse = flash_attention(q, k, k, causal=causal, return_lse=True)
    assert (out == 0).all() and (lse == -math.inf).all()


@pytest.mark.usefixtures("loads")
@pytest.mark.parametrize("shape", [(2, 2, 0, 8), (0, 2, 3, 8), (2, 0, 3, 8)])
def test_no_queries_at_all(shape):
    k = torch.ones(shape[0], 1, 3, 8, device=PLACE)
    out, lse = flash_attention(torch.ones(shape, device=PLACE), k, k, return_lse=True)
    assert out.shape == shape and lse.shape == shape[:3]


def test_nan_in_keys_that_no_row_of_a_tile_sees_is_never_read():
    k = torch.zeros(1, 1, 300, 16, device=PLACE)
    k[0, 0, 150:] = float("nan")
    q, v = torch.zeros(1, 1, 300, 16, device=PLACE), k + 3
    # the last 150 keys belong to another sequence, in the same memory
    out = flash_attention(q, k[:, :, :150], v[:, :, :150])
    torch.testing.assert_close(out, torch.full_like(out, 3))
    out = flash_attention(q, k, v, causal=True)
    torch.testing.assert_close(out[0, 0, :128], torch.full_like(out[0, 0, :128], 3))  # B_R ≤ 128
    assert out[0, 0, 150:].isnan().all()


def test_nan_in_a_hidden_key_does_not_reach_a_row():
    k, v = torch.zeros(1, 1, 3, 16, device=PLACE), torch.full((1, 1, 3, 16), 3.0, device=PLACE)
    k[0, 0, 1] = float("nan")
    out = flash_attention(torch.zeros_like(k), k, v, causal=True)
    assert (out[0, 0, 0] == 3).all() and out[0, 0, 1:].isnan().all()


def test_a_nan_query_gives_nan_in_its_row_alone():
    q = torch.zeros(1, 1, 5, 16, device=PLACE)
    q[0, 0, 2, 3] = float("nan")
    out = flash_attention(q, torch.zeros_like(q), torch.ones_like(q))
    assert out[0, 0, 2].isnan().all() and (out[0, 0, [0, 1, 3, 4]] == 1).all()
