"""Addresses that a kernel uses: those outside its tensors are told, far ones are refused.

That Triton's interpreter lets itself be watched is shown by the wrong kernels of lesson 10.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from utils.checks import watch
from utils.checks.guarded import Guarded
from utils.checks.watch import OutOfReach, inside, watched


class Interpreter:
    """Stands in for the part of Triton's interpreter that loads and stores."""

    def create_masked_load(self, pointers, mask, other):
        return other

    def create_masked_store(self, pointers, value, mask):
        return value


def pointers(memory: Guarded, *offsets: int) -> SimpleNamespace:
    size = memory.tensor.element_size()
    return SimpleNamespace(data=memory.tensor.data_ptr() + size * np.array(offsets))


def mask(*bits: bool) -> SimpleNamespace:
    return SimpleNamespace(data=np.array(bits))


@pytest.fixture
def interpreter(monkeypatch):
    stands_in = Interpreter()
    monkeypatch.setattr(watch, "builder", lambda: stands_in)
    return stands_in


@pytest.mark.parametrize("gap", [0, 2])
def test_what_lies_inside_a_tensor_with_gaps(gap):
    stride = 3 + gap
    tensor = torch.zeros(100).as_strided((2, 3), (stride, 1), 10)
    offsets = np.arange(-2, 2 * stride + 2)
    expected = [0 <= o < 2 * stride and o % stride < 3 for o in offsets]
    assert inside(tensor, offsets).tolist() == expected


def test_reads_outside_are_told_once_and_only_where_the_mask_lets_them(interpreter):
    x, out = Guarded([[1, 2], [3, 4]], gap=1), Guarded([0.0])
    with watched({"x": x, "out": out}) as strays:
        for _ in range(2):
            at = pointers(x, 0, 2, 4, -1, 7)
            assert interpreter.create_masked_load(at, mask(1, 1, 1, 1, 0), "loaded") == "loaded"
        assert interpreter.create_masked_store(pointers(out, 3), "stored", mask(1)) == "stored"
    assert strays == ["x + 2", "x − 1"]
    assert not vars(interpreter), "the interpreter is left as it was"


@pytest.mark.parametrize("access", ["load", "store"])
def test_an_address_in_nobodys_memory_is_refused_before_it_is_used(interpreter, access):
    x = Guarded([1.0])
    at = pointers(x, 10**6)
    with pytest.raises(OutOfReach, match="1,000,000 elements away from the start of x"):
        with watched({"x": x}):
            if access == "load":
                interpreter.create_masked_load(at, mask(True), None)
            else:
                interpreter.create_masked_store(at, None, mask(True))
    assert not vars(interpreter)


def test_compiled_kernels_are_not_watched():
    with watched({}) as strays:
        assert strays == []
