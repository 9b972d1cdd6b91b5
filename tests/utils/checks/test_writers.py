"""Programs that write to one place are told apart from programs that only share a list."""

import sys

import numpy as np
import pytest

from utils.checks.writers import SharedPlace, one_writer_each


def run(programs):
    """Run programs in step, as the check does for the function that calls this."""
    for _ in zip(*one_writer_each(programs, sys._getframe(1), check.__code__), strict=False):
        pass


def check(program, shared):
    learners(program, shared)


def learners(program, shared):
    """Stand for a learner's function: `shared` is what its programs can reach."""
    run([program(n, shared) for n in range(3)])


def test_own_entries_of_a_shared_list_are_no_shared_place():
    def program(n, shared):
        shared["entries"][n] = n
        yield
        shared["entries"][n] += 1
        shared["grows"].append(n)
        yield

    places = {"entries": [0, 0, 0], "grows": [], "nan": np.full(2, np.nan)}
    places["itself"] = places
    check(program, places)
    assert places["entries"] == [1, 2, 3]


def test_a_callable_with_a_total_is_a_shared_place():
    def total():
        """Functions have room for values too."""

    def program(n, shared):
        shared.sum = n
        yield

    with pytest.raises(SharedPlace, match="0 and 1 both write to `shared`"):
        check(program, total)
