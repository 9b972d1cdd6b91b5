"""Lesson 08's sentences about the recorded run quote its figures as they are."""

from pathlib import Path

import pytest

from utils.draw.order_ratios import ratios
from utils.measurements import h200_loop_orders as recorded

ROOT = Path(__file__).parents[2]


def span(above: str, below: str, *heads: int) -> list[float]:
    """Return the smallest and the largest ratio of times, of these numbers of heads or of all."""
    found = ratios(recorded.TIMES, above, below, "ms").items()
    chosen = [ratio for (many, _, _), ratio in found if not heads or many in heads]
    return [min(chosen), max(chosen)]


@pytest.mark.parametrize(
    ("place", "orders", "heads", "digits", "words"),
    [
        ("lessons_src/08_loop_order.py", ("v2_serial", "v2"), [16], 0, "is {} to {} times as fast"),
        ("lessons_src/08_loop_order.py", ("v2_serial", "v2"), [16], 0, "{} 到 {} 倍。528 个头"),
        ("lessons_src/08_loop_order.py", ("v2_serial", "v2"), [528], 1, "case: {} to {} times"),
        ("lessons_src/08_loop_order.py", ("v2_serial", "v2"), [528], 1, "只有 {} 到 {} 倍"),
        ("utils/checks/loop_order.py", ("v1", "v2_serial"), [], 1, "cost {} to {} times the time"),
        ("utils/checks/loop_order.py", ("v1", "v2_serial"), [], 1, "用了 {} 到 {} 倍的时间"),
        ("docs/teach/en/lessons/08_loop_order.md", ("v1", "v2_serial"), [], 1, "{} to {} times as"),
        (
            "docs/teach/zh/lessons/08_loop_order.md",
            ("v1", "v2_serial"),
            [],
            1,
            "用时是 {} 到 {} 倍",
        ),
    ],
)
def test_ranges_are_those_of_the_recorded_times(place, orders, heads, digits, words):
    told = words.format(*(f"{x:.{digits}f}" for x in span(*orders, *heads)))
    assert told in (ROOT / place).read_text(encoding="utf-8")
