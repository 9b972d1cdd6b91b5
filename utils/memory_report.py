"""What counted memory says to the learner: the error of a full chip, and the table of traffic."""

from collections import Counter

from utils.columns import left, right
from utils.language import say


def overrun(tile: str, needed: int, left: int, budget: int, on_chip: dict) -> str:
    """Say which tile does not fit, what it needs, what is left, and what takes the room."""
    pieces, nbytes = Counter(), Counter()
    for (name, _), size in on_chip.items():
        pieces[name] += 1
        nbytes[name] += size
    comma = say(en=", ", zh="、")
    held = comma.join(f"{name} {size:,}" for name, size in nbytes.items())
    message = say(
        en=f"{tile} needs {needed:,} bytes on chip, but only {left:,} of {budget:,} are left."
        f" On chip now: {held or 'nothing'}.",
        zh=f"{tile} 需要 {needed:,} 字节的片上存储，但 {budget:,} 字节中只剩 {left:,} 字节。"
        f"现在片上有：{held or '什么也没有'}。",
    )
    several = comma.join(name for name in pieces if pieces[name] > 1)
    return message + forgotten_turns(several) if several else message


def forgotten_turns(names: str) -> str:
    """Ask whether a loop keeps its old tiles, as one outside `turns` does."""
    return say(
        en=f" Several pieces of {names} are held at once: does each of your loops go through"
        " memory.turns(...), so that its tiles leave when a turn ends?",
        zh=f"{names} 同时有好几块在片上：每个循环是否都用了 memory.turns(...)，"
        "让 tile 在一轮结束时离开？",
    )


def whole_tensor(name: str) -> str:
    """Say that a tensor in slow memory is not an array on chip."""
    return say(
        en=f"{name} is in slow memory: read a piece of it, like {name}[0:16], and use that.",
        zh=f"{name} 在慢速内存里：先读出一块，例如 {name}[0:16]，再用这一块来算。",
    )


def table(memory) -> str:
    """Return bytes read and written by tensor, and how full the chip was."""
    rows = [("", say(en="read", zh="读"), say(en="written", zh="写"))]
    for name in dict.fromkeys([*memory.read, *memory.written]):
        rows.append((name, f"{memory.read[name]:,}", f"{memory.written[name]:,}"))
    total = memory.read.total(), memory.written.total()
    rows.append((say(en="total", zh="合计"), *(f"{nbytes:,}" for nbytes in total)))
    of = "" if memory.budget is None else f" / {memory.budget:,}"
    peak = say(en="bytes; on chip at most ", zh="单位：字节；片上最多 ") + f"{memory.peak:,}{of}"
    return "\n".join([*(line(*row) for row in rows), peak])


def line(name: str, *numbers: str) -> str:
    """Lay out one line of the table."""
    return left(name, 8) + "".join(right(number, 14) for number in numbers)


def label(name: str, ranges: tuple, shape: tuple) -> str:
    """Return a piece as a learner would write it: K[48:64, 0:64], or S (16 × 304) for a result."""
    if not ranges:
        return f"{name} ({' × '.join(map(str, shape))})"
    return f"{name}[{', '.join(f'{start}:{stop}' for start, stop in ranges)}]"
