"""Checks of lesson 08: the loops turned round, bytes of v1 order, the threshold, split-K."""

import sys

import numpy as np

from utils.attention import naive_attention, tiled_attention_v1
from utils.checks.core import Case, Exercise, Mistake, exercise
from utils.checks.outer_q_mistakes import loop_mistakes
from utils.checks.scores import values, with_scores
from utils.checks.split_k_mistakes import split_mistakes
from utils.checks.v1_total_mistakes import byte_mistakes
from utils.checks.writers import one_writer_each
from utils.interleave import interleave
from utils.language import say
from utils.memory import Memory
from utils.traffic import v2_bytes

TENSORS = ("Q", "K", "V", "O", "L")
LOW = [[-20000, -20001, -20002, -20000, -20003], [-19999, -20000, -20001, -20003, -20000]]


def tensors_with(scores, d_v: int = 3):
    """Return q, k, v that give exactly these scores with the scale 1/√d."""
    q, k = with_scores(scores)
    return q * np.sqrt(q.shape[1]), k, values(len(k), d_v)


def ordinary(n_q: int, n_k: int, d: int, d_v: int, seed: int):
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal(shape) for shape in ((n_q, d), (n_k, d), (n_k, d_v)))


def run_outer_q(attempt, q, k, v, b_r, b_c, what="results"):
    """Use outer_q on counted memory: return (O, L), or bytes of Q, K, V, O, L, and of others."""
    memory = Memory(dtype="float16")
    result = attempt(q, k, v, b_r, b_c, memory)
    if what == "results":
        return result
    most = max((event.shape[0] for event in memory.events if event.kind == "read"), default=0)
    if most > max(b_r, b_c):
        raise ValueError(
            say(
                en=f"{most} rows were read at once; a tile has at most {max(b_r, b_c)}",
                zh=f"一次读了 {most} 行；一个 tile 最多 {max(b_r, b_c)} 行",
            )
        )
    moved = memory.read + memory.written
    return [*(moved[name] for name in TENSORS), sum(moved.values()) - named(moved)]


def named(moved) -> int:
    return sum(moved[name] for name in TENSORS)


@exercise
def outer_q() -> Exercise:
    """outer_q(q, k, v, b_r, b_c, memory): O and L in v2 order, with v2 order's bytes."""

    def case(tensors, b_r, b_c, says, kind="algebra") -> Case:
        sizes = ", ".join(str(x.shape) for x in tensors)
        call = f"outer_q(q, k, v, {b_r}, {b_c}, memory)  # q, k, v: {sizes}"
        args = (*tensors, b_r, b_c)
        return Case(says, args, naive_attention(*tensors), kind, 1e-9, call=call)

    def bill(n_q, n_k, d, d_v, b_r, b_c, says) -> Case:
        tensors = ordinary(n_q, n_k, d, d_v, 1)
        moved = v2_bytes(n_q, n_k, d, d_v, b_r=b_r, b_c=b_c)
        columns = say(
            en="; the bytes of Q, K, V, O, L, and of all others",
            zh="；依次是 Q、K、V、O、L 和其余张量的字节数",
        )
        return Case(
            says + columns,
            (*tensors, b_r, b_c, "bytes"),
            [*(moved[name] for name in TENSORS), 0],
            "",
            otherwise=say(
                en="O and L are right, but not moved as in v2 order: which of the six numbers differs?",
                zh="O 和 L 是对的，但移动的方式不是 v2 顺序：六个数里哪一个不同？",
            ),
            call=f"outer_q(q, k, v, {b_r}, {b_c}, memory)  # N_q {n_q}, N_k {n_k}, d {d}, d_v {d_v}",
        )

    fall = [[900, 899, 0, 1, -900, -901], [-900, 0, 1, 2, 899, 900]]
    huge = [[0, 1, 0, 10000, 1, 0, 2], [1, 0, 2, 1, 0, 3, 1]]
    return Exercise(
        use=run_outer_q,
        cases=[
            case(tensors_with([[1, 3, 4], [0, 2, 5]]), 2, 1, say(en="one Q tile", zh="一个 Q 块")),
            case(ordinary(4, 6, 2, 2, 2), 2, 2, say(en="two Q tiles", zh="两个 Q 块")),
            case(ordinary(7, 8, 3, 2, 3), 3, 3, say(en="ragged tails", zh="有尾块")),
            case(
                ordinary(5, 11, 2, 4, 4),
                2,
                4,
                say(en="more keys than queries", zh="key 比 query 多"),
            ),
            case(
                tensors_with(fall),
                1,
                2,
                say(en="maxima fall by 900, and rise", zh="最大值每次降 900，或升 900"),
                "floats",
            ),
            case(
                tensors_with(LOW), 1, 2, say(en="all near -20000", zh="都在 -20000 附近"), "floats"
            ),
            case(tensors_with(huge), 2, 2, say(en="a huge score", zh="有一个极大的分数"), "floats"),
            bill(6, 6, 2, 2, 2, 2, say(en="bytes, three tiles each", zh="字节数，各三个 tile")),
            bill(7, 11, 3, 2, 3, 4, say(en="bytes, ragged", zh="字节数，有尾块")),
        ],
        mistakes=loop_mistakes(),
    )


