"""First step: a lesson's percent file becomes a list of checked cells that know their lines."""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

import jupytext

from authoring.errors import SourceError

VALUE = r'(?:"[^"]*"|\d+|\["\w+"(?:, "\w+")*\])'
HEADER = re.compile(rf"# %%(?: \[markdown\])?(?: \w+={VALUE})*\s*")
FORMAT = {"extension": ".py", "format_name": "percent", "comment_magics": False}


@dataclass(frozen=True)
class Cell:
    """One cell: line is that of its `# %%` header, start that of the first line of its text."""

    file: Path
    kind: str
    text: str
    line: int
    start: int
    tags: frozenset[str] = frozenset()
    keys: dict = field(default_factory=dict)

    @property
    def language(self) -> str:
        """Return "en", "zh", or "" for a cell that both languages share."""
        return next(iter(self.tags & {"en", "zh"}), "")

    def error(self, reason: str, line: int | None = None) -> SourceError:
        """Return an error that names this cell, or one of its lines."""
        return SourceError(self.file, self.line if line is None else line, reason)


def stamp_of(text: str) -> str:
    """Return the eight hex digits that a Chinese header carries for its English text."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:8]


def read(path: Path) -> list[Cell]:
    """Return the cells of one lesson; form.py checks them, lint.py their texts."""
    lines = path.read_text(encoding="utf-8").splitlines()
    headers = [n for n, line in enumerate(lines, 1) if re.match(r"#\s*%%", line)]
    if not headers or any(line.strip() for line in lines[: headers[0] - 1]):
        raise SourceError(path, 1, "the file must start with a cell header, `# %%`")
    for n, following in zip(headers, [*headers[1:], len(lines) + 1], strict=True):
        _check_lines(path, n, lines[n - 1 : following - 1])
    nodes = jupytext.reads("\n".join(lines) + "\n", fmt=FORMAT).cells
    if len(nodes) != len(headers):
        raise SourceError(path, headers[-1], "a line inside a cell starts with `# %%`")
    return [_cell(path, node, line, lines) for node, line in zip(nodes, headers, strict=True)]


def _cell(path: Path, node, line: int, lines: list[str]) -> Cell:
    keys = {
        k: v for k, v in node.metadata.items() if k not in {"cell_marker", "lines_to_next_cell"}
    }
    tags = keys.pop("tags", [])
    first = node.source.split("\n")[0]
    start = next((n for n in range(line + 1, len(lines) + 1) if lines[n - 1] == first), line)
    return Cell(path, node.cell_type, node.source, line, start, frozenset(tags), keys)


def _check_lines(path: Path, line: int, lines: list[str]) -> None:
    """Check what jupytext would read otherwise than it is meant: a header, a text's quotes."""
    if not HEADER.fullmatch(lines[0]):
        raise SourceError(path, line, f"cannot read this cell header: {lines[0]!r}")
    text = [content.strip() for content in lines[1:] if content.strip()]
    if "[markdown]" in lines[0] and (text[:1] != ['r"""'] or text[1:][-1:] != ['"""']):
        raise SourceError(path, line, 'a Markdown text stands between the lines r""" and """')
