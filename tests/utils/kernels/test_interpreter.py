"""The kernels' tests in Triton's interpreter, which needs a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from utils.device import trouble

HERE = Path(__file__).parent


def test_the_kernels_in_the_interpreter():
    if problem := trouble(None):  # a GPU machine may hold versions whose interpreter does not work
        pytest.skip(problem)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", str(HERE)],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        cwd=HERE.parents[2],
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    print(run.stdout, run.stderr)
    assert run.returncode == 0, "the run above failed"
