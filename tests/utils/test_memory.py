"""Counted memory: what is counted, what is held, what is refused; and the lessons' loops on it."""

import time
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from utils.attention import naive_attention, tiled_attention
from utils.memory import BudgetExceeded, Memory
from utils.tiles import tiles

pytestmark = pytest.mark.filterwarnings("error")


def memory_with(n=8, d=4, **how):
    memory = Memory(**how)
    return memory, memory.slow("Q", np.arange(n * d, dtype=float).reshape(n, d))


# Moving


def test_reads_and_writes_are_counted_by_tensor_and_direction():
    memory, Q = memory_with()
    O = memory.slow("O", (8, 4))
    O[2:5] = Q[2:5]
    assert memory.read == {"Q": 3 * 4 * 4} and memory.written == {"O": 3 * 4 * 4}
    assert memory.traffic == 96
    assert np.array_equal(O.array[2:5], Q.array[2:5]) and np.isnan(O.array[:2]).all()


@pytest.mark.parametrize(("dtype", "size"), [("float64", 8), ("float16", 2), ("bfloat16", 2)])
def test_bytes_are_those_of_the_simulated_dtype(dtype, size):
    memory, Q = memory_with(dtype=dtype)
    L = memory.slow("L", (8,), dtype="float32")
    L[:] = Q[:].sum(axis=1)
    memory.chip("S", np.zeros((2, 3)))
    assert (memory.read["Q"], memory.written["L"]) == (32 * size, 32)
    assert memory.held == 32 * size + 24  # results on chip are float32 unless told


def test_the_ragged_tail_counts_as_long_as_it_is():
    memory, Q = memory_with(n=7)
    sizes = [Q[rows].shape for rows in memory.turns(tiles(7, 3))]
    assert sizes == [(3, 4), (3, 4), (1, 4)] and memory.read["Q"] == 7 * 4 * 4


def test_a_tile_on_chip_is_a_copy():
    memory, Q = memory_with()
    q_i = Q[:2]
    q_i += 100
    assert Q.array.max() == 31


def test_numbers_and_two_axes_are_pieces_too():
    memory, Q = memory_with()
    assert Q[3, 1] == 13 and Q[-1].tolist() == [28, 29, 30, 31] and Q[1:3, 2:].shape == (2, 2)
    assert memory.read["Q"] == 4 * (1 + 4 + 4)
    assert [e.ranges for e in memory.events] == [
        ((3, 4), (1, 2)),
        ((7, 8), (0, 4)),
        ((1, 3), (2, 4)),
    ]
    Q[0, 1:3] = [50, 60]
    Q[5] += 1
    assert Q.array[0].tolist() == [0, 50, 60, 3] and Q.array[5, 0] == 21
    assert memory.written["Q"] == 4 * (2 + 4)


@pytest.mark.parametrize(
    "index", [[0, 1], np.array([True] * 8), slice(0, 8, 2), None, ..., True, 1.5]
)
def test_only_plain_pieces_are_read_and_written(index):
    memory, Q = memory_with()
    with pytest.raises(TypeError, match="slices like 0:16"):
        Q[index]
    with pytest.raises(TypeError, match="slices like 0:16"):
        Q[index] = 0
    assert memory.traffic == 0


@pytest.mark.parametrize(
    "use",
    [
        lambda Q, x: x @ Q,
        lambda Q, x: Q @ x,
        lambda Q, x: x + Q,
        lambda Q, x: np.asarray(Q),
        lambda Q, x: np.dot(x, Q),
        lambda Q, x: np.exp(Q),
        lambda Q, x: np.sum(Q),
        lambda Q, x: list(Q),
    ],
)
def test_a_whole_tensor_is_not_on_chip_by_mistake(use):
    """NumPy would read it row by row as a sequence, and so a forgotten [rows] would go unseen."""
    memory, Q = memory_with(n=4)
    with pytest.raises(TypeError):
        use(Q, np.ones((4, 4)))
    assert memory.traffic == 0 and memory.held == 0


def test_the_error_says_how_to_read_it():
    _, Q = memory_with()
    with pytest.raises(TypeError, match=r"Q is in slow memory: read a piece of it, like Q\[0:16\]"):
        np.asarray(Q)


def test_an_empty_piece_moves_nothing():
    memory, Q = memory_with()
    assert Q[5:2].shape == (0, 4) and Q[8:12].shape == (0, 4)
    Q[5:2] = 7
    assert (
        memory.traffic == 0 and memory.held == 0 and np.array_equal(Q.array.ravel(), np.arange(32))
    )


