"""The notes on the kernel's versions quote the recorded figures as they are."""

import math
import re
from pathlib import Path

from utils.measurements import h200_forward as recorded

NOTES = (Path(__file__).parents[2] / "docs/kernel_versions.md").read_text(encoding="utf-8")


def ratios(method: str, *sides: int) -> list[float]:
    """Return this course's TFLOP/s over the method's, at each point from N = 1024 on that has both.

    sides: only these head dimensions.
    """
    rows = [row for row in recorded.SPEED if row["n"] >= 1024 and (not sides or row["d"] in sides)]
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
        assert len(found) == 11  # "Over the eleven"
        assert f"{mean(found):.{len(number.split('.')[1])}f}" == number, method


def test_where_it_is_behind():
    found = sorted(ratios("FlashAttention-3"))
    behind = [x for x in found if x < 1]
    assert len(behind) == 9 and f"by {100 - 100 * behind[0]:.0f} % at worst" in NOTES
    assert [round(100 * x - 100) for x in found[9:]] == [15, 16] and "15 and 16 % ahead" in NOTES


def test_the_mean_without_the_tutorials_bad_choice():
    chosen, usual = (float(x) for x in re.search(r"(434), where .* With (467)", NOTES).groups())
    rows = [row for row in recorded.SPEED if row["method"] == "Triton tutorial 06"]
    (row,) = [row for row in rows if round(row["tflops"]) == chosen]
    assert (row["d"], row["causal"], row["n"]) == (64, False, 16384)
    factors = [
        *ratios("Triton tutorial 06"),
        row["tflops"] / usual,
    ]  # the last puts one of them right
    told = float(re.search(r"the mean of 1.078 becomes (\d\.\d+)", NOTES)[1])
    assert abs(math.prod(factors) ** (1 / 11) - told) < 0.0005


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
