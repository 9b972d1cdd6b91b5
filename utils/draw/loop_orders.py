"""Lesson 08's picture: both loop orders as films, with byte counters from the log of real runs."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from utils.draw.controls import Choice, Slider
from utils.draw.palette import COLOUR, FAINT, INK, LARGE, PAPER, boxes, canvas, write
from utils.language import say
from utils.memory import Event, Memory
from utils.tiles import tiles

SIZES = (8, 16, 32)  # tile sizes offered
TITLES = ("v1 order: outer K and V, inner Q", "v2 order: outer Q, inner K and V")
FIELD, SIDE, STATE, GAP = 5.6, 0.9, 1.7, 0.35  # cells: side of S, thickness of Q, of a state
LEFT, TOP, WIDTH, BAR = 0.7, 1.9, 13.2, 5.4  # margins, width of a film, the longest bar
GROUPS = {"Q": "Q", "K, V": "KV", "m, ℓ, Õ": ("m", "l", "acc"), "O, L": "OL"}
FILL = {"Q": COLOUR["Q"], "K, V": COLOUR["K"], "m, ℓ, Õ": COLOUR["ℓ"], "O, L": COLOUR["O"]}
WORDS = 13  # points: a page of 800 pixels shows the picture smaller


@dataclass(frozen=True)
class Frame:
    """After one visit: the tiles of S visited so far, the rows of O written, bytes by tensor.

    visited: pairs of token ranges (rows, keys), the present one last.
    """

    visited: list
    finished: list
    read: Counter
    written: Counter


@dataclass(frozen=True)
class Film:
    """One frame a visit, and one after the loops; n queries, n_k keys, tiles of b_r and b_c."""

    frames: list[Frame]
    n: int
    n_k: int
    b_r: int
    b_c: int

    @property
    def travels(self) -> bool:
        """Whether the states lie in slow memory."""
        return "acc" in self.frames[-1].written


def film(loop: Callable, q, k, v, b_r: int, b_c: int) -> Film:
    """Run loop(q, k, v, b_r, b_c, memory) on counted memory and cut its log into frames.

    The memory simulates 2 bytes a number, 4 for m, ℓ, Õ and L.
    """
    memory = Memory(dtype="float16")
    loop(q, k, v, b_r, b_c, memory)
    frames, latest, visited, finished = [], {}, [], []
    read, written = Counter(), Counter()
    for events in visits(memory.events):
        for event in events:
            if event.kind == "read":
                latest[event.name] = event.ranges[0]
                read[event.name] += event.nbytes
            elif event.kind == "write":
                written[event.name] += event.nbytes
                finished = [*finished, event.ranges[0]] if event.name == "O" else finished
        if has_scores(events):
            visited = [*visited, (latest["Q"], latest["K"])]
            frames.append(Frame(visited, finished, read.copy(), written.copy()))
    return Film([*frames, Frame(visited, finished, read, written)], len(q), len(k), b_r, b_c)


def visits(events: list[Event]) -> Iterator[list[Event]]:
    """Cut a log behind each visit: before the read of Q, K or m that follows a tile of scores."""
    part: list[Event] = []
    for event in events:
        if event.kind == "read" and event.name in ("Q", "K", "m") and has_scores(part):
            yield part
            part = []
        part.append(event)
    yield part


def has_scores(events: list[Event]) -> bool:
    return any((event.kind, event.name) == ("chip", "S") for event in events)


def controls(n: int) -> dict[str, Slider | Choice]:
    """Return the picture's controls for n queries and n keys: two tile sizes, and the step."""
    sizes = {str(size): size for size in SIZES}

    def steps(chosen) -> int:
        return len(tiles(n, chosen["b_r"])) * len(tiles(n, chosen["b_c"])) + 1

    return {
        "b_r": Choice(say(en="rows of Q in a tile, B_r", zh="每块的 Q 行数 B_r"), sizes, 16),
        "b_c": Choice(say(en="rows of K in a tile, B_c", zh="每块的 K 行数 B_c"), sizes, 16),
        "step": Slider(say(en="step", zh="步"), 1, steps, 6),
    }


def alt() -> str:
    """Return the picture in words."""
    return say(
        en="Two films of the same N × N field of scores in tiles. In v1 order the path goes down"
        " the columns and the states lie in slow memory, all of them; in v2 order it goes along the"
        " rows and one state is on chip. Under each film bars for the bytes of Q, of K and V, of"
        " the states, and of O and L.",
        zh="同一个 N × N 分数区域的两段动画，都切成 tile。v1 顺序的路线沿列向下，所有状态都在慢速内存里；"
        "v2 顺序的路线沿行向右，片上只有一个状态。每段动画下面用横条表示 Q、K 和 V、状态、O 和 L 各移动了"
        "多少字节。",
    )


