"""Checks of lesson 11: the lines of the kernel that go wrong most often."""

import math

import numpy as np

from utils.attention import naive_attention
from utils.checks.core import Case, Exercise, Mistake, exercise
from utils.language import say


@exercise
def kv_head() -> Exercise:
    """kv_head(h, h_q, h_kv): the key head of query head h."""

    def case(h_q: int, h_kv: int, says: str) -> Case:
        order = [kv for kv in range(h_kv) for _ in range(h_q // h_kv)]
        call = f"[kv_head(h, {h_q}, {h_kv}) for h in range({h_q})]"
        return Case(says, (h_q, h_kv), order, call=call)

    return Exercise(
        use=lambda attempt, h_q, h_kv: [attempt(h, h_q, h_kv) for h in range(h_q)],
        cases=[
            case(6, 2, say(en="6 query heads, 2 key heads", zh="6 个 query 头，2 个 key 头")),
            case(6, 3, say(en="6 query heads, 3 key heads", zh="6 个 query 头，3 个 key 头")),
            case(2, 2, say(en="a key head for each", zh="每个 query 头各有一个 key 头")),
            case(4, 1, say(en="all share one key head", zh="全部共用一个 key 头")),
        ],
        mistakes=[
            Mistake(
                "tiled_not_repeated",
                "algebra",
                lambda h, h_q, h_kv: h % h_kv,
                say(
                    en="% deals the key heads out in turn (0, 1, 0, 1). Groups are consecutive (0, 0, 1, 1): divide.",
                    zh="% 是轮流分配（0、1、0、1）。同组的头是相邻的（0、0、1、1）：应当用除法。",
                ),
            ),
            Mistake(
                "divided_by_kv_heads",
                "algebra",
                lambda h, h_q, h_kv: h // h_kv,
                say(
                    en="divided by the number of key heads. Divide by the size of a group, h_q // h_kv.",
                    zh="除以了 key 头的个数。应当除以一组的大小，h_q // h_kv。",
                ),
            ),
            Mistake(
                "not_whole",
                "algebra",
                lambda h, h_q, h_kv: h / (h_q / h_kv),
                say(
                    en="an index is a whole number: divide with //, twice.",
                    zh="下标是整数：两处除法都要用 //。",
                ),
            ),
            Mistake(
                "no_groups",
                "algebra",
                lambda h, h_q, h_kv: h,
                say(
                    en="every query head got a key head of its own; heads h ≥ h_kv read past the end of K.",
                    zh="每个 query 头各用一个 key 头；h ≥ h_kv 的头会读到 K 的末尾之外。",
                ),
            ),
        ],
    )


@exercise
def key_tiles() -> Exercise:
    """key_tiles(r1, b_c, n_q, n_k): tiles visited by a causal program that ends before r1."""

    def case(r1: int, b_c: int, n_q: int, n_k: int, says: str) -> Case:
        seen = [c for c in range(n_k) if any(c <= r + n_k - n_q for r in range(r1))]
        return Case(says, (r1, b_c, n_q, n_k), len({c // b_c for c in seen}))

    return Exercise(
        cases=[
            case(
                4,
                2,
                10,
                10,
                say(
                    en="10 queries and keys, rows up to 4",
                    zh="query 和 key 各 10 个，行到 4 之前为止",
                ),
            ),
            case(
                5,
                3,
                8,
                8,
                say(en="rows up to 5, tiles of 3 keys", zh="行到 5 之前为止，每块 3 个 key"),
            ),
            case(
                3,
                2,
                8,
                8,
                say(en="rows up to 3, tiles of 2 keys", zh="行到 3 之前为止，每块 2 个 key"),
            ),
            case(2, 2, 2, 5, say(en="more keys than queries", zh="key 比 query 多")),
            case(1, 2, 2, 6, say(en="more keys, the first row only", zh="key 更多，只有第一行")),
            case(2, 2, 5, 2, say(en="rows that see nothing", zh="什么也看不见的行")),
            case(1, 2, 9, 2, say(en="rows far from any key", zh="离第一个 key 还很远的行")),
            case(
                3, 2, 5, 2, say(en="the last row before any key", zh="还看不见任何 key 的最后一行")
            ),
            case(4, 3, 4, 4, say(en="4 keys in tiles of 3", zh="4 个 key，每块 3 个")),
            case(8, 3, 8, 8, say(en="the last rows, a ragged key tile", zh="最后几行，key 有尾块")),
            case(
                9, 3, 8, 8, say(en="a last tile that reaches past n_q", zh="最后一个 tile 越过 n_q")
            ),
        ],
        mistakes=[
            Mistake(
                "rounded_down",
                "algebra",
                lambda r1, b_c, n_q, n_k: min(n_k, max(0, r1 + n_k - n_q)) // b_c,
                say(
                    en="rounded down: the last visible keys share a tile with hidden ones, and that tile is needed.",
                    zh="向下取整了：最后几个可见的 key 与看不见的 key 同在一个 tile，那个 tile 也要访问。",
                ),
            ),
            Mistake(
                "all_tiles",
                "algebra",
                lambda r1, b_c, n_q, n_k: -(-n_k // b_c),
                say(
                    en="these are all key tiles. A causal program visits those that its last row sees.",
                    zh="这是全部 key tile 的个数。因果的程序只访问它最后一行看得见的那些。",
                ),
            ),
            Mistake(
                "last_key_left_out",
                "algebra",
                lambda r1, b_c, n_q, n_k: -(-min(n_k, max(0, r1 - 1 + n_k - n_q)) // b_c),
                say(
                    en="one key too few: the last row r1 − 1 sees keys 0 to r1 − 1 + N_k − N_q, and that is one more in number.",
                    zh="少算了一个 key：最后一行 r1 − 1 看得见 key 0 到 r1 − 1 + N_k − N_q，个数还要再加 1。",
                ),
            ),
            Mistake(
                "offset_forgotten",
                "algebra",
                lambda r1, b_c, n_q, n_k: -(-min(n_k, r1) // b_c),
                say(
                    en="N_k − N_q is missing: that is the top-left alignment, which hides keys from the last query.",
                    zh="少了 N_k − N_q：这是左上对齐，最后一个 query 会看不见后面的 key。",
                ),
            ),
            Mistake(
                "offset_upside_down",
                "algebra",
                lambda r1, b_c, n_q, n_k: -(-min(n_k, max(0, r1 + n_q - n_k)) // b_c),
                say(
                    en="the offset is N_k − N_q, not N_q − N_k.",
                    zh="偏移量是 N_k − N_q，而不是 N_q − N_k。",
                ),
            ),
            Mistake(
                "negative_not_clamped",
                "algebra",
                lambda r1, b_c, n_q, n_k: -(-min(n_k, r1 + n_k - n_q) // b_c),
                say(
                    en="a negative number of tiles: rows before the first key see 0 keys. Clamp with max(0, …).",
                    zh="tile 个数成了负数：最前面这些行看得见的 key 是 0 个。请用 max(0, …) 兜住下限。",
                ),
            ),
            Mistake(
                "off_by_one",
                "algebra",
                lambda r1, b_c, n_q, n_k: -(-min(n_k, max(0, r1 + n_k - n_q + 1)) // b_c),
                say(
                    en="too many: r1 + N_k − N_q keys are visible, as the last row is r1 − 1; and `// b_c + 1` adds a tile where b_c divides that.",
                    zh="多了：最后一行是 r1 − 1，所以可见的 key 有 r1 + N_k − N_q 个；另外，能被 b_c 整除时，`// b_c + 1` 会多算一个 tile。",
                ),
            ),
            Mistake(
                "keys_not_tiles",
                "algebra",
                lambda r1, b_c, n_q, n_k: min(n_k, max(0, r1 + n_k - n_q)),
                say(
                    en="this is the number of visible keys. How many tiles of b_c keys cover them?",
                    zh="这是可见 key 的个数。盖住它们要几个 tile（每块 b_c 个 key）？",
                ),
            ),
        ],
    )


@exercise
def natural_lse() -> Exercise:
    """natural_lse(m2, l): L = ln Σ e^s from the base-2 maximum and denominator."""

    def case(scores: list, says: str, kind: str = "algebra") -> Case:
        s = np.array(scores, dtype=float)
        m2 = s.max(axis=1) * math.log2(math.e)
        l = np.exp(s - s.max(axis=1, keepdims=True)).sum(axis=1)
        top = s.max(axis=1)
        expected = top + np.log(np.exp(s - top[:, None]).sum(axis=1))
        # float32, the kernel's type, is enough
        return Case(says, (m2, l), expected, kind, tolerance=1e-5)

    return Exercise(
        cases=[
            case(
                [[0, math.log(3)]],
                say(en="scores [0, ln 3]: L = ln 4", zh="分数 [0, ln 3]：L = ln 4"),
            ),
            case([[5.0, 5.0, 5.0]], say(en="three equal scores", zh="三个相等的分数")),
            case(
                [[-200, -201], [2000, 1]],
                say(en="two rows, far apart", zh="两行，相差很大"),
                kind="floats",
            ),
            Case(
                say(en="a row that sees no key", zh="一个 key 也看不见的行"),
                (np.array([-np.inf]), np.array([0.0])),
                np.array([-np.inf]),
                tolerance=1e-5,
            ),
        ],
        mistakes=[
            Mistake(
                "left_in_base_2",
                "algebra",
                lambda m2, l: m2 + np.log2(l),
                say(
                    en="still in base 2: it is 1.4427 times too large. Multiply by ln 2.",
                    zh="仍以 2 为底：结果是正确值的 1.4427 倍。请乘以 ln 2。",
                ),
            ),
            Mistake(
                "only_m_converted",
                "algebra",
                lambda m2, l: m2 * math.log(2) + np.log2(l),
                say(
                    en="only m₂ was converted; log₂ ℓ needs the factor ln 2 too.",
                    zh="只换算了 m₂；log₂ ℓ 也要乘以 ln 2。",
                ),
            ),
            Mistake(
                "only_l_converted",
                "algebra",
                lambda m2, l: m2 + np.log(l),
                say(
                    en="ln ℓ is right, but m₂ still counts powers of 2: multiply it by ln 2.",
                    zh="ln ℓ 是对的，但 m₂ 仍是 2 的指数：请乘以 ln 2。",
                ),
            ),
            Mistake(
                "power_taken",
                "floats",
                lambda m2, l: np.log(np.exp2(m2) * l),
                say(
                    en="2^m₂ itself was computed, and it overflows. Take the logarithm of the product by hand: m₂ + log₂ ℓ.",
                    zh="真的去算了 2^m₂，它会上溢。乘积的对数要先展开：m₂ + log₂ ℓ。",
                ),
            ),
            Mistake(
                "wrong_direction",
                "algebra",
                lambda m2, l: (m2 + np.log2(l)) * math.log2(math.e),
                say(
                    en="log₂ e leads into base 2 once more. The way back is ln 2.",
                    zh="乘以 log₂ e，是再一次换成以 2 为底。换回来要乘以 ln 2。",
                ),
            ),
        ],
    )


@exercise
def update() -> Exercise:
    """update(m, l, acc, scores, v_tile, scale_log2): the heart, run inside the lesson's kernel."""
    from utils.checks.attention_cases import SHOWN, O_and_L, qkv_for_scores
    from utils.checks.update_mistakes import update_mistakes

    def case(says: str, scores, v=None, kind="algebra", scale=1.0, otherwise="", **how) -> Case:
        q, k, v = qkv_for_scores(scores, v)
        q = np.concatenate([q * height for height in how.get("heights", [1])])
        args = (q, k, v, how.get("causal", False), scale, how.get("dtype", "float16"))
        call = "flash_attention(q, k, v, scale={}{}, update=my_update)".format(
            scale, ", causal=True" if args[3] else ""
        )
        out, lse = naive_attention(q, k, v, causal=args[3], scale=scale)
        return Case(says, args, (out[:, :SHOWN], lse), kind, 3e-3, otherwise, call)

    one_tile = say(
        en="One tile holds both keys: ℓ and acc are still 0, and α is 0, so only the new sums count, and"
        " they are relative to m_new. Look at that, at the scale, at axis 1, at [:, None], and at the"
        " order of what is returned.",
        zh="一个 tile 就装下了两个 key：ℓ 和 acc 还是 0，α 也是 0，所以算数的只有新的和，它们以 m_new 为参照。"
        "请检查这一点，还有缩放、轴 1、[:, None]，以及返回值的顺序。",
    )
    several = say(
        en="A single tile was right. Look at how the old m, ℓ and acc enter.",
        zh="只有一个 tile 时是对的。请检查旧的 m、ℓ 和 acc 是怎样用上的。",
    )
    unseen = say(
        en="Rows 0 and 1 see no key: all their scores are −∞, and ℓ must stay 0. A number in place of −∞"
        " counts as a key; and a maximum that is −∞ itself leads to −∞ − (−∞), which is NaN.",
        zh="第 0、1 行看不见任何 key：它们的分数全是 −∞，ℓ 必须一直是 0。用一个数代替 −∞，就会被当成 key"
        " 算进去；而用本身就是 −∞ 的最大值作参照，会算出 −∞ − (−∞)，也就是 NaN。",
    )
    steps = np.arange(300.0)
    return Exercise(
        use=O_and_L,
        cases=[
            case(
                say(en="two keys, scores 0 and 1", zh="两个 key，分数 0 和 1"),
                [0.0, 1.0],
                otherwise=one_tile,
            ),
            case(
                say(en="rows of 20 keys", zh="每行 20 个 key"),
                -(steps[:20] % 7) / 4,
                otherwise=one_tile,
            ),
            case(
                say(en="300 keys, scores rise from tile to tile", zh="300 个 key，分数逐块上升"),
                steps / 32,
                scale=0.5,
                otherwise=several,
            ),
            case(
                say(en="300 keys, scores fall from tile to tile", zh="300 个 key，分数逐块下降"),
                -steps / 32,
                scale=0.5,
                otherwise=several,
            ),
            case(
                say(en="another scale: 0.25", zh="另一个缩放因子：0.25"),
                np.sin(steps / 20) * 8,
                scale=0.25,
            ),
            case(
                say(
                    en="causal, 6 queries and 4 keys: 2 rows see nothing",
                    zh="因果，6 个 query，4 个 key：2 行什么也看不见",
                ),
                np.tile([0.0, 4.0, 8.0, 12.0], (6, 1)),
                scale=0.25,
                causal=True,
                otherwise=unseen,
            ),
            case(
                say(en="all scores near 1000", zh="所有分数都在 1000 附近"),
                1000 + steps[:70] % 3,
                kind="floats",
            ),
            case(
                say(
                    en="two rows, scores near 1000 and near 2000",
                    zh="两行，分数分别在 1000 和 2000 附近",
                ),
                1000 + steps[:70] % 3,
                kind="floats",
                heights=(1, 2),
            ),
            case(
                say(en="all scores near −1000", zh="所有分数都在 −1000 附近"),
                steps[:70] % 3 - 1000,
                kind="floats",
            ),
            case(
                say(
                    en="300 keys, scores fall by hundreds: 600, 598, 596, …",
                    zh="300 个 key，分数一路下降几百：600、598、596……",
                ),
                600 - 2 * steps,
                kind="floats",
            ),
            case(
                say(
                    en="300 keys, scores rise by hundreds: 0, 2, 4, …",
                    zh="300 个 key，分数一路上升几百：0、2、4……",
                ),
                2 * steps,
                kind="floats",
            ),
            case(
                say(
                    en="causal, 6 queries and 67 keys: some rows see nothing of the last tile",
                    zh="因果，6 个 query，67 个 key：有些行看不见最后一个 tile 里的任何 key",
                ),
                np.tile(np.sin(steps[:67]) - 1000, (6, 1)),
                kind="floats",
                causal=True,
            ),
            case(
                say(en="float32, V near 100,000", zh="float32，V 在 100,000 附近"),
                np.sin(steps[:70]),
                v=1e5 + 1e3 * np.sin(steps[:70, None] + np.arange(16)),
                kind="floats",
                dtype="float32",
            ),
        ],
        mistakes=update_mistakes(),
    )


@exercise
def judge() -> Exercise:
    """Statements about the kernel: True or False for each letter."""
    statements = {
        "a": (
            False,
            say(
                en="a: without a mask every one of the N_q·N_k scores is computed; only where they are kept differs.",
                zh="a：没有掩码时，N_q·N_k 个分数一个不少都要算；不同的只是把它们放在哪里。",
            ),
        ),
        "b": (
            True,
            say(
                en="b: true. A program owns its query tile, so programs need no order and no locks.",
                zh="b：这句话是对的。每个程序独占自己的 query tile，所以不需要顺序，也不需要锁。",
            ),
        ),
        "c": (
            False,
            say(
                en="c: a key of zeros has the score 0 and takes real weight. Its score must be −∞.",
                zh="c：全零的 key，分数是 0，会分走实实在在的权重。它的分数必须是 −∞。",
            ),
        ),
        "d": (
            True,
            say(
                en="d: true. The call allocates O and L; inputs that must be copied first add their own size, which is N·d as well.",
                zh="d：这句话是对的。调用只分配 O 和 L；必须先复制的输入再加上它们自身的大小，也只是 N·d。",
            ),
        ),
        "e": (
            False,
            say(
                en="e: it was measured on the card in the title, with the versions recorded beside it.",
                zh="e：它是在标题里那块显卡上、用旁边记录的版本测出来的。",
            ),
        ),
    }
    return Exercise(
        cases=[Case(why, (key,), truth, kind="") for key, (truth, why) in statements.items()],
        use=lambda answers, key: answers[key],
        show_all=True,
    )


@exercise
def capstone() -> Exercise:
    """my_flash_attention(q, k, v, causal): a whole forward pass, in guarded memory."""
    from utils.checks.attention_cases import definition, guarded_call, rows_of, wild_qkv
    from utils.checks.capstone_mistakes import capstone_mistakes

    def case(says: str, shape: tuple, causal=False, kind="algebra", wild=0.0, **how) -> Case:
        q, k, v = wild_qkv(shape, wild, how.get("peak", False), how.get("low", False))
        b, h_q, h_kv, n_q, n_k, d = shape
        sizes = f"q ({b}, {h_q}, {n_q}, {d}), k and v ({b}, {h_kv}, {n_k}, {d})"
        call = f"my_flash_attention(q, k, v, causal={causal}), float16, {sizes}"
        right = rows_of(definition(q, k, v, causal))
        return Case(says, (q, k, v, causal), right, kind, 5e-3, how.get("otherwise", ""), call)

    loop = say(
        en="Look at the scale, at what α multiplies, and at m = m_new: it ends the loop's body.",
        zh="请检查缩放因子、α 乘的是什么，以及循环体末尾的 m = m_new。",
    )
    mask = say(
        en="Without a mask it was right. Look at c ≤ r + N_k − N_q, and at where the loop over keys ends.",
        zh="没有掩码时是对的。请检查 c ≤ r + N_k − N_q，以及对 key 的循环到哪里为止。",
    )
    heads = say(
        en="One head was right. Look at the grid (batch · H_q in all), and at where a head begins in q and O, and in k and v.",
        zh="一个头时是对的。请检查网格（总共 batch · H_q），以及一个头在 q、O 和 k、v 中各从哪里开始。",
    )

    return Exercise(
        use=guarded_call,
        cases=[
            case(
                say(en="one head, 128 × 128", zh="一个头，128 × 128"),
                (1, 1, 1, 128, 128, 32),
                otherwise=loop,
            ),
            case(
                say(en="ragged: 45 queries, 300 keys", zh="有尾块：45 个 query，300 个 key"),
                (1, 1, 1, 45, 300, 32),
                wild=2.0,
            ),
            case(
                say(en="causal, 100 × 100", zh="因果，100 × 100"),
                (1, 1, 1, 100, 100, 16),
                True,
                otherwise=mask,
            ),
            case(
                say(en="causal, 37 queries, 170 keys", zh="因果，37 个 query，170 个 key"),
                (1, 1, 1, 37, 170, 16),
                True,
                otherwise=mask,
            ),
            case(
                say(
                    en="2 sequences, 6 query heads, 2 key heads",
                    zh="2 个序列，6 个 query 头，2 个 key 头",
                ),
                (2, 6, 2, 20, 35, 16),
                otherwise=heads,
            ),
            case(
                say(en="all scores near −1000", zh="所有分数都在 −1000 附近"),
                (1, 1, 1, 16, 70, 16),
                kind="floats",
                low=True,
            ),
            case(
                say(en="scores that rise and fall by hundreds", zh="分数大起大落，相差几百"),
                (1, 1, 1, 16, 300, 16),
                kind="floats",
                wild=300.0,
            ),
            case(
                say(
                    en="causal, the last key has the score 1000 and only the last query sees it",
                    zh="因果，最后一个 key 的分数是 1000，只有最后一个 query 看得见它",
                ),
                (1, 1, 1, 16, 16, 16),
                True,
                kind="floats",
                peak=True,
            ),
            case(
                say(
                    en="causal, 14 queries, 8 keys: 6 rows see nothing",
                    zh="因果，14 个 query，8 个 key：6 行什么也看不见",
                ),
                (1, 1, 1, 14, 8, 16),
                True,
                kind="floats",
            ),
            case(
                say(
                    en="causal, 40 queries, 8 keys: 32 rows see nothing",
                    zh="因果，40 个 query，8 个 key：32 行什么也看不见",
                ),
                (1, 1, 1, 40, 8, 16),
                True,
                kind="floats",
            ),
        ],
        mistakes=capstone_mistakes(),
    )
