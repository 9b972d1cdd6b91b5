"""Typical mistakes of lesson 08 in programs that share keys out, each as a small wrong program."""

import numpy as np

from utils.attention import naive_attention
from utils.checks.core import Mistake
from utils.language import say
from utils.states import State, finish, identity, merge, state_of, update
from utils.tiles import tiles


def private(program=state_of, join=None, scaled=True):
    """Return split_k with one state a program; join(states, q, v) makes O and L of them."""

    def model(q, k, v, b_c, run):
        parts, states = tiles(len(k), b_c), []

        def work(cols):
            s = q @ k[cols].T / (np.sqrt(q.shape[1]) if scaled else 1)
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


def shared_in_one_step(q, k, v, b_c, run):
    place = [identity(len(q), v.shape[1])]

    def work(cols):
        s = q @ k[cols].T / np.sqrt(q.shape[1])
        yield
        place[0] = update(place[0], s, v[cols])

    run([work(cols) for cols in tiles(len(k), b_c)])
    return finish(place[0])


def idle(q, k, v, b_c, run):
    def work():
        yield

    run([work() for _ in tiles(len(k), b_c)])
    return naive_attention(q, k, v)


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
        "shared_in_one_step": (
            shared_in_one_step,
            "",
            say(
                en="the programs still share a state. Here nothing can come between reading and writing, as"
                " there is no `yield` between them; on a GPU another program can. Give each program a"
                " state of its own, and merge after `run`.",
                zh="各程序还在共用一个状态。这里读和写之间没有 `yield`，所以插不进别的程序；在 GPU 上却插得进来。"
                "请给每个程序自己的状态，`run` 之后再合并。",
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
        "merge_not_assigned": (
            private(join=lambda states: finish(identity(*states[0].acc.shape))),
            "algebra",
            say(
                en="the total never changes: `merge` returns a new state, so `total = merge(...)`.",
                zh="total 一直没变：`merge` 返回新的状态，要写 `total = merge(...)`。",
            ),
        ),
        "work_after_run": (
            idle,
            "",
            say(
                en="the programs did not do the work: k and v may be read in them, not after `run`.",
                zh="计算没有放在程序里：k 和 v 只能在程序里读，`run` 之后不能再读。",
            ),
        ),
        "added_unscaled": (
            private(join=added),
            "algebra",
            say(
                en="ℓ and Õ are added although each is relative to its own m. Use ⊕.",
                zh="ℓ 和 Õ 各自以自己的 m 为参照，却直接相加了。要用 ⊕。",
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
        "scale_missing": (
            private(join=lambda states: finish(folded(states)), scaled=False),
            "algebra",
            say(en="the scores are not multiplied by 1/√d.", zh="分数没有乘 1/√d。"),
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
