"""Each kind of broken source stops the build with file, line and reason, and writes nothing."""

import re

import pytest

from authoring.__main__ import main
from authoring.build import Plan, build
from authoring.errors import SourceError
from tests.authoring.workshop import CHECK, EXERCISE, LESSON, SOURCE, TITLE, pair

EN, ZH = "A tile of $x$ by `sum`.", "用 `sum` 求 $x$ 的一个 tile。"
BODY = pair(EN, ZH)
EN_CELL, ZH_CELL = BODY[: BODY.index('# %% [markdown] tags=["zh"]')], BODY[BODY.index("# %%", 9) :]
MARKDOWN = "# %% [markdown]\n"
FIRST_CODE = "# %%\nfrom utils.sums.total import check\n"


def case(name, old, new, down, reason):
    """Replace old by new in the good lesson; the error stands `down` lines below that place."""
    assert old in LESSON
    line = LESSON[: LESSON.index(old)].count("\n") + 1 + down
    return pytest.param(LESSON.replace(old, new, 1), line, reason, id=name)


def texts(name, en, zh, reason, down=0):
    """Put in this pair; the error stands at the Chinese header, or `down` lines below it."""
    return case(name, BODY, pair(en, zh), 5 + en.count("\n") + down, reason)


def chinese(name, zh, reason):
    """Put in a pair that differs in nothing else: the error stands at the Chinese line."""
    return texts(name, "Words.", zh, reason, 2 + zh.count("\n"))


