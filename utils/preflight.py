"""What lesson 11 will do on this machine: decided before anything runs, and in this one place.

Works with NumPy alone; torch is imported only to name a dtype for the launch settings.
"""

from dataclasses import dataclass

from utils.device import LaunchSettings, Machine, describe, launch_settings, triton_mode, trouble
from utils.language import say

LARGE = 40e9  # bytes of GPU memory from which the papers' 16,384 tokens are timed
HEADS = 16  # of the one sequence whose memory is measured
SIDES = (64, 128)  # the head dimensions that are timed


@dataclass(frozen=True)
class Plan:
    """The lesson's sizes: lengths and tokens for the timings, memory_lengths for the memory.

    mode: "gpu", "interpreter" or "none", as `triton_mode` says. dtype: torch's name of the type that
    is timed. settings: (head dimension, causal) → launch settings. Without a GPU the sizes are empty.
    """

    mode: str
    machine: Machine
    dtype: str = "float16"
    settings: dict[tuple[int, bool], LaunchSettings] | None = None
    lengths: tuple[int, ...] = ()
    tokens: int = 0
    memory_lengths: tuple[int, ...] = ()
    minutes: int = 2

    @property
    def on_gpu(self) -> bool:
        return self.mode == "gpu"

    @property
    def tensor_cores(self) -> bool:
        """Whether Triton's products reach this GPU's tensor cores: from capability 8.0 on."""
        return self.on_gpu and self.machine.capability >= (8, 0)

    @property
    def points(self) -> list[tuple[int, bool, int]]:
        """The (d, causal, N) that are timed."""
        return [(d, causal, n) for d in SIDES for causal in (False, True) for n in self.lengths]

    def __str__(self) -> str:
        return "\n".join([str(self.machine), *(on_gpu if self.on_gpu else without_gpu)(self)])


def plan(machine: Machine | None = None, mode: str | None = None) -> Plan:
    """Return what the lesson does on this machine (on another one, for tests)."""
    machine, mode = machine or describe(), mode or triton_mode()
    if mode != "none" and trouble(machine.capability if mode == "gpu" else None):
        mode = "none"  # the versions do not work here: cells that need Triton are skipped
    if mode != "gpu":
        return Plan(mode, machine)
    import torch

    modern = machine.capability >= (8, 0)
    dtype = "bfloat16" if modern else "float16"
    large = modern and machine.memory_bytes >= LARGE
    settings = {
        (d, causal): launch_settings(machine.capability, d, getattr(torch, dtype), causal)
        for d in SIDES
        for causal in (False, True)
    }
    # the first is short on purpose: there S is small, and streaming need not win
    lengths = (256, 1024, 4096, 16384) if large else (128, 512, 1024, 4096)
    memory_lengths = lengths_past_naive(machine.memory_bytes)
    minutes = 3 if modern else 5
    return Plan(mode, machine, dtype, settings, lengths, lengths[-1], memory_lengths, minutes)


def lengths_past_naive(memory_bytes: int) -> tuple[int, ...]:
    """Return doubling N up to the first at which S and P alone, in 2 bytes, fill the GPU, and one more."""
    lengths = [1024]
    while 2 * 2 * HEADS * lengths[-1] ** 2 < memory_bytes:
        lengths.append(2 * lengths[-1])
    return (*lengths, 2 * lengths[-1])


def on_gpu(plan: Plan) -> list[str]:
    """Say what will happen on this GPU, a line a fact."""
    sizes = ", ".join(f"{n:,}" for n in plan.lengths)
    return [
        say(
            en=f"· numbers: {plan.dtype}"
            + ("" if plan.tensor_cores else ", as it has no bfloat16"),
            zh=f"· 数据类型：{plan.dtype}" + ("" if plan.tensor_cores else "（它没有 bfloat16）"),
        ),
        tensor_core_line(plan),
        copy_engine_line(plan.settings[SIDES[0], False].descriptors),
        *(setting_line(d, plan.settings[d, False], plan.settings[d, True]) for d in SIDES),
        say(
            en=f"· timed: N = {sizes}, d = 64 and 128, {plan.tokens:,} tokens in all",
            zh=f"· 计时：N = {sizes}，d = 64 和 128，每次共 {plan.tokens:,} 个 token",
        ),
        say(
            en=f"· memory: N up to {plan.memory_lengths[-1]:,}; naive attention is meant to run out",
            zh=f"· 显存：N 最大到 {plan.memory_lengths[-1]:,}；朴素注意力会用完显存，这是有意的",
        ),
        say(
            en=f"· the whole notebook takes about {plan.minutes} minutes, half of it compiling",
            zh=f"· 整个 notebook 大约需要 {plan.minutes} 分钟，一半时间在编译",
        ),
    ]


def tensor_core_line(plan: Plan) -> str:
    if plan.tensor_cores:
        return say(
            en="· tensor cores: yes, the products of tiles run on them",
            zh="· tensor core：能用，tile 的乘积在上面计算",
        )
    return say(
        en="· tensor cores: the card has some, but Triton (from 3.3 on) has no way to them on"
        " capability 7.5. Products run on ordinary cores: right, not fast. Expect no speed-up.",
        zh="· tensor core：这块卡有，但在计算能力 7.5 的卡上 Triton（3.3 起）用不上。乘积改由普通核心计算："
        "结果正确，但不快。别指望加速。",
    )


def copy_engine_line(descriptors: bool) -> str:
    if descriptors:
        return say(
            en="· tiles are fetched by the copy engine, through tensor descriptors",
            zh="· 由拷贝引擎读取 tile，用的是张量描述符",
        )
    return say(
        en="· tiles are loaded by pointers (no descriptors on this card)",
        zh="· 用指针读取 tile（这块卡上不用张量描述符）",
    )


def setting_line(d: int, s: LaunchSettings, masked: LaunchSettings) -> str:
    """Say how d is launched without a mask, and where Q lies; tiles are the same with a mask."""
    en = f"· d = {d}: {s.b_r} queries × {s.b_c} keys a tile, {s.num_warps} warps, {s.num_stages} stages"
    zh = f"· d = {d}：每个 tile {s.b_r} 个 query × {s.b_c} 个 key，{s.num_warps} 个 warp，num_stages = {s.num_stages}"
    if s.q_in_registers:
        en, zh = en + ", Q in registers", zh + "，Q 留在寄存器里"
        if not masked.q_in_registers:
            en, zh = en + " (not when causal)", zh + "（有因果掩码时除外）"
    return say(en=en, zh=zh)


def without_gpu(plan: Plan) -> list[str]:
    """Say what will happen where no kernel can be compiled."""
    if plan.mode == "interpreter":
        how = say(
            en="· kernels run in Triton's interpreter, on small tensors: it shows whether they are"
            " right, and nothing about speed",
            zh="· kernel 在 Triton 的解释器里运行，张量都很小：能说明对不对，说明不了快慢",
        )
    else:
        how = say(
            en="· no kernel can run here (the first cell says why): cells that need Triton are"
            " skipped, all others run",
            zh="· 这里不能运行 kernel（原因见第一个单元格）：需要 Triton 的单元格会跳过，其余照常运行",
        )
    return [
        how,
        say(
            en="· speed, memory and ceilings are figures recorded on an H200, with its versions",
            zh="· 速度、显存和上限用的是在一块 H200 上记录的数字，并注明版本",
        ),
        say(
            en=f"· the whole notebook takes less than {plan.minutes} minutes",
            zh=f"· 整个 notebook 不到 {plan.minutes} 分钟",
        ),
    ]
