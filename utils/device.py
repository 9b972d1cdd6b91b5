"""What this machine can do, and how kernels are launched on it.

Works with NumPy alone: torch is imported when asked for, and triton never, since TRITON_INTERPRET
must be set before triton's first import.
"""

import importlib.metadata
import os
import sys
from dataclasses import dataclass
from typing import NamedTuple

from utils.language import say
from utils.skip import skip_cells_that_need_triton


@dataclass(frozen=True)
class Machine:
    """What lessons ask about a machine; None where there is no GPU, no torch or no triton."""

    gpu: str | None
    capability: tuple[int, int] | None
    shared_bytes: int | None  # what one thread block may use on chip
    memory_bytes: int | None
    torch: str | None
    triton: str | None

    def __str__(self) -> str:
        none = say(en="not installed", zh="没有安装")
        versions = f"torch {self.torch or none} · triton {self.triton or none}"
        if self.gpu is None:
            return (
                say(en="CPU only, no NVIDIA GPU", zh="只有 CPU，没有 NVIDIA GPU") + f" · {versions}"
            )
        major, minor = self.capability
        memory, shared = f"{self.memory_bytes / 2**30:.0f} GiB", f"{self.shared_bytes:,} B"
        return say(
            en=f"{self.gpu} · compute capability {major}.{minor} · {memory} of memory"
            f" · {shared} of shared memory per thread block · {versions}",
            zh=f"{self.gpu} · 计算能力 {major}.{minor} · 显存 {memory}"
            f" · 每个线程块的共享内存 {shared} · {versions}",
        )


def describe() -> Machine:
    """Return what this machine can do; print it to read it in the notebook's language."""
    versions = {"torch": _version("torch"), "triton": _version("triton")}
    if not _has_gpu():
        return Machine(None, None, None, None, **versions)
    import torch

    card = torch.cuda.get_device_properties(0)
    return Machine(
        gpu=card.name,
        capability=(card.major, card.minor),
        shared_bytes=card.shared_memory_per_block_optin,
        memory_bytes=card.total_memory,
        **versions,
    )


class LaunchSettings(NamedTuple):
    """Rows of a query tile and of a key tile, warps of a thread block, stages of the load pipeline.

    q_in_registers: the query tile is kept in registers, not in shared memory; key tiles that need no
    mask get a loop of their own, and the others' takes two stages. max_registers: what a thread may
    use: few, so that more thread blocks find room, or more than the assembler takes by itself, so
    that nothing spills; where neither is at stake it only orders the instructions in another way.
    None: its own choice. descriptors: tiles are fetched by the GPU's copy engine, which finds their
    addresses by itself.
    """

    b_r: int
    b_c: int
    num_warps: int
    num_stages: int
    q_in_registers: bool = False
    max_registers: int | None = None
    descriptors: bool = False


# (compute capability, bytes of an element) → settings for d up to 64, 128, 256; a row holds until the
# next capability with the same bytes. Registers (nothing may spill) and shared memory per thread
# block (64 KB on 7.5, 163 KB on 8.0, 99 KB on 8.6, 8.9 and 12.0, 227 KB on 9.0 and 10.0) set the
# limits: tests/utils/kernels/ compiles every entry and checks both. Products in float32, and all
# products on 7.5, are fused multiply-adds on ordinary cores, as triton (from 3.3 on) has no way to
# 7.5's tensor cores: they need more registers, so the tiles are small.
LAUNCH = {
    ((7, 5), 2): ((64, 32, 8, 1), (32, 16, 8, 1), (16, 16, 8, 1)),
    ((8, 0), 2): ((128, 64, 8, 3), (128, 64, 8, 3), (64, 64, 8, 2)),
    ((8, 6), 2): ((128, 64, 8, 3), (128, 64, 8, 2), (64, 32, 8, 2)),
    ((9, 0), 2): ((64, 64, 4, 3, True, 128), (64, 64, 4, 3, False, 144), (64, 64, 8, 2)),
    ((10, 0), 2): ((128, 64, 4, 3), (128, 64, 4, 3), (64, 64, 8, 2)),
    ((12, 0), 2): ((128, 64, 8, 3), (128, 32, 8, 3), (64, 32, 8, 2)),
    ((7, 5), 4): ((32, 16, 4, 1, False, 128), (32, 32, 8, 1), (32, 16, 16, 1, False, 128)),
    ((8, 0), 4): ((64, 16, 8, 2), (32, 16, 8, 1), (32, 16, 16, 1, False, 128)),
    ((10, 0), 4): ((64, 16, 8, 2), (32, 32, 8, 1), (32, 16, 8, 1)),
    ((12, 0), 4): ((64, 16, 8, 2), (32, 16, 8, 1, False, 128), (32, 16, 8, 2)),
}
# (compute capability, bytes, place in the row) → settings without a causal mask, where others are faster
UNMASKED = {((9, 0), 2, 1): (64, 64, 4, 3, True, 192)}
INTERPRETER = LaunchSettings(32, 32, 4, 1)  # several tiles even on small sizes


