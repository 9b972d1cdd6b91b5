"""Checks of lesson 03: safe softmax, where e^x overflows, log-sum-exp, statements to judge."""

from collections.abc import Callable
from decimal import Decimal

import numpy as np

from utils import variant
from utils.checks.core import Case, Exercise, Mistake, exercise
from utils.language import say

INF = np.inf


def plain_softmax(row: np.ndarray) -> list[float]:
    """The definition e^x / Σ e^x in decimal numbers, whose exponents reach far enough."""
    powers = [Decimal(float(s)).exp() for s in row]
    total = sum(powers)
    return [float(power / total) if total else 0.0 for power in powers]


def plain_logsumexp(row: np.ndarray) -> float:
    """The definition ln Σ e^x in decimal numbers; -inf for an empty sum."""
    return float(sum(Decimal(float(s)).exp() for s in row).ln())


def cases(definition: Callable) -> list[Case]:
    """The inputs of exercises 1 and 3: small numbers, then what only a careful formula survives."""

    def case(x, axis: int, says: str, kind: str = "floats", dtype=np.float64) -> Case:
        x = np.array(x, dtype=dtype)
        if kind == "algebra":
            x = x + variant.draw("scores", 0, 1, 2, 3, 4)
        expected = np.apply_along_axis(definition, axis, x)
        tolerance = 2e-6 if x.dtype == np.float32 else 1e-9
        return Case(says, (x, axis), expected, kind=kind, tolerance=tolerance)

    square, wide = [[0, 1], [3, 1]], [[1, 2, 3], [0, 2, 2]]
    single = say(en="a single row, axis 1", zh="只有一行，轴 1")
    cube = [[[0, 1, 3], [2, 1, 0]], [[1, 1, 4], [3, 0, 2]]]
    masked_rows = [[1, 2, 3, 5], [-INF] * 4, [0, -INF, 2, 1], [4, 4, 0, 1]]
    low = say(en="all scores near -200, float32", zh="所有分数都在 -200 附近，float32")
    outlier = say(en="one score far above the others, float32", zh="一个分数远高于其余，float32")
    return [
        case(square, 1, say(en="a square matrix, axis 1", zh="方阵，轴 1"), "algebra"),
        case(wide, 1, say(en="2 rows of 3, axis 1", zh="2 行，每行 3 个，轴 1"), "algebra"),
        case(wide, 0, say(en="the same, axis 0", zh="同一个矩阵，轴 0"), "algebra"),
        case(cube, 1, say(en="three axes, axis 1", zh="三个轴，沿轴 1"), "algebra"),
        case([[1, 2, 3]], 1, single, "algebra"),
        case(
            [88.5] * 3, 0, say(en="three times 88.5, float32", zh="三个 88.5，float32"), dtype="f4"
        ),
        case([1000, 999, 990], 0, say(en="scores near 1000", zh="分数在 1000 附近")),
        case([-200, -200, -201], 0, low, dtype="f4"),
        case([[900, 899], [-900, -901]], 1, say(en="rows far apart", zh="两行相差悬殊")),
        case([0, 0, 0, 400], 0, outlier, dtype="f4"),
        case([-INF, -INF, 2, 1], 0, say(en="the first two are masked", zh="前两个被遮住")),
        case(
            [-20000, -INF], 0, say(en="a very low score, one masked", zh="分数很低，另一个被遮住")
        ),
        case(masked_rows, 1, say(en="one row fully masked", zh="有一行全部被遮住")),
    ]


def maximum(x, axis):
    return x.max(axis=axis, keepdims=True)


def mean(x, axis):
    return x.mean(axis=axis, keepdims=True)


def softmax(reference=maximum, before=lambda x: x, guard=False) -> Callable:
    """A softmax that subtracts reference(x, axis) from before(x); guard: no division by 0."""

    def model(x, axis):
        terms = np.exp(before(x) - reference(before(x), axis))
        l = terms.sum(axis=axis, keepdims=True)
        return terms / np.where(guard & (l == 0), 1, l)

    return model


