"""Checks of lesson 02: weights from row tiles, what fits on chip, and how tiles are stacked."""

import re

import numpy as np

from utils.checks.core import Case, Exercise, Mistake, exercise
from utils.checks.values import short
from utils.language import say


def integers(rows: int, columns: int, shift: int) -> np.ndarray:
    """A matrix of −1 to 2 without two rows alike, so small that weights are easy to read."""
    r, c = np.indices((rows, columns))
    return (r * r + 3 * r * c + 5 * c + shift) % 7 // 2 - 1


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return the row-wise softmax, as the lesson's black box does."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def small_softmax(b_r: int, box=softmax):
    """Return the black box of a chip with room for b_r rows: ValueError for more."""

    def softmax_on_chip(scores):
        shape = np.shape(scores)
        if len(shape) > 1 and shape[0] > b_r:
            text = say(
                en=f"this softmax has room for {b_r} rows at a time, and got shape {shape}",
                zh=f"这个 softmax 一次最多放得下 {b_r} 行，收到的形状却是 {shape}",
            )
            raise ValueError(text)
        return box(np.asarray(scores))

    softmax_on_chip.__name__ = "softmax"  # so that the call shown can be pasted into the lesson
    return softmax_on_chip


def parts(q, k, b_r, softmax, tail=True) -> list:
    """Return the weights of every row tile, the ragged one too unless tail is False."""
    stop = len(q) if tail else len(q) // b_r * b_r
    return [softmax(q[r : r + b_r] @ k.T) for r in range(0, stop, b_r)]


def interleaved(q, k, b_r, softmax):
    """Lay the tiles side by side and let reshape hide it."""
    return np.hstack(parts(q, k, b_r, softmax)).reshape(len(q), len(k))


def keys_cut(q, k, b_r, softmax):
    """Cut the keys as well and take a softmax of every piece."""
    probs = np.empty((len(q), len(k)))
    for r in range(0, len(q), b_r):
        for c in range(0, len(k), b_r):
            probs[r : r + b_r, c : c + b_r] = softmax(q[r : r + b_r] @ k[c : c + b_r].T)
    return probs


def lukewarm(scores: np.ndarray) -> np.ndarray:
    """Return the softmax of half the scores: it tells who brings a softmax along."""
    return softmax(scores / 2)


def plain_softmax(s):
    weights = np.exp(s)
    return weights / weights.sum(axis=-1, keepdims=True)


