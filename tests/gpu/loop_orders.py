"""Time the three loop orders on this machine's GPU, and count their bytes with Nsight Compute.

`python tests/gpu/loop_orders.py OUT` writes OUT/loop_orders.py, Python literals, and renews it after
every point. Times are taken from small to large; points left when the time is up are named.
"""

import argparse
import csv
import io
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch

from tests.gpu.measure import error_beside_naive, facts, short, write
from utils import benchmark
from utils.device import describe
from utils.kernels.loop_orders import ORDERS, loop_order_attention
from utils.traffic import v1_bytes, v2_bytes

B_R = B_C = 64
SLOW = 2000  # milliseconds: a call that takes longer is not timed
POINTS = sorted(
    ((heads, 2**power, d) for heads in (16, 132, 528) for power in range(9, 15) for d in (64, 128)),
    key=lambda point: max(point[0], 132) * point[1] ** 2 * point[2],  # fewer heads save no time
)
WEIGHED = [(16, 4096, 64), (132, 512, 64), (528, 4096, 64), (16, 16384, 128)]
COUNTERS = {
    "lts__t_sectors_srcunit_tex.sum": 32,  # a sector holds 32 bytes
    "dram__bytes_read.sum": 1,
    "dram__bytes_write.sum": 1,
}
TITLE = "Measured by tests/gpu/loop_orders.py: three loop orders of one attention, in float16."
METHOD = (
    f"B = 1, heads, N and d as given, not causal, float16, standard normal inputs, {B_R} × {B_C}"
    " tiles, 4 warps, 1 stage. Times: CUDA events, medians of interleaved rounds;"
    " 4·heads·N²·d operations. Bytes of one call, by Nsight Compute, caches emptied before:"
    " L2 = 32 · lts__t_sectors_srcunit_tex.sum, DRAM = dram__bytes_read.sum + dram__bytes_write.sum;"
    " model = utils/traffic.py"
)


def in_order(order: str):
    """Return call(q, k, v) in this loop order."""
    return partial(loop_order_attention, order=order, b_r=B_R, b_c=B_C)


def wrong_calls(calls: dict, d: int) -> list:
    """Return the names of calls that are less exact than they should be, and compile all of them."""
    ratios = {
        name: error_beside_naive(call, d, False, torch.float16) for name, call in calls.items()
    }
    print(f"d = {d}: errors as multiples of naive attention's: {ratios}", flush=True)
    return [name for name, ratio in ratios.items() if not ratio < 2.5]


def once(call, tensors) -> float:
    """Return the milliseconds of one call."""
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call(*tensors)
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop)


def time_point(calls: dict, point: tuple) -> list[dict]:
    """Return a row for each call that is not too slow; fewer rounds where calls are long."""
    heads, n, d = point
    tensors = benchmark.random_tensors(1, heads, n, d, torch.float16)
    first = {name: once(call, tensors) for name, call in calls.items()}
    slow = [name for name in first if first[name] > SLOW]
    for name in slow:
        print(f"{point} {name}: {first[name]:.0f} ms, not timed", flush=True)
    if len(slow) == len(calls):
        return []
    rounds = max(3, min(7, round(1000 / sum(first.values()))))
    quick = {name: call for name, call in calls.items() if name not in slow}
    flops = benchmark.attention_flops(1, heads, n, n, d, False)
    place = {"heads": heads, "n": n, "d": d, "b_r": B_R, "b_c": B_C}
    return [
        short({**place, "order": name, "ms": ms, "tflops": flops / ms / 1e9})
        for name, ms in benchmark.race(quick, tensors, rounds, warm_ups=1).items()
    ]


def model_bytes(order: str, heads: int, n: int, d: int) -> int:
    closed_form = v1_bytes if order == "v1" else v2_bytes
    return heads * sum(closed_form(n, n, d, d, b_r=B_R, b_c=B_C).values())


def call_each_once(point: tuple) -> None:
    """What runs under Nsight Compute."""
    heads, n, d = point
    tensors = benchmark.random_tensors(1, heads, n, d, torch.float16)
    for order in ORDERS:
        in_order(order)(*tensors)
    torch.cuda.synchronize()


