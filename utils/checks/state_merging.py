"""Checks of lesson 05: merging states, finished blocks and two conventions; statements to judge."""

from collections.abc import Callable
from decimal import Decimal

import numpy as np

from utils import states, variant
from utils.checks.core import Case, Exercise, Mistake, exercise
from utils.language import say
from utils.states import State, finish, state_of

INF = np.inf
FLOATS = "floats"


def plain_attention(scores: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The definitions Σ e^s v / Σ e^s and ln Σ e^s in decimal numbers; 0 and -inf without keys."""
    outs, lses = [], []
    for row in scores:
        powers = np.array([Decimal(float(s)).exp() for s in row])
        total = powers.sum()
        sums = powers @ np.array([[Decimal(x) for x in key] for key in v.tolist()])
        outs.append([float(x / (total or 1)) for x in sums])
        lses.append(float(total.ln()) if total else -INF)
    return np.array(outs), np.array(lses)


def values(keys: int, d_v: int) -> np.ndarray:
    """Small whole numbers, no two rows alike, so that each key is seen in the output."""
    r, c = np.indices((keys, d_v))
    first = variant.draw("values", 1, 2, 4, 5, 6, 7)
    return (5 * r * r + 3 * r * c + 2 * c + r + first) % 11 - 3.0


def pieces(blocks: list, d_v: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(scores, v) of each block; blocks are lists of rows of scores."""
    blocks = [np.array(block, dtype=float) for block in blocks]
    stops = np.cumsum([block.shape[1] for block in blocks])
    return list(zip(blocks, np.split(values(stops[-1], d_v), stops[:-1]), strict=True))


def case_of(make_args: Callable, blocks: list, d_v: int, says: str, kind="algebra") -> Case:
    """The case of some blocks; make_args turns their (scores, v) into the call's arguments."""
    shift = variant.draw("scores", 0, 2, 3, 4) if kind == "algebra" else 0
    parts = [(scores + shift, v) for scores, v in pieces(blocks, d_v)]
    truth = plain_attention(np.hstack([s for s, _ in parts]), np.vstack([v for _, v in parts]))
    return Case(says, make_args(parts), truth, kind, tolerance=1e-11)


def typical(key: str, kind: str, says: str, *models: Callable) -> list[Mistake]:
    return [Mistake(key, kind, model, says) for model in models]


def frozen(attempt, *args):
    """Call with read-only arrays: whoever writes into a state spoils it for the next merge."""
    freeze(args)
    return attempt(*args)


def freeze(value) -> None:
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, list | tuple):
        for part in value:
            freeze(part)


def writes_into(pick: Callable) -> list[Mistake]:
    """The mistake of writing into an array that was given, in the two ways NumPy complains."""

    def with_operator(*args):
        array = pick(*args)
        array *= 1

    def with_index(*args):
        pick(*args)[:] = 0

    says = say(
        en="your line changes an array that was given; its owner may still need it. Write `x = x * y`, not `x *= y`.",
        zh="这一行改动了传进来的数组，而别处可能还要用它。请写 `x = x * y`，不要写 `x *= y`。",
    )
    return typical("changed_input", "", says, with_operator, with_index)


def safe(m):
    return np.where(m == -INF, 0, m)


# Exercise 1


def highest(a, b):
    return np.maximum(a.m, b.m)


def merged(*, m=highest, l=None, acc=None, power=np.exp, minus=safe) -> Callable:
    """A merge with one thing to get wrong in each argument.

    m: the reference; l and acc: (a, b, alpha_a, alpha_b) → the sum; power: the factor of a
    difference of exponents; minus: what stands for the reference -inf.
    """

    def model(a, b):
        c = m(a, b)
        factors = power(a.m - minus(c)), power(b.m - minus(c))
        sum_l, sum_acc = (l or scaled_l)(a, b, *factors), (acc or scaled_acc)(a, b, *factors)
        return c, sum_l, sum_acc

    return model


def scaled_l(a, b, alpha_a, alpha_b):
    return alpha_a * a.l + alpha_b * b.l


def scaled_acc(a, b, alpha_a, alpha_b):
    return alpha_a[:, None] * a.acc + alpha_b[:, None] * b.acc


def finished(attempt, a, b):
    """What does not depend on the choice of m: (O, L) of the state that attempt(a, b) returns."""
    got = frozen(attempt, a, b)
    if not isinstance(got, tuple | list):
        return got
    if len(got) != 3:
        return (tuple(got),)  # never equal to a pair (O, L), not even when it is that pair
    return finish(State(*map(np.asarray, got)))


