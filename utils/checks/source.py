"""The text that a learner wrote, and what an error says about it."""

import ast
import inspect
import linecache
import textwrap
import traceback

from utils.language import say


class Named(ValueError):
    """What a check itself finds wrong. Two of the same class are the same mistake, in any words."""


def function_of(attempt):
    """Return the Python function that the learner wrote: that behind a Triton kernel, too."""
    return getattr(attempt, "fn", attempt)


def tree_of(attempt) -> ast.Module:
    """Return the syntax tree of a function's text, an empty one where there is no text."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function_of(attempt))))
    except (TypeError, OSError):
        return ast.Module([], [])


def causes(error: Exception) -> list[Exception]:
    """Return an error and what caused it, down to what happened first: Triton wraps errors."""
    chain = [error]
    while chain[-1].__cause__:
        chain.append(chain[-1].__cause__)
    return chain


def own_line(error: Exception, attempt) -> str:
    """Return what was raised and the learner's own line that led to it; none of our frames."""
    text = str(error) if isinstance(error, Named) else f"{type(error).__name__}: {error}"
    file = getattr(getattr(function_of(attempt), "__code__", None), "co_filename", None)
    written = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    if not written:
        return text
    line = linecache.getline(file, written[-1].lineno).strip()
    number = written[-1].lineno
    return f"{text}\n  " + say(en=f"in your line {number}: ", zh=f"在你的第 {number} 行：") + line
