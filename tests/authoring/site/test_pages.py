"""What the site's pages are made of; tests/browser looks at the pages themselves."""

import re
from pathlib import Path

import nbformat
import pytest

from authoring.build import Plan, build
from authoring.course import LANGUAGES, read_course
from authoring.errors import SourceError
from authoring.site.pages import landing, page
from tests.authoring.workshop import Workshop

ROOT = Path(__file__).parents[3]


@pytest.fixture
def built(tmp_path):
    """Return a built course of one lesson for the CPU and one that holds its files."""
    workshop = Workshop(tmp_path / "course")
    workshop.lessons(("01_sums", "cpu"), ("02_sums", "gpu"))
    workshop.lesson("02_sums", workshop.root.joinpath("lessons_src/01_sums.py").read_text("utf-8"))
    workshop.write("README.md", "# A course\n\n[link]\n\nWhat it is about.\n\n## Start\n")
    workshop.write("README.zh-CN.md", "# 课程\n\n[link]\n\n讲的是什么。\n\n## 开始\n")
    build(workshop.root, Plan(run="none"), lambda line: None)
    return workshop


def cells_of(workshop, number: int, language: str = "en"):
    course = read_course(workshop.root)
    return page(course, course.lessons[number - 1], language).cells


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_solution_is_folded_below_what_the_learner_finds(built, language):
    cells = cells_of(built, 1, language)
    (number,) = [n for n, cell in enumerate(cells) if "the secret" in cell.source]
    assert cells[number].metadata.tags == ["hide-input"]
    assert cells[number].metadata.mystnb.code_prompt_show
    assert "your turn" in cells[number - 1].source and "secret" not in cells[number - 1].source
    assert not cells[number - 1].metadata


@pytest.mark.parametrize(("language", "words"), [("en", "A model answer"), ("zh", "参考答案")])
def test_a_written_answer_is_folded_too(language, words):
    course = read_course(ROOT)
    (lesson,) = course.pick(("04_online_softmax",))
    (cell,) = [c for c in page(course, lesson, language).cells if f"**{words}" in c.source]
    assert cell.source.startswith(f"<details><summary>{words}</summary>\n\n**")
    assert cell.source.endswith("\n\n</details>")


@pytest.mark.parametrize("number", [1, 2])
def test_the_page_asks_no_other_host_and_leaves_the_set_up_to_the_notebook(built, number):
    texts = [cell.source for cell in cells_of(built, number)]
    assert not any("![" in text or "_find_course" in text for text in texts)
    assert any(f'href="notebooks/0{number}_sums.ipynb" download' in text for text in texts)


def test_colab_opens_only_notebooks_that_hold_their_files(built):
    address = "https://colab.research.google.com/github/owner/course/blob/main/notebooks/en/"
    for number, offered in ((1, False), (2, True)):
        text = "\n".join(cell.source for cell in cells_of(built, number))
        assert (f'href="{address}0{number}_sums.ipynb"' in text) is offered


def test_colab_is_not_offered_without_a_repository(built):
    file = built.root / "lessons_src" / "course.toml"
    text = file.read_text(encoding="utf-8").replace('"owner/course"', '""')
    file.write_text(text, encoding="utf-8")
    assert "colab" not in "\n".join(cell.source for cell in cells_of(built, 2))


def picture(built, *words: str):
    """Let lesson 01's solution hold one picture for each of these alternative texts."""
    file = built.root / "notebooks" / "en" / "solutions" / "01_sums.ipynb"
    nb = nbformat.read(file, as_version=4)
    nb.cells[-2].outputs = [
        nbformat.v4.new_output(
            "display_data",
            {"image/png": "iVBORw0KGgo="},
            metadata={"image/png": {"alt": alt}} if alt else {},
        )
        for alt in words
    ]
    nbformat.write(nb, file)


def test_a_picture_keeps_its_words(built):
    picture(built, "Three boxes.")
    named = [cell.metadata.get("mystnb", {}).get("image") for cell in cells_of(built, 1)]
    assert {"alt": "Three boxes."} in named


@pytest.mark.parametrize("lesson", read_course(ROOT).lessons, ids=lambda lesson: lesson.slug)
def test_every_picture_says_in_the_notebooks_language_what_it_shows(lesson):
    for language in LANGUAGES:
        file = ROOT / "notebooks" / language / "solutions" / f"{lesson.slug}.ipynb"
        for cell in nbformat.read(file, as_version=4).cells:
            for out in cell.get("outputs", ()):
                if "image/png" in out.get("data", {}):
                    alt = out.metadata["image/png"]["alt"]
                    assert bool(re.search("[一-鿿]", alt)) is (language == "zh"), alt
                    assert len(alt) > {"en": 60, "zh": 20}[language], alt


@pytest.mark.parametrize("words", [("",), ("One.", "Two.")])
def test_a_picture_without_its_own_words_stops_the_site(built, words):
    picture(built, *words)
    with pytest.raises(SourceError, match="one picture, with alt="):
        cells_of(built, 1)


@pytest.mark.parametrize("text", [None, "<<<<<<< not JSON"])
def test_a_missing_or_broken_notebook_is_named(built, text):
    file = built.root / "notebooks" / "zh" / "solutions" / "01_sums.ipynb"
    file.unlink()
    if text:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match="run make notebooks"):
        cells_of(built, 1, "zh")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_landing_page_is_the_course_as_listed(language):
    course = read_course(ROOT)
    text = landing(course, language)
    for lesson in course.lessons:
        (row,) = re.findall(rf"^\| \[{lesson.slug[:2]} · .*$", text, re.MULTILINE)
        assert lesson.link(language) in row and f"| {lesson.minutes} |" in row
        assert all(f"({slug}.ipynb)" in row for slug in lesson.needs)


@pytest.mark.parametrize(("language", "words"), [("en", "What it is"), ("zh", "讲的是什么")])
def test_the_landing_page_says_what_the_readme_says(built, language, words):
    assert words in landing(read_course(built.root), language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("lesson", read_course(ROOT).lessons, ids=lambda lesson: lesson.slug)
def test_no_line_of_code_scrolls_in_a_window_of_1280_pixels(lesson, language):
    code = [c.source for c in page(read_course(ROOT), lesson, language).cells if "outputs" in c]
    assert [line for text in code for line in text.split("\n") if len(line) > 100] == []