@exercise
def v1_total() -> Exercise:
    """v1_total(n_q, n_k, d, d_v, b_r, b_c): what the counter counts for v1 order."""
    rng = np.random.default_rng(8)
    sizes = [(4, 9, 2, 5, 2, 3), (6, 4, 3, 2, 2, 2), (4, 5, 2, 2, 2, 2), (5, 7, 3, 2, 2, 3)]
    sizes += [
        tuple(rng.integers(1, 30, 4).tolist() + rng.integers(1, 9, 2).tolist()) for _ in range(20)
    ]

    def counted(n_q, n_k, d, d_v, b_r, b_c) -> int:
        memory = Memory(dtype="float16", log=False)
        tensors = np.zeros((n_q, d)), np.zeros((n_k, d)), np.zeros((n_k, d_v))
        tiled_attention_v1(*tensors, b_r=b_r, b_c=b_c, memory=memory)
        return memory.traffic

    told = [
        say(en="two query tiles, three key tiles", zh="两个 query tile，三个 key tile"),
        say(en="three query tiles, two key tiles", zh="三个 query tile，两个 key tile"),
        say(en="the last key tile is ragged", zh="最后一个 key tile 是尾块"),
        say(en="all tails ragged", zh="两个方向都有尾块"),
    ]
    told += [say(en=f"random sizes, number {n}", zh=f"第 {n} 组随机尺寸") for n in range(1, 21)]
    return Exercise(
        cases=[Case(says, args, counted(*args)) for says, args in zip(told, sizes, strict=True)],
        mistakes=byte_mistakes(),
    )


