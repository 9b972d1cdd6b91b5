"""The source of an assignment: variants whose answers follow, a private overlay, one file alone."""

import json
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from authoring.__main__ import main
from authoring.assignment import build_assignment, files_of_course
from authoring.build import Plan, build, load, write_all
from authoring.course import read_course
from authoring.errors import SourceError
from authoring.execute import kernel_environment
from authoring.shuffle import shuffled
from tests.authoring.workshop import OVERLAY
from tests.test_mutants import load as load_answers
from utils import variant

ROOT = Path(__file__).parents[2]
COURSE = read_course(ROOT)
SEEDS = ("2027a", "2027b")


def cells_of(lesson):
    return load(ROOT, lesson)


def judge_of(cells) -> tuple[dict, list[dict]]:
    """Return letter → truth, and for each language letter → statement."""
    place = next(n for n, cell in enumerate(cells) if cell.keys.get("exercise") == "judge")
    answers = re.findall(r'"([a-z])": (True|False)', cells[place].text)
    said = [re.findall(r"^- \*\*([a-z])\*\*(.*)$", c.text, re.M) for c in cells[place - 2 : place]]
    return {letter: truth == "True" for letter, truth in answers}, [dict(pairs) for pairs in said]


LESSONS = [
    pytest.param(lesson, id=lesson.slug)
    for lesson in COURSE.lessons
    if any(cell.keys.get("exercise") == "judge" for cell in cells_of(lesson))
]


@pytest.mark.parametrize("lesson", [pytest.param(x, id=x.slug) for x in COURSE.lessons])
def test_every_lesson_can_be_an_assignment(lesson):
    cells = source_of(ROOT, lesson.slug, language="zh").cells
    assert "\n\n分值：`" in cells[1].source


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_statements_move_and_their_answers_with_them(lesson, seed, monkeypatch):
    before, after = cells_of(lesson), shuffled(cells_of(lesson), lesson, seed)
    (old, old_said), (new, new_said) = judge_of(before), judge_of(after)
    assert list(new) == sorted(old) and old_said != new_said
    for was, now in zip(old_said, new_said, strict=True):
        truth = {text: new[letter] for letter, text in now.items()}
        assert truth == {text: old[letter] for letter, text in was.items()}
    monkeypatch.setenv("COURSE_VARIANT", seed)
    monkeypatch.setenv("COURSE_LESSON", lesson.slug)
    check = load_answers(lesson.slug.split("_", 1)[1])[0].judge
    assert check.examine(new).state == "passed"
    for letter in new:
        message = check.examine({**new, letter: not new[letter]}).message
        assert message.startswith(f"✗ judge: {letter}")


@pytest.mark.parametrize("lesson", LESSONS)
def test_hints_name_the_statement_they_named_before(lesson):
    before, after = cells_of(lesson), shuffled(cells_of(lesson), lesson, "2027a")
    letters = variant.new_letters(list(judge_of(before)[0]), "2027a", lesson.slug)
    place = next(n for n, cell in enumerate(before) if cell.keys.get("exercise") == "judge")
    for n in (place - 2, place - 1):
        hints = [c[n].text.split("<details>", 1)[1] for c in (before, after)]
        named = [re.findall(r"\*\*([a-z])\*\*", hint) for hint in hints]
        assert [letters[letter] for letter in named[0]] == named[1] != []


def test_without_a_variant_nothing_changes(monkeypatch):
    monkeypatch.delenv("COURSE_VARIANT", raising=False)
    lesson = COURSE.pick(["04_online_softmax"])[0]
    cells = cells_of(lesson)
    assert shuffled(cells, lesson, "") == cells
    assert variant.draw("scores", 0, 1, 2, 3) == 0
    assert variant.new_letters("abc") == {"a": "a", "b": "b", "c": "c"}


def test_two_terms_draw_differently(monkeypatch):
    drawn = []
    for seed in SEEDS:
        monkeypatch.setenv("COURSE_VARIANT", seed)
        drawn.append([variant.draw(str(n), *range(9)) for n in range(9)])
    assert drawn[0] != drawn[1] and all(len(set(numbers)) > 1 for numbers in drawn)


