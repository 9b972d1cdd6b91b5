"""Checks of lesson 06: the inner loop, output and log-sum-exp, the scale, and six loops to break."""

from collections.abc import Callable

import numpy as np

from utils.attention import naive_attention
from utils.checks.broken_loops import BOXES, score, verdict  # noqa: F401, the lesson calls score
from utils.checks.core import Case, Exercise, Mistake, exercise
from utils.language import say
from utils.tiles import tiles

INF = np.inf


def values(keys: int, d_v: int) -> np.ndarray:
    """Small values without symmetry, (keys, d_v)."""
    c, f = np.indices((keys, d_v))
    return ((c * c + 3 * c * f + 2 * f + c) % 5).astype(float)


def with_scores(scores) -> tuple[np.ndarray, np.ndarray]:
    """Return q_i (rows, rows) and k (keys, rows) that give exactly these scores (rows, keys)."""
    scores = np.array(scores, dtype=float)
    return np.eye(len(scores)), scores.T.copy()


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


def output_and_lse(attempt, *args):
    """Use an attempt: any state that means the same O and L is right, whatever its m."""
    state = attempt(*args)
    if not isinstance(state, tuple | list) or len(state) != 3:
        return state
    m, l, acc = (np.asarray(part, dtype=float) for part in state)
    return acc / l[..., None], m + np.log(l)


@exercise
def inner_loop() -> Exercise:
    """inner_loop(q_i, k, v, b_c): m, l and acc of a query tile after all its key tiles."""
    compared = say(
        en="Compared are acc / l and m + ln l, not m, l and acc themselves.",
        zh="比较的是 acc / l 和 m + ln l，而不是 m、l、acc 本身。",
    )

    def case(scores, b_c: int, says: str, kind: str = "algebra", d_v: int = 3) -> Case:
        q_i, k = with_scores(scores)
        v = values(len(k), d_v)
        expected = naive_attention(q_i, k, v, scale=1)
        return Case(says, (q_i, k, v, b_c), expected, kind, 1e-9, compared)

    three = [[1, 2, 0, 3, 3, 1, 2], [4, 0, 1, 1, 5, 2, 0], [0, 1, 2, 2, 1, 0, 3]]
    apart = [[900, 899, 901, 900], [-900, -901, -899, -900]]
    low = [[-800, -801, -802, -800], [-799, -800, -801, -803]]
    return Exercise(
        use=output_and_lse,
        cases=[
            case(
                [[1, 3, 4], [0, 2, 5]],
                1,
                say(en="three tiles, the maximum rises", zh="三个 tile，最大值上升"),
            ),
            case([[5, 3, 2, 1], [4, 4, 0, 1]], 2, say(en="the maximum stays", zh="最大值不变")),
            case(
                [[0, 2, 1], [3, 1, 0]],
                3,
                say(en="all keys in one tile", zh="所有 key 在一个 tile 里"),
            ),
            case(three, 3, say(en="three tiles, the last ragged", zh="三个 tile，最后是尾块")),
            case(low, 2, say(en="all scores near -800", zh="所有分数都在 -800 附近"), "floats"),
            case(
                [[-900, -901, 0, 1, 900, 899]],
                2,
                say(en="tile maxima rise by 900", zh="tile 最大值每次升 900"),
                "floats",
            ),
            case(
                [[900, 899, 0, 1, -900, -901]],
                2,
                say(en="tile maxima fall by 900", zh="tile 最大值每次降 900"),
                "floats",
            ),
            case(
                [[0, 1, 0, 10000, 1, 0, 2]],
                2,
                say(en="one huge score", zh="有一个极大的分数"),
                "floats",
            ),
            case(apart, 2, say(en="rows far apart", zh="两行相差悬殊"), "floats"),
        ],
        mistakes=[*loop_float_mistakes(), *loop_mistakes()],
    )


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
                en="α is upside down. It is e^(m - m_new), old minus new, and never exceeds 1.",
                zh="α 写反了。应当是 e^(m - m_new)，旧的减新的，永远不超过 1。",
            ),
            walked(turn_with(right_l, right_acc, lambda m, m_new: m_new - m)),
            walked(turn_with(right_l, right_acc, inverse)),
        ),
        *of(
            "rescaled_after_adding",
            say(
                en="rescaled after adding: α reaches the new tile too, which is already relative to m_new. Rescale the old sum, then add.",
                zh="先加后重标定：α 也乘到了新 tile 上，而新 tile 已经是相对于 m_new 的。要先重标定旧的和，再加。",
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
                zh="α 乘到了新 tile 上。新的权重已经相对于 m_new；α 属于旧的和。",
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
                zh="新的权重用了旧的 m。它们必须相对于 m_new：exp(s - m_new[:, None])。",
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
                en="acc comes back already divided by ℓ. Asked for is the state, with acc undivided.",
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
                en="m and l have the shape (rows, 1); asked for is (rows,).",
                zh="m 和 l 的形状是 (rows, 1)；要的是 (rows,)。",
            ),
            kept_axes,
        ),
    ]


