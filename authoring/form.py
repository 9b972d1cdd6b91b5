"""What a lesson's cells may look like: a closed list of keys and tags, pairs, closed regions."""

import re
from collections.abc import Iterator

from authoring.read import Cell

KEYS = {
    "markdown": {"tags", "en", "written", "points"},
    "code": {"tags", "exercise", "check", "points", "source"},
}
TAGS = {"en", "zh", "solution", "learner", "slide"}
MARKS = {
    f"### {edge} {what}": (edge, what)
    for edge in ("BEGIN", "END")
    for what in ("SOLUTION", "HIDDEN TESTS")
}
ALMOST_MARK = re.compile(r"#+\s*(begin|end)\s+(solution|hidden\s*tests?)", re.IGNORECASE)


def check_form(cells: list[Cell]) -> None:
    """Raise a SourceError for the first cell whose form the builder does not know."""
    for cell in cells:
        _check_header(cell)
        _check_marks(cell)
    _check_written([cell for cell, _ in pairs(cells)])
    _check_exercises(cells)


def pairs(cells: list[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """Yield each English cell with the Chinese cell that must follow it directly."""
    for cell, after in zip(cells, [*cells[1:], None], strict=True):
        if cell.language == "en":
            if after is None or after.language != "zh":
                raise cell.error("untranslated: no Chinese cell follows this English cell")
            if cell.tags - {"en"} != after.tags - {"zh"}:
                raise after.error("the tags of this Chinese cell differ from the English cell's")
            if any(cell.keys.get(key) != after.keys.get(key) for key in ("written", "points")):
                raise after.error("written=… and points=… differ from the English cell's")
            yield cell, after
        elif after is not None and after.language == "zh":
            raise after.error("this Chinese cell does not follow an English cell")
    if cells[0].language != "en":
        raise cells[0].error("the first cell must be the English title")


def _check_header(cell: Cell) -> None:
    for key in sorted(set(cell.keys) - KEYS[cell.kind]):
        raise cell.error(f"unknown key {key!r} in a {cell.kind} header")
    for tag in sorted(cell.tags - TAGS):
        raise cell.error(f"unknown tag {tag!r}; known are {', '.join(sorted(TAGS))}")
    if {"en", "zh"} <= cell.tags or len(cell.tags & {"solution", "learner", "slide"}) > 1:
        raise cell.error("tags that exclude each other")
    if "slide" in cell.tags and not cell.language:
        raise cell.error("a slide has a language tag")
    if cell.kind == "code" and cell.language:
        raise cell.error("code is the same in both languages: it has no language tag")
    if "en" in cell.keys and cell.language != "zh":
        raise cell.error('only a Chinese cell carries en="…"')
    prose = re.sub(r"\$\$.*?\$\$|\$.*?\$", "", cell.text, flags=re.DOTALL)
    if cell.kind == "markdown" and not cell.language and re.search(r"\w", prose):
        raise cell.error("words, but no language tag: a shared Markdown cell holds formulas only")


def _check_marks(cell: Cell) -> None:
    """Every region is closed, not nested, and stands where it belongs."""
    home = {"SOLUTION": "exercise", "HIDDEN TESTS": "check"}
    opened, at = None, 0
    for line, text in enumerate(cell.text.split("\n"), cell.start):
        edge, what = MARKS.get(text.strip(), (None, None))
        if edge is None and ALMOST_MARK.search(text):
            raise cell.error(f"not one of the exact delimiter lines: {text.strip()!r}", line)
        if edge and home[what] not in cell.keys:
            raise cell.error(f"a {what} region outside of a cell with {home[what]}=…", line)
        if edge and (opened if edge == "BEGIN" else opened != what):
            raise cell.error(f"{text.strip()!r} does not fit the line before", line)
        if edge:
            opened, at = (what, line) if edge == "BEGIN" else (None, 0)
    if opened:
        raise cell.error(f"this {opened} region is never closed", at)


def _check_exercises(cells: list[Cell]) -> None:
    seen = {"exercise": {}, "check": {}}
    for cell in cells:
        for key in seen.keys() & cell.keys.keys():
            if cell.tags or len(cell.keys) != (2 if key == "check" else 1):
                raise cell.error(
                    f"a cell with {key}=… has no tags, and points only if it is a check"
                )
            _check_graded(cell, key)
            if cell.keys[key] in seen[key]:
                raise cell.error(f"a second {key}={cell.keys[key]!r}")
            if key == "check" and cell.keys[key] not in seen["exercise"]:
                raise cell.error(f"check={cell.keys[key]!r}, but no such exercise stands above")
            seen[key][cell.keys[key]] = cell
    for name, cell in seen["exercise"].items():
        if "### BEGIN SOLUTION" not in cell.text:
            raise cell.error(f"exercise {name!r} has no solution region")
        if name not in seen["check"]:
            raise cell.error(f"exercise {name!r} has no check cell")


def _check_written(english: list[Cell]) -> None:
    """A written answer is marked by hand: it has points and a table that says what earns them."""
    seen = set()
    for cell in english:
        if "points" in cell.keys and "written" not in cell.keys:
            raise cell.error("a Markdown cell has points only with written=…")
        if "written" not in cell.keys:
            continue
        _check_graded(cell, "written")
        levels = [int(n) for n in re.findall(r"^\| (\d+) \|", cell.text, re.MULTILINE)]
        falling = levels == sorted(set(levels), reverse=True)
        if not (3 <= len(levels) <= 4 and falling and levels[0] == cell.keys["points"]):
            raise cell.error(
                "a written answer needs a table of 3 or 4 levels, `| 4 | what earns it |`,"
                f" falling from points={cell.keys['points']}; found {levels}"
            )
        if cell.keys["written"] in seen:
            raise cell.error(f"a second written={cell.keys['written']!r}")
        seen.add(cell.keys["written"])


def _check_graded(cell: Cell, key: str) -> None:
    points = cell.keys.get("points")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", str(cell.keys[key])):
        raise cell.error(f"{key}={cell.keys[key]!r} is not a lower-case name")
    if key != "exercise" and (not isinstance(points, int) or points < 1):
        raise cell.error(f"points={points!r} is not a whole number above 0")
