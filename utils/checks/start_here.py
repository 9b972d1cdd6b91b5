"""Checks of lesson 00: four habits that every later lesson leans on."""

from fractions import Fraction

import numpy as np

from utils.checks.core import Case, Exercise, Mistake, exercise
from utils.language import say


@exercise
def drop_to_zero() -> Exercise:
    """drop_to_zero(x): subtract from every row its own largest entry."""

    def case(rows: list, says: str) -> Case:
        x = np.array(rows, dtype=float)
        return Case(says, (x,), x - x.max(axis=1, keepdims=True))

    return Exercise(
        cases=[
            case([[1, 5], [7, 3]], say(en="a square matrix, 2 × 2", zh="2 × 2 的方阵")),
            case([[1, 5, 2], [7, 3, 9]], say(en="2 rows of 3", zh="2 行，每行 3 个")),
            case([[-4, -6, -5]], say(en="one row, all negative", zh="只有一行，全是负数")),
            case([[0.5, 0.25]], say(en="fractions", zh="小数")),
        ],
        mistakes=[
            Mistake(
                "keepdims_missing",
                "algebra",
                lambda x: x - x.max(axis=1),
                say(
                    en="the maxima have shape (rows,), so NumPy lays them along the columns. Keep the axis: keepdims=True, or maxima[:, None].",
                    zh="最大值的形状是 (rows,)，NumPy 会把它们沿列方向铺开。要保留那个轴：keepdims=True，或 maxima[:, None]。",
                ),
            ),
            Mistake(
                "wrong_axis",
                "algebra",
                lambda x: x - x.max(axis=0, keepdims=True),
                say(
                    en="these are the maxima of the columns. Rows run along axis=1.",
                    zh="这是各列的最大值。要沿着行取最大值，用 axis=1。",
                ),
            ),
            Mistake(
                "one_maximum_for_all",
                "algebra",
                lambda x: x - x.max(),
                say(
                    en="one maximum was taken over the whole matrix. Each row has its own.",
                    zh="对整个矩阵只取了一个最大值。每一行都有自己的最大值。",
                ),
            ),
        ],
    )


@exercise
def infinity() -> Exercise:
    """What NumPy gives for five expressions with infinities."""
    inf, nan = np.inf, np.nan
    values = {
        "a": (
            0.0,
            say(
                en="a: exp(-inf) is 0. That is how a masked score loses all weight.",
                zh="a：exp(-inf) 是 0。被遮住的分数就是这样失去全部权重的。",
            ),
        ),
        "b": (
            3.0,
            say(
                en="b: max(-inf, 3) is 3. So -inf is the right start of a running maximum.",
                zh="b：max(-inf, 3) 是 3。所以当前最大值应当从 -inf 开始。",
            ),
        ),
        "c": (
            -inf,
            say(en="c: -inf + 1000 is still -inf.", zh="c：-inf + 1000 仍是 -inf。"),
        ),
        "d": (
            nan,
            say(
                en="d: -inf - (-inf) has no answer, so it is nan. Rows without any visible key meet this.",
                zh="d：-inf - (-inf) 没有答案，所以是 nan。没有可见 key 的行就会遇到它。",
            ),
        ),
        "e": (
            nan,
            say(
                en="e: 0 * inf is nan, not 0. Multiplying by a zero does not remove a bad value.",
                zh="e：0 * inf 是 nan，不是 0。乘以零并不能去掉一个坏值。",
            ),
        ),
    }
    return Exercise(
        cases=[Case(why, (key,), value, kind="") for key, (value, why) in values.items()],
        use=lambda answers, key: answers[key],
        show_all=True,
    )


def value_and_dtype(attempt, *args):
    """Use an attempt so that the type of its result counts too."""
    result = attempt(*args)
    return str(np.asarray(result).dtype), result


