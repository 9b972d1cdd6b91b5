"""Another teacher's course: lessons dropped and reordered, one language, an institution's name."""

import nbformat

from authoring.build import Plan, build, build_colab
from tests.authoring.workshop import LESSON


def text_of(workshop, name, language="en"):
    """Return the Markdown of a learner's notebook."""
    nb = nbformat.read(workshop.root / f"notebooks/{language}/{name}.ipynb", as_version=4)
    return "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")


def needs_of(workshop, slug, needs):
    """Say in course.toml what a lesson needs."""
    path = workshop.root / "lessons_src/course.toml"
    head, tail = path.read_text(encoding="utf-8").split(f'slug = "{slug}"')
    path.write_text(
        f'{head}slug = "{slug}"{tail.replace("needs = []", f"needs = {needs}", 1)}',
        encoding="utf-8",
    )


def three_lessons(workshop, *slugs):
    workshop.lessons(*((slug, "cpu") for slug in slugs))
    for slug in ("02_more", "03_most"):
        workshop.lesson(slug, LESSON)
    if "03_most" in slugs:
        needs_of(workshop, "03_most", '["02_more"]')


def test_a_dropped_lesson_leaves_no_link_and_no_notebook(workshop):
    three_lessons(workshop, "01_sums", "02_more", "03_most")
    build(workshop.root, Plan(run="none"))
    assert "02_more.ipynb" in text_of(workshop, "03_most")
    three_lessons(workshop, "01_sums", "03_most")
    said = []
    build(workshop.root, Plan(run="none"), said.append)
    assert "note      03_most builds on 02_more, which is not listed: left out" in said
    assert sum(line.startswith("removed") and "02_more" in line for line in said) == 4
    assert not [path for path in workshop.notebooks() if "02_more" in path]
    for language in ("en", "zh"):
        for name in ("01_sums", "03_most"):
            assert "02_more" not in text_of(workshop, name, language)
    assert "03_most.ipynb" in text_of(workshop, "01_sums")


def test_reordered_lessons_link_in_the_new_order(workshop):
    three_lessons(workshop, "03_most", "01_sums", "02_more")
    said = []
    build(workshop.root, Plan(run="none"), said.append)
    assert "note      03_most builds on 02_more, which comes later here: left out" in said
    assert "01_sums.ipynb" in text_of(workshop, "03_most")
    assert "02_more" not in text_of(workshop, "03_most")


def test_a_course_of_one_language_has_no_other_notebooks(workshop):
    build(workshop.root, Plan(run="none"))
    path = workshop.root / "lessons_src/course.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text('languages = ["zh"]\n' + text, encoding="utf-8")
    build(workshop.root, Plan(run="none"))
    assert workshop.notebooks() and not [x for x in workshop.notebooks() if "/en/" in x]


def test_somebody_elses_notebook_is_left_alone(workshop):
    own = workshop.root / "notebooks/en/my_notes.ipynb"
    own.parent.mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(), own)
    build(workshop.root, Plan(run="none"))
    assert own.is_file()


def test_the_institution_stands_beside_the_name(workshop):
    path = workshop.root / "lessons_src/course.toml"
    path.write_text(
        'institution.en = "A school"\n' + path.read_text(encoding="utf-8"), encoding="utf-8"
    )
    build_colab(workshop.root, Plan())
    folder = workshop.root / "dist/colab"
    assert "A course · A school" in (folder / "en/01_sums.ipynb").read_text(encoding="utf-8")
    assert "A school" not in (folder / "zh/01_sums.ipynb").read_text(encoding="utf-8")
