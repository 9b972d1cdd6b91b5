"""The notes on the kernel's versions quote the recorded figures as they are."""

import math
import re
from pathlib import Path

from utils.measurements import h200_forward as recorded

NOTES = (Path(__file__).parents[2] / "docs/kernel_versions.md").read_text(encoding="utf-8")


def ratios(method: str, *sides: int, lengths=(1024, 4096, 16384)) -> list[float]:
    """Return this course's TFLOP/s over the method's, at each point of these lengths.

    sides: only these head dimensions.
    """
    rows = [r for r in recorded.SPEED if r["n"] in lengths and (not sides or r["d"] in sides)]
    rates = {(r["d"], r["causal"], r["n"], r["method"]): r["tflops"] for r in rows}
    points = {rate[:3] for rate in rates if rate[3] == "this course"}
    return [rates[*p, "this course"] / rates[*p, method] for p in points]


def mean(factors: list[float]) -> float:
    return math.prod(factors) ** (1 / len(factors))


def test_the_means_are_those_of_the_recorded_rows():
    told = re.findall(r"([\d.]+) × (SDPA \S+|FlashAttention-3|Triton tutorial 06)[,.]", NOTES)
    assert len(told) == 5
    for number, method in told:
        found = ratios(method)
        assert len(found) == 12  # "over the twelve points"
        assert f"{mean(found):.{len(number.split('.')[1])}f}" == number, method


def test_where_it_is_behind():
    found = sorted(ratios("FlashAttention-3"))
    behind = [x for x in found if x < 1]
    assert len(behind) == 10 and "behind FlashAttention-3 at ten of the twelve" in NOTES
    assert f"by {100 - 100 * behind[0]:.0f} % at worst" in NOTES
    assert [round(100 * x - 100) for x in found[10:]] == [16, 18] and "16 and 18 % ahead" in NOTES


def test_the_tutorial_is_nowhere_ahead():
    worst = min(ratios("Triton tutorial 06"))
    assert worst >= 1 and f"({worst:.2f} at the worst point)" in NOTES


def test_short_sequences_are_told_apart():
    tutorial, cudnn = (ratios(x, lengths=(256,)) for x in ("Triton tutorial 06", "SDPA cuDNN"))
    assert len(tutorial) == len(cudnn) == 4
    told = f"at {min(tutorial):.2f} to {max(tutorial):.2f} of the tutorial"
    assert f"{told} and at {min(cudnn):.2f} to {max(cudnn):.2f} of cuDNN" in NOTES


def test_the_card_and_versions_are_named():
    facts = (recorded.CARD, recorded.DRIVER, recorded.TORCH, recorded.TRITON, recorded.DATE)
    assert all(fact in NOTES for fact in facts)


def test_the_means_of_each_head_dimension():
    told = re.search(
        r"At d = 128 it is ([\d.]+) of cuDNN's and ([\d.]+) of FlashAttention-3's speed, at d = 64"
        r" ([\d.]+) and ([\d.]+)\.",
        NOTES,
    ).groups()
    found = [
        mean(ratios(method, d)) for d in (128, 64) for method in ("SDPA cuDNN", "FlashAttention-3")
    ]
    assert [f"{x:.2f}" for x in found] == list(told)


def test_the_peers_own_figures():
    told = re.search(
        r"FlashAttention-3 \(`fa3-fwd` [\d.]+\) ([\d.]+) at d = 128 and ([\d.]+) at d = 64; cuDNN"
        r" ([\d.]+) and ([\d.]+)\.",
        NOTES,
    ).groups()
    found = [
        mean(ratios("SDPA flash", d)) / mean(ratios(method, d))
        for method in ("FlashAttention-3", "SDPA cuDNN")
        for d in (128, 64)
    ]
    assert [f"{x:.2f}" for x in found] == list(told)
