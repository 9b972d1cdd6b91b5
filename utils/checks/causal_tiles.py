"""Checks of lesson 07: the kind of a tile, one query tile under a causal mask, the alignment."""

import itertools

import numpy as np

from utils.attention import naive_attention
from utils.checks.causal_mistakes import tile_mistakes
from utils.checks.core import Case, Exercise, Mistake, exercise
from utils.language import say
from utils.memory import Memory
from utils.tiles import tiles, visible

SMALL = [  # every tile of every small map: the lesson's own kind of proof
    ((r_0, r_1), (c_0, c_1), offset)
    for r_0, c_0 in itertools.product(range(5), repeat=2)
    for r_1, c_1 in itertools.product(range(r_0 + 1, 6), range(c_0 + 1, 6))
    for offset in range(-4, 5)
]


def of_mask(rows, cols, offset) -> str:
    """The plain definition: look at every pair."""
    seen = visible(rows, cols, offset=offset)
    return "full" if seen.all() else "boundary" if seen.any() else "skip"


def by_corners(late: int = 0, early: int = 0, use_offset: bool = True):
    """Return the rule with its two comparisons moved by late and early."""

    def model(rows, cols, offset):
        (r_0, r_1), (c_0, c_1), offset = rows, cols, offset if use_offset else 0
        if c_0 > r_1 - 1 + offset + late:
            return "skip"
        return "full" if c_1 - 1 <= r_0 + offset + early else "boundary"

    return model


def other_sign(rows, cols, offset):
    return by_corners()(rows, cols, -offset)


def first_query_only(rows, cols, offset):
    """Judge the whole tile by its first query."""
    if cols[0] > rows[0] + offset:
        return "skip"
    return "full" if cols[1] - 1 <= rows[0] + offset else "boundary"


def last_query_only(rows, cols, offset):
    """Judge the whole tile by its last query."""
    if cols[0] > rows[1] - 1 + offset:
        return "skip"
    return "full" if cols[1] - 1 <= rows[1] - 1 + offset else "boundary"


def axes_swapped(rows, cols, offset):
    return by_corners()(cols, rows, offset)


def words_exchanged(rows, cols, offset):
    other = {"skip": "full", "full": "skip", "boundary": "boundary"}
    return other[by_corners()(rows, cols, offset)]


def full_by_first_key(rows, cols, offset):
    """Take the easiest key for the hardest."""
    kind = by_corners()(rows, cols, offset)
    return "full" if kind != "skip" and cols[0] <= rows[0] + offset else kind


def skip_by_last_key(rows, cols, offset):
    """Take the hardest key for the easiest."""
    return "skip" if cols[1] - 1 > rows[1] - 1 + offset else by_corners()(rows, cols, offset)


def offset_once(place: str):
    """Return the rule with the offset in one of its two comparisons only."""

    def model(rows, cols, offset):
        skip, full = (offset, 0) if place == "skip" else (0, offset)
        if cols[0] > rows[1] - 1 + skip:
            return "skip"
        return "full" if cols[1] - 1 <= rows[0] + full else "boundary"

    return model


class WrongWord(Exception):
    """The attempt returned a word that is none of the answers asked for."""


def word(answer, allowed: tuple[str, ...]):
    """Return the answer; raise WrongWord for a word that is not allowed."""
    if isinstance(answer, str) and answer not in allowed:
        words = ", ".join(f'"{name}"' for name in allowed)
        raise WrongWord(
            say(
                en=f"you returned {answer!r}. Return one of {words}, spelt like this.",
                zh=f"你返回了 {answer!r}。请返回 {words} 之一，写法要完全一样。",
            )
        )
    return answer