@exercise
def merge() -> Exercise:
    """merge(a, b): the state of the keys of both, compared by its O and L."""

    def case(a: list, b: list, d_v: int, says: str, kind: str = "algebra") -> Case:
        says += say(en=" (expected and got: O and L)", zh="（应得和实得：O 和 L）")
        return case_of(lambda parts: tuple(state_of(*p) for p in parts), [a, b], d_v, says, kind)

    none = [-INF, -INF]
    return Exercise(
        use=finished,
        cases=[
            case([[0, 1]], [[3]], 1, say(en="two keys and one", zh="两个 key 和一个 key")),
            case([[1, 2]], [[3, 5]], 2, say(en="two keys each", zh="两边各两个 key")),
            case([[3, 5]], [[1, 2]], 2, say(en="the higher scores first", zh="高分在前")),
            case([[1, 4], [2, 0]], [[0, 2], [5, 5]], 2, say(en="two rows", zh="两行")),
            case(
                [[1, 2, 0], [4, 0, 1], [-2, -3, -2]],
                [[3], [1], [-5]],
                2,
                say(en="three rows, 3 + 1 keys", zh="三行，3 + 1 个 key"),
            ),
            case(
                [[-800, -801]],
                [[-803, -799]],
                2,
                say(en="all scores near -800", zh="所有分数都在 -800 附近"),
                FLOATS,
            ),
            case(
                [[900, 899], [-900, -902]],
                [[-900, -901], [905, 900]],
                3,
                say(en="maxima 1800 apart, both ways", zh="两个最大值相差 1800，高低各一次"),
                FLOATS,
            ),
            case(
                [none, [-800, -802], [1, 2]],
                [[-800, -801], none, [3, 5]],
                2,
                say(en="a row empty in one of the two", zh="有一行只在其中一个里是空的"),
                FLOATS,
            ),
            case(
                [none, [1, 2]],
                [none, [3, 5]],
                2,
                say(en="a row empty in both", zh="有一行在两个里都是空的"),
                FLOATS,
            ),
        ],
        mistakes=[*merge_in_form(), *merge_in_floats(), *merge_in_algebra()],
    )


def merge_in_form() -> list[Mistake]:
    """Right numbers handed back in the wrong form, and ways to stumble over arrays."""
    return [
        *writes_into(lambda a, b: a.acc),
        *typical(
            "python_max",
            "",
            say(
                en="max() compares two numbers, not two rows of numbers. np.maximum takes the larger one entry by entry.",
                zh="max() 比较的是两个数，不是两列数。np.maximum 才会逐个元素取较大的。",
            ),
            merged(m=lambda a, b: max(a.m, b.m)),
        ),
        *typical(
            "not_a_triple",
            "",
            say(
                en="that is a pair. Return all three, (m, l, acc), unfinished: another merge may follow.",
                zh="返回的是两个数组。应当返回三个：(m, l, acc)，不做收尾，因为后面可能还要合并。",
            ),
            lambda a, b: finish(State(*merged()(a, b))),
            lambda a, b: merged()(a, b)[:2],
        ),
        *typical(
            "empty_comes_back_as_zero",
            FLOATS,
            say(
                en="a row empty in both comes back with m = 0. A later merge would lift scores near -800 to that reference and lose them. Subtract 0, but return m itself: -inf.",
                zh="两边都空的行，返回的 m 成了 0。以后再合并时，参照值会被抬到 0，-800 附近的分数就丢了。减的是 0，返回的仍应是 m 本身，即 -inf。",
            ),
            lambda a, b: (lambda m, l, acc: (safe(m), l, acc))(*merged()(a, b)),
        ),
    ]


def merge_in_floats() -> list[Mistake]:
    def unsafe(m):
        return m

    return [
        *typical(
            "empty_nan",
            FLOATS,
            say(
                en="where both are empty, -inf - (-inf) is NaN. Subtract 0 there in place of m: the factor is then 0.",
                zh="两边都空时，-inf - (-inf) 得 NaN。那里改减 0，系数就是 0。",
            ),
            merged(minus=unsafe),
        ),
        *typical(
            "empty_as_zero",
            FLOATS,
            say(
                en="an empty row entered with m = 0. That lifts the reference above scores near -800, which underflow. Its m is -inf.",
                zh="空行带着 m = 0 参加了合并，把参照值抬到了 -800 附近的分数之上，它们全部下溢。空行的 m 是 -inf。",
            ),
            merged(m=lambda a, b: np.maximum(safe(a.m), safe(b.m))),
        ),
        *typical(
            "reference_too_low",
            FLOATS,
            say(
                en="the reference lies below the larger m (minimum, mean, sum?), so a factor exceeds 1 and overflows.",
                zh="参照值低于较大的 m（是最小值、平均值还是和？），系数超过 1，上溢了。",
            ),
            merged(m=lambda a, b: np.minimum(a.m, b.m)),
            merged(m=lambda a, b: (a.m + b.m) / 2),
            merged(m=lambda a, b: a.m + b.m),
        ),
        *typical(
            "one_reference_for_all",
            FLOATS,
            say(
                en="one maximum was taken over all rows. A row far below it underflows: each row has its own m.",
                zh="所有行共用了一个最大值。远低于它的行会下溢：每一行有自己的 m。",
            ),
            merged(m=lambda a, b: np.full_like(a.m, highest(a, b).max())),
        ),
        *typical(
            "zero_as_reference",
            FLOATS,
            say(
                en="the reference is 0 or starts at 0: far above scores near -800, so all of them underflow. Take the larger m alone.",
                zh="参照值是 0，或者从 0 开始取最大：远高于 -800 附近的分数，它们全部下溢。只取两个 m 中较大的。",
            ),
            merged(m=lambda a, b: np.maximum(highest(a, b), 0)),
            merged(m=lambda a, b: np.zeros_like(a.m)),
        ),
        *typical(
            "one_sides_reference",
            FLOATS,
            say(
                en="one side's m is always the reference. When the other side lies far above, its factor overflows. Take the larger m.",
                zh="总是拿其中一边的 m 当参照值。另一边高出很多时，它的系数就上溢。应当取较大的 m。",
            ),
            merged(m=lambda a, b: b.m),
            merged(m=lambda a, b: a.m),
        ),
    ]


