"""Tensors that a learner's function allocates for itself, inside poison like those it is given."""

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from utils.checks.guarded import UNTOUCHED, Guarded

FACTORIES = ("empty", "zeros", "full", "ones", "new_empty", "new_zeros", "new_full", "new_ones")
EMPTY = ("empty", "empty_like", "new_empty")


class GuardedAllocations(TorchFunctionMode):
    """While it is on, torch.empty, zeros, full, ones and their kin give guarded float tensors.

    What torch.empty gives holds UNTOUCHED everywhere, so that rows left out show in the result.
    """

    def __init__(self) -> None:
        super().__init__()
        self.made: list[Guarded] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        tensor = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "").removesuffix("_like")
        floats = isinstance(tensor, torch.Tensor) and tensor.is_floating_point()
        if name not in FACTORIES or not floats or tensor.numel() == 0:
            return tensor
        with torch._C.DisableTorchFunction():
            return self.guarded(tensor, poisoned=name in EMPTY)

    def guarded(self, tensor, poisoned: bool):
        values = np.full(tensor.shape, UNTOUCHED) if poisoned else tensor.double().cpu().numpy()
        memory = Guarded(values, str(tensor.dtype).removeprefix("torch."), poison=UNTOUCHED)
        self.made.append(memory)
        return memory.tensor

    def must_be_left_alone_outside(self) -> None:
        """Raise WroteOutside when a kernel wrote beside one of these tensors."""
        for memory in self.made:
            memory.must_be_left_alone_outside("out" if len(self.made) == 1 else "a tensor of yours")
