"""Checks of lesson 09: bytes of a layer's scores, S against the KV cache, rulers, statements."""

import math

from utils.checks.core import Case, Exercise, Mistake, exercise
from utils.language import say

UNITS = [base**power for base in (1000, 1024) for power in (1, 2, 3, 4)]
OTHER_UNIT = {
    "en": "this is kB, MB, GB or TB, or their cousins of 1024. Return bytes.",
    "zh": "这是 kB、MB、GB、TB，或以 1024 为底的同类单位。请返回字节数。",
}
FIXED_SIZE = {
    "en": "you take 2, 4 or 8 bytes an element for granted. How many there are, itemsize says.",
    "zh": "你默认每个元素是 2、4 或 8 字节。每个元素几字节，由 itemsize 给出。",
}


def in_units(size: int):
    return lambda n_q, n_k, d, heads, batch, itemsize: n_q * n_k * heads * batch * itemsize / size


def of_fixed_size(size: int):
    return lambda n_q, n_k, d, heads, batch, itemsize: n_q * n_k * heads * batch * size


@exercise
def layer_bytes() -> Exercise:
    """layer_bytes(n_q, n_k, d, heads, batch, itemsize): all score matrices of one layer."""

    otherwise = say(
        en="Return one number of bytes. First one head of one sequence: how many entries has its S?",
        zh="返回一个数，即字节数。先看一个序列的一个头：它的 S 有多少个元素？",
    )

    def case(n_q, n_k, d, heads, batch, itemsize, says: str) -> Case:
        scores = [[0] * n_k] * n_q  # one head's S, to be counted entry by entry
        expected = sum(itemsize * len(row) for _ in range(batch * heads) for row in scores)
        args = (n_q, n_k, d, heads, batch, itemsize)
        return Case(says, args, expected, otherwise=otherwise)

    def wrong(key: str, model, **texts: str) -> Mistake:
        return Mistake(key, "algebra", model, say(**texts))

    return Exercise(
        cases=[
            # 6 bytes: no dtype has them, so 2, 4 or 8 bytes taken for granted are neither half nor double
            case(3, 11, 7, 5, 13, 6, say(en="3 queries, 11 keys", zh="3 个 query，11 个 key")),
            case(6, 6, 4, 1, 1, 2, say(en="one head, one sequence", zh="一个头，一个序列")),
            case(1, 9, 8, 2, 3, 2, say(en="one query: decode", zh="一个 query：decode")),
            case(512, 512, 64, 4, 2, 1, say(en="one byte an element", zh="每个元素一字节")),
        ],
        mistakes=[
            wrong(
                "heads_forgotten",
                lambda n_q, n_k, d, heads, batch, itemsize: n_q * n_k * batch * itemsize,
                en="the heads are missing: each head has a score matrix of its own.",
                zh="漏了头数：每个头都有自己的分数矩阵。",
            ),
            wrong(
                "batch_forgotten",
                lambda n_q, n_k, d, heads, batch, itemsize: n_q * n_k * heads * itemsize,
                en="the batch is missing: each sequence has score matrices of its own.",
                zh="漏了 batch：每个序列都有自己的分数矩阵。",
            ),
            wrong(
                "one_head",
                lambda n_q, n_k, d, heads, batch, itemsize: n_q * n_k * itemsize,
                en="this is one head of one sequence. Multiply by heads and by batch.",
                zh="这是一个序列的一个头。还要乘以头数和 batch。",
            ),
            wrong(
                "elements",
                lambda n_q, n_k, d, heads, batch, itemsize: n_q * n_k * heads * batch,
                en="these are elements. Each takes itemsize bytes.",
                zh="这是元素个数。每个元素要 itemsize 字节。",
            ),
            wrong(
                "with_d",
                lambda n_q, n_k, d, heads, batch, itemsize: (
                    n_q * n_k * d * heads * batch * itemsize
                ),
                en="d is in it. The d products behind a score are summed: one number is stored, whatever d is.",
                zh="你乘了 d。一个分数背后的 d 个乘积已经加了起来：不管 d 是多少，存的只有一个数。",
            ),
            wrong(
                "features_not_keys",
                lambda n_q, n_k, d, heads, batch, itemsize: n_q * d * heads * batch * itemsize,
                en="N_q · d is the size of Q. S has a row for each query and a column for each key.",
                zh="N_q · d 是 Q 的大小。S 的一行对应一个 query，一列对应一个 key。",
            ),
            wrong(
                "queries_squared",
                lambda n_q, n_k, d, heads, batch, itemsize: n_q**2 * heads * batch * itemsize,
                en="N_q squared: the columns of S belong to the keys, N_k of them.",
                zh="你用了 N_q 的平方：S 的列对应 key，一共 N_k 列。",
            ),
            wrong(
                "keys_squared",
                lambda n_q, n_k, d, heads, batch, itemsize: n_k**2 * heads * batch * itemsize,
                en="N_k squared: the rows of S belong to the queries, N_q of them.",
                zh="你用了 N_k 的平方：S 的行对应 query，一共 N_q 行。",
            ),
            wrong(
                "bits",
                lambda n_q, n_k, d, heads, batch, itemsize: (
                    8 * n_q * n_k * heads * batch * itemsize
                ),
                en="eight times too much: itemsize counts bytes already, not bits.",
                zh="大了八倍：itemsize 已经是字节，不是比特。",
            ),
            wrong(
                "s_and_p",
                lambda n_q, n_k, d, heads, batch, itemsize: (
                    2 * n_q * n_k * heads * batch * itemsize
                ),
                en="twice too much: the task asks for S alone, without P.",
                zh="多了一倍：问的只是 S，不包括 P。",
            ),
            wrong(
                "half",
                lambda n_q, n_k, d, heads, batch, itemsize: (
                    n_q * n_k * heads * batch * itemsize / 2
                ),
                en="half is missing: no mask was mentioned, and S written out whole has its hidden entries too.",
                zh="少了一半：这里没有说到掩码，而且完整写出的 S 也包括被遮住的元素。",
            ),
            *(wrong("other_unit", in_units(size), **OTHER_UNIT) for size in UNITS),
            *(wrong("itemsize_fixed", of_fixed_size(size), **FIXED_SIZE) for size in (2, 4, 8)),
        ],
    )


