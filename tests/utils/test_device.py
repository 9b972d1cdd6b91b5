"""What this machine can do, said before triton is imported; each case in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from utils import device
from utils.device import LaunchSettings, Machine, launch_settings, trouble

ROOT = Path(__file__).parents[2]
NO_GPU = "import torch; torch.cuda.is_available = lambda: False\n"
WITHOUT = """
import importlib.metadata, sys
sys.modules["{0}"] = None
real = importlib.metadata.version
def version(name):
    if name == "{0}":
        raise importlib.metadata.PackageNotFoundError(name)
    return real(name)
importlib.metadata.version = version
"""
CHOOSE = """
from utils.device import choose_triton_mode, describe, triton_mode
choose_triton_mode()
print(triton_mode())
"""
RUN_KERNEL = """
from utils.kernels import flash_attention
x = torch.ones(1, 1, 4, 16)
print(triton_mode(), flash_attention(x, x, x).sum().item())
"""


def run(code: str, language: str = "en", **environment) -> list[str]:
    """Run code in a fresh process, and return the lines it printed; it must leave stderr empty."""
    clean = {name: text for name, text in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=clean | {"COURSE_LANGUAGE": language, "PYTHONUTF8": "1"} | environment,
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.splitlines()


def test_without_a_gpu_kernels_run_in_the_interpreter():
    said, mode, then = run(NO_GPU + CHOOSE + RUN_KERNEL)
    assert "Triton's interpreter" in said
    assert mode == "interpreter" and then == "interpreter 64.0"


def test_the_set_up_cell_may_run_twice():
    again = run(NO_GPU + CHOOSE + RUN_KERNEL + CHOOSE)
    assert again[-1] == "interpreter" and "Triton's interpreter" in again[-2]


@pytest.mark.parametrize("language, word", [("en", "restart"), ("zh", "重启")])
def test_triton_imported_too_early_asks_for_a_restart(language, word):
    said, mode = run(NO_GPU + "import triton\n" + CHOOSE, language)
    assert word in said and mode == "none"


def test_a_kernel_on_the_cpu_without_the_interpreter_says_how():
    code = NO_GPU + "from utils.kernels import flash_attention\nx = torch.ones(1, 1, 4, 16)\n"
    code += "try:\n    flash_attention(x, x, x)\nexcept RuntimeError as error:\n    print(error)"
    assert "set TRITON_INTERPRET=1" in run(code)[0]


@pytest.mark.parametrize("package", ["triton", "torch"])
def test_without_triton_it_says_how_to_change_the_runtime(package):
    said, mode, machine = run(WITHOUT.format(package) + CHOOSE + "print(describe())\n")
    assert "Change runtime type" in said and mode == "none"
    assert f"{package} not installed" in machine


def test_describing_the_machine_imports_no_triton():
    lines = run(NO_GPU + CHOOSE + "print(describe())\nimport sys\nprint('triton' in sys.modules)")
    assert lines[-2].startswith("CPU only") and lines[-1] == "False"


@pytest.mark.parametrize(
    "language, words", [("en", "compute capability 7.5"), ("zh", "计算能力 7.5")]
)
def test_a_gpu_is_described_in_the_notebooks_language(monkeypatch, language, words):
    monkeypatch.setenv("COURSE_LANGUAGE", language)
    text = str(Machine("Tesla T4", (7, 5), 65536, 15 * 2**30, "2.11.0", "3.6.0"))
    assert words in text and "15 GiB" in text and "65,536 B" in text and "triton 3.6.0" in text


@pytest.mark.parametrize(
    "capability, versions, word",
    [
        ((7, 5), {"triton": "3.3.1", "numpy": "2.1.3"}, "Triton 3.3"),
        ((8, 0), {"triton": "3.3.1", "numpy": "2.1.3"}, None),
        ((7, 5), {"triton": "3.6.0", "numpy": "2.4.0"}, None),
        (None, {"triton": "3.6.0", "numpy": "2.4.0"}, "numpy 2.3"),
        (None, {"triton": "3.6.0", "numpy": "2.3.5"}, None),
        (None, {"triton": "3.7.1", "numpy": "2.4.6"}, None),
    ],
)
def test_versions_that_do_not_work_here_are_named(monkeypatch, capability, versions, word):
    monkeypatch.setattr(device, "_version", versions.get)
    assert (word in trouble(capability)) if word else trouble(capability) is None


@pytest.mark.parametrize(
    "capability, d, dtype, settings",
    [
        (None, 64, torch.float16, device.INTERPRETER),
        ((7, 5), 64, torch.float16, LaunchSettings(64, 32, 8, 1)),
        ((8, 9), 65, torch.bfloat16, LaunchSettings(128, 64, 8, 2)),  # as 8.6
        ((9, 0), 128, torch.float32, LaunchSettings(32, 16, 8, 1)),
        ((9, 0), 64, torch.float16, LaunchSettings(64, 64, 4, 3, True, 128, descriptors=True)),
        ((9, 0), 128, torch.float16, LaunchSettings(64, 64, 4, 3, False, 144, descriptors=True)),
        ((10, 3), 129, torch.float16, LaunchSettings(64, 64, 8, 2, descriptors=True)),
        (
            (12, 0),
            64,
            torch.bfloat16,
            LaunchSettings(128, 64, 8, 3),
        ),  # no registers for descriptors
    ],
)
def test_launch_settings(capability, d, dtype, settings):
    assert launch_settings(capability, d, dtype, causal=True) == settings


@pytest.mark.parametrize("capability", [None, (7, 5), (8, 0), (9, 0), (10, 0), (12, 0)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("d", [64, 65, 128, 129])
def test_only_one_setting_depends_on_the_mask(capability, dtype, d):
    masked, plain = (launch_settings(capability, d, dtype, causal) for causal in (True, False))
    if (capability, dtype) == ((9, 0), torch.float16) and 64 < d <= 128:
        masked = LaunchSettings(64, 64, 4, 3, True, 192, descriptors=True)
    assert plain == masked


def test_a_gpu_older_than_the_table_is_refused():
    with pytest.raises(RuntimeError, match=r"7\.5 or more, got \(7, 0\)"):
        launch_settings((7, 0), 64, torch.float16, causal=True)
