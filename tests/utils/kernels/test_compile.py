"""Every launch setting compiles for its GPUs, without spills, within their shared memory."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KERNELS = HERE.parents[2] / "utils/kernels"


@pytest.mark.parametrize(
    "options",
    [pytest.param([], id="some"), pytest.param(["--all"], id="all", marks=pytest.mark.slow)],
)
def test_every_build_fits_its_gpu(options):
    environment = {name: text for name, text in os.environ.items() if name != "TRITON_INTERPRET"}
    run = subprocess.run(
        [sys.executable, str(HERE / "compile_table.py"), *options],
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    print(run.stdout, run.stderr)
    assert run.returncode == 0, "a build in the table above spills or is too large"


def test_the_table_covers_every_kernel():
    """A kernel that is launched has a [grid]; a new one needs its line in compile_table.py."""
    launched = set()
    for path in KERNELS.glob("*.py"):
        launched |= set(re.findall(r"(\w+)\[\(?\w*programs", path.read_text(encoding="utf-8")))
    table = (HERE / "compile_table.py").read_text(encoding="utf-8")
    assert launched and all(f"import {name}" in table for name in launched)
