"""Imitated programs: every step is taken once, in the order that pick asks for."""

import numpy as np
import pytest

from utils.interleave import interleave


def steps(name, number, seen):
    for step in range(number):
        seen.append((name, step))
        yield


def run(pick, **lengths):
    seen = []
    interleave([steps(name, number, seen) for name, number in lengths.items()], pick)
    return seen


def test_one_after_the_other():
    assert run(lambda n: 0, a=2, b=1) == [("a", 0), ("a", 1), ("b", 0)]
    assert run(lambda n: n - 1, a=2, b=1) == [("b", 0), ("a", 0), ("a", 1)]


@pytest.mark.parametrize("seed", range(5))
def test_any_order_takes_every_step_of_each_program_in_its_own_order(seed):
    seen = run(np.random.default_rng(seed).integers, a=3, b=4, c=0)
    for name, number in {"a": 3, "b": 4, "c": 0}.items():
        assert [step for other, step in seen if other == name] == list(range(number))


def test_random_picks_do_interleave():
    seen = run(np.random.default_rng(0).integers, a=9, b=9)
    names = "".join(name for name, _ in seen)
    assert "ab" in names and "ba" in names and names not in ("a" * 9 + "b" * 9, "b" * 9 + "a" * 9)


def test_no_programs_at_all_end_at_once():
    interleave([], lambda n: pytest.fail("nobody is left to pick"))