ROUNDED = {
    "en": "rounded: here the two are equal between two whole numbers. Divide with / and leave it at that.",
    "zh": "你取整了：这里相等的地方在两个整数之间。用 / 来除，不要取整。",
}


def rounded_models():
    """Return equal_n rounded down, up, and to the nearest whole number."""
    return [
        lambda d, h_q, h_kv, layers, rule=rule: rule(2 * layers * h_kv * d / h_q)
        for rule in (math.floor, math.ceil, round)
    ]


@exercise
def equal_n() -> Exercise:
    """equal_n(d, h_q, h_kv, layers): where S of one layer has the elements of the KV cache."""

    otherwise = say(
        en="Return one number, N. Put it into both counts: h_q · N² scores, and what the cache holds.",
        zh="返回一个数 N。把它代入两边的个数：分数是 h_q · N² 个，缓存里又有多少个？",
    )

    def case(d, h_q, h_kv, layers, n, says: str) -> Case:
        cache = layers * h_kv * (n * d + n * d)
        assert h_q * n * n == cache, f"{n} is not where they are equal"
        return Case(says, (d, h_q, h_kv, layers), n, tolerance=1e-9, otherwise=otherwise)

    def wrong(key: str, model, **texts: str) -> Mistake:
        return Mistake(key, "algebra", model, say(**texts))

    return Exercise(
        cases=[
            case(7, 12, 4, 15, 70, say(en="d = 7, 15 layers", zh="d = 7，15 层")),
            case(64, 1, 1, 1, 128, say(en="one layer, one head", zh="一层，一个头")),
            case(64, 8, 8, 12, 1536, say(en="a key head for each", zh="每个 query 头各有 key 头")),
            case(128, 32, 8, 32, 2048, say(en="32 heads share 8", zh="32 个头共用 8 个 key 头")),
            case(3, 4, 1, 1, 1.5, say(en="between two numbers", zh="在两个整数之间")),
        ],
        mistakes=[
            wrong(
                "v_forgotten",
                lambda d, h_q, h_kv, layers: layers * h_kv * d / h_q,
                en="half: the cache holds K and V.",
                zh="只有一半：缓存里既有 K 也有 V。",
            ),
            wrong(
                "layers_forgotten",
                lambda d, h_q, h_kv, layers: 2 * h_kv * d / h_q,
                en="this is the cache of one layer. Every layer keeps its own.",
                zh="这只是一层的缓存。每一层都要保存自己的。",
            ),
            wrong(
                "one_layer_equal_heads",
                lambda d, h_q, h_kv, layers: 2 * d,
                en="2d is right for one layer whose query heads all have a key head of their own. Count layers and heads.",
                zh="2d 只适合一层、而且每个 query 头都有自己的 key 头的情形。层数和头数都要算进去。",
            ),
            wrong(
                "query_heads_in_the_cache",
                lambda d, h_q, h_kv, layers: 2 * layers * d,
                en="heads cancel only when every query head has a key head of its own; here h_kv of them are kept.",
                zh="只有每个 query 头都有自己的 key 头时，头数才会约掉；这里缓存的是 h_kv 个。",
            ),
            wrong(
                "heads_of_s_forgotten",
                lambda d, h_q, h_kv, layers: 2 * layers * h_kv * d,
                en="S of one head only. All h_q query heads have one.",
                zh="只算了一个头的 S。h_q 个 query 头个个都有。",
            ),
            wrong(
                "scores_of_key_heads",
                lambda d, h_q, h_kv, layers: 2 * layers * d * h_q / h_kv,
                en="h_q and h_kv are exchanged: scores belong to query heads, the cache to key heads.",
                zh="h_q 和 h_kv 用反了：分数属于 query 头，缓存属于 key 头。",
            ),
            wrong(
                "s_of_every_layer",
                lambda d, h_q, h_kv, layers: 2 * h_kv * d / (h_q * layers),
                en="the layers are on the wrong side: many layers make the cache larger, so N grows with them.",
                zh="层数放错了边：层越多缓存越大，所以 N 随层数增大。",
            ),
            wrong(
                "square_root",
                lambda d, h_q, h_kv, layers: (2 * layers * h_kv * d / h_q) ** 0.5,
                en="a square root: the cache has a factor N too, and one N cancels.",
                zh="你开了平方：缓存里也有一个因子 N，约去一个 N 就不用开方。",
            ),
            wrong(
                "all_four",
                lambda d, h_q, h_kv, layers: 4 * layers * h_kv * d / h_q,
                en="twice too large: the cache holds K and V, not Q and O.",
                zh="大了一倍：缓存里只有 K 和 V，没有 Q 和 O。",
            ),
            wrong(
                "upside_down",
                lambda d, h_q, h_kv, layers: h_q / (2 * layers * h_kv * d),
                en="upside down: h_q · N² = 2 · layers · h_kv · N · d, solved for N.",
                zh="上下颠倒了：由 h_q · N² = 2 · layers · h_kv · N · d 解出 N。",
            ),
            wrong(
                "d_forgotten",
                lambda d, h_q, h_kv, layers: 2 * layers * h_kv / h_q,
                en="d is missing: a row of K or V in the cache has d numbers, a score is one.",
                zh="漏了 d：缓存里 K 或 V 的一行有 d 个数，而一个分数只是一个数。",
            ),
            *(wrong("rounded", model, **ROUNDED) for model in rounded_models()),
        ],
    )


