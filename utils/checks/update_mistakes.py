"""What the check of lesson 11's heart says about each slip of utils/checks/update_slips.py."""

from utils.checks.core import Mistake
from utils.language import say

ALSO = {  # key → slips that deserve the same words
    "one_maximum_for_all": ["max_axis"],
    "hidden_tile": ["hidden_tile_at_zero"],
    "rescaled_after_adding": ["acc_rescaled_after", "l_rescaled_after"],
}


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
                en="nothing is left of this tile in ℓ or acc: it was not added, or α, which is 0 in the first"
                " tile, was applied after adding. α must meet the old sums only: P is relative to the"
                " new maximum already.",
                zh="ℓ 或 acc 里没有留下这个 tile 的任何东西：要么没有加上去，要么先加后乘了 α（第一个 tile 时 α 是 0）。"
                "α 只该作用于旧的和：P 已经以新的最大值为参照。",
            ),
        ),
        (
            "not_rescaled",
            "algebra",
            say(
                en="neither ℓ nor acc was rescaled: α is missing, or came out as 1 because m was overwritten"
                " before it was computed. Multiply both old sums by 2^(m − m_new), with the old m.",
                zh="ℓ 和 acc 都没有重标定：要么漏了 α，要么先覆盖了 m 再算 α，结果 α 成了 1。两个旧的和都要乘以"
                " 2^(m − m_new)，其中 m 是旧的 m。",
            ),
        ),
        (
            "started_anew",
            "algebra",
            say(
                en="the old ℓ and acc are gone: only the last tile counts. Add to them, after multiplying by α.",
                zh="旧的 ℓ 和 acc 丢掉了：只有最后一个 tile 算数。要先把它们乘以 α，再加上新的。",
            ),
        ),
        (
            "relative_to_the_tile",
            "algebra",
            say(
                en="P is relative to the maximum of its own tile, the state to that of all tiles so far."
                " Subtract m_new in P.",
                zh="P 以本 tile 的最大值为参照，状态却以到目前为止所有 tile 的最大值为参照。P 里要减的是 m_new。",
            ),
        ),
        (
            "alpha_scaled_twice",
            "algebra",
            say(
                en="α was scaled again: m counts scaled scores already. α is tl.exp2(m - m_new).",
                zh="α 又缩放了一次：m 本来就是按缩放后的分数算的。α 就是 tl.exp2(m - m_new)。",
            ),
        ),
        (
            "finite_sentinel",
            "algebra",
            say(
                en="a number stands in place of −∞: in a row that sees no key it becomes the maximum, and every"
                " hidden key weighs 1. Leave −∞ where it is: 2^(−∞) is 0.",
                zh="用一个数代替了 −∞：在看不见任何 key 的行里，它就成了最大值，每个看不见的 key 的权重都成了 1。"
                "请让 −∞ 留在原处：2^(−∞) 就是 0。",
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
            "hidden_tile",
            "floats",
            say(
                en="a tile in which a row sees nothing must leave that row's state alone. It does so by itself:"
                " m_new is then the old m, α is 1, and every weight is 0. Treat −∞ in no special way.",
                zh="一行在某个 tile 里什么也看不见时，它的状态应当原样不动。这不用特别处理：此时 m_new 就是旧的 m，"
                "α 是 1，权重全是 0。不要单独对付 −∞。",
            ),
        ),
        (
            "maximum_kept",
            "floats",
            say(
                en="m stayed where the first tile put it. When scores rise by hundreds, 2^(s − m) overflows: m_new"
                " is the maximum of m and of this tile, at every tile.",
                zh="m 停在了第一个 tile 的最大值上。分数上升几百时，2^(s − m) 会上溢：每个 tile 都要取 m"
                " 和本 tile 最大值中较大的作 m_new。",
            ),
        ),
        (
            "m_divided",
            "floats",
            say(
                en="m was divided by scale_log2. Where no key was seen it is the lowest number there is, and dividing"
                " makes it −∞. Keep m as it comes, and scale the scores instead.",
                zh="m 除以了 scale_log2。还没有看见任何 key 的行，m 是最小的有限值，一除就成了 −∞。"
                "请保持 m 不变，去缩放分数。",
            ),
        ),
        (
            "m_scaled_again",
            "floats",
            say(
                en="m counts in base 2 already, and was multiplied by scale_log2 again. Scale the tile's"
                " maximum only: tl.maximum(m, tl.max(scores, 1) * scale_log2).",
                zh="m 已经以 2 为底，却又乘了一次 scale_log2。只缩放这个 tile 的最大值："
                "tl.maximum(m, tl.max(scores, 1) * scale_log2)。",
            ),
        ),
        (
            "m_not_scaled",
            "floats",
            say(
                en="m is the maximum of the bare scores (or none was subtracted), P comes from the scaled ones. Any reference is"
                " right in exact numbers; this one lies far from the scaled maximum, and 2^x overflows or vanishes.",
                zh="m 取自没有缩放的分数（或者根本没有减最大值），P 来自缩放后的分数。换成精确的数，用什么作参照都对；"
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
