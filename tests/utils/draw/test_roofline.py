"""Lesson 11's roofline: the lines are the ceilings it was given, the points the recorded speeds."""

import numpy as np
import pytest

from utils.ceilings import Ceilings, two_ceilings
from utils.draw.palette import png
from utils.draw.roofline import roofline
from utils.measurements import h200_forward as recorded

pytestmark = pytest.mark.filterwarnings("error")
GPU = Ceilings(800e12, 4e12, 4e12)  # round numbers: a product of 800 TFLOP/s, a copy of 4 TB/s


def lines():
    (axes,) = roofline(recorded.SPEED, GPU, recorded.CARD, 128).axes
    return {line.get_label(): np.array(line.get_data()) for line in axes.get_lines()}


def test_the_roof_rises_with_the_copy_and_ends_at_the_product():
    x, y = lines()["measured: copy, then matrix product"]
    np.testing.assert_allclose(y, np.minimum(800, 4 * x))


def test_the_dashed_line_is_the_model():
    _, y = lines()["model: products and exponentials in turns"]
    np.testing.assert_allclose(y, two_ceilings(128, 800e12, 4e12) / 1e12)


def test_the_points_are_the_recorded_speeds():
    rows = {
        r["method"]: r["tflops"]
        for r in recorded.SPEED
        if (r["d"], r["causal"], r["n"]) == (128, False, 16384)
    }
    found = {label.split(",")[0]: y[0] for label, (_, y) in lines().items() if "N =" in label}
    assert found == {name: rows[name] for name in ("naive", "this course")}


def test_a_slow_card_keeps_its_points_inside():
    """Without tensor cores a T4's kernel stays far below what the axis begins with elsewhere."""
    rows = [row | {"tflops": row["tflops"] / 400} for row in recorded.SPEED]
    (axes,) = roofline(rows, Ceilings(25e12, 5e11, 2.5e11), "another card", 128).axes
    heights = [line.get_ydata()[0] for line in axes.get_lines() if "N =" in line.get_label()]
    assert len(heights) == 2 and all(axes.get_ylim()[0] < y < axes.get_ylim()[1] for y in heights)
    png(axes.figure)  # writes the labels
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == len(set(labels)) > 3


def test_a_method_that_did_not_run_is_left_out():
    rows = [row for row in recorded.SPEED if row["method"] != "naive"]
    png(roofline(rows, GPU, "another card", 64))
