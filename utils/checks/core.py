"""How every check of the course works.

A check tries what the learner wrote on named cases, in order, and stops at the first that fails.
It then shows the smallest input that goes wrong, and looks for the likely mistake: each typical
mistake is itself a small program (a *model*), and a model that gives the learner's very answer
explains it. Cases come in two kinds: "algebra" (numbers so small that rounding plays no part) and
"floats" (numbers that only a careful formula survives), so a failure also says which kind it is.
"""

import copy
import inspect
import os
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from utils import variant
from utils.checks.source import Named, function_of, own_line
from utils.checks.values import differ, first_difference, short, shown
from utils.language import say

STUB = re.compile(r"\.\.\.\s*# your turn")


@dataclass(frozen=True)
class Mistake:
    """A typical mistake: a short key, "algebra" or "floats", the wrong program, what to say."""

    key: str
    kind: str
    model: Callable
    says: str


@dataclass(frozen=True)
class Case:
    """One input with its right answer; tolerance is relative to the largest expected entry."""

    says: str
    args: tuple
    expected: object
    kind: str = "algebra"
    tolerance: float = 0.0
    otherwise: str = ""  # said when no typical mistake explains the answer
    call: str = ""  # what to type to see the same, when it is not name(*args)


@dataclass(frozen=True)
class Exercise:
    """Cases in order, typical mistakes, and how an attempt is used (a call, unless said)."""

    cases: Sequence[Case]
    mistakes: Sequence[Mistake] = ()
    use: Callable = lambda attempt, *args: attempt(*args)
    show_all: bool = False  # statements to judge: answer every wrong choice


@dataclass(frozen=True)
class Result:
    """state is "not attempted", "failed" or "passed"; mistake is the key of the likely mistake."""

    state: str
    message: str
    mistake: str = ""
    kind: str = ""


@dataclass
class Check:
    """What `@exercise` makes of a function that returns an Exercise."""

    name: str
    build: Callable[[], Exercise]
    result: Result | None = field(default=None)

    def __call__(self, attempt) -> None:
        """Print the result; under grading (COURSE_STRICT=1, nbgrader) raise unless passed."""
        self.result = self.examine(attempt)
        if is_strict() and self.result.state != "passed":
            raise AssertionError(self.result.message)
        print(self.result.message)

    def examine(self, attempt) -> Result:
        """Try the cases in order and return the Result, without printing."""
        if is_untouched(attempt):
            return Result("not attempted", f"· {self.name}: {not_attempted(attempt)}")
        exercise = as_printed(self.build()) if self.name == "judge" else self.build()
        if exercise.show_all and (problem := unfit([c.args[0] for c in exercise.cases], attempt)):
            return Result("failed", f"✗ {self.name}: {problem}")
        failures = []
        for number, case in enumerate(exercise.cases):
            earlier = [] if exercise.show_all else exercise.cases[:number]
            failure = try_case(self.name, exercise, case, earlier, attempt)
            if failure:
                failures.append(failure)
                if not exercise.show_all:
                    break
        if not failures:
            number = len(exercise.cases)
            passed = say(en=f"passed, {number} cases", zh=f"通过，共 {number} 个用例")
            return Result("passed", f"✓ {self.name}: {passed}")
        first = failures[0]
        message = "\n".join(failure.message for failure in failures)
        return Result("failed", message, first.mistake, first.kind)


def exercise(build: Callable[[], Exercise]) -> Check:
    """Turn a function that returns an Exercise into a check named like the function."""
    return Check(build.__name__, build)


def as_printed(statements: Exercise) -> Exercise:
    """Return statements to judge under the letters that this variant's notebook prints."""
    new = variant.new_letters([case.args[0] for case in statements.cases])
    cases = [
        replace(case, says=new[case.args[0]] + case.says[1:], args=(new[case.args[0]],))
        for case in statements.cases
    ]
    return replace(statements, cases=sorted(cases, key=lambda case: case.args))


def is_strict() -> bool:
    return os.environ.get("COURSE_STRICT") == "1" or "NBGRADER_EXECUTION" in os.environ