def merge_in_algebra() -> list[Mistake]:
    """A model that fails at a later case stands first: at that case the earlier ones fail too."""

    def plain_l(a, b, *factors):
        return a.l + b.l

    def plain_acc(a, b, *factors):
        return a.acc + b.acc

    def mean_acc(a, b, *factors):
        return a.acc / a.l[:, None] + b.acc / b.l[:, None]

    def new_unscaled(scaled):
        return lambda a, b, alpha_a, alpha_b: scaled(a, b, alpha_a, np.ones_like(alpha_b))

    def swapped(scaled):
        return lambda a, b, alpha_a, alpha_b: scaled(a, b, alpha_b, alpha_a)

    def on_columns(a, b, alpha_a, alpha_b):
        return alpha_a * a.acc + alpha_b * b.acc

    def scaled_later(a, b, alpha_a, alpha_b):
        return alpha_a[:, None] * (a.acc + b.acc)

    return [
        *typical(
            "new_side_unscaled",
            "algebra",
            say(
                en="only a is scaled. That is right while b has the larger m; when a has it, b must shrink.",
                zh="只有 a 乘了系数。b 的 m 较大时这没有问题；a 的 m 较大时，要缩小的是 b。",
            ),
            merged(l=new_unscaled(scaled_l), acc=new_unscaled(scaled_acc)),
            merged(l=new_unscaled(scaled_l)),
            merged(acc=new_unscaled(scaled_acc)),
        ),
        *typical(
            "nothing_scaled",
            "algebra",
            say(
                en="both sums are added as they are, though they belong to different m. Align first: multiply each side by e^(its m - m).",
                zh="两个和原样相加了，可它们属于不同的 m。先对齐：每一边乘 e^(它的 m - m)。",
            ),
            merged(l=plain_l, acc=plain_acc),
        ),
        *typical(
            "l_unscaled",
            "algebra",
            say(
                en="l is added unscaled. l_a counts in units of e^(m_a), l_b in units of e^(m_b).",
                zh="l 没有重标定就相加了。l_a 的单位是 e^(m_a)，l_b 的单位是 e^(m_b)。",
            ),
            merged(l=plain_l),
        ),
        *typical(
            "acc_unscaled",
            "algebra",
            say(
                en="acc is added unscaled. It has the same exponent as l, so it takes the same factors.",
                zh="acc 没有重标定就相加了。它和 l 的指数相同，要乘同样的系数。",
            ),
            merged(acc=plain_acc),
        ),
        *typical(
            "multiplied_by_l",
            "algebra",
            say(
                en="acc was multiplied by l as well. That belongs to the form with O; acc holds its l already.",
                zh="acc 又乘了 l。那是对 O 的做法；acc 没有除过 l，不必再乘。",
            ),
            merged(acc=lambda a, b, x, y: (x * a.l)[:, None] * a.acc + (y * b.l)[:, None] * b.acc),
        ),
        *typical(
            "base_2",
            "algebra",
            say(
                en="the factors are powers of 2, but these states count in powers of e. Use np.exp.",
                zh="系数用了 2 的幂，可这些状态是以 e 为底的。应当用 np.exp。",
            ),
            merged(power=np.exp2),
        ),
        *typical(
            "result_divided",
            "algebra",
            say(
                en="acc comes back divided by l. A state keeps it unnormalised: the division comes at the very end.",
                zh="返回的 acc 已经除了 l。状态里的 acc 不归一化：除法留到最后。",
            ),
            lambda a, b: (lambda m, l, acc: (m, l, acc / l[:, None]))(*merged()(a, b)),
        ),
        *typical(
            "upside_down",
            "algebra",
            say(
                en="the factors are upside down: e^(m_a - m), not e^(m - m_a). No factor may exceed 1.",
                zh="系数颠倒了：应当是 e^(m_a - m)，不是 e^(m - m_a)。系数不能超过 1。",
            ),
            merged(power=lambda x: np.exp(-x)),
        ),
        *typical(
            "factors_swapped",
            "algebra",
            say(
                en="each side got the other side's factor.",
                zh="两边的系数用反了。",
            ),
            merged(l=swapped(scaled_l), acc=swapped(scaled_acc)),
        ),
        *typical(
            "scaled_after_adding",
            "algebra",
            say(
                en="acc was added first and scaled afterwards, so b's part is scaled with a's factor. Scale each side, then add.",
                zh="acc 先相加后乘系数，b 的部分也乘了 a 的系数。应当各自乘好，再相加。",
            ),
            merged(acc=scaled_later),
        ),
        *typical(
            "divided",
            "algebra",
            say(
                en="acc was divided by l before adding. Two outputs whose weights each sum to 1 cannot be added; acc stays unnormalised.",
                zh="acc 在相加之前除了 l。两个输出的权重各自和为 1，不能相加；acc 要保持不归一化。",
            ),
            merged(acc=mean_acc),
            merged(acc=mean_acc, l=plain_l),
        ),
        *typical(
            "factor_on_columns",
            "algebra",
            say(
                en="the factor of a row was spread over the columns of acc. Write factor[:, None].",
                zh="每行的系数乘到了 acc 的各列上。请写 factor[:, None]。",
            ),
            merged(acc=on_columns),
        ),
        *typical(
            "m_of_one_side",
            "algebra",
            say(
                en="the sums are right, but the m returned is not the one they are relative to.",
                zh="两个和是对的，但它们的参照不是返回的这个 m。",
            ),
            lambda a, b: (a.m, *merged()(a, b)[1:]),
            lambda a, b: (b.m, *merged()(a, b)[1:]),
        ),
    ]


