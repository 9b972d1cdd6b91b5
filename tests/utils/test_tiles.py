"""Tiles against plain counting, for every small size."""

import re
from itertools import product

import numpy as np
import pytest

from utils.tiles import classify, tiles, visible, visible_keys


def pairs_seen(rows: slice, cols: slice, offset: int) -> list[bool]:
    return [
        c <= r + offset for r in range(rows.start, rows.stop) for c in range(cols.start, cols.stop)
    ]


def every_tile(largest: int):
    for n_q, n_k, b_r, b_c in product(range(1, largest + 1), repeat=4):
        for rows, cols in product(tiles(n_q, b_r), tiles(n_k, b_c)):
            yield rows, cols, n_k - n_q


def test_the_last_tile_is_ragged():
    assert tiles(7, 3) == [slice(0, 3), slice(3, 6), slice(6, 7)]


def test_tiles_cover_every_token_once():
    for n, b in product(range(9), range(1, 11)):
        tokens = [t for tile in tiles(n, b) for t in range(tile.start, tile.stop)]
        assert tokens == list(range(n))
        assert all(0 < tile.stop - tile.start <= b for tile in tiles(n, b))


@pytest.mark.parametrize(("n", "b", "quoted"), [(-1, 2, "-1"), (4, 0, "b = 0"), (4, -3, "b = -3")])
def test_impossible_sizes_are_quoted(n, b, quoted):
    with pytest.raises(ValueError, match=quoted):
        tiles(n, b)


def test_classes_agree_with_brute_force():
    counts = {"skip": 0, "boundary": 0, "full": 0}
    for rows, cols, offset in every_tile(5):
        seen = pairs_seen(rows, cols, offset)
        expected = "full" if all(seen) else "boundary" if any(seen) else "skip"
        assert classify(rows, cols, offset=offset) == expected
        counts[expected] += 1
    assert min(counts.values()) > 100


def test_the_mask_and_the_visible_keys_agree_with_brute_force():
    for rows, cols, offset in every_tile(4):
        mask = visible(rows, cols, offset=offset)
        assert mask.ravel().tolist() == pairs_seen(rows, cols, offset)
    for rows, n_k, offset in product(tiles(7, 2), range(6), range(-8, 9)):
        seen = [c for c in range(n_k) if any(pairs_seen(rows, slice(c, c + 1), offset))]
        keys = visible_keys(rows, n_k, offset=offset)
        assert (keys.start, keys.stop) == (0, len(seen)) and seen == list(range(len(seen)))


def test_offsets_outside_the_matrix():
    assert classify((0, 2), (0, 2), offset=-2) == "skip"
    assert classify((0, 2), (0, 2), offset=9) == "full"


@pytest.mark.parametrize(
    ("n_q", "n_k", "mask"),
    [
        (2, 5, ["11110", "11111"]),
        (5, 2, ["00", "00", "00", "10", "11"]),
        (3, 3, ["100", "110", "111"]),
    ],
)
def test_bottom_right_alignment(n_q, n_k, mask):  # N09
    got = visible((0, n_q), (0, n_k), offset=n_k - n_q)
    assert ["".join(str(int(x)) for x in row) for row in got] == mask


def test_top_left_alignment_is_offset_zero():  # N09
    got = visible((0, 2), (0, 5), offset=0)
    assert got.astype(int).tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]]


@pytest.mark.parametrize(("t", "share"), [(4, 0.625), (32, 33 / 64)])
def test_visited_share_of_equal_tiles(t, share):
    grid = list(product(tiles(t * 2, 2), repeat=2))
    visited = [pair for pair in grid if classify(*pair) != "skip"]
    assert len(visited) / len(grid) == share == (t + 1) / (2 * t)


def test_ranges_and_pairs_are_tiles_too():
    for form in (slice(2, 4), range(2, 4), (2, 4)):
        assert classify(form, form) == "boundary"
    assert classify(slice(4), slice(1)) == "full"


@pytest.mark.parametrize(
    "span",
    [
        slice(3, 3),
        (4, 2),
        slice(0, 4, 2),
        range(0, 4, 2),
        slice(1, None),
        slice(-2, 3),
        3,
        (0, 1, 2),
    ],
)
def test_what_is_no_range_of_tokens_is_refused_and_quoted(span):
    with pytest.raises(
        ValueError, match=f"rows must be a half-open .* got {re.escape(str(span))}$"
    ):
        classify(span, (0, 1))
    with pytest.raises(
        ValueError, match=f"cols must be a half-open .* got {re.escape(str(span))}$"
    ):
        visible((0, 1), span)


def test_masks_are_boolean():
    assert visible((0, 1), (0, 1)).dtype == np.bool_