@exercise
def kind() -> Exercise:
    """kind(rows, cols, offset): "skip", "full" or "boundary"."""
    # in this order each typical mistake fails first where it alone gives its answer
    named = [
        ((0, 2), (0, 4), 0, say(en="wider than high", zh="宽大于高的 tile")),
        ((0, 3), (1, 3), 0, say(en="the first query sees nothing", zh="第一个 query 什么也看不见")),
        ((0, 3), (2, 4), 0, say(en="only one pair is visible", zh="只有一对可见")),
        ((0, 2), (4, 6), 0, say(en="far above the diagonal", zh="远在对角线以上的 tile")),
        ((0, 2), (2, 4), 0, say(en="a tile above the diagonal", zh="对角线以上的 tile")),
        ((2, 4), (0, 2), 0, say(en="a tile below the diagonal", zh="对角线以下的 tile")),
        ((0, 3), (0, 3), 0, say(en="a tile on the diagonal", zh="对角线上的 tile")),
        ((3, 5), (2, 4), 0, say(en="the diagonal touches a corner", zh="对角线碰到一个角")),
        ((2, 4), (1, 3), 1, say(en="one key more than queries", zh="key 比 query 多一个")),
        ((1, 3), (0, 2), -4, say(en="no query sees any key", zh="没有 query 看得见任何 key")),
        ((3, 5), (4, 6), 2, say(en="more keys than queries", zh="key 比 query 多")),
        ((3, 5), (0, 2), -3, say(en="more queries than keys", zh="query 比 key 多")),
    ]
    otherwise = say(
        en="Draw this tile on paper and mark c ≤ r + offset. Which pair is seen most easily, which least?",
        zh="把这个 tile 画在纸上，标出 c ≤ r + offset 的格子。哪一对最容易看见？哪一对最难？",
    )
    named += [(*args, say(en="one of all small tiles", zh="所有小 tile 之一")) for args in SMALL]
    return Exercise(
        cases=[Case(says, args, of_mask(*args), otherwise=otherwise) for *args, says in named],
        mistakes=kind_mistakes(),
        use=lambda attempt, *args: word(attempt(*args), ("skip", "full", "boundary")),
    )


def kind_mistakes() -> list[Mistake]:
    late = say(
        en="off by one at skip: r_1 is one past the last query, which is r_1 - 1.",
        zh="跳过的判断差一：r_1 是最后一个 query 再加一，最后一个 query 是 r_1 - 1。",
    )
    early = say(
        en="off by one at full: the last key is c_1 - 1, and a query sees the key of its own number.",
        zh="全可见的判断差一：最后一个 key 是 c_1 - 1，而 query 看得见与自己编号相同的 key。",
    )
    once = say(
        en="one of the two comparisons is right, the other lacks the offset or has its sign wrong."
        " Both are about c ≤ r + offset.",
        zh="两次比较里有一次对，另一次漏了偏移量，或者符号反了。两次说的都是 c ≤ r + offset。",
    )
    return [
        Mistake("skip_off_by_one", "algebra", by_corners(late=1), late),
        Mistake("skip_off_by_one", "algebra", by_corners(late=-1), late),
        Mistake("full_off_by_one", "algebra", by_corners(early=-1), early),
        Mistake("full_off_by_one", "algebra", by_corners(early=1), early),
        Mistake(
            "offset_ignored",
            "algebra",
            by_corners(use_offset=False),
            say(
                en="the offset is missing: this is top-left alignment, whatever the lengths.",
                zh="没有用到偏移量：这样不论长度如何都是左上对齐。",
            ),
        ),
        Mistake("offset_in_one_place", "algebra", offset_once("skip"), once),
        Mistake("offset_in_one_place", "algebra", offset_once("full"), once),
        Mistake(
            "offset_sign",
            "algebra",
            other_sign,
            say(
                en="the offset has the wrong sign: visible is c ≤ r + offset.",
                zh="偏移量的符号反了：可见的条件是 c ≤ r + offset。",
            ),
        ),
        Mistake(
            "first_query_only",
            "algebra",
            first_query_only,
            say(
                en="you skip by the first query. The last one sees most: skip when even it sees no key.",
                zh="你用第一个 query 判断跳过。最后一个 query 看得最多：连它都看不见，才能跳过。",
            ),
        ),
        Mistake(
            "last_query_only",
            "algebra",
            last_query_only,
            say(
                en="you decide on full by the last query. The first one sees least.",
                zh="你用最后一个 query 判断全可见。第一个 query 看得最少。",
            ),
        ),
        Mistake(
            "full_by_first_key",
            "algebra",
            full_by_first_key,
            say(
                en="you decide on full by the first key, c_0. The last one, c_1 - 1, is the hardest to see.",
                zh="你用第一个 key（c_0）判断全可见。最难看见的是最后一个，c_1 - 1。",
            ),
        ),
        Mistake(
            "skip_by_last_key",
            "algebra",
            skip_by_last_key,
            say(
                en="you skip by the last key. The first one, c_0, is the easiest to see: skip when even it is hidden.",
                zh="你用最后一个 key 判断跳过。第一个（c_0）最容易看见：连它都被遮住，才能跳过。",
            ),
        ),
        Mistake(
            "words_exchanged",
            "algebra",
            words_exchanged,
            say(
                en='"skip" and "full" are exchanged: skip is a tile of which nothing is visible.',
                zh='"skip" 和 "full" 写反了：skip 是一点也看不见的 tile。',
            ),
        ),
        Mistake(
            "axes_swapped",
            "algebra",
            axes_swapped,
            say(
                en="queries and keys are exchanged: this is the triangle above the diagonal.",
                zh="query 和 key 弄反了：这是对角线以上的三角形。",
            ),
        ),
    ]