# Exercise 2


def stacked(blocks: list) -> tuple[np.ndarray, np.ndarray]:
    """Return out (blocks, rows, d_v) and lse (blocks, rows)."""
    return np.array([out for out, _ in blocks]), np.array([lse for _, lse in blocks])


def weighted(blocks: list, reference: Callable = lambda lses: safe(lses.max(axis=0))):
    """The merge by weights e^(L - reference), with nothing done about rows without keys."""
    outs, lses = stacked(blocks)
    c = reference(lses)
    w = np.exp(lses - c)
    return (w[..., None] * outs).sum(axis=0) / w.sum(axis=0)[:, None], c + np.log(w.sum(axis=0))


def right_all(blocks: list):
    out, lse = weighted(blocks)
    return np.where(np.isnan(out), 0, out), lse


def with_phantom(blocks: list):
    (out, lse), *_ = blocks
    return right_all([(np.zeros_like(out), np.zeros_like(lse)), *blocks])


def empty_as_zero(blocks: list):
    return right_all([(out, safe(lse)) for out, lse in blocks])


def chain_of(pair: Callable) -> Callable:
    """Merge (O, L) blocks one after another with pair(a, b)."""

    def model(blocks):
        whole = blocks[0]
        for block in blocks[1:]:
            whole = pair(whole, block)
        return whole

    return model


def pair_by_logs(a, b, c=np.maximum):
    m = c(a[1], b[1])
    w_a, w_b = np.exp(a[1] - m), np.exp(b[1] - m)
    total = w_a + w_b
    return (w_a[:, None] * a[0] + w_b[:, None] * b[0]) / total[:, None], m + np.log(total)


def pair_by_logaddexp(a, b):
    lse = np.logaddexp(a[1], b[1])
    return np.exp(a[1] - lse)[:, None] * a[0] + np.exp(b[1] - lse)[:, None] * b[0], lse


def pair_of_means(a, b):
    return (a[0] + b[0]) / 2, np.logaddexp(a[1], b[1])


def pair_swapped() -> str:
    return say(
        en="the numbers are right, but in the other order. Return (out, lse).",
        zh="数是对的，但顺序反了。应当返回 (out, lse)。",
    )


WRONG_LSE = {
    "right": lambda blocks: right_all(blocks)[1],
    "sum": lambda blocks: stacked(blocks)[1].sum(axis=0),
    "maximum": lambda blocks: stacked(blocks)[1].max(axis=0),
    "mean": lambda blocks: stacked(blocks)[1].mean(axis=0),
}


def outputs_as(combine: Callable) -> list[Callable]:
    """Models whose outputs are combined wrongly, with a right L and with each wrong one."""
    return [lambda blocks, lse=lse: (combine(blocks), lse(blocks)) for lse in WRONG_LSE.values()]


def lse_as(name: str) -> Callable:
    return lambda blocks: (right_all(blocks)[0], WRONG_LSE[name](blocks))