CASES = [
    case("text before the first cell", TITLE, "import os\n" + TITLE, 0, "must start with"),
    case("header", EXERCISE, EXERCISE.replace("%% ", "%% my "), 0, "cannot read this cell header"),
    case("header list", ZH_CELL, ZH_CELL.replace("]", "", 2), 0, "cannot read this cell header"),
    case("header in a text", "$$x = 1$$", "# %%\n$$x$$", -2, "between the lines"),
    case("text not closed", ZH_CELL, ZH_CELL.replace('\n"""', ""), 0, "between the lines"),
    case("unknown key", "points=2", "points=2 level=1", 0, "unknown key 'level'"),
    case(
        "key of another kind", ZH_CELL, ZH_CELL.replace("en=", "check="), 0, "unknown key 'check'"
    ),
    case("misspelt tag", ZH_CELL, ZH_CELL.replace('"zh"', '"zn"'), 0, "unknown tag 'zn'"),
    case(
        "tag on code", FIRST_CODE, FIRST_CODE.replace("%%", '%% tags=["zh"]'), 0, "code is the same"
    ),
    case("two languages", EN_CELL, EN_CELL.replace('"en"', '"en", "zh"'), 0, "exclude each other"),
    case("stamp on English", EN_CELL, EN_CELL.replace("]\nr", '] en="1"\nr'), 0, "only a Chinese"),
    case("no tag", EN_CELL, EN_CELL.replace(' tags=["en"]', ""), 0, "no language tag"),
    case("untranslated", ZH_CELL, "", -5, "untranslated: no Chinese cell"),
    case("Chinese alone", EN_CELL, "", 0, "does not follow an English"),
    case("title", TITLE, pair("# 01 · Sums", "# 01 · 和"), 5, "does not end with the title"),
    case("code first", TITLE, FIRST_CODE + "\n", 0, "first cell must be the English title"),
    case("editions differ", EN_CELL, EN_CELL.replace('"en"', '"en", "learner"'), 5, "tags of this"),
    case("no check", CHECK, "", -7, "exercise 'add' has no check"),
    case("no exercise", EXERCISE, "", 0, "no such exercise stands above"),
    case("no region", EXERCISE, '# %% exercise="add"\nadd = sum\n\n', 0, "has no solution region"),
    case("exercise twice", EXERCISE, EXERCISE * 2, 7, "a second exercise='add'"),
    case("check twice", CHECK, CHECK * 2, 6, "a second check='add'"),
    case("points", "points=2", 'points="2"', 0, "points='2' is not a whole number"),
    case("no points", " points=2", "", 0, "points only if it is a check"),
    case(
        "points at an exercise",
        EXERCISE,
        EXERCISE.replace('"\n', '" points=1\n', 1),
        0,
        "points only",
    ),
    case("name", EXERCISE, EXERCISE.replace('"add"', '"Add it"'), 0, "not a lower-case name"),
    case("region not closed", "    ### END SOLUTION\n", "", -2, "SOLUTION region is never closed"),
    case(
        "region in region",
        "    return sum",
        "    ### BEGIN SOLUTION\n    return sum",
        0,
        "does not fit",
    ),
    case(
        "region closed twice",
        "    ### END SOLUTION\n",
        "    ### END SOLUTION\n" * 2,
        1,
        "does not fit",
    ),
    case(
        "misspelt delimiter", "### BEGIN SOLUTION", "### Begin solution", 0, "exact delimiter lines"
    ),
    case(
        "delimiter in code",
        "### END SOLUTION",
        "pass  ### END SOLUTION",
        0,
        "exact delimiter lines",
    ),
    case(
        "solution in a check",
        "### BEGIN HIDDEN TESTS",
        "### BEGIN SOLUTION",
        0,
        "outside of a cell",
    ),
    case(
        "delimiter in a text", ZH, ZH + "\n### END SOLUTION", 1, "outside of a cell with exercise"
    ),
    case("no such file", "utils/device.py", "utils/nowhere.py", 0, "there is no such file"),
    case("file outside", "utils/device.py", "../../../etc/passwd", 0, "there is no such file"),
    case("source with text", SOURCE, SOURCE.rstrip() + "\nx = 1\n\n", 0, "must be empty"),
    case("no such module", "utils.sums.total", "utils.nowhere.total", 0, "no utils/nowhere.py"),
    case("no such thing", "utils.sums.total", "utils.sums", 0, "no utils/sums/check.py"),
    case(
        "syntax",
        "print(object())",
        "a = 1\nfrom from utils",
        1,
        "invalid syntax: 'from from utils'",
    ),
    case("solution fails", "len([1])", "len([1]) / 0", -2, "ZeroDivisionError: division by zero"),
    case(
        "stale", ZH_CELL, re.sub('en=".*"', 'en="12345678"', ZH_CELL), 0, "English text has changed"
    ),
    case("no stamp", ZH_CELL, re.sub(' en=".*"', "", ZH_CELL), 0, "English text has changed"),
    texts("English twice", "Four words of prose.", "Four words of prose.", "has no Chinese text"),
    texts("Chinese in English", "这是 words.", "这是文字。", "Chinese text in an English cell", -5),
    texts("glossary", "Some tiles.", "一些矩阵。", "'tiles' is in the English text, but none of"),
    texts("formula", "Now $x$, $y$.", "现在 $x$，$x$。", "formula: only in English ['$y$']"),
    texts("inline code", "Now `x`.", "现在 `y`。", "inline code: only in English ['x']"),
    texts("code block", "Now\n```\nx\n```", "现在\n```\ny\n```", "code block: only in English"),
    texts("link", "[a](b.ipynb)", "[甲](c.ipynb)", "link: only in English ['b.ipynb']"),
    texts("HTML", "<details>\na\n</details>", "甲", "HTML tag: only in English ['details', 'det"),
    texts("heading", "## Sum", "### 和", "heading levels differ: English [2], Chinese [3]"),
    texts("list", "- a\n- b", "- 甲", "list items differ: English 2, Chinese 1"),
    texts("table", "|a|\n|-|\n|b|", "|甲|\n|-|", "table rows differ: English 3, Chinese 2"),
    chinese("no space before Latin", "一行\n\n用tile", "no space between Chinese and Latin"),
    chinese("no space after a digit", "第 1课", "no space between Chinese and Latin"),
    chinese("no space in bold", "这是**Q** 的", "no space between Chinese and Latin"),
    chinese("half-width comma", "一,二", "half-width punctuation"),
    chinese("half-width comma and space", "Q, 二", "half-width punctuation"),
    chinese("half-width stop", "一二.", "half-width full stop"),
    chinese("half-width brackets", "一 (二)", "half-width brackets"),
    chinese("half-width quotes", '一 "二"', "half-width quotation marks"),
    chinese("bold ends", "**注意：**一二", "bold ends with punctuation"),
    chinese("bold ends before a space", "**注意。** 一二", "bold ends with punctuation"),
    chinese("bold begins", "一**“二”三**四", "bold begins with punctuation"),
    chinese("bold not closed", "一 **二", "an odd number of"),
    chinese("polite", "您好", "您"),
    chinese("broken line", "一二，\n三四。", "line break inside a Chinese paragraph"),
]


