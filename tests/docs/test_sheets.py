"""Every number in the answers of the pencil-and-paper sheets is computed here, in both languages.

An answer is written between backticks; outside them, an answer sheet has no digit. So a wrong
answer, or one that nobody computes, cannot stand.
"""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from utils.attention import naive_attention
from utils.checks.online_softmax import plain_softmax
from utils.memory import Memory
from utils.states import exact_exp2, finish, identity, merge, normalise, output, state_of, update
from utils.tiles import classify, tiles, visible

TEACH = Path(__file__).parents[2] / "docs" / "teach"
LANGUAGES = ("en", "zh")


def four(*numbers) -> list[str]:
    return [f"{float(number):.4f}" for number in numbers]


def interval(span: slice) -> str:
    return f"[{span.start}, {span.stop})"


def block_matrix() -> dict:
    q = np.array([[1, 2], [0, 1], [3, 0], [1, 1], [2, 1]])
    k = np.array([[1, 0], [2, 1], [0, 1], [1, 1], [3, 1], [0, 2], [1, 2]])
    rows, cols = tiles(5, 2), tiles(7, 3)
    scores, last = q @ k.T, (rows[2], cols[2])
    parts = [str(q[3, f] * k[4, f]) for f in range(2)]
    covered = (5 // 2 * 2) * (7 // 3 * 3)
    chip = q[rows[0]].size + k[cols[0]].size + scores[rows[0], cols[0]].size
    in_tiles = sum(q[r].size * len(k[c]) for r, c in product(rows, cols))
    return {
        "01.1": [str(len(rows)), str(len(cols)), str(len(rows) * len(cols))],
        "01.2": [interval(span) for span in rows + cols],
        "01.3": [*map(interval, last), "{} × {}".format(*scores[last].shape)],
        "01.4": [" ".join(map(str, row)) for row in q[rows[1]] @ k[cols[0]].T],
        "01.5": [*parts, str(scores[3, 4])],
        "01.6": [str(scores.size * 2), str(in_tiles)],
        "01.7": parts,
        "01.8": [str(covered), str(scores.size - covered)],
        "01.9": [str(chip), str(q.size + k.size + scores.size)],
    }


def accesses(passes: int, n: int = 500) -> int:
    """Count reads and writes of a row, one score at a time; the last pass writes."""
    memory = Memory(budget=4)
    x, y = memory.slow("x", np.zeros(n)), memory.slow("y", (n,))
    for number in range(passes):
        for c in memory.turns(range(n)):
            score = x[c]
            if number == passes - 1:
                y[c] = score
    return memory.traffic // 4


def online_softmax() -> dict:
    row = np.array([2.0, 1, 2, 4])
    state, columns, tempting = identity(1, 1), [], 0.0
    for s in row:
        old, state = state.m[0], update(state, [[s]], [[0]])
        columns.append((f"{s:.0f}", f"{state.m[0]:.0f}", *four(np.exp(old - state.m[0])), state.l))
        tempting += np.exp(s - state.m[0])
    m, l = state.m[0], state.l[0]
    table = [[column[place] for column in columns] for place in range(3)]
    a, b = (state_of(row[None, part], [[0], [0]]) for part in tiles(4, 2))
    pairs = [f"({s.m[0]:.0f}, {s.l[0]:.4f})" for s in (a, b, merge(a, b))]
    zero = update(identity(1, 1)._replace(m=np.zeros(1)), [[-2, -4]], [[0], [0]])
    assert update(identity(1, 1)._replace(m=np.zeros(1)), [[-1000, -1001]], [[0], [0]]).l[0] == 0
    plain, safe, online = accesses(2), accesses(3), accesses(2)
    return {
        "04.1": sum(table, []) + four(*(column[3][0] for column in columns)),
        "04.2": [f"{row[3]:.0f}", f"e^{m:.0f}", f"e^{row[2]:.0f}"],
        "04.3": [*four(l), f"{m:.0f}", *four(np.exp(row).sum())],
        "04.4": four(tempting),
        "04.5": pairs,
        "04.6": [*four(np.exp(a.m[0] - m)), f"{a.m[0]:.0f}", f"{m:.0f}"],
        "04.7": four(*plain_softmax(row)),
        "04.8": [f"(0, {zero.l[0]:.4f})", *four(*plain_softmax(np.array([-2.0, -4]))), "0"],
        "04.9": [str(plain), str(safe), str(online), f"{safe / online:.2f}"],
        "04.10": [],
    }


def state_merging() -> dict:
    a, b = state_of([[0, 2]], [[4], [0]]), state_of([[1, 1]], [[2], [6]])
    both = merge(a, b)
    truth = naive_attention(np.ones((1, 1)), np.array([[0], [2], [1], [1]]), np.array([[4], [0], [2], [6]]), scale=1)  # fmt: skip
    assert np.isclose(output(both), truth[0]).all()
    m, l, acc = ([float(part.flat[0]) for part in s] for s in (a, b, both))
    o_a, o_b, o = (float(output(s)[0, 0]) for s in (a, b, both))
    l_a, l_b, l_ab = (float(finish(s)[1][0]) for s in (a, b, both))
    weights = [np.exp(one - l_ab) for one in (l_a, l_b)]
    assert np.isclose(weights @ np.array([o_a, o_b]), o) and np.isclose(normalise(both).out, o)
    triple = "({:.0f}, {:.4f}, {:.4f})".format
    nothing = identity(1, 1)
    assert nothing[0] == -np.inf and finish(nothing)[1] == -np.inf
    whole = [state_of(np.array([x], dtype=object), [[0], [0]], exp=exact_exp2) for x in ([1, 3], [2, 2])]  # fmt: skip
    whole.append(merge(*whole, exp=exact_exp2))
    total = [2**s for s in (1, 3, 2, 2)]
    assert whole[2].l[0] * 2 ** int(whole[2].m[0]) == sum(total)
    return {
        "05.1": [f"{300 + 4000:.1e}".replace("e+0", "e")],
        "05.2": [triple(*m), triple(*l)],
        "05.3": [triple(*acc), *four(o, np.exp(b.m[0] - both.m[0]), np.exp(a.m[0] - both.m[0]))],
        "05.4": four(o_a, o_b, o_a + o_b, (o_a + o_b) / 2),
        "05.5": four(l_a, l_b, l_ab),
        "05.6": four(*weights),
        "05.7": ["(-inf, 0, 0)", "(0, -inf)", *four(np.logaddexp(0, l_b))],
        "05.8": four(l_b / np.log(2)),
        "05.9": [str(128 * (64 + 2)), str(128 * (64 + 1))],
        "05.10": [
            *(str(s.l[0]) for s in whole),
            str(whole[2].m[0]),
            str(sum(total)),
            " + ".join(map(str, total)),
        ],  # fmt: skip
    }


SIGN = {"full": "F", "boundary": "b", "skip": "."}


def seen(n_q: int, n_k: int, offset: int) -> list[int]:
    return visible((0, n_q), (0, n_k), offset=offset).sum(axis=1).tolist()


def spaced(numbers) -> str:
    return " ".join(map(str, numbers))


def causal_tiles() -> dict:
    rows, cols = tiles(6, 2), tiles(6, 3)
    kinds = [[classify(r, c) for c in cols] for r in rows]
    table = [interval(c) for c in cols]
    for r, line in zip(rows, kinds, strict=True):
        table += [interval(r), *(SIGN[kind] for kind in line)]
    visited = sum(kind != "skip" for line in kinds for kind in line)
    empty = seen(4, 2, -2).count(0)
    share = {t: sum(classify((r, r + 1), (c, c + 1)) != "skip" for r in range(t) for c in range(t)) / t**2 for t in (4, 10, 50, 51)}  # fmt: skip
    assert share[50] >= 0.51 > share[51]
    line = [SIGN[classify((6, 8), c, offset=4)] for c in tiles(12, 4)]
    times_zero = plain_softmax(np.array([2.0, 1, 3]) * [1, 1, 0])
    right = plain_softmax(np.array([2.0, 1, -np.inf]))
    first = [seen(2, 3, offset)[0] for offset in (0, 1)]
    return {
        "07.1": table,
        "07.2": [str(sum(seen(6, 6, 0))), str(visited * 6), "36"],
        "07.3": [spaced(seen(3, 5, 0)), spaced(seen(3, 5, 2))],
        "07.4": [spaced(seen(4, 2, 0)), spaced(seen(4, 2, -2)), str(empty)],
        "07.5": [f"{100 * share[4]:.1f} %", f"{100 * share[10]:.1f} %", "51"],
        "07.6": [" ".join(line), "4", str(seen(8, 12, 4)[-1])],
        "07.7": [str(seen(1, 9, 8)[0]), str(seen(1, 9, 0)[0])],
        "07.8": four(*times_zero, *right),
        "07.9": [*map(str, first), "3"],
    }


# lesson → its answers, and what its sheet must give for them to be right
SHEETS = {
    "01_block_matrix": (
        block_matrix,
        ["| 0 | 1 2 | | 0 | 1 0 | | 4 | 3 1 |", "| 3 | 1 1 | | 3 | 1 1 | | | |"]
        + ["| 1 | 0 1 | | 1 | 2 1 | | 5 | 0 2 |", "| 2 | 3 0 | | 2 | 0 1 | | 6 | 1 2 |"]
        + ["| 4 | 2 1 |", "d = 2", "B_r = 2", "B_c = 3", "(2, 2)", "(1, 0)", "S[3, 4]"],
    ),
    "04_online_softmax": (online_softmax, ["| 2 | 1 | 2 | 4 |", "500", "−1000"]),
    "05_state_merging": (
        state_merging,
        ["0, 2", "4, 0", "1, 1", "2, 6", "d_v = 64", "128", "1, 3"],
    ),  # fmt: skip
    "07_causal_tiles": (
        causal_tiles,
        ["N_q = N_k = 6, B_r = 2, B_c = 3", "[6, 8)", "N_q = 8, N_k = 12", "2, 1, 3", "51 %"],
    ),
}
EVERY = list(product(SHEETS, LANGUAGES))


def read(language: str, name: str) -> str:
    return (TEACH / language / "sheets" / f"{name}.md").read_text(encoding="utf-8")


def blocks(text: str) -> dict:
    """Return {label: text} of the paragraphs that a label such as **04.1** begins."""
    parts = re.split(r"^\*\*(\d\d\.\d+)\*\*", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize(("sheet", "language"), EVERY)
def test_every_answer_is_the_computed_one(sheet, language):
    computed = SHEETS[sheet][0]()
    written = blocks(read(language, f"{sheet}_answers"))
    assert {label: re.findall(r"`([^`]+)`", text) for label, text in written.items()} == computed


@pytest.mark.parametrize(("sheet", "language"), EVERY)
def test_no_number_of_an_answer_escapes(sheet, language):
    for label, text in blocks(read(language, f"{sheet}_answers")).items():
        assert not re.search(r"\d", re.sub(r"`[^`]*`", "", text)), (label, text)


@pytest.mark.parametrize(("sheet", "language"), EVERY)
def test_the_sheet_asks_what_the_answers_answer(sheet, language):
    text = read(language, sheet)
    assert list(blocks(text)) == list(SHEETS[sheet][0]())
    assert [given for given in SHEETS[sheet][1] if given not in text] == []


def test_the_tables_of_powers_and_logarithms_are_right():
    for language, name in product(LANGUAGES, ("04_online_softmax", "05_state_merging")):
        rows = re.findall(r"^\| (?:e\^x \| )?([\d. |]*\d\.\d{4}[\d. |]*)\|$", read(language, name), re.MULTILINE)  # fmt: skip
        numbers = [float(number) for number in rows[0].split("|")]
        l_a, l_b = 1 + np.exp(-2), 1 + np.exp(-2) + 2 * np.exp(-1)
        powers = np.exp([0, -1, -2, -3, -4])
        logarithms = [np.exp(-1), np.exp(-2), np.log(2), np.log(l_a), np.log(l_b), 1 / np.log(2)]
        wanted = powers if name.startswith("04") else logarithms
        assert [f"{x:.4f}" for x in numbers] == four(*wanted)
