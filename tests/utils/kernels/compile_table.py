"""Compile the kernels for GPUs that are not here, and print what each build needs.

`python tests/utils/kernels/compile_table.py` compiles every launch setting once, with --all also
every dtype, mask and many head sizes. It fails when a build spills registers, asks for more shared
memory than its GPU has, or does not keep Q where it should. Not in a process with TRITON_INTERPRET=1.
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

from utils.device import LaunchSettings, launch_settings
from utils.kernels.forward import attention_kernel, update
from utils.kernels.loop_orders import v1_kernel, v2_kernel, v2_serial_kernel

# bytes of shared memory that one thread block may use (CUDA C++ Programming Guide, compute capabilities)
SHARED = {75: 65536, 80: 166912, 86: 101376, 89: 101376, 90: 232448, 100: 232448, 120: 101376}
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
SOME = [("fp16", 64, "causal"), ("fp16", 128, "causal"), ("fp16", 256, "causal")]
SOME += [("fp16", 128, "tail")]
SOME += [("fp32", 64, "causal"), ("fp32", 128, "causal"), ("fp32", 256, "causal")]
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
MASKS = ("tail", "causal")  # tail: no mask but that of a ragged last tile
ALL = list(itertools.product(DTYPES, SIDES, MASKS))
# lesson 08's kernels, whose settings tests/gpu/loop_orders.py sets: capability → 64 × 64 tiles and
LOOP_ORDERS = {80: (64, 64, 8), 90: (64, 64, 4)}  # warps, enough for registers to last
KERNELS = {x.__name__: x for x in (attention_kernel, v1_kernel, v2_serial_kernel, v2_kernel)}
POINTERS = ("q", "k", "v", "out")  # in the inputs' dtype; the others hold float32
STATE = ("lse", "m", "l", "acc")
TENSOR_CORE = re.compile(r"wgmma\.mma_async|tcgen05\.mma|mma\.sync")
# a product on 9.0 whose left factor lies in registers, four from the one named; V is read transposed
PRODUCT = re.compile(r"HGMMA\.\S+ R\d+, R(\d+), gdesc\[\w+\](\.tnspB)?")
TOOL = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"


class Build(NamedTuple):
    kernel: str
    capability: int
    dtype: str
    d: int
    mask: str
    settings: tuple
    registers: int
    stack: int
    shared: int
    tensor_cores: bool
    fault_of_q: str

    def problem(self) -> str:
        spills = f"spills {self.stack} B " if self.stack else ""
        large = "too much shared memory" if self.shared > SHARED[self.capability] else ""
        return spills + self.fault_of_q + large

    def __str__(self) -> str:
        kind = "tensor cores" if self.tensor_cores else "FMA"
        return (
            f"{self.kernel:16} {self.capability:3} {self.dtype} {self.d:4} {self.mask:6}"
            f" {self.settings!s:17} {self.registers:4} {self.stack:5} {self.shared:7,}"
            f" {SHARED[self.capability]:8,}  {kind:12} {self.problem()}"
        )


def source(name: str, dtype: str, constants: dict) -> ASTSource:
    """Return the kernel with its types and alignment, as every launch gives them."""
    kernel, signature, hints = KERNELS[name], {}, {}
    for place, argument in enumerate(kernel.arg_names):
        pointer = dtype if argument in POINTERS else "fp32" if argument in STATE else None
        kind = f"*{pointer}" if pointer else "fp32" if argument == "scale_log2" else "i32"
        if argument in ("q", "k", "v") and constants.get("DESCRIPTORS"):
            rows = constants["B_R" if argument == "q" else "B_C"]
            kind, pointer = f"tensordesc<{dtype}[1, 1, {rows}, {constants['D_PAD']}]>", None
        signature[argument] = "constexpr" if argument in constants else kind
        if pointer or argument.endswith(("_batch", "_head", "_row")):
            hints[(place,)] = [["tt.divisibility", 16]]
    return ASTSource(kernel, signature, constants, hints)


def build(case: tuple) -> Build:
    """Compile one case (kernel, capability, dtype, d, mask, settings); read what it needs."""
    name, capability, dtype, d, mask, settings = case
    sides = {"B_R": settings.b_r, "B_C": settings.b_c}
    sides |= {"D": d, "D_PAD": max(16, triton.next_power_of_2(d))}
    constants = {"CAUSAL": mask == "causal", "UPDATE": update, **sides}
    constants |= {"DESCRIPTORS": settings.descriptors, "Q_IN_REGISTERS": settings.q_in_registers}
    constants = {x: constants[x] for x in constants if x in KERNELS[name].arg_names}
    kernel = triton.compile(
        source(name, dtype, constants),
        target=GPUTarget("cuda", capability, 32),
        options={
            "num_warps": settings.num_warps,
            "num_stages": settings.num_stages,
            "maxnreg": settings.max_registers,
        },
    )
    cubin, shared = kernel.asm["cubin"], kernel.metadata.shared
    cores = bool(TENSOR_CORE.search(kernel.asm["ptx"]))
    fault = fault_of_q(ask(cubin, "-sass")) if settings.q_in_registers else ""
    return Build(*case[:5], tuple(settings[:4]), *usage(cubin), shared, cores, fault)


def forward_cases(everything: bool) -> list[tuple]:
    """Return every launch setting of flash_attention."""
    cases = []
    for c, (dtype, d, mask) in itertools.product(SHARED, ALL if everything else SOME):
        if not (c < 80 and dtype == "bf16"):
            settings = launch_settings(divmod(c, 10), d, DTYPES[dtype], mask == "causal")
            cases.append((attention_kernel.__name__, c, dtype, d, mask, settings))
    return cases


def loop_order_cases(everything: bool) -> list[tuple]:
    """Return the three loop orders; everything: with a mask, in bfloat16 and with two stages too."""
    names = [name for name in KERNELS if name != attention_kernel.__name__]
    dtypes, masks, stages = ("fp16", "bf16"), ("tail", "causal"), (1, 2)
    if not everything:
        dtypes, masks, stages = dtypes[:1], masks[:1], stages[:1]
    return [
        (name, c, dtype, d, mask, LaunchSettings(*tiles, s))
        for name, (c, tiles), dtype, d, mask, s in itertools.product(
            names, LOOP_ORDERS.items(), dtypes, (64, 128), masks, stages
        )
    ]


def usage(cubin: bytes) -> tuple[int, int]:
    """Return registers and bytes of stack of a thread; a kernel has a stack only when it spills."""
    text = ask(cubin, "-res-usage")
    return tuple(int(re.search(rf"{key}:(\d+)", text)[1]) for key in ("REG", "STACK"))


def fault_of_q(machine_code: str) -> str:
    """Return what is wrong with a build that keeps Q in registers, "" for nothing.

    Q must outlive the key loop. The assembler has put P into its place where both need as many
    registers and a branch lies between the products: silently, and right in the interpreter.
    """
    q, p = set(), set()
    for first, transposed in PRODUCT.findall(machine_code):
        (p if transposed else q).update(range(int(first), int(first) + 4))
    if not (q and p):
        return "Q or P is not in registers "
    return "P overwrites Q " if q & p else ""


def ask(cubin: bytes, option: str) -> str:
    """Return what NVIDIA's cuobjdump says of the binary."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        command = [TOOL, option, path]
        return subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every dtype, mask and many head sizes")
    everything = parser.parse_args().all
    cases = forward_cases(everything) + loop_order_cases(everything)
    print(f"triton {triton.__version__}")
    print(
        f"{'kernel':16} cap dtype   d mask   settings          regs stack  shared    limit  products"
    )
    failed = 0
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for row in pool.map(build, cases):
            print(row, flush=True)
            failed += bool(row.problem())
    print(f"{len(cases)} builds, {failed} with a problem")
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