def source_of(root, slug, seed="", language="en"):
    files = files_of_course(root, slug, language, seed, root / "course")
    text = files[root / "course" / "source" / slug / f"{slug}.ipynb"]
    return nbformat.reads(text, as_version=4)


def run(nb, folder):
    """Run a notebook alone in a folder, strictly; the first error is raised."""
    client = NotebookClient(
        nb,
        timeout=60,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--log-level=40"],
    )
    client.execute(env={**kernel_environment(), "COURSE_STRICT": "1"})
    return json.dumps(nb, ensure_ascii=False)


@pytest.mark.slow
def test_two_variants_of_an_assignment_differ_and_their_solutions_pass(tmp_path):
    texts = []
    for seed in SEEDS:
        nb = source_of(ROOT, "04_online_softmax", seed)
        texts.append(nbformat.writes(nb))
        (tmp_path / seed).mkdir()
        assert "5 of 5 exercises passed" in run(nb, tmp_path / seed)
    assert texts[0] != texts[1].replace(*reversed(SEEDS))


def test_an_overlay_adds_exercises_and_hidden_tests_to_assignments_only(graded_workshop):
    graded_workshop.write("private/01_sums.py", OVERLAY)
    for language in ("en", "zh"):
        cells = source_of(graded_workshop.root, "01_sums", language=language).cells
        named = [cell.metadata.get("nbgrader", {}).get("grade_id", "") for cell in cells]
        place = named.index("01_sums-add-check")
        assert cells[place + 1].source == "Now **multiply**."
        assert named[place + 2 : place + 4] == ["01_sums-multiply", "01_sums-multiply-check"]
        lines = cells[place].source.split("\n")
        test = lines.index("assert add([5]) == 5  # a private test")
        assert lines[test - 1 : test + 2 : 2] == ["### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"]
    build(graded_workshop.root, Plan(run="none"))
    public = b"".join(graded_workshop.notebooks().values())
    assert b"multiply" not in public and b"private" not in public


@pytest.mark.parametrize("key", ["after", "hidden"])
def test_an_overlay_for_no_such_exercise_is_refused(graded_workshop, key):
    graded_workshop.write("private/01_sums.py", OVERLAY + f'\n# %% {key}="divide"\n1 / 1\n')
    with pytest.raises(SourceError, match=r"private/01_sums\.py:18: .*'divide': no check"):
        source_of(graded_workshop.root, "01_sums")


def test_an_assignment_stands_alone_locked_and_linked_to_nothing(graded_workshop):
    cells = source_of(graded_workshop.root, "01_sums", "term-1").cells
    set_up = cells[2]
    assert set_up.metadata.nbgrader.locked and set_up.metadata.nbgrader.grade_id.endswith("-set-up")
    assert 'os.environ["COURSE_VARIANT"] = "term-1"' in set_up.source
    assert "_use(_write_course(" in set_up.source
    assert "](" not in cells[1].source and cells[-1].id != "next"
    assert cells[1].source.endswith("\n\nPoints: `add` 2.")


def test_a_lesson_whose_check_is_not_found_by_the_grader_is_refused(workshop):
    with pytest.raises(SourceError, match="an assignment needs the line: from utils.checks import"):
        source_of(workshop.root, "01_sums")


@pytest.mark.parametrize(("language", "seed"), [("zh", "one"), ("en", "two")])
def test_submissions_are_not_marked_by_another_variant(graded_workshop, language, seed):
    root, into = graded_workshop.root, graded_workshop.root / "marks"
    write_all(files_of_course(root, "01_sums", "en", "one", into), lambda _: None)
    (into / "submitted" / "student" / "01_sums").mkdir(parents=True)
    before = graded_workshop.root / "marks" / "source" / "01_sums" / "01_sums.ipynb"
    text = before.read_text(encoding="utf-8")
    with pytest.raises(SystemExit, match="holds submissions of 01_sums in language 'en' and var"):
        build_assignment(root, "01_sums", language, seed, into, lambda _: None)
    assert before.read_text(encoding="utf-8") == text


def test_a_variant_is_a_plain_name(workshop):
    arguments = ["assignment", "01_sums", "--variant", "a/b"]
    with pytest.raises(SystemExit, match="use letters"):
        main(["--root", str(workshop.root), *arguments])
