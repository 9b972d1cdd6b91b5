"""Lesson 11's plots: they show exactly the recorded rows, and name their card."""

import statistics
import time

import pytest

from utils.draw.measured import STYLE, memory, size_text, speed
from utils.draw.palette import png
from utils.measurements import h200_forward as recorded

pytestmark = pytest.mark.filterwarnings("error")


def drawn(axes):
    """Return method → its points; a gap is none."""
    points = {line.get_label(): zip(*line.get_data(), strict=True) for line in axes.get_lines()}
    return {name: [(x, y) for x, y in line if y == y] for name, line in points.items()}


def test_the_panels_hold_the_recorded_speeds():
    figure = speed(recorded.SPEED, recorded.CARD)
    assert recorded.CARD in figure.get_suptitle()
    panels = {axes.get_title(): drawn(axes) for axes in figure.axes}
    rows = [row for row in recorded.SPEED if row["method"] in STYLE]
    for row in rows:
        title = f"d = {row['d']}{', causal' if row['causal'] else ''}"
        assert (row["n"], row["tflops"]) in panels[title][row["method"]]
    points = sum(len(line) for lines in panels.values() for line in lines.values())
    assert points == len(rows)


def test_a_missing_point_is_a_gap_in_the_line():
    kept = [row for row in recorded.SPEED if (row["method"], row["n"]) != ("SDPA flash", 1024)]
    for axes in speed(kept, recorded.CARD).axes:
        (line,) = [line for line in axes.get_lines() if line.get_label() == "SDPA flash"]
        x, y = line.get_data()
        assert list(x) == [256, 1024, 4096, 16384] and [h != h for h in y] == [0, 1, 0, 0]


def test_the_memory_plot_holds_the_recorded_bytes():
    (axes,) = memory(recorded.MEMORY, recorded.CARD).axes
    lines = drawn(axes)
    assert all((row["n"], row["bytes"]) in lines[row["method"]] for row in recorded.MEMORY)
    assert axes.get_xscale() == axes.get_yscale() == "log"


def test_a_card_that_refuses_methods_still_gets_its_plot():
    rows = [row for row in recorded.SPEED if row["method"] == "naive" and row["d"] == 64]
    png(speed(rows, "another card"))


def test_methods_differ_by_marker_too():
    assert len({marker for _, marker in STYLE.values()}) == len(STYLE)


def test_sizes_are_written_in_binary_units():
    assert [size_text(x) for x in (512, 2**21, 3 * 2**30)] == ["512 B", "2 MiB", "3 GiB"]


@pytest.mark.parametrize(
    ("draw", "rows"), [(speed, recorded.SPEED), (memory, recorded.MEMORY)], ids=["speed", "memory"]
)
def test_a_redraw_is_fast_and_repeats(draw, rows):
    times, pictures = [], set()
    for _ in range(5):
        start = time.process_time()
        pictures.add(png(draw(rows, recorded.CARD)))
        times.append(time.process_time() - start)
    print(f"\nmedian redraw: {1000 * statistics.median(times):.0f} ms")
    assert len(pictures) == 1
    assert statistics.median(times) < 0.6  # five Axes with ticks, drawn once: not interactive