def launch_settings(
    capability: tuple[int, int] | None, d: int, dtype, causal: bool
) -> LaunchSettings:
    """Return how the kernel is launched on a GPU of this compute capability (None: interpreter).

    d: head dimension, 1 … 256. dtype: torch's, of q, k and v. A table instead of a search at run
    time: the first call is quick. Every entry was compiled for its GPUs, and tested on an H200 where
    it fits.
    """
    if capability is None:
        return INTERPRETER
    keys = [key for key in LAUNCH if key[0] <= capability and key[1] == dtype.itemsize]
    if not keys:
        raise RuntimeError(f"compute capability must be 7.5 or more, got {capability}")
    place = (d > 64) + (d > 128)
    settings = LAUNCH[keys[-1]][place]
    if not causal:
        settings = UNMASKED.get((*keys[-1], place), settings)
    # 12.0 has the copy engine too, but descriptors cost its kernels registers that they lack
    copy_engine = (9, 0) <= capability < (12, 0) and dtype.itemsize == 2
    return LaunchSettings(*settings, descriptors=copy_engine)


def choose_triton_mode() -> None:
    """Say where kernels will run; without a GPU, turn Triton's interpreter on for this process.

    Call it before anything imports triton. It never raises: where no kernel can run, the cells of
    the notebook that need one are skipped, and the others run.
    """
    if _version("torch") and _version("triton") and "triton" not in sys.modules and not _has_gpu():
        os.environ["TRITON_INTERPRET"] = "1"
    print(_where_kernels_run())
    if triton_mode() == "none" or _problem():
        skip_cells_that_need_triton()


def triton_mode() -> str:
    """Return how kernels run in this process: "gpu", "interpreter" or "none" (they cannot)."""
    if not (_version("torch") and _version("triton")):
        return "none"
    if interpreter_is_on() if "triton" in sys.modules else _interpreter_is_asked_for():
        return "interpreter"
    return "gpu" if _has_gpu() else "none"


def interpreter_is_on() -> bool:
    """Return whether triton was imported as an interpreter: its own functions tell."""
    language = sys.modules.get("triton.language")
    return language is not None and type(language.cdiv).__name__ == "InterpretedFunction"


def trouble(capability: tuple[int, int] | None) -> str | None:
    """Return one sentence when the installed versions are known not to work here, else None."""
    triton = _release("triton")
    if capability and capability < (8, 0) and triton == (3, 3):
        return say(
            en="Triton 3.3 cannot compile float16 kernels for this GPU (compute capability below"
            " 8.0): install triton 3.4 or later with the torch release it belongs to, and restart.",
            zh="Triton 3.3 无法为这块 GPU（计算能力低于 8.0）编译 float16 kernel：请安装 triton 3.4"
            " 或更新的版本（连同配套的 torch），然后重启。",
        )
    if not capability and (3, 4) <= triton < (3, 7) and _release("numpy") >= (2, 4):
        return say(
            en="Triton's interpreter before 3.7 fails with NumPy 2.4 and later: install triton 3.7 or"
            " later (torch 2.12), or numpy 2.3, and restart.",
            zh="3.7 之前的 Triton 解释器遇到 NumPy 2.4 及更新的版本会出错：请安装 triton 3.7"
            "（torch 2.12）或更新的版本，或者 numpy 2.3，然后重启。",
        )
    return None


def _problem() -> str | None:
    return trouble(describe().capability if triton_mode() == "gpu" else None)


def _where_kernels_run() -> str:
    mode, machine, problem = triton_mode(), describe(), _problem()
    if problem and mode != "none":
        return problem
    if mode == "gpu":
        return say(
            en=f"Triton kernels are compiled for this GPU: {machine.gpu}.",
            zh=f"Triton kernel 会为这块 GPU 编译并在上面运行：{machine.gpu}。",
        )
    if mode == "interpreter":
        return say(
            en="Triton kernels run in Triton's interpreter, on the CPU: slowly, on small sizes.",
            zh="Triton kernel 在 CPU 上用 Triton 的解释器运行：很慢，只用小尺寸。",
        )
    if machine.torch and machine.triton:
        return say(
            en="There is no GPU, and triton was imported before its interpreter was turned on:"
            " restart the Jupyter kernel and run this notebook from the top.",
            zh="这里没有 GPU，而 triton 在解释器打开之前就已导入：请重启 Jupyter 内核，从头运行本 notebook。",
        )
    return say(
        en="Triton is not installed, so kernels cannot run here; the NumPy parts can. On Colab:"
        " Runtime → Change runtime type → GPU. Triton exists for Linux only; on macOS and Windows"
        " open this notebook on Colab.",
        zh="没有安装 Triton，所以这里不能运行 kernel，NumPy 部分照常运行。在 Colab 上请选择：代码执行程序"
        " → 更改运行时类型 → GPU。Triton 只有 Linux 版；macOS 和 Windows 用户请在 Colab 上打开本 notebook。",
    )


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available() and torch.version.cuda is not None


def _interpreter_is_asked_for() -> bool:
    return os.environ.get("TRITON_INTERPRET", "").lower() in ("1", "true", "on", "yes", "y")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _release(package: str) -> tuple[int, ...]:
    """Return (3, 6) for "3.6.0"; () when the package is missing."""
    version = _version(package)
    return tuple(int(part) for part in version.split(".")[:2]) if version else ()
