"""Every launch setting compiles for its GPUs, without spills, within their shared memory."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.utils.kernels import compile_table

HERE = Path(__file__).parent
KERNELS = HERE.parents[2] / "utils/kernels"
COLAB = HERE.parents[2] / ".venv-colab/bin/python"  # made by `make test-all`


@pytest.mark.parametrize(
    "python, options",
    [
        pytest.param(sys.executable, [], id="some"),
        pytest.param(sys.executable, ["--all"], id="all", marks=pytest.mark.slow),
        pytest.param(COLAB, [], id="colab", marks=pytest.mark.slow),  # Colab's triton
    ],
)
def test_every_build_fits_its_gpu(python, options):
    if not Path(python).exists() and os.environ.get("CI") != "true":
        pytest.skip(f"{python} does not exist; `make test-all` makes it")
    environment = {name: text for name, text in os.environ.items() if name != "TRITON_INTERPRET"}
    run = subprocess.run(
        [python, str(HERE / "compile_table.py"), *options],
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    print(run.stdout, run.stderr)
    assert run.returncode == 0, "a build in the table above has a problem"


def test_the_table_covers_every_kernel():
    """Kernels are launched as name_kernel[grid]; a new one needs its line in compile_table.py."""
    launched = set()  # exponentials.py only measures the card that it runs on
    for path in set(KERNELS.glob("*.py")) - {KERNELS / "exponentials.py"}:
        launched |= set(re.findall(r"(\w+_kernel)\[", path.read_text(encoding="utf-8")))
    table = (HERE / "compile_table.py").read_text(encoding="utf-8")
    imported = " ".join(re.findall(r"^from utils\.kernels.* import (.*)$", table, re.MULTILINE))
    assert launched and launched <= set(re.findall(r"\w+", imported))


@pytest.mark.parametrize(
    "q, p, overwrites",
    [
        ("R100, R96, R92, R88", "R100, R96, R92, R88", True),  # triton 3.6, d = 64, one loop
        ("R24, R28, R32, R36", "R40, R44, R36, R48", True),
        ("R140, R136, R160, R164", "R144, R148, R152, R156", False),
        ("", "R144, R148, R152, R156", False),  # Q in shared memory
    ],
)
def test_p_in_the_registers_of_q_is_seen(q, p, overwrites):
    """Such a build is wrong on the GPU alone, and nothing else here would tell."""
    products = [(r, "") for r in q.split(", ") if r] + [(r, ".tnspB") for r in p.split(", ")]
    code = "\n".join(
        f"HGMMA.64x64x16.F32.BF16 R24, {r}, gdesc[UR8]{flag}, R24 ;" for r, flag in products
    )
    code += "\nHGMMA.64x64x16.F32.BF16 R24, gdesc[UR16], R24 ;"
    assert compile_table.p_overwrites_q(code) is overwrites