@exercise
def merge_all() -> Exercise:
    """merge_all(blocks): (O, L) of all keys from finished blocks (O, L), natural logarithm."""

    def case(blocks: list, d_v: int, says: str, kind: str = "algebra") -> Case:
        return case_of(lambda ps: ([plain_attention(*p) for p in ps],), blocks, d_v, says, kind)

    none = [-INF, -INF]
    return Exercise(
        use=frozen,
        cases=[
            case([[[1]], [[3]]], 1, say(en="two blocks of one key", zh="两个块，各一个 key")),
            case([[[1, 3]]], 2, say(en="a single block", zh="只有一个块")),
            case(
                [[[1, 2], [3, 0]], [[3, 5], [1, 1]], [[0], [2]]],
                2,
                say(en="two rows, 2 + 2 + 1 keys", zh="两行，2 + 2 + 1 个 key"),
            ),
            case(
                [[[4], [0], [1]], [[1, 2], [3, 1], [1, 0]], [[3], [-4], [5]], [[0], [2], [2]]],
                2,
                say(en="three rows, four blocks", zh="三行，四个块"),
            ),
            case(
                [[none, [1, 2]], [[-1, -2], none], [[-3, -2], [0, 3]]],
                1,
                say(en="each row empty in one block", zh="每一行都在某一个块里是空的"),
            ),
            case(
                [[[-800, -801]], [[-799, -802]], [[-800]]],
                2,
                say(en="all scores near -800", zh="所有分数都在 -800 附近"),
                FLOATS,
            ),
            case(
                [[[900], [-900]], [[-900], [0]], [[905], [-905]]],
                2,
                say(en="blocks up to 1800 apart", zh="各块相差可达 1800"),
                FLOATS,
            ),
            case(
                [[none, [1, 2]], [none, [3, 5]], [none, [0, 1]]],
                2,
                say(en="a row empty in all blocks", zh="有一行在所有块里都是空的"),
                FLOATS,
            ),
        ],
        mistakes=[*writes_into(lambda blocks: blocks[0][0]), *all_in_floats(), *all_in_algebra()],
    )


def all_in_floats() -> list[Mistake]:
    def unsafe(lses):
        return lses.max(axis=0)

    def from_reference_zero(blocks):
        out, lse = blocks[0]
        whole = State(np.zeros_like(lse), np.zeros_like(lse), np.zeros_like(out))
        for block in blocks:
            whole = states.merge(whole, states.from_finished(*block))
        return finish(whole)

    def nothing_like(blocks):
        out, lse = blocks[0]
        return np.zeros_like(out), np.full_like(lse, -INF)

    return [
        *typical(
            "empty_nan",
            FLOATS,
            say(
                en="an empty row gave -inf - (-inf) or 0 / 0, which is NaN. Subtract 0 there; a row without any key ends as out = 0, lse = -inf.",
                zh="空行算出了 -inf - (-inf) 或 0 / 0，得 NaN。那里改减 0；一个 key 都没有的行，结果是 out = 0，lse = -inf。",
            ),
            weighted,
            lambda blocks: weighted(blocks, unsafe),
            lambda blocks: (right_all(blocks)[0], weighted(blocks, unsafe)[1]),
            chain_of(pair_by_logs),
            lambda blocks: chain_of(pair_by_logs)([nothing_like(blocks), *blocks]),
            lambda blocks: chain_of(pair_by_logaddexp)([nothing_like(blocks), *blocks]),
        ),
        *typical(
            "no_reference",
            FLOATS,
            say(
                en="e^L was computed as it is, and leaves the range of floats. Subtract the largest L first.",
                zh="直接计算了 e^L，超出了浮点数的范围。先减去最大的 L。",
            ),
            lambda blocks: weighted(blocks, lambda lses: 0),
            chain_of(lambda a, b: pair_by_logs(a, b, lambda x, y: np.zeros_like(x))),
        ),
        *typical(
            "zero_as_reference",
            FLOATS,
            say(
                en="the reference m is 0, or starts at 0: far above scores near -800, so all of them underflow. Start from states.identity, whose m is -inf, or from the first block.",
                zh="参照值 m 是 0，或者从 0 开始：远高于 -800 附近的分数，它们全部下溢。从 states.identity（它的 m 是 -inf）或者第一个块开始。",
            ),
            from_reference_zero,
        ),
        *typical(
            "poor_reference",
            FLOATS,
            say(
                en="what was subtracted is not the largest L of the row (the last one, the mean, a maximum over all rows?).",
                zh="减去的不是这一行最大的 L（是最后一个、平均值，还是所有行的最大值？）。",
            ),
            *(
                lambda blocks, c=c: weighted(blocks, c)
                for c in (
                    lambda lses: lses[-1],
                    lambda lses: lses.mean(axis=0),
                    lambda lses: lses.min(axis=0),
                    lambda lses: lses.max(),
                )
            ),
        ),
    ]


