"""Who writes where: programs of lesson 08 that share a place are found out though their result is right.

A generator is stopped at its `yield`s only, so reading and writing in one step looks safe here; on a GPU
another program may run in between. What the programs can reach is compared before and after each step.
"""

from collections.abc import Generator, Iterator
from types import CodeType, FrameType, ModuleType

import numpy as np

from utils.checks.source import Named
from utils.language import say


class SharedPlace(Named):
    """Two programs have written to the same place."""


def one_writer_each(programs, inner: FrameType, outer: CodeType) -> list[Generator]:
    """Return the programs, each as a generator that raises SharedPlace when it writes to another's.

    inner: the learner's frame that wants programs run; outer: the code of ours that called the learner's.
    Places are what the frames between, and the globals that programs name, hold, number by number.
    """
    programs, frames = list(programs), frames_between(inner, outer)
    codes = {program.gi_code for program in programs if isinstance(program, Generator)}
    names = {name for code in codes for name in code.co_names}
    writers = {}

    def look() -> dict:
        found = {}
        for frame in frames:
            used = {x: value for x, value in frame.f_globals.items() if x in names}
            for name, value in {**used, **frame.f_locals}.items():
                found |= leaves(value, (name,))
        return found

    def watched(number: int, program) -> Generator:
        running = True
        while running:
            before = look()
            running = next(program, StopIteration) is not StopIteration
            for place in changed(before, look()):
                other = writers.setdefault(place, number)
                if other != number:
                    raise shared(place[0], other, number)
            if running:
                yield

    return [watched(number, program) for number, program in enumerate(programs)]


def frames_between(inner: FrameType, outer: CodeType) -> list[FrameType]:
    """Return a frame and those that called it, up to the one that runs `outer`, which is left out."""
    found = []
    while inner.f_code is not outer:
        found.append(inner)
        inner = inner.f_back
    return found


def changed(before: dict, after: dict) -> list[tuple]:
    return [
        place for place in {**before, **after} if before.get(place, ...) != after.get(place, ...)
    ]


def leaves(value, place: tuple, around: tuple = ()) -> dict[tuple, object]:
    """Return place → what is there for every number, name and object that a value holds."""
    if id(value) in around:  # a list that holds itself
        return {}
    found = {}
    for key, part in parts(value):
        found |= leaves(part, (*place, key), (*around, id(value)))
    return found or {place: plain(value)}


def parts(value) -> Iterator[tuple]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)
    elif isinstance(value, np.ndarray) and value.ndim:
        yield from enumerate(value.reshape(-1))
    elif hasattr(value, "__dict__") and not isinstance(value, type | ModuleType):
        yield from vars(value).items()


def plain(value) -> object:
    """Return something to compare: NaN equals NaN, an object equals itself alone."""
    if isinstance(value, bool | int | float | str | np.generic):
        return repr(value)
    return id(value)


def shared(name: str, one: int, other: int) -> SharedPlace:
    return SharedPlace(
        say(
            en=f"programs {one} and {other} both write to `{name}`, the same place in it",
            zh=f"程序 {one} 和程序 {other} 都写了 `{name}` 里的同一个地方",
        )
    )
