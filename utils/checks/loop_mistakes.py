"""The inner loop of lesson 06 with one thing wrong at a time: models of the typical mistakes."""

from collections.abc import Callable

import numpy as np

from utils.checks.core import Mistake
from utils.language import say
from utils.tiles import tiles

INF = np.inf


def walk(q_i, k, v, b_c: int, turn: Callable, *, start=-INF, stop=None):
    """The loop with one thing to get wrong: turn(m, l, acc, s, v_j) gives the next m, l, acc."""
    rows = len(q_i)
    m, l, acc = np.full(rows, start), np.zeros(rows), np.zeros((rows, v.shape[1]))
    for cols in tiles(len(k) if stop is None else stop, b_c):
        m, l, acc = turn(m, l, acc, q_i @ k[cols].T, v[cols])
    return m, l, acc


def right(m, l, acc, s, v_j):
    m_new = np.maximum(m, s.max(axis=1))
    alpha, p = np.exp(m - m_new), np.exp(s - m_new[:, None])
    return m_new, alpha * l + p.sum(axis=1), alpha[:, None] * acc + p @ v_j


def turn_with(l: Callable, acc: Callable, alpha: Callable = lambda m, m_new: m - m_new):
    """A turn whose l and acc are l(a, l, p) and acc(a, acc, p, v), a = e^alpha(m, m_new)."""

    def turn(m, old_l, old_acc, s, v_j):
        m_new = np.maximum(m, s.max(axis=1))
        a, p = np.exp(alpha(m, m_new)), np.exp(s - m_new[:, None])
        return m_new, l(a, old_l, p), acc(a[:, None], old_acc, p, v_j)

    return turn


def right_l(a, l, p):
    return a * l + p.sum(axis=1)


def right_acc(a, acc, p, v):
    return a * acc + p @ v


