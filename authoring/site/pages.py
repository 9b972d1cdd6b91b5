"""What Sphinx reads: a page for each lesson, from its executed notebook, and the landing page."""

import copy
from pathlib import Path

import nbformat
import nbformat.v4 as v4
from nbformat import NotebookNode

from authoring.build import canonical
from authoring.course import Course, Lesson
from authoring.errors import SourceError
from authoring.setup_cell import DEVICE, colab_link, facts
from authoring.site.words import DOWNLOAD, MAP, SOLUTION


def lay_out(course: Course, language: str, folder: Path) -> None:
    """Write the sources of one language's pages into an empty folder."""
    folder.mkdir(parents=True)
    (folder / "index.md").write_text(landing(course, language), encoding="utf-8")
    for lesson in course.lessons:
        text = canonical(page(course, lesson, language))
        (folder / f"{lesson.slug}.ipynb").write_text(text, encoding="utf-8")


def landing(course: Course, language: str) -> str:
    """Return the first page: what the course is, and the map of lessons."""
    readme = course.root / {"en": "README.md", "zh": "README.zh-CN.md"}[language]
    about = readme.read_text(encoding="utf-8").split("\n\n")[2]
    words = MAP[language]
    rows = [_row(course, lesson, language) for lesson in course.lessons]
    table = "\n".join([words["head"], "|---|---|---|---|", *rows])
    tree = "\n".join(["```{toctree}", ":hidden:", *(x.slug for x in course.lessons), "```"])
    parts = [
        f"# {course.title(language)}",
        about,
        f"## {words['title']}",
        table,
        words["how"],
        tree,
    ]
    return "\n\n".join(parts) + "\n"


def _row(course: Course, lesson: Lesson, language: str) -> str:
    """Return a lesson's line of the map; lessons that it needs are named by their numbers."""
    needs = [f"[{slug[:2]}]({slug}.ipynb)" for slug in lesson.needs] or ["–"]
    cells = (lesson.link(language), lesson.minutes, DEVICE[language][lesson.device])
    return f"| {' | '.join(cells)} | {', '.join(needs)} |"


def page(course: Course, lesson: Lesson, language: str) -> NotebookNode:
    """Return the solution notebook as a page: solutions folded below their stubs, pictures named."""
    folder = course.root / "notebooks" / language
    nb = _read(folder / "solutions" / f"{lesson.slug}.ipynb")
    learner = _read(folder / f"{lesson.slug}.ipynb")
    stubs = {_grade_id(cell): cell for cell in learner.cells if _is_solution(cell)}
    cells = []
    for cell in nb.cells:
        if _is_solution(cell) and cell.cell_type == "markdown":
            cells.append(_folded_text(cell, language))
        elif _is_solution(cell):
            cells += [_stub(stubs[_grade_id(cell)]), _folded(cell, language)]
        elif cell.id == "notice":
            cell.source = _notice(course, lesson, language)
            cells.append(cell)
        elif cell.id == "set-up":
            cells += _only_outputs(cell)
        elif cell.id != "next":  # the theme has its own way on
            cells.append(cell)
    for cell in cells:
        _name_pictures(cell, lesson)
    nb.cells = cells
    return nb


def _read(path: Path) -> NotebookNode:
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError):  # none yet, or not JSON any more
        raise SourceError(path, 1, "no readable notebook: run make notebooks") from None


def _is_solution(cell: NotebookNode) -> bool:
    return cell.metadata.get("nbgrader", {}).get("solution", False)


def _grade_id(cell: NotebookNode) -> str:
    return cell.metadata.nbgrader.grade_id


def _stub(cell: NotebookNode) -> NotebookNode:
    """Return what the learner finds: it stands on the page, above the folded solution."""
    return v4.new_code_cell(cell.source, id=f"{cell.id[:50]}-stub")


def _folded(cell: NotebookNode, language: str) -> NotebookNode:
    words = SOLUTION[language]
    prompts = {"code_prompt_show": words["show"], "code_prompt_hide": words["hide"]}
    return v4.new_code_cell(
        cell.source,
        id=cell.id,
        outputs=cell.outputs,
        metadata={"tags": ["hide-input"], "mystnb": prompts},
    )


def _folded_text(cell: NotebookNode, language: str) -> NotebookNode:
    summary = f"<summary>{SOLUTION[language]['answer']}</summary>"
    text = f"<details>{summary}\n\n{cell.source}\n\n</details>"
    return v4.new_markdown_cell(text, id=cell.id)


def _only_outputs(cell: NotebookNode) -> list[NotebookNode]:
    """Leave the set-up's code to the notebook: a reader of the page runs nothing."""
    if not cell.outputs:
        return []
    cell = copy.deepcopy(cell)
    cell.source, cell.metadata["tags"] = "", ["remove-input"]
    return [cell]


def _notice(course: Course, lesson: Lesson, language: str) -> str:
    words = DOWNLOAD[language]
    file = f"notebooks/{lesson.slug}.ipynb"
    links = [f'<a class="course-link" href="{file}" download>{words["link"]}</a>']
    if colab := colab_link(course, lesson, language):
        links.append(f'<a class="course-link" href="{colab}">Open in Colab</a>')
    return "\n\n".join(
        [
            facts(course, lesson, language),
            f'<p class="course-links">{" ".join(links)}</p>',
            words["note"],
        ]
    )


def _name_pictures(cell: NotebookNode, lesson: Lesson) -> None:
    """Hand the words that the lesson gives its picture to the page's builder."""
    pictures = [out for out in cell.get("outputs", ()) if "image/png" in out.get("data", {})]
    if not pictures:
        return
    words = {out.metadata.get("image/png", {}).get("alt", "") for out in pictures}
    if len(words) > 1 or not words.isdisjoint({""}):
        reason = f"a cell needs one picture, with alt=: {cell.source.splitlines()[-1]!r}"
        raise SourceError(lesson.source, 1, reason)
    cell.metadata["mystnb"] = {"image": {"alt": words.pop()}}
