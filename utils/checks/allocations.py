"""Tensors that a learner's function allocates for itself, inside poison like those it is given."""

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from utils.checks.guarded import UNTOUCHED, Guarded

FACTORIES = ("empty", "zeros", "full", "ones", "new_empty", "new_zeros", "new_full", "new_ones")
EMPTY = ("empty", "empty_like", "new_empty")


class Unguarded:
    """All the bytes that a tensor is stored in; kept, so that nobody else gets their addresses."""

    def __init__(self, tensor) -> None:
        self.tensor = torch.empty(0, dtype=torch.uint8, device=tensor.device)
        self.tensor.set_(tensor.untyped_storage())
        self.buffer = self.tensor


class GuardedAllocations(TorchFunctionMode):
    """While it is on, torch.empty, zeros, full, ones and their kin give guarded float tensors.

    What torch.empty gives holds UNTOUCHED everywhere, so that rows left out show in the result.
    memories: name → Guarded of the inputs; what is made meanwhile is added, so that `watched` knows
    it. Tensors made otherwise (a sum, a copy) have no surroundings, but may be used, too.
    """

    def __init__(self, memories: dict) -> None:
        super().__init__()
        self.memories = memories
        self.made: list[Guarded] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        tensor = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "").removesuffix("_like")
        floats = isinstance(tensor, torch.Tensor) and tensor.is_floating_point()
        if name not in FACTORIES or not floats or tensor.numel() == 0:
            for x in (tensor, *args):  # launching a kernel calls methods of its tensors
                self.allow(x)
            return tensor
        with torch._C.DisableTorchFunction():
            return self.guarded(tensor, poisoned=name in EMPTY)

    def guarded(self, tensor, poisoned: bool):
        values = np.full(tensor.shape, UNTOUCHED) if poisoned else tensor.double().cpu().numpy()
        memory = Guarded(values, str(tensor.dtype).removeprefix("torch."), poison=UNTOUCHED)
        self.made.append(memory)
        self.memories[f"out {len(self.made)}" if self.made[1:] else "out"] = memory
        return memory.tensor

    def allow(self, tensor) -> None:
        """Let kernels use what a tensor of another origin is stored in."""
        if not isinstance(tensor, torch.Tensor) or tensor.numel() == 0:
            return
        with torch._C.DisableTorchFunction():
            start = tensor.untyped_storage().data_ptr()
            if all(m.buffer.untyped_storage().data_ptr() != start for m in self.memories.values()):
                self.memories[f"another tensor {start}"] = Unguarded(tensor)

    def must_be_left_alone_outside(self) -> None:
        """Raise WroteOutside when a kernel wrote beside one of these tensors."""
        for memory in self.made:
            memory.must_be_left_alone_outside("out" if len(self.made) == 1 else "a tensor of yours")