def logsumexp_with(reference=maximum, before=lambda x: x, guard=False) -> Callable:
    """A log-sum-exp that subtracts reference(x, axis) from before(x); guard: no ln 0."""

    def model(x, axis):
        c = reference(before(x), axis)
        l = np.exp(before(x) - c).sum(axis=axis, keepdims=True)
        l = np.where(guard & (l == 0), 1, l)
        return (c + np.log(l)).max(axis=axis)  # drops the axis, whatever the shape of c

    return model


def on(axis_of: Callable, function: Callable) -> Callable:
    return lambda x, axis: function(x, axis_of(x, axis))


def other_axis(x, axis):
    return (axis + 1) % x.ndim


def filled(value: float) -> Callable:
    return lambda x: np.where(x == -INF, value, x)


def clipped(value: float) -> Callable:
    return lambda x: np.maximum(x, value)


def float_mistakes(model: Callable) -> list[Mistake]:
    """Mistakes in the constant and in masked rows: exact algebra, wrong in floats."""

    def of(key: str, says: str, *options: dict) -> list[Mistake]:
        models = [model(**each, guard=guard) for each in options for guard in (False, True)]
        return [Mistake(key, "floats", each, says) for each in models]

    nothing = say(
        en="nothing seems to be subtracted before exp: terms or their sum leave the range of the type.",
        zh="看来在 exp 之前什么也没减：各项或它们的和超出了该类型的范围。",
    )
    high = say(
        en="what you subtract lies far above these scores, so all terms underflow. A maximum that starts at 0, or an absolute value? Take the scores' own maximum.",
        zh="减去的数远高于这些分数，各项全部下溢。是最大值从 0 开始取，还是取了绝对值？应当用分数自己的最大值。",
    )
    shared = say(
        en="one maximum was taken for the whole array. A row far below it underflows entirely: each row needs its own.",
        zh="整个数组只取了一个最大值。远低于它的那一行会全部下溢：每一行要用自己的最大值。",
    )
    low = say(
        en="the constant (mean, minimum?) lies far below the largest score, whose term then overflows. Only the maximum keeps every exponent at or below 0.",
        zh="减去的常数（平均值？最小值？）远低于最大的分数，那一项就上溢了。只有最大值能让所有指数都不大于 0。",
    )
    sentinel = say(
        en="masked entries became a finite number. It equals or beats a score that is as low or lower, and in a fully masked row it shares out weight. Keep -inf.",
        zh="被遮住的元素变成了一个有限的数。遇到同样低或更低的分数，它会与之持平，甚至胜过；在全部被遮住的行里，它还会分到权重。应当保留 -inf。",
    )
    empty = say(
        en="in the fully masked row -inf - (-inf), and then 0 / 0, give NaN. Replace m with a harmless number there, and l too where you divide.",
        zh="在全部被遮住的行里，-inf - (-inf) 以及随后的 0 / 0 得到 NaN。请在那里把 m 换成一个无害的数；如果有除法，l 也一样。",
    )
    # A model that fails at a later case stands first: at that case the earlier ones fail too.
    return [
        *of("all_masked_nan", empty, {}),
        *of(
            "finite_sentinel",
            sentinel,
            *({"before": filled(v)} for v in (0.0, -1e4, -1e30)),
            {"before": clipped(-1e4)},
        ),
        *of("constant_too_low", low, {"reference": mean}),
        *of("one_maximum_for_all", shared, {"reference": lambda x, axis: np.full_like(x, x.max())}),
        *of("constant_too_high", high, {"reference": lambda x, axis: maximum(x, axis).clip(0)}),
        *of("nothing_subtracted", nothing, {"reference": lambda x, axis: np.zeros_like(x)}),
    ]


def axis_mistakes(right: Callable, lost_axis: Callable, fixed_axis: Callable) -> list[Mistake]:
    """Mistakes in the axis: wrong whatever the numbers are."""
    other = say(
        en="this was computed along another axis than `axis`.",
        zh="计算所沿的轴不是 `axis`。",
    )
    lost = say(
        en="the maximum lost its axis, so NumPy lines it up with the wrong axis of x. Use keepdims=True.",
        zh="最大值丢掉了那个轴，NumPy 就把它与 x 的另一个轴对齐了。请用 keepdims=True。",
    )
    by_hand = say(
        en="[:, None] puts the axis back at one fixed place. keepdims=True does it for every axis.",
        zh="[:, None] 只能把轴补在一个固定的位置。keepdims=True 对任何轴都行。",
    )
    return [
        Mistake("wrong_axis", "algebra", on(other_axis, right), other),
        Mistake("wrong_axis", "algebra", on(lambda x, axis: -1, right), other),
        Mistake("keepdims_missing", "algebra", lost_axis, lost),
        Mistake("axis_by_hand", "algebra", fixed_axis, by_hand),
    ]


