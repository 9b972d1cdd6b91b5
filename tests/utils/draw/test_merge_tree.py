"""Lesson 05's picture: every node's numbers, the same root in every order, a fast redraw."""

import itertools

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from tests.utils.draw.picture_rules import (
    assert_a_redraw_is_fast,
    assert_texts_lie_inside,
    smallest,
)
from utils.draw.controls import settle
from utils.draw.merge_tree import (
    ABOVE,
    HALF,
    ORDERS,
    controls,
    draw,
    keys_of,
    merge_tree,
    nodes_of,
    number,
)
from utils.draw.palette import CELL, png, subscript


def picture(**wanted):
    values = settle(controls(), wanted)
    return draw(merge_tree([1, 2, 3, values["last"]], values["order"]), values["merges"])


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_default_says_the_numbers_of_the_text():
    words = texts(picture())
    for expected in ("ℓ 1.368", "ℓ 1.135", "ℓ 1.203", "×0.04979", "Σ e^x = 178.6"):
        assert expected in words
    assert words.count("ℓ·e^m = 178.6") == 1 and words.count("×1") == 3


@pytest.mark.parametrize("order", ORDERS.values())
def test_every_order_merges_every_key_once_and_ends_in_the_same_state(order):
    assert sorted(keys_of(order)) == [0, 1, 2, 3]
    root = merge_tree([1, 2, 3, 5], order)
    assert root.m == 5
    assert root.denominator == pytest.approx(np.exp(np.array([-4, -3, -2, 0])).sum(), rel=1e-14)


@pytest.mark.parametrize("order", ORDERS.values())
def test_the_value_of_a_merge_is_the_sum_of_its_parts(order):
    def value(node):
        return node.denominator * np.exp(node.m)

    merged = [node for node in nodes_of(merge_tree([4, -3, 0, 2], order)) if node.parts]
    assert len(merged) == 3
    for node in merged:
        assert value(node) == pytest.approx(sum(map(value, node.parts)), rel=1e-14)
        assert node.m == max(part.m for part in node.parts)


@pytest.mark.parametrize("order", ORDERS.values())
def test_parts_are_done_before_their_merge(order):
    seen = []
    for node in nodes_of(merge_tree([1, 2, 3, 5], order)):
        assert all(part in seen for part in node.parts)
        seen.append(node)
    assert len(seen) == 7


@pytest.mark.parametrize("done", range(4))
def test_a_merge_that_is_not_done_shows_no_number(done):
    words = texts(picture(merges=done))
    assert sum(word.startswith("ℓ·e^m") for word in words) == 4 + done
    assert sum(word.startswith("×") for word in words) == 2 * done


def test_a_line_reaches_a_box_that_waits_and_leaves_room_for_a_value_that_is_there():
    def lower_ends(done):
        drawn = picture(merges=done).axes[0].collections
        (lines,) = [part for part in drawn if isinstance(part, LineCollection)]
        return [max(y for _, y in points) for points in lines.get_segments()]

    before, after = lower_ends(0), lower_ends(3)
    assert sorted(b - a for a, b in zip(after, before, strict=True)) == pytest.approx(
        [0, 0, 0, 0, ABOVE, ABOVE]
    )


def test_labels_of_the_orders_say_what_is_merged():
    def written(part):
        if isinstance(part, tuple):
            return f"({' '.join(map(written, part))})"
        return f"x{subscript(part + 1)}"

    assert list(ORDERS) == [written(order) for order in ORDERS.values()]


def test_small_numbers_stay_short():
    assert [number(x) for x in (1.0, 178.606, 1e-4, 8.3e-7)] == ["1", "178.6", "0.0001", "8e-7"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("order", "last", "merges"), list(itertools.product(ORDERS.values(), (-5, 5, 9), (0, 3)))
)
def test_every_state_draws_within_the_picture(order, last, merges):
    figure = picture(order=order, last=last, merges=merges)
    assert_texts_lie_inside(figure, apart=True)
    assert len(figure.axes[0].texts) <= 48


@pytest.mark.parametrize("order", ORDERS.values())
def test_its_words_are_large_and_fit_into_their_boxes(order):
    assert smallest(picture(order=order)) >= 11
    figure = picture(order=order, last=-5)
    png(figure)
    for text in figure.axes[0].texts:
        if text.get_text()[0] in "mℓ" and "e^m" not in text.get_text():
            assert text.get_window_extent().width < (HALF - 0.2) * CELL, text


@pytest.mark.parametrize("order", ORDERS.values())
def test_the_sum_stands_on_the_line_of_the_value_it_equals(order):
    heights = {t.get_text(): t.get_position()[1] for t in picture(order=order).axes[0].texts}
    assert heights["Σ e^x = 178.6"] == heights["ℓ·e^m = 178.6"] == min(heights.values())


def test_equal_states_have_equal_bytes():
    assert png(picture()) == png(picture())
    assert png(picture()) != png(picture(last=6))


def test_a_redraw_is_fast(capsys):
    assert_a_redraw_is_fast("merge_tree", lambda step: picture(last=step % 9), capsys)
