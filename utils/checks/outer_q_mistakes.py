"""Typical mistakes of lesson 08 in turning the loops round, each as a small wrong program."""

import numpy as np

from utils.attention import in_slow_memory, states_in_slow_memory, tiled_attention_v1
from utils.checks.core import Mistake
from utils.language import say
from utils.states import State, finish, identity, state_of, update
from utils.tiles import tiles


def walk(
    *,
    fresh="rows",
    step=update,
    end=finish,
    scaled=True,
    write="rows",
    read_q="rows",
    m=-np.inf,
):
    """Return a loop in v2 order; what differs from the right one is said by the arguments.

    fresh, write, read_q: in which loop the state begins, O is written, Q is read; write="again"
    keeps v1 order's last loop. fresh="full"
    takes b_r rows for the state of every query tile. m: the maximum that a new state has.
    """

    def new(rows, d_v):
        return identity(rows, d_v)._replace(m=np.full(rows, float(m)))

    def model(q, k, v, b_r, b_c, memory):
        Q, K, V, O, L = in_slow_memory(memory, q, k, v)
        scale, rows = 1 / np.sqrt(q.shape[1]) if scaled else 1, slice(0, b_r)
        state = new(min(b_r, len(q)), v.shape[1])
        for rows in memory.turns(tiles(len(q), b_r)):
            q_i = Q[rows] if read_q == "rows" else None
            state = new(rows.stop - rows.start, v.shape[1]) if fresh == "rows" else state
            state = new(b_r, v.shape[1]) if fresh == "full" else state
            for cols in memory.turns(tiles(len(k), b_c)):
                q_i = Q[rows] if read_q == "cols" else q_i
                state = new(len(q_i), v.shape[1]) if fresh == "cols" else state
                state = step(state, scale * (q_i @ K[cols].T), V[cols])
                if write == "cols":
                    O[rows], L[rows] = end(state)
            if write == "rows":
                O[rows], L[rows] = end(state)
        last = {"after": [rows], "again": tiles(len(q), b_r)}.get(write, [])
        for place in last:
            O[place], L[place] = end(state)
        return O.array, L.array

    return model


def divided(state, s, v_j):
    m, l, acc = update(state, s, v_j)
    return State(m, l, acc / l[:, None])


def unchanged(q, k, v, b_r, b_c, memory):
    return tiled_attention_v1(q, k, v, b_r=b_r, b_c=b_c, memory=memory)


def exchanged(q, k, v, b_r, b_c, memory):
    return walk()(q, k, v, b_c, b_r, memory)


def by_hand(state):
    return state.acc / state.l[:, None], state.m + np.log(state.l)


def states_left(q, k, v, b_r, b_c, memory):
    states_in_slow_memory(memory, len(q), v.shape[1])
    return walk()(q, k, v, b_r, b_c, memory)


def not_from_slow_memory(q, k, v, b_r, b_c, memory):
    _, _, _, O, L = in_slow_memory(memory, q, k, v)
    for rows in tiles(len(q), b_r):
        O[rows], L[rows] = finish(state_of(q[rows] @ k.T / np.sqrt(q.shape[1]), v))
    return O.array, L.array


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
            "state_of_full_tile",
            "algebra",
            walk(fresh="full"),
            say(
                en="the state has b_r rows, but the ragged last tile has fewer: take len(q_i).",
                zh="状态总是 b_r 行，可是最后的尾块没有那么多行：要用 len(q_i)。",
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
            "last_loop_kept",
            "algebra",
            walk(write="again"),
            say(
                en="the last loop of v1 order is still there: it writes one state to all rows.",
                zh="v1 顺序的最后一个循环还留着：它把同一个状态写进了所有行。",
            ),
        ),
        Mistake(
            "update_not_assigned",
            "algebra",
            walk(step=lambda state, s, v_j: state),
            say(
                en="the state never changes: `update` returns a new one, so `state = update(...)`.",
                zh="状态一直没变：`update` 返回新的状态，要写 `state = update(...)`。",
            ),
        ),
        *[
            Mistake(
                "maximum_from_zero",
                "floats",
                walk(m=0, end=end),
                say(
                    en="the maximum begins at a number; scores far below it all vanish. Begin at −∞.",
                    zh="最大值的初值是一个有限的数，远小于它的分数全都变成 0。初值应当是 −∞。",
                ),
            )
            for end in (finish, by_hand)
        ],
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
            "tile_sizes_exchanged",
            "",
            exchanged,
            say(
                en="Q is cut into tiles of b_c rows and K into tiles of b_r: it is the other way round.",
                zh="Q 按 b_c 切、K 按 b_r 切，弄反了。",
            ),
        ),
        Mistake(
            "state_in_slow_memory",
            "",
            state_in_slow_memory,
            say(
                en="the loops are turned, but the state still lives in slow memory. Keep it in a variable.",
                zh="循环反过来了，但状态还放在慢速内存里。把它留在变量里。",
            ),
        ),
        Mistake(
            "states_left",
            "",
            states_left,
            say(
                en="`states_in_slow_memory` is still called: its m, ℓ, Õ are written and never used.",
                zh="还在调用 `states_in_slow_memory`：它写出的 m、ℓ、Õ 从来没有用到。",
            ),
        ),
        Mistake(
            "not_from_slow_memory",
            "",
            not_from_slow_memory,
            say(
                en="q, k, v are used as they are. Read tiles from Q, K, V, the arrays in slow memory.",
                zh="直接用了 q、k、v。应当从慢速内存里的 Q、K、V 读 tile。",
            ),
        ),
        Mistake(
            "q_read_again",
            "",
            walk(read_q="cols"),
            say(
                en="Q_i is read in the inner loop, once for every key tile. Read it before.",
                zh="Q_i 在内层循环里读，每个 key tile 都读一遍。应当在内层循环之前读。",
            ),
        ),
        Mistake(
            "o_written_again",
            "",
            walk(write="cols"),
            say(
                en="O and L are written in the inner loop, at every visit. Write them after it.",
                zh="O 和 L 在内层循环里写，每次访问都写。应当在内层循环之后写。",
            ),
        ),
    ]
