"""Typical mistakes of lesson 08, each as a small wrong program."""

import numpy as np

from utils.attention import in_slow_memory, states_in_slow_memory, tiled_attention_v1
from utils.checks.core import Mistake
from utils.language import say
from utils.states import State, finish, identity, merge, state_of, update
from utils.tiles import tiles


def walk(*, fresh="rows", step=update, end=finish, scaled=True, write="rows", read_q="rows"):
    """Return a loop in v2 order; what differs from the right one is said by the arguments.

    fresh, write, read_q: after which loop's `for` the state begins, O is written, Q is read.
    """

    def model(q, k, v, b_r, b_c, memory):
        Q, K, V, O, L = in_slow_memory(memory, q, k, v)
        scale, rows = 1 / np.sqrt(q.shape[1]) if scaled else 1, slice(0, b_r)
        state = identity(min(b_r, len(q)), v.shape[1])
        for rows in memory.turns(tiles(len(q), b_r)):
            q_i = Q[rows] if read_q == "rows" else None
            state = identity(rows.stop - rows.start, v.shape[1]) if fresh == "rows" else state
            for cols in memory.turns(tiles(len(k), b_c)):
                q_i = Q[rows] if read_q == "cols" else q_i
                state = identity(len(q_i), v.shape[1]) if fresh == "cols" else state
                state = step(state, scale * (q_i @ K[cols].T), V[cols])
                if write == "cols":
                    O[rows], L[rows] = end(state)
            if write == "rows":
                O[rows], L[rows] = end(state)
        if write == "after":
            O[rows], L[rows] = end(state)
        return O.array, L.array

    return model


def divided(state, s, v_j):
    m, l, acc = update(state, s, v_j)
    return State(m, l, acc / l[:, None])


def unchanged(q, k, v, b_r, b_c, memory):
    return tiled_attention_v1(q, k, v, b_r=b_r, b_c=b_c, memory=memory)


def state_in_slow_memory(q, k, v, b_r, b_c, memory):
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    M, SUM, ACC = states_in_slow_memory(memory, len(q), v.shape[1])
    for rows in memory.turns(tiles(len(q), b_r)):
        q_i = Q[rows]
        for cols in memory.turns(tiles(len(k), b_c)):
            s = q_i @ K[cols].T / np.sqrt(q.shape[1])
            state = State(M[rows], SUM[rows], ACC[rows])
            M[rows], SUM[rows], ACC[rows] = update(state, s, V[cols])
        O[rows], L[rows] = finish(State(M[rows], SUM[rows], ACC[rows]))
    return O.array, L.array


def loop_mistakes() -> list[Mistake]:
    """Return the mistakes of outer_q."""
    return [
        Mistake(
            "state_carried",
            "algebra",
            walk(fresh="never"),
            say(
                en="the state is made once for all; every query tile needs the state of no keys.",
                zh="状态只建了一次；每个 query tile 都要从“一个 key 都没有”的状态开始。",
            ),
        ),
        Mistake(
            "state_reset",
            "algebra",
            walk(fresh="cols"),
            say(
                en="the state begins anew at every key tile, so only the last one counts.",
                zh="每到一个 key tile，状态就重新开始，所以只有最后一个算数。",
            ),
        ),
        Mistake(
            "not_divided",
            "algebra",
            walk(end=lambda state: (state.acc, finish(state)[1])),
            say(en="Õ is written without being divided by ℓ.", zh="写出的 Õ 没有除以 ℓ。"),
        ),
        Mistake(
            "divided_inside",
            "algebra",
            walk(step=divided),
            say(
                en="Õ is divided by ℓ in every turn and carried on. Divide once, at the end.",
                zh="每一轮都把 Õ 除以 ℓ 再带下去。应当只在最后除一次。",
            ),
        ),
        Mistake(
            "scale_missing",
            "algebra",
            walk(scaled=False),
            say(en="the scores are not multiplied by the scale.", zh="分数没有乘缩放因子。"),
        ),
        Mistake(
            "written_after_the_loops",
            "algebra",
            walk(write="after"),
            say(
                en="O is written after both loops: only the last query tile gets there.",
                zh="O 在两层循环都结束之后才写：只有最后一个 query tile 写了出来。",
            ),
        ),
        Mistake(
            "not_written",
            "algebra",
            walk(write="never"),
            say(en="O and L are never written.", zh="O 和 L 从来没有写。"),
        ),
        Mistake(
            "loops_not_turned",
            "",
            unchanged,
            say(
                en="this is still v1 order: K and V are read once, the states travel.",
                zh="这还是 v1 顺序：K 和 V 只读一次，状态在来回走。",
            ),
        ),
        Mistake(
            "state_in_slow_memory",
            "",
            state_in_slow_memory,
            say(
                en="the loops are turned, but the state still lives in slow memory. Keep it in a variable.",
                zh="循环反过来了，但状态还住在慢速内存里。把它留在变量里。",
            ),
        ),
        Mistake(
            "q_read_again",
            "",
            walk(read_q="cols"),
            say(
                en="Q_i is read in the inner loop, once for every key tile. Read it before.",
                zh="Q_i 在内层循环里读，每个 key tile 都读一遍。应当在它之前读。",
            ),
        ),
        Mistake(
            "o_written_again",
            "",
            walk(write="cols"),
            say(
                en="O and L are written in the inner loop, at every visit. Write them after it.",
                zh="O 和 L 在内层循环里写，每次来访都写。应当在它之后写。",
            ),
        ),
    ]


