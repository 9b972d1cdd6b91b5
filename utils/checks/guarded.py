"""Memory in which a kernel that leaves its tensors is found out, instead of breaking the process.

Every tensor is part of a larger buffer; what surrounds it, and the gaps between its rows, holds
poison. Reading outside brings poison into the result; writing outside changes it. Imports torch.
"""

import ast
import inspect
import textwrap

import numpy as np
import torch

from utils.checks.core import function_of
from utils.language import say

GUARD = 2**18  # elements on either side: offsets of small inputs, multiplied by a stride twice, fit
UNTOUCHED = -99  # what outputs hold, and what surrounds them


class WroteOutside(IndexError):
    """A kernel changed memory outside the tensor that it was to write."""


class Guarded:
    """A tensor with the values' shape inside poison: gap elements after each row and each head.

    values: array with 1 to 3 axes, copied. dtype: a name, as in torch. poison: another number for
    outputs than for inputs, else what is read outside and written outside would go unseen. `tensor` is what a kernel gets, `strides` are its steps in elements.
    """

    def __init__(self, values, dtype: str = "float32", gap: int = 0, poison=np.nan) -> None:
        values = torch.as_tensor(np.asarray(values)).to(getattr(torch, dtype))
        strides = [1]
        for size in reversed(values.shape[1:]):
            strides.insert(0, strides[0] * size + gap)
        size = 2 * GUARD + strides[0] * values.shape[0]
        self.buffer = torch.full((size,), poison, dtype=values.dtype, device=place())
        self.tensor = self.buffer.as_strided(values.shape, strides, GUARD)
        self.tensor.copy_(values)
        self.strides = tuple(strides)
        self.before = self.buffer.clone()

    def array(self) -> np.ndarray:
        return self.tensor.double().cpu().numpy()

    def must_be_left_alone_outside(self, name: str) -> None:
        """Raise WroteOutside when anything but the tensor has changed."""
        self.before.as_strided(self.tensor.shape, self.strides, GUARD).copy_(self.tensor)
        bits = getattr(torch, f"int{8 * self.buffer.element_size()}")  # NaN equals NaN, as bits
        now, before = self.buffer.view(bits), self.before.view(bits)
        if torch.equal(now, before):
            return
        changed = (now != before).nonzero().flatten()
        first = int(changed[0]) - GUARD
        raise WroteOutside(
            say(
                en=f"it wrote {len(changed)} elements outside {name}; the first lies {first} elements"
                f" after the start of {name}",
                zh=f"在 {name} 之外写了 {len(changed)} 个元素；第一个离 {name} 的开头 {first} 个元素",
            )
        )


class FarApart(Guarded):
    """Rows that lie `stride` bytes apart, 8-bit integers, in the middle of 2³² bytes.

    An offset that wraps around at 2³¹ stays inside. On a CPU the pages between the rows are never
    touched and take no real memory; a GPU needs 4 GiB. Raises RuntimeError where there are none.
    """

    def __init__(self, values: np.ndarray, stride: int) -> None:
        self.buffer = torch.empty(2**32 + 64, dtype=torch.int8, device=place())
        self.buffer[:64] = 99
        self.tensor = self.buffer[2**31 :].as_strided(values.shape, (stride, 1))
        self.tensor.copy_(torch.as_tensor(values))

    def must_be_left_alone_outside(self, name: str) -> None:
        """Nothing is compared: that would touch every page."""


def place() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def output(*shape: int, dtype: str = "float32", gap: int = 0) -> Guarded:
    """Return an output that shows what a kernel left out: it holds the poison too."""
    return Guarded(np.full(shape, UNTOUCHED), dtype, gap, poison=UNTOUCHED)


def launch(kernel, grid: tuple, ins: dict, out: Guarded, *args, **constants) -> np.ndarray:
    """Run kernel[grid](*ins, out, *args, **constants); return what out holds, in float64.

    ins: name → Guarded, in the order of the kernel's arguments. Raises what the kernel raises,
    without Triton's wrapping, and WroteOutside.
    """
    if not hasattr(kernel, "__getitem__"):
        raise TypeError(
            say(
                en="this is a plain function: @triton.jit is missing above its def",
                zh="这只是普通的函数：它的 def 上面少了 @triton.jit",
            )
        )
    try:
        kernel[grid](*(x.tensor for x in ins.values()), out.tensor, *args, **constants)
    except Exception as error:
        while error.__cause__:  # Triton wraps what went wrong
            error = error.__cause__
        raise error from None
    for name, memory in ({"out": out} | ins).items():
        memory.must_be_left_alone_outside(name)
    return out.array()


def loads_without(kernel, *names: str) -> list[str]:
    """Return the tl.load calls of a kernel that give none of these arguments, as text.

    Only the text can tell: the interpreter, and a GPU as long as the memory is somebody's, read
    outside a tensor without a word, and the interpreter puts 0 where `other` is not given.
    """
    order = ["pointer", "mask", "other"]
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function_of(kernel))))
    except (TypeError, OSError):  # no text to look at
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "load":
            given = {*order[: len(node.args)], *(k.arg for k in node.keywords)}
            if not given >= set(names):
                found.append(ast.unparse(node))
    return found
