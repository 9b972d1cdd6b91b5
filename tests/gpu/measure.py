"""Test, time and weigh the kernel on this machine's GPU in one go: `python tests/gpu/measure.py OUT`.

Runs the kernels' tests, measures the GPU's ceilings, times the forward pass beside every backend
present over sixteen points, then measures peak memory over N. OUT/forward.py holds the results as
Python literals, OUT/report.html shows them; both are renewed after every point, so an interrupted
run keeps what it has. OUT/tests.txt holds the tests' output.
Other launch settings can be put into the same race, as LaunchSettings lists them: `--try 128,64,8,3`,
`--try 64,64,4,3,1,128` (Q in registers, at most 128 of them). So can other kernels: `--beside FILE`
names a Python file whose methods(causal) returns them, name → call(q, k, v).
"""

import argparse
import datetime
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch

from tests.gpu.report import write_report
from utils import benchmark, ceilings
from utils.device import LaunchSettings, describe
from utils.kernels import flash_attention, forward

ROOT = Path(__file__).parents[2]
POINTS = [
    (d, causal, n) for d in (128, 64) for causal in (False, True) for n in (256, 1024, 4096, 16384)
]
TOKENS = 16384
MEMORY_SIZES = [2**power for power in range(10, 18)]
MEMORY_HEADS, MEMORY_D = 16, 64
TITLE = "Measured by tests/gpu/measure.py: the forward pass in bfloat16."


def facts() -> dict:
    """Return what has to stand beside every figure."""
    machine = describe()
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    driver = subprocess.run(query, capture_output=True, encoding="utf-8", check=True).stdout.strip()
    return {
        "CARD": machine.gpu,
        "CAPABILITY": machine.capability,
        "DRIVER": driver,
        "TORCH": machine.torch,
        "TRITON": machine.triton,
        "DATE": datetime.date.today().isoformat(),
    }


def methods() -> dict:
    """Return how it was measured."""
    return {
        "SPEED_METHOD": f"B·N = {TOKENS}, H = 2048/d, bfloat16, standard normal inputs; CUDA events,"
        " medians of interleaved rounds; 4·B·H·N²·d operations, half of them when causal",
        "MEMORY_METHOD": f"B = 1, H = {MEMORY_HEADS}, d = {MEMORY_D}, bfloat16; peak minus baseline",
    }


def write(path: Path, values: dict, title: str = TITLE) -> None:
    """Write NAME = literal lines; lists of rows get a line for each row."""
    lines = [f'"""{title}"""', "", "# fmt: off"]
    for name, value in values.items():
        if isinstance(value, list):
            lines += [f"{name} = ["] + [f"    {row!r}," for row in value] + ["]"]
        else:
            lines.append(f"{name} = {value!r}")
    part = path.with_suffix(".part")
    part.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.replace(part, path)


def keep(folder: Path, values: dict) -> None:
    """Renew the two files that hold what was measured so far."""
    write(folder / "forward.py", values)
    write_report(folder / "report.html", values)


def with_settings(settings: LaunchSettings) -> Callable:
    """Return flash_attention, launched with these settings; how tiles are loaded stays the table's."""

    def call(q, k, v, causal=False):
        chosen = forward.launch_settings
        descriptors = chosen(describe().capability, q.shape[3], q.dtype, causal).descriptors
        forward.launch_settings = lambda *_: settings._replace(descriptors=descriptors)
        try:
            return flash_attention(q, k, v, causal=causal)
        finally:
            forward.launch_settings = chosen

    return call


def error_beside_naive(call: Callable, d: int, causal: bool, dtype=torch.bfloat16) -> float:
    """Return the call's largest error as a multiple of naive attention's, against float64."""
    q, k, v = benchmark.random_tensors(1, 2, 1000, d, dtype)
    true = benchmark.naive(q.double(), k.double(), v.double(), causal)
    plain = (benchmark.naive(q, k, v, causal) - true).abs().max()
    return ((call(q, k, v, causal=causal) - true).abs().max() / plain).item()


