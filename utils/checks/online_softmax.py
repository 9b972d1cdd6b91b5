"""Checks of lesson 04: the update, the merge, two passes, the test of order, statements to judge."""

import math
from collections.abc import Callable
from decimal import Decimal

import numpy as np

from utils import variant
from utils.checks.core import Case, Exercise, Mistake, exercise
from utils.checks.values import short
from utils.language import say
from utils.memory import BudgetExceeded, Memory

INF = np.inf
State = tuple[np.ndarray, np.ndarray]  # m and l, each (rows,)
TOLERANCE = {np.float64: 2e-6, np.float32: 5e-5}  # a logarithm near -200 rounds in steps of 1.5e-5


def drawn(scores, kind: str, dtype=float) -> np.ndarray:
    """Return an array of scores; those of the algebra are higher or lower in another term."""
    shift = variant.draw("scores", 0, 1, 2, 3, 4) if kind == "algebra" else 0
    return np.array(scores, dtype=dtype) + dtype(shift)


def plain_state(x: np.ndarray) -> State:
    """The definition (max x, Σ e^{x − m}) of every row of x, in decimal numbers."""
    m = [max(map(float, row), default=-INF) for row in x]
    l = [sum(power(s, top) for s in row) for row, top in zip(x, m, strict=True)]
    return np.array(m), np.array(l, dtype=float)


def power(s: float, m: float) -> float:
    return 0.0 if s == -INF else float((Decimal(float(s)) - Decimal(float(m))).exp())


def plain_softmax(row: np.ndarray) -> np.ndarray:
    """The definition e^x / Σ e^x in decimal numbers, whose exponents reach far enough."""
    powers = [Decimal(float(s)).exp() for s in row]
    return np.array([float(p / sum(powers)) for p in powers])


def guarded(m: np.ndarray) -> np.ndarray:
    return np.where(m == -INF, 0, m)


def mistakes_of(kind: str, rows: list[tuple]) -> list[Mistake]:
    """Return mistakes of one kind from rows (key, English, Chinese, model, model, …)."""
    return [
        Mistake(key, kind, model, say(en=en, zh=zh))
        for key, en, zh, *models in rows
        for model in models
    ]


def tile_update(
    new: Callable = lambda m, x: np.maximum(m, x.max(axis=1)),
    sums: Callable = lambda m, m_new, l, p: np.exp(m - m_new) * l + p,
    before: Callable = lambda x: x,
    reference: Callable = guarded,
) -> Callable:
    """An update with its parts exchanged: the new maximum, the sum, the scores, the reference."""

    def model(m, l, x):
        x = before(x)
        m_new = reference(new(m, x))
        p = np.exp(x - m_new[:, None]).sum(axis=1)
        return new(m, x), sums(m, m_new, l, p)

    return model


def by_axes(of_max: int, of_sum: int | None, lost: bool = False) -> Callable:
    """An update along these axes (None: all); lost: m_new lacks its second axis."""

    def model(m, l, x):
        m_new = np.maximum(m, x.max(axis=of_max))
        p = np.exp(x - (m_new if lost else m_new[:, None]))
        return m_new, np.exp(m - m_new) * l + p.sum(axis=of_sum)

    return model


def relative_to_the_tile(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    p = np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1)
    return m_new, np.exp(m - m_new) * l + p


def relative_to_the_old(rescaled: bool) -> Callable:
    def model(m, l, x):
        m_new = np.maximum(m, x.max(axis=1))
        alpha = np.exp(m - m_new) if rescaled else 1
        return m_new, alpha * l + np.exp(x - m[:, None]).sum(axis=1)

    return model


