"""Answers marked by hand, and statements to judge: what their cells must look like and become."""

import json

import nbformat
import pytest

from authoring.build import Plan, build
from authoring.errors import SourceError
from tests.authoring.workshop import LESSON, pair

TABLE = "| 2 | all |\n| 1 | half |\n| 0 | none |"
RUBRIC = pair(f"Because.\n\n{TABLE}", f"因为。\n\n{TABLE}").replace(
    "]\nr", '] written="why" points=2\nr'
)
RUBRIC = RUBRIC.replace('"\nr"""\n因', '" written="why" points=2\nr"""\n因')
HINT = "Judge.\n\n- **a**: One.\n- **b**: Two.\n\nFor **a** and **b**, think of $a$, or `b`."
CLUE = "判断。\n\n- **a**：一。\n- **b**：二。\n\n看 **a** 和 **b**：想 $a$，或 `b`。"
JUDGE = """# %% exercise="judge"
answers = {"a": ..., "b": ...}
### BEGIN SOLUTION
answers = {"a": True, "b": False}
### END SOLUTION

# %% check="judge" points=1
answers

"""


def cells(workshop, folder):
    nb = nbformat.read(workshop.root / "notebooks" / folder / "01_sums.ipynb", as_version=4)
    return [cell for cell in nb.cells if cell.metadata.get("nbgrader", {}).get("points") == 2]


def test_the_learner_finds_a_place_to_write_and_the_solution_a_model_answer(workshop):
    workshop.lesson("01_sums", LESSON + "\n" + RUBRIC)
    build(workshop.root, Plan(run="none"))
    for language, place, answer in (
        ("en", "*Write your answer here.*", "Because."),
        ("zh", "*把你的答案写在这里。*", "因为。"),
    ):
        blank, full = cells(workshop, language)[-1], cells(workshop, f"{language}/solutions")[-1]
        assert blank.source == place and full.source.startswith(answer)
        about = blank.metadata.nbgrader
        assert about.grade and about.solution and not about.locked
        assert about.grade_id == "01_sums-why"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("| 1 | half |\n", "", "a table of 3 or 4 levels"),
        ("| 2 | all |", "| 3 | all |", r"falling from points=2; found \[3, 1, 0\]"),
        ("| 1 | half |", "| 0 | half |", r"found \[2, 0, 0\]"),
        (' written="why"', "", "has points only with written"),
        (' written="why"', ' written="Why?"', "not a lower-case name"),
        (" points=2", "", "points=None is not a whole number"),
        (RUBRIC, RUBRIC * 2, "a second written='why'"),
    ],
)
def test_a_written_answer_without_a_clear_scheme_is_refused(workshop, old, new, reason):
    assert old in RUBRIC
    workshop.lesson("01_sums", LESSON + "\n" + RUBRIC.replace(old, new))
    with pytest.raises(SourceError, match=reason):
        build(workshop.root, Plan())


def test_points_of_both_languages_agree(workshop):
    head, tail = RUBRIC.rsplit("points=2", 1)
    workshop.lesson("01_sums", LESSON + "\n" + head + "points=3" + tail)
    with pytest.raises(SourceError, match="points=… differ from the English cell's"):
        build(workshop.root, Plan())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("For **a** and", "For a and"),
        ("and **b**,", "and b,"),
        ("看 **a** 和", "看 a 和"),
    ],
)
def test_a_hint_names_statements_in_bold(workshop, old, new):
    good = LESSON + "\n" + pair(HINT, CLUE) + JUDGE
    workshop.lesson("01_sums", good)
    build(workshop.root, Plan(run="none"))
    bad = LESSON + "\n" + pair(HINT.replace(old, new), CLUE.replace(old, new)) + JUDGE
    workshop.lesson("01_sums", bad)
    with pytest.raises(ExceptionGroup) as caught:
        build(workshop.root, Plan())
    (error,) = caught.value.exceptions
    assert "in bold" in str(error) and new in bad.split("\n")[error.line - 1]


def test_no_stub_of_a_written_answer_is_left_in_a_solution(workshop):
    workshop.lesson("01_sums", LESSON + "\n" + RUBRIC)
    build(workshop.root, Plan(run="none"))
    for language in ("en", "zh"):
        path = workshop.root / "notebooks" / language / "solutions" / "01_sums.ipynb"
        text = json.loads(path.read_text(encoding="utf-8"))
        assert "your answer here" not in str(text) and "你的答案写在" not in str(text)
