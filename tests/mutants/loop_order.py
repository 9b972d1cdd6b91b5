"""Answers to the exercises of lesson 08: right ones, and typical wrong ones."""

from fractions import Fraction

import numpy as np

from utils.attention import in_slow_memory, naive_attention, on_chip, states_in_slow_memory
from utils.states import State, finish, identity, merge, state_of, update
from utils.tiles import tiles


def outer_q_of_lesson(q, k, v, b_r, b_c, memory):
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i = Q[rows] / np.sqrt(q.shape[1])
        state = on_chip(memory, identity(len(q_i), v.shape[1]))
        for cols in memory.turns(tiles(len(K), b_c)):
            state = update(state, q_i @ K[cols].T, V[cols])
        O[rows], L[rows] = finish(state)
    return O.array, L.array


def outer_q_written_out(q, k, v, b_r, b_c, memory):
    """By indices, with the update written out, and without memory.turns."""
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for i in range(0, len(q), b_r):
        q_i = Q[i : i + b_r]
        m, l = np.full(len(q_i), -np.inf), np.zeros(len(q_i))
        acc = np.zeros((len(q_i), v.shape[1]))
        for j in range(0, len(k), b_c):
            s = q_i @ K[j : j + b_c].T * q.shape[1] ** -0.5
            m_new = np.maximum(m, s.max(1))
            alpha, p = np.exp(m - m_new), np.exp(s - m_new[:, None])
            l, acc, m = l * alpha + p.sum(1), acc * alpha[:, None] + p @ V[j : j + b_c], m_new
        O[i : i + b_r] = acc / l[:, None]
        L[i : i + b_r] = m + np.log(l)
    return O.array, L.array


def outer_q_merging(q, k, v, b_r, b_c, memory):
    """One state a tile, merged."""
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i, state = Q[rows], identity(rows.stop - rows.start, v.shape[1])
        for cols in memory.turns(reversed(tiles(len(K), b_c))):
            s = q_i @ K[cols].T / np.sqrt(q.shape[1])
            state = merge(state, state_of(s, V[cols]))
        O[rows], L[rows] = finish(state)
    return O.array, L.array


def carried(q, k, v, b_r, b_c, memory):
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    state = identity(min(b_r, len(q)), v.shape[1])
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i = Q[rows]
        for cols in memory.turns(tiles(len(K), b_c)):
            s = scale * (q_i @ K[cols].T)
            state = update(state, s, V[cols])
        O[rows], L[rows] = finish(state)
    return O.array, L.array


def full_state(q, k, v, b_r, b_c, memory):
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i = Q[rows]
        state = identity(b_r, v.shape[1])
        for cols in memory.turns(tiles(len(K), b_c)):
            state = update(state, scale * (q_i @ K[cols].T), V[cols])
        O[rows], L[rows] = finish(state)
    return O.array, L.array


def sizes_exchanged(q, k, v, b_r, b_c, memory):
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_c)):
        q_i, state = Q[rows], identity(rows.stop - rows.start, v.shape[1])
        for cols in memory.turns(tiles(len(K), b_r)):
            state = update(state, scale * (q_i @ K[cols].T), V[cols])
        O[rows], L[rows] = finish(state)
    return O.array, L.array


def reset(q, k, v, b_r, b_c, memory):
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i = Q[rows]
        for cols in memory.turns(tiles(len(K), b_c)):
            state = identity(len(q_i), v.shape[1])
            s = scale * (q_i @ K[cols].T)
            state = update(state, s, V[cols])
        O[rows], L[rows] = finish(state)
    return O.array, L.array


def undivided(q, k, v, b_r, b_c, memory):
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i, state = Q[rows], identity(rows.stop - rows.start, v.shape[1])
        for cols in memory.turns(tiles(len(K), b_c)):
            state = update(state, scale * (q_i @ K[cols].T), V[cols])
        O[rows], L[rows] = state.acc, state.m + np.log(state.l)
    return O.array, L.array


def divided_in_every_turn(q, k, v, b_r, b_c, memory):
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i, (m, l, acc) = Q[rows], identity(rows.stop - rows.start, v.shape[1])
        for cols in memory.turns(tiles(len(K), b_c)):
            m, l, acc = update(State(m, l, acc), scale * (q_i @ K[cols].T), V[cols])
            acc = acc / l[:, None]
        O[rows], L[rows] = acc / l[:, None], m + np.log(l)
    return O.array, L.array