RULERS = ("one tensor", "four tensors", "stored", "extra", "on chip", "traffic", "arithmetic")


def ruler_named(answer) -> str:
    """Return the name of a ruler, however it is spaced and capitalised; ValueError for another."""
    name = " ".join(str(answer).lower().replace("-", " ").replace("_", " ").split())
    if name not in RULERS:
        raise ValueError(
            say(
                en=f"{answer!r} is not one of the seven names: {', '.join(RULERS)}",
                zh=f"{answer!r} 不是七个名字之一：{', '.join(RULERS)}",
            )
        )
    return name


@exercise
def rulers() -> Exercise:
    """Which of seven quantities each true sentence speaks of."""
    sentences = {
        "a": (
            "four tensors",
            say(
                en="a: 256 = 4d, so S is compared with Q, K, V and O together; against Q alone it is at N = d = 64.",
                zh="a：256 = 4d，所以 S 是与 Q、K、V、O 之和相比；只与 Q 比，应当在 N = d = 64。",
            ),
        ),
        "b": (
            "extra",
            say(
                en="b: 4 bytes a row are L, which comes on top of inputs and output.",
                zh="b：每行 4 字节就是 L，它是输入和输出之外多占的。",
            ),
        ),
        "c": (
            "on chip",
            say(
                en="c: only what is held for one query tile, tiles and their state, does not depend on N.",
                zh="c：只有处理一个 query tile 时占用的，也就是 tile 和它们的状态，与 N 无关。",
            ),
        ),
        "d": (
            "one tensor",
            say(
                en="d: 8192 / 64 = 128 is N/d: against one tensor. Against all four it would be 32.",
                zh="d：8192 / 64 = 128 是 N/d：与一个张量相比。与四个之和相比应当是 32。",
            ),
        ),
        "e": (
            "traffic",
            say(
                en="e: 2N²d/B_r has both, the square of N and B_r below: the elements of K and V that are moved.",
                zh="e：2N²d/B_r 两样都有，上面是 N 的平方，下面是 B_r：搬运的 K 和 V 的元素。",
            ),
        ),
        "f": (
            "arithmetic",
            say(
                en="f: both compute all N² scores and 4N²d operations. In room and traffic they differ.",
                zh="f：两者都要算全部 N² 个分数，做 4N²d 次运算。占的地方和搬的字节则不同。",
            ),
        ),
    }
    return Exercise(
        cases=[Case(why, (key,), name, kind="") for key, (name, why) in sentences.items()],
        use=lambda answers, key: ruler_named(answers[key]),
        show_all=True,
    )