def not_attempted(attempt) -> str:
    open_keys = [k for k, v in attempt.items() if v is ...] if isinstance(attempt, dict) else []
    if open_keys and len(open_keys) < len(attempt):
        missing = ", ".join(map(str, open_keys))
        return say(en=f"still open: {missing}", zh=f"还没有回答：{missing}")
    if open_keys:
        return say(
            en="not attempted yet. Replace each `...` above, run that cell, then run this.",
            zh="还没有作答。请替换上面的每个 `...`，运行那个单元格，再运行本单元格。",
        )
    return say(
        en="not attempted yet: the line `...  # your turn` is still there. Replace it, run that cell, then run this.",
        zh="还没有作答：`...  # your turn` 那一行还在。请替换它，运行那个单元格，再运行本单元格。",
    )


def unfit(keys: Sequence[str], attempt) -> str:
    """Say why something is no dictionary with these keys, "" if it is one."""
    blank = "{" + ", ".join(f'"{key}": ...' for key in keys) + "}"
    if not isinstance(attempt, dict):
        kind = type(attempt).__name__
        return say(
            en=f"hand over a dictionary, not a {kind}: {blank}, each `...` replaced by your answer.",
            zh=f"要交一个字典，不是 {kind}：{blank}，其中每个 `...` 换成你的答案。",
        )
    missing = [key for key in keys if key not in attempt]
    if not missing:
        return ""
    entry = f'"{missing[0]}": ...'
    asks = say(
        en=f"no answer to {', '.join(missing)}. Add it to the dictionary above, as in `{entry}` with your"
        " answer for `...`, run that cell, then run this.",
        zh=f"没有回答 {'、'.join(missing)}。请在上面的字典里补上，例如 `{entry}`（`...` 换成你的答案），"
        "运行那个单元格，再运行本单元格。",
    )
    strange = ", ".join(repr(key) for key in attempt if key not in keys)
    if not strange:
        return asks
    return asks + say(
        en=f"\n  {strange} is none of {', '.join(keys)}.",
        zh=f"\n  {strange} 不在 {'、'.join(keys)} 之中。",
    )


def is_untouched(attempt) -> bool:
    """True while the stub is still there: in a function's source, or as a bare `...` value."""
    if attempt is ...:
        return True
    if isinstance(attempt, dict):
        return any(value is ... for value in attempt.values())
    if isinstance(attempt, list | tuple):
        return any(value is ... for value in attempt)
    try:
        return bool(STUB.search(inspect.getsource(function_of(attempt))))
    except (TypeError, OSError):
        return False


def try_case(
    name: str, exercise: Exercise, case: Case, earlier: Sequence[Case], attempt
) -> Result | None:
    """Return None when the case passes, else a failed Result that explains."""
    args = copy.deepcopy(case.args)
    got, error = outcome(exercise.use, attempt, args)
    if error is None and not differ(got, case.expected, case.tolerance):
        return changed_input(name, case, args)
    mistake = explain(exercise, case, earlier, got, error)
    lines = [f"✗ {name}: {case.says}"]
    if case.call or inspect.isroutine(attempt):
        call = case.call or f"{name}({', '.join(map(short, case.args))})"
        lines.append(f"  {say(en='call', zh='调用')}      {call}")
    lines += side_by_side(case, got) if error is None else raised(case, error, attempt)
    if mistake:
        lines.append(f"  {say(en='Likely mistake: ', zh='可能的错误：')}{mistake.says}")
    elif error is None:
        lines += [f"  {next_step(got, case.expected, attempt)}", f"  {case.otherwise}"]
    crashed = error is not None or got is None  # that tells no kind
    kind = mistake.kind if mistake else "" if crashed else case.kind
    lines.append(f"  {kind_of(kind, first=not earlier)}")
    message = "\n".join(line for line in lines if line.strip())
    return Result("failed", message, mistake.key if mistake else "", kind)


def side_by_side(case: Case, got) -> list[str]:
    """Return the lines with what was expected and what came out."""
    place, lines = None, []
    if found := first_difference(got, case.expected, case.tolerance):
        place, wrong, total = found
        says = say(
            en=f"{wrong} of {total} numbers differ, the first at {list(place)}",
            zh=f"{total} 个数里有 {wrong} 个不同，第一处在 {list(place)}",
        )
        lines = [f"  {says}"]
    same = shown(got, 5, place) == shown(case.expected, 5, place)
    expected, got = (shown(x, 15 if same else 5, place) for x in (case.expected, got))
    lines.append(f"  {say(en='expected', zh='应得    ')}  {expected}")
    return [*lines, f"  {say(en='got ', zh='实得')}      {got}"]


