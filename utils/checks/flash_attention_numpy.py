"""Checks of lesson 06: the inner loop, output and log-sum-exp, the scale, and six loops to break."""

from collections.abc import Callable

import numpy as np

from utils.attention import naive_attention
from utils.checks.broken_loops import BOXES, score, verdict  # noqa: F401, the lesson calls score
from utils.checks.core import Case, Exercise, Mistake, exercise
from utils.checks.loop_mistakes import float_mistakes, loop_mistakes, right, walk
from utils.checks.scores import values, with_scores
from utils.language import say
from utils.tiles import tiles

INF = np.inf


class InTiles(np.ndarray):
    """K or V (keys, width) that refuses a product of more entries than a tile of keys has."""

    width, largest = 0, 0

    def __array_finalize__(self, parent):
        self.width, self.largest = getattr(parent, "width", 0), getattr(parent, "largest", 0)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        for x in inputs if ufunc is np.matmul else ():
            if isinstance(x, InTiles) and x.size > x.largest * x.width:
                keys, most = x.size // x.width, x.largest
                raise ValueError(
                    say(
                        en=f"this product takes {keys} keys at once; a tile has at most b_c = {most}",
                        zh=f"这个乘积一次用了 {keys} 个 key；一个 tile 最多 b_c = {most} 个",
                    )
                )
        plain = [x.view(np.ndarray) if isinstance(x, InTiles) else x for x in inputs]
        if "out" in options:
            options["out"] = tuple(np.asarray(x) for x in options["out"])
        return getattr(ufunc, method)(*plain, **options)


def in_tiles(array: np.ndarray, b_c: int) -> InTiles:
    """Return a view of an array (keys, width) of which products may use b_c keys at a time."""
    watched = array.view(InTiles)
    watched.width, watched.largest = array.shape[1], b_c
    return watched


def output_and_lse(attempt, q_i, k, v, b_c):
    """Use an attempt: any state that means the same O and L is right, whatever its m.

    Raises ValueError when the keys were not taken tile by tile, or the result is no state.
    """
    state = attempt(q_i, in_tiles(k, b_c), in_tiles(v, b_c), b_c)
    if state is None:
        return None
    asked = [(len(q_i),), (len(q_i),), (len(q_i), v.shape[1])]
    if not isinstance(state, tuple | list) or len(state) != 3:
        raise ValueError(
            say(
                en="the result must be three things in this order: m, l, acc (acc not divided by l)",
                zh="要按顺序返回三样东西：m、l、acc（acc 不除以 l）",
            )
        )
    m, l, acc = (np.asarray(part, dtype=float) for part in state)
    if [m.shape, l.shape, acc.shape] != asked:
        got, wanted = (", ".join(map(str, s)) for s in ([m.shape, l.shape, acc.shape], asked))
        raise ValueError(
            say(
                en=f"m, l, acc have the shapes {got}; they should have {wanted}",
                zh=f"m、l、acc 的形状是 {got}；要的是 {wanted}",
            )
        )
    return acc / l[:, None], m + np.log(l)


