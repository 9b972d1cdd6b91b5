"""The speed model against numbers worked by hand."""

import pytest

from utils.ceilings import intensities, roof, two_ceilings


@pytest.mark.parametrize("d, expected", [(128, 566), (64, 441)])
def test_two_ceilings(d, expected):
    """790 TFLOP/s and 3.9·10¹² exponentials: 512 (256) FLOPs take 0.648 (0.324) ps, e^x 0.256 ps."""
    assert round(two_ceilings(d, 790e12, 3.9e12) / 1e12) == expected


def test_free_exponentials_leave_the_product():
    assert two_ceilings(64, 1e12, float("inf")) == pytest.approx(1e12)


def test_the_roof_is_the_lower_ceiling():
    assert roof(10, 1000, 50) == 500
    assert roof(100, 1000, 50) == 1000


def test_intensities():
    """n = 1024, d = 64, 2 bytes: 4·n²·d FLOPs over 8·n² + 8·n·d bytes, and over 8·n·d bytes."""
    assert intensities(1024, 64) == {"naive": 4 * 64 / (8 + 8 / 16), "streaming": 512}
    assert intensities(10**9, 128)["naive"] == pytest.approx(64)  # d/2
