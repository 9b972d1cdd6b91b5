"""Values in checks: whether two differ, and how a message shows them."""

import inspect
import math
import re

import numpy as np

from utils.language import say


def differ(got, expected, tolerance: float) -> bool:
    """True unless both have the same structure, shape and (to the tolerance) values."""
    if isinstance(expected, list | tuple):
        if not isinstance(got, list | tuple) or len(got) != len(expected):
            return True
        return any(differ(g, e, tolerance) for g, e in zip(got, expected, strict=True))
    if isinstance(expected, bool):
        return not (isinstance(got, bool | np.bool_) and got == expected)
    if expected is None or isinstance(expected, str | slice):
        return not (type(got) is type(expected) and got == expected)
    try:
        got, expected = as_array(got), as_array(expected)
    except (TypeError, ValueError):
        return True
    if got.shape != expected.shape:
        return True
    return not agree(got, expected, tolerance)


def as_array(value) -> np.ndarray:
    """Return an array of float64, or of objects (Fractions) left exact; also from a tensor."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().double().numpy()
    array = np.asarray(value)
    if array.dtype.kind in "USc":
        raise TypeError(f"{array.dtype} is no real number")
    return array if array.dtype == object else array.astype(np.float64)


def agree(got: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    return bool(np.all(near(got, expected, tolerance)))


def near(got: np.ndarray, expected: np.ndarray, tolerance: float) -> np.ndarray:
    """Entry-wise: infinities and NaN in the same places, finite entries within the tolerance."""
    if tolerance == 0.0 or object in (got.dtype, expected.dtype):
        return (got == expected) | ((got != got) & (expected != expected))
    finite = expected[np.isfinite(expected)]
    limit = tolerance * max(1.0, np.abs(finite).max(initial=0.0))
    return np.isclose(got, expected, rtol=0.0, atol=limit, equal_nan=True)


def short(value, digits: int = 5) -> str:
    """Return a value as a learner would type it, on one line when it fits."""
    if hasattr(value, "detach"):
        value = as_array(value)
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, list | tuple):
        inner = ", ".join(short(v, digits) for v in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if isinstance(value, slice):
        return f"slice({value.start}, {value.stop})"
    if isinstance(value, np.ndarray) and value.dtype == object:
        return short(value.tolist(), digits)
    if isinstance(value, np.ndarray):
        text = np.array2string(
            value, precision=digits, threshold=48, separator=", ", suppress_small=True
        )
        if value.size <= 12:
            text = re.sub(r"\n\s*", " ", text)
        indent = "\n" + " " * len("  expected  np.array(")
        kind = f", dtype=np.{value.dtype}" if value.dtype in (np.float16, np.float32) else ""
        return f"np.array({text.replace(chr(10), indent)}{kind})"
    if inspect.isroutine(value):
        return value.__name__
    if isinstance(value, float | np.floating):
        return f"{value:.{digits + 1}g}"
    return str(value)


def is_deep(value) -> bool:
    """Return whether a value is an array of three axes or more that does not fit on a line."""
    return hasattr(value, "shape") and len(value.shape) > 2 and math.prod(value.shape) > 12


def first_difference(got, expected, tolerance: float) -> tuple[tuple[int, ...], int, int] | None:
    """Return where two deep arrays of one shape differ first, and in how many of all numbers."""
    if not (is_deep(got) and is_deep(expected)) or tuple(got.shape) != tuple(expected.shape):
        return None
    try:
        got, expected = as_array(got), as_array(expected)
    except (TypeError, ValueError):  # no numbers
        return None
    wrong = np.argwhere(~near(got, expected, tolerance))
    return tuple(wrong[0].tolist()), len(wrong), got.size


def shown(value, digits: int = 5, place: tuple[int, ...] | None = None) -> str:
    """Return a value as `short` does; of a deep array the number at a place and its neighbours."""
    if not is_deep(value):
        return short(value, digits)
    value = as_array(value) if hasattr(value, "detach") else value
    *row, column = place or (0,) * value.ndim
    first = column // 8 * 8  # eight numbers fit on a line
    last = min(first + 8, value.shape[-1])
    piece = short(value[(*row, slice(first, last))], digits)
    shape = say(en=f"shape {value.shape}", zh=f"形状 {value.shape}")
    says = short(value[place], digits) if place else shape
    return f"{says}, [{', '.join(map(str, row))}, {first}:{last}] = {piece}"
