"""The kernel that measures exponentials really computes them."""

import pytest

from tests.utils.kernels.reference import PLACE
from utils.kernels.exponentials import exponentials


@pytest.mark.parametrize("rounds", [1, 2, 40])
def test_every_number_went_through_all_rounds(rounds):
    out = exponentials(3, rounds, block=64, device=PLACE).cpu()
    for number, got in enumerate(out.tolist()):
        x = number / 64
        for _ in range(rounds):
            x = 2.0**-x
        assert got == pytest.approx(x, rel=1e-5)
