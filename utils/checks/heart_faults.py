"""Lesson 11's heart when no result comes out: what its text and Triton's error say was wrong.

What stops a heart differs from the interpreter to the compiler and from version to version, so the
errors are turned into a few with names. Imports nothing of Triton.
"""

import ast
import re
import traceback

from utils.checks.source import Named, causes, tree_of
from utils.language import say

SHAPES = re.compile("incompatible dimensions|Loop-carried variable")


class NothingReturned(Named):
    """The heart gives nothing back."""


class NotThreeReturned(Named):
    """It gives back something else than three values."""


class SumOverRows(Named):
    """A sum along axis 0 does not fit ℓ."""


class MaximumOverRows(Named):
    """A maximum along axis 0 does not fit m."""


def must_return_three(update) -> None:
    """Raise NothingReturned or NotThreeReturned when no `return` of the text can be right.

    Only the text can tell of a fourth value: the compiler drops it.
    """
    tree = tree_of(update)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Return)]
    numbers = [number_of(node.value) for node in found]
    if tree.body and all(n == 0 for n in numbers):
        raise nothing_returned()
    wrong = [node for node, n in zip(found, numbers, strict=True) if n not in (3, None)]
    if wrong and len(wrong) == len(found):
        raise not_three_returned(f" (`{ast.unparse(wrong[-1])}`)")


def number_of(value) -> int | None:
    """Return how many values an expression after `return` stands for; None: its text cannot tell."""
    if value is None or isinstance(value, ast.Constant) and value.value is None:
        return 0
    if not isinstance(value, ast.Tuple | ast.List):
        return None
    return None if any(isinstance(x, ast.Starred) for x in value.elts) else len(value.elts)


def nothing_returned() -> NothingReturned:
    return NothingReturned(say(en="update returned nothing", zh="update 什么也没有返回"))


def not_three_returned(what: str = "") -> NotThreeReturned:
    return NotThreeReturned(
        say(en=f"update does not return three values{what}", zh=f"update 返回的不是三个值{what}")
    )


def named(error: Exception, update) -> Exception:
    """Return the error with a name if it has one, else what caused it, without Triton's wrapping."""
    error = causes(error)[-1]
    if is_unpacking(error):
        return nothing_returned() if "NoneType" in str(error) else not_three_returned()
    if SHAPES.search(str(error)):
        for name, kind in (("sum", SumOverRows), ("max", MaximumOverRows)):
            if call := along_axis_0(update, name):
                does_not_fit = say(
                    en=f"`{call}` has one number for each key; the state needs one for each row",
                    zh=f"`{call}` 是每个 key 一个数；状态要的是每行一个数",
                )
                return kind(does_not_fit)
    return error


def is_unpacking(error: Exception) -> bool:
    """Return whether an error comes from `m, l, acc = UPDATE(...)` itself, not from inside UPDATE."""
    node = getattr(error, "node", None)  # the compiler's errors name the statement
    if isinstance(node, ast.Assign):
        return "UPDATE" in ast.unparse(node.value)
    if not isinstance(error, TypeError | ValueError) or node:
        return False
    frames = traceback.extract_tb(error.__traceback__)
    ours = [n for n, frame in enumerate(frames) if "= UPDATE(" in (frame.line or "")]
    return bool(ours) and all("triton" in frame.filename for frame in frames[ours[-1] + 1 :])


def along_axis_0(update, name: str) -> str:
    """Return the first call of tl.sum or tl.max along axis 0 in the text, "" if there is none."""
    for node in ast.walk(tree_of(update)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == name:
            ours = ast.unparse(node.func) in (name, f"tl.{name}", f"triton.language.{name}")
            given = {"axis": node.args[ours] if len(node.args) > ours else None}
            given |= {k.arg: k.value for k in node.keywords}
            if isinstance(given["axis"], ast.Constant) and given["axis"].value == 0:
                return ast.unparse(node)
    return ""
