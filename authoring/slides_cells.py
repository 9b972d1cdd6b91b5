"""Slide cells: a lesson's sections, one a slide, and what a slide must not be."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from authoring.course import Course, Lesson
from authoring.editions import assemble
from authoring.lint import HAN
from authoring.read import Cell

WORDS, CHARACTERS = 60, 110  # on one slide: English words, Chinese characters
PLACE = re.compile(r"^\{(output|picture)\b(.*)\}$", re.MULTILINE)
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Section:
    """One slide in one language, and what follows it up to the next one.

    code: id → cell. show: id of the next cell that shows a picture (after the last, of that one),
    nth: how many of them there are up to it.
    """

    text: str
    cell: Cell
    notes: list[str] = field(default_factory=list)
    code: dict[str, Cell] = field(default_factory=dict)
    show: str = ""
    nth: int = 0

    def settings(self) -> list[dict]:
        """Return the settings of the pictures that this slide asks for."""
        found = [rest for kind, rest in PLACE.findall(self.text) if kind == "picture"]
        return [arguments(self.cell, rest) for rest in found]


def split(course: Course, lesson: Lesson, cells: list[Cell], language: str) -> list[Section]:
    """Return the title and the slides of one language, each with what follows it."""
    title = f"# {lesson.slug[:2]} · {lesson.title[language]}\n\n{course.title(language)}"
    sections = [Section(f"{title}\n\n{course.licence[language]}", cells[0])]
    shows: list[str] = []
    for node, cell in zip(assemble(lesson, cells).cells, cells, strict=True):
        if cell.language not in ("", language) or "learner" in cell.tags:
            continue
        if "slide" in cell.tags:
            sections.append(Section(cell.text, cell))
        elif cell.kind == "markdown" and "written" not in cell.keys:
            sections[-1].notes.append(cell.text)
        elif cell.kind == "code":
            sections[-1].code[node.id] = cell
        if re.search(r"^show\(", cell.text, re.MULTILINE):
            shows.append(node.id)
            _next_picture(sections, shows)
    _next_picture(sections, shows)
    for section, following in reversed(list(pairwise(sections))):
        section.notes = section.notes or following.notes
    return sections


def _next_picture(sections: list[Section], shows: list[str]) -> None:
    for section in sections:
        if shows and not section.show:
            section.show, section.nth = shows[-1], len(shows)


def faults(section: Section, cells: list[Cell]) -> Iterator[Exception]:
    """Yield what is wrong with a slide: its form, its length, code that the lesson has not."""
    if "slide" not in section.cell.tags:
        return
    if not section.text.startswith("## "):
        yield section.cell.error("a slide begins with `## ` and its heading")
    if section.settings() and not section.show:
        yield section.cell.error("{picture}, but the lesson shows none")
    words = PLACE.sub("", FENCE.sub("", section.text))
    words = re.sub(r"\$\$.*?\$\$|\$.*?\$", " ", words, flags=re.DOTALL)
    if len(re.findall(r"[A-Za-z]+(?:['’-]\w+)*|\d[\d.,]*", words)) > WORDS:
        yield section.cell.error(f"more than {WORDS} words on a slide")
    if len(re.findall(f"[{HAN}]", words)) > CHARACTERS:
        yield section.cell.error(f"more than {CHARACTERS} Chinese characters on a slide")
    code = "\n".join(cell.text for cell in cells if cell.kind == "code")
    known = {line.strip() for line in code.split("\n")} | {"...", ""}
    known |= {line.split("  #")[0] for line in known}
    for line in "\n".join(FENCE.findall(section.text)).split("\n"):
        if line.strip() not in known:
            yield section.cell.error(f"the lesson has no such line of code: {line.strip()!r}")


def arguments(cell: Cell, text: str) -> dict:
    """Return {"step": 3} for " step=3"."""
    try:
        call = ast.parse(f"dict({text})", mode="eval").body
        return dict(*call.args, **{k.arg: ast.literal_eval(k.value) for k in call.keywords})
    except (SyntaxError, TypeError, ValueError):
        raise cell.error(f"cannot read the settings of this picture: {text!r}") from None