def update_through_plain_sum(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    return m_new, (l * np.exp(m) + np.exp(x).sum(axis=1)) / np.exp(m_new)


def update_through_its_logarithm(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    return m_new, np.exp(np.log(l * np.exp(m) + np.exp(x).sum(axis=1)) - m_new)


def key_by_key(m, l, x):
    for c in range(x.shape[1]):
        m, l = tile_update(reference=lambda m: m)(m, l, x[:, c : c + 1])
    return m, l


def with_reference_as_m(m, l, x):
    m_new, l = tile_update()(m, l, x)
    return guarded(m_new), l


ONE_TRUTH = (
    "max and if want single numbers, and np.max takes one array; here each row has its own"
    " maximum. np.maximum compares two arrays row by row, and np.where chooses row by row.",
    "max 和 if 只能处理单个数，np.max 只接受一个数组；而这里每一行有自己的最大值。"
    "np.maximum 逐行比较两个数组，np.where 逐行选择。",
)


def pair(state):
    """Return (m, l) when there are two, also from one array; anything else as it is."""
    return tuple(state) if isinstance(state, list | tuple | np.ndarray) else state


def in_turn(attempt, m, l, *tiles):
    """Update with one tile after another; return the last state."""
    state = (m, l)
    for tile in tiles:
        state = pair(attempt(*state, tile))
        if not isinstance(state, tuple) or len(state) != 2:
            return state
    return state


@exercise
def update_tile() -> Exercise:
    """update_tile(m, l, x): the state after one tile, tried on one or several tiles in turn."""

    def case(*tiles, seen=None, says: str, kind: str = "floats", dtype=np.float64) -> Case:
        tiles = [drawn(tile, kind, dtype) for tile in tiles]
        seen = np.full((len(tiles[0]), 0), -INF) if seen is None else drawn(seen, kind, dtype)
        m, l = plain_state(seen)
        expected = plain_state(np.concatenate([seen, *tiles], axis=1))
        args = (m.astype(dtype), l.astype(dtype), *tiles)
        shown = ", ".join(map(short, args))
        call = "" if len(tiles) == 1 else f"check.in_turn(update_tile, {shown})"
        return Case(says, args, expected, kind, tolerance=TOLERANCE[dtype], call=call)

    first = say(en="two rows, a tile of two keys", zh="两行，tile 里有两个 key")
    three = say(en="one row, three tiles in turn, a ragged tail", zh="一行，依次三个 tile，有尾块")
    low = say(en="all scores near -200, float32", zh="所有分数都在 -200 附近，float32")
    falls = say(en="tile maxima fall from 2000 to 0", zh="各 tile 的最大值从 2000 降到 0")
    rises = say(en="tile maxima rise from 0 to 2000", zh="各 tile 的最大值从 0 升到 2000")
    outlier = say(en="one huge score in the second tile", zh="第二个 tile 里有一个巨大的分数")
    part = say(en="some keys masked, never a whole row", zh="遮住了一些 key，但没有遮住整行")
    prefix = say(en="the first tile is fully masked", zh="第一个 tile 全部被遮住")
    nothing = say(en="one row masked in every tile", zh="有一行在每个 tile 里都被遮住")
    cases = [
        case([[2, 4], [1, 0]], seen=[[1, 0], [3, 2]], says=first, kind="algebra"),
        case([[1, 2]], [[3, 5]], [[4]], seen=[[0]], says=three, kind="algebra"),
        case([[-200, -201]], [[-199, -203]], [[-198]], says=low, dtype=np.float32),
        case([[2000, 1999]], [[1000, 999]], [[0, 0]], says=falls),
        case([[0, 0]], [[1000, 999]], [[2000]], says=rises),
        case([[0, 1], [2, 2]], [[800, 0], [1, 1]], [[1, 1], [0, 3]], says=outlier),
        case([[0, -INF], [-INF, 2]], [[-INF, 3], [1, -INF]], [[1], [0]], says=part),
        case([[-INF] * 2], [[-1000, -1001]], [[-999]], says=prefix),
        case([[-INF] * 2, [1, 2]], [[-INF] * 2, [3, 1]], [[-INF], [0]], says=nothing),
    ]
    floats = [
        (
            "masked_nan",
            "the row has seen no key yet: -inf - (-inf) is NaN. Subtract a harmless number there.",
            "这一行还没有看到任何 key：-inf - (-inf) 是 NaN。那里应当改减一个无害的数。",
            tile_update(reference=lambda m: m),
            key_by_key,
        ),
        (
            "reference_returned",
            "the harmless 0 was returned as m. It is for the subtraction only: m of a row without"
            " keys stays -inf, or later scores far below 0 underflow.",
            "把无害的 0 当作 m 返回了。它只用于减法：没有 key 的行，m 仍是 -inf，"
            "否则后来远小于 0 的分数会下溢。",
            with_reference_as_m,
        ),
        (
            "finite_sentinel",
            "masked scores became a finite number. In a row without any key they get weight. Keep -inf.",
            "被遮住的分数变成了有限的数。在一个 key 都没有的行里，它们会分到权重。应当保留 -inf。",
            tile_update(before=lambda x: np.where(x == -INF, -1e4, x)),
            tile_update(before=lambda x: np.where(x == -INF, -1e9, x)),
            tile_update(before=lambda x: np.where(x == -INF, -1e30, x)),
        ),
        (
            "maximum_from_zero",
            "the maximum cannot fall below 0, though all scores are far lower: the terms underflow.",
            "最大值不会低于 0，而分数全都低得多：各项会下溢。",
            tile_update(new=lambda m, x: np.maximum(np.maximum(m, x.max(axis=1)), 0)),
        ),
        (
            "through_the_plain_sum",
            "the plain sum l·e^m is formed on the way, and it overflows or vanishes. Only differences"
            " from m_new may stand in an exponent.",
            "中间算出了不减最大值的和 l·e^m，它会上溢，或者变成 0。指数里只应出现与 m_new 之差。",
            update_through_plain_sum,
            update_through_its_logarithm,
        ),
    ]
    algebra = [
        (
            "wrong_axis",
            "maximum or sum runs along the wrong axis, or over all rows. A row of the tile is one"
            " query: axis=1.",
            "最大值或求和沿错了轴，或者把所有行加到了一起。tile 的一行是一个 query：axis=1。",
            by_axes(0, 0),
            by_axes(0, 1),
            by_axes(1, 0),
            by_axes(1, None),
            by_axes(0, 0, lost=True),
            by_axes(0, 1, lost=True),
        ),
        (
            "second_axis_missing",
            "m_new needs a second axis beside x: m_new[:, None]. Without it, rows use each other's m.",
            "m_new 与 x 相减时要补上第二个轴：m_new[:, None]。否则各行用的是别的行的 m。",
            by_axes(1, 1, lost=True),
        ),
        (
            "l_not_rescaled",
            "the old l is not rescaled, so it is still relative to the old m.",
            "旧的 l 没有重标定，它仍是相对于旧的 m 的。",
            tile_update(sums=lambda m, m_new, l, p: l + p),
        ),
        (
            "alpha_upside_down",
            "alpha is upside down: e^(m - m_new), never above 1.",
            "alpha 写反了：应当是 e^(m - m_new)，它不会大于 1。",
            tile_update(sums=lambda m, m_new, l, p: np.exp(m_new - m) * l + p),
        ),
        (
            "alpha_on_the_new_terms",
            "alpha multiplies the new terms. They are relative to m_new already; the old ones are not.",
            "alpha 乘到了新的项上。新的项已经以 m_new 为参照，需要换参照的是旧的项。",
            tile_update(sums=lambda m, m_new, l, p: l + np.exp(m - m_new) * p),
        ),
        (
            "rescaled_after_adding",
            "the sum was rescaled after the new terms were added. Rescale the old l first, then add.",
            "先加了新的项，才做重标定。应当先重标定旧的 l，再相加。",
            tile_update(sums=lambda m, m_new, l, p: np.exp(m - m_new) * (l + p)),
        ),
        (
            "relative_to_the_tile",
            "the new terms are relative to the tile's own maximum, not to m_new.",
            "新的项以 tile 自己的最大值为参照，而不是以 m_new 为参照。",
            relative_to_the_tile,
        ),
        (
            "relative_to_the_old_m",
            "the new terms are relative to the old m. Take the maximum of both first.",
            "新的项以旧的 m 为参照。应当先取两者中的最大值。",
            relative_to_the_old(True),
            relative_to_the_old(False),
        ),
        (
            "alpha_from_the_tile",
            "alpha compares m with the tile's own maximum. Compare it with m_new, the larger of both.",
            "算 alpha 时用的是 tile 自己的最大值。应当用 m_new，即两者中较大的那个。",
            lambda m, l, x: (
                np.maximum(m, x.max(axis=1)),
                np.exp(m - x.max(axis=1)) * l + tile_update()(m, 0 * l, x)[1],
            ),
        ),
        (
            "old_l_forgotten",
            "the old l is lost: this is the denominator of the tile alone.",
            "旧的 l 丢了：这只是这个 tile 自己的分母。",
            tile_update(sums=lambda m, m_new, l, p: p),
        ),
        (
            "old_m_forgotten",
            "m is the maximum of the tile alone. It must be the larger of that and the old m.",
            "m 只是这个 tile 的最大值。应当取它与旧的 m 中较大的那个。",
            tile_update(new=lambda m, x: x.max(axis=1)),
        ),
        (
            "old_m_returned",
            "l is right, but m is still the old one. Return m_new.",
            "l 是对的，但 m 还是旧的。应当返回 m_new。",
            lambda m, l, x: (m, tile_update()(m, l, x)[1]),
        ),
        (
            "one_maximum_for_all",
            "one maximum was taken for all rows. Each row has its own m.",
            "所有的行共用了一个最大值。每一行有自己的 m。",
            tile_update(new=lambda m, x: np.maximum(m, x.max())),
        ),
    ]
    form = [
        (
            "pair_swapped",
            "the two are in the wrong order: return m first, then l.",
            "两个返回值的顺序反了：先返回 m，再返回 l。",
            lambda m, l, x: tile_update()(m, l, x)[::-1],
        ),
        (
            "axis_kept",
            "the numbers are right, but m and l have the shape (rows, 1). Return (rows,): [:, 0].",
            "数都对，但 m 和 l 的形状是 (rows, 1)。应当返回 (rows,)：取 [:, 0]。",
            lambda m, l, x: tuple(part[:, None] for part in tile_update()(m, l, x)),
        ),
        (
            "one_truth_for_all_rows",
            *ONE_TRUTH,
            lambda m, l, x: max(m, x.max(axis=1)),
            lambda m, l, x: np.max(m, x.max(axis=1)),
        ),
    ]
    mistakes = [
        *mistakes_of("floats", floats),
        *mistakes_of("algebra", algebra),
        *mistakes_of("", form),
    ]
    return Exercise(cases, mistakes, in_turn)


def merged(
    factors: Callable = lambda m_a, m_b, m: (np.exp(m_a - m), np.exp(m_b - m)),
    top: Callable = np.maximum,
    reference: Callable = guarded,
) -> Callable:
    """A merge with its parts exchanged: both factors, the maximum, the reference."""

    def model(a, b):
        (m_a, l_a), (m_b, l_b) = a, b
        f_a, f_b = factors(m_a, m_b, reference(top(m_a, m_b)))
        return top(m_a, m_b), f_a * l_a + f_b * l_b

    return model


@exercise
def merge() -> Exercise:
    """merge(a, b): the state of the keys of both, empty readers included."""

    def case(left, right, says: str, kind: str = "floats", dtype=np.float64) -> Case:
        left, right = (drawn(part, kind, dtype) for part in (left, right))
        a, b = (tuple(x.astype(dtype) for x in plain_state(part)) for part in (left, right))
        expected = plain_state(np.concatenate([left, right], axis=1))
        call = f"merge({short(a)}, {short(b)})"
        return Case(says, (*a, *b), expected, kind, tolerance=TOLERANCE[dtype], call=call)

    none = [-INF, -INF]
    pairs = say(en="two scores each", zh="两边各两个分数")
    turned = say(en="two rows, the larger maximum left or right", zh="两行，较大的最大值在左或在右")
    equal = say(en="equal maxima", zh="最大值相等")
    low = say(en="all scores near -200, float32", zh="所有分数都在 -200 附近，float32")
    wide = say(en="maxima far apart", zh="最大值相差悬殊")
    left = say(en="the left reader has seen nothing", zh="左边的人什么也没看到")
    right = say(en="the right reader has seen nothing", zh="右边的人什么也没看到")
    both = say(en="in one row neither has seen a key", zh="有一行两个人都没看到 key")
    cases = [
        case([[5, 3], [0, 1]], [[2, 1], [4, 4]], turned, "algebra"),
        case([[1, 2]], [[3, 5]], pairs, "algebra"),
        case([[2, 2]], [[2, 0]], equal, "algebra"),
        case([[-200, -201]], [[-198, -199]], low, dtype=np.float32),
        case([[2000, 1], [0, 0]], [[0, 0], [2000, 3]], wide),
        case([none], [[-1000, -1001]], left),
        case([[-1000, -1001]], [none], right),
        case([none, [1, 2]], [none, [3, 0]], both),
    ]
    floats = [
        (
            "masked_nan",
            "where neither has seen a key, -inf - (-inf) is NaN. Subtract a harmless number there.",
            "两个人都没看到 key 的地方，-inf - (-inf) 是 NaN。那里应当改减一个无害的数。",
            merged(reference=lambda m: m),
        ),
        (
            "reference_returned",
            "the harmless 0 was returned as m. It is for the subtraction only: return m itself.",
            "把无害的 0 当作 m 返回了。它只用于减法：应当返回 m 本身。",
            lambda a, b: (guarded(merged()(a, b)[0]), merged()(a, b)[1]),
        ),
        (
            "maximum_from_zero",
            "the maximum cannot fall below 0, though all scores are far lower: the terms underflow.",
            "最大值不会低于 0，而分数全都低得多：各项会下溢。",
            merged(top=lambda m_a, m_b: np.maximum(np.maximum(m_a, m_b), 0)),
        ),
        (
            "through_the_plain_sum",
            "the plain sums l·e^m are formed on the way, and they overflow or vanish. Only differences"
            " of maxima may stand in an exponent.",
            "中间算出了不减最大值的和 l·e^m，它会上溢，或者变成 0。指数里只应出现最大值之差。",
            through_plain_sums,
            through_their_logarithm,
        ),
    ]
    algebra = [
        (
            "l_not_rescaled",
            "the two l are added as they are, though each is relative to its own m.",
            "两个 l 直接相加了，可它们各自以自己的 m 为参照。",
            merged(lambda m_a, m_b, m: (1, 1)),
        ),
        (
            "only_the_left_rescaled",
            "one side is never rescaled. Which of the two has the smaller maximum depends on the row.",
            "有一边从来没有重标定。哪一边的最大值较小，各行不同。",
            merged(lambda m_a, m_b, m: (np.exp(m_a - m), 1)),
            merged(lambda m_a, m_b, m: (1, np.exp(m_b - m))),
            merged(lambda m_a, m_b, m: (np.exp(m_a - m_b), 1)),
            merged(lambda m_a, m_b, m: (1, np.exp(m_b - m_a))),
        ),
        (
            "alpha_upside_down",
            "a factor is upside down: e^(m_a - m) and e^(m_b - m), none above 1.",
            "系数写反了：应当是 e^(m_a - m) 和 e^(m_b - m)，都不大于 1。",
            merged(lambda m_a, m_b, m: (np.exp(m - m_a), np.exp(m - m_b))),
        ),
        (
            "factors_swapped",
            "the factors are swapped: each l goes with its own maximum.",
            "两个系数交换了：每个 l 要配它自己的最大值。",
            merged(lambda m_a, m_b, m: (np.exp(m_b - m), np.exp(m_a - m))),
        ),
        (
            "maxima_added",
            "the maxima were added. The common reference is the larger of the two.",
            "两个最大值相加了。共同的参照是两者中较大的那个。",
            merged(top=np.add),
            lambda a, b: (a[0] + b[0], merged()(a, b)[1]),
        ),
    ]
    form = [
        (
            "pair_swapped",
            "the two are in the wrong order: return m first, then l.",
            "两个返回值的顺序反了：先返回 m，再返回 l。",
            lambda a, b: merged()(a, b)[::-1],
        ),
        (
            "one_truth_for_all_rows",
            *ONE_TRUTH,
            lambda a, b: max(a[0], b[0]),
            lambda a, b: np.max(a[0], b[0]),
        ),
    ]
    mistakes = [
        *mistakes_of("floats", floats),
        *mistakes_of("algebra", algebra),
        *mistakes_of("", form),
    ]
    return Exercise(cases, mistakes, lambda attempt, *s: pair(attempt(s[:2], s[2:])))


def through_their_logarithm(a: State, b: State) -> State:
    m = np.maximum(a[0], b[0])
    return m, np.exp(np.log(a[1] * np.exp(a[0]) + b[1] * np.exp(b[0])) - m)


def through_plain_sums(a: State, b: State) -> State:
    m = np.maximum(a[0], b[0])
    return m, (a[1] * np.exp(a[0]) + b[1] * np.exp(b[0])) / np.exp(m)


def on_counted_memory(attempt, values, b, what="probs"):
    """Run two_pass on a chip with room for b scores; return y, reads for each score, or the room."""
    memory = Memory(budget=4 * b)
    x, y = memory.slow("x", values), memory.slow("y", (len(values),))
    try:
        attempt(x, y, b, memory)
    except Exception as error:
        if what != "room":
            raise
        # the next case, which tries the same on more scores, shows what is no question of room
        return str(error) if isinstance(error, BudgetExceeded) else "enough"
    if what == "room":
        most = max((math.prod(e.shape) for e in memory.events if e.kind == "write"), default=0)
        return (
            "enough"
            if most <= b
            else say(en=f"{most} at once into y", zh=f"一次往 y 里写了 {most} 个")
        )
    return y.array if what == "probs" else memory.read["x"] / (4 * len(values))


def two_loops(
    step: Callable,
    start: Callable = lambda: (-INF, 0.0),
    weigh: Callable = lambda tile, m, l: np.exp(tile - m) / l,
) -> Callable:
    """A two_pass with its parts exchanged: one step of the state, its start, the weights."""

    def model(x, y, b, memory):
        parts = [slice(c, min(c + b, len(x))) for c in range(0, len(x), b)]
        m, l = start()
        for part in memory.turns(parts):
            m, l = step(m, l, x[part])
        for part in memory.turns(parts):
            y[part] = weigh(x[part], m, l)

    return model


def one_row(m, l, tile, *, alpha=lambda m, m_new: np.exp(m - m_new), guard=True):
    m_new = max(m, tile.max())
    if guard and m_new == -INF:
        return m, l
    return m_new, alpha(m, m_new) * l + np.exp(tile - m_new).sum()


def at_once(x, y, b, memory):
    """Reads every score twice, so that it does not explain a wrong number of reads."""
    m, l = -INF, 0.0
    for start in memory.turns(range(0, len(x), b)):
        part = slice(start, min(start + b, len(x)))
        tile = x[part]
        m, l = one_row(m, l, tile)
        y[part] = np.exp(x[part] - m) / l


@exercise
def two_pass() -> Exercise:
    """two_pass(x, y, b, memory): softmax on counted memory, every score read exactly twice."""
    reads = say(
        en="Every score must be read exactly twice. More: is there a third loop, or does one loop"
        " read x[part] more than once? Fewer: does something stay from the first loop for the second,"
        " where the chip has room for one tile, or does x.array go past the counter?",
        zh="每个分数必须恰好读两次。读多了：是不是有第三个循环，或者同一个循环里读了不止一次 x[part]？"
        "读少了：是不是从第一个循环留了东西给第二个循环（片上只放得下一个 tile），"
        "或者用 x.array 绕过了计数？",
    )

    unwritten = say(
        en="These are the entries of y. One that was never written is nan.",
        zh="这是 y 的各个元素。从未写过的元素是 nan。",
    )

    def case(values, b: int, says: str, kind: str = "floats") -> Case:
        values = drawn(values, kind)
        call = as_typed(values, b)
        return Case(says, (values, b), plain_softmax(values), kind, 1e-12, unwritten, call)

    room = say(
        en="Read x[part] and write y[part] inside `for part in memory.turns(...)`: what a turn has read"
        " leaves the chip when the turn ends. Reading y takes room as well.",
        zh="请在 `for part in memory.turns(...)` 里面读 x[part]、写 y[part]："
        "一轮里读的东西，在这一轮结束时离开片上。读 y 也要占地方。",
    )
    fits = say(en="room on chip, for two scores", zh="片上的空间，放得下两个分数")

    def counted(values, b: int) -> Case:
        says = say(en="reads of each score", zh="每个分数读的次数")
        values = np.array(values, float)
        call = as_typed(values, b, '"reads"')
        return Case(says, (values, b, "reads"), 2.0, "", otherwise=reads, call=call)

    def enough(values, b: int) -> Case:
        values = np.array(values, float)
        call = as_typed(values, b, '"room"')
        return Case(fits, (values, b, "room"), "enough", "", otherwise=room, call=call)

    def as_typed(*args) -> str:
        return f"check.on_counted_memory(two_pass, {', '.join(map(short, args))})"

    two = say(en="three tiles of two", zh="三个 tile，每个两个分数")
    tail = say(en="three tiles, a ragged tail", zh="三个 tile，有尾块")
    falls = say(en="tile maxima fall from 2000", zh="各 tile 的最大值从 2000 往下降")
    rises = say(en="tile maxima rise to 2000", zh="各 tile 的最大值升到 2000")
    low = say(en="all scores near -1000", zh="所有分数都在 -1000 附近")
    prefix = say(en="the first tile is fully masked", zh="第一个 tile 全部被遮住")
    b = variant.draw("tile", 3, 4, 5)
    uneven = [2, 0, 3, 1, 4, 4, 1, 5, 0, 2, 3][: 2 * b + 1]
    cases = [
        enough([1, 2, 5], 2),
        case([1, 2, 5, 3, 2, 0], 2, two, "algebra"),
        case(uneven, b, tail, "algebra"),
        counted([1, 2, 3, 5], 2),
        counted(uneven, b),
        case([2000, 1999, 1000, 999, 0], 2, falls),
        case([0, 0, 1000, 999, 2000], 2, rises),
        case([-1000, -1001, -1003, -999, -1002], 2, low),
        case([-INF, -INF, -INF, 1, 2], 2, prefix),
    ]
    floats = [
        (
            "masked_nan",
            "after a fully masked tile m is still -inf, and -inf - (-inf) is NaN.",
            "读完一个全部被遮住的 tile，m 还是 -inf，而 -inf - (-inf) 是 NaN。",
            two_loops(lambda m, l, tile: one_row(m, l, tile, guard=False)),
        ),
        (
            "maximum_from_zero",
            "m starts at 0, far above these scores: all terms underflow. Start it at -inf.",
            "m 从 0 开始，远高于这些分数：各项全部下溢。应当从 -inf 开始。",
            two_loops(one_row, start=lambda: (0.0, 0.0)),
        ),
        (
            "nothing_subtracted",
            "no maximum is subtracted, so terms overflow or all underflow.",
            "没有减最大值，所以各项上溢，或者全部下溢。",
            two_loops(
                lambda m, l, tile: (m, l + np.exp(tile).sum()),
                weigh=lambda tile, m, l: np.exp(tile) / l,
            ),
        ),
    ]
    algebra = [
        (
            "l_not_rescaled",
            "l is not rescaled when m moves.",
            "m 移动时，l 没有重标定。",
            two_loops(lambda m, l, tile: one_row(m, l, tile, alpha=lambda m, m_new: 1)),
        ),
        (
            "relative_to_the_tile",
            "each tile's terms are relative to that tile's own maximum.",
            "每个 tile 的项，都以它自己的最大值为参照。",
            two_loops(lambda m, l, tile: (max(m, tile.max()), l + np.exp(tile - tile.max()).sum())),
        ),
        (
            "tiles_normalised",
            "every tile is a softmax of its own: the weights sum to the number of tiles.",
            "每个 tile 各自做了 softmax：权重之和等于 tile 的个数。",
            two_loops(
                one_row,
                weigh=lambda tile, m, l: (
                    np.exp(tile - tile.max()) / np.exp(tile - tile.max()).sum()
                ),
            ),
        ),
        (
            "written_too_early",
            "weights are written with the m and l of the keys so far. They need those of the whole row.",
            "写权重时用的是到目前为止的 m 和 l。权重要用整行的 m 和 l。",
            at_once,
        ),
        (
            "not_normalised",
            "these are the terms; they are not divided by l.",
            "这是各项的值，还没有除以 l。",
            two_loops(one_row, weigh=lambda tile, m, l: np.exp(tile - m)),
        ),
        (
            "m_forgotten_in_the_weights",
            "the weights divide e^x by l, but l is relative to m: subtract m there too.",
            "写权重时用 e^x 除以 l，而 l 是相对于 m 的：那里也要减 m。",
            two_loops(one_row, weigh=lambda tile, m, l: np.exp(tile) / l),
        ),
    ]
    mistakes = [*mistakes_of("floats", floats), *mistakes_of("algebra", algebra)]
    return Exercise(cases, mistakes, on_counted_memory)


def folded(step: Callable) -> Callable:
    """Return fold(row) made of step(m, m_new, l, s) → l, named like the step."""

    def fold(row):
        m, l = -INF, 0.0
        for s in map(float, row):
            m, l = max(m, s), step(m, max(m, s), l, s)
        return m, l

    fold.__name__ = step.__name__
    return fold


@folded
def no_alpha(m, m_new, l, s):
    return l + np.exp(s - m_new)


@folded
def alpha_on_the_new(m, m_new, l, s):
    return l + np.exp(m - m_new) * np.exp(s - m_new) if l else 1.0


@folded
def right_fold(m, m_new, l, s):
    return np.exp(m - m_new) * l + np.exp(s - m_new)


def a_little_off(row):
    m, l = right_fold(row)
    return m, l * (1.01 if row[0] > row[-1] else 1)


def off_at_the_ends(row):
    """Wrong when an end exceeds the middle: as often for a row as for its reverse."""
    m, l = right_fold(row)
    n = len(row)
    return m, l * (1.01 if max(row[0], row[-1]) > max(row[n // 2], row[(n - 1) // 2]) else 1)


def twice_too_large(row):
    m, l = right_fold(row)
    return m, 2 * l


def right_l_beside_the_last(row):
    return row[-1], right_fold(row)[1]


def last_as_m(row):
    return row[-1], np.exp(np.asarray(row) - row[-1]).sum()


def agreeing(part: Callable, other: Callable = lambda row, rng: rng.permutation(row)) -> Callable:
    """A test of order that compares only part(m, l), on a row and on other(row, rng)."""

    def model(fold, rng):
        rows = rng.standard_normal((20, 10))
        pairs = [(part(*fold(row)), part(*fold(other(row, rng)))) for row in rows]
        return all(np.allclose(a, b) for a, b in pairs)

    return model


def against_the_definition(fold, rng):
    rows = rng.standard_normal((20, 10))
    return all(np.allclose(fold(row), right_fold(row)) for row in rows)


@exercise
def same_in_any_order() -> Exercise:
    """same_in_any_order(fold, rng): True for a fold that does not depend on the order."""

    few = say(
        en="Try at least 20 rows, each in two orders, before the answer is True: one row may agree"
        " by chance. Is there a return inside the loop?",
        zh="回答 True 之前，至少要试 20 行，每行两种顺序：只试一行，可能碰巧一致。"
        "是不是有 return 写在循环里面？",
    )

    def use(attempt, fold, rng, what="answer"):
        calls = []
        answer = attempt(lambda row: calls.append(row) or fold(row), rng)
        if what == "calls":
            return min(len(calls), 40)
        return bool(answer) if isinstance(answer, np.bool_) else answer

    def case(fold, expected: bool, en: str, zh: str) -> Case:
        call = f"same_in_any_order(check.{fold.__name__}, np.random.default_rng(0))"
        return Case(say(en=en, zh=zh), (fold, np.random.default_rng(0)), expected, call=call)

    cases = [
        case(no_alpha, False, "a fold that never rescales", "从不重标定的 fold"),
        case(
            alpha_on_the_new,
            False,
            "a fold with alpha on the new term",
            "系数乘错项的 fold",
        ),
        case(last_as_m, False, "the last score in place of the maximum", "拿最后一个分数当最大值"),
        case(a_little_off, False, "an error of 1 % in some orders", "在某些顺序下有 1 % 的误差"),
        case(
            right_l_beside_the_last,
            False,
            "the last score as m, the right l",
            "m 是最后一个分数，l 正确",
        ),
        case(right_fold, True, "the right fold", "正确的 fold"),
        case(
            twice_too_large,
            True,
            "a fold that is wrong alike in every order",
            "按什么顺序都错得一样的 fold",
        ),
        Case(
            say(en="how often the right fold is called", zh="正确的 fold 被调用的次数"),
            (right_fold, np.random.default_rng(0), "calls"),
            40,
            "",
            otherwise=few,
            call="same_in_any_order(check.right_fold, np.random.default_rng(0))",
        ),
        case(
            off_at_the_ends,
            False,
            "an error of 1 % that reversing does not show",
            "1 % 的误差，倒过来也看不出",
        ),
    ]
    purpose = [
        (
            "compared_with_the_definition",
            "this fold is wrong, but alike in every order, so the answer is True. Compare its two"
            " results with each other, not with the right ones.",
            "这个 fold 是错的，但按什么顺序都错得一样，所以应当回答 True。"
            "请把它的两个结果互相比较，而不是与正确的值比较。",
            against_the_definition,
        ),
    ]
    floats = [
        (
            "exact_comparison",
            "the right fold is refused: in another order it rounds differently. Compare with np.allclose.",
            "正确的 fold 被拒绝了：换个顺序，舍入就不同。请用 np.allclose 比较。",
            lambda fold, rng: False,
        ),
    ]
    algebra = [
        (
            "only_one_of_both_compared",
            "m and l must both agree. This fold gives the same l, or the same l·e^m, in every order,"
            " but not the same m.",
            "m 和 l 两个都要一致。这个 fold 按什么顺序都给出同样的 l，或同样的 l·e^m，m 却不同。",
            agreeing(lambda m, l: l * np.exp(m)),
            agreeing(lambda m, l: l),
        ),
        (
            "only_reversed",
            "reversing a row is only one of its other orders. Shuffle it: rng.permutation(row).",
            "倒过来只是许多顺序中的一种。请打乱它：rng.permutation(row)。",
            agreeing(lambda m, l: (m, l), lambda row, rng: row[::-1]),
        ),
        (
            "nothing_found",
            "a fold that depends on the order passed. Is the second row really another order"
            " (rng.permutation returns a new array)? Is every pair compared, m and l both?",
            "一个依赖顺序的 fold 通过了。第二行真的换了顺序吗（rng.permutation 返回新的数组）？"
            "每一对都比较了吗，m 和 l 都比较了吗？",
            lambda fold, rng: True,
        ),
    ]
    mistakes = [
        *mistakes_of("", purpose),
        *mistakes_of("floats", floats),
        *mistakes_of("algebra", algebra),
    ]
    return Exercise(cases, mistakes, use)


@exercise
def judge() -> Exercise:
    """Statements about online softmax: True or False for each letter."""
    statements = {
        "a": (
            False,
            say(
                en="a: it is relative to the running maximum. The sum of the exponentials is l·e^m.",
                zh="a：它是相对于当前最大值的。指数之和是 l·e^m。",
            ),
        ),
        "b": (
            True,
            say(
                en="b: they do: the factor is e^(m - m) = 1.",
                zh="b：对，系数是 e^(m - m) = 1。",
            ),
        ),
        "c": (
            False,
            say(
                en="c: l means nothing without its m. The reader of 1, 2 has the larger l, 1.37"
                " against 1.14, and it is multiplied by e^-3 in the merge.",
                zh="c：离开了 m，l 没有意义。读 1、2 的人 l 较大，1.37 对 1.14，"
                "可是合并时要乘上 e^-3。",
            ),
        ),
        "d": (
            False,
            say(
                en="d: a weight needs the l of the whole row, known only after the first pass.",
                zh="d：权重要用整行的 l，走完第一遍才知道。",
            ),
        ),
        "e": (
            True,
            say(
                en="e: true. Any reference cancels in exact arithmetic; only floats may underflow.",
                zh="e：对。在精确运算中任何参照都会约掉；只有浮点运算可能下溢。",
            ),
        ),
        "f": (
            False,
            say(
                en="f: accesses were counted, no time was measured. A safe softmax that holds its row"
                " on chip also reads it once.",
                zh="f：数的是访问次数，没有测过时间。把一行留在片上的安全 softmax 也只读一次。",
            ),
        ),
    }
    return Exercise(
        cases=[Case(why, (key,), truth, kind="") for key, (truth, why) in statements.items()],
        use=lambda answers, key: answers[key],
        show_all=True,
    )
