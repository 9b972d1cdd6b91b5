"""Typical mistakes of lesson 08 in the bytes of v1 order, each as a small wrong sum."""

from utils.checks.core import Mistake
from utils.language import say


def total(*, t=None, first=1, ways=2, last=1, s=4, extra=2, l=4, o=2, kv=None, swap=False, q=0):
    """Return v1_total with changes: t(n_q, n_k, b_r, b_c) turns, kv how often K and V are read,
    first, ways and last: how often the states move before, at each turn and at the end; l and o
    bytes of a number in L and O; swap: d for d_v in a state; q turns for Q alone."""

    def model(n_q, n_k, d, d_v, b_r, b_c):
        t_r, t_c = -(-n_q // b_r), -(-n_k // b_c)
        turns = t(n_q, n_k, b_r, b_c) if t else t_c
        state = s * n_q * ((d if swap else d_v) + extra)
        keys = 2 * (d + d_v) * n_k * (t_r if kv else 1)
        moved = (first + ways * turns + last) * state + keys + (q or turns) * 2 * n_q * d
        return moved + n_q * d_v * o + n_q * l

    return model


def v2_total(n_q, n_k, d, d_v, b_r, b_c):
    return 2 * n_q * (d + d_v) + 4 * n_q + 2 * (d + d_v) * -(-n_q // b_r) * n_k


def padded(n_q, n_k, d, d_v, b_r, b_c):
    rows, keys = -(-n_q // b_r) * b_r, -(-n_k // b_c) * b_c
    return total()(rows, keys, d, d_v, b_r, b_c)


def byte_mistakes() -> list[Mistake]:
    """Return the mistakes of v1_total."""
    told = {
        "v2_order": (
            v2_total,
            say(en="these are the bytes of v2 order.", zh="这是 v2 顺序的字节数。"),
        ),
        "one_way": (
            total(ways=1),
            say(
                en="at each visit the state is read and written: count it twice.",
                zh="每次访问，状态既读又写：要算两次。",
            ),
        ),
        "start_or_end_forgotten": (
            total(first=0),
            say(
                en="the first states are written, and the last loop reads all of them: one of the two is missing.",
                zh="最初的状态要写一遍，最后的循环又要把状态全读一遍：漏了其中一样。",
            ),
        ),
        "start_and_end_forgotten": (
            total(first=0, last=0),
            say(
                en="the states also move before the two loops (written) and after them (read).",
                zh="两层循环之前（写）和之后（读），状态也要移动。",
            ),
        ),
        "state_in_two_bytes": (
            total(s=2),
            say(
                en="m, ℓ and Õ take s = 4 bytes a number, not e = 2.",
                zh="m、ℓ、Õ 每个数占 s = 4 字节，不是 e = 2。",
            ),
        ),
        "m_and_l_forgotten": (
            total(extra=0),
            say(
                en="a state is Õ and also m and ℓ: d_v + 2 numbers a row.",
                zh="状态除了 Õ，还有 m 和 ℓ：每行 d_v + 2 个数。",
            ),
        ),
        "L_forgotten": (
            total(l=0),
            say(en="L is written as well, 4 bytes a row.", zh="L 也要写，每行 4 字节。"),
        ),
        "O_forgotten": (
            total(o=0),
            say(en="O is written at the end; that is missing.", zh="漏了最后写出的 O。"),
        ),
        "floor": (
            total(t=lambda n_q, n_k, b_r, b_c: n_k // b_c),
            say(
                en="T_c is rounded down: the ragged last tile is a turn too.",
                zh="T_c 向下取整了：最后的尾块也要转一轮。",
            ),
        ),
        "not_rounded": (
            total(t=lambda n_q, n_k, b_r, b_c: n_k / b_c),
            say(
                en="n_k / b_c is not the number of turns when a tile is ragged: round it up.",
                zh="有尾块时，n_k / b_c 不是轮数：要向上取整。",
            ),
        ),
        "one_turn_too_many": (
            total(t=lambda n_q, n_k, b_r, b_c: n_k // b_c + 1),
            say(
                en="n_k // b_c + 1 counts a turn too many when b_c divides n_k.",
                zh="b_c 整除 n_k 时，n_k // b_c + 1 多算了一轮。",
            ),
        ),
        "q_read_once": (
            total(q=1),
            say(
                en="in v1 order every key tile reads all of Q again: T_c times.",
                zh="v1 顺序里，每个 key tile 都要把 Q 重读一遍：共 T_c 遍。",
            ),
        ),
        "d_for_d_v": (
            total(swap=True),
            say(
                en="Õ is as wide as V: d_v numbers a row, not d.",
                zh="Õ 和 V 一样宽：每行 d_v 个数，不是 d 个。",
            ),
        ),
        "L_in_two_bytes": (
            total(l=2),
            say(en="L takes s = 4 bytes a number, not 2.", zh="L 每个数占 s = 4 字节，不是 2。"),
        ),
        "O_in_four_bytes": (
            total(o=4),
            say(
                en="O takes e = 2 bytes a number; only Õ takes 4.",
                zh="O 每个数占 e = 2 字节；占 4 字节的是 Õ。",
            ),
        ),
        "query_tiles_counted": (
            total(t=lambda n_q, n_k, b_r, b_c: -(-n_q // b_r)),
            say(
                en="the outer loop of v1 order has T_c turns, one for each key tile, not T_r.",
                zh="v1 顺序的外层循环转 T_c 轮，每个 key tile 一轮，不是 T_r 轮。",
            ),
        ),
        "every_pair": (
            total(t=lambda n_q, n_k, b_r, b_c: -(-n_q // b_r) * -(-n_k // b_c)),
            say(
                en="all query tiles of one turn together have N_q rows; T_r · T_c · N_q counts them T_r times.",
                zh="一轮里所有 query tile 合起来是 N_q 行；T_r · T_c · N_q 多算了 T_r 倍。",
            ),
        ),
        "k_for_every_query_tile": (
            total(kv=True),
            say(
                en="K and V are read once in v1 order, not once for every query tile.",
                zh="v1 顺序里 K 和 V 只读一次，不是每个 query tile 读一次。",
            ),
        ),
        "padded": (
            padded,
            say(
                en="ragged tiles are counted as full ones. Only rows that exist are moved.",
                zh="把尾块按整块算了。只有真正存在的行才会移动。",
            ),
        ),
    }
    return [Mistake(key, "algebra", model, says) for key, (model, says) in told.items()]
