"""Counted memory: a large slow memory, a small one on chip, and every byte that moves between.

    memory = Memory(budget=101_376)
    Q, K = memory.slow("Q", q), memory.slow("K", k)  # capitals live in slow memory
    S = memory.slow("S", (n_q, n_k))
    for rows in memory.turns(tiles(n_q, b_r)):
        q_i = Q[rows]  # read: counted, and on chip until this turn of the loop ends
        for cols in memory.turns(tiles(n_k, b_c)):
            s = memory.chip("S", q_i @ K[cols].T)  # room on chip for a result
            S[rows, cols] = s  # written: counted
    print(memory)  # a table; memory.read["K"], memory.traffic, memory.peak are the numbers

Slow arrays are read and written by slices. What comes on chip during one turn of a loop leaves when
the turn ends. Only what is read or placed with `chip` counts as on chip: the model is the plan of
an algorithm, not what NumPy allocates for it. Sizes follow the dtype that is simulated, whatever
the arrays really hold.
"""

import copy
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import NamedTuple

import numpy as np

from utils.memory_report import label, overrun, table, whole_tensor

ITEMSIZE = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8": 1}  # bytes


class BudgetExceeded(MemoryError):
    """tile does not fit: it needs `needed` bytes on chip where `left` are free."""

    def __init__(self, tile: str, needed: int, left: int, message: str):
        super().__init__(message)
        self.tile, self.needed, self.left = tile, needed, left


class Event(NamedTuple):
    """One step of the log: kind is "read", "write", "chip" (a result placed) or "free".

    ranges: (start, stop) for each axis of the tensor in slow memory, () for a result; so (name,
    ranges) tells the pieces on chip apart. nbytes: moved, placed or freed. held: bytes on chip
    afterwards. turn: the present items of the loops around it, outermost first.
    """

    kind: str
    name: str
    ranges: tuple
    shape: tuple
    nbytes: int
    held: int
    turn: tuple


class Memory:
    """Slow memory without limit, and `budget` bytes on chip (None: no limit).

    dtype: the element type that slow arrays simulate unless told. log=False keeps no events.
    read, written: bytes by tensor. held, peak: bytes on chip, now and at most. events: the log.
    """

    def __init__(self, budget: int | None = None, *, dtype: str = "float32", log: bool = True):
        if budget is not None and budget < 0:
            raise ValueError(f"budget counts bytes on chip and cannot be negative, got {budget}")
        itemsize(dtype)  # refuse an unknown one here, not at the first array
        self.budget, self.dtype, self.log = budget, dtype, log
        self.read, self.written, self.events = Counter(), Counter(), []
        self.held = self.peak = 0
        self._scopes = [{}]  # pieces on chip, {(name, ranges): bytes}; one more for each open turn
        self._turn = []

    @property
    def traffic(self) -> int:
        """Bytes moved between slow memory and chip, both ways."""
        return self.read.total() + self.written.total()

    @property
    def on_chip(self) -> dict:
        """What is on chip now: bytes of each piece (name, ranges), in the order it came."""
        return {piece: nbytes for scope in self._scopes for piece, nbytes in scope.items()}

    def slow(self, name: str, array, *, dtype: str | None = None) -> "Slow":
        """Put an array into slow memory, not counted. A shape makes room, NaN until written."""
        array = np.full(array, np.nan) if isinstance(array, tuple) else np.asarray(array)
        return Slow(self, name, array, itemsize(dtype or self.dtype))

    def chip(self, name: str, array, *, dtype: str = "float32") -> np.ndarray:
        """Make room on chip for a result and return it; the same name again takes its place."""
        array = np.asarray(array)
        self._hold("chip", name, (), array.shape, array.size * itemsize(dtype))
        return array

    def free(self, *names: str) -> None:
        """Give back all that is on chip under these names, before its turn ends."""
        for name in names:
            pieces = [piece for piece in self.on_chip if piece[0] == name]
            if not pieces:
                raise ValueError(f"nothing called {name!r} is on chip to be freed")
            for scope in self._scopes:
                self._drop(scope, [piece for piece in scope if piece in pieces])

    def turns(self, items: Iterable) -> Iterator:
        """Loop over items; what comes on chip during a turn leaves when that turn ends."""
        depth = len(self._scopes)
        try:
            for item in items:
                self._scopes.append({})
                self._turn.append(item)
                yield item
                self._close(depth)
        finally:  # also when the loop is left by break, return or an error
            self._close(depth)

    def _close(self, depth: int) -> None:
        while len(self._scopes) > depth:
            self._drop(self._scopes[-1], list(self._scopes[-1]))
            self._scopes.pop()
            self._turn.pop()

    def _drop(self, scope: dict, pieces: list) -> None:
        for piece in pieces:
            nbytes = scope.pop(piece)
            self.held -= nbytes
            self._note("free", *piece, (), nbytes)

    def _hold(self, kind: str, name: str, ranges: tuple, shape: tuple, nbytes: int) -> None:
        piece = (name, ranges)
        scope = next((s for s in self._scopes if piece in s), self._scopes[-1])
        others = self.held - scope.get(piece, 0)  # the same piece again takes its own place
        if self.budget is not None and others + nbytes > self.budget:
            tile, left = label(name, ranges, shape), self.budget - others
            text = overrun(tile, nbytes, left, self.budget, self.on_chip)
            raise BudgetExceeded(tile, nbytes, left, text)
        scope[piece] = nbytes
        self.held = others + nbytes
        self.peak = max(self.peak, self.held)
        self._note(kind, name, ranges, shape, nbytes)

    def _note(self, kind: str, name: str, ranges: tuple, shape: tuple, nbytes: int) -> None:
        if self.log:
            turn = tuple(self._turn)
            self.events.append(Event(kind, name, ranges, shape, nbytes, self.held, turn))

    def __str__(self) -> str:
        return table(self)


