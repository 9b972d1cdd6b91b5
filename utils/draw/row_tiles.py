"""Lesson 02's picture: how a row tile fills the chip, and how far N_k can go in two layouts."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from utils.draw.controls import Choice, Slider
from utils.draw.palette import COLOUR, FAINT, INK, LARGE, PAPER, boxes, canvas, write
from utils.language import say
from utils.memory import Event, Memory

LEFT, CHIP = 2.6, 20.0  # cells: room for names on the left; the budget's width
TOP, HIGH, BEYOND = 2.4, 2.0, 2.6  # top and height of the chip; how far an overrun may stick out
RULER, KEYS = 11.0, 2000  # top of the ruler, and the N_k at its right end
LAYOUTS = ("resident", "streamed")
WORDS = 12.7  # points: a page of 800 pixels shows the picture smaller


def controls() -> dict[str, Choice | Slider]:
    """Return the picture's controls: the layout, N_k, and the rows of the tiles of Q and K."""
    named = {say(en="K resident", zh="K 留在片上"): "resident"}
    named |= {say(en="K streamed", zh="K 流式读取"): "streamed"}
    return {
        "layout": Choice(say(en="layout", zh="K 的存放方式"), named, "resident"),
        "n_k": Slider(say(en="keys, N_k", zh="key 的个数 N_k"), 1, KEYS, 200),
        "b_r": Slider(say(en="rows of Q in a tile, B_r", zh="每块的 Q 行数 B_r"), 8, 128, 16),
        "b_c": Slider(say(en="rows of K in a tile, B_c", zh="每块的 K 行数 B_c"), 4, 128, 16),
    }


def alt() -> str:
    """Return the picture in words."""
    return say(
        en="A bar stands for the chip and is filled with the tile of Q, with K, and with the row tile"
        " of scores; an overrun sticks out. A ruler of key counts shows the walls of both layouts.",
        zh="一条横框表示片上存储，里面依次填入 Q 的 tile、K 和行块的分数，放不下的部分伸出框外。"
        "下面的标尺标出两种存放方式各能放下多少个 key。",
    )


def fullest(memory: Memory) -> dict[str, Event]:
    """Replay the log to the moment when most was on chip; return the pieces held then by name."""
    held, best, most = {}, {}, 0
    for event in memory.events:
        if event.kind in ("read", "chip"):
            held[event.name] = event
        elif event.kind == "free":
            held.pop(event.name)
        if event.held > most:
            best, most = dict(held), event.held
    return best


def draw(memory: Memory, budget: int, walls: dict[str, int], layout: str, n_k: int) -> Figure:
    """Return the picture of one run, against budget bytes.

    memory: a finished run of Q, K and S without a limit, with at most one piece of each on chip at
    a time. walls: the largest N_k that fits, for "resident" and "streamed". layout: which one ran.
    """
    figure, axes = canvas(LEFT + CHIP + BEYOND + 0.8, RULER + 3.9)
    pieces = fullest(memory)
    write(axes, 0.4, 0.8, f"K {layout}, N_k = {n_k}", size=LARGE, at="left")
    verdict(axes, memory.peak, budget)
    bar(axes, pieces, budget)
    table(axes, pieces, layout, budget)
    ruler(axes, walls, layout, n_k)
    return figure


def verdict(axes: Axes, peak: int, budget: int) -> None:
    """Say in words whether it fits, and by how much."""
    left = budget - peak
    text = f"fits: {left:,} bytes free" if left >= 0 else f"does not fit: {-left:,} bytes too many"
    write(axes, LEFT + CHIP, 0.8, text, size=LARGE, at="right", weight="bold")


def bar(axes: Axes, pieces: dict[str, Event], budget: int) -> None:
    """Fill the chip from the left; what is beyond the picture is cut off at its edge."""
    end = LEFT + CHIP + BEYOND
    x = LEFT
    for name in "QKS":
        width = CHIP * pieces[name].nbytes / budget
        seen = min(width, end - x)
        if seen > 0:
            boxes(axes, [(x, TOP, seen, HIGH)], fill=COLOUR[name], line=1.4)
        if seen > 0.6:
            write(axes, x + seen / 2, TOP + HIGH / 2, name, size=LARGE)
        x += width
    boxes(axes, [(LEFT, TOP - 0.3, CHIP, HIGH + 0.6)], line=3)
    write(axes, LEFT - 0.3, TOP + HIGH / 2, "chip", at="right", size=WORDS)
    if x > end:
        write(axes, end, TOP - 0.5, "…→", size=LARGE, at="right")


def table(axes: Axes, pieces: dict[str, Event], layout: str, budget: int) -> None:
    """Write out the sum: shape and bytes of each piece."""
    of_k = "all of K" if layout == "resident" else "tile of K"
    what = {"Q": "tile of Q", "K": of_k, "S": "row tile of S"}
    y, peak = TOP + HIGH + 1.5, sum(piece.nbytes for piece in pieces.values())
    for name in "QKS":
        rows, columns = pieces[name].shape
        boxes(axes, [(LEFT, y - 0.3, 0.6, 0.6)], fill=COLOUR[name], line=1.4)
        write(axes, LEFT + 1, y, f"{name}: {what[name]}", at="left", size=WORDS)
        write(axes, LEFT + 10, y, f"{rows} × {columns} × 4 bytes", at="right", size=WORDS)
        write(axes, LEFT + 13.6, y, f"{pieces[name].nbytes:,}", at="right", size=WORDS)
        y += 0.9
    sign = "≤" if peak <= budget else ">"
    write(axes, LEFT + 1, y + 0.1, "together", at="left", size=WORDS)
    write(axes, LEFT + 13.6, y + 0.1, f"{peak:,}", at="right", weight="bold", size=WORDS)
    write(axes, LEFT + 13.8, y + 0.1, f"{sign} {budget:,}", at="left", size=WORDS)


def ruler(axes: Axes, walls: dict[str, int], layout: str, n_k: int) -> None:
    """Draw how many keys each layout has room for, and where the present N_k stands."""
    scale = CHIP / KEYS
    write(axes, LEFT, RULER - 0.9, "largest N_k that fits", at="left", size=WORDS)
    for n, name in enumerate(LAYOUTS):
        y, reach = RULER + 1.3 * n, min(walls[name], KEYS + 120) * scale
        now = name == layout
        fill, edge = (COLOUR["ℓ"], INK) if now else ("none", FAINT)
        boxes(axes, [(LEFT, y, reach, 0.9)], fill=fill, edge=edge, line=2 if now else 1.2)
        style = {"at": "right", "weight": "bold" if now else "normal", "size": WORDS}
        write(axes, LEFT - 0.2, y + 0.45, name, **style)
        beyond = " →" if walls[name] > KEYS + 120 else ""
        keys, paper = f"{walls[name]}{beyond}", {"facecolor": PAPER, "edgecolor": "none", "pad": 1}
        write(axes, LEFT + reach + 0.12, y + 0.45, keys, at="left", size=WORDS, bbox=paper)
    boxes(axes, [(LEFT + n_k * scale, RULER - 0.3, 0, 3.0)], line=3)
    write(axes, LEFT + n_k * scale, RULER + 3.1, f"N_k = {n_k}", size=WORDS)
