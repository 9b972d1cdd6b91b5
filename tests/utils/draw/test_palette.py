"""Colours that everyone can tell apart, ink that reads on them, text large enough."""

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from utils.draw import palette

# Linear RGB as seen with no L, M or S cones: Machado, Oliveira and Fernandes (2009), table 1.
SEEN = {
    "all": np.eye(3),
    "no L": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no M": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no S": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour):
    share = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    """Return the contrast ratio of WCAG 2."""
    low, high = sorted(TO_XYZ[1] @ linear(colour) for colour in (a, b))
    return (high + 0.05) / (low + 0.05)


def lab(rgb):
    """Return CIE Lab of linear RGB, white point D65."""
    x, y, z = TO_XYZ @ rgb / TO_XYZ.sum(axis=1)
    x, y, z = (np.cbrt(t) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_each_symbol_has_its_own_colour():
    assert list(palette.COLOUR) == ["Q", "K", "V", "O", "S", "m", "ℓ"]
    assert len(set(palette.COLOUR.values())) == 7


@pytest.mark.parametrize("name", [*palette.COLOUR, "paper"])
def test_ink_reads_on_every_fill(name):
    assert contrast(palette.COLOUR.get(name, palette.PAPER), palette.INK) >= 4.5


def test_faint_lines_can_still_be_seen():
    assert contrast(palette.FAINT, palette.PAPER) >= 3


@pytest.mark.parametrize("eyes", SEEN)
def test_fills_stay_apart_for_all_eyes(eyes):
    seen = {n: lab(np.clip(SEEN[eyes] @ linear(c), 0, 1)) for n, c in palette.COLOUR.items()}
    apart = {(a, b): np.linalg.norm(seen[a] - seen[b]) for a, b in itertools.combinations(seen, 2)}
    assert min(apart.values()) > 15, min(apart, key=apart.get)


def test_the_smallest_text_is_nine_points_on_the_screen():
    pixels = palette.SMALL * palette.DPI / 72
    assert pixels * 72 / 96 >= 9


def test_a_canvas_is_light_and_without_ticks():
    figure, axes = palette.canvas(10, 5)
    assert figure.get_facecolor() == (1, 1, 1, 1)
    assert figure.get_layout_engine() is None
    assert not axes.axison
    assert len(figure.axes) == 1


def test_a_grid_is_one_collection():
    _, axes = palette.canvas(10, 5)
    palette.grid(axes, 1, 1, np.ones((3, 4), bool), palette.COLOUR["Q"])
    assert len(axes.collections) == 1
    assert len(axes.collections[0].get_paths()) == 12


def test_png_holds_no_metadata():
    assert b"Matplotlib" not in palette.png(palette.canvas(2, 2)[0])


def test_a_learners_own_style_does_not_reach_the_pictures():
    import matplotlib

    plain = palette.png(written())
    with matplotlib.rc_context({"text.color": "red", "font.size": 30, "figure.facecolor": "black"}):
        assert palette.png(written()) == plain


def written() -> Figure:
    figure, axes = palette.canvas(4, 2)
    palette.write(axes, 2, 1, "S = -1")
    palette.boxes(axes, [(0.5, 0.5, 3, 1)])
    return figure


def test_pictures_import_neither_pyplot_nor_widgets():
    code = (
        "import sys; from utils.draw import block_matrix;"
        "print([m for m in ('matplotlib.pyplot', 'ipywidgets', 'IPython') if m in sys.modules])"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
