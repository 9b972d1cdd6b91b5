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
    "q, p, fault",
    [
        ("R100, R96, R92, R88", "R100, R96, R92, R88", "P overwrites Q"),  # d = 64, one loop
        ("R24, R28, R32, R36", "R40, R44, R36, R48", "P overwrites Q"),
        ("R140, R136, R160, R164", "R144, R148, R152, R156", ""),
        ("", "R144, R148, R152, R156", "Q or P is not in registers"),
        ("", "", "Q or P is not in registers"),  # or the machine code is written in a new way
    ],
)
def test_a_query_tile_that_is_not_kept_is_seen(q, p, fault):
    """Such a build is wrong on the GPU alone, and nothing else here would tell."""
    products = [(r, "") for r in q.split(", ") if r]
    products += [(r, ".tnspB") for r in p.split(", ") if r]
    code = "\n".join(
        f"HGMMA.64x64x16.F32.BF16 R24, {r}, gdesc[UR8]{flag}, R24 ;" for r, flag in products
    )
    code += "\nHGMMA.64x64x16.F32.BF16 R24, gdesc[UR16], R24 ;"
    assert compile_table.fault_of_q(code).strip() == fault