def plainly(q_i, r_0, k, v, offset, scale=1.0):
    """Return O_i and L_i by the definition: each row attends to its own visible keys."""
    outs = []
    for r, row in enumerate(q_i, start=r_0):
        seen = min(len(k), max(0, r + offset + 1))
        outs.append(naive_attention(row[None], k[:seen], v[:seen], scale=scale))
    return np.concatenate([o for o, _ in outs]), np.concatenate([l for _, l in outs])


class ReadInVain(Exception):
    """The attempt read keys or values that none of its queries sees."""


def counted(attempt, q_i, r_0, k, v, b_c, offset):
    """Use an attempt on counted memory; raise ReadInVain when it visits hidden tiles."""
    memory = Memory(log=False)
    K, V = memory.slow("K", k), memory.slow("V", v)
    result = attempt(q_i, r_0, K, V, b_c, offset)
    last = r_0 + len(q_i) - 1 + offset  # the last key that some query of the tile sees
    keys = sum(cols.stop - cols.start for cols in tiles(len(k), b_c) if cols.start <= last)
    vain = memory.traffic - 4 * keys * (k.shape[1] + v.shape[1])
    if vain > 0:
        raise ReadInVain(
            say(
                en=f"{vain} bytes too many: you read tiles of which none of your queries sees a key."
                " Decide from the bounds, before k[cols] and v[cols].",
                zh=f"多读了 {vain} 字节：有些 tile 里没有一个 key 是这些 query 看得见的，你也读了。"
                "要先看边界再决定，然后才写 k[cols] 和 v[cols]。",
            )
        )
    return result