def total(*, t=None, first=1, ways=2, last=1, s=4, extra=2, l=True, o=True, kv=None):
    """Return v1_total with changes: t(n_q, n_k, b_r, b_c) turns, kv how often K and V are read,
    first, ways and last: how often the states move before, at each turn and at the end."""

    def model(n_q, n_k, d, d_v, b_r, b_c):
        t_r, t_c = -(-n_q // b_r), -(-n_k // b_c)
        turns = t(n_q, n_k, b_r, b_c) if t else t_c
        state = s * n_q * (d_v + extra)
        keys = 2 * (d + d_v) * n_k * (t_r if kv else 1)
        moved = (first + ways * turns + last) * state + keys + turns * 2 * n_q * d
        return moved + 2 * n_q * d_v * o + 4 * n_q * l

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
                zh="每次来访，状态既读又写：要算两次。",
            ),
        ),
        "start_or_end_forgotten": (
            total(first=0),
            say(
                en="the first states are written, and the last loop reads all of them: one of both is missing.",
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
            total(l=False),
            say(en="L is written as well, 4 bytes a row.", zh="L 也要写，每行 4 字节。"),
        ),
        "O_forgotten": (
            total(o=False),
            say(en="O is written at the end; that is missing.", zh="漏了最后写出的 O。"),
        ),
        "floor": (
            total(t=lambda n_q, n_k, b_r, b_c: n_k // b_c),
            say(
                en="T_c is rounded down: the ragged last tile is a turn too.",
                zh="T_c 向下取整了：最后的尾块也要转一轮。",
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


def private(program=state_of, join=None):
    """Return split_k with one state a program; join(states, q, v) makes O and L of them."""

    def model(q, k, v, b_c, run):
        parts, states = tiles(len(k), b_c), []

        def work(cols):
            s = q @ k[cols].T / np.sqrt(q.shape[1])
            yield
            states.append(program(s, v[cols]))

        run([work(cols) for cols in parts])
        return join(states)

    return model


def shared(q, k, v, b_c, run):
    place = [identity(len(q), v.shape[1])]

    def work(cols):
        state = place[0]
        yield
        new = update(state, q @ k[cols].T / np.sqrt(q.shape[1]), v[cols])
        yield
        place[0] = new

    run([work(cols) for cols in tiles(len(k), b_c)])
    return finish(place[0])


def folded(states):
    total = states[0]
    for state in states[1:]:
        total = merge(total, state)
    return total


def added(states):
    m = np.max([state.m for state in states], axis=0)
    l, acc = (sum(state[part] for state in states) for part in (1, 2))
    return finish(State(m, l, acc))


def averaged(states):
    outs = [finish(state)[0] for state in states]
    return sum(outs) / len(outs), finish(folded(states))[1]


def summed(states):
    return sum(finish(state)[0] for state in states), finish(folded(states))[1]


def raw(s, v_j):
    """A state that is relative to 0, not to its maximum."""
    p = np.exp(s)
    return State(np.zeros(len(s)), p.sum(axis=1), p @ v_j)


def split_mistakes() -> list[Mistake]:
    """Return the mistakes of split_k."""
    told = {
        "shared_state": (
            shared,
            "algebra",
            say(
                en="the programs still share a state: each reads before the others have written.",
                zh="各程序还在共用一个状态：别人还没写，自己就已经读了。",
            ),
        ),
        "last_program_only": (
            private(join=lambda states: finish(states[-1])),
            "algebra",
            say(
                en="only one program's state reaches the result. Merge all of them.",
                zh="只有一个程序的状态进了结果。要把所有状态都合并。",
            ),
        ),
        "added_unscaled": (
            private(join=added),
            "algebra",
            say(
                en="ℓ and Õ are added although each is relative to its own m. Use ⊕.",
                zh="ℓ 和 Õ 各自相对于自己的 m，却直接相加了。要用 ⊕。",
            ),
        ),
        "averaged": (
            private(join=averaged),
            "algebra",
            say(
                en="the outputs are averaged: a program with small scores counts as much as the others.",
                zh="把各个输出取了平均：分数很小的程序和别的程序分量一样了。",
            ),
        ),
        "outputs_added": (
            private(join=summed),
            "algebra",
            say(
                en="normalised outputs are added: the weights sum to the number of programs.",
                zh="把归一化过的输出相加：权重之和等于程序的个数。",
            ),
        ),
        "not_divided": (
            private(join=lambda states: (folded(states).acc, finish(folded(states))[1])),
            "algebra",
            say(en="Õ is returned without being divided by ℓ.", zh="返回的 Õ 没有除以 ℓ。"),
        ),
        "from_zero": (
            private(raw, lambda states: finish(folded(states))),
            "floats",
            say(
                en="the exponentials are not relative to a maximum: they overflow, or all vanish.",
                zh="指数没有减去最大值：不是上溢，就是全都变成 0。",
            ),
        ),
    }
    return [Mistake(key, kind, model, says) for key, (model, kind, says) in told.items()]
