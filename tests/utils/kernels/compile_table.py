"""Compile the kernels for GPUs that are not here, and print what each build needs.

`python tests/utils/kernels/compile_table.py` compiles every launch setting once, with --all also
every dtype, mask and many head sizes. It fails when a build spills registers or asks for more shared
memory than its GPU has. Not in a process with TRITON_INTERPRET=1.
"""

import argparse
import itertools
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[3]))

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from utils.device import launch_settings
from utils.kernels.forward import attention_kernel, update

# bytes of shared memory that one thread block may use (CUDA C++ Programming Guide, compute capabilities)
SHARED = {75: 65536, 80: 166912, 86: 101376, 89: 101376, 90: 232448, 100: 232448, 120: 101376}
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
SOME = [("fp16", 64, True), ("fp16", 128, True), ("fp16", 256, True)]
SOME += [("fp32", 64, True), ("fp32", 128, True), ("fp32", 256, True)]
SIDES = [
    16,
    32,
    48,
    64,
    80,
    96,
    112,
    128,
    160,
    192,
    224,
    256,
]  # others are padded to a multiple of 16
ALL = list(itertools.product(DTYPES, SIDES, (False, True)))
TENSOR_CORE = re.compile(r"wgmma\.mma_async|tcgen05\.mma|mma\.sync")
TOOL = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"


class Build(NamedTuple):
    capability: int
    dtype: str
    d: int
    causal: bool
    settings: tuple
    registers: int
    stack: int
    shared: int
    tensor_cores: bool

    def problem(self) -> str:
        spills = f"spills {self.stack} B " if self.stack else ""
        return spills + ("too much shared memory" if self.shared > SHARED[self.capability] else "")

    def __str__(self) -> str:
        kind = "tensor cores" if self.tensor_cores else "FMA"
        return (
            f"{self.capability:3} {self.dtype} {self.d:4} {'causal' if self.causal else 'full':6}"
            f" {self.settings!s:17} {self.registers:4} {self.stack:5} {self.shared:7,}"
            f" {SHARED[self.capability]:8,}  {kind:12} {self.problem()}"
        )


def source(dtype: str, constants: dict) -> ASTSource:
    """Return the kernel with its types and alignment, as every launch gives them."""
    signature, hints = {}, {}
    for place, name in enumerate(attention_kernel.arg_names):
        pointer = {"q": dtype, "k": dtype, "v": dtype, "out": dtype, "lse": "fp32"}.get(name)
        kind = f"*{pointer}" if pointer else "fp32" if name == "scale_log2" else "i32"
        if name in ("q", "k", "v") and constants["DESCRIPTORS"]:
            rows = constants["B_R" if name == "q" else "B_C"]
            kind, pointer = f"tensordesc<{dtype}[1, 1, {rows}, {constants['D_PAD']}]>", None
        signature[name] = "constexpr" if name in constants else kind
        if pointer or name.endswith(("_batch", "_head", "_row")):
            hints[(place,)] = [["tt.divisibility", 16]]
    return ASTSource(attention_kernel, signature, constants, hints)


def build(case: tuple) -> Build:
    """Compile one case (capability, dtype, d, causal) and read what the binary needs."""
    capability, dtype, d, causal = case
    settings = launch_settings(divmod(capability, 10), d, DTYPES[dtype])
    b_r, b_c, num_warps, num_stages, descriptors = settings
    sides = {"D": d, "D_PAD": max(16, triton.next_power_of_2(d)), "B_R": b_r, "B_C": b_c}
    kernel = triton.compile(
        source(dtype, {"CAUSAL": causal, "DESCRIPTORS": descriptors, "UPDATE": update, **sides}),
        target=GPUTarget("cuda", capability, 32),
        options={"num_warps": num_warps, "num_stages": num_stages},
    )
    registers, stack = usage(kernel.asm["cubin"])
    cores = bool(TENSOR_CORE.search(kernel.asm["ptx"]))
    return Build(*case, tuple(settings[:4]), registers, stack, kernel.metadata.shared, cores)


def usage(cubin: bytes) -> tuple[int, int]:
    """Return registers and bytes of stack of a thread; a kernel has a stack only when it spills."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        text = subprocess.run([TOOL, "-res-usage", path], capture_output=True, check=True).stdout
    return tuple(int(re.search(rb"%s:(\d+)" % key, text)[1]) for key in (b"REG", b"STACK"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every dtype, mask and many head sizes")
    wanted = ALL if parser.parse_args().all else SOME
    cases = [(c, *w) for c in SHARED for w in wanted if not (c < 80 and w[0] == "bf16")]
    print(f"triton {triton.__version__}")
    print("cap dtype   d mask   settings          regs stack  shared    limit  products")
    failed = 0
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for row in pool.map(build, cases):
            print(row, flush=True)
            failed += bool(row.problem())
    print(f"{len(cases)} builds, {failed} with a problem")
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