@exercise
def inner_loop() -> Exercise:
    """inner_loop(q_i, k, v, b_c): m, l and acc of a query tile after all its key tiles."""
    compared = say(
        en="; acc / l and m + ln l are compared",
        zh="；比较的是 acc / l 和 m + ln l",
    )

    def case(scores, b_c: int, says: str, kind: str = "algebra", idle: int = 0) -> Case:
        q_i, k = with_scores(scores, idle)
        v = values(len(k), 3)
        expected = naive_attention(q_i, k, v, scale=1)
        return Case(says + compared, (q_i, k, v, b_c), expected, kind, 1e-9)

    three = [[1, 2, 0, 3, 3, 1, 2], [4, 0, 1, 1, 5, 2, 0], [0, 1, 2, 2, 1, 0, 3]]
    apart = [[900, 899, 901, 900], [-900, -901, -899, -900]]
    low = [[-2000, -2001, -2002, -2000], [-1999, -2000, -2001, -2003]]
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
            case(
                [[1, 0, 2, 4], [3, 1, 0, 2]],
                2,
                say(en="more features than rows", zh="特征数多于行数"),
                idle=2,
            ),
            case(
                [[-900, -901, 0, 1, 900, 899]],
                2,
                say(en="tile maxima rise by 900", zh="tile 最大值每次升 900"),
                "floats",
            ),
            case(low, 2, say(en="all scores near -2000", zh="所有分数都在 -2000 附近"), "floats"),
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
        mistakes=[*float_mistakes(), *loop_mistakes()],
    )


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
                    "exchanged",
                    "algebra",
                    lambda m, l, acc: (m + np.log(l), acc / l[:, None]),
                    say(en="O and L are exchanged: O comes first.", zh="O 和 L 换位了：O 在前。"),
                ),
                (
                    "axis_kept",
                    "algebra",
                    lambda m, l, acc: (acc / l[:, None], (m + np.log(l))[:, None]),
                    say(
                        en="L has the shape (rows, 1); it should be (rows,).",
                        zh="L 的形状是 (rows, 1)；要的是 (rows,)。",
                    ),
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

    def scaled_again(q_i, k, v, b_c, scale):
        s = q_i @ k.T * scale ** (1 + np.arange(len(k)) // b_c)
        return naive_attention(s, np.eye(len(k)), v, scale=1)

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
                        en="the scores inside exp are not scaled. Scaling the maximum alone changes nothing: it is a reference, and cancels.",
                        zh="exp 里的分数没有乘缩放因子。只给最大值乘是没有用的：它只是参照，会约掉。",
                    ),
                ),
                (
                    "state_returned",
                    "algebra",
                    lambda q_i, k, v, b_c, scale: walk(scale * q_i, k, v, b_c, right),
                    say(
                        en="this is the state. Return O = acc / l and L = m + ln l.",
                        zh="这是状态。要的是 O = acc / l 和 L = m + ln l。",
                    ),
                ),
                (
                    "first_tile_only",
                    "algebra",
                    lambda q_i, k, v, b_c, scale: naive_attention(
                        q_i, k[:b_c], v[:b_c], scale=scale
                    ),
                    say(
                        en="only the first tile is there. Does the function return inside its loop?",
                        zh="只有第一个 tile。函数是不是在循环里面就返回了？",
                    ),
                ),
                (
                    "lse_of_raw_scores",
                    "algebra",
                    whole(
                        lambda q, k, v, scale: (
                            naive_attention(q, k, v, scale=scale)[0],
                            naive_attention(q, k, v, scale=1)[1],
                        )
                    ),
                    say(
                        en="O is right, but L belongs to the scores without the scale. Take both from one state.",
                        zh="O 是对的，但 L 用的是没有缩放的分数。两者都应当来自同一个状态。",
                    ),
                ),
                (
                    "lse_scaled_back",
                    "algebra",
                    whole(
                        lambda q, k, v, scale: (
                            naive_attention(q, k, v, scale=scale)[0],
                            naive_attention(q, k, v, scale=scale)[1] / scale,
                        )
                    ),
                    say(
                        en="O is right, but L is divided by the scale. L of the scaled scores is m + ln ℓ as it is.",
                        zh="O 是对的，但 L 又除以了缩放因子。缩放后分数的 L 就是 m + ln ℓ，不必再除。",
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
                    "scale_every_turn",
                    "algebra",
                    scaled_again,
                    say(
                        en="q_i is scaled anew in every turn, so each tile is scaled once more than the last. Scale it before the loop.",
                        zh="每一轮都又给 q_i 乘了一次，后一个 tile 总比前一个多乘一次。应当在循环之前乘。",
                    ),
                ),
                (
                    "scale_not_used",
                    "algebra",
                    whole(lambda q, k, v, scale: naive_attention(q, k, v)),
                    say(
                        en="this is 1/√d, whatever `scale` says. Use the argument.",
                        zh="用的总是 1/√d，没有理会 `scale`。应当用这个参数。",
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
                en="e: m₀ = 0 passes for ordinary scores too. A test is only as good as its input.",
                zh="e：分数平常时，m₀ = 0 也能通过。测试管不管用，全看输入。",
            ),
        ),
    }
    return Exercise(
        cases=[Case(why, (key,), truth, kind="") for key, (truth, why) in statements.items()],
        use=lambda answers, key: answers[key],
        show_all=True,
    )