def loop_float_mistakes() -> list[Mistake]:
    """Exact algebra that floats expose; the one that fails at the latest case stands first."""

    def shared(m, l, acc, s, v_j):
        m_new = np.maximum(m, s.max())
        alpha, p = np.exp(m - m_new), np.exp(s - m_new[:, None])
        return m_new, alpha * l + p.sum(axis=1), alpha[:, None] * acc + p @ v_j

    def tile_maximum(m, l, acc, s, v_j):
        m_new = s.max(axis=1)
        alpha, p = np.exp(m - m_new), np.exp(s - m_new[:, None])
        return m_new, alpha * l + p.sum(axis=1), alpha[:, None] * acc + p @ v_j

    return [
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
                en="m starts at 0, so all weights of very low scores underflow. Start at -inf.",
                zh="m 从 0 开始，分数很低时所有权重都会下溢。应当从 -inf 开始。",
            ),
        ),
    ]


@exercise
def finish() -> Exercise:
    """finish(m, l, acc): O and L of finished rows."""

    def case(scores, d_v: int, says: str, kind: str = "algebra") -> Case:
        q_i, k = with_scores(scores)
        v = values(len(k), d_v)
        m, l, acc = walk(q_i, k, v, len(k), right)
        return Case(says, (m, l, acc), naive_attention(q_i, k, v, scale=1), kind, 1e-9)

    return Exercise(
        cases=[
            case([[1, 2, 3, 5]], 1, say(en="one row, d_v = 1", zh="一行，d_v = 1")),
            case([[1, 2, 4], [3, 0, 1]], 2, say(en="2 rows, d_v = 2", zh="2 行，d_v = 2")),
            case([[1, 2, 4], [3, 0, 1]], 3, say(en="2 rows, d_v = 3", zh="2 行，d_v = 3")),
            case(
                [[1000, 999], [0, 1]],
                2,
                say(en="m = 1000 in one row", zh="有一行 m = 1000"),
                "floats",
            ),
            case(
                [[-900, -901], [0, 1]],
                2,
                say(en="m = -900 in one row", zh="有一行 m = -900"),
                "floats",
            ),
        ],
        mistakes=[
            Mistake(key, kind, model, says)
            for key, kind, model, says in [
                (
                    "not_divided",
                    "algebra",
                    lambda m, l, acc: (acc, m + np.log(l)),
                    say(en="O is not divided by ℓ.", zh="O 没有除以 ℓ。"),
                ),
                (
                    "divided_by_columns",
                    "algebra",
                    lambda m, l, acc: (acc / l, m + np.log(l)),
                    say(
                        en="acc / l divides the columns, not the rows: l needs a second axis, l[:, None].",
                        zh="acc / l 是按列除，不是按行除：l 需要第二个轴，l[:, None]。",
                    ),
                ),
                (
                    "m_forgotten",
                    "algebra",
                    lambda m, l, acc: (acc / l[:, None], np.log(l)),
                    say(
                        en="L = ln ℓ is relative to m. Add m.",
                        zh="L = ln ℓ 是相对于 m 的。要加上 m。",
                    ),
                ),
                (
                    "log_missing",
                    "algebra",
                    lambda m, l, acc: (acc / l[:, None], m + l),
                    say(en="L needs ln ℓ, not ℓ.", zh="L 里应当是 ln ℓ，不是 ℓ。"),
                ),
                (
                    "sign_turned",
                    "algebra",
                    lambda m, l, acc: (acc / l[:, None], m - np.log(l)),
                    say(
                        en="ln ℓ is subtracted. The sum is ℓ·e^m, and the logarithm of a product adds.",
                        zh="ln ℓ 被减掉了。和是 ℓ·e^m，乘积的对数是相加。",
                    ),
                ),
                (
                    "base_two",
                    "algebra",
                    lambda m, l, acc: (acc / l[:, None], m + np.log2(l)),
                    say(
                        en="the logarithm has base 2; the exponentials have base e. Use np.log.",
                        zh="对数以 2 为底，指数却以 e 为底。应当用 np.log。",
                    ),
                ),
                (
                    "back_to_large_numbers",
                    "floats",
                    lambda m, l, acc: (acc / l[:, None], np.log(l * np.exp(m))),
                    say(
                        en="e^m overflows or underflows. Do not undo the shift: ln(ℓ·e^m) = m + ln ℓ.",
                        zh="e^m 会上溢或下溢。不要把平移还原回去：ln(ℓ·e^m) = m + ln ℓ。",
                    ),
                ),
            ]
        ],
    )


