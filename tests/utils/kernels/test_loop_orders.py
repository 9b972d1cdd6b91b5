"""Lesson 08's three kernels: each right by itself, all three with the same answer."""

import math
import re
from functools import partial

import numpy as np
import pytest
import torch

from tests.utils.kernels.conftest import GPU
from tests.utils.kernels.reference import PLACE, assert_right, random_qkv
from utils import attention
from utils.device import interpreter_is_on
from utils.kernels import loop_orders
from utils.kernels.loop_orders import ORDERS, loop_order_attention
from utils.traffic import v1_bytes, v2_bytes

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
SMALL = {"b_r": 32, "b_c": 16}
TIMED = {"b_r": 64, "b_c": 64, "num_warps": 4}  # tests/gpu/loop_orders.py
DTYPES = [torch.float16, torch.bfloat16, torch.float32]
# B, H, H, N_q, N_k, d
SHAPES = [
    (1, 2, 2, 64, 64, 32),
    (1, 1, 1, 70, 53, 16),
    (1, 1, 1, 33, 61, 128),
    (1, 1, 1, 80, 3, 16),
]


def in_order(order, **options):
    return partial(loop_order_attention, order=order, **SMALL | options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ORDERS)
def test_each_order_is_as_exact_as_naive_attention(order, shape, causal, dtype):
    assert_right(*random_qkv(shape, dtype), causal, call=in_order(order))


@pytest.mark.parametrize("b_r, b_c", [(16, 16), (16, 64), (64, 16), (128, 32)])
@pytest.mark.parametrize("order", ORDERS)
def test_other_tiles(order, b_r, b_c):
    tensors = random_qkv((1, 2, 2, 70, 130, 16), torch.float32)
    assert_right(*tensors, causal=True, call=in_order(order, b_r=b_r, b_c=b_c))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_wild_scores(order, causal):
    q, k, v = random_qkv((1, 1, 1, 70, 90, 32), torch.float16)
    assert_right(q * 50, k * 50, v, causal, call=in_order(order))
    q[..., 0], k[..., 0] = 8.0, torch.linspace(400, 0, 90).to(PLACE)
    assert_right(q, k, v, causal, call=in_order(order))
    assert_right(q, k.flip(2), v, causal, scale=1e-3, call=in_order(order))


@pytest.mark.parametrize("n_q, n_k", [(70, 113), (113, 70), (64, 64)])
@pytest.mark.parametrize("causal", [False, True])
def test_each_agrees_with_its_twin_in_numpy(causal, n_q, n_k):
    tensors = random_qkv((1, 1, 1, n_q, n_k, 16), torch.float32)
    arrays = [x[0, 0].cpu().numpy() for x in tensors]
    twins = {"v1": attention.tiled_attention_v1, "v2": attention.tiled_attention}
    for order in ORDERS:
        twin = twins[order[:2]](*arrays, **SMALL, causal=causal)
        ours = in_order(order)(*tensors, causal=causal, return_lse=True)
        for x, y in zip(ours, twin, strict=True):
            np.testing.assert_allclose(x[0, 0].cpu(), y, atol=3e-6, rtol=3e-6)


@pytest.mark.skipif(GPU, reason="compiled, the three may round in different places")
@pytest.mark.parametrize("causal", [False, True])
def test_the_orders_agree_to_the_last_bit(causal):
    tensors = random_qkv((1, 2, 2, 70, 53, 32))
    first, *others = (in_order(x)(*tensors, causal=causal, return_lse=True) for x in ORDERS)
    for out, lse in others:
        assert torch.equal(out, first[0]) and torch.equal(lse, first[1])


@pytest.mark.parametrize("order", ORDERS)
def test_repeats_are_identical_and_inputs_left_alone(order):
    tensors = random_qkv((1, 2, 2, 70, 53, 32))
    copies = [x.clone() for x in tensors]
    first, lse = in_order(order)(*tensors, return_lse=True)
    for _ in range(50 if GPU else 2):
        again, lse_again = in_order(order)(*tensors, return_lse=True)
        assert torch.equal(first, again) and torch.equal(lse, lse_again)
    assert all(torch.equal(x, y) for x, y in zip(tensors, copies, strict=True))


@pytest.mark.parametrize("order", ORDERS)
def test_tensors_that_are_not_contiguous(order):
    tensors = (x.transpose(1, 2).contiguous() for x in random_qkv((2, 2, 2, 33, 47, 16)))
    assert_right(*(x.transpose(1, 2) for x in tensors), causal=True, call=in_order(order))


@pytest.mark.parametrize("order", ORDERS)
def test_causal_tiles_that_are_hidden_are_not_visited(order):
    q, k, v = random_qkv((1, 1, 1, 64, 64, 16))
    v[:, :, 32:] = float("nan")  # 0 · NaN is NaN: it shows wherever a tile is visited
    out = in_order(order)(q, k, v, causal=True)
    assert out[:, :, :32].isfinite().all() and out[:, :, 32:].isnan().all()


