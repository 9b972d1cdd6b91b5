"""What a learner's function allocates lies in poison, and what it writes beside it is found."""

import pytest
import torch

from utils.checks.allocations import GuardedAllocations
from utils.checks.guarded import UNTOUCHED, WroteOutside

X = torch.ones(2, 3, dtype=torch.float16)


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(2, 3),
        lambda: torch.empty((2, 3), dtype=torch.float16),
        lambda: torch.empty_like(X),
        lambda: X.new_empty(2, 3),
    ],
)
def test_an_empty_tensor_holds_what_nobody_wrote(make):
    with GuardedAllocations({}):
        out = make()
    assert out.shape == (2, 3) and out.is_contiguous() and (out == UNTOUCHED).all()


@pytest.mark.parametrize(
    "make", [torch.zeros_like, torch.ones_like, lambda x: x.new_full((2, 3), 7)]
)
def test_other_tensors_hold_what_was_asked_for(make):
    with GuardedAllocations({}) as own:
        out = make(X)
    assert torch.equal(out, make(X)) and out.dtype == X.dtype
    own.must_be_left_alone_outside()


@pytest.mark.parametrize("place", [-1, 6])
def test_writing_beside_a_tensor_is_found(place):
    with GuardedAllocations({}) as own:
        torch.zeros(2, 3)
    own.made[0].buffer[own.made[0].guard + place] = 1
    with pytest.raises(WroteOutside, match="out"):
        own.must_be_left_alone_outside()


def test_integers_and_the_interpreters_own_tensors_are_left_alone():
    with GuardedAllocations({}) as own:
        torch.zeros(3, dtype=torch.int32), torch.empty(0)
    assert own.made == []