def loop_mistakes() -> list[Mistake]:
    """Wrong algebra in the inner loop."""

    def of(key: str, says: str, *models: Callable) -> list[Mistake]:
        return [Mistake(key, "algebra", model, says) for model in models]

    def walked(turn: Callable, **how) -> Callable:
        return lambda q_i, k, v, b_c: walk(q_i, k, v, b_c, turn, **how)

    def inverse(m, m_new):
        return np.where(m == -INF, 0, m_new - m)

    def one_at_first(m, m_new):  # a learner who shields the first turn from −∞
        return np.where(m == -INF, 0, m - m_new)

    def late_l(a, l, p):
        return a * (l + p.sum(axis=1))

    def late_acc(a, acc, p, v):
        return a * (acc + p @ v)

    def old_m(m, l, acc, s, v_j):
        m_new, _, acc = right(m, l, acc, s, v_j)
        return m_new, np.exp(m - m_new) * l + np.exp(s - m[:, None]).sum(axis=1), acc

    def old_m_everywhere(m, l, acc, s, v_j):
        m_new, p = np.maximum(m, s.max(axis=1)), np.exp(s - m[:, None])
        alpha = np.exp(m - m_new)
        return m_new, alpha * l + p.sum(axis=1), alpha[:, None] * acc + p @ v_j

    def divided(m, l, acc, s, v_j):
        m, l, acc = right(m, l, acc, s, v_j)
        return m, l, acc / l[:, None]

    def by_tile(m, l, acc, s, v_j):
        m_new, p = np.maximum(m, s.max(axis=1)), np.exp(s - s.max(axis=1)[:, None])
        alpha = np.exp(m - m_new)
        return m_new, alpha * l + p.sum(axis=1), alpha[:, None] * acc + p @ v_j

    def normalised(m, l, acc, s, v_j):
        m_new = np.maximum(m, s.max(axis=1))
        alpha, p = np.exp(m - m_new), np.exp(s - m_new[:, None])
        p = p / p.sum(axis=1)[:, None]
        return m_new, alpha * l + p.sum(axis=1), alpha[:, None] * acc + p @ v_j

    def wrong_axis(m, l, acc, s, v_j):
        m_new = np.maximum(m, s.max(axis=0))
        alpha, p = np.exp(m - m_new), np.exp(s - m_new[:, None])
        return m_new, alpha * l + p.sum(axis=1), alpha[:, None] * acc + p @ v_j

    def kept_axes(q_i, k, v, b_c):
        m, l, acc = walk(q_i, k, v, b_c, right)
        return m[:, None], l[:, None], acc

    def divided_at_end(q_i, k, v, b_c):
        m, l, acc = walk(q_i, k, v, b_c, right)
        return m, l, acc / l[:, None]

    def last_tile(m, l, acc, s, v_j):
        return right(m, 0 * l, 0 * acc, s, v_j)

    def forgotten_m(m, l, acc, s, v_j):
        return (m, *right(m, l, acc, s, v_j)[1:])

    def first_tile(q_i, k, v, b_c):
        return walk(q_i, k[:b_c], v[:b_c], b_c, right)

    def l_before_m(q_i, k, v, b_c):
        m, l, acc = walk(q_i, k, v, b_c, right)
        return l, m, acc

    def scaled(q_i, k, v, b_c):
        return walk(q_i / np.sqrt(q_i.shape[1]), k, v, b_c, right)

    def whole_tiles(q_i, k, v, b_c):
        return walk(q_i, k, v, b_c, right, stop=len(k) // b_c * b_c)

    return [
        *of(
            "acc_not_rescaled",
            say(
                en="Õ (acc) is not rescaled: when m rises, the old output must shrink by α as ℓ does.",
                zh="Õ（acc）没有重标定：m 升高时，旧的输出要和 ℓ 一样乘 α 缩小。",
            ),
            walked(turn_with(right_l, lambda a, acc, p, v: acc + p @ v)),
        ),
        *of(
            "l_not_rescaled",
            say(
                en="ℓ is not rescaled: its old terms were relative to the old maximum, so multiply it by α.",
                zh="ℓ 没有重标定：旧的各项是相对于旧最大值的，要乘 α。",
            ),
            walked(turn_with(lambda a, l, p: l + p.sum(axis=1), right_acc)),
        ),
        *of(
            "nothing_rescaled",
            say(
                en="neither ℓ nor Õ is rescaled. Is α missing, or is m already overwritten when α is formed, so that α is 1?",
                zh="ℓ 和 Õ 都没有重标定。是漏了 α，还是计算 α 时 m 已经被覆盖，使 α 总是 1？",
            ),
            walked(turn_with(lambda a, l, p: l + p.sum(axis=1), lambda a, acc, p, v: acc + p @ v)),
        ),
        *of(
            "alpha_upside_down",
            say(
                en="α is not e^(m - m_new). Is it upside down? It is old minus new, and never exceeds 1.",
                zh="α 不是 e^(m - m_new)。是不是写反了？应当是旧的减新的，永远不超过 1。",
            ),
            walked(turn_with(right_l, right_acc, inverse)),
        ),
        *of(
            "nan_at_once",
            say(
                en="NaN from the first turn on. Print alpha there: it must be 0, from m = -inf at the start and alpha = np.exp(m - m_new), old minus new.",
                zh="第一轮就出现了 NaN。把那一轮的 alpha 打印出来：它必须是 0。m 从 -inf 开始，alpha = np.exp(m - m_new)，旧的减新的。",
            ),
            walked(turn_with(right_l, right_acc, lambda m, m_new: m_new - m)),
        ),
        *of(
            "tiles_normalised",
            say(
                en="each tile's weights are divided by their own sum. Then every tile counts the same: keep p undivided.",
                zh="每个 tile 的权重都除以了自己的和，于是每个 tile 的分量都一样：p 不要做除法。",
            ),
            walked(normalised),
        ),
        *of(
            "sum_over_queries",
            say(
                en="ℓ adds up the weights of all rows. Each row has a sum of its own: p.sum(axis=1).",
                zh="ℓ 把所有行的权重加到一起了。每一行有自己的和：p.sum(axis=1)。",
            ),
            walked(turn_with(lambda a, l, p: a * l + p.sum(), right_acc)),
        ),
        *of(
            "rescaled_after_adding",
            say(
                en="rescaled after adding: α reaches the new tile too, which is already relative to m_new. Rescale the old sum, then add.",
                zh="先加后重标定：α 也乘到了新 tile 上，而新 tile 已经以 m_new 为参照。要先重标定旧的和，再加。",
            ),
            *(
                walked(turn_with(l, acc, alpha))
                for l, acc in ((right_l, late_acc), (late_l, right_acc), (late_l, late_acc))
                for alpha in (lambda m, m_new: m - m_new, one_at_first)
            ),
        ),
        *of(
            "alpha_on_new_tile",
            say(
                en="α is on the new tile. The new weights are already relative to m_new; α belongs to the old sums.",
                zh="α 乘到了新 tile 上。新的权重已经以 m_new 为参照；α 只乘旧的和。",
            ),
            walked(
                turn_with(
                    lambda a, l, p: l + a * p.sum(axis=1), lambda a, acc, p, v: acc + a * (p @ v)
                )
            ),
            walked(turn_with(right_l, lambda a, acc, p, v: acc + a * (p @ v))),
        ),
        *of(
            "old_m",
            say(
                en="the new weights use the old m. They must be relative to m_new: exp(s - m_new[:, None]).",
                zh="新的权重用了旧的 m。它们必须以 m_new 为参照：exp(s - m_new[:, None])。",
            ),
            walked(old_m),
            walked(old_m_everywhere),
        ),
        *of(
            "own_maximum",
            say(
                en="a new tile is weighed with its own maximum while the running one is larger. Use m_new for both.",
                zh="当前最大值更大时，新 tile 却按它自己的最大值计权。两处都要用 m_new。",
            ),
            walked(by_tile),
        ),
        *of(
            "divided_in_loop",
            say(
                en="Õ is divided by ℓ in every turn and then carried on as if it were not. Divide once, after the loop.",
                zh="每一轮都把 Õ 除以 ℓ，之后又当作没除过继续累加。应当在循环结束后只除一次。",
            ),
            walked(divided),
        ),
        *of(
            "divided_at_end",
            say(
                en="acc comes back already divided by ℓ. Return the state, with acc undivided.",
                zh="返回的 acc 已经除过 ℓ。这里要的是状态，acc 不做除法。",
            ),
            divided_at_end,
        ),
        *of(
            "last_tile_only",
            say(
                en="only the last tile is left: l and acc are overwritten instead of added to.",
                zh="只剩最后一个 tile：l 和 acc 被覆盖了，而不是累加。",
            ),
            walked(last_tile),
        ),
        *of(
            "m_not_carried",
            say(
                en="m never changes: m = m_new is missing at the end of a turn, so α is 0 and only the last tile is left.",
                zh="m 从不改变：每一轮末尾漏了 m = m_new，于是 α 总是 0，只剩最后一个 tile。",
            ),
            walked(forgotten_m),
        ),
        *of(
            "first_tile_only",
            say(
                en="only the first tile is there. Does the function return inside its loop?",
                zh="只有第一个 tile。函数是不是在循环里面就返回了？",
            ),
            first_tile,
        ),
        *of(
            "l_before_m",
            say(
                en="the order of the results is m, l, acc; l and m are exchanged.",
                zh="返回的顺序是 m、l、acc；l 和 m 换位了。",
            ),
            l_before_m,
        ),
        *of(
            "scaled_anyway",
            say(
                en="the scores are multiplied by 1/√d. In this exercise the scale is 1.",
                zh="分数乘了 1/√d。这个练习的缩放因子是 1。",
            ),
            scaled,
        ),
        *of(
            "tail_dropped",
            say(
                en="the ragged tail is missing. tiles(len(k), b_c) includes it.",
                zh="漏了尾块。tiles(len(k), b_c) 是包含它的。",
            ),
            whole_tiles,
        ),
        *of(
            "wrong_axis",
            say(
                en="the maximum runs over the queries. It belongs to a row and runs over its keys: axis=1.",
                zh="最大值沿 query 方向取了。它属于每一行，应当沿 key 方向取：axis=1。",
            ),
            walked(wrong_axis),
        ),
        *of(
            "axis_kept",
            say(
                en="m and l have the shape (rows, 1); it should be (rows,).",
                zh="m 和 l 的形状是 (rows, 1)；要的是 (rows,)。",
            ),
            kept_axes,
        ),
    ]


def float_mistakes() -> list[Mistake]:
    """Exact algebra that floats expose; the one that fails at the latest case stands first."""

    def shared(m, l, acc, s, v_j):
        m_new = np.maximum(m, s.max())
        alpha, p = np.exp(m - m_new), np.exp(s - m_new[:, None])
        return m_new, alpha * l + p.sum(axis=1), alpha[:, None] * acc + p @ v_j

    def tile_maximum(m, l, acc, s, v_j):
        m_new = s.max(axis=1)
        alpha, p = np.exp(m - m_new), np.exp(s - m_new[:, None])
        return m_new, alpha * l + p.sum(axis=1), alpha[:, None] * acc + p @ v_j

    def quotients(m, l, acc, s, v_j):
        m_new = np.maximum(m, s.max(axis=1))
        alpha, p = np.exp(m) / np.exp(m_new), np.exp(s) / np.exp(m_new)[:, None]
        return m_new, alpha * l + p.sum(axis=1), alpha[:, None] * acc + p @ v_j

    def no_maximum(m, l, acc, s, v_j):
        p = np.exp(s)
        return 0 * l, l + p.sum(axis=1), acc + p @ v_j

    return [
        Mistake(
            "no_maximum",
            "floats",
            lambda q_i, k, v, b_c: walk(q_i, k, v, b_c, no_maximum),
            say(
                en="no maximum is subtracted, so e^900 overflows. Weigh with exp(s - m_new[:, None]).",
                zh="没有减去最大值，e^900 就上溢了。权重应当是 exp(s - m_new[:, None])。",
            ),
        ),
        Mistake(
            "quotient_of_exponentials",
            "floats",
            lambda q_i, k, v, b_c: walk(q_i, k, v, b_c, quotients),
            say(
                en="exp(s) / exp(m_new) overflows before it divides. Subtract first: exp(s - m_new), and so for alpha.",
                zh="exp(s) / exp(m_new) 还没相除就上溢了。要先减：exp(s - m_new)，alpha 也一样。",
            ),
        ),
        Mistake(
            "one_maximum_for_all",
            "floats",
            lambda q_i, k, v, b_c: walk(q_i, k, v, b_c, shared),
            say(
                en="one maximum is taken for all rows of the tile. A row far below it underflows: use axis=1.",
                zh="整个 tile 的各行只取了一个最大值。远低于它的行会下溢：要用 axis=1。",
            ),
        ),
        Mistake(
            "tile_reference",
            "floats",
            lambda q_i, k, v, b_c: walk(q_i, k, v, b_c, tile_maximum),
            say(
                en="m follows the tile's maximum downwards, so α exceeds 1 and overflows. Take max(m, tile maximum).",
                zh="m 跟着 tile 的最大值往下走，α 就大于 1，会上溢。应当取 max(m, tile 的最大值)。",
            ),
        ),
        Mistake(
            "starts_at_zero",
            "floats",
            lambda q_i, k, v, b_c: walk(q_i, k, v, b_c, right, start=0.0),
            say(
                en="m starts at 0 (or another finite number), so all weights of very low scores underflow. Start at -inf.",
                zh="m 从 0（或别的有限的数）开始，分数很低时所有权重都会下溢。应当从 -inf 开始。",
            ),
        ),
    ]