def race_settings(attempts: list[LaunchSettings], point: tuple, rounds: int) -> list[dict]:
    """Race launch settings against the table's own at one point; wrong ones are named, not timed."""
    d, causal, n = point
    calls = {"table": flash_attention} | {str(tuple(s)): with_settings(s) for s in attempts}
    for name in list(calls):
        try:
            ratio = error_beside_naive(calls[name], d, causal)
        except Exception as error:  # too much shared memory, a compiler's failure
            ratio, reason = float("nan"), str(error).splitlines()[0][:90]
            print(f"    {name}: {reason}", flush=True)
        if not ratio < 2.5:
            print(f"    {name}: WRONG, error {ratio:.1f} × naive", flush=True)
            del calls[name]
    tensors = benchmark.random_tensors(max(1, TOKENS // n), 2048 // d, n, d, torch.bfloat16)
    bound = {
        name: lambda q, k, v, call=call: call(q, k, v, causal=causal)
        for name, call in calls.items()
    }
    flops = benchmark.attention_flops(max(1, TOKENS // n), 2048 // d, n, n, d, causal)
    times = benchmark.race(bound, tensors, rounds)
    return [
        {"settings": name, "d": d, "causal": causal, "n": n, "tflops": round(flops / ms / 1e9, 1)}
        for name, ms in times.items()
    ]


def run_tests(folder: Path) -> None:
    """Run the kernels' tests on this GPU; all output goes to a file, the last lines to the screen."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/utils/kernels",
    ]
    try:
        import xdist  # noqa: F401

        command += ["-n", str(min(12, os.cpu_count()))]
    except ImportError:
        pass
    with open(folder / "tests.txt", "w", encoding="utf-8") as log:
        code = subprocess.run(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT).returncode
    text = (folder / "tests.txt").read_text(encoding="utf-8")
    print(*text.splitlines()[-15:], f"kernel tests: exit status {code}", sep="\n", flush=True)


def short(row: dict) -> dict:
    """Return the row with times and rates rounded to what the clock is good for."""
    return {
        name: round(x, 4 if name == "ms" else 1) if isinstance(x, float) else x
        for name, x in row.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--no-tests", action="store_true")
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--try", dest="attempts", action="append", default=[], metavar="B_R,B_C,W,S[,Q,MAX]"
    )
    parser.add_argument("--beside", type=Path, metavar="FILE")
    options = parser.parse_args()
    others = {}
    if options.beside:
        others = {"others": runpy.run_path(str(options.beside))["methods"]}
    options.out.mkdir(parents=True, exist_ok=True)
    attempts = [LaunchSettings(*map(int, text.split(","))) for text in options.attempts]
    values = (
        facts() | methods() | {"SPEED": [], "MEMORY": []} | ({"SETTINGS": []} if attempts else {})
    )
    print(describe(), flush=True)
    if not options.no_tests:
        run_tests(options.out)
    values["CEILINGS"] = {x: float(f"{y:.3g}") for x, y in ceilings.measure()._asdict().items()}
    print("ceilings, per second:", values["CEILINGS"], flush=True)
    for point in POINTS:
        rows = benchmark.speed_rows(
            flash_attention, [point], TOKENS, torch.bfloat16, options.rounds, **others
        )
        values["SPEED"] += map(short, rows)
        line = {
            r["method"]: r["tflops"]
            for r in values["SPEED"]
            if (r["d"], r["causal"], r["n"]) == point
        }
        print(point, line, flush=True)
        if attempts:
            found = race_settings(attempts, point, options.rounds)
            values["SETTINGS"] += found
            print("   ", {row["settings"]: row["tflops"] for row in found}, flush=True)
        keep(options.out, values)
    if not options.no_memory:
        rows = benchmark.memory_rows(
            flash_attention, MEMORY_SIZES, MEMORY_HEADS, MEMORY_D, torch.bfloat16
        )
        for row in rows:
            values["MEMORY"].append(row)
            print(row, flush=True)
            keep(options.out, values)
    print(f"report: {options.out / 'report.html'}", flush=True)


if __name__ == "__main__":
    main()