@exercise
def safe_softmax() -> Exercise:
    """safe_softmax(x, axis): softmax for scores of any size, masked entries and rows."""

    def terms(x, axis):
        return np.exp(x - maximum(x, axis))

    def softmax_without_axes(x, axis):
        e = np.exp(x - x.max(axis=axis))
        return e / e.sum(axis=axis)

    def softmax_of_float32(x, axis):
        return softmax()(x.astype(np.float32), axis)

    return Exercise(
        cases=cases(plain_softmax),
        mistakes=[
            *float_mistakes(softmax),
            *axis_mistakes(
                softmax(),
                softmax(lambda x, axis: x.max(axis=axis)),
                softmax(lambda x, axis: x.max(axis=axis)[:, None]),
            ),
            Mistake(
                "keepdims_missing_in_sum",
                "algebra",
                lambda x, axis: terms(x, axis) / terms(x, axis).sum(axis=axis),
                say(
                    en="the sum lost its axis, so the division uses the sums of other rows. Use keepdims=True there too.",
                    zh="和丢掉了那个轴，除法就用了别的行的和。这里也要 keepdims=True。",
                ),
            ),
            Mistake(
                "keepdims_missing_twice",
                "algebra",
                softmax_without_axes,
                say(
                    en="maximum and sum lost their axis, so NumPy lines both up with the wrong axis of x. Use keepdims=True in both.",
                    zh="最大值与和都丢掉了那个轴，NumPy 就把它们与 x 的另一个轴对齐了。两处都要用 keepdims=True。",
                ),
            ),
            Mistake(
                "rounded_to_float32",
                "floats",
                softmax_of_float32,
                say(
                    en="the digits end where those of float32 end. Compute in the type of x.",
                    zh="有效数字只到 float32 的位数。请用 x 自己的类型计算。",
                ),
            ),
            Mistake(
                "sum_of_everything",
                "algebra",
                lambda x, axis: terms(x, axis) / terms(x, axis).sum(),
                say(
                    en="you divide by the sum of the whole array. Each row has its own denominator.",
                    zh="你除以了整个数组的和。每一行都有自己的分母。",
                ),
            ),
            *(
                Mistake(
                    "epsilon_added",
                    "algebra",
                    lambda x, axis, e=e: (
                        terms(x, axis) / (terms(x, axis).sum(axis=axis, keepdims=True) + e)
                    ),
                    say(
                        en="a small number is added to the denominator, so the weights sum to less than 1. With the maximum subtracted, l is at least 1: nothing need be added.",
                        zh="分母里加了一个小数，权重之和就小于 1。减去最大值后，l 至少是 1，什么都不必加。",
                    ),
                )
                for e in (1e-5, 1e-6, 1e-7, 1e-8)
            ),
            Mistake(
                "not_normalised",
                "algebra",
                terms,
                say(
                    en="these are the terms; they are not yet divided by their sum.",
                    zh="这是各项的值，还没有除以它们的和。",
                ),
            ),
            Mistake(
                "denominator_not_shifted",
                "algebra",
                lambda x, axis: terms(x, axis) / np.exp(x).sum(axis=axis, keepdims=True),
                say(
                    en="the maximum is subtracted above but not below the fraction bar, so nothing cancels.",
                    zh="分子减了最大值，分母没有减，所以约不掉。",
                ),
            ),
            Mistake(
                "sign_turned",
                "algebra",
                lambda x, axis: softmax()(-x, axis),
                say(
                    en="the subtraction is turned round: x - m, not m - x. The largest score must get the largest weight.",
                    zh="减法写反了：应当是 x - m，不是 m - x。分数最大的，权重也应最大。",
                ),
            ),
        ],
    )


