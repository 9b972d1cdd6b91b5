"""Checks of lesson 01: tile bounds, scores assembled from tiles, a cut through the features."""

import numpy as np

from utils import variant
from utils.checks.core import Case, Exercise, Mistake, exercise
from utils.language import say


def integers(rows: int, columns: int, shift: int) -> np.ndarray:
    """A small integer matrix without symmetry: no two rows or columns are alike."""
    r, c = np.indices((rows, columns))
    shift += variant.draw("numbers", 0, 1, 2, 3, 4)
    return (r * r + 3 * r * c + 5 * c + shift) % 7 - 2


class Watched(np.ndarray):
    """An array that notes the shapes of the products it takes part in; so do its slices."""

    products: list[tuple] = []

    def __deepcopy__(self, memo):
        return self.copy()  # NumPy's own would drop the subclass

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(x) for x in inputs]
        if ufunc is np.matmul:
            Watched.products.append((plain[0].shape, plain[1].shape))
        if "out" in options:
            options["out"] = tuple(np.asarray(x) for x in options["out"])
        return getattr(ufunc, method)(*plain, **options)


def largest_product(attempt, q, k, *sizes):
    """Use an attempt; with watched arrays return the largest n, d, m of its (n, d) @ (d, m)."""
    Watched.products.clear()
    result = attempt(q, k, *sizes)
    if not isinstance(q, Watched):
        return result
    if not Watched.products:  # einsum and the like are not seen: believe them
        return (sizes[0], q.shape[1], sizes[1]) if len(sizes) == 2 else (len(q), sizes[0], len(k))
    shapes = [(left[0], left[1], right[1]) for left, right in Watched.products]
    return tuple(max(lengths) for lengths in zip(*shapes, strict=True))


def size_note() -> str:
    return say(
        en="S is right; only the size of one multiplication is not. Compare the three numbers.",
        zh="S 是对的，只是一次乘法的大小不对。请逐个比较这三个数。",
    )


def watched(rows: int, columns: int, shift: int) -> np.ndarray:
    return integers(rows, columns, shift).view(Watched)


