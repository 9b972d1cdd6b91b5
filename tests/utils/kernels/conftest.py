"""The kernels' tests run on a GPU if there is one, else in Triton's interpreter.

The interpreter must be chosen before triton's first import, so it needs a process of its own: a plain
pytest run starts it in test_interpreter.py. `TRITON_INTERPRET=1 pytest tests/utils/kernels` is that
process.
"""

import os

import pytest
import torch

INTERPRETER = os.environ.get("TRITON_INTERPRET") == "1"
GPU = torch.cuda.is_available() and not INTERPRETER
KERNEL_TESTS = ["test_exponentials.py", "test_forward.py", "test_gpu.py", "test_loop_orders.py"]
KERNEL_TESTS += ["test_numbers.py", "test_refusals.py"]
PROCESS_TESTS = ["test_compile.py", "test_interpreter.py"]

collect_ignore = PROCESS_TESTS if INTERPRETER else [] if GPU else KERNEL_TESTS


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("gpu") and not GPU:
            item.add_marker(pytest.mark.skip(reason="needs an NVIDIA GPU"))


@pytest.fixture(autouse=True)
def poisoned_memory(monkeypatch):
    """New tensors hold NaN, so an output row that the kernel forgets shows."""
    empty = torch.empty

    def poisoned(*size, **options):
        fresh = empty(*size, **options)
        return fresh.fill_(float("nan")) if fresh.is_floating_point() else fresh

    monkeypatch.setattr(torch, "empty", poisoned)