def test_indices_outside_are_refused():
    _, Q = memory_with()
    with pytest.raises(IndexError, match="index 8 is outside an axis of 8"):
        Q[8]
    with pytest.raises(IndexError, match="3 indices"):
        Q[0, 0, 0]


def test_a_write_must_fit_in_shape_and_kind():
    memory = Memory()
    counts = memory.slow("counts", np.zeros(3, dtype=int))
    with pytest.raises(TypeError, match="int64"):
        counts[0] = 0.5
    with pytest.raises(ValueError, match="broadcast"):
        counts[:] = [1, 2]
    assert memory.traffic == 0


def test_fractions_stay_exact():
    memory = Memory()
    x = memory.slow("x", np.array([Fraction(1, 3), Fraction(2, 3)], dtype=object))
    assert x[0] + x[1] == Fraction(1) and memory.read["x"] == 8
    assert type(x[0]) is Fraction


# Holding


def test_what_comes_on_chip_in_a_turn_leaves_with_it():
    memory, Q = memory_with()
    K = memory.slow("K", np.zeros((6, 4)))
    held = []
    for rows in memory.turns(tiles(8, 4)):
        Q[rows]
        for cols in memory.turns(tiles(6, 3)):
            memory.chip("S", Q.array[rows] @ K[cols].T)
            held.append(memory.held)
        assert memory.held == 64 and list(memory.on_chip) == [
            ("Q", ((rows.start, rows.stop), (0, 4)))
        ]
    assert held == [64 + 48 + 48] * 4
    assert memory.held == 0 and memory.peak == 160


def test_what_is_read_outside_every_loop_stays():
    memory, Q = memory_with()
    Q[:]
    for _ in memory.turns(range(3)):
        Q[0:2]
    assert memory.held == 8 * 4 * 4 and memory.peak == (8 + 2) * 4 * 4


def test_the_same_piece_or_result_again_takes_its_own_room():
    memory, Q = memory_with()
    for rows in memory.turns(tiles(8, 4)):
        memory.chip("m", np.zeros(4))
        for _ in memory.turns(range(3)):
            memory.chip("m", np.ones(4))  # belongs to the outer turn, where it was made
            assert Q[rows].shape == Q[rows].shape and memory.held == 16 + 64
        assert memory.held == 16
    assert memory.read["Q"] == 2 * 3 * 2 * 64  # but every read is traffic


def test_two_pieces_of_one_tensor_are_both_held():
    memory, Q = memory_with()
    Q[0:2], Q[2:4]
    assert memory.held == 4 * 4 * 4


def test_a_result_and_a_read_of_the_same_name_are_two_things():
    memory, Q = memory_with(d=2)
    Q[0:2]
    memory.chip("Q", np.zeros((2, 2)))
    assert memory.held == 32


@pytest.mark.parametrize("how", ["break", "return", "error"])
def test_a_loop_left_early_gives_its_room_back(how):
    memory, Q = memory_with()

    def loop():
        for rows in memory.turns(tiles(8, 2)):
            for cols in memory.turns(tiles(8, 2)):
                Q[rows], Q[cols]
                if how == "return":
                    return
                if how == "error":
                    raise KeyError(how)
                break

    try:
        loop()
    except KeyError:
        assert how == "error"
    assert memory.held == 0 and memory.on_chip == {}
    assert Q[0:1].shape == (1, 4) and memory.events[-1].turn == ()


def test_free_before_the_turn_ends():
    memory, Q = memory_with()
    for rows in memory.turns(tiles(8, 4)):
        Q[rows]
        memory.chip("S", np.zeros(2))
        memory.free("Q", "S")
        assert memory.held == 0
    with pytest.raises(ValueError, match="nothing called 'K'"):
        memory.free("K")


# Refusing


def test_an_overrun_names_tile_need_and_rest_and_moves_nothing():
    memory, Q = memory_with(budget=100)
    Q[0:4]
    with pytest.raises(BudgetExceeded) as caught:
        Q[4:8]
    error = caught.value
    assert (error.tile, error.needed, error.left) == ("Q[4:8, 0:4]", 64, 36)
    for part in ("Q[4:8, 0:4]", "needs 64 bytes", "only 36 of 100", "Q 64"):
        assert part in str(error)
    assert memory.read["Q"] == 64 and memory.held == memory.peak == 64
    with pytest.raises(BudgetExceeded, match=r"S \(4 × 3\) needs 48"):
        memory.chip("S", np.zeros((4, 3)))