@exercise
def weights_by_rows() -> Exercise:
    """weights_by_rows(q, k, b_r, softmax): P = softmax(Q Kᵀ), a row tile at a time."""

    def case(q, k, b_r: int, says: str, kind="algebra", otherwise="") -> Case:
        args = (q, k, b_r, small_softmax(b_r))
        return Case(says, args, softmax(q @ k.T), kind, tolerance=1e-6, otherwise=otherwise)

    def sized(n_q: int, n_k: int, d: int, b_r: int, says: str, otherwise="") -> Case:
        return case(integers(n_q, d, 1), integers(n_k, d, 4), b_r, says, otherwise=otherwise)

    look_at_tail = say(
        en="Whole tiles are right; look at the last, ragged one.",
        zh="完整的 tile 都对；看看最后的尾块。",
    )
    q, k = integers(5, 3, 1), integers(4, 3, 4)
    outlier = np.where(np.arange(4)[:, None] == 2, 200 * k, k)
    return Exercise(
        cases=[
            sized(4, 6, 3, 2, say(en="4 queries, 6 keys, d = 3", zh="4 个 query，6 个 key，d = 3")),
            sized(7, 5, 3, 3, say(en="a ragged third tile", zh="第三个 tile 是尾块"), look_at_tail),
            sized(2, 5, 3, 4, say(en="a tile taller than Q", zh="tile 比 Q 还高"), look_at_tail),
            sized(3, 4, 2, 1, say(en="one row at a time", zh="每次只有一行")),
            case(
                np.hstack([q, np.full((5, 1), 40)]),
                np.hstack([k, np.full((4, 1), -25)]),
                2,
                say(en="all scores near −1000", zh="所有分数都在 −1000 附近"),
                "floats",
            ),
            case(
                q,
                outlier,
                2,
                say(en="one huge outlier among the keys", zh="有一个 key 特别大"),
                "floats",
            ),
            Case(
                say(
                    en="another black box: given the softmax of half the scores",
                    zh="换一个黑盒：给定的是一半分数的 softmax",
                ),
                (q, k, 2, small_softmax(2, lukewarm)),
                lukewarm(q @ k.T),
                tolerance=1e-6,
                call=f"weights_by_rows({short(q)}, {short(k)}, 2, lambda s: softmax(s / 2))",
            ),
        ],
        mistakes=[
            Mistake(
                "side_by_side",
                "algebra",
                lambda q, k, b_r, softmax: np.hstack(parts(q, k, b_r, softmax)),
                say(
                    en="the tiles stand side by side. Rows of Q were cut, so stack them as rows (vstack).",
                    zh="你把各个 tile 左右并排了。切的是 Q 的行，应当按行上下叠放（vstack）。",
                ),
            ),
            Mistake(
                "reshaped",
                "algebra",
                interleaved,
                say(
                    en="side by side, then reshaped: the shape is right, but rows of different tiles alternate.",
                    zh="左右并排之后又 reshape：形状对了，但不同 tile 的行交错在一起。",
                ),
            ),
            Mistake(
                "order_reversed",
                "algebra",
                lambda q, k, b_r, softmax: np.vstack(parts(q, k, b_r, softmax)[::-1]),
                say(
                    en="the tiles are stacked in the wrong order; tile 1 belongs on top.",
                    zh="tile 叠放的顺序反了；第 1 个 tile 应当在最上面。",
                ),
            ),
            Mistake(
                "tail_dropped",
                "algebra",
                lambda q, k, b_r, softmax: np.vstack(parts(q, k, b_r, softmax, tail=False)),
                say(
                    en="the ragged tail is missing: the number of tiles was rounded down.",
                    zh="漏掉了尾块：tile 的个数向下取整了。",
                ),
            ),
            Mistake(
                "first_tile_only",
                "algebra",
                lambda q, k, b_r, softmax: parts(q, k, b_r, softmax)[0],
                say(
                    en="only the first tile is there. Does the function return inside its loop?",
                    zh="只有第一个 tile。函数是不是在循环里面就返回了？",
                ),
            ),
            Mistake(
                "last_tile_only",
                "algebra",
                lambda q, k, b_r, softmax: parts(q, k, b_r, softmax)[-1],
                say(
                    en="only the last tile is left: each one replaced the one before.",
                    zh="只剩下最后一个 tile：后一个覆盖了前一个。",
                ),
            ),
            Mistake(
                "scores_not_weights",
                "algebra",
                lambda q, k, b_r, softmax: q @ k.T,
                say(
                    en="these are the scores. Apply the softmax to each row tile.",
                    zh="这些是分数。要对每个行块应用 softmax。",
                ),
            ),
            Mistake(
                "not_tiled",
                "algebra",
                lambda q, k, b_r, softmax: softmax(q @ k.T),
                say(
                    en="all of S goes through softmax at once. Hand it one row tile, q[rows] @ k.T, at a time.",
                    zh="你把整个 S 一次交给了 softmax。每次只交一个行块 q[rows] @ k.T。",
                ),
            ),
            Mistake(
                "not_stacked",
                "algebra",
                parts,
                say(
                    en="this is a list of tiles. Put them together into one array, as rows.",
                    zh="这是一个装着各个 tile 的列表。要把它们按行拼成一个数组。",
                ),
            ),
            Mistake(
                "whole_numbers",
                "algebra",
                lambda q, k, b_r, softmax: np.vstack(parts(q, k, b_r, softmax)).astype(int),
                say(
                    en="the weights were written into an array of whole numbers, which cuts them off. Use one of floats.",
                    zh="权重写进了整数数组，小数部分被截掉了。要用浮点数组。",
                ),
            ),
            Mistake(
                "scaled",
                "algebra",
                lambda q, k, b_r, softmax: np.vstack(
                    parts(q / np.sqrt(q.shape[1]), k, b_r, softmax)
                ),
                say(
                    en="the scores are divided by √d. Lessons 01 to 05 leave that factor out.",
                    zh="你把分数除以了 √d。第 01 到 05 课不用这个因子。",
                ),
            ),
            Mistake(
                "keys_first",
                "algebra",
                lambda q, k, b_r, softmax: (
                    np.hstack([softmax(k @ q[r : r + b_r].T) for r in range(0, len(q), b_r)]).T
                ),
                say(
                    en="this softmax runs along the queries: K Qᵀ has the keys as rows. Take Q_i Kᵀ.",
                    zh="这样 softmax 是沿 query 做的：K Qᵀ 的行是 key。应当用 Q_i Kᵀ。",
                ),
            ),
            Mistake(
                "columns_cut",
                "algebra",
                lambda q, k, b_r, softmax: np.hstack(
                    [softmax(q @ k[c : c + b_r].T) for c in range(0, len(k), b_r)]
                ),
                say(
                    en="the keys are cut instead of the queries. A row tile is some rows of Q against all of K.",
                    zh="你切的是 key，而不是 query。行块是 Q 的若干行对整个 K。",
                ),
            ),
            Mistake(
                "keys_cut",
                "algebra",
                keys_cut,
                say(
                    en="the keys are cut too, so each piece of a row adds up to 1. Softmax needs whole rows.",
                    zh="你把 key 也切开了，所以一行里每一段的和都是 1。softmax 需要整行。",
                ),
            ),
            Mistake(
                "normalised_over_the_tile",
                "algebra",
                lambda q, k, b_r, softmax: np.vstack(
                    [
                        softmax((q[r : r + b_r] @ k.T).ravel()).reshape(-1, len(k))
                        for r in range(0, len(q), b_r)
                    ]
                ),
                say(
                    en="a whole tile adds up to 1. Softmax works on each row by itself.",
                    zh="整个 tile 的和是 1。softmax 要一行一行各自做。",
                ),
            ),
            Mistake(
                "wrong_axis",
                "algebra",
                lambda q, k, b_r, softmax: np.vstack(
                    parts(q, k, b_r, lambda s: np.transpose([softmax(column) for column in s.T]))
                ),
                say(
                    en="columns add up to 1. Softmax runs along the keys, the second axis.",
                    zh="每一列的和是 1。softmax 沿 key，也就是第二个轴计算。",
                ),
            ),
            Mistake(
                "k_not_transposed",
                "algebra",
                lambda q, k, b_r, softmax: np.vstack(
                    [softmax(q[r : r + b_r] @ k) for r in range(0, len(q), b_r)]
                ),
                say(
                    en="K is not transposed. A score is a row of Q times a row of K: q[rows] @ k.T.",
                    zh="K 没有转置。一个分数是 Q 的一行乘 K 的一行：q[rows] @ k.T。",
                ),
            ),
            Mistake(
                "own_softmax",
                "floats",
                lambda q, k, b_r, softmax: np.vstack(parts(q, k, b_r, plain_softmax)),
                say(
                    en="e^x without care overflows or becomes 0/0. Use the softmax that is given.",
                    zh="直接用 e^x 会上溢，或者变成 0/0。请用给定的 softmax。",
                ),
            ),
            Mistake(
                "softmax_not_used",
                "",
                lambda q, k, b_r, given: np.vstack(parts(q, k, b_r, softmax)),
                say(
                    en="the weights come from a softmax of your own. Hand each row tile to the one that is given.",
                    zh="这些权重来自你自己写的 softmax。请把每个行块交给给定的 softmax。",
                ),
            ),
            Mistake(
                "number_of_tiles",
                "algebra",
                lambda q, k, b_r, softmax: np.vstack(
                    [softmax(rows @ k.T) for rows in np.array_split(q, b_r)]
                ),
                say(
                    en="b_r is taken for the number of tiles. It is the rows of one tile: tiles(len(q), b_r).",
                    zh="你把 b_r 当成了 tile 的个数。它是一个 tile 的行数：tiles(len(q), b_r)。",
                ),
            ),
            Mistake(
                "tile_number_as_row",
                "algebra",
                lambda q, k, b_r, softmax: np.vstack(
                    [softmax(q[i : i + b_r] @ k.T) for i in range(-(-len(q) // b_r))]
                ),
                say(
                    en="the tiles overlap: tile i (from 0) starts at row i · b_r, not at row i.",
                    zh="tile 互相重叠了：第 i 个 tile（从 0 数起）从第 i · b_r 行开始，而不是第 i 行。",
                ),
            ),
            Mistake(
                "every_row_starts_a_tile",
                "algebra",
                lambda q, k, b_r, softmax: np.vstack(
                    [softmax(q[r : r + b_r] @ k.T) for r in range(len(q))]
                ),
                say(
                    en="a tile starts at every row. The starts are b_r rows apart: range(0, len(q), b_r).",
                    zh="每一行都开始了一个 tile。起点应当相隔 b_r 行：range(0, len(q), b_r)。",
                ),
            ),
            Mistake(
                "first_tile_repeated",
                "algebra",
                lambda q, k, b_r, softmax: np.vstack(
                    [softmax(q[:b_r] @ k.T) for _ in range(0, len(q), b_r)]
                ),
                say(
                    en="every tile is the first one. Use the loop's variable: q[rows].",
                    zh="每个 tile 都是第 1 个 tile。要用上循环变量：q[rows]。",
                ),
            ),
        ],
    )


def fits(b_r: int, n_k: int, d: int, b_c: int, budget: int) -> bool:
    """Say whether a tile of Q, a tile of K and a row tile of scores fit, in float32."""
    return 4 * (b_r * d + b_c * d + b_r * n_k) <= budget


@exercise
def largest_b_r() -> Exercise:
    """largest_b_r(n_k, d, b_c, budget): the tallest row tile that fits when K is streamed."""

    def case(n_k: int, d: int, b_c: int, budget: int, says: str, otherwise="") -> Case:
        b_r = max((b for b in range(1, budget) if fits(b, n_k, d, b_c, budget)), default=0)
        return Case(says, (n_k, d, b_c, budget), b_r, otherwise=otherwise)

    def formula(divide=lambda a, b: a // b, keys=lambda n_k, b_c: b_c, size=4):
        return lambda n_k, d, b_c, budget: max(
            0, divide(budget // size - keys(n_k, b_c) * d, d + n_k)
        )

    return Exercise(
        cases=[
            case(
                14,
                10,
                11,
                1640,  # chosen so that no two of the mistakes give the same answer
                say(en="14 keys on a chip of 410 numbers", zh="14 个 key，片上放得下 410 个数"),
                say(
                    en="By hand: what does each row of Q bring on chip, and what is there before the first? (None: no `return`.)",
                    zh="用笔算一算：Q 的每一行给片上带来多少个数？第一行之前片上已经有多少？（None 说明漏了 `return`。）",
                ),
            ),
            case(
                6, 4, 3, 208, say(en="tiles that fit to the last byte", zh="恰好放满，一个字节不剩")
            ),
            case(
                2,
                8,
                1,
                400,
                say(en="a tile taller than there are keys", zh="tile 的行数比 key 还多"),
                say(
                    en="The rows of a tile are queries: N_k does not limit them, only the room does.",
                    zh="tile 的行是 query：限制它们的不是 N_k，只是空间。",
                ),
            ),
            case(300, 64, 16, 101_376, say(en="300 keys, d = 64", zh="300 个 key，d = 64")),
            case(1456, 64, 16, 101_376, say(en="the second wall", zh="第二道墙")),
            case(3000, 64, 16, 10_000, say(en="too little for a single row", zh="连一行也放不下")),
            case(
                10,
                8,
                8,
                100,
                say(en="too little for the tile of K", zh="连 K 的 tile 都放不下"),
                say(
                    en="Not even the tile of K fits: the answer is 0.",
                    zh="连 K 的 tile 都放不下：答案是 0。",
                ),
            ),
        ],
        mistakes=[
            Mistake(
                "exact_fit_refused",
                "algebra",
                lambda n_k, d, b_c, budget: max(0, ((budget - 1) // 4 - b_c * d) // (d + n_k)),
                say(
                    en="a chip that is full to the last byte is allowed: at most budget, not less than it.",
                    zh="恰好放满也是允许的：不超过 budget 即可，不必小于它。",
                ),
            ),
            Mistake(
                "bytes_as_numbers",
                "algebra",
                formula(size=1),
                say(
                    en="the budget counts bytes, and a float32 number takes 4 of them.",
                    zh="budget 的单位是字节，一个 float32 数占 4 个字节。",
                ),
            ),
            Mistake(
                "k_resident",
                "algebra",
                formula(keys=lambda n_k, b_c: n_k),
                say(
                    en="this keeps all of K on chip. Streamed, only b_c rows of K are there.",
                    zh="这样算是把整个 K 留在片上。流式读取时，片上只有 K 的 b_c 行。",
                ),
            ),
            Mistake(
                "k_forgotten",
                "algebra",
                formula(keys=lambda n_k, b_c: 0),
                say(
                    en="the tile of K, b_c × d, needs room as well.",
                    zh="K 的 tile（b_c × d）也要占空间。",
                ),
            ),
            Mistake(
                "scores_forgotten",
                "algebra",
                lambda n_k, d, b_c, budget: max(0, (budget // 4 - b_c * d) // d),
                say(
                    en="the row tile of scores is missing: each row of Q brings N_k scores with it.",
                    zh="漏了行块的分数：Q 的每一行都带来 N_k 个分数。",
                ),
            ),
            Mistake(
                "scores_of_one_tile",
                "algebra",
                lambda n_k, d, b_c, budget: max(0, (budget // 4 - b_c * d) // (d + b_c)),
                say(
                    en="you keep scores of one key tile only. The whole row stays: b_r × n_k.",
                    zh="你只留了一个 key tile 的分数。整行都要留着：b_r × n_k。",
                ),
            ),
            Mistake(
                "q_forgotten",
                "algebra",
                lambda n_k, d, b_c, budget: max(0, (budget // 4 - b_c * d) // n_k),
                say(
                    en="the tile of Q, b_r × d, needs room as well.",
                    zh="Q 的 tile（b_r × d）也要占空间。",
                ),
            ),
            Mistake(
                "one_row_at_least",
                "algebra",
                lambda n_k, d, b_c, budget: max(1, (budget // 4 - b_c * d) // (d + n_k)),
                say(
                    en="one row does not always fit; then the answer is 0.",
                    zh="有时一行也放不下；这时答案是 0。",
                ),
            ),
            Mistake(
                "rounded_up",
                "algebra",
                formula(divide=lambda a, b: -(-a // b)),
                say(
                    en="one row too many: the last does not fit. Round down, or end the loop a row earlier.",
                    zh="多了一行：最后一行放不下。应当向下取整，或者让循环早一行停下。",
                ),
            ),
            Mistake(
                "not_whole",
                "algebra",
                formula(divide=lambda a, b: a / b),
                say(
                    en="a tile has a whole number of rows: // instead of /.",
                    zh="tile 的行数是整数：用 //，不用 /。",
                ),
            ),
            Mistake(
                "not_even_nothing",
                "algebra",
                lambda n_k, d, b_c, budget: (budget // 4 - b_c * d) // (d + n_k),
                say(
                    en="a negative number of rows: when not even the tile of K fits, the answer is 0.",
                    zh="行数成了负数：连 K 的 tile 都放不下时，答案是 0。",
                ),
            ),
        ],
    )


@exercise
def stacking() -> Exercise:
    """Four ways to stack two 2 × 6 products: the shape of each, and the errors no shape shows."""
    lines = {
        "a": (
            (4, 6),
            say(en="a: 2 + 2 rows of 6: this is S.", zh="a：2 + 2 行，每行 6 个：这就是 S。"),
        ),
        "b": (
            (2, 12),
            say(
                en="b: side by side, columns add up: 2 × (6 + 6). The shape gives it away.",
                zh="b：左右并排，列数相加：2 × (6 + 6)。看形状就能发现。",
            ),
        ),
        "c": (
            (4, 6),
            say(
                en="c: 24 numbers refilled row by row: the shape of S, with rows 1 and 2 exchanged.",
                zh="c：24 个数按行重新排：形状和 S 一样，但第 1 行和第 2 行换了位置。",
            ),
        ),
        "d": (
            (4, 6),
            say(
                en="d: the same rows as in a, the lower tile on top.",
                zh="d：行和 a 一样，只是下面的 tile 到了上面。",
            ),
        ),
        "unseen": (
            "cd",
            say(
                en="unseen: the lines that are wrong although their shape is that of S.",
                zh="unseen：形状和 S 一样、内容却错了的那几行。",
            ),
        ),
    }

    def use(answers, key):
        said = answers[key]
        if key != "unseen":  # "(4, 6)" and "4 × 6" say the same as (4, 6)
            return tuple(map(int, re.findall(r"\d+", said))) if isinstance(said, str) else said
        if not isinstance(said, str | list | tuple | set):
            return said
        words = " ".join(map(str, said)) if not isinstance(said, str) else said
        return "".join(sorted(set(re.findall("[a-z]", re.sub("and", "", words.lower())))))

    return Exercise(
        cases=[Case(why, (key,), truth, kind="") for key, (truth, why) in lines.items()],
        use=use,
        show_all=True,
    )


@exercise
def judge() -> Exercise:
    """Statements about row tiles and walls: True or False for each letter."""
    statements = {
        "a": (
            True,
            say(
                en="a: true. Each of its rows meets every key, and softmax asks for no other row.",
                zh="a：对。它的每一行都遇到全部 key，而 softmax 不需要别的行。",
            ),
        ),
        "b": (
            False,
            say(
                en="b: the row tile of scores still has N_k columns; the second wall stood at 1456.",
                zh="b：行块的分数仍有 N_k 列；第二道墙就在 1456。",
            ),
        ),
        "c": (
            True,
            say(
                en="c: true. Half as many rows bring half as many scores, so more keys fit.",
                zh="c：对。行数减半，分数也减半，于是放得下更多 key。",
            ),
        ),
        "d": (
            False,
            say(
                en="d: tiles in the wrong order, or a reshape, give the right shape and wrong rows.",
                zh="d：顺序错了，或者用了 reshape，形状都对，行却错了。",
            ),
        ),
        "e": (
            False,
            say(
                en="e: no cell measured a time. Correct algebra and counted bytes do not show speed.",
                zh="e：没有一个单元格测过时间。代数正确，字节也数对了，都不能说明速度。",
            ),
        ),
    }
    return Exercise(
        cases=[Case(why, (key,), truth, kind="") for key, (truth, why) in statements.items()],
        use=lambda answers, key: answers[key],
        show_all=True,
    )
