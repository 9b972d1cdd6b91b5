"""The first code cell finds the course, or brings it along, whatever lies beside the notebook."""

import ast
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from authoring.build import Plan, build, build_colab
from authoring.setup_cell import literal
from tests.authoring.workshop import LESSON

ALONE = "import importlib.util, os; assert importlib.util.find_spec('utils') is None\n"


@pytest.fixture
def gpu(workshop):
    """Two lessons that hold their files; the second imports fewer of them."""
    workshop.lessons(("01_sums", "gpu"), ("02_less", "both"))
    workshop.lesson(
        "02_less", LESSON.replace("from utils.sums.total import check", "check = print")
    )
    build(workshop.root, Plan(run="none"))
    return workshop


def script(path: Path) -> str:
    """Return a notebook's code as one program."""
    nb = nbformat.read(path, as_version=4)
    return "\n".join(cell.source for cell in nb.cells if cell.cell_type == "code")


def run(code: str, folder: Path) -> subprocess.CompletedProcess:
    """Run code in a folder, as a notebook's kernel does: that folder comes first on sys.path.

    The system's encoding is ASCII there: files must be read and written as UTF-8 all the same.
    """
    command = [sys.executable, "-c", "import sys; exec(sys.stdin.read())"]
    environment = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "0", "LC_ALL": "C"}
    environment |= {"PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        input=code,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )


def held(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.fixture
def empty(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_works_alone_in_an_empty_folder(gpu, empty, language):
    code = script(gpu.root / "notebooks" / language / "solutions/01_sums.ipynb")
    for _ in range(2):  # the second run finds its own files
        done = run(ALONE + code, empty)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"mode chosen\n{language} True\n")
    names = [name.split("/", 1)[1] for name in held(empty)]
    total = ["utils/sums/__init__.py", "utils/sums/total.py"]
    assert names == ["utils/__init__.py", "utils/device.py", "utils/language.py", *total]
    folder = next(empty.iterdir())
    assert folder.name.startswith("flashattention_course_")
    for name in names:
        assert (folder / name).read_bytes() == (gpu.root / name).read_bytes()


def test_the_unsolved_notebook_runs_alone_too(gpu, empty):
    done = run(ALONE + script(gpu.root / "notebooks/en/01_sums.ipynb"), empty)
    assert done.returncode == 0, done.stderr
    assert "en False" in done.stdout


def test_two_lessons_in_one_folder_keep_apart(gpu, empty):
    for slug in ("01_sums", "02_less", "01_sums"):
        done = run(ALONE + script(gpu.root / f"notebooks/en/{slug}.ipynb"), empty)
        assert done.returncode == 0, done.stderr
    assert len(list(empty.iterdir())) == 2


def test_a_foreign_utils_beside_it_is_passed_over(gpu, empty):
    (empty / "utils.py").write_text("raise RuntimeError('foreign')\n", encoding="utf-8")
    done = run(script(gpu.root / "notebooks/en/01_sums.ipynb"), empty)
    assert done.returncode == 0, done.stderr


def test_a_foreign_utils_already_imported_is_dropped(gpu, empty):
    (empty / "utils").mkdir()
    (empty / "utils" / "__init__.py").write_text("x = 1\n", encoding="utf-8")
    (empty / "utils" / "sums.py").write_text("x = 1\n", encoding="utf-8")
    code = "import utils.sums\n" + script(gpu.root / "notebooks/en/01_sums.ipynb")
    done = run(code, empty)
    assert done.returncode == 0, done.stderr
    assert (empty / "utils" / "sums.py").read_text(encoding="utf-8") == "x = 1\n"


def test_running_it_again_keeps_the_courses_modules(gpu, empty):
    first = nbformat.read(gpu.root / "notebooks/en/01_sums.ipynb", as_version=4).cells[2].source
    code = f"{first}\nimport utils.language as before\n{first}\nimport utils.language as after\n"
    done = run(code + "assert before is after and sys.path.count(sys.path[0]) == 1", empty)
    assert done.returncode == 0, done.stderr


def test_a_foreign_file_in_its_folder_is_not_overwritten(gpu, empty):
    code = script(gpu.root / "notebooks/en/01_sums.ipynb")
    run(code, empty)
    file = next(empty.iterdir()) / "utils" / "device.py"
    (file.parent / "language.py").unlink()
    file.write_text("mine = 1\n", encoding="utf-8")
    done = run(code, empty)
    assert "FileExistsError" in done.stderr and "utils/device.py is not the course's" in done.stderr
    assert file.read_text(encoding="utf-8") == "mine = 1\n"
    assert not (file.parent / "language.py").exists()  # it looks before it writes anything


def test_inside_the_repository_it_writes_nothing(gpu):
    folder = gpu.root / "notebooks" / "en"
    before = held(gpu.root)
    done = run(script(folder / "01_sums.ipynb"), folder)
    assert done.returncode == 0, done.stderr
    assert held(gpu.root) == before


def test_without_files_it_says_in_one_sentence_what_to_do(workshop, empty):
    build(workshop.root, Plan(run="none"))
    for language, said in (
        ("en", "inside a copy of the whole repository"),
        ("zh", "完整的课程仓库"),
    ):
        nb = nbformat.read(workshop.root / f"notebooks/{language}/01_sums.ipynb", as_version=4)
        done = run(nb.cells[2].source, empty)
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith("FileNotFoundError: ") and said in last
        assert held(empty) == []
        assert "holds those files" not in nb.cells[1].source


def test_the_notice_names_the_folder_that_is_really_written(gpu, empty):
    nb = nbformat.read(gpu.root / "notebooks/en/01_sums.ipynb", as_version=4)
    run(script(gpu.root / "notebooks/en/01_sums.ipynb"), empty)
    assert f"`{next(empty.iterdir()).name}/`" in nb.cells[1].source


def test_the_badge_stands_where_files_are_held_and_the_repository_is_known(gpu):
    badge = "(https://colab.research.google.com/github/owner/course/blob/main/notebooks/zh/01_sums.ipynb)"
    path = gpu.root / "notebooks/zh/01_sums.ipynb"
    assert badge in nbformat.read(path, as_version=4).cells[1].source.split("\n")[0]
    course = gpu.root / "lessons_src/course.toml"
    text = course.read_text(encoding="utf-8")
    for old, new in (('"owner/course"', '""'), ('"gpu"', '"cpu"')):
        course.write_text(text.replace(old, new), encoding="utf-8")
        build(gpu.root, Plan(("01_sums",), run="none"))
        assert "colab" not in nbformat.read(path, as_version=4).cells[1].source


def test_the_colab_edition_of_a_cpu_lesson_runs_alone(workshop, empty):
    build_colab(workshop.root, Plan())
    nb = nbformat.read(workshop.root / "dist/colab/zh/01_sums.ipynb", as_version=4)
    assert "colab.research" not in nb.cells[1].source  # the repository has no such file
    done = run(ALONE + script(workshop.root / "dist/colab/zh/01_sums.ipynb"), empty)
    assert done.returncode == 0, done.stderr
    assert "mode chosen" not in done.stdout and "zh False" in done.stdout


@given(st.text(alphabet=st.sampled_from("a'\"\\\n\t\r{}中 ")))
def test_any_text_survives_as_a_literal(text):
    assert ast.literal_eval(literal(text)) == text


def test_an_ordinary_file_stays_readable():
    text = 'def f():\n    """Docstring."""\n    return "\\n"\n'
    assert text in literal(text)