@exercise
def first_overflow() -> Exercise:
    """first_overflow(dtype): where e^x becomes infinite, within 0.01."""
    otherwise = say(
        en="Not within 0.01 of the edge. Halve the interval from 0 to 1000 often enough: 30 times.",
        zh="与边界相差超过 0.01。从 0 到 1000 的区间要对半分足够多次：30 次。",
    )

    def edge(dtype: str) -> float:
        return float(np.log(float(np.finfo(dtype).max)))

    def case(dtype: str) -> Case:
        says = say(en=f"the type {dtype}", zh=f"类型 {dtype}")
        tolerance = 0.01 / edge(dtype)
        call = f'first_overflow("{dtype}")'
        return Case(says, (dtype,), edge(dtype), "", tolerance, otherwise, call)

    return Exercise(
        cases=[case("float64"), case("float32"), case("float16")],
        mistakes=[
            Mistake(
                "type_ignored",
                "floats",
                lambda dtype: edge("float64"),
                say(
                    en="this is the edge of float64: the middle was not cast to the type before exp.",
                    zh="这是 float64 的边界：在 exp 之前，没有把中点转换成该类型。",
                ),
            ),
            Mistake(
                "halves_swapped",
                "algebra",
                lambda dtype: 0.0,
                say(
                    en="the wrong half is kept. If exp of the middle is infinite, the edge lies below: high = middle.",
                    zh="留错了一半。如果中点的 exp 是无穷大，边界就在下面：high = middle。",
                ),
            ),
            Mistake(
                "whole_steps",
                "algebra",
                lambda dtype: np.ceil(edge(dtype)),
                say(
                    en="only whole numbers were tried. The edge lies between two of them.",
                    zh="只试了整数。边界在两个整数之间。",
                ),
            ),
            Mistake(
                "number_for_exponent",
                "algebra",
                lambda dtype: float(np.finfo(dtype).max),
                say(
                    en="this is the largest number e^x itself. Return the x at which it is reached.",
                    zh="这是最大的数 e^x 本身。要的是到达它时的 x。",
                ),
            ),
        ],
    )