@exercise
def causal_tile() -> Exercise:
    """causal_tile(q_i, r_0, k, v, b_c, offset): one query tile, hidden tiles left alone."""
    otherwise = say(
        en="Return two arrays, O (rows, d_v) and L (rows,). Which row is wrong, and which keys may it see?",
        zh="要返回两个数组：O (rows, d_v) 和 L (rows,)。哪一行不对？它可以看见哪些 key？",
    )

    def case(rows, r_0, keys, b_c, offset, says, *, low=0.0, last=0.0, kind="algebra") -> Case:
        r, c = np.indices((rows, keys))
        scores = (3 * r * c + c * c + 2 * r) % 7 + low + last * (c == keys - 1)
        f, c = np.indices((2, keys))  # d_v = 2 is not d: a mix-up shows
        k, v = scores.T.astype(float), ((c.T * (f.T + 3) + 2 * f.T) % 5).astype(float)
        q_i = np.eye(rows)
        expected = plainly(q_i, r_0, k, v, offset)
        return Case(says, (q_i, r_0, k, v, b_c, offset), expected, kind, 1e-9, otherwise)

    return Exercise(
        use=counted,
        cases=[
            case(3, 0, 3, 3, 0, say(en="one tile on the diagonal", zh="对角线上的一个 tile")),
            case(3, 4, 10, 2, 0, say(en="full, boundary, hidden", zh="全可见、边界块、被遮住")),
            case(2, 1, 6, 2, 1, say(en="more keys than queries", zh="key 比 query 多")),
            case(3, 2, 9, 3, -1, say(en="two boundary tiles", zh="两个边界块")),
            case(4, 3, 7, 3, 0, say(en="a ragged tail", zh="有尾块")),
            case(1, 4, 9, 2, 4, say(en="decode of one token", zh="解码一个 token")),
            case(
                3,
                2,
                7,
                2,
                0,
                say(en="all scores near -20 billion", zh="所有分数都在 -200 亿附近"),
                low=-2e10,
                kind="floats",
            ),
            case(
                3,
                2,
                5,
                3,
                0,
                say(
                    en="a huge score that two rows may not see", zh="有一个极大的分数，两行都不可见"
                ),
                last=1e4,
                kind="floats",
            ),
            case(
                3,
                1,
                2,
                1,
                -2,
                say(en="the first row of the tile sees no key", zh="tile 的第一行看不见任何 key"),
                kind="floats",
            ),
            case(
                2,
                0,
                2,
                2,
                -3,
                say(en="no row of the tile sees any key", zh="整个 tile 没有一行看得见 key"),
                kind="floats",
            ),
        ],
        mistakes=tile_mistakes(),
    )


def masked_attention(name: str, empty: float = 0.0):
    """Return an attention, scale 1/√d, with a mask of that alignment; rows without a key: `empty`.

    Neither its name nor what it remembers says which: it has to be asked.
    """
    last = {
        "top-left": lambda n_q, n_k: 0,
        "bottom-right": lambda n_q, n_k: n_k - n_q,
        "none": lambda n_q, n_k: n_k,
    }[name]

    def attend(q, k, v):
        q, k, v = (np.asarray(x, dtype=float) for x in (q, k, v))
        scale = 1 / np.sqrt(q.shape[-1])
        out, lse = plainly(q, 0, k, v, last(len(q), len(k)), scale)
        out[lse == -np.inf] = empty
        return out

    return attend


def weights(attend, n_q, n_k):
    """With equal scores and V = 1 the output is P."""
    return np.asarray(attend(np.zeros((n_q, 4)), np.zeros((n_k, 4)), np.eye(n_k)))


def by_square(guess: str):
    """Ask with as many queries as keys: no mask can be told, the two alignments cannot."""
    return lambda attend: guess if (weights(attend, 3, 3)[0] > 0).sum() == 1 else "none"


def by_one_query(guess: str):
    """Ask with one query: top-left can be told, bottom-right and no mask cannot."""
    return lambda attend: "top-left" if (weights(attend, 1, 3)[0] > 0).sum() == 1 else guess


def by_empty_row(attend):
    """Take a row of zeros for the sign of bottom-right alignment: the row may also be NaN."""
    first = weights(attend, 5, 2)[0]
    if (first == 0).all():
        return "bottom-right"
    return "none" if (first > 0).all() else "top-left"


def corners_exchanged(attend):
    seen = int((weights(attend, 2, 3)[0] > 0).sum())
    return {1: "bottom-right", 2: "top-left", 3: "none"}[seen]


