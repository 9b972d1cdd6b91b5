"""What the builder writes into every notebook: the notice and the folded first code cell."""

import ast

from authoring.course import Course, Lesson

COLAB = "https://colab.research.google.com"
TITLE = {"en": "Set-up: run this cell first", "zh": "准备：请先运行这个单元格"}
NOT_FOUND = {
    "en": "The course's folder `utils` was not found above {}: open this notebook inside a copy"
    " of the whole repository, or take the single-file edition made by `make colab`.",
    "zh": "在 {} 及其上级目录中找不到课程的 `utils` 文件夹：请在完整的课程仓库里打开这个"
    " notebook，或使用 `make colab` 生成的单文件版。",
}
FOREIGN = {
    "en": "{} is not the course's file, and it is left as it is: move it away, or start this"
    " notebook in another folder.",
    "zh": "{} 不是课程的文件，因此没有改动它：请把它移走，或在另一个文件夹里打开这个 notebook。",
}
MINUTES = {"en": "{} minutes", "zh": "{} 分钟"}
DEVICE = {
    "en": {"cpu": "no GPU needed", "both": "with or without a GPU", "gpu": "best on a GPU"},
    "zh": {"cpu": "不需要 GPU", "both": "有没有 GPU 都可以", "gpu": "最好有 GPU"},
}
NEEDS = {"en": ("builds on {}", ", "), "zh": ("先学 {}", "、")}
NEXT = {"en": "**Next:** {}", "zh": "**下一课**：{}"}
RUN_FIRST = {
    "en": "**Run the next cell first.** It is folded; it finds the course's files and sets the"
    " language of checks and pictures.",
    "zh": "**请先运行下一个单元格**。它是折叠的，用来找到课程的文件，并设定检查和图的语言。",
}
WRITES = {
    "en": "This notebook also holds those files. Where it finds no copy of the course, it writes"
    " them beside itself, into `{}/` and nowhere else. It downloads and installs nothing."
    " {}: {}",
    "zh": "这个 notebook 也带着这些文件：如果找不到课程的文件夹，它就把它们写到自己旁边的 `{}/`，"
    "不写到别处。它不下载也不安装任何东西。{}：{}",
}
HAND_IN = {
    "en": "This notebook is an assignment. It holds the course's files and writes them beside itself,"
    " into `{}/` and nowhere else. It downloads and installs nothing. Write where it says so, keep"
    " the name of the file, save it after a run from top to bottom, and hand in this one file."
    " {}: {}",
    "zh": "这个 notebook 是一份作业。它带着课程的文件，并把它们写到自己旁边的 `{}/`，不写到别处。它不下载"
    "也不安装任何东西。请在标明的地方作答，不要改文件名；从头到尾运行一遍后保存，只交这一个文件。{}：{}",
}
POINTS = {"en": "Points: {}.", "zh": "分值：{}。"}
CODE = '''#@title {title}
import importlib
import os
import sys
from pathlib import Path

os.environ["COURSE_LANGUAGE"] = "{language}"
os.environ["COURSE_LESSON"] = "{slug}"
{variant}
{find}
def _use(folder):
    """Let `import utils` mean the course's, whatever lies beside the notebook."""
    ours = folder / "utils" / "__init__.py"
    loaded = getattr(sys.modules.get("utils"), "__file__", None)
    if not loaded or Path(loaded).resolve() != ours.resolve():
        for name in [n for n in sys.modules if n.split(".")[0] == "utils"]:
            del sys.modules[name]
    sys.path[:] = [str(folder)] + [entry for entry in sys.path if entry != str(folder)]
    importlib.invalidate_caches()

'''
FIND_COURSE = """
def _find_course():
    for folder in (Path.cwd(), *Path.cwd().parents):
        try:
            text = (folder / "utils" / "__init__.py").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if "flashattention-course" in text:
            return folder
    return None

"""
FIND = """
_course = _find_course()
if _course is None:
    raise FileNotFoundError({not_found}.format(Path.cwd()))
_use(_course)
"""
WRITE = '''
def _write_course(folder, files):
    """Write the files, after a look that none of them would replace somebody else's."""
    for name, text in files.items():
        path = folder / name
        if path.exists() and (
            not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != text
        ):
            raise FileExistsError({foreign}.format(path))
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        part = folder / (name + ".part")
        part.write_text(text, encoding="utf-8", newline="\\n")
        os.replace(part, folder / name)
    return folder


_files = {{}}
{files}
_use({found}_write_course(Path.cwd() / "{folder}", _files))
'''
CHOOSE = """
from utils.device import choose_triton_mode

choose_triton_mode()
"""


def notice(
    course: Course, lesson: Lesson, language: str, folder: str, variant: str | None = None
) -> str:
    """Return the Markdown above the set-up cell; folder is "" when it holds no files."""
    paragraphs = [facts(course, lesson, language, alone=variant is not None), RUN_FIRST[language]]
    if folder:
        name, licence = course.title(language), course.licence[language]
        says = WRITES if variant is None else HAND_IN
        paragraphs.append(says[language].format(folder, name, licence))
    if folder and variant is None and (link := colab_link(course, lesson, language)):
        paragraphs.insert(0, f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({link})")
    return "\n\n".join(paragraphs)


def facts(course: Course, lesson: Lesson, language: str, *, alone: bool = False) -> str:
    """Return one line: minutes, device, and, unless alone, links to the lessons before."""
    parts = [MINUTES[language].format(lesson.minutes), DEVICE[language][lesson.device]]
    if lesson.needs and not alone:
        text, comma = NEEDS[language]
        parts.append(text.format(comma.join(course.links(lesson.needs, language))))
    return " · ".join(parts)


def colab_link(course: Course, lesson: Lesson, language: str) -> str:
    """Return the address in Colab of a committed notebook that holds its files, or nothing."""
    if not course.repository or lesson.device == "cpu":
        return ""
    page = f"github/{course.repository}/blob/main/notebooks/{language}/{lesson.slug}.ipynb"
    return f"{COLAB}/{page}"


def setup_code(
    lesson: Lesson, language: str, folder: str, files: dict[str, str], variant: str | None = None
) -> str:
    """Return the first code cell; with files it can stand alone in an empty folder.

    An assignment (one with a variant, be it "") takes its own files, whatever lies around.
    """
    code = CODE.format(
        title=TITLE[language],
        language=language,
        slug=lesson.slug,
        variant="" if variant is None else f'os.environ["COURSE_VARIANT"] = "{variant}"\n',
        find=FIND_COURSE if variant is None else "",
    )
    if files:
        held = "\n".join(f'_files["{name}"] = {literal(text)}' for name, text in files.items())
        found = "_find_course() or " if variant is None else ""
        foreign = repr(FOREIGN[language])
        code += WRITE.format(foreign=foreign, files=held, folder=folder, found=found)
    else:
        code += FIND.format(not_found=repr(NOT_FOUND[language]))
    if lesson.device != "cpu":
        code += CHOOSE
    return code.rstrip("\n")


def literal(text: str) -> str:
    """Return a Python literal equal to text: readable as it stands, unless the quotes clash."""
    for quotes in ("'" * 3, '"' * 3):
        plain = f"r{quotes}{text}{quotes}"
        if quotes not in text and _value(plain) == text:
            return plain
    lines = "\n".join(f"    {line!r}" for line in text.splitlines(keepends=True))
    return f"(\n{lines or '    ' + repr(text)}\n)"


def _value(code: str) -> str | None:
    try:
        return ast.literal_eval(code)
    except (SyntaxError, ValueError):
        return None
