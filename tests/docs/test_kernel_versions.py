"""The notes on the kernel's versions quote the recorded figures as they are."""

import math
import re
from pathlib import Path

from utils.measurements import h200_forward as recorded

NOTES = (Path(__file__).parents[2] / "docs/kernel_versions.md").read_text(encoding="utf-8")


def ratios(method: str, *sides: int) -> list[float]:
    """Return this course's TFLOP/s over the method's, at each of the twelve points from N = 1024 on.

    sides: only these head dimensions.
    """
    rows = [row for row in recorded.SPEED if row["n"] >= 1024 and (not sides or row["d"] in sides)]
    rates = {(r["d"], r["causal"], r["n"], r["method"]): r["tflops"] for r in rows}
    points = {(d, causal, n) for d, causal, n, name in rates if name == method}
    return [rates[*p, "this course"] / rates[*p, method] for p in points]


def test_the_means_are_those_of_the_recorded_rows():
    told = re.findall(r"([\d.]+) × (SDPA \S+|FlashAttention-3)[,.]", NOTES)
    assert len(told) == 4
    for number, method in told:
        found = ratios(method)
        assert len(found) == 12
        mean = math.prod(found) ** (1 / 12)
        assert f"{mean:.{len(number.split('.')[1])}f}" == number, method


def test_where_it_is_behind():
    found = sorted(ratios("FlashAttention-3"))
    behind = [x for x in found if x < 1]
    assert len(behind) == 10 and f"by {100 - 100 * behind[0]:.0f} % at worst" in NOTES
    assert [round(100 * x - 100) for x in found[10:]] == [14, 14] and "14 % ahead" in NOTES


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
        math.prod(ratios(method, d)) ** (1 / 6)
        for d in (128, 64)
        for method in ("SDPA cuDNN", "FlashAttention-3")
    ]
    assert [f"{x:.2f}" for x in found] == list(told)