@exercise
def alignment() -> Exercise:
    """alignment(attend): "top-left", "bottom-right" or "none", for three programs in turn.

    One case asks about all three: a single answer would not tell the mistakes apart.
    """
    square = say(
        en="with as many queries as keys both alignments are the same triangle. Ask with"
        " N_q ≠ N_k.",
        zh="query 和 key 一样多时，两种对齐是同一个三角形。要用 N_q ≠ N_k 来问。",
    )
    one = say(
        en="bottom-right and no mask look the same to the last query, which sees all keys; a single"
        " query is the last. Ask with two or more, and look at the first: it sees all without a mask only.",
        zh="右下对齐和没有掩码，在最后一个 query 看来是一样的：它都看得见所有 key；只有一个 query 时，它就是最后一个。"
        "要用两个或更多的 query 来问，并看第一个：只有没有掩码时它才看得见全部。",
    )
    nan = say(
        en="a row without a key may be NaN, and NaN == 0 is False. Count the weights that are > 0.",
        zh="没有 key 的行可能是 NaN，而 NaN == 0 为 False。请数大于 0 的权重。",
    )
    swapped = say(
        en="the corners are exchanged. Top-left: query 0 sees key 0 alone, whatever N_k is.",
        zh="两个角弄反了。左上对齐时，不论 N_k 多大，query 0 都只看得见 key 0。",
    )
    models = [
        ("square_probe", by_square("top-left"), square),
        ("square_probe", by_square("bottom-right"), square),
        ("one_query_probe", by_one_query("bottom-right"), one),
        ("one_query_probe", by_one_query("none"), one),
        ("nan_not_expected", by_empty_row, nan),
        ("corners_exchanged", corners_exchanged, swapped),
    ]
    names = ("top-left", "bottom-right", "none")
    cases = [
        (names, 0.0, say(en="asked about three programs in turn", zh="依次问三个程序")),
        (
            (names[2], *names[:2]),
            np.nan,
            say(
                en="the same in another order, NaN in rows without a key",
                zh="同上，换了次序，没有 key 的行是 NaN",
            ),
        ),
    ]
    otherwise = say(
        en="Three programs, three answers. What does query 0 see in each of the four masks that were printed?",
        zh="三个程序，三个答案。在前面打印的四种掩码里，query 0 各看得见什么？",
    )

    def ask(attempt, *programs):
        answers = [word(attempt(attend), names) for attend in programs]
        return None if answers == [None] * len(programs) else answers

    return Exercise(
        use=ask,
        cases=[
            Case(
                says,
                tuple(masked_attention(name, empty) for name in order),
                list(order),
                otherwise=otherwise,
                call="[alignment(attend) for attend in three_programs]",
            )
            for order, empty, says in cases
        ],
        mistakes=[Mistake(key, "algebra", model, says) for key, model, says in models],
    )


@exercise
def judge() -> Exercise:
    """Statements about causal tiles: True or False for each letter."""
    statements = {
        "a": (
            True,
            say(
                en="a: true. classify compares tile bounds and the offset, nothing else.",
                zh="a：对。classify 只比较 tile 的边界和偏移量。",
            ),
        ),
        "b": (
            False,
            say(
                en="b: the terms left out are exactly 0; with and without skipping, the same bits.",
                zh="b：跳过的项恰好等于 0；跳过与不跳过，结果逐位相同。",
            ),
        ),
        "c": (
            False,
            say(
                en="c: when N doubles, the visible pairs grow about fourfold.",
                zh="c：N 加倍，可见的配对大约变成四倍。",
            ),
        ),
        "d": (
            False,
            say(
                en="d: with K and V in the outer loop skipping saved bytes as well.",
                zh="d：K 和 V 在外层循环时，跳过同样省了字节。",
            ),
        ),
        "e": (
            False,
            say(
                en="e: for N_q = N_k both alignments have δ = 0.",
                zh="e：N_q = N_k 时，两种对齐的 δ 都是 0。",
            ),
        ),
        "f": (
            True,
            say(
                en="f: true. δ = N_k − 1, so query 0 sees keys 0 … N_k − 1: all.",
                zh="f：对。δ = N_k − 1，所以第 0 个 query 看得见第 0 到 N_k − 1 个 key：全部。",
            ),
        ),
    }
    return Exercise(
        cases=[Case(why, (key,), truth, kind="") for key, (truth, why) in statements.items()],
        use=lambda answers, key: answers[key],
        show_all=True,
    )