def all_in_algebra() -> list[Mistake]:
    def unfinished(blocks):
        whole, *others = [states.from_finished(*block) for block in blocks]
        for other in others:
            whole = states.merge(whole, other)
        return whole

    def unnormalised(blocks):
        outs, lses = stacked(blocks)
        return (np.exp(lses - safe(lses.max(axis=0)))[..., None] * outs).sum(axis=0)

    def across_rows(blocks):
        outs, lses = stacked(blocks)
        w = np.exp(lses - lses.max())
        return (w[..., None] * outs).sum(axis=0) / w.sum(axis=1).sum()

    def scaled_logs(blocks, before, after):
        out, lse = right_all([(out, before * lse) for out, lse in blocks])
        return out, after * lse

    def relative(blocks):
        return right_all(blocks)[1] - safe(stacked(blocks)[1].max(axis=0))

    def by_l(blocks):
        outs, lses = stacked(blocks)
        return (lses[..., None] * outs).sum(axis=0) / lses.sum(axis=0)[:, None]

    return [
        *typical(
            "not_finished",
            "",
            say(
                en="that is a state of three parts. Return the pair (out, lse): states.finish makes it.",
                zh="返回的是有三个部分的状态。要的是 (out, lse) 这一对：用 states.finish 得到它。",
            ),
            unfinished,
        ),
        *typical("pair_swapped", "", pair_swapped(), lambda blocks: right_all(blocks)[::-1]),
        *typical(
            "log_forgotten",
            "algebra",
            say(
                en="the value e^L is returned in place of its logarithm L.",
                zh="返回的是值 e^L，不是它的对数 L。",
            ),
            lambda blocks: (right_all(blocks)[0], np.exp(right_all(blocks)[1])),
        ),
        *typical(
            "phantom_key",
            "algebra",
            say(
                en="an empty state with L = 0 was merged in. Its value is e^0 = 1, a phantom key of score 0. Start from L = -inf, or from the first block.",
                zh="合并了一个 L = 0 的空状态。它的值是 e^0 = 1，凭空多了一个分数为 0 的 key。从 L = -inf 开始，或者从第一个块开始。",
            ),
            with_phantom,
            empty_as_zero,
        ),
        *typical(
            "empty_lse_zero",
            "algebra",
            say(
                en="a row without keys has L = 0, as if it held a key of score 0. Its sum is 0, so L = -inf.",
                zh="没有 key 的行，L 成了 0，好像它有一个分数为 0 的 key。它的和是 0，所以 L = -inf。",
            ),
            lambda blocks: (right_all(blocks)[0], safe(right_all(blocks)[1])),
        ),
        *typical(
            "outputs_added",
            "algebra",
            say(
                en="the outputs are added. In each block the weights sum to 1, so in all they sum to the number of blocks.",
                zh="各块的输出直接相加了。每个块里的权重之和是 1，加起来就成了块的个数。",
            ),
            *outputs_as(lambda blocks: stacked(blocks)[0].sum(axis=0)),
        ),
        *typical(
            "outputs_averaged",
            "algebra",
            say(
                en="the outputs are averaged. A block counts by the value e^L of its state, not equally.",
                zh="各块的输出取了平均。每个块的分量由它的值 e^L 决定，不是一样重。",
            ),
            *outputs_as(lambda blocks: stacked(blocks)[0].mean(axis=0)),
            chain_of(pair_of_means),
        ),
        *typical(
            "weighted_by_L",
            "algebra",
            say(
                en="the outputs are weighted with L itself. L is a logarithm; the weight is e^L.",
                zh="拿 L 本身当了权重。L 是对数，权重应当是 e^L。",
            ),
            *outputs_as(by_l),
        ),
        *typical(
            "weights_not_divided",
            "algebra",
            say(
                en="the weights e^(L_b - max) are used without dividing by their sum. The weights of the blocks must sum to 1.",
                zh="权重 e^(L_b - max) 没有除以它们的和。各块的权重之和必须是 1。",
            ),
            *outputs_as(unnormalised),
        ),
        *typical(
            "summed_across_rows",
            "algebra",
            say(
                en="the weights are divided by a sum over all rows. Each row has its own sum over the blocks.",
                zh="权重除以了所有行的总和。每一行要用它自己在各块上的和。",
            ),
            lambda blocks: (across_rows(blocks), WRONG_LSE["right"](blocks)),
        ),
        *typical(
            "base_2",
            "algebra",
            say(
                en="the weights are powers of 2, but these L are natural logarithms. Use np.exp and np.log.",
                zh="权重用了 2 的幂，可这些 L 是自然对数。应当用 np.exp 和 np.log。",
            ),
            lambda blocks: scaled_logs(blocks, LN2, 1 / LN2),
            lambda blocks: scaled_logs(blocks, LN2, 1),
            lambda blocks: (scaled_logs(blocks, LN2, 1)[0], right_all(blocks)[1]),
        ),
        *typical(
            "one_block_only",
            "algebra",
            say(
                en="this is one of the blocks alone. Does the loop overwrite its result?",
                zh="这只是其中一个块。循环是不是把结果覆盖了？",
            ),
            lambda blocks: blocks[0],
            lambda blocks: blocks[-1],
        ),
        *typical(
            "maximum_not_added",
            "algebra",
            say(
                en="L is relative to the largest L: that was subtracted before exp and must be added after log.",
                zh="L 还是相对于最大的 L 的：exp 之前减去了它，log 之后要加回来。",
            ),
            lambda blocks: (right_all(blocks)[0], relative(blocks)),
        ),
        *typical(
            "lse_added",
            "algebra",
            say(
                en="the logarithms are added or averaged. The values e^L are what adds up; L is the logarithm of their sum.",
                zh="把对数相加或取平均了。相加的应当是值 e^L，L 是这个和的对数。",
            ),
            lse_as("sum"),
            lse_as("mean"),
        ),
        *typical(
            "lse_maximum",
            "algebra",
            say(
                en="L is the largest L of the blocks. The others add to it.",
                zh="L 取了各块中最大的 L。其余各块也要加进去。",
            ),
            lse_as("maximum"),
        ),
    ]


