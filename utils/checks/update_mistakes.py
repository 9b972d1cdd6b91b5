"""What the check of lesson 11's heart says about each slip of utils/checks/update_slips.py."""

from utils.checks.core import Mistake
from utils.language import say

ALSO = {"one_maximum_for_all": ["max_axis"]}  # key → slips that deserve the same words


def update_mistakes() -> list[Mistake]:
    """Return the typical mistakes; their models are imported here, as they need triton."""
    from utils.checks import update_slips

    return [
        Mistake(key, kind, getattr(update_slips, slip), says)
        for key, kind, says in words()
        for slip in (key, *ALSO.get(key, ()))
    ]


def words() -> list[tuple[str, str, str]]:
    return [
        (
            "nothing_returned",
            "",
            say(
                en="a `return` with the new values is missing. What is assigned to m, l, acc inside stays"
                " inside: end with `return m_new, l, acc`.",
                zh="漏了 `return`，新的值没有交出去。在函数里给 m、l、acc 赋值，外面看不到：最后要写 `return m_new, l, acc`。",
            ),
        ),
        (
            "not_three_returned",
            "",
            say(
                en="the kernel takes three values, the new state, in this order: `return m_new, l, acc`.",
                zh="kernel 要的是三个值，也就是新的状态，按这个顺序：`return m_new, l, acc`。",
            ),
        ),
        (
            "acc_not_rescaled",
            "algebra",
            say(
                en="ℓ was rescaled, acc was not: it still counts relative to the old maximum."
                " Multiply it by `alpha[:, None]` before P V is added.",
                zh="ℓ 重标定了，acc 没有：它仍以旧的最大值为参照。加上 P V 之前，先乘以 `alpha[:, None]`。",
            ),
        ),
        (
            "l_not_rescaled",
            "algebra",
            say(
                en="acc was rescaled, ℓ was not. Both are sums relative to m: `alpha * l + tl.sum(p, 1)`.",
                zh="acc 重标定了，ℓ 没有。两者都是相对于 m 的和：`alpha * l + tl.sum(p, 1)`。",
            ),
        ),
        (
            "alpha_upside_down",
            "algebra",
            say(
                en="α is 2^(new − old): that is upside down, and ∞ for the first tile, where m is the lowest finite float32.",
                zh="α 写成了 2^(新 − 旧)：上下颠倒了；第一个 tile 时 m 还是初值（约 −3.4×10³⁸），α 就成了 ∞。",
            ),
        ),
        (
            "rescaled_after_adding",
            "algebra",
            say(
                en="α was applied after adding: it must meet the old sums only, as P is relative to"
                " the new maximum already.",
                zh="先加后乘了 α：它只该作用于旧的和，因为 P 已经以新的最大值为参照。",
            ),
        ),
        (
            "old_m_returned",
            "algebra",
            say(
                en="the old m was returned. The next tile then rescales from a maximum that is not the one of ℓ and acc.",
                zh="返回的是旧的 m。于是下一个 tile 重标定时，依据的最大值与 ℓ、acc 的不是同一个。",
            ),
        ),
        (
            "scores_not_scaled",
            "algebra",
            say(
                en="the scores in P are not multiplied by scale_log2 (whatever m is): exp2 of the bare"
                " scores gives 1/3 and 2/3 for the scores 0 and 1.",
                zh="P 里的分数没有乘 scale_log2（不管 m 乘没乘）：直接对分数取 exp2，分数 0 和 1 会得到 1/3 和 2/3。",
            ),
        ),
        (
            "scaled_twice",
            "algebra",
            say(
                en="scale_log2, and log₂ e with it, came in twice. Multiply the scores once.",
                zh="scale_log2 乘了两次，log₂ e 也就乘了两次。分数只该乘一次。",
            ),
        ),
        (
            "exp_not_exp2",
            "algebra",
            say(
                en="log₂ e is in scale_log2 already, so the power is one of 2: tl.exp2, not tl.exp.",
                zh="scale_log2 里已经有 log₂ e，所以底数是 2：应当用 tl.exp2，而不是 tl.exp。",
            ),
        ),
        (
            "alpha_with_exp",
            "algebra",
            say(
                en="P is a power of 2 and α a power of e. m counts in base 2: use tl.exp2 for both.",
                zh="P 是 2 的幂，α 却是 e 的幂。m 以 2 为底：两处都用 tl.exp2。",
            ),
        ),
        (
            "sum_axis",
            "algebra",
            say(
                en="ℓ belongs to a row: sum along axis 1, over the keys. Square tiles hide the slip from the shapes.",
                zh="ℓ 属于一行：应当沿轴 1 对 key 求和。tile 是方的时候，形状看不出这个错误。",
            ),
        ),
        (
            "m_not_base_2",
            "algebra",
            say(
                en="O is right and L is not: m was kept in another unit. The kernel takes it for a power"
                " of 2: return the maximum of scores * scale_log2.",
                zh="O 对了，L 不对：m 用了别的单位。kernel 把它当作 2 的指数：请返回 scores * scale_log2 的最大值。",
            ),
        ),
        (
            "divided_inside",
            "algebra",
            say(
                en="acc was divided by ℓ already. Leave it unnormalised: the kernel divides once, after the loop.",
                zh="acc 已经除以了 ℓ。请不要归一化：kernel 在循环之后只除一次。",
            ),
        ),
        (
            "one_maximum_for_all",
            "floats",
            say(
                en="the maximum is not that of a row: it was taken over the whole tile, or along axis 0."
                " Each row needs its own, over its keys: tl.max(scores, 1).",
                zh="没有逐行取最大值：取的是整个 tile 的，或者沿轴 0 的。每一行要在自己的 key 上取：tl.max(scores, 1)。",
            ),
        ),
        (
            "never_below_zero",
            "floats",
            say(
                en="the reference never falls below 0, so every weight vanishes when all scores lie far"
                " below. Subtract m_new itself.",
                zh="参照值从不低于 0，于是所有分数都远小于 0 时，权重全部下溢成零。请减去 m_new 本身。",
            ),
        ),
        (
            "tile_maximum",
            "floats",
            say(
                en="the reference is the maximum of this tile alone. When maxima fall by hundreds, α"
                " overflows. Take tl.maximum(m, …).",
                zh="参照值只取了这一个 tile 的最大值。最大值下降几百时，α 会上溢。请用 tl.maximum(m, …)。",
            ),
        ),
        (
            "m_not_scaled",
            "floats",
            say(
                en="m is the maximum of the bare scores, P comes from the scaled ones. Any reference is"
                " right in exact numbers; this one lies far from the scaled maximum, and 2^x overflows or vanishes.",
                zh="m 取自没有缩放的分数，P 来自缩放后的分数。换成精确的数，用什么作参照都对；"
                "但这个参照离缩放后的最大值很远，2^x 会上溢，或者下溢成零。",
            ),
        ),
        (
            "half",
            "floats",
            say(
                en="P and V were turned into float16, which ends at 65,504. Take V's own type: `p.to(v_tile.dtype)`.",
                zh="P 和 V 被转成了 float16，它最大只到 65,504。请用 V 自己的类型：`p.to(v_tile.dtype)`。",
            ),
        ),
    ]