def draw(films: tuple[Film, Film], step: int) -> Figure:
    """Return the picture after `step` visits, 1 or more: v1 order left, v2 order right."""
    figure, axes = canvas(2 * WIDTH, TOP + 2 * (SIDE + GAP) + FIELD + 6.4)
    longest = max(max(bytes_of(one.frames[-1]).values()) for one in films)
    totals = []
    for number, (one, title) in enumerate(zip(films, TITLES, strict=True)):
        frame, x = one.frames[step - 1], LEFT + WIDTH * number
        write(axes, x, 0.7, title, size=LARGE, at="left")
        field(axes, one, frame, x, ended=step == len(one.frames))
        totals.append(bill(axes, frame, x, longest))
    bottom = TOP + 2 * (SIDE + GAP) + FIELD + 5.9
    text = f"bytes so far, v1 order : v2 order = {totals[0] / totals[1]:.2f}"
    write(axes, WIDTH, bottom, text, size=LARGE)
    return figure


def field(axes: Axes, film: Film, frame: Frame, x: float, *, ended: bool) -> None:
    """Draw Q, Kᵀ, Vᵀ, the states and O around S; lit is what is on chip, and O when written."""
    left, top = x + SIDE + GAP, TOP + SIDE + GAP
    wide, high = FIELD / film.n_k, FIELD / film.n
    state, out = left + FIELD + GAP, left + FIELD + 2 * GAP + STATE
    rows, keys = ((), ()) if ended else frame.visited[-1]
    for part in tiles(film.n, film.b_r):
        place, span = (top + high * part.start, high * (part.stop - part.start)), bounds(part)
        lit(axes, (x, place[0], SIDE, place[1]), "Q", span == rows)
        if film.travels or span == rows:
            fill = COLOUR["ℓ"] if span == rows else PAPER
            boxes(axes, [(state, place[0], STATE, place[1])], fill=fill, line=1.2)
        if span == rows:
            write(axes, state + STATE / 2, place[0] + place[1] / 2, "m ℓ Õ", size=WORDS)
        lit(axes, (out, place[0], SIDE, place[1]), "O", span in frame.finished)
    for part in tiles(film.n_k, film.b_c):
        place, span = (left + wide * part.start, wide * (part.stop - part.start)), bounds(part)
        lit(axes, (place[0], TOP, place[1], SIDE), "K", span == keys)
        lit(axes, (place[0], top + FIELD + GAP, place[1], SIDE), "V", span == keys)
    where = "slow memory" if film.travels else "chip only"
    labels = {"Q": x + SIDE / 2, "O": out + SIDE / 2, "m ℓ Õ": state + STATE / 2}
    for name, middle in labels.items():
        write(axes, middle, top - GAP, name, size=WORDS)
    write(axes, state, top + FIELD + GAP, where, size=WORDS, at="left")
    for name, y in (("Kᵀ", TOP), ("Vᵀ", top + FIELD + GAP)):
        write(axes, left - GAP, y + SIDE / 2, name, size=WORDS)
    path(axes, film, frame, left, top, ended=ended)


def bounds(part: slice) -> tuple[int, int]:
    return part.start, part.stop


def lit(axes: Axes, place, name: str, on: bool) -> None:
    boxes(axes, [place], fill=COLOUR[name] if on else PAPER, line=1.2)
    if on:
        write(axes, place[0] + place[2] / 2, place[1] + place[3] / 2, name, size=WORDS)


def path(axes: Axes, film: Film, frame: Frame, left: float, top: float, *, ended: bool) -> None:
    """Draw the empty field, the tile of scores that exists, and the way through the tiles."""
    wide, high = FIELD / film.n_k, FIELD / film.n
    boxes(axes, [(left, top, FIELD, FIELD)], edge=FAINT)
    places = [
        (left + wide * c_0, top + high * r_0, wide * (c_1 - c_0), high * (r_1 - r_0))
        for (r_0, r_1), (c_0, c_1) in frame.visited
    ]
    boxes(axes, places, edge=FAINT, line=0.8)
    if not ended:
        boxes(axes, places[-1:], fill=COLOUR["S"], line=2)
        write(axes, places[-1][0] + 0.22, places[-1][1] + 0.26, "S", size=WORDS)
    middles = [(x + w / 2, y + h / 2) for x, y, w, h in places]
    axes.plot(*zip(*middles, strict=True), color=INK, linewidth=1, marker="o", markersize=4)


def bytes_of(frame: Frame) -> dict[str, int]:
    """Return the bytes moved so far, read and written, by group of tensors."""
    both = frame.read + frame.written
    return {group: sum(both[name] for name in names) for group, names in GROUPS.items()}


def bill(axes: Axes, frame: Frame, x: float, longest: int) -> int:
    """Draw one bar a group of tensors, filled as far as it was read; return the total."""
    top = TOP + 2 * (SIDE + GAP) + FIELD + 0.9
    write(axes, x, top, "bytes moved; filled: read, empty: written", at="left", size=WORDS)
    for line, (group, total) in enumerate(bytes_of(frame).items()):
        y, start = top + 0.55 + 0.75 * line, x + 2.2
        length = BAR * total / longest
        read = BAR * sum(frame.read[name] for name in GROUPS[group]) / longest
        boxes(axes, [(start, y, length, 0.55)], fill=PAPER)
        boxes(axes, [(start, y, read, 0.55)], fill=FILL[group])
        write(axes, x, y + 0.3, group, at="left", size=WORDS)
        write(axes, start + length + 0.2, y + 0.3, f"{total:,}", at="left", size=WORDS)
    total = sum(bytes_of(frame).values())
    write(axes, x, top + 3.85, f"total {total:,}", at="left", size=WORDS)
    return total
