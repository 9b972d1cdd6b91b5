"""A deck per lesson and language, from its slide cells, its outputs and its pictures.

A slide cell starts a section that goes on to the next one. On the slide, a line `{output}`,
`{output 2}`, … stands for what the section's code cells print, and `{picture}` or
`{picture step=3}` for the picture of its cell with `show`. The section's prose is the speaker's;
a slide without any, an answer before its explanation, has the prose of the next one.
"""

import ast
import html
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import nbformat
import nbformat.v4 as v4
from nbconvert import SlidesExporter
from nbformat import NotebookNode

from authoring.build import Plan, notebooks, prepare, write_all
from authoring.course import Course, Lesson
from authoring.editions import assemble
from authoring.lint import HAN
from authoring.read import Cell
from authoring.slides_pictures import draw_all, file_name

WORDS, CHARACTERS = 60, 110  # on one slide: English words, Chinese characters
TYPES = {61: "", 73: " wide"}  # columns that an output may have at most → its type
PLACE = re.compile(r"^\{(output|picture)\b(.*)\}$", re.MULTILINE)
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LIBRARY = {  # in dist/slides/lib: package, its folder, what is taken
    "reveal": ("sphinx_revealjs", "_static/revealjs", "LICENSE dist/reset.css dist/reveal.css"
               " dist/reveal.js plugin/notes/notes.js"),
    "mathjax": ("mathjax", "static/mathjax", "LICENSE es5/tex-svg-full.js"),
}  # fmt: skip


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
        return [_arguments(self.cell, rest) for rest in found]


def build_slides(root: Path, plan: Plan, report: Callable[[str], None] = print) -> list[Path]:
    """Write the decks of a plan into dist/slides; return their HTML files."""
    course, ready = prepare(root, plan)
    folder, texts, decks = root / "dist" / "slides", {}, []
    for lesson, cells in ready:
        sections = {
            lang: split(course, lesson, cells, lang) for lang in plan.languages or course.languages
        }
        for error in (e for parts in sections.values() for s in parts for e in faults(s, cells)):
            raise error
        first = next(iter(sections.values()))
        if len(first) == 1:
            report(f"no slides   {lesson.source}")
            continue
        texts |= {folder / "pictures" / n: t for n, t in _pictures(course, lesson, cells, first)}
        for language, parts in sections.items():
            decks.append(folder / language / f"{lesson.slug}.html")
            texts[decks[-1]] = deck(course, lesson, language, parts)
    copy_library(root, folder)
    write_all(texts, report)
    return decks


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


def deck(course: Course, lesson: Lesson, language: str, sections: list[Section]) -> str:
    """Return the HTML of one deck; the outputs are those of the solution notebook."""
    solution = course.root / "notebooks" / language / "solutions" / f"{lesson.slug}.ipynb"
    outputs = {c.id: c.get("outputs", []) for c in nbformat.read(solution, as_version=4).cells}
    nb = v4.new_notebook(metadata={"title": sections[0].text.split("\n")[0][2:]})
    for section in sections:
        nb.cells += [
            _cell("slide", _filled(lesson, section, outputs)),
            _cell("notes", "\n\n".join(section.notes)),
        ]
    exporter = SlidesExporter(
        template_name="slides_template",
        extra_template_basedirs=[str(Path(__file__).parent)],
        exclude_anchor_links=True,
        language_code=language,
    )
    return exporter.from_notebook_node(nb)[0]


def copy_library(root: Path, folder: Path) -> None:
    """Copy reveal.js, MathJax, the style sheet and all licences below dist/slides."""
    for name, (package, place, files) in LIBRARY.items():
        spec = find_spec(package)
        if spec is None:
            raise SystemExit("reveal.js or MathJax is missing: pip install '.[slides]'")
        (folder / "lib" / name).mkdir(parents=True, exist_ok=True)
        for file in files.split():
            shutil.copy(
                Path(spec.submodule_search_locations[0]) / place / file, folder / "lib" / name
            )
    shutil.copy(Path(__file__).parent / "slides_template" / "slides.css", folder / "lib")
    for licence in root.glob("LICENSE*"):
        shutil.copy(licence, folder)


def _pictures(
    course: Course, lesson: Lesson, cells: list[Cell], sections: list[Section]
) -> Iterator[tuple[str, str]]:
    """Yield name and SVG of all pictures; they have no words of either language."""
    asked: dict[str, list[dict]] = {}
    names: dict[str, list[str]] = {}
    for section in sections:
        for settings in section.settings():
            asked.setdefault(section.show, []).append(settings)
            names.setdefault(section.show, []).append(file_name(lesson.slug, section.nth, settings))
    nb = next(nb for p, nb in notebooks(course, lesson, cells, ("en",)) if "solutions" in p.parts)
    lines = dict(zip((c.id for c in assemble(lesson, cells).cells), cells, strict=True))
    for cell, svgs in draw_all(nb, course, lesson, lines, asked).items():
        yield from zip(names[cell], svgs, strict=True)


def _filled(lesson: Lesson, section: Section, outputs: dict[str, list]) -> str:
    """Return a slide's Markdown with outputs and pictures in place."""
    missing = [i for i in section.code if i not in outputs]
    if missing:
        raise section.code[missing[0]].error("changed since the notebooks were built")

    def fill(match: re.Match) -> str:
        if match[1] == "picture":
            name = file_name(lesson.slug, section.nth, _arguments(section.cell, match[2]))
            alt = html.escape(_alt(outputs[section.show]))
            return f'<div class="picture"><img src="../pictures/{name}" alt="{alt}"></div>'
        texts = [text for i in section.code for text in _texts(outputs[i])]
        n = int(match[2] or 1)
        if n > len(texts):
            raise section.cell.error(f"{{output {n}}}, but the cells after it print {len(texts)}")
        columns = max(map(len, texts[n - 1].split("\n")))
        kind = next((kind for most, kind in TYPES.items() if columns <= most), " widest")
        return f'<pre class="output{kind}">{html.escape(texts[n - 1])}</pre>'

    return PLACE.sub(fill, section.text)


def _texts(outputs: list[NotebookNode]) -> Iterator[str]:
    for out in outputs:
        data = out.get("data", {})
        if out.output_type == "stream" or ("text/plain" in data and "image/png" not in data):
            yield (out.get("text") or data["text/plain"]).rstrip()


def _alt(outputs: list[NotebookNode]) -> str:
    return next((o.metadata["image/png"]["alt"] for o in outputs if o.get("metadata")), "")


def _arguments(cell: Cell, text: str) -> dict:
    """Return {"step": 3} for " step=3"."""
    try:
        call = ast.parse(f"dict({text})", mode="eval").body
        return dict(*call.args, **{k.arg: ast.literal_eval(k.value) for k in call.keywords})
    except (SyntaxError, TypeError, ValueError):
        raise cell.error(f"cannot read the settings of this picture: {text!r}") from None


def _cell(kind: str, text: str) -> NotebookNode:
    return v4.new_markdown_cell(text, metadata={"slideshow": {"slide_type": kind}})