# Exercise 3

LN2 = np.log(2)


def converted(*, lse_a=lambda m, l: m + np.log(l), lse_b=lambda x: x * LN2, out_a=None, end=None):
    """Two conventions brought to (O, L) and merged, with one thing to get wrong an argument."""

    def model(a, b):
        (m, l, out), (out_b, lse2) = a, b
        first = out_a(out, l[:, None]) if out_a else out
        whole = right_all([(first, lse_a(m, l)), (out_b, lse_b(lse2))])
        return end(*whole) if end else whole

    return model


@exercise
def two_kernels() -> Exercise:
    """two_kernels(a, b): a = (m, l, out) natural, b = (out, lse2) in base 2; (O, L) natural."""

    def arguments(parts: list):
        (out_a, lse_a), (out_b, lse_b) = (plain_attention(*p) for p in parts)
        m = parts[0][0].max(axis=1)
        return (m, np.exp(lse_a - m), out_a), (out_b, lse_b / LN2)

    def case(a: list, b: list, d_v: int, says: str, kind: str = "algebra") -> Case:
        return case_of(arguments, [a, b], d_v, says, kind)

    return Exercise(
        cases=[
            case([[1, 2]], [[3, 5]], 1, say(en="one row, two keys each", zh="一行，各两个 key")),
            case([[3, 2]], [[1, 0]], 2, say(en="the higher scores at A", zh="高分在 A")),
            case(
                [[1, 4, 3], [-2, 0, -1]],
                [[0, 2], [1, 1]],
                2,
                say(en="two rows, 3 + 2 keys", zh="两行，3 + 2 个 key"),
            ),
            case(
                [[900, 900], [-900, -901]],
                [[901, 899], [-902, -900]],
                2,
                say(en="scores near 900 and -900", zh="分数在 900 和 -900 附近"),
                FLOATS,
            ),
            case(
                [[900, 899], [-900, -902]],
                [[-900, -901], [905, 900]],
                3,
                say(en="maxima 1800 apart, both ways", zh="两个最大值相差 1800，高低各一次"),
                FLOATS,
            ),
        ],
        use=frozen,
        mistakes=[
            *writes_into(lambda a, b: b[0]),
            *kernels_in_floats(),
            *kernels_in_bases(),
            *kernels_in_algebra(),
        ],
    )


def kernels_in_floats() -> list[Mistake]:
    def without_reference(a, b):
        (m, l, out), (out_b, lse2) = a, b
        return weighted([(out, m + np.log(l)), (out_b, lse2 * LN2)], lambda lses: 0)

    def log_of_value(a, b):
        (m, l, out), (out_b, lse2) = a, b
        return right_all([(out, np.log(l * np.exp(m))), (out_b, np.log(np.exp2(lse2)))])

    def log_of_value_b(a, b):
        (m, l, out), (out_b, lse2) = a, b
        return pair_by_logaddexp((out, m + np.log(l)), (out_b, np.log(np.exp2(lse2))))

    return typical(
        "no_reference",
        FLOATS,
        say(
            en="a value l·e^m, e^L or 2^L was computed as it is, and leaves the range of floats. Stay with the logarithms.",
            zh="直接计算了 l·e^m、e^L 或 2^L，超出了浮点数的范围。应当一直用对数。",
        ),
        without_reference,
        log_of_value,
        log_of_value_b,
    )


def kernels_in_bases() -> list[Mistake]:
    return [
        *typical(
            "base_2_as_natural",
            "algebra",
            say(
                en="B's base-2 L was merged as if it were natural. Multiply it by ln 2 first.",
                zh="把 B 以 2 为底的 L 当成自然对数合并了。先乘 ln 2。",
            ),
            converted(lse_b=lambda x: x),
        ),
        *typical(
            "base_upside_down",
            "algebra",
            say(
                en="B's L was divided by ln 2. The base-2 logarithm of a value is 1 / ln 2 times the natural one: natural = base 2 times ln 2.",
                zh="B 的 L 除以了 ln 2。同一个值，以 2 为底的对数是自然对数的 1 / ln 2 倍：自然对数等于它乘 ln 2。",
            ),
            converted(lse_b=lambda x: x / LN2),
        ),
        *typical(
            "ln_2_added",
            "algebra",
            say(
                en="ln 2 was added to B's L. Another base multiplies a logarithm: L = lse2 · ln 2.",
                zh="给 B 的 L 加上了 ln 2。换底要用乘法：L = lse2 · ln 2。",
            ),
            converted(lse_b=lambda x: x + LN2),
        ),
        *typical(
            "result_in_base_2",
            "algebra",
            say(
                en="the L returned is in base 2. Return the natural logarithm.",
                zh="返回的 L 以 2 为底。要的是自然对数。",
            ),
            converted(end=lambda out, lse: (out, lse / LN2)),
        ),
        *typical(
            "A_converted_too",
            "algebra",
            say(
                en="A's m, or all of A, was taken for base 2. Its m and l are natural already.",
                zh="把 A 的 m（或整个 A）当成了以 2 为底的。它的 m 和 l 本来就是自然底数的。",
            ),
            converted(lse_a=lambda m, l: (m + np.log(l)) * LN2),
            converted(lse_a=lambda m, l: m * LN2 + np.log(l)),
        ),
        *typical(
            "log2_of_l",
            "algebra",
            say(
                en="A's L mixes the bases: m is natural, so add ln l, not log2 l.",
                zh="A 的 L 混用了两种底数：m 是自然底数的，应当加 ln l，不是 log2 l。",
            ),
            converted(lse_a=lambda m, l: m + np.log2(l)),
        ),
    ]


