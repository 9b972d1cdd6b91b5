"""What changes from term to term: with a variant set, exercises draw from its name.

`make assignment VARIANT=2027a` sets it in the assignment's first cell. In the course's own
notebooks none is set, and everything here returns what it was given. Hashes draw, not `random`:
the notebook is built by one Python and checked by another.
"""

import hashlib
import itertools
import os
from collections.abc import Sequence


def draw(what: str, usual, *others):
    """Return `usual` without a variant, else one of all these; `what` tells draws apart."""
    seed = os.environ.get("COURSE_VARIANT", "")
    options = {str(n): value for n, value in enumerate((usual, *others))}
    return options[min(options, key=lambda n: _mix(seed, what, n))] if seed else usual


def new_letters(letters: Sequence[str], seed: str | None = None, lesson: str | None = None) -> dict:
    """Return {letter in the lesson's source: letter in this variant} for statements to judge.

    seed and lesson are those that the notebook's first cell has set, unless given.
    """
    seed = os.environ.get("COURSE_VARIANT", "") if seed is None else seed
    lesson = os.environ.get("COURSE_LESSON", "") if lesson is None else lesson
    if not seed:
        return dict(zip(letters, letters, strict=True))
    orders = (_order(letters, seed, lesson, str(n)) for n in itertools.count())
    moved = next(order for order in orders if order != list(letters))
    return dict(zip(moved, letters, strict=True))


def _order(letters: Sequence[str], *salt: str) -> list[str]:
    return sorted(letters, key=lambda letter: _mix(*salt, letter))


def _mix(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