@exercise
def threshold() -> Exercise:
    """threshold(e, s): B_c / B_r at which 2e / B_r = (e + 2s) / B_c."""
    told = {
        "upside_down": (
            lambda e, s: 2 * e / (e + 2 * s),
            say(
                en="this is B_r / B_c; the task asks for B_c / B_r.",
                zh="这是 B_r / B_c；要的是 B_c / B_r。",
            ),
        ),
        "one_way": (
            lambda e, s: (e + s) / (2 * e),
            say(
                en="the state goes both ways: it is read and written, so 2s.",
                zh="状态要来回搬：既读又写，所以是 2s。",
            ),
        ),
        "v_forgotten": (
            lambda e, s: (e + 2 * s) / e,
            say(
                en="in v2 order V moves as well as K: 2e, not e.",
                zh="v2 顺序里除了 K，V 也要移动：是 2e，不是 e。",
            ),
        ),
        "q_both_ways": (
            lambda e, s: (2 * e + 2 * s) / (2 * e),
            say(
                en="Q is only read: e, not 2e. The state is what goes both ways.",
                zh="Q 只读不写：是 e，不是 2e。要来回搬的是状态。",
            ),
        ),
        "multiplied_by_e": (
            lambda e, s: (e + 2 * s) / 2 * e,
            say(
                en="`/ 2 * e` divides by 2 and multiplies by e: write `/ (2 * e)`.",
                zh="`/ 2 * e` 是先除以 2 再乘 e：要写 `/ (2 * e)`。",
            ),
        ),
        "one_number_for_all": (
            lambda e, s: 2.5,
            say(
                en="2.5 belongs to e = 2 and s = 4; the function must use both.",
                zh="2.5 只属于 e = 2、s = 4；函数要用到这两个参数。",
            ),
        ),
        "rounded_down": (
            lambda e, s: (e + 2 * s) // (2 * e),
            say(en="`//` rounds down: use `/`.", zh="`//` 会向下取整：请用 `/`。"),
        ),
        "q_forgotten": (
            lambda e, s: s / e,
            say(
                en="in v1 order Q travels with the state: e + 2s, not 2s.",
                zh="v1 顺序里 Q 和状态一起走：是 e + 2s，不是 2s。",
            ),
        ),
    }
    # values that a float holds exactly, so that an exact answer passes as well; 8, 4 comes first
    # because at 2, 4 rounding down looks like a forgotten Q
    cases = [(8, 4, 1.0), (2, 4, 2.5), (4, 4, 1.5), (1, 4, 4.5), (2, 2, 1.5), (8, 2, 0.75)]
    return Exercise(
        cases=[
            Case(
                say(
                    en=f"inputs of {e} bytes, state of {s}",
                    zh=f"输入每个数 {e} 字节，状态 {s} 字节",
                ),
                (e, s),
                value,
                tolerance=1e-12,
            )
            for e, s, value in cases
        ],
        mistakes=[Mistake(key, "algebra", model, says) for key, (model, says) in told.items()],
    )


def taking_turns(pick):
    """Return run(programs): steps of the unfinished programs, pick(turn, n) says whose.

    Raises ValueError when a program is no generator.
    """

    def run(programs):
        programs = list(programs)
        if not all(hasattr(program, "__next__") for program in programs):
            raise ValueError(
                say(
                    en="program(j) must be a generator: give it at least one `yield`",
                    zh="program(j) 必须是生成器：里面至少要有一个 `yield`",
                )
            )
        run.started += len(programs)
        turns = iter(range(10**6))
        interleave(programs, lambda n: pick(next(turns), n))

    run.started = 0
    return run