def kernels_in_algebra() -> list[Mistake]:
    def l_forgotten_in_output(a, b):
        out, _ = converted(lse_a=lambda m, l: m)(a, b)
        return out, converted()(a, b)[1]

    def averaged(combine):
        return lambda a, b: (combine(a[2], b[0]), converted()(a, b)[1])

    return [
        *typical(
            "l_forgotten",
            "algebra",
            say(
                en="A counts with e^m only: its mantissa l is missing. L = m + ln l.",
                zh="A 只按 e^m 计算，漏了尾数 l。L = m + ln l。",
            ),
            converted(lse_a=lambda m, l: m),
            l_forgotten_in_output,
        ),
        *typical("pair_swapped", "", pair_swapped(), lambda a, b: converted()(a, b)[::-1]),
        *typical(
            "m_forgotten",
            "algebra",
            say(
                en="A counts with l only: its exponent m is missing. L = m + ln l.",
                zh="A 只按 l 计算，漏了指数 m。L = m + ln l。",
            ),
            converted(lse_a=lambda m, l: np.log(l)),
        ),
        *typical(
            "log_forgotten",
            "algebra",
            say(
                en="A's L was made as m + l. The value is l·e^m, so its logarithm is m + ln l.",
                zh="A 的 L 写成了 m + l。值是 l·e^m，它的对数是 m + ln l。",
            ),
            converted(lse_a=lambda m, l: m + l),
        ),
        *typical(
            "divided_again",
            "algebra",
            say(
                en="A's out was divided by l once more, or taken for an acc. It is normalised already: acc = l · out.",
                zh="A 的 out 又除了一次 l，或者被当成了 acc。它已经归一化了：acc = l · out。",
            ),
            converted(out_a=lambda out, l: out / l),
        ),
        *typical(
            "multiplied_back",
            "algebra",
            say(
                en="A's out was multiplied by l, but then weighed as a finished block. With weights e^(L - L_new) it stays as it is.",
                zh="A 的 out 乘回了 l，却又按算完的块来加权。权重用 e^(L - L_new) 时，out 保持不变。",
            ),
            converted(out_a=lambda out, l: out * l),
        ),
        *typical(
            "outputs_added",
            "algebra",
            say(
                en="the outputs are added or averaged. Each counts by its e^L.",
                zh="两个输出相加或取平均了。各自的分量由 e^L 决定。",
            ),
            averaged(lambda x, y: x + y),
            averaged(lambda x, y: (x + y) / 2),
        ),
    ]


@exercise
def judge() -> Exercise:
    """Statements about states: True or False for each letter."""
    statements = {
        "a": (
            False,
            say(
                en="a: a machine counts by the value e^L of its keys, not by their number; the first two machines held two keys each.",
                zh="a：一台机器的分量由它那些 key 的值 e^L 决定，不看个数；开头的两台机器各有两个 key。",
            ),
        ),
        "b": (
            False,
            say(
                en="b: two for each row, so 128 for 64 rows.",
                zh="b：每一行两个，64 行就是 128 个。",
            ),
        ),
        "c": (
            True,
            say(
                en="c: true. Real addition ignores the order, but each merge of floats rounds.",
                zh="c：对。实数加法不在乎顺序，但浮点数每次合并都有舍入。",
            ),
        ),
        "d": (
            False,
            say(
                en="d: any reference cancels in acc / l. The maximum is the safe choice, not the only right one.",
                zh="d：任何参照值都会在 acc / l 里约掉。最大值是安全的选择，不是唯一正确的选择。",
            ),
        ),
        "e": (
            True,
            say(
                en="e: true. A finished block is the state (L, 1, O): d_v + 1 numbers a row in place of d_v + 2.",
                zh="e：对。算完的块就是状态 (L, 1, O)：每行 d_v + 1 个数，而不是 d_v + 2 个。",
            ),
        ),
        "f": (
            False,
            say(
                en="f: its value is 0·e^0 = 0, which adds nothing. Only floats expose it, by underflow.",
                zh="f：它的值是 0·e^0 = 0，加上去什么也不变。只有浮点运算会因为下溢而出错。",
            ),
        ),
    }
    return Exercise(
        cases=[Case(why, (key,), truth, kind="") for key, (truth, why) in statements.items()],
        use=lambda answers, key: answers[key],
        show_all=True,
    )