@exercise
def scores_in_float32() -> Exercise:
    """scores_in_float32(q, k): Q Kᵀ of float16 inputs, computed and returned in float32."""

    def case(q: np.ndarray, k: np.ndarray, says: str, kind: str) -> Case:
        exact = q.astype(np.float64) @ k.astype(np.float64).T
        return Case(says, (q, k), ("float32", exact), kind=kind, tolerance=1e-6)

    small_q = np.array([[1, 2], [3, 4]], dtype=np.float16)
    small_k = np.array([[5, 6], [7, 8], [9, 1]], dtype=np.float16)
    large = np.full((1, 128), 256, dtype=np.float16)
    halves = np.array([[2048, 1]], dtype=np.float16)
    ones = np.ones((1, 2), dtype=np.float16)
    return Exercise(
        cases=[
            case(small_q, small_k, say(en="small whole numbers", zh="小整数"), "algebra"),
            case(halves, ones, say(en="2048 + 1 in float16", zh="float16 中的 2048 + 1"), "floats"),
            case(
                large,
                large,
                say(en="128 products of 256 · 256", zh="128 个 256 · 256 相加"),
                "floats",
            ),
        ],
        use=value_and_dtype,
        mistakes=[
            Mistake(
                "no_cast",
                "floats",
                lambda q, k: q @ k.T,
                say(
                    en="the product stays in float16: NumPy does not widen it by itself. Cast the inputs with .astype(np.float32).",
                    zh="乘积仍是 float16：NumPy 不会自动换成更宽的类型。请先用 .astype(np.float32) 转换输入。",
                ),
            ),
            Mistake(
                "cast_after",
                "floats",
                lambda q, k: (q @ k.T).astype(np.float32),
                say(
                    en="the cast comes after the product, when the damage is done. Cast q and k first.",
                    zh="先相乘、后转换，已经晚了。应当先转换 q 和 k。",
                ),
            ),
            Mistake(
                "float64",
                "floats",
                lambda q, k: q.astype(np.float64) @ k.astype(np.float64).T,
                say(
                    en="the values are right but the result is float64; float32 was asked for.",
                    zh="数值正确，但结果是 float64；要求的是 float32。",
                ),
            ),
            Mistake(
                "k_not_transposed",
                "algebra",
                lambda q, k: q.astype(np.float32) @ k.astype(np.float32),
                say(en="k is not transposed.", zh="k 没有转置。"),
            ),
        ],
    )


@exercise
def exact_softmax() -> Exercise:
    """exact_softmax(scores): 2^s / Σ 2^s of integer scores, as Fractions."""

    def case(scores: list[int], says: str) -> Case:
        total = sum(Fraction(2) ** s for s in scores)
        expected = np.array([Fraction(2) ** s / total for s in scores], dtype=object)
        return Case(says, (scores,), expected, kind="")

    return Exercise(
        cases=[
            case([0, 1], say(en="two scores", zh="两个分数")),
            case([0, 1, 3], say(en="three scores", zh="三个分数")),
            case(
                [3, 0, 3], say(en="equal scores, not in order", zh="有相等的分数，且不按大小排列")
            ),
            case([-1, 0], say(en="a negative score", zh="有一个负分数")),
            case([-40, 0, 60], say(en="scores far apart", zh="相差很大的分数")),
        ],
        mistakes=[
            Mistake(
                "floats_used",
                "floats",
                lambda scores: np.array([2.0**s / sum(2.0**t for t in scores) for s in scores]),
                say(
                    en="these are floats: 1/3 is rounded. Start from Fraction(2), and every result stays exact.",
                    zh="这是浮点数：1/3 已经舍入。从 Fraction(2) 出发，每一步就都是精确的。",
                ),
            ),
            Mistake(
                "base_e",
                "algebra",
                lambda scores: np.exp(scores) / np.exp(scores).sum(),
                say(
                    en="this is the softmax with base e. The task asks for powers of 2.",
                    zh="这是以 e 为底的 softmax。题目要求用 2 的幂。",
                ),
            ),
            Mistake(
                "not_normalised",
                "algebra",
                lambda scores: np.array([Fraction(2) ** s for s in scores]),
                say(
                    en="the powers are right, but they are not yet divided by their sum.",
                    zh="各个幂是对的，但还没有除以它们的和。",
                ),
            ),
        ],
    )