def test_an_overrun_speaks_chinese_too(monkeypatch):
    monkeypatch.setenv("COURSE_LANGUAGE", "zh")
    memory, Q = memory_with(budget=10)
    with pytest.raises(BudgetExceeded, match="需要 64 字节.*10 字节中只剩 10 字节.*什么也没有"):
        Q[0:4]


def test_a_loop_without_turns_is_told_why_it_overflows():
    memory, Q = memory_with(budget=80)  # room for two pieces
    with pytest.raises(BudgetExceeded, match=r"pieces of Q .* memory\.turns"):
        for rows in tiles(8, 2):
            Q[rows]
    memory, Q = memory_with(budget=100)
    Q[0:4]
    with pytest.raises(BudgetExceeded) as caught:
        memory.chip("S", np.zeros(16))
    assert "turns" not in str(caught.value)


@pytest.mark.parametrize(("how", "quoted"), [({"budget": -1}, "-1"), ({"dtype": "int4"}, "'int4'")])
def test_impossible_settings_are_quoted(how, quoted):
    with pytest.raises(ValueError, match=quoted):
        Memory(**how)
    with pytest.raises(ValueError, match="'half'"):
        Memory().chip("S", np.zeros(1), dtype="half")


# The log


def test_the_log_replays_traffic_and_the_chip():
    memory = Memory()
    q, k, v = np.random.default_rng(0).standard_normal((3, 7, 2))
    tiled_attention(q, k, v, b_r=3, b_c=2, causal=True, memory=memory)
    read, written, on_chip = Counter(), Counter(), {}
    for event in memory.events:
        piece = (event.name, event.ranges)
        if event.kind in ("read", "chip"):
            on_chip[piece] = event.nbytes
        if event.kind == "free":
            assert on_chip.pop(piece) == event.nbytes
        read[event.name] += event.nbytes * (event.kind == "read")
        written[event.name] += event.nbytes * (event.kind == "write")
        assert sum(on_chip.values()) == event.held
    assert (+read, +written) == (memory.read, memory.written) and on_chip == {}
    assert max(event.held for event in memory.events) == memory.peak


def test_events_know_the_tiles_of_the_loops_around_them():
    memory = Memory()
    q, k, v = np.zeros((3, 4, 1))
    tiled_attention(q, k, v, b_r=2, b_c=4, memory=memory)
    steps = [(e.kind, e.name, e.turn) for e in memory.events if e.kind != "free"]
    first, second, both = slice(0, 2), slice(2, 4), slice(0, 4)
    one_turn = ["read Q", "chip m", "chip l", "chip acc"], ["read K", "chip S", "read V"]
    assert [f"{kind} {name}" for kind, name, _ in steps[:9]] == [
        *one_turn[0],
        *one_turn[1],
        "write O",
        "write L",
    ]
    assert [turn for *_, turn in steps[:9]] == [(first,)] * 4 + [(first, both)] * 3 + [(first,)] * 2
    assert steps[9] == ("read", "Q", (second,)) and len(steps) == 18


def test_without_a_log_the_counts_are_the_same():
    counts = []
    for log in (True, False):
        memory, Q = memory_with(log=log)
        for rows in memory.turns(tiles(8, 3)):
            Q[rows]
        counts.append((memory.read, memory.peak))
        assert bool(memory.events) == log
    assert counts[0] == counts[1]


def test_the_table(monkeypatch):
    memory, Q = memory_with(n=1024, budget=20_000)
    O = memory.slow("O", (1024, 4))
    O[:512] = Q[:][:512]
    assert str(memory).splitlines() == [
        "                  read       written",
        "Q               16,384             0",
        "O                    0         8,192",
        "total           16,384         8,192",
        "bytes; on chip at most 16,384 / 20,000",
    ]
    monkeypatch.setenv("COURSE_LANGUAGE", "zh")
    first, *_, total, chip = str(memory).splitlines()
    assert first == "                    读            写"  # each character is two columns wide
    assert total == "合计            16,384         8,192"
    assert chip == "单位：字节；片上最多 16,384 / 20,000"


# The lessons' loops


def resident(n_k: int, b: int) -> None:
    """Lesson 02, K kept on chip."""
    memory = Memory(budget=101_376)
    Q, K = memory.slow("Q", np.zeros((b, 64))), memory.slow("K", np.zeros((n_k, 64)))
    k = K[:]
    for rows in memory.turns(tiles(b, b)):
        memory.chip("S", Q[rows] @ k.T)


