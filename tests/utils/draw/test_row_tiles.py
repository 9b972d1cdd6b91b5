"""Lesson 02's picture: bars as wide as the bytes counted, the walls as found, a fast redraw."""

import itertools

import numpy as np
import pytest

from tests.utils.draw.picture_rules import (
    assert_a_redraw_is_fast,
    assert_texts_lie_inside,
    smallest,
)
from utils.draw.controls import settle
from utils.draw.palette import png
from utils.draw.row_tiles import BEYOND, CHIP, HIGH, LAYOUTS, LEFT, TOP, controls, draw, fullest
from utils.memory import Memory
from utils.tiles import tiles

BUDGET = 101_376
ENDS = list(itertools.product(LAYOUTS, (1, 2000), (8, 128), (4, 128)))


def run(layout, n_k, b_r, b_c):
    memory = Memory()
    Q, K = memory.slow("Q", (b_r, 64)), memory.slow("K", (n_k, 64))
    if layout == "resident":
        K[:]
    for rows in memory.turns(tiles(b_r, b_r)):
        Q[rows]
        memory.chip("S", np.empty((b_r, n_k)))
        for cols in memory.turns(tiles(n_k, b_c) if layout == "streamed" else []):
            K[cols]
    return memory


def picture(walls=None, **wanted):
    values = settle(controls(), wanted)
    walls = walls or {"resident": 304, "streamed": 1456}
    return draw(run(**values), BUDGET, walls, values["layout"], values["n_k"])


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def bars(figure):
    """Return (left, width) of the pieces drawn on the chip."""
    found = []
    for collection in figure.axes[0].collections:
        for path in collection.get_paths():
            (left, top), (right, bottom) = path.get_extents().get_points()
            if top == pytest.approx(TOP) and bottom - top == pytest.approx(HIGH):
                found.append((left, right - left))
    return found


def test_default_has_room_left():
    assert "fits: 33,280 bytes free" in texts(picture())


def test_304_keys_fill_the_chip_to_the_last_byte():
    figure = picture(n_k=304)
    words = texts(figure)
    assert "fits: 0 bytes free" in words and "≤ 101,376" in words
    assert {"4,096", "77,824", "19,456", "16 × 304 × 4 bytes", "304", "1456"} <= set(words)
    assert sum(width for _, width in bars(figure)) == pytest.approx(CHIP)


def test_widths_are_the_bytes_that_were_counted():
    sizes = [width * BUDGET / CHIP for _, width in bars(picture(layout="streamed", n_k=1000))]
    assert sizes == pytest.approx([16 * 64 * 4, 16 * 64 * 4, 16 * 1000 * 4])


def test_one_key_more_sticks_out():
    figure = picture(n_k=305)
    assert "does not fit: 320 bytes too many" in texts(figure) and "> 101,376" in texts(figure)
    left, width = bars(figure)[-1]
    assert left + width > LEFT + CHIP


def test_a_large_overrun_is_cut_off_and_says_so():
    figure = picture(n_k=2000, b_r=128)
    assert "…→" in texts(figure) and "…→" not in texts(picture())
    assert max(left + width for left, width in bars(figure)) == pytest.approx(LEFT + CHIP + BEYOND)


def test_the_fullest_moment_is_replayed_from_the_log():
    memory = run("streamed", 40, 16, 16)
    pieces = fullest(memory)
    assert sum(event.nbytes for event in pieces.values()) == memory.peak
    assert pieces["K"].shape == (16, 64)  # not the ragged tile of 8 rows that comes last


def test_a_wall_beyond_the_ruler_is_marked():
    assert "3096 →" in texts(picture(walls={"resident": 344, "streamed": 3096}))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("layout", "n_k", "b_r", "b_c"), ENDS)
@pytest.mark.parametrize("walls", [(89, 89), (344, 3096)])
def test_every_end_draws_within_the_picture(layout, n_k, b_r, b_c, walls):
    walls = dict(zip(LAYOUTS, walls, strict=True))
    figure = picture(walls, layout=layout, n_k=n_k, b_r=b_r, b_c=b_c)
    assert_texts_lie_inside(figure, apart=True)
    assert smallest(figure) >= 9
    assert len(figure.axes[0].texts) <= 48


def test_equal_states_have_equal_bytes():
    assert png(picture()) == png(picture())
    assert png(picture()) != png(picture(n_k=305))


def test_a_redraw_is_fast(capsys):
    assert_a_redraw_is_fast(
        "row_tiles", lambda step: picture(layout="streamed", n_k=1000 + step), capsys
    )
