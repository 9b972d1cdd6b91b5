"""Lesson 06's picture: the tile loop as a film, replayed from a run on counted memory."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from utils.attention import naive_attention
from utils.draw.controls import Choice, Slider
from utils.draw.palette import COLOUR, FAINT, INK, LARGE, PAPER, boxes, canvas, write
from utils.language import say
from utils.memory import Memory
from utils.states import State
from utils.tiles import tiles

SIDE, GAP = 1.2, 0.5  # cells: thickness of Q, K, V, O, and what parts them from S
LEFT, TOP = 1.2, 1.6
WIDE = 1.2  # width of a key, so that four characters fit into a score's cell
CHART, STEP = 16.2, 1.5  # where the strips begin, and the width of one step
UNIT = 1.1  # cells for the value 1 in a strip
OUTSIDE = 1.15  # values from 0 to this are drawn where they are, others at the edge


@dataclass(frozen=True)
class Frame:
    """The loop after one update: tile (rows, cols), its scores, the state, the truth so far.

    rows and cols are None in the last frame, after the loop. moved: bytes read and written so far.
    """

    rows: slice | None
    cols: slice | None
    s: np.ndarray | None
    state: State | None
    truth: np.ndarray | None
    moved: dict
    held: int


@dataclass(frozen=True)
class Film:
    """All frames of a run: N_q queries in tiles of b_r, N_k keys in tiles of b_c."""

    frames: list[Frame]
    n_q: int
    n_k: int
    b_r: int
    b_c: int


def film(flash: Callable, update: Callable, q, k, v, b_r: int, b_c: int) -> Film:
    """Run flash(q, k, v, b_r, b_c, memory, update) and keep what each update made.

    The truth is naive attention, with the scale 1/√d, over the keys that were read so far.
    """
    memory, frames = Memory(), []

    def watched(state, s, v_j):
        new = update(state, s, v_j)
        rows, cols = memory.events[-1].turn
        truth = naive_attention(q[rows], k[: cols.stop], v[: cols.stop])[0]
        frames.append(Frame(rows, cols, s, new, truth, moved(memory), memory.held))
        return new

    with np.errstate(all="ignore"):  # a sabotaged loop may divide 0 by 0
        flash(q, k, v, b_r, b_c, memory, watched)
    frames.append(Frame(None, None, None, None, None, moved(memory), memory.held))
    return Film(frames, len(q), len(k), b_r, b_c)


def moved(memory: Memory) -> dict:
    return {f"{name} read": n for name, n in memory.read.items()} | {
        f"{name} written": n for name, n in memory.written.items()
    }


def controls(steps: int = 9) -> dict[str, Slider | Choice]:
    """Return the picture's controls: number of the sabotage, and the step."""
    options = {
        say(en="none, the right loop", zh="不破坏（正确的循环）"): 0,
        say(en="no α", zh="没有 α（no α）"): 1,
        say(en="tiles normalised", zh="各 tile 归一化（tiles normalised）"): 2,
        "m₀ = 0": 3,
    }
    return {
        "sabotage": Choice(say(en="sabotage", zh="破坏"), options, 0),
        "step": Slider(say(en="step", zh="步"), 1, steps, 3),
    }


def alt() -> str:
    """Return the picture in words."""
    return say(
        en="Q left, K transposed above, V transposed below, O right of an empty N_q × N_k field in"
        " which one tile of scores is lit; a table of m, ℓ, Õ, Õ/ℓ and the truth; for each row of O"
        " a strip with a dot for the output after every step and a ring for the truth.",
        zh="空白的 N_q × N_k 区域里只有一个分数 tile 亮着，左边是 Q，上边是 K 的转置，下边是 V 的转置，"
        "右边是 O；下面的表列出 m、ℓ、Õ、Õ/ℓ 和真值；O 的每一行有一条带子，点是每一步之后的输出，圈是真值。",
    )


def draw(film: Film, step: int) -> Figure:
    """Return the picture after `step` updates, 1 or more; the last step is the end of the loop."""
    shown = film.frames[:step]
    figure, axes = canvas(CHART + 4 * STEP + 0.6, TOP + 2 * (SIDE + GAP) + film.n_q + 5.3)
    slow_memory(axes, film, shown[-1])
    strips(axes, film, shown)
    bottom = TOP + 2 * (SIDE + GAP) + film.n_q + 0.9
    if shown[-1].rows is not None:
        table(axes, shown[-1], bottom)
    else:
        write(axes, LEFT, bottom + 1, "the chip is empty, O and L are written", at="left")
    bill(axes, shown[-1], bottom + 3.2)
    return figure


def slow_memory(axes: Axes, film: Film, frame: Frame) -> None:
    """Draw Q, Kᵀ, Vᵀ and O around the place of S; light what is on chip, and what is written."""
    x, y = LEFT + SIDE + GAP, TOP + SIDE + GAP
    right, below = x + WIDE * film.n_k + GAP, y + film.n_q + GAP
    for rows in tiles(film.n_q, film.b_r):
        done = frame.rows is None or rows.stop <= frame.rows.start
        place = y + rows.start, rows.stop - rows.start
        field(axes, (LEFT, place[0], SIDE, place[1]), "Q", rows == frame.rows)
        field(axes, (right, place[0], SIDE, place[1]), "O", done)
    for cols in tiles(film.n_k, film.b_c):
        place = x + WIDE * cols.start, WIDE * (cols.stop - cols.start)
        field(axes, (place[0], TOP, place[1], SIDE), "K", cols == frame.cols)
        field(axes, (place[0], below, place[1], SIDE), "V", cols == frame.cols)
    boxes(axes, [(x, y, WIDE * film.n_k, film.n_q)], edge=FAINT)
    for name, left, top in (("Q", LEFT, y), ("Kᵀ", x, TOP), ("Vᵀ", x, below), ("O", right, y)):
        away = (left + SIDE / 2, y - GAP) if name in "QO" else (x - GAP, top + SIDE / 2)
        write(axes, *away, name, size=LARGE)
    write(axes, x, y - GAP / 2, "S: one tile at a time", at="left")
    write(axes, x, 0.7, "slow memory; lit: on chip (O: written)", at="left")
    if frame.rows is not None:
        scores(axes, frame, x + WIDE * frame.cols.start, y + frame.rows.start)
    for r in range(film.n_q):
        write(axes, LEFT - 0.5, y + r + 0.5, r)


