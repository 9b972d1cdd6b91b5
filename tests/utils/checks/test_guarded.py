"""Guarded memory: what is written or read outside a tensor shows."""

import numpy as np
import pytest
import torch

from utils.checks.guarded import (
    FarApart,
    Guarded,
    WroteOutside,
    launch,
    loads_without,
    output,
)


class Kernel:
    """A function that stands in for a kernel: kernel[grid](...)."""

    def __init__(self, run) -> None:
        self.run = run

    def __getitem__(self, grid):
        return self.run


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4)])
def test_a_tensor_lies_in_poison_with_gaps(shape):
    values = np.arange(np.prod(shape), dtype=float).reshape(shape)
    memory = Guarded(values, gap=2)
    assert (memory.array() == values).all()
    assert torch.isnan(memory.buffer).sum() == memory.buffer.numel() - values.size
    assert memory.strides[-1] == 1 and tuple(memory.tensor.stride()) == memory.strides
    memory.must_be_left_alone_outside("x")


def test_writing_inside_is_right_and_what_is_left_out_shows():
    def run(x, out):
        out[0] = x[0]

    got = launch(Kernel(run), (1,), {"x": Guarded([[1, 2]])}, output(2, 2))
    assert (got == [[1, 2], [-99, -99]]).all()


@pytest.mark.parametrize("name", ["x", "out"])
@pytest.mark.parametrize("offset", [-1, 2, 4])
def test_writing_outside_or_into_a_gap_is_found(name, offset):
    ins, out = {"x": Guarded(np.zeros((2, 2)), gap=1)}, output(2, 2, gap=1)
    memory = ins["x"] if name == "x" else out

    def run(*_):
        memory.buffer[memory.guard + offset] = 5

    if offset == 4:  # an element of row 1
        launch(Kernel(run), (1,), ins, out)
    else:
        with pytest.raises(
            WroteOutside, match=rf"1 elements outside {name}; the first lies {offset}"
        ):
            launch(Kernel(run), (1,), ins, out)


def test_what_is_read_outside_and_written_outside_shows():
    """The poison of inputs and of outputs differs, else a copy past both ends would go unseen."""
    ins, out = {"x": Guarded([1.0, 2.0])}, output(2)

    def run(*_):
        here = slice(out.guard, out.guard + 3)
        out.buffer[here] = ins["x"].buffer[here]

    with pytest.raises(WroteOutside):
        launch(Kernel(run), (1,), ins, out)


def test_the_kernels_own_error_is_raised_without_wrapping():
    def run(*_):
        raise RuntimeError("wrapped") from ValueError("arange's range must be a power of 2")

    with pytest.raises(ValueError, match="power of 2"):
        launch(Kernel(run), (1,), {}, output(1))


def test_an_offset_that_wraps_around_stays_in_the_same_memory():
    far = FarApart(np.array([[1], [2], [3]]), 2**30)
    wrapped = int((np.array([2], np.int32) * np.int32(2**30))[0])
    assert far.array().ravel().tolist() == [1, 2, 3]
    assert far.buffer[far.tensor.storage_offset() + wrapped] == 99


def test_loads_without_are_found_in_the_text():
    def kernel(x, tl):
        tl.load(x)
        tl.load(x, x > 0)
        tl.load(x, mask=x > 0, other=0)
        tl.load(x, x > 0, 0.0)

    assert loads_without(kernel, "mask") == ["tl.load(x)"]
    assert loads_without(kernel, "mask", "other") == ["tl.load(x)", "tl.load(x, x > 0)"]
    assert loads_without(len, "mask") == []