class Slow:
    """A tensor in slow memory: `Q[rows]` is a counted read, `O[rows] = x` a counted write.

    Indices are whole numbers and slices without a step. `array` is the whole tensor, for whoever
    set up the memory: looking at it moves nothing.
    """

    def __init__(self, memory: Memory, name: str, array: np.ndarray, itemsize: int):
        self.memory, self.name, self.array, self.itemsize = memory, name, array, itemsize
        self.shape = array.shape

    def __len__(self) -> int:
        return len(self.array)

    __iter__ = None  # or a loop, and NumPy itself, would read it row by row without being asked

    def __array__(self, dtype=None, copy=None):
        raise TypeError(whole_tensor(self.name))

    def __getitem__(self, index):
        ranges = ranges_of(index, self.shape)
        tile = copy.copy(self.array[index])  # a copy: what happens to it on chip stays on chip
        nbytes = _size(ranges) * self.itemsize
        self.memory._hold("read", self.name, ranges, np.shape(tile), nbytes)
        self.memory.read[self.name] += nbytes
        return tile

    def __setitem__(self, index, value) -> None:
        ranges = ranges_of(index, self.shape)
        place = self.array[tuple(slice(*pair) for pair in ranges)]
        np.copyto(place, value, casting="same_kind")  # floats into whole numbers: an error
        nbytes = place.size * self.itemsize
        self.memory.written[self.name] += nbytes
        self.memory._note("write", self.name, ranges, place.shape, nbytes)


def itemsize(dtype: str) -> int:
    """Return the bytes of one element; ValueError for a dtype that is not in ITEMSIZE."""
    if dtype not in ITEMSIZE:
        raise ValueError(f"dtype must be one of {', '.join(ITEMSIZE)}, got {dtype!r}")
    return ITEMSIZE[dtype]


def ranges_of(index, shape: tuple) -> tuple[tuple[int, int], ...]:
    """Return (start, stop) for every axis; TypeError or IndexError for what is no plain piece."""
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) > len(shape):
        raise IndexError(f"{len(parts)} indices for a tensor of shape {shape}")
    parts += (slice(None),) * (len(shape) - len(parts))
    return tuple(_range_of(part, n) for part, n in zip(parts, shape, strict=True))


def _range_of(part, n: int) -> tuple[int, int]:
    if isinstance(part, slice) and part.step in (None, 1):
        start, stop, _ = part.indices(n)
        return start, max(start, stop)
    if not isinstance(part, Integral) or isinstance(part, bool):
        raise TypeError(f"slow memory is read and written by slices like 0:16, got {part!r}")
    if not -n <= part < n:
        raise IndexError(f"index {part} is outside an axis of {n}")
    return part % n, part % n + 1


def _size(ranges: tuple) -> int:
    return math.prod(stop - start for start, stop in ranges)