@pytest.mark.parametrize(("text", "line", "reason"), CASES)
def test_a_broken_lesson_stops_with_file_line_and_reason(workshop, text, line, reason):
    source = workshop.lesson("01_sums", text)
    with pytest.raises((SourceError, ExceptionGroup)) as caught:
        build(workshop.root, Plan(languages=("en",)))
    errors = getattr(caught.value, "exceptions", [caught.value])
    said = [str(error) for error in errors]
    assert any(s.startswith(f"{source}:{line}: ") and reason in s for s in said), said
    assert len(said) == 1, said
    assert workshop.notebooks() == {}


COURSE_CASES = [
    ('"cpu"', '"tpu"', 7, "device 'tpu' is none of"),
    ("01_sums", "02_sums", 9, "02_sums.py does not exist"),
    ("needs = []", 'needs = ["05_late"]', 9, "needs '05_late', and there is no such lesson"),
    ('minutes = "5"', 'seconds = "5"', 9, "missing or unknown key: minutes, seconds"),
    ("title.zh", "title.fr", 9, "needs a title in en and zh"),
    ('repository = "owner/course"', "", 1, "the key 'repository' is missing"),
    ('slug = "', "slug = ", 1, "at line 9"),
]


@pytest.mark.parametrize(("old", "new", "line", "reason"), COURSE_CASES)
def test_a_broken_table_of_lessons_stops(workshop, old, new, line, reason):
    path = workshop.root / "lessons_src" / "course.toml"
    text = path.read_text(encoding="utf-8").replace(old, new, 1)
    workshop.write("lessons_src/course.toml", text)
    with pytest.raises(SourceError, match=re.escape(reason)) as caught:
        build(workshop.root, Plan())
    assert (caught.value.file, workshop.notebooks()) == (path, {})
    slug = [n for n, t in enumerate(text.splitlines(), 1) if t.startswith("slug")]
    assert caught.value.line == (1 if line == 1 else slug[0])


def test_a_delimiter_in_a_held_file_is_named(workshop):
    workshop.write("utils/sums/total.py", "x = 1\n### BEGIN SOLUTION\ncheck = len\n")
    with pytest.raises(SourceError, match=r"total\.py:2: an exercise delimiter"):
        build(workshop.root, Plan())


def test_a_broken_glossary_is_named(workshop):
    workshop.write("lessons_src/glossary.toml", "[term\n")
    with pytest.raises(SourceError, match=r"glossary\.toml:1: cannot read the glossary"):
        build(workshop.root, Plan())


def test_the_command_prints_every_finding_and_returns_1(workshop, capsys):
    text = LESSON.replace(BODY, pair("Some $x$.", "一些tile"))
    workshop.lesson("01_sums", text)
    assert main(["--root", str(workshop.root), "build"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("lessons_src/01_sums.py:16: formula: only in English ['$x$']")
    assert lines[1].startswith("lessons_src/01_sums.py:18: no space between Chinese and Latin")


def test_good_chinese_passes(workshop):
    good = (
        "**注意**：用 `f(x)` 算 $x$，得到 **Q** 与 **`k`**；见 [第 01 课](b.ipynb)（约 50%）。**几个？**（5 个）\n\n"
        "1. 第一，“引文”\n2. `a`、`b`\n\n$$\nx = 1, y\n$$\n\n<details><summary>提示</summary>\n\n好。\n\n</details>"
    )
    plain = (
        "Use `f(x)`, $x$, **Q**, **`k`**; see [lesson 01](b.ipynb). **How many?**\n\n"
        "1. one\n2. `a`, `b`\n\n$$\nx = 1, y\n$$\n\n<details><summary>Clue</summary>\n\nGood.\n\n</details>"
    )
    workshop.lesson("01_sums", LESSON.replace(BODY, pair(plain, good)))
    build(workshop.root, Plan(run="none"))
    assert len(workshop.notebooks()) == 4


def test_chinese_in_a_formula_is_named(workshop):
    source = workshop.lesson("01_sums", LESSON.replace(BODY, pair("A $x$.", r"一个 $\text{和}$。")))
    with pytest.raises(ExceptionGroup) as caught:
        build(workshop.root, Plan())
    said = [str(error) for error in caught.value.exceptions]
    assert any(s.startswith(f"{source}:18: Chinese inside a formula: ") for s in said), said
