"""Lesson 05's picture: keys merged in a chosen order; every node is a state (m, ℓ) of value ℓ·e^m."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from utils.draw.controls import Choice, Slider
from utils.draw.palette import COLOUR, FAINT, INK, PAPER, boxes, canvas, subscript, write
from utils.language import say
from utils.states import State, merge, state_of

ORDERS = {
    "((x₁ x₂) (x₃ x₄))": ((0, 1), (2, 3)),
    "(((x₁ x₂) x₃) x₄)": (((0, 1), 2), 3),
    "(x₁ (x₂ (x₃ x₄)))": (0, (1, (2, 3))),
    "((x₄ x₁) (x₃ x₂))": ((3, 0), (2, 1)),
}
STEP, RISE, TOP, FOOT = 5.0, 3.7, 1.2, 1.4  # cells: between leaves and levels; above and below
HALF, HEIGHT, ABOVE = 2.1, 1.2, 0.95  # a box: half its width, its height, room for its value
WORDS, SCORES = 15, 17  # points: a slide and a page of 800 pixels show the picture smaller


@dataclass(frozen=True, eq=False)  # nodes are told apart by identity
class Node:
    """A state of one row, its place (x in leaves, level 0 for a key), and what it was merged from.

    key: the key's index for a leaf, -1 for a merge.
    """

    state: State
    x: float
    level: int
    parts: tuple["Node", ...] = ()
    key: int = -1

    @property
    def m(self) -> float:
        return float(self.state.m[0])

    @property
    def denominator(self) -> float:
        return float(self.state.l[0])


def merge_tree(scores, order) -> Node:
    """Return the root of the tree that merges the keys of one row of scores (keys,) in an order.

    order: nested pairs of key indices, as the values of ORDERS. The leaves stand in its sequence.
    """
    places = {key: x for x, key in enumerate(keys_of(order))}

    def build(part) -> Node:
        if isinstance(part, tuple):
            a, b = map(build, part)
            level = 1 + max(a.level, b.level)
            return Node(merge(a.state, b.state), (a.x + b.x) / 2, level, (a, b))
        state = state_of([[float(scores[part])]], np.zeros((1, 0)))  # V plays no part here
        return Node(state, places[part], 0, key=part)

    return build(order)


def keys_of(order) -> list[int]:
    """Return the key indices of nested pairs from left to right."""
    return [key for part in order for key in keys_of(part)] if isinstance(order, tuple) else [order]


def nodes_of(root: Node) -> Iterator[Node]:
    """Yield all nodes, each after the parts that it is merged from."""
    for part in root.parts:
        yield from nodes_of(part)
    yield root


def controls() -> dict[str, Choice | Slider]:
    """Return the picture's controls: the order, the last score, and how many merges are done."""
    return {
        "order": Choice(say(en="order of merging", zh="合并的顺序"), ORDERS, ((0, 1), (2, 3))),
        "last": Slider(say(en="last score, x₄", zh="最后一个分数 x₄"), -5, 9, 5),
        "merges": Slider(say(en="merges done", zh="已经合并的次数"), 0, 3, 3),
    }


def alt() -> str:
    """Return the picture in words."""
    return say(
        en="A tree of states. At the bottom stand four keys with l = 1; each merge stands above its"
        " two parts with its m, l and value l times e to the m. The lines carry the factors. The"
        " state at the top is the same in every order.",
        zh="一棵由状态组成的树。最下面是 4 个 key，l 都是 1；每次合并的结果在它的两个部分上方，"
        "写着 m、l 和值 l 乘 e 的 m 次方。线上是重标定系数。无论什么顺序，最上面的状态都一样。",
    )


def draw(root: Node, merges: int) -> Figure:
    """Return the picture of a tree of which the first merges are done; the rest is only outlined."""
    leaves = len([node for node in nodes_of(root) if not node.parts])
    figure, axes = canvas(STEP * leaves, TOP + RISE * (leaves - 1) + HEIGHT + FOOT)
    waiting = [node for node in nodes_of(root) if node.parts][merges:]
    floor = TOP + RISE * (leaves - 1)
    lines(axes, root, waiting, floor)
    for node in nodes_of(root):
        if node in waiting:
            place = (centre(node) - HALF, floor - RISE * node.level, 2 * HALF, HEIGHT)
            boxes(axes, [place], fill=PAPER, edge=FAINT)
        else:
            box(axes, node, floor)
    exact = sum(np.exp(node.m) for node in nodes_of(root) if not node.parts)
    beside = floor - RISE * root.level - ABOVE / 2  # on the line of the root's value, to compare
    write(axes, 0.4, beside, f"Σ e^x = {number(exact)}", size=WORDS, at="left")
    return figure


def centre(node: Node) -> float:
    return STEP * (node.x + 0.5)


def box(axes: Axes, node: Node, floor: float) -> None:
    """Draw a state: m and ℓ in their colours, and its value above."""
    x, y = centre(node), floor - RISE * node.level
    fields = [(x - HALF, y, HALF, HEIGHT), (x, y, HALF, HEIGHT)]
    boxes(axes, fields, fill=[COLOUR["m"], COLOUR["ℓ"]], line=1.4)
    write(axes, x - HALF / 2, y + HEIGHT / 2, f"m {node.m:g}", size=WORDS)
    write(axes, x + HALF / 2, y + HEIGHT / 2, f"ℓ {number(node.denominator)}", size=WORDS)
    value = f"ℓ·e^m = {number(node.denominator * np.exp(node.m))}"
    write(axes, x, y - ABOVE / 2, value, size=WORDS)
    if not node.parts:
        write(axes, x, y + HEIGHT + 0.7, f"x{subscript(node.key + 1)} = {node.m:g}", size=SCORES)


def lines(axes: Axes, root: Node, waiting: list[Node], floor: float) -> None:
    """Draw each part's line to its merge, with the factor e^(m_part − m) if the merge is done."""
    ends = [(node, part) for node in nodes_of(root) for part in node.parts]
    points = [
        [
            (centre(part), floor - RISE * part.level - (0 if part in waiting else ABOVE)),
            (centre(node), floor - RISE * node.level + HEIGHT),
        ]
        for node, part in ends
    ]
    colours = [FAINT if node in waiting else INK for node, _ in ends]
    axes.add_collection(LineCollection(points, colors=colours, linewidths=1.2), autolim=False)
    for (node, part), ((x0, y0), (x1, y1)) in zip(ends, points, strict=True):
        if node not in waiting:
            factor = f"×{number(np.exp(part.m - node.m))}"
            middle = (x0 + x1) / 2, (y0 + y1) / 2
            paper = {"facecolor": PAPER, "edgecolor": "none", "pad": 1}
            write(axes, *middle, factor, size=WORDS, bbox=paper)


def number(value: float) -> str:
    """Return a positive number with four digits, without e-notation down to 0.0001."""
    return f"{value:.4g}" if value >= 1e-4 else f"{value:.0e}".replace("e-0", "e-")
