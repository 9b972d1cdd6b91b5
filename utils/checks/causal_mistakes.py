"""What goes wrong in one query tile under a causal mask, each as a small program."""

import numpy as np

from utils.checks.core import Mistake
from utils.language import say

SENTINELS = (*(-(10.0**e) for e in (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 100, 300)),)
SENTINELS += tuple(float(np.finfo(t).min) for t in (np.float16, np.float32, np.float64))


def causal_loop(
    q_i,
    r_0,
    k,
    v,
    b_c,
    offset,
    *,
    mask=lambda s, seen: np.where(seen, s, -np.inf),
    see=lambda r, c, r_0, offset: c <= r + offset,
    visits=None,
    tiles_offset=None,
    leave_out=lambda seen: False,
    restart=False,
    hide_weights=False,
    guard=True,
    safe_division=True,
):
    """Walk over the key tiles the way a learner would, with one thing to get wrong each."""
    r, n_k = np.arange(r_0, r_0 + len(q_i)), len(k)
    m, l, acc = np.full(len(q_i), -np.inf), np.zeros(len(q_i)), np.zeros((len(q_i), v.shape[1]))
    last = r[-1] + (offset if tiles_offset is None else tiles_offset)
    count = min(-(-n_k // b_c), max(0, last // b_c + 1))
    for j in range(count if visits is None else visits(count, n_k, b_c)):
        c = np.arange(j * b_c, min(n_k, j * b_c + b_c))
        k_j, v_j = k[j * b_c : j * b_c + b_c], v[j * b_c : j * b_c + b_c]
        seen = see(r[:, None], c[None], r_0, offset)
        if leave_out(seen):
            continue
        if restart:
            m, l, acc = m - np.inf, 0 * l, 0 * acc
        s = q_i @ k_j.T if hide_weights else mask(q_i @ k_j.T, seen)
        m_new = np.maximum(m, s.max(axis=1))
        base = np.where(m_new == -np.inf, 0, m_new) if guard else m_new
        p, alpha = np.exp(s - base[:, None]), np.exp(m - base)
        p = p * seen if hide_weights else p
        m, l, acc = m_new, alpha * l + p.sum(axis=1), alpha[:, None] * acc + p @ v_j
    divisor = np.where(l == 0, 1, l) if safe_division else l
    return acc / divisor[:, None], m + np.log(divisor)


def variant(**wrong):
    """Return the loop with these things wrong."""
    return lambda *args: causal_loop(*args, **wrong)


def with_number(low: float):
    return variant(mask=lambda s, seen: np.where(seen, s, low))


def with_number_added(low: float):
    return variant(mask=lambda s, seen: s + np.where(seen, 0, low))


def scaled(q_i, *args):
    return causal_loop(q_i / np.sqrt(q_i.shape[1]), *args)


def other_sign(q_i, r_0, k, v, b_c, offset):
    return causal_loop(q_i, r_0, k, v, b_c, -offset)


def tile_mistakes() -> list[Mistake]:
    """Typical mistakes of causal_tile, algebra first."""
    said = sayings()
    algebra = {
        "offset_ignored": variant(see=lambda r, c, r_0, offset: c <= r),
        "own_key_hidden": variant(see=lambda r, c, r_0, offset: c < r + offset),
        "next_key_seen": variant(see=lambda r, c, r_0, offset: c <= r + offset + 1),
        "rows_from_zero": variant(see=lambda r, c, r_0, offset: c <= r - r_0 + offset),
        "columns_from_zero": variant(see=lambda r, c, r_0, offset: c - c[0, 0] <= r + offset),
        "no_mask": variant(mask=lambda s, seen: s),
        "mask_inverted": variant(mask=lambda s, seen: np.where(seen, -np.inf, s)),
        "times_zero": variant(mask=lambda s, seen: s * seen),
        "scaled": scaled,
        "offset_sign": other_sign,
        "tiles_without_offset": variant(tiles_offset=0),
        "nothing_arrives": variant(visits=lambda count, n_k, b_c: 0),
        "last_tile_dropped": variant(visits=lambda count, n_k, b_c: max(1, count - 1)),
        "first_tile_only": variant(visits=lambda count, n_k, b_c: min(1, count)),
        "last_tile_only": variant(restart=True),
        "full_left_out": variant(leave_out=np.all),
        "tail_dropped": variant(visits=lambda count, n_k, b_c: min(count, n_k // b_c)),
    }
    floats = {
        "zero_times_infinity": variant(mask=lambda s, seen: s + (1 - seen) * -np.inf),
        "nan_without_key": variant(guard=False),
        "zero_over_zero": variant(safe_division=False),
        "max_over_hidden": variant(hide_weights=True),
    }
    mistakes = [Mistake(key, "algebra", model, said[key]) for key, model in algebra.items()]
    mistakes += [Mistake(key, "floats", model, said[key]) for key, model in floats.items()]
    undivided = variant(hide_weights=True, safe_division=False)
    mistakes.append(Mistake("max_over_hidden", "floats", undivided, said["max_over_hidden"]))
    return mistakes + [
        Mistake("finite_sentinel", "floats", hide(low), said["finite_sentinel"])
        for hide in (with_number, with_number_added)
        for low in SENTINELS
    ]


def sayings() -> dict[str, str]:
    """Return what to say to each mistake."""
    return {
        "offset_ignored": say(
            en="the mask ignores the offset: this is top-left alignment.",
            zh="掩码没有用到偏移量：这是左上对齐。",
        ),
        "own_key_hidden": say(
            en="off by one: key r + offset is visible to query r (≤, not <).",
            zh="差一：第 r + offset 个 key 对 query r 可见（≤，不是 <）。",
        ),
        "next_key_seen": say(
            en="off by one: query r sees one key too many.",
            zh="差一：query r 多看见了一个 key。",
        ),
        "rows_from_zero": say(
            en="the mask counts queries from 0 within the tile. Query numbers start at r_0.",
            zh="掩码在 tile 内部从 0 数 query。query 的编号从 r_0 开始。",
        ),
        "columns_from_zero": say(
            en="the mask counts keys from 0 within each tile. Key numbers start at the tile's start.",
            zh="掩码在每个 tile 内部从 0 数 key。key 的编号从该 tile 的起点开始。",
        ),
        "no_mask": say(
            en="hidden tiles are left out, but a boundary tile needs a mask element by element.",
            zh="被遮住的 tile 跳过了，但边界块还需要逐元素的掩码。",
        ),
        "times_zero": say(
            en="a score of 0 is not a weight of 0: e^0 = 1. Write -∞ where hidden.",
            zh="分数为 0 不等于权重为 0：e^0 = 1。遮住的地方要写 -∞。",
        ),
        "tiles_without_offset": say(
            en="you choose the tiles without the offset: classify takes it as well.",
            zh="挑选 tile 时没有用到偏移量：classify 也要传入它。",
        ),
        "nothing_arrives": say(
            en="nothing of this tile is in the result. Visit boundary tiles too, and keep what update"
            " returns: state = update(state, …).",
            zh="这个 tile 一点也没有进入结果。边界块也要访问，而且要留住 update 返回的东西：state = update(state, …)。",
        ),
        "last_tile_dropped": say(
            en="a tile with a visible key is missing at the end: visit all boundary tiles, and round their number up.",
            zh="末尾漏掉了还有可见 key 的 tile：边界块要全部访问，tile 的个数要向上取整。",
        ),
        "first_tile_only": say(
            en="the result holds one tile only, the first. Is `return` inside the loop?",
            zh="结果里只有第一个 tile。`return` 是不是写进了循环里？",
        ),
        "last_tile_only": say(
            en="the result holds one tile only, the last. Make the state once, before the loop.",
            zh="结果里只有最后一个 tile。状态只在循环之前建一次。",
        ),
        "full_left_out": say(
            en='full tiles are missing: only "skip" is left out. "full" says that no mask is needed.',
            zh='漏掉了全可见的 tile：只有 "skip" 才跳过。"full" 的意思是不需要掩码。',
        ),
        "mask_inverted": say(
            en="the mask is upside down: `visible` is True where a score stays.",
            zh="掩码用反了：`visible` 为 True 的地方保留分数。",
        ),
        "scaled": say(
            en="you scaled the scores by 1/√d. Here the scale is 1.",
            zh="你给分数乘了 1/√d。这里缩放因子是 1。",
        ),
        "offset_sign": say(
            en="the offset has the wrong sign: visible is c ≤ r + offset.",
            zh="偏移量的符号反了：可见的条件是 c ≤ r + offset。",
        ),
        "zero_times_infinity": say(
            en="0 · (-∞) is NaN, and you multiply a mask by -∞. Choose with np.where.",
            zh="0 · (-∞) 是 NaN，而你拿掩码去乘 -∞。请用 np.where 来选。",
        ),
        "tail_dropped": say(
            en="the ragged tail of the keys is missing.",
            zh="漏掉了 key 的尾块。",
        ),
        "nan_without_key": say(
            en="a row that sees no key has m = -∞, and -∞ - (-∞) is NaN. Subtract 0 in such a row.",
            zh="一个 key 都看不见的行 m = -∞，而 -∞ - (-∞) 是 NaN。在这样的行里要减 0。",
        ),
        "zero_over_zero": say(
            en="a row that sees no key has ℓ = 0, and 0 / 0 is NaN. Its output is 0 by definition.",
            zh="一个 key 都看不见的行 ℓ = 0，而 0 / 0 是 NaN。它的输出规定为 0。",
        ),
        "max_over_hidden": say(
            en="the maximum runs over hidden scores too. A huge one makes all visible weights underflow.",
            zh="求最大值时把被遮住的分数也算进去了。它很大时，可见的权重全都下溢成 0。",
        ),
        "finite_sentinel": say(
            en="a finite number is no mask: scores can be lower, or a row may see no key. Write -∞.",
            zh="有限的数当不了掩码：分数可能更低，一行也可能没有可见的 key。要写 -∞。",
        ),
    }
