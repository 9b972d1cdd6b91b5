"""Step 1: a lesson's percent file → checked cells, each with its line in the source."""

import hashlib
import re
from pathlib import Path

import jupytext
from nbformat import NotebookNode

from authoring.course import SourceError

KEYS = {"tags", "en", "exercise", "check", "points", "source"}
TAGS = {"en", "zh", "solution", "learner"}
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
HIDDEN_BEGIN, HIDDEN_END = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"


def fingerprint(text: str) -> str:
    """Return eight hex digits that change with the words of a text, not with its line breaks."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:8]


def read_lesson(path: Path) -> list[NotebookNode]:
    """Return the cells of a lesson, checked; each carries `metadata.line`."""
    cells = parse(path)
    for cell in cells:
        check_header(path, cell)
    check_pairs(path, cells)
    check_exercises(path, cells)
    number_cells(cells)
    return cells


def parse(path: Path) -> list[NotebookNode]:
    text = path.read_text(encoding="utf-8")
    lines = [n for n, line in enumerate(text.splitlines(), 1) if line.startswith("# %%")]
    if not lines or lines[0] != 1:
        raise SourceError(path, 1, "a lesson starts with a `# %%` line")
    cells = jupytext.reads(text, fmt="py:percent").cells
    if len(cells) != len(lines):
        raise SourceError(path, 1, "a line inside a cell starts with `# %%`")
    for cell, line in zip(cells, lines, strict=True):
        for key in ("cell_marker", "lines_to_next_cell", "lines_to_end_of_cell_marker"):
            cell.metadata.pop(key, None)
        cell.metadata["line"] = line
    return cells


def check_header(path: Path, cell: NotebookNode) -> None:
    line, tags = cell.metadata["line"], set(cell.metadata.get("tags", []))
    if unknown := set(cell.metadata) - KEYS - {"line"}:
        raise SourceError(path, line, f"unknown key {sorted(unknown)[0]!r} (known: {sorted(KEYS)})")
    if unknown := tags - TAGS:
        raise SourceError(path, line, f"unknown tag {sorted(unknown)[0]!r} (known: {sorted(TAGS)})")
    languages = tags & {"en", "zh"}
    if cell.cell_type == "code" and languages:
        raise SourceError(path, line, "code has no language: the same code runs in both")
    if cell.cell_type == "markdown" and not languages and not is_formula(cell.source):
        raise SourceError(path, line, "untranslated cell: only formulas go without en and zh")
    if "en" in cell.metadata and "zh" not in tags:
        raise SourceError(path, line, "the key en= stands on Chinese cells only")


def is_formula(text: str) -> bool:
    return not re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL).strip()


def language_of(cell: NotebookNode) -> str | None:
    return next((tag for tag in cell.metadata.get("tags", []) if tag in ("en", "zh")), None)


def pairs(cells: list[NotebookNode]) -> list[tuple[NotebookNode, NotebookNode | None]]:
    """Return each English cell with the cell that follows it."""
    followers = [*cells[1:], None]
    return [(a, b) for a, b in zip(cells, followers, strict=True) if language_of(a) == "en"]


def check_pairs(path: Path, cells: list[NotebookNode], stamped: bool = True) -> None:
    chinese = [id(cell) for cell in cells if language_of(cell) == "zh"]
    for en, zh in pairs(cells):
        if zh is None or language_of(zh) != "zh":
            raise SourceError(path, en.metadata["line"], "untranslated cell: no zh cell follows")
        chinese.remove(id(zh))
        if stamped and zh.metadata.get("en") != fingerprint(en.source):
            reason = "stale translation: the English changed. Read both, then `make stamp`"
            raise SourceError(path, zh.metadata["line"], reason)
    if chinese:
        line = next(cell.metadata["line"] for cell in cells if id(cell) == chinese[0])
        raise SourceError(path, line, "this zh cell does not follow an en cell")


def check_exercises(path: Path, cells: list[NotebookNode]) -> None:
    seen: dict[str, set[str]] = {"exercise": set(), "check": set()}
    for cell in cells:
        check_region(path, cell, BEGIN, END, needed="exercise")
        check_region(path, cell, HIDDEN_BEGIN, HIDDEN_END, needed=None)
        for kind, names in seen.items():
            name = cell.metadata.get(kind)
            if name in names:
                raise SourceError(path, cell.metadata["line"], f"duplicate {kind} {name!r}")
            names |= {name} - {None}
        if name := cell.metadata.get("check"):
            if name not in seen["exercise"]:
                raise SourceError(path, cell.metadata["line"], f"check {name!r} has no exercise above")
            if not isinstance(cell.metadata.get("points"), int):
                raise SourceError(path, cell.metadata["line"], f"check {name!r} needs points=<integer>")
    if unchecked := seen["exercise"] - seen["check"]:
        name = sorted(unchecked)[0]
        line = next(c.metadata["line"] for c in cells if c.metadata.get("exercise") == name)
        raise SourceError(path, line, f"exercise {name!r} has no check")


def check_region(path: Path, cell: NotebookNode, begin: str, end: str, needed: str | None) -> None:
    """Delimiters are full lines, closed, not nested; solutions stand in exercises, and there must."""
    open_at, regions = 0, 0
    for number, text in enumerate(cell.source.splitlines(), cell.metadata["line"] + 1):
        bare = begin.removeprefix("### ") in text or end.removeprefix("### ") in text
        if bare and text.strip() not in (begin, end):
            raise SourceError(path, number, f"a delimiter is a line of its own: {begin!r}, {end!r}")
        if text.strip() == begin:
            if open_at:
                raise SourceError(path, number, f"{begin!r} inside another")
            open_at, regions = number, regions + 1
        elif text.strip() == end:
            if not open_at:
                raise SourceError(path, number, f"{end!r} without {begin!r}")
            open_at = 0
    if open_at:
        raise SourceError(path, open_at, f"{begin!r} is never closed")
    if needed and regions and needed not in cell.metadata:
        raise SourceError(path, cell.metadata["line"], "a solution outside an exercise cell")
    if needed and needed in cell.metadata and not regions:
        raise SourceError(path, cell.metadata["line"], f"exercise without a {begin!r} region")


def number_cells(cells: list[NotebookNode]) -> None:
    """Give each cell an id that depends on its kind and text alone (and tells twins apart)."""
    seen: dict[str, int] = {}
    for cell in cells:
        text = f"{cell.cell_type}\n{cell.metadata.get('source', '')}\n{cell.source}"
        seen[text] = seen.get(text, 0) + 1
        cell["id"] = hashlib.sha256(f"{seen[text]}\n{text}".encode()).hexdigest()[:12]