def streamed(n_k: int, b: int) -> None:
    """Lesson 02, K in tiles, only the row of scores kept."""
    memory = Memory(budget=101_376)
    Q, K = memory.slow("Q", np.zeros((b, 64))), memory.slow("K", np.zeros((n_k, 64)))
    for rows in memory.turns(tiles(b, b)):
        q_i = Q[rows]
        s = memory.chip("S", np.empty((len(q_i), n_k)))
        for cols in memory.turns(tiles(n_k, b)):
            s[:, cols] = q_i @ K[cols].T


@pytest.mark.parametrize(
    ("loop", "b", "last"),
    [(resident, 16, 304), (streamed, 16, 1456), (resident, 64, 166), (streamed, 64, 268)],
)
def test_the_two_walls_of_lesson_02(loop, b, last):
    loop(last, b)
    with pytest.raises(BudgetExceeded):
        loop(last + 1, b)


def safe_softmax(x, y, memory, b):
    """Lesson 04, three passes: maximum, sum, write."""
    m, l = -np.inf, 0.0
    for part in memory.turns(tiles(len(x), b)):
        m = max(m, x[part].max())
    for part in memory.turns(tiles(len(x), b)):
        l += np.exp(x[part] - m).sum()
    for part in memory.turns(tiles(len(x), b)):
        y[part] = np.exp(x[part] - m) / l


def online_softmax(x, y, memory, b):
    """Lesson 04, two passes: maximum and sum together, write."""
    m, l = -np.inf, 0.0
    for part in memory.turns(tiles(len(x), b)):
        tile = x[part]
        m_new = max(m, tile.max())
        l = l * np.exp(m - m_new) + np.exp(tile - m_new).sum()
        m = m_new
    for part in memory.turns(tiles(len(x), b)):
        y[part] = np.exp(x[part] - m) / l


@pytest.mark.parametrize(("softmax", "reads"), [(safe_softmax, 3), (online_softmax, 2)])
def test_reads_per_element_of_lesson_04(softmax, reads):
    memory = Memory(budget=4 * 4)
    values = np.array([1.0, 2, 3, 5, -1, 0, 2])
    x, y = memory.slow("x", values), memory.slow("y", (7,))
    softmax(x, y, memory, 3)
    assert y.array == pytest.approx(np.exp(values) / np.exp(values).sum())
    assert memory.read == {"x": reads * 7 * 4} and memory.written == {"y": 7 * 4}


def ladder(q, k, v, b, passes: int):
    """Lesson 06: exact attention that stores no score, in three, two or one pass over K."""
    memory = Memory()
    Q, K, V = memory.slow("Q", q), memory.slow("K", k), memory.slow("V", v)
    O = memory.slow("O", (len(q), v.shape[1]))
    for rows in memory.turns(tiles(len(q), b)):
        q_i = Q[rows]
        m, l = np.full(len(q_i), -np.inf), np.zeros(len(q_i))
        acc = np.zeros((len(q_i), v.shape[1]))
        steps = {3: ["max", "sum", "out"], 2: ["max sum", "out"], 1: ["max sum out"]}[passes]
        for step in steps:
            for cols in memory.turns(tiles(len(k), b)):
                s = memory.chip("S", q_i @ K[cols].T)
                m_new = np.maximum(m, s.max(axis=1)) if "max" in step else m
                alpha, p = np.exp(m - m_new), np.exp(s - m_new[:, None])
                m, acc = m_new, alpha[:, None] * acc
                l = alpha * l + (p.sum(axis=1) if "sum" in step else 0)
                if "out" in step:
                    acc = acc + p @ V[cols]
        O[rows] = acc / l[:, None]
    return O.array, memory


@pytest.mark.parametrize("passes", [3, 2, 1])
def test_the_ladder_of_lesson_06(passes):
    q, k, v = np.random.default_rng(0).standard_normal((3, 12, 4))
    out, memory = ladder(q, k, v, 3, passes)
    assert out == pytest.approx(naive_attention(q, k, v, scale=1)[0])
    assert memory.read["K"] == passes * 4 * (12 * 4 * 4) and memory.read["V"] == 4 * (12 * 4 * 4)
    assert memory.written == {"O": 12 * 4 * 4}


def test_overhead_of_counting():
    q, k, v = np.random.default_rng(0).standard_normal((3, 1024, 64))
    start = time.process_time()
    memory = Memory(budget=101_376)
    tiled_attention(q, k, v, b_r=64, b_c=64, memory=memory)
    assert time.process_time() - start < 1.0
    assert memory.read["K"] == 16 * 1024 * 64 * 4
