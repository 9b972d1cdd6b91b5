"""The files beside the lessons say the same as the lessons and as each other."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def requirements(lines: list[str]) -> set[str]:
    return {line.replace(" ", "") for line in lines}


def test_environment_yml_holds_the_learners_needs_and_nothing_else():
    wanted = requirements(tomllib.loads(read("pyproject.toml"))["project"]["dependencies"])
    listed = re.findall(r"^ +- (\w[\w.-]*>=.*)$", read("environment.yml"), re.MULTILINE)
    assert requirements(listed) - {"python>=3.11"} == wanted


def test_every_requirement_has_one_tested_version():
    project = tomllib.loads(read("pyproject.toml"))["project"]
    needed = [*project["dependencies"], *sum(project["optional-dependencies"].values(), [])]
    names = {re.match(r"[\w-]+", line)[0].replace("-", "_").lower() for line in needed}
    pinned = re.findall(r"^([\w.-]+)==", read("constraints.txt"), re.MULTILINE)
    assert names <= {name.replace("-", "_").lower() for name in pinned}


@pytest.mark.parametrize(("readme", "language"), [("README.md", "en"), ("README.zh-CN.md", "zh")])
def test_the_readme_lists_every_lesson(readme, language):
    lessons = tomllib.loads(read("lessons_src/course.toml"))["lesson"]
    for lesson in lessons:
        number, title = lesson["slug"].split("_")[0], lesson["title"][language]
        link = f"[{number} · {title}](notebooks/{language}/{lesson['slug']}.ipynb)"
        assert link in read(readme), link
        assert f"| {lesson['minutes']} |" in read(readme)


def test_utils_needs_only_numpy():
    code = (
        "import sys\n"
        "for name in ('torch', 'triton', 'matplotlib', 'ipywidgets', 'IPython'):\n"
        "    sys.modules[name] = None\n"
        "import utils, utils.tiles, utils.attention, utils.checks.core, utils.device\n"
        "print(utils.device.describe())\n"
    )
    run = subprocess.run(
        ["python", "-c", code], cwd=ROOT, capture_output=True, text=True, encoding="utf-8"
    )
    assert run.returncode == 0, run.stderr


def test_every_text_file_is_opened_as_utf8():
    for path in [*ROOT.glob("utils/**/*.py"), *ROOT.glob("authoring/**/*.py")]:
        for line in path.read_text(encoding="utf-8").splitlines():
            if re.search(r"(?<![\w.])open\(|read_text\(|write_text\(", line):
                assert "encoding" in line or line.rstrip().endswith("("), f"{path}: {line}"
