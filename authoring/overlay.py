"""A teacher's own cells, from the private folder that course.toml names, put into a lesson."""

import dataclasses
from collections import defaultdict

from authoring.course import Course, Lesson
from authoring.read import Cell, read


def with_overlay(course: Course, lesson: Lesson, cells: list[Cell]) -> list[Cell]:
    """Return the lesson's cells and those of the overlay's file of the same name, if it exists.

    A cell with `after="merge"` and those that follow it go behind the check cell of `merge`; one
    with `hidden="merge"` becomes a hidden test inside of that check cell.
    """
    path = course.root / course.overlay / lesson.source.name
    if not course.overlay or not path.is_file():
        return cells
    checks = {cell.keys["check"] for cell in cells if "check" in cell.keys}
    more, hidden = _sort(read(path), checks)
    merged = []
    for cell in cells:
        name = cell.keys.get("check")
        merged.append(_hide(cell, hidden[name]))
        merged += more[name]
    return merged


def _sort(cells: list[Cell], checks: set[str]) -> tuple[dict, dict]:
    """Return the cells that go behind each check, and the hidden tests that go into each."""
    more, hidden, place = defaultdict(list), defaultdict(list), None
    for cell in cells:
        keys = dict(cell.keys)
        target = keys.pop("hidden", None)
        place = keys.pop("after", place) if target is None else place
        if (target or place) not in checks:
            raise cell.error(f"after or hidden={target or place!r}: no check has this name")
        if target:
            hidden[target].append(cell.text)
        else:
            more[place] += _spoken(dataclasses.replace(cell, keys=keys))
    return more, hidden


def _hide(check: Cell, tests: list[str]) -> Cell:
    if not tests:
        return check
    lines = [check.text, "### BEGIN HIDDEN TESTS", *tests, "### END HIDDEN TESTS"]
    return dataclasses.replace(check, text="\n".join(lines))


def _spoken(cell: Cell) -> list[Cell]:
    """A text without a language tag is shown in both languages."""
    if cell.kind == "code" or cell.language:
        return [cell]
    return [dataclasses.replace(cell, tags=cell.tags | {language}) for language in ("en", "zh")]