@exercise
def judge() -> Exercise:
    """Statements on memory: True or False for each letter."""
    statements = {
        "a": (
            False,
            say(
                en="a: the multiple is N/d, so it doubles with N. At N = 10 it was 1.25, at 100,000 it was 781.25.",
                zh="a：倍数是 N/d，N 加倍它也加倍。N = 10 时是 1.25，N = 100,000 时是 781.25。",
            ),
        ),
        "b": (
            True,
            say(
                en="b: true. A model's d does not change with the length of its text.",
                zh="b：这句话是对的。模型的 d 不随文本长度改变。",
            ),
        ),
        "c": (
            False,
            say(
                en="c: all N² scores are computed. The first table counted a factor of 4 for both.",
                zh="c：N² 个分数都要算。第一张表里，两者数出来都是 4 倍。",
            ),
        ),
        "d": (
            False,
            say(
                en="d: weights, gradients, optimizer state and the other activations remain; only attention's N² part is gone.",
                zh="d：权重、梯度、优化器状态和其他激活都还在；去掉的只是注意力的 N² 部分。",
            ),
        ),
        "e": (
            False,
            say(
                en="e: a count knows neither how many copies are alive nor what a cache hides nor how long anything takes.",
                zh="e：光靠数，不知道同时有几份副本、缓存挡下了多少，也不知道要花多少时间。",
            ),
        ),
        "f": (
            True,
            say(
                en="f: true. Three arrays against one, and slope 2 for both.",
                zh="f：这句话是对的。一个有三个数组，另一个只有一个，斜率都是 2。",
            ),
        ),
    }
    return Exercise(
        cases=[Case(why, (key,), truth, kind="") for key, (truth, why) in statements.items()],
        use=lambda answers, key: answers[key],
        show_all=True,
    )