def field(axes: Axes, place, name: str, lit: bool) -> None:
    boxes(axes, [place], fill=COLOUR[name] if lit else PAPER, line=1.4)
    if lit:
        write(axes, place[0] + place[2] / 2, place[1] + place[3] / 2, name)


def scores(axes: Axes, frame: Frame, x: float, y: float) -> None:
    """Draw the one tile of scores that exists."""
    rows, keys = frame.s.shape
    cells = [(x + WIDE * c, y + r, WIDE, 1) for r, c in np.ndindex(rows, keys)]
    boxes(axes, cells, fill=COLOUR["S"], edge=FAINT, line=0.8)
    for (left, top, *_), score in zip(cells, frame.s.flat, strict=True):
        write(axes, left + WIDE / 2, top + 0.5, short(score))
    boxes(axes, [(x, y, WIDE * keys, rows)], line=2)


def short(number: float) -> str:
    """Return a number in at most six characters."""
    if not np.isfinite(number):
        return "NaN" if np.isnan(number) else f"{number}"
    return f"{number:.0f}" if number == round(number) or abs(number) >= 100 else f"{number:.2f}"


def decimal(number: float) -> str:
    """Return a number with two decimals, a large one with none."""
    return f"{number:.{0 if abs(number) >= 100 else 2}f}" if np.isfinite(number) else short(number)


def output(state: State) -> np.ndarray:
    with np.errstate(all="ignore"):
        return state.acc / state.l[:, None]


def table(axes: Axes, frame: Frame, top: float) -> None:
    """Draw the state of the present query tile, its output so far, and the truth so far."""
    state, out = frame.state, output(frame.state)
    columns = [
        ("m", state.m[:, None], COLOUR["m"]),
        ("ℓ", state.l[:, None], COLOUR["ℓ"]),
        ("Õ", state.acc, COLOUR["O"]),
        ("Õ/ℓ", out, PAPER),
        ("truth", frame.truth, PAPER),
    ]
    x = LEFT
    write(axes, x - 0.1, top, "on chip", at="left")
    x += 1.8
    for name, values, colour in columns:
        width = 1.6 * values.shape[1]
        write(axes, x + width / 2, top, name, size=LARGE)
        for r, row in enumerate(values):
            boxes(axes, [(x, top + 0.5 + r, width, 1)], fill=colour, edge=INK)
            write(axes, x + width / 2, top + 1 + r, "   ".join(map(decimal, row)))
        x += width + 0.5
    for r in range(len(out)):
        write(axes, LEFT + 0.6, top + 1 + r, f"row {frame.rows.start + r}")


def strips(axes: Axes, film: Film, shown: list[Frame]) -> None:
    """Draw one strip a row of O: its first entry after every step, in a ring of the truth."""
    write(axes, CHART, 0.7, "first entry of each row of Õ/ℓ", at="left")
    height, t_c = 1.75, len(tiles(film.n_k, film.b_c))
    tops = [TOP - 0.1 + (height + 0.25) * r for r in range(film.n_q)]
    boxes(axes, [(CHART, top, t_c * STEP, height) for top in tops], edge=FAINT)
    marks = {"truth": [], "right": [], "wrong": []}
    for r, top in enumerate(tops):
        write(axes, CHART - 0.7, top + height / 2, f"row {r}")
    for frame in shown:
        for r in range(frame.rows.start, frame.rows.stop) if frame.rows else ():
            own, base = r - frame.rows.start, tops[r] + height - 0.3
            x = CHART + STEP * (frame.cols.start / film.b_c + 0.3)
            found, true = output(frame.state)[own, 0], frame.truth[own, 0]
            marks["truth"].append((x, base - true * UNIT))
            wrong = not abs(found - true) <= 1e-6
            clipped = np.clip(found, 0, OUTSIDE) if np.isfinite(found) else OUTSIDE
            marks["wrong" if wrong else "right"].append((x, base - clipped * UNIT))
            if wrong:
                write(axes, x + 0.18, base - clipped * UNIT, short(found), at="left")
    styles = {
        "truth": {"marker": "o", "ms": 11, "mfc": "none", "mec": INK},
        "right": {"marker": "o", "ms": 5, "mfc": COLOUR["O"], "mec": INK},
        "wrong": {"marker": "X", "ms": 8, "mfc": COLOUR["m"], "mec": INK},
    }
    for name, places in marks.items():
        if places:
            axes.plot(*zip(*places, strict=True), linestyle="none", **styles[name])


def bill(axes: Axes, frame: Frame, y: float) -> None:
    """Write what has been moved so far, and what is held on chip."""
    parts = [f"{name} {n}" for name, n in frame.moved.items()]
    write(axes, LEFT - 0.1, y, "bytes moved:  " + "   ".join(parts), at="left")
    write(axes, LEFT - 0.1, y + 0.75, f"bytes on chip: {frame.held}", at="left")
