"""The reference on numbers worked by hand first; then every tiled way against the reference."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from utils.attention import (
    materialised_attention,
    naive_attention,
    row_tile_attention,
    tiled_attention,
    tiled_attention_v1,
)
from utils.memory import Memory
from utils.traffic import materialised_bytes, v1_bytes, v2_bytes

pytestmark = pytest.mark.filterwarnings("error")
bounded = settings(max_examples=60, deadline=None, derandomize=True)
TILED = [tiled_attention, tiled_attention_v1, row_tile_attention, materialised_attention]
BYTES = {
    tiled_attention: v2_bytes,
    tiled_attention_v1: v1_bytes,
    row_tile_attention: v2_bytes,
    materialised_attention: materialised_bytes,
}
every_way = pytest.mark.parametrize("tiled", TILED)
EMPTY = -np.inf


def from_scores(scores, v, **how):
    """Run naive attention on one query that meets exactly these scores."""
    return naive_attention([[1.0]], np.array(scores)[:, None], v, scale=1, **how)


def random_qkv(n_q, n_k, d=3, d_v=2, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    shapes = (n_q, d), (n_k, d), (n_k, d_v)
    q, k, v = (rng.standard_normal(shape) for shape in shapes)
    return spread * q, k, v


def assert_same(got, expected, bound=1e-12):
    for x, y in zip(got, expected, strict=True):
        assert x.shape == y.shape and np.allclose(x, y, rtol=bound, atol=bound)


# The reference, by hand


def test_two_by_two_by_hand():  # N41
    """q₀ meets scores [0, 0], q₁ meets [0, ln 3], so the weights are [½, ½] and [¼, ¾]."""
    q, k, v = [[0.0], [1.0]], [[0.0], [math.log(3)]], [[4.0, 0.0], [0.0, 8.0]]
    out, lse = naive_attention(q, k, v)
    assert out == pytest.approx(np.array([[2, 4], [1, 6]]))
    assert lse == pytest.approx(np.array([math.log(2), math.log(4)]))


def test_two_by_two_causal_by_hand():
    q, k, v = [[0.0], [1.0]], [[0.0], [math.log(3)]], [[4.0, 0.0], [0.0, 8.0]]
    out, lse = naive_attention(q, k, v, causal=True)
    assert out == pytest.approx(np.array([[4, 0], [1, 6]]))
    assert lse == pytest.approx(np.array([0, math.log(4)]))


def test_n24_the_scale_is_one_over_the_root_of_d():
    q, k, v = [[2.0, 0, 0, 0]], [[2.0, 0, 0, 0], [0, 0, 0, 0]], [[1.0], [0.0]]
    assert naive_attention(q, k, v)[0] == pytest.approx(0.8808, abs=5e-5)
    assert naive_attention(q, k, v, scale=1 / 4)[0] == pytest.approx(0.7311, abs=5e-5)
    assert naive_attention(q, k, v, scale=1)[0] == pytest.approx(0.982, abs=5e-5)


def test_n33_all_features_count():
    q = np.where(np.arange(128) < 64, 0.0, 1.0)[None, :]
    k, v = np.vstack([q, np.zeros(128)]), [[1.0], [0.0]]
    assert naive_attention(q, k, v)[0] == pytest.approx(0.9965, abs=5e-5)


def test_n19_and_n21_natural_logarithm_and_weights():
    assert from_scores([0, math.log(3)], [[1.0], [1.0]])[1] == pytest.approx(math.log(4))
    assert from_scores([0, 1], np.eye(2))[0] == pytest.approx(
        np.array([[0.2689, 0.7311]]), abs=5e-5
    )


def test_n40_and_the_wrong_softmax_of_lesson_6():
    assert from_scores([0, 5], [[1.0], [0.0]])[0] == pytest.approx(0.00669, abs=5e-6)
    assert from_scores([0, 0, 10, 10], [[0.0], [0], [1], [1]])[0] == pytest.approx(
        0.99995, abs=5e-6
    )
    assert from_scores([1, 2, 3, 5], [[1.0], [1], [0], [0]])[0] == pytest.approx(0.0566, abs=5e-5)


@every_way
def test_the_same_numbers_out_of_tiles(tiled):
    q, k, v = [[1.0]], [[0.0], [0], [10], [10]], [[0.0], [0], [1], [1]]
    assert tiled(q, k, v, b_r=1, b_c=2, scale=1)[0] == pytest.approx(0.99995, abs=5e-6)
    q, k, v = [[2.0, 0, 0, 0]], [[2.0, 0, 0, 0], [0, 0, 0, 0]], [[1.0], [0.0]]
    assert tiled(q, k, v, b_r=1, b_c=1)[0] == pytest.approx(0.8808, abs=5e-5)


# Scores of −∞, by hand


every_way_too = pytest.mark.parametrize("way", [naive_attention, *TILED])


def one_query(way, keys, v):
    """Run any of them on one query that meets exactly these scores, one key a tile."""
    how = {} if way is naive_attention else dict(b_r=1, b_c=1)
    return way([[1.0]], np.array(keys, dtype=float)[:, None], v, scale=1, **how)


@every_way_too
def test_n03b_a_row_of_minus_infinity_is_0_and_not_the_mean_of_v(way):
    out, lse = one_query(way, [EMPTY] * 4, [[1.0], [2], [3], [4]])
    assert out == 0 and lse == EMPTY


@every_way_too
def test_n37_a_score_of_minus_infinity_weighs_nothing(way):
    out, lse = one_query(way, [EMPTY, 0, EMPTY, math.log(3)], [[7.0], [4], [7], [8]])
    assert out == pytest.approx(7) and lse == pytest.approx(math.log(4))  # (1·4 + 3·8) / 4


@pytest.mark.parametrize("way", [naive_attention, *TILED[:3]])
def test_n04_the_value_of_a_key_at_minus_infinity_may_be_nan(way):
    assert one_query(way, [0, EMPTY], [[3.0], [np.nan]])[0] == 3


@every_way_too
def test_a_score_that_is_nan_is_not_taken_for_a_hidden_one(way):
    out, lse = one_query(way, [0, np.nan, 1], [[3.0], [4], [5]])
    assert np.isnan(out) and np.isnan(lse)


# Causal, empty and hidden


def keys_seen(n_q, n_k):
    """With V = I and equal scores the output shows which keys each query weighs."""
    out, lse = naive_attention(np.zeros((n_q, 1)), np.zeros((n_k, 1)), np.eye(n_k), causal=True)
    return ["".join("1" if w else "0" for w in row) for row in out], lse


def test_n09_and_n13_causal_is_bottom_right():
    assert keys_seen(2, 5)[0] == ["11110", "11111"]
    seen, lse = keys_seen(5, 2)
    assert seen == ["00", "00", "00", "10", "11"]
    assert lse.tolist() == pytest.approx([EMPTY, EMPTY, EMPTY, 0, math.log(2)])


def test_one_query_at_the_end_sees_every_key():
    q, k, v = random_qkv(1, 6)
    assert_same(naive_attention(q, k, v, causal=True), naive_attention(q, k, v), 0)


@every_way
def test_n01_rows_without_a_key_are_0_and_minus_infinity(tiled):
    q, k, v = random_qkv(7, 3)
    for out, lse in (
        naive_attention(q, k, v, causal=True),
        tiled(q, k, v, b_r=3, b_c=2, causal=True),
    ):
        assert (out[:4] == 0).all() and (lse[:4] == EMPTY).all()
        assert np.isfinite(out[4:]).all() and np.isfinite(lse[4:]).all()


@every_way
@pytest.mark.parametrize("causal", [False, True])
def test_n34_no_keys_or_no_queries(tiled, causal):
    for n_q, n_k in ((3, 0), (0, 4), (0, 0)):
        q, k, v = random_qkv(n_q, n_k)
        for out, lse in (
            naive_attention(q, k, v, causal=causal),
            tiled(q, k, v, b_r=2, b_c=2, causal=causal),
        ):
            assert out.shape == (n_q, 2) and (out == 0).all()
            assert lse.shape == (n_q,) and (lse == EMPTY).all()


def test_n04_a_hidden_key_or_value_may_be_nan():
    q, k, v = random_qkv(5, 5)
    expected = naive_attention(q, k, v, causal=True)
    k[4], v[4] = np.nan, np.inf
    out, lse = naive_attention(q, k, v, causal=True)
    assert np.array_equal(out[:4], expected[0][:4]) and np.array_equal(lse[:4], expected[1][:4])


@pytest.mark.parametrize("tiled", [tiled_attention, tiled_attention_v1, row_tile_attention])
@pytest.mark.parametrize("skip", [True, False])
def test_n04_in_tiles_where_no_row_sees_the_key(tiled, skip):
    q, k, v = random_qkv(6, 6)
    expected = naive_attention(q, k, v, causal=True)
    k[4:], v[4:] = np.nan, np.nan  # seen by the rows of the last tile only
    out, lse = tiled(q, k, v, b_r=2, b_c=3, causal=True, skip=skip)
    assert_same((out[:4], lse[:4]), (expected[0][:4], expected[1][:4]))


def test_n17_float16_inputs_that_overflow_in_float16():
    q = np.full((1, 128), 256, dtype=np.float16)
    k, v = np.vstack([q, q / 2]), np.array([[1.0], [0.0]])
    out, lse = naive_attention(q, k, v)
    assert out == 1 and lse == pytest.approx(128 * 256**2 / math.sqrt(128))


@every_way_too
def test_n28_strided_views_are_read_as_what_they_are(way):
    q, k, v = random_qkv(5, 6)
    how = {} if way is naive_attention else dict(b_r=2, b_c=4)
    views = (np.asfortranarray(q), np.repeat(k, 2, axis=0)[::2], v[::-1].copy()[::-1])
    assert_same(way(*views, **how), way(q, k, v, **how), 1e-13)


# Every way agrees with the reference


sizes, tile_sizes, widths = st.integers(0, 12), st.integers(1, 7), st.integers(1, 4)
any_sizes = dict(n_q=sizes, n_k=sizes, d=widths, d_v=widths, b_r=tile_sizes, b_c=tile_sizes)


@bounded
@given(
    **any_sizes,
    causal=st.booleans(),
    skip=st.booleans(),
    spread=st.sampled_from([1.0, 300.0]),
    seed=st.integers(0, 99),
)
def test_every_way_agrees(n_q, n_k, d, d_v, b_r, b_c, causal, skip, spread, seed):
    q, k, v = random_qkv(n_q, n_k, d, d_v, seed, spread)
    expected = naive_attention(q, k, v, causal=causal)
    for tiled in TILED:
        got = tiled(q, k, v, b_r=b_r, b_c=b_c, causal=causal, skip=skip)
        assert_same(got, expected, 1e-11)


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("level", [0, -200, -2000])
def test_tile_maxima_that_rise_or_fall_by_hundreds(direction, level):
    ramp = direction * 150.0 * np.arange(9) + level
    q, k, v = np.ones((2, 1)), ramp[:, None], random_qkv(1, 9)[2]
    expected = naive_attention(q, k, v, scale=1)
    for tiled in TILED:
        assert_same(tiled(q, k, v, b_r=1, b_c=2, scale=1), expected)


def test_n06_and_n07_lengths_that_no_tile_divides():
    for n, b in ((192, 128), (300, 256), (128, 256)):
        q, k, v = random_qkv(n, n)
        expected = naive_attention(q, k, v)
        for tiled in TILED:
            assert_same(tiled(q, k, v, b_r=b, b_c=b), expected)


def test_a_given_scale_is_used_once():
    q, k, v = random_qkv(5, 6)
    expected = naive_attention(q, k, v, scale=0.3)
    assert not np.allclose(expected[0], naive_attention(q, k, v)[0])
    for tiled in TILED:
        assert_same(tiled(q, k, v, b_r=2, b_c=4, scale=0.3), expected)


@every_way
def test_shapes_that_do_not_fit_are_quoted(tiled):
    q, k, v = random_qkv(4, 5)
    with pytest.raises(ValueError, match=r"got \(1, 4, 3\), \(1, 5, 3\), \(1, 5, 2\)"):
        naive_attention(q[None], k[None], v[None])  # N41: one head, without a batch axis
    with pytest.raises(ValueError, match=r"got \(4, 3\), \(5, 3\), \(4, 2\)"):
        tiled(q, k, v[:4], b_r=2, b_c=2)
    with pytest.raises(ValueError, match=r"got \(4, 3\), \(5, 2\), \(5, 2\)"):
        naive_attention(q, k[:, :2], v)


# Traffic


def counted(tiled, q, k, v, **how):
    memory = Memory(dtype="float16")
    tiled(q, k, v, memory=memory, **how)
    return memory


@bounded
@given(**any_sizes, causal=st.booleans())
@example(n_q=5, n_k=11, d=2, d_v=3, b_r=2, b_c=4, causal=True)
@example(n_q=11, n_k=5, d=3, d_v=1, b_r=4, b_c=2, causal=True)
def test_counted_bytes_equal_the_closed_forms(n_q, n_k, d, d_v, b_r, b_c, causal):
    q, k, v = random_qkv(n_q, n_k, d, d_v)
    for tiled, closed_form in BYTES.items():
        memory = counted(tiled, q, k, v, b_r=b_r, b_c=b_c, causal=causal)
        expected = closed_form(n_q, n_k, d, d_v, b_r=b_r, b_c=b_c, causal=causal, e=2, s=4)
        moved = {name: memory.read[name] + memory.written[name] for name in expected}
        assert moved == expected
        assert memory.traffic == sum(expected.values()) and memory.held == 0


def test_the_curriculum_writes_the_same_closed_forms():
    """v2 and v1 as sums over tiles, spelled out for one ragged causal case (offset 6)."""
    n_q, n_k, d, d_v, b_r, b_c, e, s = 5, 11, 2, 3, 2, 4, 2, 4
    w = 8 + 11 + 11  # row tiles end at 2, 4, 5 and see 8, 10, 11 keys: 2, 3, 3 tiles
    v2 = e * n_q * (d + d_v) + s * n_q + e * (d + d_v) * w
    visited = 2 * 2 + 2 * 3 + 1 * 3  # rows h_i times tiles
    v1 = s * n_q * (d_v + 2) + e * (d + d_v) * n_k
    v1 += visited * (e * d + 2 * s * d_v + 4 * s) + n_q * (d_v * (s + e) + 3 * s)
    how = dict(b_r=b_r, b_c=b_c, causal=True)
    assert sum(v2_bytes(n_q, n_k, d, d_v, **how).values()) == v2
    assert sum(v1_bytes(n_q, n_k, d, d_v, **how).values()) == v1
    assert counted(tiled_attention, *random_qkv(n_q, n_k, d, d_v), **how).traffic == v2
    assert counted(tiled_attention_v1, *random_qkv(n_q, n_k, d, d_v), **how).traffic == v1


def test_what_tiling_saves_is_four_passes_over_the_scores():
    n_q, n_k, how = 6, 10, dict(b_r=4, b_c=3)
    q, k, v = random_qkv(n_q, n_k)
    flash, naive = (
        counted(way, q, k, v, **how) for way in (tiled_attention, materialised_attention)
    )
    assert naive.traffic - flash.traffic == 4 * n_q * n_k * 2
    assert counted(row_tile_attention, q, k, v, **how).traffic == flash.traffic


def test_small_tiles_move_more_than_an_idealised_naive():
    n, d, b = 256, 64, 16
    flash = sum(v2_bytes(n, n, d, d, b_r=b, b_c=b, e=4, s=0).values())
    idealised = 4 * (4 * n * d + 4 * n * n)  # Q, K, V, O once, and four passes over S and P
    assert idealised / flash == pytest.approx(0.59, abs=5e-3)


@pytest.mark.parametrize(("b_r", "b_c", "ratio"), [(64, 64, 2.5), (16, 64, 0.65)])
def test_which_loop_order_moves_less(b_r, b_c, ratio):
    """For fp16 and fp32 state v1 wins when B_c / B_r exceeds 2.5."""
    sizes, how = (16384, 16384, 128, 128), dict(b_r=b_r, b_c=b_c)
    v1, v2 = (sum(form(*sizes, **how).values()) for form in (v1_bytes, v2_bytes))
    assert v1 / v2 == pytest.approx(ratio, abs=0.04)


@every_way
def test_without_skipping_the_causal_traffic_is_that_of_no_mask(tiled):
    q, k, v = random_qkv(12, 12)
    how = dict(b_r=3, b_c=3)
    whole = counted(tiled, q, k, v, **how)
    visited = counted(tiled, q, k, v, causal=True, skip=False, **how)
    skipped = counted(tiled, q, k, v, causal=True, **how)
    assert (visited.read, visited.written) == (whole.read, whole.written)
    assert skipped.traffic < visited.traffic


def test_not_visiting_and_not_materialising_save_apart():
    q, k, v = random_qkv(12, 12)
    how = dict(b_r=3, b_c=3, causal=True)
    traffic = {
        (way, skip): counted(way, q, k, v, skip=skip, **how).traffic
        for way in (materialised_attention, tiled_attention)
        for skip in (False, True)
    }
    whole, flash = traffic[materialised_attention, False], traffic[tiled_attention, False]
    assert traffic[materialised_attention, True] < whole
    assert flash < whole and traffic[tiled_attention, True] < flash


def test_room_on_chip_grows_with_the_keys_only_where_whole_rows_are_kept():
    peaks = {}
    for way in TILED:
        runs = [counted(way, *random_qkv(32, n_k), b_r=8, b_c=8) for n_k in (32, 64)]
        peaks[way] = [memory.peak for memory in runs]
    for way in (tiled_attention, tiled_attention_v1):
        assert peaks[way][0] == peaks[way][1]
    for way in (row_tile_attention, materialised_attention):
        assert peaks[way][0] < peaks[way][1]


def test_peak_of_the_tile_loop_by_hand():
    """e·(Q_i, K_j, V_j) and 4 bytes of S, m, ℓ, Õ: 2·8·(3 + 3 + 2) + 4·(64 + 8 + 8 + 16)."""
    assert counted(tiled_attention, *random_qkv(32, 32), b_r=8, b_c=8).peak == 128 + 384
