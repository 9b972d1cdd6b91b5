"""Slide cells: what they may hold, where they go, and what is put into them."""

import nbformat
import pytest

from authoring.build import Plan, build, load, prepare
from authoring.course import LANGUAGES, read_course
from authoring.errors import SourceError
from authoring.slides import deck
from authoring.slides_cells import faults, split
from authoring.slides_pictures import file_name
from tests.authoring.workshop import TITLE, pair
from tests.test_house import ROOT

KEY_PICTURES = ("01_block_matrix", "04_online_softmax", "05_state_merging")
KEY_PICTURES += ("06_flash_attention_numpy", "07_causal_tiles")


def slide(en, zh):
    return pair(en, zh, '"en", "slide"', '"zh", "slide"')


ASK = slide("## How much?\n\n**Predict.**", "## 多少？\n\n**先猜后算**。")
NOTE = pair("Said aloud about $x$.", "关于 $x$，口头说。")
AFTER = pair("Said about the answer.", "口头说答案。")
CODE = "# %%\nprint('no <tag>')\n\n# %%\n1 + 2\n\n"


def lesson_with(place):
    tell = slide(f"## Three\n\n{place}", f"## 三\n\n{place}")
    return TITLE + ASK + NOTE + tell + CODE + AFTER


LESSON = lesson_with("{output 2}")


def sections(workshop, text, language="en"):
    workshop.lesson("01_sums", text)
    course = read_course(workshop.root)
    lesson = course.pick()[0]
    cells = load(workshop.root, lesson)
    return course, lesson, cells, split(course, lesson, cells, language)


def html_of(workshop, text, language="en"):
    workshop.lesson("01_sums", text)
    build(workshop.root, Plan(languages=(language,)), lambda line: None)
    course, lesson, _, parts = sections(workshop, text, language)
    return deck(course, lesson, language, parts)


def fault(workshop, text):
    _, _, cells, parts = sections(workshop, TITLE + text)
    (error,) = faults(parts[1], cells)
    return str(error)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_notebook_holds_a_slide(workshop, language):
    workshop.lesson("01_sums", LESSON)
    build(workshop.root, Plan(run="none"), lambda line: None)
    for folder in ("", "solutions/"):
        path = workshop.root / f"notebooks/{language}/{folder}01_sums.ipynb"
        texts = [cell.source for cell in nbformat.read(path, as_version=4).cells]
        assert not [text for text in texts if text.startswith("##") or "{output" in text]


def test_a_slide_starts_a_section_and_prose_is_its_note(workshop):
    _, _, _, (title, ask, tell) = sections(workshop, LESSON)
    assert title.text.startswith("# 01 · Sums\n\nA course") and "code MIT." in title.text
    assert title.notes == ["# 01 · Sums"]
    assert ask.text.startswith("## How much?") and ask.notes == ["Said aloud about $x$."]
    assert ask.code == {} and tell.notes == ["Said about the answer."]
    assert [cell.text for cell in tell.code.values()] == ["print('no <tag>')", "1 + 2"]


def test_each_language_has_its_own_deck(workshop):
    _, _, _, parts = sections(workshop, LESSON, "zh")
    assert [part.text.split("\n")[0] for part in parts] == ["# 01 · 求和", "## 多少？", "## 三"]
    assert parts[1].notes == ["关于 $x$，口头说。"]


def test_outputs_are_the_solutions_and_notes_stand_beside_the_slide(workshop):
    html = html_of(workshop, lesson_with("{output}\n\n{output 2}"))
    assert '<pre class="output">no &lt;tag&gt;</pre>' in html
    assert '<pre class="output">3</pre>' in html
    assert html.count('<div class="face">') == html.count('<aside class="notes">') == 3
    assert html.index("Three") < html.index("Said about the answer")


def test_nothing_in_a_deck_has_an_address_in_the_network(workshop):
    html = html_of(workshop, LESSON)
    assert "http://" not in html and "https://" not in html


def test_a_deck_needs_the_notebooks(workshop):
    course, lesson, _, parts = sections(workshop, LESSON)
    with pytest.raises(SourceError, match="has not been built"):
        deck(course, lesson, "en", parts)


def test_a_wide_output_gets_smaller_type(workshop):
    code = "print('x' * 70)\n\n# %%\nprint('y' * 80)"
    html = html_of(workshop, lesson_with("{output 2}\n\n{output 3}").replace("1 + 2", code))
    assert '<pre class="output wide">xxx' in html and '<pre class="output widest">yyy' in html


def test_a_chinese_character_counts_as_two_columns_of_an_output(workshop):
    html = html_of(workshop, lesson_with("{output 2}").replace("1 + 2", "print('字' * 35)"))
    assert '<pre class="output wide">字' in html