def unscaled(q, k, v, b_r, b_c, memory):
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i, state = Q[rows], identity(rows.stop - rows.start, v.shape[1])
        for cols in memory.turns(tiles(len(K), b_c)):
            state = update(state, q_i @ K[cols].T, V[cols])
        O[rows], L[rows] = finish(state)
    return O.array, L.array


def after_the_loops(q, k, v, b_r, b_c, memory):
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i, state = Q[rows], identity(rows.stop - rows.start, v.shape[1])
        for cols in memory.turns(tiles(len(K), b_c)):
            state = update(state, scale * (q_i @ K[cols].T), V[cols])
    O[rows], L[rows] = finish(state)
    return O.array, L.array


def unwritten(q, k, v, b_r, b_c, memory):
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i, state = Q[rows], identity(rows.stop - rows.start, v.shape[1])
        for cols in memory.turns(tiles(len(K), b_c)):
            state = update(state, q_i @ K[cols].T, V[cols])
    return O.array, L.array


def as_it_was(q, k, v, b_r, b_c, memory):
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    M, SUM, ACC = states_in_slow_memory(memory, len(q), v.shape[1])
    for cols in memory.turns(tiles(len(K), b_c)):
        k_j, v_j = K[cols], V[cols]
        for rows in memory.turns(tiles(len(Q), b_r)):
            s = memory.chip("S", scale * (Q[rows] @ k_j.T))
            M[rows], SUM[rows], ACC[rows] = update(State(M[rows], SUM[rows], ACC[rows]), s, v_j)
    for rows in memory.turns(tiles(len(Q), b_r)):
        O[rows], L[rows] = finish(State(M[rows], SUM[rows], ACC[rows]))
    return O.array, L.array


def only_the_for_lines(q, k, v, b_r, b_c, memory):
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    M, SUM, ACC = states_in_slow_memory(memory, len(q), v.shape[1])
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i = Q[rows]
        for cols in memory.turns(tiles(len(K), b_c)):
            state = State(M[rows], SUM[rows], ACC[rows])
            M[rows], SUM[rows], ACC[rows] = update(state, scale * (q_i @ K[cols].T), V[cols])
        O[rows], L[rows] = finish(State(M[rows], SUM[rows], ACC[rows]))
    return O.array, L.array


def q_inside(q, k, v, b_r, b_c, memory):
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        state = identity(rows.stop - rows.start, v.shape[1])
        for cols in memory.turns(tiles(len(K), b_c)):
            state = update(state, scale * (Q[rows] @ K[cols].T), V[cols])
        O[rows], L[rows] = finish(state)
    return O.array, L.array


def last_loop_of_v1(q, k, v, b_r, b_c, memory):
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i, state = Q[rows], identity(rows.stop - rows.start, v.shape[1])
        for cols in memory.turns(tiles(len(K), b_c)):
            state = update(state, scale * (q_i @ K[cols].T), V[cols])
    for rows in memory.turns(tiles(len(Q), b_r)):
        O[rows], L[rows] = finish(state)
    return O.array, L.array


def not_assigned(q, k, v, b_r, b_c, memory):
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i, state = Q[rows], identity(rows.stop - rows.start, v.shape[1])
        for cols in memory.turns(tiles(len(K), b_c)):
            update(state, scale * (q_i @ K[cols].T), V[cols])
        O[rows], L[rows] = finish(state)
    return O.array, L.array


def maximum_from(first, end):
    """The update written out; the running maximum begins at a number."""

    def answer(q, k, v, b_r, b_c, memory):
        Q, K, V, O, L = in_slow_memory(memory, q, k, v)
        for i in range(0, len(q), b_r):
            q_i = Q[i : i + b_r] / np.sqrt(q.shape[1])
            m, l = np.full(len(q_i), float(first)), np.zeros(len(q_i))
            acc = np.zeros((len(q_i), v.shape[1]))
            for j in range(0, len(k), b_c):
                s = q_i @ K[j : j + b_c].T
                m_new = np.maximum(m, s.max(1))
                alpha, p = np.exp(m - m_new), np.exp(s - m_new[:, None])
                l, acc, m = l * alpha + p.sum(1), acc * alpha[:, None] + p @ V[j : j + b_c], m_new
            O[i : i + b_r], L[i : i + b_r] = end(State(m, l, acc))
        return O.array, L.array

    return answer


def plainly(state):
    return state.acc / state.l[:, None], np.log(state.l) + state.m