@exercise
def bounds() -> Exercise:
    """bounds(n, b): the (start, stop) of every tile of b rows, the last one ragged."""

    def case(n: int, b: int, says: str, otherwise: str = "") -> Case:
        expected = [(start, min(start + b, n)) for start in range(0, n, b)]
        return Case(says, (n, b), expected, otherwise=otherwise)

    n, b = variant.draw("rows and tile", (11, 4), (13, 5), (14, 4), (17, 6))
    uneven = say(en=f"{n} rows in tiles of {b}", zh=f"{n} 行，每个 tile {b} 行")
    return Exercise(
        cases=[
            case(4, 2, say(en="4 rows in tiles of 2", zh="4 行，每个 tile 2 行")),
            case(3, 2, say(en="3 rows in tiles of 2", zh="3 行，每个 tile 2 行")),
            case(7, 3, say(en="7 rows in tiles of 3", zh="7 行，每个 tile 3 行")),
            case(n, b, uneven),
            case(2, 5, say(en="a tile taller than the matrix", zh="tile 比矩阵还高")),
            case(0, 3, say(en="no rows at all", zh="一行也没有")),
        ],
        mistakes=[
            Mistake(
                "slices",
                "",
                lambda n, b: [slice(start, min(start + b, n)) for start in range(0, n, b)],
                say(
                    en="the numbers are right, but each entry should be a tuple (start, stop), not a slice.",
                    zh="数都对，但每一项应是元组 (start, stop)，不是 slice。",
                ),
            ),
            Mistake(
                "floor_for_ceil",
                "algebra",
                lambda n, b: [(i * b, (i + 1) * b) for i in range(n // b)],
                say(
                    en="n // b rounds down, so the ragged tail is dropped. Round up: ceil(n / b).",
                    zh="n // b 向下取整，尾块丢了。应当向上取整：ceil(n / b)。",
                ),
            ),
            Mistake(
                "tail_not_clipped",
                "algebra",
                lambda n, b: [(start, start + b) for start in range(0, n, b)],
                say(
                    en="the last tile runs past row n. Its stop is min(start + b, n).",
                    zh="最后一个 tile 越过了第 n 行。它的终点是 min(start + b, n)。",
                ),
            ),
            Mistake(
                "one_tile_too_many",
                "algebra",
                lambda n, b: [(i * b, min((i + 1) * b, n)) for i in range(n // b + 1)],
                say(
                    en="n // b + 1 counts one tile too many when b divides n.",
                    zh="当 b 整除 n 时，n // b + 1 多算了一个 tile。",
                ),
            ),
            Mistake(
                "stop_inclusive",
                "algebra",
                lambda n, b: [(start, min(start + b, n) - 1) for start in range(0, n, b)],
                say(
                    en="your stop is the last row itself. Python ranges are half-open: stop is one past it.",
                    zh="你的终点是最后一行本身。Python 的区间左闭右开：终点要再加一。",
                ),
            ),
            Mistake(
                "equal_parts",
                "algebra",
                lambda n, b: [
                    (int(part[0]), int(part[-1]) + 1)
                    for part in np.array_split(np.arange(n), max(1, -(-n // b)))
                    if part.size
                ],
                say(
                    en="you made the tiles equal. Every tile but the last has exactly b rows.",
                    zh="你把各个 tile 分得一样大了。除最后一个以外，每个 tile 都恰好有 b 行。",
                ),
            ),
        ],
    )


def assembled(q, k, b_r, b_c, product, place=lambda i, j: (i, j), tail=True):
    """Loop over tiles the way a learner would, with one thing to get wrong in each argument."""
    n_q, n_k = len(q), len(k)
    scores = np.zeros((n_q, n_k))
    row_stop, column_stop = (n_q, n_k) if tail else (n_q // b_r * b_r, n_k // b_c * b_c)
    for r in range(0, row_stop, b_r):
        for c in range(0, column_stop, b_c):
            rows, columns = place(slice(r, min(r + b_r, n_q)), slice(c, min(c + b_c, n_k)))
            scores[rows, columns] = product(
                q, k, slice(r, min(r + b_r, n_q)), slice(c, min(c + b_c, n_k))
            )
    return scores


@exercise
def assemble() -> Exercise:
    """assemble(q, k, b_r, b_c): all of S = Q Kᵀ, written tile by tile."""

    def right(q, k, rows, columns):
        return q[rows] @ k[columns].T

    def case(n_q: int, n_k: int, d: int, b_r: int, b_c: int, says: str, otherwise="") -> Case:
        q, k = integers(n_q, d, 1), integers(n_k, d, 4)
        return Case(says, (q, k, b_r, b_c), q @ k.T, otherwise=otherwise)

    look_at_tail = say(
        en="Whole tiles are right; only ragged ones are wrong. Look at the last row and column tile.",
        zh="完整的 tile 都对，只有尾块不对。看看最后一行和最后一列的 tile。",
    )
    return Exercise(
        use=largest_product,
        cases=[
            case(
                4, 4, 2, 2, 2, say(en="4 queries, 4 keys, d = 2", zh="4 个 query，4 个 key，d = 2")
            ),
            case(
                4, 6, 3, 2, 2, say(en="4 queries, 6 keys, d = 3", zh="4 个 query，6 个 key，d = 3")
            ),
            case(4, 6, 3, 2, 3, say(en="tiles of 2 × 3", zh="2 × 3 的 tile")),
            case(3, 4, 3, 2, 2, say(en="a ragged row tile", zh="行方向有尾块"), look_at_tail),
            case(7, 5, 3, 3, 2, say(en="ragged both ways", zh="两个方向都有尾块"), look_at_tail),
            Case(
                say(
                    en="the largest product that you take, (rows of q, d, rows of k)",
                    zh="你做的最大一次乘法（q 的行数，d，k 的行数）",
                ),
                (watched(7, 3, 1), watched(5, 3, 4), 3, 2),
                (3, 3, 2),
                kind="",
                otherwise=size_note(),
            ),
        ],
        mistakes=[
            Mistake(
                "k_not_transposed",
                "algebra",
                lambda q, k, b_r, b_c: assembled(q, k, b_r, b_c, lambda q, k, r, c: q[r] @ k[c]),
                say(
                    en="the K tile is not transposed. A score is a row of Q times a row of K: Q_i K_jᵀ.",
                    zh="K 块没有转置。一个分数是 Q 的一行乘 K 的一行：Q_i K_jᵀ。",
                ),
            ),
            Mistake(
                "tiles_swapped",
                "algebra",
                lambda q, k, b_r, b_c: assembled(q, k, b_r, b_c, right, lambda i, j: (j, i)),
                say(
                    en="tile (i, j) landed in place (j, i). Rows of S come from Q, columns from K.",
                    zh="tile (i, j) 放到了 (j, i) 的位置。S 的行来自 Q，列来自 K。",
                ),
            ),
            Mistake(
                "keys_first",
                "algebra",
                lambda q, k, b_r, b_c: k @ q.T,
                say(
                    en="this is K Qᵀ. The first axis of S counts queries, the second counts keys.",
                    zh="这是 K Qᵀ。S 的第一个轴对应 query，第二个轴对应 key。",
                ),
            ),
            Mistake(
                "k_cut_by_columns",
                "algebra",
                lambda q, k, b_r, b_c: assembled(
                    q, k, b_r, b_c, lambda q, k, r, c: q[r] @ k[:, c].T
                ),
                say(
                    en="K is cut by columns, which cuts the features d. Key tiles are rows: k[cols].",
                    zh="你按列切了 K，切到的是特征 d。key 的 tile 是若干行：k[cols]。",
                ),
            ),
            Mistake(
                "whole_product",
                "",
                lambda q, k, b_r, b_c: q @ k.T,
                say(
                    en="S is right, but it was multiplied in one piece. Multiply b_r rows of q by b_c rows of k at a time.",
                    zh="S 是对的，但它是整个一次乘出来的。每次只用 b_r 行 q 乘 b_c 行 k。",
                ),
            ),
            Mistake(
                "sizes_swapped",
                "",
                lambda q, k, b_r, b_c: assembled(q, k, b_c, b_r, right),
                say(
                    en="b_r and b_c are swapped: query tiles have b_r rows, key tiles b_c.",
                    zh="b_r 和 b_c 用反了：query tile 有 b_r 行，key tile 有 b_c 行。",
                ),
            ),
            Mistake(
                "tail_dropped",
                "algebra",
                lambda q, k, b_r, b_c: assembled(q, k, b_r, b_c, right, tail=False),
                say(
                    en="the ragged tail is never computed: the number of tiles was rounded down.",
                    zh="尾块根本没有算：tile 的个数向下取整了。",
                ),
            ),
        ],
    )


@exercise
def split_features() -> Exercise:
    """split_features(q, k, b_d): S from pieces of the feature axis d."""

    def pieces(q, k, b_d):
        d = q.shape[1]
        return [q[:, f : f + b_d] @ k[:, f : f + b_d].T for f in range(0, d, b_d)]

    def case(d: int, b_d: int, says: str) -> Case:
        q, k = integers(2, d, 1), integers(3, d, 4)
        return Case(says, (q, k, b_d), q @ k.T)

    return Exercise(
        use=largest_product,
        cases=[
            case(2, 2, say(en="one piece holds all of d", zh="一段就包含全部 d")),
            case(4, 2, say(en="d = 4 in pieces of 2", zh="d = 4，每段 2 个特征")),
            case(
                5,
                2,
                say(
                    en="d = 5 in pieces of 2, the last ragged", zh="d = 5，每段 2 个特征，末段不满"
                ),
            ),
            Case(
                say(
                    en="the largest product that you take, (rows of q, features, rows of k)",
                    zh="你做的最大一次乘法（q 的行数，特征数，k 的行数）",
                ),
                (watched(4, 6, 1), watched(5, 6, 4), 2),
                (4, 2, 5),
                kind="",
                otherwise=size_note(),
            ),
        ],
        mistakes=[
            Mistake(
                "whole_product",
                "",
                lambda q, k, b_d: q @ k.T,
                say(
                    en="S is right, but it was multiplied in one piece. Take b_d features at a time.",
                    zh="S 是对的，但它是整个一次乘出来的。每次只取 b_d 个特征。",
                ),
            ),
            Mistake(
                "last_piece_only",
                "algebra",
                lambda q, k, b_d: pieces(q, k, b_d)[-1],
                say(
                    en="only the last piece is left: each piece overwrote the one before. Add them (+=).",
                    zh="只剩下最后一段：每一段都覆盖了前一段。应当相加（+=）。",
                ),
            ),
            Mistake(
                "first_piece_only",
                "algebra",
                lambda q, k, b_d: pieces(q, k, b_d)[0],
                say(
                    en="only the first piece is there. Does the function return inside its loop?",
                    zh="只有第一段。函数是不是在循环里面就返回了？",
                ),
            ),
            Mistake(
                "tail_dropped",
                "algebra",
                lambda q, k, b_d: sum(pieces(q, k, b_d)[: q.shape[1] // b_d]),
                say(
                    en="the last, shorter piece of the features is missing.",
                    zh="漏掉了特征轴上较短的最后一段。",
                ),
            ),
            Mistake(
                "pieces_averaged",
                "algebra",
                lambda q, k, b_d: np.mean(pieces(q, k, b_d), axis=0),
                say(
                    en="the pieces are averaged. A score is the sum of all d products, so add them.",
                    zh="你对各段取了平均。分数是全部 d 个乘积之和，应当相加。",
                ),
            ),
            Mistake(
                "pieces_stacked",
                "algebra",
                lambda q, k, b_d: np.hstack(pieces(q, k, b_d)),
                say(
                    en="the pieces are stacked. Each is a full N_q × N_k matrix of partial sums: add them.",
                    zh="你把各段拼了起来。每一段都是完整的 N_q × N_k 部分和矩阵：应当相加。",
                ),
            ),
        ],
    )


@exercise
def judge() -> Exercise:
    """Statements about tiles: True or False for each letter."""
    statements = {
        "a": (
            False,
            say(
                en="a: Q_2 is the second tile, so it may hold many tokens.",
                zh="a：Q_2 是第二个 tile，里面可以有很多 token。",
            ),
        ),
        "b": (
            False,
            say(
                en="b: tile S_ij needs the rows of K_j alone; the cell with NaN showed it.",
                zh="b：tile S_ij 只需要 K_j 的那些行；填 NaN 的单元格已经演示过。",
            ),
        ),
        "c": (
            True,
            say(
                en="c: this is true. Equal as real numbers; the library may add the d terms in another order.",
                zh="c：这句话是对的，应填 True。按实数算是相等的；但库可能用另一种顺序把 d 项相加。",
            ),
        ),
        "d": (
            False,
            say(
                en="d: softmax needs a whole row of S and a tile sees a part of it. That is lesson 04.",
                zh="d：softmax 需要 S 的一整行，而一个 tile 只看到其中一段。这是第 04 课的内容。",
            ),
        ),
        "e": (
            False,
            say(
                en="e: all N_q·N_k scores are still computed, each from the same d products.",
                zh="e：N_q·N_k 个分数一个不少，每个仍由同样的 d 个乘积得到。",
            ),
        ),
    }
    return Exercise(
        cases=[Case(why, (key,), truth, kind="") for key, (truth, why) in statements.items()],
        use=lambda answers, key: answers[key],
        show_all=True,
    )
