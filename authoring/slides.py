"""A deck per lesson and language, from its slide cells, its outputs and its pictures.

A slide cell starts a section that goes on to the next one. On the slide, a line `{output}`,
`{output 2}`, … stands for what the section's code cells print, and `{picture}` or
`{picture step=3}` for the picture of its cell with `show`. The section's prose is the speaker's;
a slide without any, an answer before its explanation, has the prose of the next one.
"""

import html
import re
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import nbformat
import nbformat.v4 as v4
from nbconvert import SlidesExporter
from nbformat import NotebookNode

from authoring.build import Plan, notebooks, prepare, write_all
from authoring.course import Course, Lesson
from authoring.editions import assemble
from authoring.errors import SourceError
from authoring.read import Cell
from authoring.slides_cells import PLACE, Section, arguments, faults, split
from authoring.slides_pictures import draw_all, file_name
from utils.columns import columns

TYPES = {61: "", 73: " wide"}  # columns that an output may have at most → its type
LIBRARY = {  # in dist/slides/lib: package, its folder, what is taken
    "reveal": ("sphinx_revealjs", "_static/revealjs", "LICENSE dist/reset.css dist/reveal.css"
               " dist/reveal.js plugin/notes/notes.js"),
    "mathjax": ("mathjax", "static/mathjax", "LICENSE es5/tex-svg-full.js"),
}  # fmt: skip


def build_slides(root: Path, plan: Plan, report: Callable[[str], None] = print) -> list[Path]:
    """Write the decks of a plan into dist/slides; return their HTML files."""
    course, ready = prepare(root, plan)
    languages = plan.languages or course.languages
    planned = [
        (
            lesson,
            cells,
            {language: split(course, lesson, cells, language) for language in languages},
        )
        for lesson, cells in ready
    ]
    _check(planned)  # all of them, before a lesson is run for its pictures
    folder, texts, decks = root / "dist" / "slides", {}, []
    for lesson, cells, of_language in planned:
        report(f"drawing for {lesson.source}")
        drawn = _pictures(course, lesson, cells, of_language[languages[0]])
        texts |= {folder / "pictures" / name: svg for name, svg in drawn}
        for language, sections in of_language.items():
            decks.append(folder / language / f"{lesson.slug}.html")
            texts[decks[-1]] = deck(course, lesson, language, sections)
    copy_library(root, folder)
    write_all(texts, report)
    return decks


def _check(planned: list[tuple[Lesson, list[Cell], dict[str, list[Section]]]]) -> None:
    found = [
        error
        for _, cells, of_language in planned
        for section in chain(*of_language.values())
        for error in faults(section, cells)
    ]
    if found:
        raise ExceptionGroup("the slides", found)


def deck(course: Course, lesson: Lesson, language: str, sections: list[Section]) -> str:
    """Return the HTML of one deck; the outputs are those of the solution notebook."""
    solution = course.root / "notebooks" / language / "solutions" / f"{lesson.slug}.ipynb"
    if not solution.is_file():
        raise SourceError(lesson.source, 1, f"{solution} has not been built: make notebooks")
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
    """Copy reveal.js, MathJax, the style sheets and all licences below dist/slides."""
    for name, (package, place, files) in LIBRARY.items():
        spec = find_spec(package)
        if spec is None:
            raise SystemExit("reveal.js or MathJax is missing: pip install '.[slides]'")
        (folder / "lib" / name).mkdir(parents=True, exist_ok=True)
        for file in files.split():
            shutil.copy(
                Path(spec.submodule_search_locations[0]) / place / file, folder / "lib" / name
            )
    for sheet in ("two_columns.css", "slides_template/slides.css"):
        shutil.copy(Path(__file__).parent / sheet, folder / "lib")
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
            name = file_name(lesson.slug, section.nth, arguments(section.cell, match[2]))
            alt = html.escape(_alt(outputs[section.show]))
            return f'<div class="picture"><img src="../pictures/{name}" alt="{alt}"></div>'
        texts = [text for i in section.code for text in _texts(outputs[i])]
        n = int(match[2] or 1)
        if n > len(texts):
            raise section.cell.error(f"{{output {n}}}, but the cells after it print {len(texts)}")
        width = max(map(columns, texts[n - 1].split("\n")))
        kind = next((kind for most, kind in TYPES.items() if width <= most), " widest")
        return f'<pre class="output{kind}">{html.escape(texts[n - 1])}</pre>'

    return PLACE.sub(fill, section.text)


def _texts(outputs: list[NotebookNode]) -> Iterator[str]:
    for out in outputs:
        data = out.get("data", {})
        if out.output_type == "stream" or ("text/plain" in data and "image/png" not in data):
            yield (out.get("text") or data["text/plain"]).rstrip()


def _alt(outputs: list[NotebookNode]) -> str:
    return next((o.metadata["image/png"]["alt"] for o in outputs if o.get("metadata")), "")


def _cell(kind: str, text: str) -> NotebookNode:
    return v4.new_markdown_cell(text, metadata={"slideshow": {"slide_type": kind}})