def profile(point: tuple, seconds: float) -> str:
    """Return Nsight Compute's table of one call in each order; RuntimeError with its reason."""
    command = ["ncu", "--csv", "--print-units", "base", "--clock-control", "none"]
    command += ["--metrics", ",".join(COUNTERS), "--kernel-name", "regex:^v[12]_"]
    command += [sys.executable, __file__, "--call", ",".join(map(str, point))]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8"}
    try:
        process = subprocess.Popen(command, start_new_session=True, **pipes)
    except OSError as error:
        raise RuntimeError(error) from error
    try:
        text, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)  # ncu and what it started
        process.wait()
        raise RuntimeError(f"Nsight Compute took more than {seconds:.0f} s") from error
    if process.returncode:
        raise RuntimeError(f"Nsight Compute fails: {text.strip()[-500:]}")
    return text


def read_counters(text: str) -> dict:
    """Return {kernel: {counter: bytes}} from the table, which stands among ncu's own messages."""
    counted = {}
    for row in csv.DictReader(io.StringIO(text[max(0, text.find('"ID"')) :])):
        if factor := COUNTERS.get(row.get("Metric Name")):
            value = float(row["Metric Value"].replace(",", ""))
            counted.setdefault(row["Kernel Name"], {})[row["Metric Name"]] = round(value * factor)
    if set(counted) != {f"{order}_kernel" for order in ORDERS}:
        raise RuntimeError(f"kernels found: {list(counted)}; Nsight Compute said: {text[-500:]}")
    return counted


def weigh_point(point: tuple, seconds: float) -> list[dict]:
    """Return a row for each order: bytes by the model, from L2, and from DRAM."""
    counted = read_counters(profile(point, seconds))
    place, rows = dict(zip(("heads", "n", "d"), point, strict=True)), []
    for order in ORDERS:
        l2, *dram = (counted[f"{order}_kernel"][name] for name in COUNTERS)
        sizes = {"model_bytes": model_bytes(order, *point), "l2_bytes": l2, "dram_bytes": sum(dram)}
        rows.append({**place, "order": order, **sizes})
    return rows


def measure_times(calls: dict, values: dict, path: Path, stop: float) -> None:
    """Add to TIMES, point by point, until time.monotonic() reaches stop."""
    spent = 0.0
    for point in POINTS:
        start = time.monotonic()
        if start + 2 * spent > stop:  # a point takes up to twice as long as the one before
            print(f"no time left for {point}", flush=True)
            continue
        rows = time_point(calls, point)
        print(point, [(row["order"], row["ms"]) for row in rows], flush=True)
        values["TIMES"] += rows
        write(path, values, TITLE)
        spent = time.monotonic() - start


def measure_bytes(values: dict, path: Path, stop: float) -> None:
    """Add to BYTES; a point that Nsight Compute cannot count is named, with its reason."""
    for point in WEIGHED:
        left = stop - time.monotonic()
        try:
            rows = weigh_point(point, left) if left > 5 else []
        except (RuntimeError, KeyError, ValueError) as error:
            print(f"{point}: no bytes counted: {error!r}", flush=True)
            continue
        values["BYTES"] += rows
        write(path, values, TITLE)
        print(point, rows or "no time left to count bytes", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=120, help="in all; half for the bytes")
    parser.add_argument("--call", metavar="HEADS,N,D", help="only call each order once")
    options = parser.parse_args()
    if options.call:
        return call_each_once(tuple(map(int, options.call.split(","))))
    start = time.monotonic()
    options.out.mkdir(parents=True, exist_ok=True)
    path, half = options.out / "loop_orders.py", options.seconds / 2
    values = facts() | {"METHOD": METHOD, "TIMES": [], "BYTES": []}
    print(describe(), flush=True)
    calls = {order: in_order(order) for order in ORDERS}
    if wrong := [(d, name) for d in (64, 128) for name in wrong_calls(calls, d)]:
        sys.exit(f"WRONG, so nothing is measured: {wrong}")
    measure_bytes(values, path, start + half)
    measure_times(calls, values, path, start + 2 * half)
    print(f"{time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
