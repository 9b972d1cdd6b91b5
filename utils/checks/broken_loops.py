"""Six sabotaged tile loops of lesson 06, to be used as black boxes: an input must expose each.

Reading on spoils the exercise "break it". Every box takes one row of scores s (n,), one value a key
v (n,) and a tile size, and should return the output softmax(s) · v, a number.
"""

from collections.abc import Callable, Mapping

import numpy as np

from utils.language import say
from utils.tiles import tiles

LARGEST = 1e6  # of |s| and |v|: more would break honest loops as well


def truth(s, v) -> float:
    """Return softmax(s) · v by its definition, without tiles."""
    weights = np.exp(s - np.max(s))
    return float(weights @ v / weights.sum())


def run(turn: Callable, s, v, tile: int, start=(-np.inf, 0.0, 0.0)) -> float:
    """Return acc / l after the loop; turn makes the next m, l, acc out of the last and a tile."""
    m, l, acc = start
    for cols in tiles(len(s), tile):
        m, l, acc = turn(m, l, acc, s[cols], v[cols])
    return acc / l


def honest(m, l, acc, s, v):
    m_new = max(m, s.max())
    alpha, p = np.exp(m - m_new), np.exp(s - m_new)
    return m_new, alpha * l + p.sum(), alpha * acc + p @ v


def box_a(s, v, tile):
    def turn(m, l, acc, s, v):
        m_new, l, _ = honest(m, l, acc, s, v)
        return m_new, l, acc + np.exp(s - m_new) @ v

    return run(turn, s, v, tile)


def box_b(s, v, tile):
    def turn(m, l, acc, s, v):
        m_new, p = max(m, s.max()), np.exp(s - s.max())
        alpha = np.exp(m - m_new)
        return m_new, alpha * l + p.sum(), alpha * acc + p @ v

    return run(turn, s, v, tile)


def box_c(s, v, tile):
    return float(np.mean([truth(s[cols], v[cols]) for cols in tiles(len(s), tile)]))


def box_d(s, v, tile):
    whole = max(tile, len(s) // tile * tile)
    return run(honest, s[:whole], v[:whole], tile)


def box_e(s, v, tile):
    return run(honest, s, v, tile, start=(0.0, 0.0, 0.0))


def box_f(s, v, tile):
    first = s[:tile].max()

    def turn(m, l, acc, s, v):
        m_new, l_new, acc_new = honest(m, l, acc, s, v)
        return (first if m == -np.inf else m), l_new, acc_new

    return run(turn, s, v, tile)


def sealed(box: Callable) -> Callable:
    """Return the box as a learner uses it: lists will do, and 0 / 0 is NaN without a warning."""

    def call(s, v, tile):
        with np.errstate(all="ignore"):
            return float(box(np.asarray(s, float), np.asarray(v, float), tile))

    return call


BOXES = {
    name: sealed(box)
    for name, box in zip("abcdef", (box_a, box_b, box_c, box_d, box_e, box_f), strict=True)
}


def secrets() -> dict[str, str]:
    """Return what was sabotaged in each box; said when it is exposed."""
    return {
        "a": say(en="Õ is never rescaled (ℓ is)", zh="Õ 从不重标定（ℓ 有）"),
        "b": say(
            en="a new tile is left relative to its own maximum",
            zh="新 tile 仍以它自己的最大值为参照",
        ),
        "c": say(en="tiles normalised, then averaged", zh="每个 tile 各自归一化，再取平均"),
        "d": say(en="the ragged tail is dropped", zh="尾块丢了"),
        "e": say(
            en="m starts at 0: exact algebra, only floats expose it",
            zh="m 从 0 开始：代数没有错，只有浮点数能让它露馅",
        ),
        "f": say(
            en="m stays that of the first tile when α is formed",
            zh="计算 α 时，m 一直是第一个 tile 的最大值",
        ),
    }


def verdict(box: str, attempt) -> str:
    """Return "exposed", or why this input (s, v, tile) leaves the box unsuspected."""
    fault = unfit(attempt)
    if fault:
        return fault
    s, v, tile = (np.asarray(attempt[0], float), np.asarray(attempt[1], float), int(attempt[2]))
    right = truth(s, v)
    gap = abs(BOXES[box](s, v, tile) - right)
    if not gap <= 1e-6 * max(1.0, np.abs(v).max()):  # NaN is exposed as well
        return "exposed"
    return why_unsuspected(s, v, tile)


def unfit(attempt) -> str:
    """Say what is wrong with the form of an input, "" when nothing is."""
    try:
        s, v, tile = attempt
        s, v = np.asarray(s, float), np.asarray(v, float)
    except (TypeError, ValueError):
        return say(en="not of the form (s, v, tile)", zh="不是 (s, v, tile) 的形式")
    if s.ndim != 1 or s.shape != v.shape or not s.size:
        return say(en="s and v must be rows of equal length", zh="s 和 v 必须是一样长的行")
    if isinstance(tile, bool) or not isinstance(tile, int | np.integer) or tile < 1:
        return say(en="tile must be a whole number, 1 or more", zh="tile 必须是不小于 1 的整数")
    if not (np.abs(np.concatenate([s, v])) <= LARGEST).all():
        return say(
            en="numbers must be finite, at most 1e6: others break honest loops too",
            zh="数必须有限，且不超过 1e6：否则正确的循环也会坏",
        )
    return ""


def why_unsuspected(s, v, tile: int) -> str:
    """Say what this input cannot tell, as far as its looks show it."""
    if np.ptp(v) == 0:
        return say(
            en="not exposed: all values are equal, so any weights that add up to 1 look right",
            zh="没有露馅：所有的 value 都相等，权重只要加起来是 1，看上去就对",
        )
    if len(s) <= tile:
        return say(
            en="not exposed: all keys lie in one tile, so nothing had to be merged",
            zh="没有露馅：所有的 key 都在一个 tile 里，根本不需要合并",
        )
    if np.ptp(s) == 0:
        return say(
            en="not exposed: all scores are equal, so the maximum never moves between tiles",
            zh="没有露馅：所有的分数都相等，从一个 tile 到下一个，最大值从不改变",
        )
    return say(
        en="not exposed: try other tile maxima (rising, falling, very low), other lengths, more tiles",
        zh="没有露馅：换换各 tile 的最大值（上升、下降、极低）、长度，或者多几个 tile",
    )


def score(inputs: Mapping) -> None:
    """Print for each box whether its input exposes it, and the number of boxes exposed."""
    found = 0
    for box, secret in secrets().items():
        attempt = inputs.get(box, ...)
        if attempt is ...:
            print(f"· {box}")
            continue
        answer = verdict(box, attempt)
        found += answer == "exposed"
        print(f"✓ {box}: {secret}" if answer == "exposed" else f"✗ {box}: {answer}")
    print(say(en=f"{found} of 6 exposed", zh=f"识破 {found}/6"))