@pytest.mark.skipif(not interpreter_is_on(), reason="only the interpreter can be watched")
@pytest.mark.parametrize("n_q, n_k", [(64, 64), (70, 53), (80, 3)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_the_bytes_are_those_of_the_closed_form(order, causal, n_q, n_k, monkeypatch):
    from triton.runtime.interpreter import InterpreterBuilder

    addresses = []
    for name in ("create_masked_load", "create_masked_store"):
        plain = getattr(InterpreterBuilder, name)

        def watched(self, pointers, *others, name=name, plain=plain):
            mask = others["store" in name]  # a store's value comes before its mask
            size = pointers.get_element_ty().primitive_bitwidth // 8
            addresses.extend((at, size) for at in pointers.data[mask.data].ravel().tolist())
            return plain(self, pointers, *others)

        monkeypatch.setattr(InterpreterBuilder, name, watched)
    tensors = random_qkv((1, 1, 1, n_q, n_k, 16))
    out, lse = in_order(order)(*tensors, causal=causal, return_lse=True)
    counted = dict.fromkeys((*"QKVOL", "state"), 0)
    for at, size in addresses:
        places = zip("QKVOL", (*tensors, out, lse), strict=True)
        inside = (x for x, y in places if 0 <= at - y.data_ptr() < y.nbytes)
        counted[next(inside, "state")] += size
    closed_form = v1_bytes if order == "v1" else v2_bytes
    expected = closed_form(n_q, n_k, 16, 16, **SMALL, causal=causal)
    expected["state"] = sum(expected.pop(name, 0) for name in ("m", "l", "acc"))
    assert counted == expected


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_no_keys_and_no_queries(order, causal):
    q, none = torch.ones(2, 2, 3, 16, device=PLACE), torch.ones(2, 2, 0, 16, device=PLACE)
    out, lse = in_order(order)(q, none, none, causal=causal, return_lse=True)
    assert (out == 0).all() and (lse == -math.inf).all()
    assert in_order(order)(none, q, q, causal=causal).shape == none.shape


Q = torch.zeros(1, 2, 5, 16, device=PLACE)
WRONG = {
    "order": ((Q, Q, Q), {"order": "v3"}, "order must be one of ('v1', 'v2_serial', 'v2')"),
    "b_r": ((Q, Q, Q), {"b_r": 48}, "b_r must be a power of two, 16 … 128, got 48"),
    "b_c": ((Q, Q, Q), {"b_c": 8}, "b_c must be a power of two, 16 … 128, got 8"),
    "a float": ((Q, Q, Q), {"b_c": 64.0}, "b_c must be a power of two, 16 … 128, got 64.0"),
    "d": ((Q[..., :8],) * 3, {}, "d must be a power of two, 16 … 128, got 8"),
    "heads": ((Q, Q[:, :1], Q[:, :1]), {}, "k must have q's number of heads 2, got 1"),
    "dtype": ((Q, Q.half(), Q), {}, "k must have q's dtype torch.float32, got torch.float16"),
    "scale": ((Q, Q, Q), {"scale": 0}, "scale must be a positive, finite number, got 0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_refused(case, monkeypatch):
    for kernel in ("v1_kernel", "v2_serial_kernel", "v2_kernel"):
        monkeypatch.setattr(loop_orders, kernel, None)
    tensors, options, message = WRONG[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        loop_order_attention(*tensors, **{"order": "v1", **SMALL, **options})


@pytest.mark.gpu
@pytest.mark.parametrize("d, num_stages", [(64, 1), (64, 2), (128, 1), (128, 2)])
@pytest.mark.parametrize("order", ORDERS)
def test_the_settings_that_are_timed(order, d, num_stages):
    """Memory is poisoned with NaN here, so a row of the state that is read too early shows."""
    call = in_order(order, **TIMED, num_stages=num_stages)
    for n_q, n_k in ((512, 512), (1000, 515), (515, 1000)):
        for causal in (False, True):
            tensors = random_qkv((1, 16, 16, n_q, n_k, d))
            first = assert_right(*tensors, causal, call=call)
            for _ in range(50):
                again = call(*tensors, causal=causal, return_lse=True)
                assert all(torch.equal(x, y) for x, y in zip(first, again, strict=True))


@pytest.mark.gpu
def test_the_orders_agree_on_many_heads():
    """528 heads are several waves of programs; the outputs may differ in their last places alone."""
    tensors = random_qkv((4, 132, 132, 1024, 1024, 64))
    first, *others = (in_order(x, **TIMED)(*tensors) for x in ORDERS)
    for out in others:
        torch.testing.assert_close(out, first, atol=1e-3, rtol=1e-3)
