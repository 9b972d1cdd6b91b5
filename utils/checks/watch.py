"""What a kernel touches, address by address: Triton's interpreter can be watched, a GPU cannot.

An address in nobody's memory is refused before it is used: the interpreter would crash the whole
Jupyter kernel there, or change what belongs to somebody else. Imports torch; Triton only if it is
there already.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from utils.language import say


class OutOfReach(IndexError):
    """A kernel was about to use an address that lies in none of its tensors' surroundings."""


def builder():
    """Return the interpreter's part that loads and stores; None where kernels are compiled.

    This is no public interface of Triton's. Where it has changed nothing is watched, and the
    tests say so.
    """
    from utils.device import interpreter_is_on

    interpreter = sys.modules.get("triton.runtime.interpreter")
    found = getattr(interpreter, "interpreter_builder", None)
    names = ("create_masked_load", "create_masked_store")
    usable = interpreter_is_on() and all(hasattr(found, name) for name in names)
    return found if usable else None


@contextmanager
def watched(memories: dict) -> Iterator[list[str]]:
    """Yield a list that grows by each place outside the tensors that a kernel reads.

    memories: name → Guarded. Raises OutOfReach inside the kernel, before the access.
    """
    strays, interpreter = [], builder()
    if interpreter is None:
        yield strays
        return
    load, store = interpreter.create_masked_load, interpreter.create_masked_store

    def watched_load(pointers, mask, *rest):
        strays.extend(s for s in outside(memories, used(pointers, mask)) if s not in strays)
        return load(pointers, mask, *rest)

    def watched_store(pointers, value, mask, *rest):
        outside(memories, used(pointers, mask))
        return store(pointers, value, mask, *rest)

    interpreter.create_masked_load, interpreter.create_masked_store = watched_load, watched_store
    try:
        yield strays
    finally:  # the methods of the class show again
        del interpreter.create_masked_load, interpreter.create_masked_store


def used(pointers, mask) -> np.ndarray:
    """Return the addresses that a load or a store really touches."""
    addresses, mask = np.broadcast_arrays(pointers.data, mask.data)
    return addresses[mask.astype(bool)].astype(np.int64)


def outside(memories: dict, addresses: np.ndarray) -> list[str]:
    """Return in words which addresses lie outside every tensor; raise OutOfReach for far ones."""
    words = []
    for name, memory in memories.items():
        size = memory.tensor.element_size()
        first = memory.buffer.data_ptr()
        here = (addresses >= first) & (addresses < first + size * memory.buffer.numel())
        offsets = (addresses[here] - memory.tensor.data_ptr()) // size
        words += [in_words(name, int(o)) for o in offsets[~inside(memory.tensor, offsets)]]
        addresses = addresses[~here]
    if addresses.size:
        raise OutOfReach(far_away(memories, int(addresses[0])))
    return words


def inside(tensor, offsets: np.ndarray) -> np.ndarray:
    """Return which offsets, in elements, are elements of the tensor, and not of a gap."""
    yes = np.ones(offsets.shape, dtype=bool)
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        index, offsets = np.divmod(offsets, stride)
        yes &= (index >= 0) & (index < size)
    return yes


def in_words(name: str, offset: int) -> str:
    return f"{name} {'+' if offset >= 0 else '−'} {abs(offset)}"


def far_away(memories: dict, address: int) -> str:
    def distance(name):
        tensor = memories[name].tensor
        return abs(address - tensor.data_ptr()) // tensor.element_size()

    name = min(memories, key=distance)
    return say(
        en=f"an address {distance(name):,} elements away from the start of {name}, the nearest tensor:"
        " a GPU would stop the process there. Look at what is added to the pointers.",
        zh=f"有一个地址离最近的张量 {name} 的开头有 {distance(name):,} 个元素：GPU 会在这里终止进程。请检查加到指针上的数。",
    )