def states_still_made(q, k, v, b_r, b_c, memory):
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    M, SUM, ACC = states_in_slow_memory(memory, len(q), v.shape[1])
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i, state = Q[rows], identity(rows.stop - rows.start, v.shape[1])
        for cols in memory.turns(tiles(len(K), b_c)):
            state = update(state, scale * (q_i @ K[cols].T), V[cols])
        O[rows], L[rows] = finish(state)
    return O.array, L.array


def small_letters(q, k, v, b_r, b_c, memory):
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i, state = q[rows], identity(rows.stop - rows.start, v.shape[1])
        for cols in memory.turns(tiles(len(K), b_c)):
            state = update(state, q_i @ k[cols].T / np.sqrt(q.shape[1]), v[cols])
        O[rows], L[rows] = finish(state)
    return O.array, L.array


def no_memory(q, k, v, b_r, b_c, memory):
    """Right, but nothing is moved at all."""
    return naive_attention(q, k, v)


def o_inside(q, k, v, b_r, b_c, memory):
    scale = 1 / np.sqrt(q.shape[1])
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i, state = Q[rows], identity(rows.stop - rows.start, v.shape[1])
        for cols in memory.turns(tiles(len(K), b_c)):
            state = update(state, scale * (q_i @ K[cols].T), V[cols])
            O[rows], L[rows] = finish(state)
    return O.array, L.array


def k_whole(q, k, v, b_r, b_c, memory):
    """Right, but all keys are read at once."""
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        O[rows], L[rows] = finish(state_of(Q[rows] @ K[:].T / np.sqrt(q.shape[1]), V[:]))
    return O.array, L.array


def v_twice(q, k, v, b_r, b_c, memory):
    """V is read once more than needed."""
    Q, K, V, O, L = in_slow_memory(memory, q, k, v)
    for rows in memory.turns(tiles(len(Q), b_r)):
        q_i, state = Q[rows] / np.sqrt(q.shape[1]), identity(rows.stop - rows.start, v.shape[1])
        for cols in memory.turns(tiles(len(K), b_c)):
            assert len(V[cols]) == len(K[cols])
            state = update(state, q_i @ K[cols].T, V[cols])
        O[rows], L[rows] = finish(state)
    return O.array, L.array