def raised(case: Case, error: Exception, attempt) -> list[str]:
    """Return the lines with what was expected and what was raised instead."""
    return [
        f"  {say(en='expected', zh='应得    ')}  {shown(case.expected)}",
        f"  {say(en='raised', zh='报错  ')}    {own_line(error, attempt)}",
    ]


def outcome(use: Callable, attempt, args: tuple):
    """Return (value, None) or (None, exception), warnings quiet."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return use(attempt, *args), None
        except Exception as error:  # whatever the learner's code raises is shown to them
            return None, error


def changed_input(name: str, case: Case, args: tuple) -> Result | None:
    """Return a failed Result when the attempt wrote into an array that it was given."""
    for before, after in zip(case.args, args, strict=True):
        if isinstance(before, np.ndarray) and not np.array_equal(
            before, after, equal_nan=before.dtype.kind == "f"
        ):
            says = say(
                en="The result is right, but your function changed its input. Work on a copy, or avoid `x -= …`.",
                zh="结果是对的，但你的函数改动了输入。请在副本上计算，或避免 `x -= …` 这样的写法。",
            )
            return Result("failed", f"✗ {name}: {case.says}\n  {says}", "changed_input")
    return None


def explain(exercise: Exercise, case: Case, earlier: Sequence[Case], got, error) -> Mistake | None:
    """Return the typical mistake whose model does the same as the attempt did, if there is one.

    Among several, one whose model passes the earlier cases, as the attempt did, explains better; if
    none does, one of the case's own kind.
    """
    same = []
    for mistake in exercise.mistakes:
        value, wrong = outcome(exercise.use, mistake.model, copy.deepcopy(case.args))
        if error is not None or wrong is not None:
            if type(error) is type(wrong) and (
                isinstance(error, Named) or str(error) == str(wrong)
            ):
                same.append(mistake)
        elif differ(value, case.expected, case.tolerance) and not differ(
            got, value, max(case.tolerance, 1e-12)
        ):
            same.append(mistake)
    better = [m for m in same if all(passes(exercise, m.model, c) for c in earlier)]
    alike = [m for m in same if m.kind in ("", case.kind)]
    return next(iter(better or alike), None)


def passes(exercise: Exercise, attempt, case: Case) -> bool:
    value, error = outcome(exercise.use, attempt, copy.deepcopy(case.args))
    return error is None and not differ(value, case.expected, case.tolerance)


def next_step(got, expected, attempt) -> str:
    """Return what to look at first when no typical mistake explains an answer."""
    if got is None and inspect.isroutine(attempt):
        return say(
            en="The function returned None. Is a `return` missing?",
            zh="函数返回了 None。是不是漏了 `return`？",
        )
    if isinstance(expected, bool) and not isinstance(got, bool | np.bool_):
        return say(en="Write True or False, without quotes.", zh="请写 True 或 False，不要加引号。")
    shapes = [np.shape(x) if hasattr(x, "shape") else None for x in (got, expected)]
    if None not in shapes and shapes[0] != shapes[1]:
        return say(
            en=f"The shapes differ: {shapes[0]} instead of {shapes[1]}.",
            zh=f"形状不同：得到 {shapes[0]}，应为 {shapes[1]}。",
        )
    return ""


def kind_of(kind: str, first: bool) -> str:
    if kind == "floats" and first:
        return say(
            en="With exact numbers the formula would be right. It fails only in floating point.",
            zh="用精确的数来算，公式是对的。错误只在浮点运算中出现。",
        )
    if kind == "floats":
        return say(
            en="The algebra holds: the earlier cases passed. It fails only in floating point.",
            zh="代数没有错：前面的用例都通过了。错误只在浮点运算中出现。",
        )
    if kind == "algebra":
        return say(
            en="Wrong algebra: with exact numbers this would be wrong too.",
            zh="代数有错：就算换成精确的数，结果也不对。",
        )
    return ""


def progress(module) -> None:
    """Print the state of each exercise of a lesson's check module, in order."""
    checks = [value for value in vars(module).values() if isinstance(value, Check)]
    marks = {"passed": "✓", "failed": "✗", "not attempted": "·"}
    for check in checks:
        state = check.result.state if check.result else "not attempted"
        print(f"{marks[state]} {check.name}")
    done = sum(bool(check.result) and check.result.state == "passed" for check in checks)
    print(
        say(en=f"{done} of {len(checks)} exercises passed", zh=f"通过 {done}/{len(checks)} 个练习")
    )