def scaled_walk(q_i, k, v, b_c, *, p: Callable, alpha: Callable, m_of: Callable):
    """O and L of a loop: p(s, m), e^alpha(m, m_new), and m_of(s) for the tile's maximum."""
    m, l, acc = np.full(len(q_i), -INF), 0.0, 0.0
    for cols in tiles(len(k), b_c):
        s = q_i @ k[cols].T
        m_new = np.maximum(m, m_of(s))
        weights, a = np.exp(p(s, m_new[:, None])), np.exp(alpha(m, m_new))
        l, acc = a * l + weights.sum(axis=1), a[:, None] * acc + weights @ v[cols]
        m = m_new
    return acc / l[:, None], m + np.log(l)


@exercise
def scaled() -> Exercise:
    """scaled(q_i, k, v, b_c, scale): O and L of the scaled scores."""

    def case(scores, scale: float, b_c: int, says: str, kind: str = "algebra") -> Case:
        q_i, k = with_scores(scores)
        v = values(len(k), 3)
        expected = naive_attention(q_i, k, v, scale=scale)
        return Case(says, (q_i, k, v, b_c, scale), expected, kind, 1e-9)

    def whole(of: Callable) -> Callable:
        return lambda q_i, k, v, b_c, scale: of(q_i, k, v, scale)

    def raw(**wrong) -> Callable:
        """A loop that keeps m of the unscaled scores, with some of its parts wrong."""

        def model(q_i, k, v, b_c, scale):
            parts = {
                "m_of": lambda s: s.max(axis=1),
                "p": lambda s, m: scale * (s - m),
                "alpha": lambda m, m_new: scale * (m - m_new),
            }
            parts |= {name: part(scale) for name, part in wrong.items()}
            return scaled_walk(q_i, k, v, b_c, **parts)

        return model

    rising, mixed = [[1, 2, 3, 5], [0, 2, 4, 4]], [[4, 0, 2, 8, 1], [6, 2, 0, 0, 3]]
    huge = [[8000, 7992, 8008, 8000], [-8000, -8008, -8016, -8000]]
    return Exercise(
        cases=[
            case(rising, 0.5, 2, say(en="two tiles, scale 1/2", zh="两个 tile，缩放因子 1/2")),
            case([[2, 0, 4]], 0.5, 3, say(en="one tile, scale 1/2", zh="一个 tile，缩放因子 1/2")),
            case(mixed, 0.25, 2, say(en="three tiles, scale 1/4", zh="三个 tile，缩放因子 1/4")),
            case(
                huge,
                0.125,
                2,
                say(en="scores near ±8000, scale 1/8", zh="分数在 ±8000 附近，缩放因子 1/8"),
                "floats",
            ),
        ],
        mistakes=[
            Mistake(key, kind, model, says)
            for key, kind, model, says in [
                (
                    "scale_forgotten",
                    "algebra",
                    whole(lambda q, k, v, scale: naive_attention(q, k, v, scale=1)),
                    say(
                        en="the scores inside exp are not scaled. To scale the maximum alone changes nothing: it is a reference, and cancels.",
                        zh="exp 里的分数没有乘缩放因子。只给最大值乘是没有用的：它只是参照，会约掉。",
                    ),
                ),
                (
                    "scale_twice",
                    "algebra",
                    whole(lambda q, k, v, scale: naive_attention(q, k, v, scale=scale**2)),
                    say(
                        en="the scale is applied twice, to Q and to S or K as well. Once is enough.",
                        zh="缩放因子乘了两次，既乘了 Q，又乘了 S 或 K。只乘一次。",
                    ),
                ),
                (
                    "divided_by_scale",
                    "algebra",
                    whole(lambda q, k, v, scale: naive_attention(q, k, v, scale=1 / scale)),
                    say(
                        en="you divide by the scale; scores are multiplied by it.",
                        zh="你除以了缩放因子；分数应当乘以它。",
                    ),
                ),
                (
                    "scale_on_output",
                    "algebra",
                    whole(
                        lambda q, k, v, scale: (
                            scale * naive_attention(q, k, v, scale=1)[0],
                            naive_attention(q, k, v, scale=1)[1],
                        )
                    ),
                    say(
                        en="the output is scaled. The scale belongs to the scores, before the exponential.",
                        zh="缩放因子乘到输出上了。它属于分数，要在取指数之前乘。",
                    ),
                ),
                (
                    "scale_missing_in_alpha",
                    "algebra",
                    raw(alpha=lambda scale: lambda m, m_new: m - m_new),
                    say(
                        en="m is that of the unscaled scores, and α lacks the scale: e^(scale·(m - m_new)).",
                        zh="m 是未缩放分数的最大值，α 里却漏了缩放因子：e^(scale·(m - m_new))。",
                    ),
                ),
                (
                    "m_unscaled_in_lse",
                    "algebra",
                    raw(),
                    say(
                        en="O is right, but the m in L is the maximum of the unscaled scores. L = scale·m + ln ℓ here.",
                        zh="O 是对的，但 L 里的 m 是未缩放分数的最大值。这里 L = scale·m + ln ℓ。",
                    ),
                ),
                (
                    "maximum_unscaled",
                    "floats",
                    raw(
                        p=lambda scale: lambda s, m: scale * s - m,
                        alpha=lambda scale: lambda m, m_new: m - m_new,
                    ),
                    say(
                        en="the maximum is that of the unscaled scores. It is a legal reference, but far from the scaled ones: everything overflows or underflows.",
                        zh="最大值取自未缩放的分数。作为参照它是合法的，却离缩放后的分数很远：结果不是上溢就是下溢。",
                    ),
                ),
            ]
        ],
    )


