"""Memory in which a kernel that leaves its tensors is found out, instead of breaking the process.

Every tensor is part of a larger buffer; what surrounds it, and the gaps between its rows, holds
poison. Reading outside brings poison into the result; writing outside changes it. Imports torch.
"""

import ast
from contextlib import contextmanager

import numpy as np
import torch

from utils.checks.source import causes, tree_of
from utils.checks.watch import builder, watched
from utils.language import say

GUARD = 2**18  # elements on either side: offsets of small inputs, multiplied by a stride twice, fit
WATCHED_GUARD = 2**13  # where addresses are watched, those farther away are refused
UNTOUCHED = -99  # what outputs hold, and what surrounds them


class WroteOutside(IndexError):
    """A kernel changed memory outside the tensor that it was to write."""


class Guarded:
    """A tensor with the values' shape inside poison: gap elements after each row and each head.

    values: array with 1 to 3 axes, copied. dtype: a name, as in torch. poison: another number for
    outputs than for inputs, else what is read outside and written outside would go unseen.
    `tensor` is what a kernel gets, `strides` are its steps in elements.
    """

    def __init__(self, values, dtype: str = "float32", gap: int = 0, poison=np.nan) -> None:
        values = torch.as_tensor(np.asarray(values)).to(getattr(torch, dtype))
        strides = [1]
        for size in reversed(values.shape[1:]):
            strides.insert(0, strides[0] * size + gap)
        self.guard = GUARD if builder() is None else WATCHED_GUARD
        size = 2 * self.guard + strides[0] * values.shape[0]
        self.buffer = torch.full((size,), poison, dtype=values.dtype, device=place())
        self.tensor = self.buffer.as_strided(values.shape, strides, self.guard)
        self.tensor.copy_(values)
        self.strides = tuple(strides)
        self.before = self.buffer.clone()

    def array(self) -> np.ndarray:
        return self.tensor.double().cpu().numpy()

    def must_be_left_alone(self, name: str) -> None:
        """Raise ValueError when the tensor itself has changed: it is somebody's input."""
        before = self.before.as_strided(self.tensor.shape, self.strides, self.guard)
        if not torch.equal(self.tensor, before):
            raise ValueError(
                say(
                    en=f"{name} itself was changed, and the caller still needs it: write the result"
                    " into a tensor of its own, and scale inside the kernel.",
                    zh=f"{name} 本身被改动了，而调用者还要用它：请把结果写进新分配的张量，缩放放在 kernel 里做。",
                )
            )

    def must_be_left_alone_outside(self, name: str) -> None:
        """Raise WroteOutside when anything but the tensor has changed."""
        self.before.as_strided(self.tensor.shape, self.strides, self.guard).copy_(self.tensor)
        bits = getattr(torch, f"int{8 * self.buffer.element_size()}")  # NaN equals NaN, as bits
        now, before = self.buffer.view(bits), self.before.view(bits)
        if torch.equal(now, before):
            return
        changed = (now != before).nonzero().flatten()
        first = int(changed[0]) - self.guard
        raise WroteOutside(
            say(
                en=f"it wrote {len(changed)} elements outside {name}; the first lies {first} elements"
                f" after the start of {name}. Look at the store: its mask, then its addresses.",
                zh=f"在 {name} 之外写了 {len(changed)} 个元素；第一个离 {name} 的开头 {first} 个元素。"
                "请检查存的那一句：先看掩码，再看地址。",
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


def must_be_a_kernel(function, sign: str) -> None:
    """Raise TypeError when a function lacks the attribute that @triton.jit gives it."""
    if not hasattr(function, sign):
        raise TypeError(
            say(
                en="this is a plain function: @triton.jit is missing above its def",
                zh="这只是普通的函数：它的 def 上面少了 @triton.jit",
            )
        )


@contextmanager
def unwrapped():
    """Raise what a kernel raised, without the error that Triton wraps around it."""
    try:
        yield
    except Exception as error:
        raise causes(error)[-1] from None


def launch(kernel, grid: tuple, ins: dict, out: Guarded, *args, strays=None, **constants):
    """Run kernel[grid](*ins, out, *args, **constants); return what out holds, in float64.

    ins: name → Guarded, in the order of the kernel's arguments. strays: a list, to which every
    place that is read outside the tensors is added, where kernels can be watched. Raises what the
    kernel raises, without Triton's wrapping, OutOfReach and WroteOutside.
    """
    must_be_a_kernel(kernel, "__getitem__")
    memories = {"out": out} | ins
    with unwrapped(), watched(memories) as seen:
        kernel[grid](*(x.tensor for x in ins.values()), out.tensor, *args, **constants)
    for name, memory in memories.items():
        memory.must_be_left_alone_outside(name)
    if strays is not None:
        strays += seen
    return out.array()


def reads_outside(kernel, run) -> list[str] | None:
    """Return the places outside its tensors that run(strays) makes a kernel read, at most five.

    Where nothing can be watched the kernel's text is looked at: its loads without a mask. For a
    Slip there is no answer: it explains wrong results, and here the results are right.
    """
    from utils.checks.kernel_slips import Slip

    if isinstance(kernel, Slip):
        return None
    if builder() is None:
        return loads_without(kernel, "mask")
    strays = []
    run(strays)
    return strays[:5]


def loads_without(kernel, *names: str) -> list[str]:
    """Return the tl.load calls of a kernel that give none of these arguments, as text.

    Only the text can tell: the interpreter puts 0 where `other` is not given, and a GPU reads
    outside a tensor without a word, as long as the memory is somebody's.
    """
    order = ["pointer", "mask", "other"]
    found = []
    for node in ast.walk(tree_of(kernel)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("tl.load", "load"):
            given = {*order[: len(node.args)], *(k.arg for k in node.keywords)}
            if not given >= set(names):
                found.append(ast.unparse(node))
    return found
