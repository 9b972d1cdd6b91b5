"""The teacher's guide: two languages of one shape, links that lead somewhere, no invented names."""

import importlib.util
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from authoring.lint import chinese
from utils.checks.online_softmax import plain_softmax
from utils.measurements import h200_forward

ROOT = Path(__file__).parents[2]
TEACH = ROOT / "docs" / "teach"
FILES = sorted(str(path.relative_to(TEACH / "en")) for path in (TEACH / "en").rglob("*.md"))
LESSONS = tomllib.loads((ROOT / "lessons_src/course.toml").read_text(encoding="utf-8"))["lesson"]
SLUGS = [lesson["slug"] for lesson in LESSONS]
LANGUAGES = ("en", "zh")


def read(language: str, name: str) -> str:
    return (TEACH / language / name).read_text(encoding="utf-8")


def prose(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def shape(text: str) -> list[str]:
    """Return what both languages must share: headings, items, table rows, fences, in order."""
    kinds = (r"#+(?= )", r"- (?=\S)", r"\d+\.(?= )", r"\|(?=.*\|$)", r"```\w*", r"\*\*\d[\d.]*")
    found = [re.match("|".join(kinds), line) for line in text.splitlines()]
    return [line[0] for line in found if line]


def targets(text: str) -> list[str]:
    return re.findall(r"\]\(([^)]+)\)", prose(text))


def codes(text: str) -> list[str]:
    return sorted(
        re.sub(r" LANGUAGE=..|(?<=dist/slides/)..", "", code)
        for code in re.findall(r"`([^`\n]+)`", prose(text))
    )


def other_language(target: str) -> str:
    return target.replace("notebooks/en/", "notebooks/zh/").replace("../zh/README", "../en/README")


def test_both_languages_have_the_same_files():
    chinese = sorted(str(path.relative_to(TEACH / "zh")) for path in (TEACH / "zh").rglob("*.md"))
    assert chinese == FILES


@pytest.mark.parametrize("name", FILES)
def test_both_languages_have_one_shape(name):
    english, chinese = read("en", name), read("zh", name)
    assert shape(chinese) == shape(english)
    assert codes(chinese) == codes(english)
    same = [other_language(target).split("#")[0] for target in targets(english)]
    assert [target.split("#")[0] for target in targets(chinese)] == same


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_command_and_its_settings_exist(language):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = "".join(read(language, name) for name in FILES)
    commands = re.findall(r"(?:^|`)make ([a-z-]+)([^`#\n]*)", text, re.MULTILINE)
    assert {target for target, _ in commands} >= {"assignment", "colab", "grade", "lab", "slides"}
    for target, _ in commands:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    settings = "".join(rest for _, rest in commands) + "".join(re.findall(r"`[A-Z_]+=\S*`", text))
    for name in re.findall(r"\b([A-Z_]+)=", settings):
        assert f"$({name})" in makefile, name


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", FILES)
def test_every_link_leads_to_a_file_or_a_heading(language, name):
    text, here = read(language, name), (TEACH / language / name).parent
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w-]", "", line.lower().replace(" ", "-")) for line in headings}
    for target in targets(text):
        path, _, anchor = target.partition("#")
        assert not target.startswith("http") and (here / path).exists(), target
        assert not anchor or anchor in anchors, target


@pytest.mark.parametrize("name", FILES)
def test_the_chinese_keeps_the_rules_of_the_lessons(name):
    assert list(chinese(read("zh", name))) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_lesson_has_a_page_that_the_index_names(language):
    index, syllabi = read(language, "README.md"), read(language, "syllabi.md")
    for lesson in LESSONS:
        page = read(language, f"lessons/{lesson['slug']}.md")
        title = f"{lesson['slug'][:2]} · {lesson['title'][language]}"
        assert page.startswith(f"# {title}\n")
        assert f"[{title}](lessons/{lesson['slug']}.md)" in index
        assert lesson["slug"][:2] in syllabi
        assert re.search(rf"\b{lesson['minutes']} (minutes|分钟)", page), lesson["minutes"]


def wrong_answers(slug: str) -> dict:
    path = ROOT / "tests" / "mutants" / f"{slug[3:]}.py"
    spec = importlib.util.spec_from_file_location(f"guide_{slug}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.WRONG


@pytest.mark.parametrize("slug", SLUGS)
def test_misconceptions_are_those_that_the_checks_name(slug):
    """Every name in the table exists, and every exercise with named mistakes has one there."""
    table = read("en", f"lessons/{slug}.md").split("## Misconceptions")[1].split("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", table))
    by_exercise = {name: set(keys) - {""} for name, keys in wrong_answers(slug).items()}
    known = set().union(*by_exercise.values())
    exercises = {name for name, keys in by_exercise.items() if keys}
    assert named - known - set(by_exercise) - {"acc", "axis", "for", "max"} == set()
    assert {name for name in exercises if not by_exercise[name] & named} == set()
    assert len(named & known) >= 0.75 * len(known)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_lecture_takes_ninety_minutes_without_a_gap(language):
    rows = re.findall(r"^\| (\d+)–(\d+) \|", read(language, "lecture_90.md"), re.MULTILINE)
    starts, stops = zip(*((int(a), int(b)) for a, b in rows), strict=True)
    assert (starts[0], stops[-1]) == (0, 90) and starts[1:] == stops[:-1]
    plan = read(language, "syllabi.md").split("\n## ")[1]
    assert sum(map(int, re.findall(r"^\| (\d+) \|", plan, re.MULTILINE))) == 90


@pytest.mark.parametrize("language", LANGUAGES)
def test_twenty_common_questions(language):
    numbers = re.findall(r"^## (\d+) · ", read(language, "questions.md"), re.MULTILINE)
    assert numbers == [str(n) for n in range(1, 21)]


FIGURE = re.compile(r"(?<![\d.,])(?:\d+(?:,\d{3})+|\d+\.\d+)")


def notebook_texts() -> str:
    folders = [ROOT / "notebooks" / "en" / "solutions", ROOT / "lessons_src"]
    return "".join(p.read_text(encoding="utf-8") for f in folders for p in sorted(f.iterdir()) if p.is_file())  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_figure_of_the_guide_is_invented(language):
    """Figures with a decimal point or in the thousands: a lesson prints them, or a test knows them."""
    memory = [f"{row['bytes']:,}" for row in h200_forward.MEMORY]
    by_hand = [f"{x:.3f}" for x in np.cumsum(np.exp([1, 2, 3, 5]))]  # the board of lesson 04
    weights = [f"{x:.4f}" for x in plain_softmax(np.array([1, 2, 3, 5]))]  # of lesson 03; e⁻¹
    known = {
        *FIGURE.findall(notebook_texts()),
        *memory,
        *by_hand,
        *weights,
        "0.3679",
        f"{2 * 1024**2:,}",
    }
    planned = {name for name in FILES if "lessons/" in name and name[8:-3] not in SLUGS}
    for name in set(FILES) - planned:
        if not name.startswith(("sheets", "exam", "running")):  # computed in other tests, measured
            text = re.sub(r"\b0\d\.\d+", "", read(language, name))  # names of questions
            assert [x for x in FIGURE.findall(text) if x not in known] == [], name
