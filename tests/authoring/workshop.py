"""A small course to build: one lesson for the CPU, one that holds its files."""

from pathlib import Path

from authoring.read import stamp_of

COURSE = """
repository = "owner/course"
name.en = "A course"
name.zh = "课程"
licence.en = "code MIT."
licence.zh = "代码 MIT。"
"""
ENTRY = """
[[lesson]]
slug = "{slug}"
title.en = "Sums"
title.zh = "求和"
minutes = "5"
device = "{device}"
needs = []
"""
GLOSSARY = '[[term]]\nen = ["tile", "tiles"]\nzh = ["tile", "块"]\n'
UTILS = {
    "utils/__init__.py": 'COURSE = "flashattention-course"\n',
    "utils/language.py": 'import os\n\n\ndef language():\n    return os.environ["COURSE_LANGUAGE"]\n',
    "utils/device.py": 'def choose_triton_mode():\n    print("mode chosen")\n',
    "utils/sums/__init__.py": "",
    "utils/sums/total.py": (
        "r\"\"\"A docstring, and '''both''' kinds of \\quotes\\n, 中文.\"\"\"\n"
        "from utils.language import language\n\n\ndef check(f):\n    print(language(), f([1, 2]) == 3)\n"
    ),
    "utils/unused.py": "raise RuntimeError('nobody imports this')\n",
}


def pair(en: str, zh: str, tags_en: str = '"en"', tags_zh: str = '"zh"') -> str:
    """Return an English cell and its stamped Chinese cell."""
    return (
        f'# %% [markdown] tags=[{tags_en}]\nr"""\n{en}\n"""\n\n'
        f'# %% [markdown] tags=[{tags_zh}] en="{stamp_of(en)}"\nr"""\n{zh}\n"""\n\n'
    )


TITLE = pair("# 01 · Sums", "# 01 · 求和")
EXERCISE = '''# %% exercise="add"
def add(xs):
    """Return the sum."""
    ### BEGIN SOLUTION
    return sum(xs)  # the secret
    ### END SOLUTION

'''
CHECK = """# %% check="add" points=2
check(add)
### BEGIN HIDDEN TESTS
assert add([]) == 0  # a hidden test
### END HIDDEN TESTS

"""
SOURCE = """# %% source="utils/device.py"

"""
LESSON = (
    TITLE
    + pair("A tile of $x$ by `sum`.", "用 `sum` 求 $x$ 的一个 tile。")
    + '# %% [markdown]\nr"""\n$$x = 1$$\n"""\n\n'
    + "# %%\nfrom utils.sums.total import check\n\n"
    + EXERCISE
    + CHECK
    + SOURCE
    + "# %%\nprint(object())\nlen([1])\n"
)
CHECKS = """
from types import SimpleNamespace


class Check:
    result = None

    def __call__(self, attempt):
        assert attempt([1, 2]) == 3
        self.result = SimpleNamespace(state="passed")


add = Check()
"""
OVERLAY = '''# %% [markdown] after="add"
r"""
Now **multiply**.
"""

# %% exercise="multiply"
def multiply(xs):
    ### BEGIN SOLUTION
    return xs[0] * xs[1]  # a private answer
    ### END SOLUTION

# %% check="multiply" points=1
assert multiply([2, 3]) == 6

# %% hidden="add"
assert add([5]) == 5  # a private test
'''


class Workshop:
    """A course in a temporary folder."""

    def __init__(self, root: Path):
        self.root = root
        for name, text in UTILS.items():
            self.write(name, text)
        self.write("lessons_src/glossary.toml", GLOSSARY)
        self.lessons(("01_sums", "cpu"))
        self.lesson("01_sums", LESSON)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def lessons(self, *entries: tuple[str, str]) -> None:
        """Rewrite course.toml for these (slug, device)."""
        listed = "".join(ENTRY.format(slug=slug, device=device) for slug, device in entries)
        self.write("lessons_src/course.toml", COURSE + listed)

    def graded(self) -> None:
        """Make of 01_sums a lesson that can be an assignment, with a folder for an overlay."""
        self.write("utils/checks/__init__.py", "")
        self.write("utils/checks/sums.py", CHECKS)
        text = LESSON.replace("utils.sums.total import check", "utils.checks import sums as check")
        self.lesson("01_sums", text.replace("check(add)", "check.add(add)"))
        path = self.root / "lessons_src/course.toml"
        toml = path.read_text(encoding="utf-8")
        path.write_text(f'overlay = "private"\n{toml}', encoding="utf-8")

    def lesson(self, slug: str, text: str) -> Path:
        return self.write(f"lessons_src/{slug}.py", text)

    def notebooks(self) -> dict[str, bytes]:
        """Return everything that was built, by its path below the root."""
        found = [p for top in ("notebooks", "dist") for p in (self.root / top).rglob("*")]
        return {str(p.relative_to(self.root)): p.read_bytes() for p in found if p.is_file()}
