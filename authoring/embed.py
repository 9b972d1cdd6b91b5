"""Step 3: what a notebook needs to run anywhere: files shown in cells, and the set-up cell."""

import ast
import hashlib
import json
from pathlib import Path

from nbformat import NotebookNode, v4

from authoring.course import Course, Lesson, SourceError

MARKER = "flashattention-course"
TEMPLATE = Path(__file__).with_name("setup_cell.py")


def fill_sources(notebook: NotebookNode, root: Path, lesson_file: Path) -> None:
    """Fill each cell that has `source` with that whole file."""
    for cell in notebook.cells:
        name = cell.metadata.pop("source", None)
        if name is None:
            continue
        if not (root / name).is_file():
            raise SourceError(lesson_file, 1, f"embedded file missing: {name}")
        cell.source = (root / name).read_text(encoding="utf-8").strip()


def imported_files(code: list[str], root: Path) -> list[str]:
    """Return the files of `utils` that the code imports, and those that they import, sorted."""
    found: set[str] = set()
    waiting = [name for text in code for name in imported_modules(text)]
    while waiting:
        module = waiting.pop()
        parts = module.split(".")
        for depth in range(1, len(parts) + 1):
            for name in ("/".join(parts[:depth]) + ".py", "/".join(parts[:depth]) + "/__init__.py"):
                if (root / name).is_file() and name not in found:
                    found.add(name)
                    waiting += imported_modules((root / name).read_text(encoding="utf-8"))
    return sorted(found)


def imported_modules(text: str) -> list[str]:
    """Return the dotted names under `utils` that a Python text imports."""
    names = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return [name for name in names if name.split(".")[0] == "utils"]


def quoted(text: str) -> str:
    """Return a Python literal of any text that still reads like the text."""
    escaped = text.replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
    return f"'''{escaped}'''"


def set_up(notebook: NotebookNode, course: Course, lesson: Lesson, language: str, alone: bool) -> None:
    """Insert notice and set-up cell after the title, and the way to the next lesson at the end.

    alone: the notebook also holds the files of `utils` that it needs.
    """
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    if lesson.device != "cpu":
        code.append("import utils.device")
    names = imported_files([*code, "import utils"], course.root)
    files = {name: (course.root / name).read_text(encoding="utf-8") for name in names}
    digest = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:8]
    folder = f"flashattention_course_{digest}"
    notice = notice_text(course, lesson, language, folder if alone else "")
    source = set_up_code(lesson, language, files if alone else {}, folder)
    cell = v4.new_code_cell(source, id="set-up")
    cell.metadata = NotebookNode(
        cellView="form", jupyter={"source_hidden": True}, tags=["hide-input"]
    )
    notebook.cells[1:1] = [v4.new_markdown_cell(notice, id="notice"), cell]
    if following := course.neighbour(lesson, 1):
        word = {"en": "Next", "zh": "下一课"}[language]
        mark = {"en": ":", "zh": "："}[language]
        text = f"**{word}**{mark} {link(following, language)}".replace("： ", "：")
        notebook.cells.append(v4.new_markdown_cell(text, id="next"))


def set_up_code(lesson: Lesson, language: str, files: dict[str, str], folder: str) -> str:
    """Fill the template setup_cell.py for one notebook."""
    text = TEMPLATE.read_text(encoding="utf-8").split("# ---\n", 1)[1]
    shown = "".join(f"    {name!r}: {quoted(content)},\n" for name, content in files.items())
    literal = f"{{\n{shown}}}" if files else "{}"
    text = text.replace('"LESSON"', f'"{lesson.slug}"').replace('"LANGUAGE"', f'"{language}"')
    text = text.replace('"FOLDER"', f'"{folder}"').replace('"FILES"', literal)
    if lesson.device != "cpu":
        text += "\nfrom utils.device import choose_triton_mode\n\nchoose_triton_mode()\n"
    return text.strip()


def link(lesson: Lesson, language: str) -> str:
    return f"[{lesson.number} · {lesson.title[language]}]({lesson.slug}.ipynb)"


def notice_text(course: Course, lesson: Lesson, language: str, folder: str) -> str:
    """Return the generated line under the title: time, device, what came before, what set-up does."""
    needs = [link(course.lesson(slug), language) for slug in lesson.needs]
    device = {
        "en": {"cpu": "no GPU needed", "both": "with or without a GPU", "gpu": "best on a GPU, runs without"},
        "zh": {"cpu": "不需要 GPU", "both": "有没有 GPU 都可以", "gpu": "最好有 GPU，没有也能运行"},
    }[language][lesson.device]
    if language == "en":
        facts = [f"{lesson.minutes} minutes", device]
        facts += [f"builds on {', '.join(needs)}"] if needs else []
        text = "**Run the next cell first.** It finds the course's files."
        if folder:
            text += (
                f" Outside the course's folder it writes the few it needs into `{folder}/`"
                " beside this notebook. It uses neither the network nor pip."
            )
    else:
        facts = [f"{lesson.minutes} 分钟", device]
        facts += [f"先学 {'、'.join(needs)}"] if needs else []
        text = "**请先运行下一个单元格**：它会找到课程的文件。"
        if folder:
            text += (
                f"如果不在课程的文件夹里，它会把需要的几个文件写到本 notebook 旁边的 `{folder}/`。"
                "它不联网，也不用 pip。"
            )
    return badge(course, lesson, language, folder) + " · ".join(facts) + "\n\n" + text


def badge(course: Course, lesson: Lesson, language: str, folder: str) -> str:
    if not (course.repository and folder):
        return ""
    path = f"{course.repository}/blob/main/notebooks/{language}/{lesson.slug}.ipynb"
    image = "https://colab.research.google.com/assets/colab-badge.svg"
    return f"[![Open in Colab]({image})](https://colab.research.google.com/github/{path})\n\n"
