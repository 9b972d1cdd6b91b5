"""Lesson 11's plan fits the card: nothing but naive attention may run out of memory."""

import pytest

from utils import preflight
from utils.benchmark import attention_flops
from utils.device import Machine
from utils.preflight import HEADS, plan

GIB = 2**30
CARDS = {  # capability, bytes of memory
    "T4": ((7, 5), 15 * GIB),
    "L4": ((8, 9), 22 * GIB),
    "A100": ((8, 0), 40 * GIB),
    "laptop": ((8, 6), 6 * GIB),
    "H200": ((9, 0), 139 * GIB),
    "RTX": ((12, 0), 32 * GIB),
}
torch = pytest.importorskip("torch")


def machine(card: str) -> Machine:
    capability, memory = CARDS[card]
    return Machine(card, capability, 65536, memory, "2.11.0", "3.6.0")


@pytest.mark.parametrize("card", CARDS)
def test_no_timing_fills_a_quarter_of_the_memory(card):
    """Q, K, V and O, two bytes an element; speed_rows itself leaves naive attention out in time."""
    of_card = plan(machine(card), "gpu")
    for _, _, n in of_card.points:
        elements = max(1, of_card.tokens // n) * n * 2048
        assert 4 * 2 * elements < CARDS[card][1] / 4


@pytest.mark.parametrize("card", CARDS)
def test_naive_attention_runs_out_of_memory_at_the_last_two_lengths_only(card):
    lengths, memory = plan(machine(card), "gpu").memory_lengths, CARDS[card][1]
    wall = [4 * HEADS * n * n >= memory for n in lengths]
    assert wall == [False] * (len(lengths) - 2) + [True, True]
    assert 4 * 2 * HEADS * lengths[-1] * 64 < memory / 4  # the kernel itself does not


def test_a_t4_computes_all_timings_in_two_minutes_at_two_teraflops():
    """25 runs a point and method, five methods, all at a quarter of its float32 peak of 8 TFLOP/s."""
    t4 = plan(machine("T4"), "gpu")
    flops = sum(attention_flops(t4.tokens // n, 2048 // d, n, n, d, c) for d, c, n in t4.points)
    assert 25 * 5 * flops / 2e12 < 120
    n = t4.memory_lengths[-1]
    assert attention_flops(1, HEADS, n, n, 64, False) / 2e12 < 5


def test_a_t4_is_told_that_it_has_no_tensor_cores_for_triton(monkeypatch):
    monkeypatch.setenv("COURSE_LANGUAGE", "en")
    t4 = plan(machine("T4"), "gpu")
    assert (t4.dtype, t4.tensor_cores, t4.lengths[-1]) == ("float16", False, 4096)
    assert "no way to them" in str(t4) and "by pointers" in str(t4) and "float16" in str(t4)


def test_an_h200_takes_the_papers_sizes_and_descriptors(monkeypatch):
    monkeypatch.setenv("COURSE_LANGUAGE", "en")
    h200 = plan(machine("H200"), "gpu")
    assert (h200.dtype, h200.tensor_cores, h200.tokens) == ("bfloat16", True, 16384)
    assert len(h200.points) == 16 and h200.lengths == (256, 1024, 4096, 16384)
    for d, place in ((64, ""), (128, " (not when causal)")):
        b_r, b_c, warps, stages = h200.settings[d, False][:4]
        told = f"d = {d}: {b_r} queries × {b_c} keys a tile, {warps} warps, {stages} stages"
        assert f"{told}, Q in registers{place}\n" in str(h200)
        assert h200.settings[d, True][:4] == (b_r, b_c, warps, stages)  # told once for both
    assert "copy engine" in str(h200)


@pytest.mark.parametrize("mode", ["interpreter", "none"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_without_a_gpu_the_recorded_figures_are_announced(mode, language, monkeypatch):
    monkeypatch.setenv("COURSE_LANGUAGE", language)
    nothing = Machine(None, None, None, None, None, None)
    text = str(plan(nothing, mode))
    assert "H200" in text and plan(nothing, mode).points == []
    assert (("解释器" if language == "zh" else "interpreter") in text) == (mode == "interpreter")


def test_versions_that_do_not_work_plan_no_kernel(monkeypatch):
    monkeypatch.setattr(preflight, "trouble", lambda capability: f"not on {capability}")
    assert plan(machine("T4"), "gpu").mode == "none"
    assert plan(machine("T4"), "interpreter").mode == "none"
    assert not plan(machine("T4"), "gpu").on_gpu
