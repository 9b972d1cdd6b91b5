"""Statements to judge in another order, with other letters, for one variant of an assignment."""

import dataclasses
import re
from collections.abc import Iterator

from authoring.course import Lesson
from authoring.errors import SourceError
from authoring.read import Cell
from utils.variant import new_letters

BULLET = re.compile(r"^- \*\*([a-z])\*\*")
ENTRY = re.compile(r'"([a-z])": (True|False|\.\.\.)')
DICT = re.compile(r"\{.*\}")
CODE = re.compile(r"`[^`]*`|\$[^$]*\$")
LOOSE = {
    "en": re.compile(r"(?<![\w*-])([b-h]|(?<=[Ff]or )a(?= and|[,:]))(?![\w*'’-])"),
    "zh": re.compile(r"(?<![A-Za-z0-9*-])[a-h](?![A-Za-z0-9*-])"),
}


def shuffled(cells: list[Cell], lesson: Lesson, seed: str) -> list[Cell]:
    """Return the cells, with the statements of `judge` in this variant's order.

    Every **b** of their text changes with them, and so do the answers; the check knows the new
    letters from the seed.
    """
    places = [n for n, cell in enumerate(cells) if cell.keys.get("exercise") == "judge"]
    if not seed or not places:
        return cells
    (place,) = places
    letters = sorted(set(re.findall(r'"([a-z])":', cells[place].text)))
    new = new_letters(letters, seed, lesson.slug)
    texts = {place: DICT.sub(lambda match: _answers(match[0], new), cells[place].text)}
    for n in (place - 2, place - 1):  # the task, in English and in Chinese
        texts[n] = _statements(cells[n], new)
    return [dataclasses.replace(cell, text=texts.get(n, cell.text)) for n, cell in enumerate(cells)]


def loose_letters(cells: list[Cell]) -> Iterator[SourceError]:
    """Yield the hints that name a statement by a letter which would not change with it."""
    judge = next((n for n, cell in enumerate(cells) if cell.keys.get("exercise") == "judge"), 0)
    for task in cells[max(0, judge - 2) : judge]:
        for line, text in enumerate(task.text.split("\n"), task.start):
            pattern = LOOSE[task.language] if task.language else None
            if pattern and (found := pattern.search(CODE.sub("`", text))):
                yield task.error(f"write the letter of a statement in bold: **{found[0]}**", line)


def _answers(text: str, new: dict[str, str]) -> str:
    entries = sorted((new[letter], value) for letter, value in ENTRY.findall(text))
    return "{" + ", ".join(f'"{letter}": {value}' for letter, value in entries) + "}"


def _statements(task: Cell, new: dict[str, str]) -> str:
    text = re.sub(r"\*\*([a-z])\*\*", lambda match: f"**{new[match[1]]}**", task.text)
    lines = text.split("\n")
    bullets = [n for n, line in enumerate(lines) if BULLET.match(line)]
    if len(bullets) != len(new):
        raise task.error(f"{len(new)} answers, but {len(bullets)} statements `- **a**: …`")
    for n, line in zip(bullets, sorted(lines[n] for n in bullets), strict=True):
        lines[n] = line
    return "\n".join(lines)