def bytes_of_lesson(n_q, n_k, d, d_v, b_r, b_c):
    t_c = -(-n_k // b_c)
    start = 4 * n_q * (d_v + 2)
    loops = 2 * (d + d_v) * n_k + t_c * n_q * (2 * d + 8 * d_v + 16)
    return start + loops + n_q * (d_v * (4 + 2) + 3 * 4)


def bytes_by_loops(n_q, n_k, d, d_v, b_r, b_c):
    moved = n_q * (d_v + 2) * 4
    for c in range(0, n_k, b_c):
        moved += min(b_c, n_k - c) * (d + d_v) * 2
        for r in range(0, n_q, b_r):
            moved += min(b_r, n_q - r) * (2 * d + 2 * 4 * (d_v + 2))
    return moved + n_q * ((d_v + 2) * 4 + d_v * 2 + 4)


def counted(*, t=lambda n_q, n_k, b_r, b_c: -(-n_k // b_c), drop=lambda *sizes: 0, **new):
    """The right sum with one thing changed: turns, a term dropped, or a factor."""

    def answer(n_q, n_k, d, d_v, b_r, b_c):
        e, s, ways, numbers = 2, new.get("s", 4), new.get("ways", 2), d_v + new.get("more", 2)
        numbers = d + 2 if new.get("wide") else numbers
        keys = n_k * (-(-n_q // b_r) if new.get("again") else 1)
        visit = n_q * (e * d + ways * s * numbers)
        moved = s * n_q * numbers + e * (d + d_v) * keys + t(n_q, n_k, b_r, b_c) * visit
        moved += n_q * (s * numbers + e * d_v + 4)
        return moved - drop(n_q, n_k, d, d_v, b_c)

    return answer


def bytes_of_v2(n_q, n_k, d, d_v, b_r, b_c):
    t_r = -(-n_q // b_r)
    return 2 * n_q * d + t_r * n_k * 2 * (d + d_v) + 2 * n_q * d_v + 4 * n_q


def bytes_padded(n_q, n_k, d, d_v, b_r, b_c):
    t_r, t_c = -(-n_q // b_r), -(-n_k // b_c)
    rows = t_r * b_r
    moved = 4 * rows * (d_v + 2) + 2 * (d + d_v) * t_c * b_c
    return moved + t_c * rows * (2 * d + 8 * (d_v + 2)) + rows * (4 * (d_v + 2) + 2 * d_v + 4)


def split_of_lesson(q, k, v, b_c, run):
    parts = tiles(len(k), b_c)
    states = [None] * len(parts)

    def program(j):
        s = q @ k[parts[j]].T / np.sqrt(q.shape[1])
        yield
        states[j] = state_of(s, v[parts[j]])

    run([program(j) for j in range(len(parts))])
    total = identity(len(q), v.shape[1])
    for state in states:
        total = merge(total, state)
    return finish(total)


def split_by_hand(q, k, v, b_c, run):
    """Normalised outputs and L of each part, in arrays; put together with softmax weights."""
    parts = tiles(len(k), b_c)
    outs = np.zeros((len(parts), len(q), v.shape[1]))
    lses = np.zeros((len(parts), len(q)))

    def program(j):
        k_j, v_j = k[parts[j]], v[parts[j]]
        yield
        s = q @ k_j.T / np.sqrt(q.shape[1])
        m = s.max(axis=1, keepdims=True)
        p = np.exp(s - m)
        yield
        outs[j] = p @ v_j / p.sum(axis=1, keepdims=True)
        yield
        lses[j] = m[:, 0] + np.log(p.sum(axis=1))

    run([program(j) for j in range(len(parts))])
    lse = np.logaddexp.reduce(lses, axis=0)
    return (np.exp(lses - lse)[:, :, None] * outs).sum(axis=0), lse


def split_unscaled(q, k, v, b_c, run):
    parts, states = tiles(len(k), b_c), []

    def program(j):
        s = q @ k[parts[j]].T
        yield
        states.append(state_of(s, v[parts[j]]))

    run([program(j) for j in range(len(parts))])
    return finish(merged(states))


def races(q, k, v, b_c, run):
    m, l, acc = identity(len(q), v.shape[1])

    def program(cols):
        state = State(m.copy(), l.copy(), acc.copy())
        yield
        new = update(state, q @ k[cols].T / np.sqrt(q.shape[1]), v[cols])
        yield
        m[:], l[:], acc[:] = new

    run([program(cols) for cols in tiles(len(k), b_c)])
    return acc / l[:, None], m + np.log(l)


def in_one_step(q, k, v, b_c, run):
    """All programs share a state; nothing marks where another may come in between."""
    place = [identity(len(q), v.shape[1])]

    def program(cols):
        s = q @ k[cols].T / np.sqrt(q.shape[1])
        yield
        place[0] = merge(place[0], state_of(s, v[cols]))

    run([program(cols) for cols in tiles(len(k), b_c)])
    return finish(place[0])


def in_one_step_by_name(q, k, v, b_c, run):
    total = identity(len(q), v.shape[1])

    def program(cols):
        nonlocal total
        yield
        total = update(total, q @ k[cols].T / np.sqrt(q.shape[1]), v[cols])
        yield

    run([program(cols) for cols in tiles(len(k), b_c)])
    return finish(total)


def in_one_step_in_place(q, k, v, b_c, run):
    m, l, acc = identity(len(q), v.shape[1])

    def program(m, l, acc, cols):
        s = q @ k[cols].T / np.sqrt(q.shape[1])
        yield
        m[:], l[:], acc[:] = update(State(m, l, acc), s, v[cols])

    run([program(m, l, acc, cols) for cols in tiles(len(k), b_c)])
    return finish(State(m, l, acc))


class Total:
    """A place to share, with a method."""

    def __init__(self, state):
        self.state = state

    def add(self, state):
        self.state = merge(self.state, state)


def in_one_step_by_method(q, k, v, b_c, run):
    total = Total(identity(len(q), v.shape[1]))

    def program(cols):
        yield
        total.add(state_of(q @ k[cols].T / np.sqrt(q.shape[1]), v[cols]))

    def start():
        run([program(cols) for cols in tiles(len(k), b_c)])

    start()
    return finish(total.state)


GLOBAL = []


def in_one_step_globally(q, k, v, b_c, run):
    GLOBAL[:] = [identity(len(q), v.shape[1])]

    def program(cols):
        yield
        GLOBAL[0] = merge(GLOBAL[0], state_of(q @ k[cols].T / np.sqrt(q.shape[1]), v[cols]))

    run([program(cols) for cols in tiles(len(k), b_c)])
    return finish(GLOBAL[0])


def split_row_by_row(q, k, v, b_c, run):
    """A state of its own for each program, which it builds key by key, with a stop after each."""
    parts = tiles(len(k), b_c)
    states = np.full(len(parts), None, dtype=object)
    order = []

    def program(j):
        states[j] = identity(len(q), v.shape[1])
        for c in range(parts[j].start, parts[j].stop):
            states[j] = update(states[j], q @ k[c : c + 1].T / np.sqrt(q.shape[1]), v[c : c + 1])
            yield
        order.append(j)

    run(program(j) for j in range(len(parts)))
    return finish(merged([states[j] for j in order]))


def programs(end, make=state_of, count=None):
    """Private states; end(states) makes O and L of them."""

    def answer(q, k, v, b_c, run):
        parts = tiles(len(k), b_c)[:count]
        states = {}

        def program(j):
            s = q @ k[parts[j]].T / np.sqrt(q.shape[1])
            yield
            states[j] = make(s, v[parts[j]])
            yield

        run([program(j) for j in range(len(parts))])
        return end([states[j] for j in sorted(states)])

    return answer


def merged(states):
    total = states[0]
    for state in states[1:]:
        total = merge(total, state)
    return total


def no_maximum(s, v_j):
    p = np.exp(s)
    return State(np.zeros(len(s)), p.sum(axis=1), p @ v_j)


def sums_added(states):
    m = np.maximum.reduce([state.m for state in states])
    l = sum(state.l for state in states)
    return sum(state.acc for state in states) / l[:, None], m + np.log(l)


def mean_of_outputs(states):
    return np.mean([finish(state)[0] for state in states], axis=0), finish(merged(states))[1]


def sum_of_outputs(states):
    return np.sum([finish(state)[0] for state in states], axis=0), finish(merged(states))[1]


def each_alone(q, k, v, b_c, run):
    """All programs share a state, and each is run by itself."""
    place = [identity(len(q), v.shape[1])]

    def program(cols):
        state = place[0]
        yield
        place[0] = update(state, q @ k[cols].T / np.sqrt(q.shape[1]), v[cols])

    for cols in tiles(len(k), b_c):
        run([program(cols)])
    return finish(place[0])


def after_run(q, k, v, b_c, run):
    """The programs only say which part is theirs; the states are made when they are done."""
    parts, mine = tiles(len(k), b_c), []

    def program(j):
        yield
        mine.append(parts[j])

    run([program(j) for j in range(len(parts))])
    return finish(merged([state_of(q @ k[c].T / np.sqrt(q.shape[1]), v[c]) for c in mine]))


def no_yield(q, k, v, b_c, run):
    states = []

    def program(cols):
        states.append(state_of(q @ k[cols].T / np.sqrt(q.shape[1]), v[cols]))

    run([program(cols) for cols in tiles(len(k), b_c)])
    return finish(merged(states))


def one_program(q, k, v, b_c, run):
    states = []

    def program():
        yield
        states.append(state_of(q @ k.T / np.sqrt(q.shape[1]), v))

    run([program()])
    return finish(states[0])


TRUTH = {"a": False, "b": False, "c": True, "d": False, "e": True, "f": False, "g": False}

RIGHT = {
    "outer_q": [outer_q_of_lesson, outer_q_written_out, outer_q_merging],
    "v1_total": [bytes_of_lesson, bytes_by_loops],
    "threshold": [
        lambda e, s: (e + 2 * s) / (2 * e),
        lambda e, s: 0.5 + s / e,
        lambda e, s: Fraction(e + 2 * s, 2 * e),
    ],
    "split_k": [
        split_of_lesson,
        split_by_hand,
        split_row_by_row,
        programs(lambda states: finish(merged(states))),
    ],
    "judge": [TRUTH],
}

# exercise → {key of the mistake that the check must name: wrong answers}
WRONG = {
    "outer_q": {
        "state_carried": [carried],
        "state_of_full_tile": [full_state],
        "tile_sizes_exchanged": [sizes_exchanged],
        "state_reset": [reset],
        "not_divided": [undivided],
        "divided_inside": [divided_in_every_turn],
        "scale_missing": [unscaled],
        "written_after_the_loops": [after_the_loops],
        "not_written": [unwritten],
        "last_loop_kept": [last_loop_of_v1],
        "update_not_assigned": [not_assigned],
        "maximum_from_zero": [
            maximum_from(0, plainly),
            maximum_from(0, finish),
            maximum_from(-10000, plainly),
        ],
        "states_left": [states_still_made],
        "not_from_slow_memory": [small_letters],
        "loops_not_turned": [as_it_was],
        "state_in_slow_memory": [only_the_for_lines],
        "q_read_again": [q_inside],
        "o_written_again": [o_inside],
        "": [k_whole, v_twice, no_memory],
    },
    "v1_total": {
        "v2_order": [bytes_of_v2],
        "one_way": [counted(ways=1)],
        "start_or_end_forgotten": [counted(drop=lambda n_q, n_k, d, d_v, b_c: 4 * n_q * (d_v + 2))],
        "start_and_end_forgotten": [
            counted(drop=lambda n_q, n_k, d, d_v, b_c: 8 * n_q * (d_v + 2))
        ],
        "state_in_two_bytes": [counted(s=2)],
        "m_and_l_forgotten": [counted(more=0)],
        "L_forgotten": [counted(drop=lambda n_q, n_k, d, d_v, b_c: 4 * n_q)],
        "O_forgotten": [counted(drop=lambda n_q, n_k, d, d_v, b_c: 2 * n_q * d_v)],
        "floor": [counted(t=lambda n_q, n_k, b_r, b_c: n_k // b_c)],
        "not_rounded": [counted(t=lambda n_q, n_k, b_r, b_c: n_k / b_c)],
        "one_turn_too_many": [counted(t=lambda n_q, n_k, b_r, b_c: n_k // b_c + 1)],
        "q_read_once": [
            counted(drop=lambda n_q, n_k, d, d_v, b_c: 2 * n_q * d * (-(-n_k // b_c) - 1)),
        ],
        "d_for_d_v": [counted(wide=True)],
        "L_in_two_bytes": [counted(drop=lambda n_q, n_k, d, d_v, b_c: 2 * n_q)],
        "O_in_four_bytes": [counted(drop=lambda n_q, n_k, d, d_v, b_c: -2 * n_q * d_v)],
        "query_tiles_counted": [counted(t=lambda n_q, n_k, b_r, b_c: -(-n_q // b_r))],
        "every_pair": [counted(t=lambda n_q, n_k, b_r, b_c: -(-n_q // b_r) * -(-n_k // b_c))],
        "k_for_every_query_tile": [counted(again=True)],
        "padded": [bytes_padded],
        "": [
            lambda n_q, n_k, d, d_v, b_r, b_c: 10 * d * n_q * n_k / b_c,  # for large N only
            counted(drop=lambda n_q, n_k, d, d_v, b_c: 2 * n_q * (d_v - d)),  # O as wide as Q
            counted(drop=lambda n_q, n_k, d, d_v, b_c: 2 * n_k * (d_v - d)),  # V as wide as K
        ],
    },
    "threshold": {
        "upside_down": [lambda e, s: 2 * e / (e + 2 * s)],
        "one_way": [lambda e, s: (e + s) / (2 * e)],
        "v_forgotten": [lambda e, s: (e + 2 * s) / e],
        "q_forgotten": [lambda e, s: 2 * s / (2 * e)],
        "q_both_ways": [lambda e, s: 1 + s / e],
        "multiplied_by_e": [lambda e, s: (e + 2 * s) / 2 * e],
        "one_number_for_all": [lambda e, s: 2.5],
        "rounded_down": [lambda e, s: (e + 2 * s) // (2 * e)],
        "": [lambda e, s: (1 + 2 * s) / 2],
    },
    "split_k": {
        "shared_state": [races],
        "shared_in_one_step": [
            in_one_step,
            in_one_step_by_name,
            in_one_step_in_place,
            in_one_step_by_method,
            in_one_step_globally,
        ],
        "last_program_only": [programs(lambda states: finish(states[-1]))],
        "added_unscaled": [programs(sums_added)],
        "averaged": [programs(mean_of_outputs)],
        "outputs_added": [programs(sum_of_outputs)],
        "not_divided": [
            programs(lambda states: (merged(states).acc, finish(merged(states))[1])),
        ],
        "scale_missing": [split_unscaled],
        "from_zero": [programs(lambda states: finish(merged(states)), no_maximum)],
        "merge_not_assigned": [programs(lambda states: finish(identity(*states[0].acc.shape)))],
        "work_after_run": [after_run],
        "": [
            no_yield,
            one_program,
            each_alone,
            programs(lambda states: finish(merged(states)), count=1),
            programs(lambda states: finish(merged(states))[0]),
        ],
    },
    "judge": {"": [{**TRUTH, key: not truth} for key, truth in TRUTH.items()]},
}