@exercise
def logsumexp() -> Exercise:
    """logsumexp(x, axis): ln Σ e^x for scores of any size, masked entries and rows."""

    def combined(formula: Callable, placed: Callable | None = None) -> Callable:
        """formula(m, l) without the axis; placed(m) is what is subtracted from x."""

        def model(x, axis):
            m = x.max(axis=axis)
            c = placed(m) if placed else maximum(x, axis)
            return formula(m, np.exp(x - c).sum(axis=axis))

        return model

    def with_epsilon(x, axis, e):
        m = np.where(x.max(axis=axis) == -INF, 0, x.max(axis=axis))
        return m + np.log(np.exp(x - np.expand_dims(m, axis)).sum(axis=axis) + e)

    return Exercise(
        cases=cases(plain_logsumexp),
        mistakes=[
            Mistake(
                "all_masked_zero",
                "algebra",
                lambda x, axis: np.where(x.max(axis=axis) == -INF, 0.0, logsumexp_with()(x, axis)),
                say(
                    en="in the fully masked row L is 0, as if one key with the score 0 were visible. An empty sum is 0, and ln 0 is -inf.",
                    zh="全部被遮住的行里 L 是 0，好像有一个分数为 0 的 key 可见似的。空的和是 0，而 ln 0 是 -inf。",
                ),
            ),
            *float_mistakes(logsumexp_with),
            *axis_mistakes(
                logsumexp_with(),
                combined(lambda m, l: m + np.log(l), lambda m: m),
                combined(lambda m, l: m + np.log(l), lambda m: m[:, None]),
            ),
            Mistake(
                "m_forgotten",
                "algebra",
                combined(lambda m, l: np.log(l)),
                say(
                    en="this is ln l, relative to the maximum. Add m to undo the subtraction.",
                    zh="这是 ln l，是相对于最大值的。要加上 m，把减去的补回来。",
                ),
            ),
            Mistake(
                "m_subtracted",
                "algebra",
                combined(lambda m, l: np.log(l) - m),
                say(
                    en="m is subtracted a second time. The sum was made smaller by e^-m, so m is added.",
                    zh="m 又被减了一次。和已经是原来的 e^-m 倍，所以应当加上 m。",
                ),
            ),
            Mistake(
                "logs_multiplied",
                "algebra",
                combined(lambda m, l: m * np.log(l)),
                say(
                    en="m times ln l: the logarithm of a product is a sum, ln(e^m · l) = m + ln l.",
                    zh="m 乘了 ln l：乘积的对数是和，ln(e^m · l) = m + ln l。",
                ),
            ),
            *(
                Mistake(
                    "epsilon_added",
                    "algebra",
                    lambda x, axis, e=e: with_epsilon(x, axis, e),
                    say(
                        en="a small number is added inside the logarithm. With the maximum subtracted, l is at least 1; and for a fully masked row ln 0 = -inf is just what is wanted.",
                        zh="对数里加了一个小数。减去最大值后，l 至少是 1；而全部被遮住的行要的正是 ln 0 = -inf。",
                    ),
                )
                for e in (*(10.0**-n for n in range(5, 17)), 1e-20, 1e-30)
            ),
            Mistake(
                "log_missing",
                "algebra",
                combined(lambda m, l: m + l),
                say(
                    en="m + l: the logarithm of l is missing.",
                    zh="m + l：漏了对 l 取对数。",
                ),
            ),
            Mistake(
                "base_two",
                "algebra",
                combined(lambda m, l: m + np.log2(l)),
                say(
                    en="the logarithm has base 2, the exponential base e. Use np.log.",
                    zh="对数以 2 为底，指数却以 e 为底。应当用 np.log。",
                ),
            ),
            Mistake(
                "maximum_only",
                "algebra",
                combined(lambda m, l: m),
                say(
                    en="this is the maximum alone. The other terms add ln l to it.",
                    zh="这只是最大值。其余各项还要给它加上 ln l。",
                ),
            ),
            Mistake(
                "all_axes_squeezed",
                "algebra",
                lambda x, axis: np.squeeze(combined(lambda m, l: m + np.log(l))(x, axis)),
                say(
                    en="np.squeeze without `axis` drops every axis of length 1, also one that belongs to the result. Name the axis.",
                    zh="不写 `axis` 的 np.squeeze 会去掉所有长度为 1 的轴，连属于结果的也去掉了。请写明是哪个轴。",
                ),
            ),
            Mistake(
                "axis_kept",
                "algebra",
                lambda x, axis: np.expand_dims(combined(lambda m, l: m + np.log(l))(x, axis), axis),
                say(
                    en="the numbers are right, but the reduced axis is still in the shape. Drop it at the end.",
                    zh="数值是对的，但形状里还留着被归约的那个轴。最后要去掉它。",
                ),
            ),
        ],
    )


@exercise
def judge() -> Exercise:
    """Statements about the slip and about softmax: True or False for each letter."""
    statements = {
        "a": (
            True,
            say(
                en="a: they are, for any exponents at all. So this test does not find the slip.",
                zh="a：成立，不管指数是什么都成立。所以这个检验发现不了笔误。",
            ),
        ),
        "b": (
            False,
            say(
                en="b: one exponent is 4. After subtracting a maximum none is above 0.",
                zh="b：有一个指数是 4。减去最大值之后，没有指数大于 0。",
            ),
        ),
        "c": (
            False,
            say(
                en="c: the sum printed is above 55, and there are 4 keys.",
                zh="c：打印出来的和超过 55，而 key 只有 4 个。",
            ),
        ),
        "d": (
            False,
            say(
                en="d: the same weights: any constant cancels. They differ in floats alone.",
                zh="d：权重相同：任何常数都会约掉。只在浮点运算中才有差别。",
            ),
        ),
        "e": (
            False,
            say(
                en="e: three times 88.5 gave three zeros, without NaN or inf among the weights.",
                zh="e：三个 88.5 得到三个 0，权重里没有 NaN，也没有 inf。",
            ),
        ),
        "f": (
            True,
            say(
                en="f: true. The sum grows, so every other weight shrinks; the raised one grows.",
                zh="f：对。和变大，其余每个权重都变小；被调高的那个变大。",
            ),
        ),
    }
    return Exercise(
        cases=[Case(why, (key,), truth, kind="") for key, (truth, why) in statements.items()],
        use=lambda answers, key: answers[key],
        show_all=True,
    )