@exercise
def break_it() -> Exercise:
    """break_it(inputs): for each box an input (s, v, tile) that exposes it."""
    return Exercise(
        cases=[
            Case(say(en=f"box {box}", zh=f"黑盒 {box}"), (box,), "exposed", kind="")
            for box in BOXES
        ],
        use=lambda inputs, box: verdict(box, inputs[box]),
        show_all=True,
    )


@exercise
def judge() -> Exercise:
    """Statements about what the loop saves: True or False for each letter."""
    statements = {
        "a": (
            False,
            say(
                en="a: three passes with plain safe softmax store no more. Online softmax saves passes.",
                zh="a：用普通安全 softmax 走三遍，存的也一样少。在线 softmax 省的是遍数。",
            ),
        ),
        "b": (
            False,
            say(
                en="b: no score is approximated or skipped. It equals naive attention up to rounding.",
                zh="b：没有一个分数被近似或跳过。它与朴素注意力相等，只差舍入。",
            ),
        ),
        "c": (
            True,
            say(
                en="c: true. T_r = N/B_r query tiles read all of K and V; half as many read half as much.",
                zh="c：对。T_r = N/B_r 个 query tile 各把 K 和 V 读一遍；个数减半，访存量也减半。",
            ),
        ),
        "d": (
            False,
            say(
                en="d: 4N²d FLOPs, as many as naive attention. Only S and P are never stored.",
                zh="d：4N²d 次浮点运算，和朴素注意力一样多。只是 S 和 P 从不存下来。",
            ),
        ),
        "e": (
            False,
            say(
                en="e: m₀ = 0 passes for ordinary scores too. A test is worth as much as its input.",
                zh="e：分数平常时，m₀ = 0 也能通过。输入有多好，测试才有多好。",
            ),
        ),
    }
    return Exercise(
        cases=[Case(why, (key,), truth, kind="") for key, (truth, why) in statements.items()],
        use=lambda answers, key: answers[key],
        show_all=True,
    )