SCHEDULES = {
    "one by one": lambda turn, n: 0,
    "last first": lambda turn, n: n - 1,
    "in step": lambda turn, n: turn % n,
    "mixed": lambda turn, n: (turn * turn + turn // 3) % n,
}


def run_split_k(attempt, q, k, v, b_c, schedule, watched=False):
    """Use split_k with one of the SCHEDULES; ValueError unless every key tile has a program.

    watched: SharedPlace is raised when two programs write to the same place.
    """
    run = taking_turns(SCHEDULES[schedule])
    kept, calls = (k.copy(), v.copy()), []

    def run_once(programs):
        calls.append(1)
        if watched:
            programs = one_writer_each(programs, sys._getframe(1), run_split_k.__code__)
        run(programs)
        k.fill(np.nan)  # whoever reads them now has left the programs' work undone
        v.fill(np.nan)

    result = attempt(q, k, v, b_c, run_once)
    k[:], v[:] = kept
    if len(calls) != 1:
        raise ValueError(
            say(
                en=f"run was called {len(calls)} times; call it once, with all programs",
                zh=f"run 调用了 {len(calls)} 次；应当只调用一次，把所有程序交给它",
            )
        )
    asked = -(-len(k) // b_c)
    if run.started != asked:
        raise ValueError(
            say(
                en=f"run got {run.started} programs; there are {asked} key tiles",
                zh=f"run 收到 {run.started} 个程序；key tile 有 {asked} 个",
            )
        )
    return result


@exercise
def split_k() -> Exercise:
    """split_k(q, k, v, b_c, run): O and L, whatever the order in which run lets programs go on."""

    def case(tensors, b_c, schedule, says, kind="algebra", watched=False) -> Case:
        args = (*tensors, b_c, schedule, watched)
        call = f"split_k(q, k, v, {b_c}, run)  # steps: {schedule}"
        return Case(says, args, naive_attention(*tensors), kind, 1e-9, call=call)

    rise = [[-900, -901, 0, 1, 900, 899, 3], [900, 899, 0, 1, -900, -901, 3]]
    huge = [[0, 1, 0, 10000, 1, 0, 2]]
    small, ragged = tensors_with([[1, 2, 0, 3]]), ordinary(5, 11, 3, 2, 5)
    in_step = say(en="all programs in step", zh="各程序齐步走")
    return Exercise(
        use=run_split_k,
        cases=[
            case(small, 2, "one by one", say(en="one by one", zh="一个接一个")),
            case(small, 2, "in step", in_step),
            case(ragged, 4, "in step", in_step + say(en=", ragged tail", zh="，有尾块")),
            case(ragged, 3, "last first", say(en="the last one first", zh="最后一个先走")),
            case(ragged, 2, "mixed", say(en="steps mixed", zh="步子交错")),
            case(
                tensors_with(rise),
                2,
                "in step",
                say(en="tile maxima 900 apart", zh="tile 最大值相差 900"),
                "floats",
            ),
            case(
                tensors_with(LOW),
                2,
                "mixed",
                say(en="all near -20000", zh="都在 -20000 附近"),
                "floats",
            ),
            case(
                tensors_with(huge),
                2,
                "mixed",
                say(en="a huge score", zh="有一个极大的分数"),
                "floats",
            ),
            case(
                ragged,
                4,
                "in step",
                say(
                    en="the results are right; this looks at who writes where",
                    zh="结果都对；这一项看谁写了哪里",
                ),
                "",
                watched=True,
            ),
        ],
        mistakes=split_mistakes(),
    )


@exercise
def judge() -> Exercise:
    """Statements about loop order: True or False for each letter."""
    statements = {
        "a": (
            False,
            say(
                en="a: the table of v1 order has no row S; a tile of scores is dropped on chip.",
                zh="a：v1 顺序的表里没有 S 这一行；分数 tile 在片上就丢掉了。",
            ),
        ),
        "b": (
            False,
            say(
                en="b: every query tile reads all of K and V again. Q is read once.",
                zh="b：每个 query tile 都要把 K 和 V 重读一遍。只读一次的是 Q。",
            ),
        ),
        "c": (
            True,
            say(
                en="c: true. B_c / B_r = 4 lies above the threshold 2.5.",
                zh="c：对。B_c / B_r = 4，超过门槛 2.5。",
            ),
        ),
        "d": (
            False,
            say(
                en="d: bytes and time are different figures; in the recorded run 2.5 times the bytes cost 1.6 to 3.3 times the time.",
                zh="d：字节和时间是两回事：在记录下来的运行里，2.5 倍的字节用了 1.6 到 3.3 倍的时间。",
            ),
        ),
        "e": (
            True,
            say(
                en="e: true. No query tile reads what another writes; shuffled, the bits were the same.",
                zh="e：对。没有一个 query tile 会读别人写的东西；打乱次序，结果逐位相同。",
            ),
        ),
        "f": (
            False,
            say(
                en="f: that mixes order with parallelism. v1 : v2_serial is the order.",
                zh="f：这把顺序和并行混在了一起。v1 : v2_serial 才是顺序。",
            ),
        ),
        "g": (
            False,
            say(
                en="g: a race depends on timing; some of the shuffles gave the right result by luck.",
                zh="g：竞争要看时机；打乱的那几次里，也可能碰巧得到对的结果。",
            ),
        ),
    }
    return Exercise(
        cases=[Case(why, (key,), truth, kind="") for key, (truth, why) in statements.items()],
        use=lambda answers, key: answers[key],
        show_all=True,
    )