def test_an_output_that_is_not_there_is_an_error(workshop):
    with pytest.raises(SourceError, match=r"\{output 3\}.*print 2"):
        html_of(workshop, lesson_with("{output 3}"))


def test_code_that_has_changed_since_the_notebooks_is_an_error(workshop):
    html_of(workshop, LESSON)
    course, lesson, _, parts = sections(workshop, LESSON.replace("1 + 2", "1 + 3"))
    with pytest.raises(SourceError, match="changed since the notebooks were built"):
        deck(course, lesson, "en", parts)


@pytest.mark.parametrize(
    ("en", "reason"),
    [
        ("No heading", "begins with `## `"),
        ("## A\n\n" + "word " * 60, "more than 60 words"),
        ("## A\n\n```python\nprint(4)\n```", "no such line of code: 'print(4)'"),
        ("## A\n\n{picture}", "the lesson shows none"),
    ],
)
def test_what_a_slide_must_not_be(workshop, en, reason):
    zh = "## 一" + en[4:] if "```" in en or "{" in en else "## 一\n\n一" if "##" in en else "一"
    assert reason in fault(workshop, slide(en, zh))


def test_a_chinese_slide_is_short_too(workshop):
    _, _, cells, parts = sections(workshop, TITLE + slide("## A", "## 一\n\n" + "字" * 110), "zh")
    assert [e.reason for e in faults(parts[1], cells)] == [
        "more than 110 Chinese characters on a slide"
    ]


def test_code_on_a_slide_may_leave_lines_and_comments_out(workshop):
    text = "## A\n\n```python\nx = 1\n...\nprint(x)\n```"
    code = "# %%\nif True:\n    x = 1  # a comment\n    print(x)\n"
    _, _, cells, parts = sections(workshop, TITLE + slide(text, text.replace("A", "一")) + code)
    assert list(faults(parts[1], cells)) == []


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ('# %% [markdown] tags=["en", "slide"]\nr"""\n## A\n"""\n', "untranslated"),
        ('# %% [markdown] tags=["slide"]\nr"""\n$x$\n"""\n', "a slide has a language tag"),
        (pair("## A", "## 一", '"en", "slide", "learner"', '"zh", "slide", "learner"'), "exclude"),
    ],
)
def test_a_slide_cell_has_the_form_of_a_text(workshop, cell, reason):
    with pytest.raises(SourceError, match=reason):
        sections(workshop, TITLE + cell)


def test_a_stale_translation_of_a_slide_stops_every_build(workshop):
    workshop.lesson("01_sums", LESSON.replace("## How much?", "## How many?"))
    with pytest.raises(ExceptionGroup):
        prepare(workshop.root, Plan())


def test_pictures_belong_to_the_next_cell_that_shows_one(workshop):
    shows = "# %%\nshow(first)\n\n# %%\nshow(\n    second)\n"
    text = slide("## A\n\n{picture step=3}", "## 一\n\n{picture step=3}")
    _, _, _, parts = sections(
        workshop, TITLE + text + shows.split("\n\n")[0] + "\n\n" + text + shows
    )
    assert [(part.nth, part.settings()) for part in parts[1:]] == [(1, [{"step": 3}])] + [
        (2, [{"step": 3}])
    ]


def test_settings_that_cannot_be_read_are_an_error(workshop):
    _, _, _, parts = sections(
        workshop, TITLE + slide("## A\n\n{picture step}", "## 一\n\n{picture step}")
    )
    with pytest.raises(SourceError, match="cannot read the settings"):
        parts[1].settings()


def test_names_of_pictures():
    assert file_name("04_x", 1, {}) == "04_x.svg"
    assert file_name("04_x", 2, {}) == "04_x-2.svg"
    assert file_name("04_x", 1, {"row": [5, -3], "step": 3}) == "04_x-row-5-3-step-3.svg"


@pytest.mark.parametrize("lesson", read_course(ROOT).pick(), ids=lambda lesson: lesson.slug)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_courses_slides(lesson, language):
    course = read_course(ROOT)
    cells = load(ROOT, lesson)
    parts = split(course, lesson, cells, language)
    assert 10 <= len(parts) <= 21
    assert [str(error) for part in parts for error in faults(part, cells)] == []
    names = [file_name(lesson.slug, p.nth, s) for p in parts for s in p.settings()]
    assert len(set(names)) == len(names)
    if lesson.slug in KEY_PICTURES:
        assert f"{lesson.slug}.svg" in names
    assert all("".join(part.notes).strip() for part in parts)
