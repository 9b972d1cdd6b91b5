"""What is built: the same bytes each time, one language and edition each, all or nothing."""

import json
import os

import nbformat
import pytest

from authoring import build as module
from authoring.build import Plan, build, build_colab
from authoring.errors import SourceError
from tests.authoring.workshop import LESSON, Workshop, pair

NAMES = [
    f"notebooks/{language}/{folder}01_sums.ipynb"
    for language in ("en", "zh")
    for folder in ("", "solutions/")
]


def built(workshop, language="en", folder=""):
    path = workshop.root / "notebooks" / language / folder / "01_sums.ipynb"
    return nbformat.read(path, as_version=4)


def code_of(nb):
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def everything(nb):
    return json.dumps(nb, ensure_ascii=False)


def test_a_second_build_changes_no_byte_and_runs_nothing(workshop):
    first, second = [], []
    build(workshop.root, Plan(), first.append)
    before = workshop.notebooks()
    build(workshop.root, Plan(), second.append)
    assert sorted(before) == sorted(NAMES)
    assert workshop.notebooks() == before
    assert [line.split()[0] for line in first].count("executing") == 2
    assert {line.split()[0] for line in second} == {"unchanged"}


def test_another_folder_gives_the_same_bytes(workshop, tmp_path):
    other = Workshop(tmp_path / "solutions" / "course")
    for root in (workshop.root, other.root):
        build(root, Plan(languages=("zh",)))
    assert workshop.notebooks() == other.notebooks()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One built course for all tests that only look at it."""
    workshop = Workshop(tmp_path_factory.mktemp("finished") / "course")
    build(workshop.root, Plan())
    return workshop


def test_the_learners_edition_has_blanks_and_no_outputs(finished):
    for language in ("en", "zh"):
        nb = built(finished, language)
        nbformat.validate(nb)
        text = everything(nb)
        assert "secret" not in text and "hidden test" not in text and "### " not in text
        assert "    ...  # your turn" in text
        assert all(not c.outputs and c.execution_count is None for c in code_of(nb))


def test_the_solution_has_answers_and_outputs_without_markers(finished):
    nb = built(finished, "zh", "solutions")
    text = everything(nb)
    assert "the secret" in text and "hidden test" not in text and "###" not in text
    check, last = code_of(nb)[3], code_of(nb)[-1]
    assert check.outputs[0].text == "zh True\n"
    assert last.outputs[0].text == "<object object>\n"  # no address in memory
    assert last.outputs[1].data == {"text/plain": "1"}
    assert [c.execution_count for c in code_of(nb)] == list(range(1, len(code_of(nb)) + 1))
    assert "timestamp" not in text and "iopub" not in text and "widgets" not in nb.metadata


def test_one_language_each_and_the_same_code_but_for_the_first_cell(finished):
    en, zh = built(finished, "en"), built(finished, "zh")
    assert "求" not in everything(en) and "A tile of" not in everything(zh)
    assert [c.source for c in code_of(en)][1:] == [c.source for c in code_of(zh)][1:]
    assert [c.id for c in code_of(en)] == [c.id for c in code_of(zh)]
    assert code_of(en)[0].source != code_of(zh)[0].source
    assert any(c.source == "$$x = 1$$" for c in en.cells)
    assert any(c.source == "$$x = 1$$" for c in zh.cells)


def test_the_title_stays_first_and_the_folded_cell_is_the_first_code(finished):
    cells = built(finished).cells
    assert cells[0].source == "# 01 · Sums"
    assert cells[1].source.startswith("5 minutes · no GPU needed\n\n**Run the next cell first.**")
    assert cells[2].metadata.jupyter.source_hidden and cells[2].metadata.cellView == "form"
    assert cells[2].source.startswith("#@title ")


def test_a_source_cell_holds_the_whole_file(finished):
    text = (finished.root / "utils/device.py").read_text(encoding="utf-8").rstrip("\n")
    for folder in ("", "solutions"):
        assert text in [c.source for c in code_of(built(finished, "en", folder))]


def test_exercise_and_check_carry_nbgraders_metadata(finished):
    graded = [c.metadata.nbgrader for c in built(finished).cells if "nbgrader" in c.metadata]
    exercise, check = graded
    assert (exercise.grade_id, exercise.solution, exercise.grade) == ("01_sums-add", True, False)
    assert (check.grade_id, check.grade, check.locked) == ("01_sums-add-check", True, True)
    assert check.points == 2


def test_cells_of_one_edition_stay_out_of_the_other(workshop):
    only = pair("Learners see me.", "给学习者看。", '"en", "learner"', '"zh", "learner"')
    only += '# %% tags=["solution"]\nanswer = 42\n\n'
    workshop.lesson("01_sums", LESSON + "\n" + only)
    build(workshop.root, Plan(run="none"))
    learner, solution = (everything(built(workshop, "en", f)) for f in ("", "solutions"))
    assert "Learners see me" in learner and "answer = 42" not in learner
    assert "Learners see me" not in solution and "answer = 42" in solution


def test_twin_cells_get_different_ids(workshop):
    workshop.lesson("01_sums", LESSON + "\n# %%\nlen([])\n" + "\n# %%\nlen([])\n")
    build(workshop.root, Plan(run="none"))
    ids = [cell.id for cell in built(workshop).cells]
    assert len(ids) == len(set(ids))
    assert f"{ids[-2]}-2" == ids[-1]  # not nbformat's random repair


def ran(workshop, **plan):
    lines = []
    build(workshop.root, Plan(languages=("en",), **plan), lines.append)
    return sum(line.startswith("executing") for line in lines)


def test_only_code_and_imported_files_cause_another_run(workshop):
    assert ran(workshop) == 1
    workshop.lesson("01_sums", LESSON.replace("A tile of", "One tile of").replace(*stamps()))
    assert ran(workshop) == 0
    workshop.write("utils/unused.py", "another = 1\n")
    assert ran(workshop) == 0
    workshop.write("utils/sums/total.py", "def check(f):\n    print('new')\n")
    assert ran(workshop) == 1
    assert "new" in everything(built(workshop, "en", "solutions"))
    assert ran(workshop, run="all") == 1
    workshop.lesson("01_sums", LESSON.replace("len([1])", "len([1, 2])"))
    assert ran(workshop) == 1


def stamps():
    en = "tile of $x$ by `sum`."
    return pair(f"A {en}", "").split('en="')[1][:8], pair(f"One {en}", "").split('en="')[1][:8]


def test_a_solution_not_run_has_no_digest_and_is_run_next_time(workshop):
    assert ran(workshop, run="none") == 0
    assert "digest" not in built(workshop, "en", "solutions").metadata.course
    assert ran(workshop) == 1


def test_a_failing_build_leaves_the_notebooks_as_they_were(workshop):
    build(workshop.root, Plan(run="none"))
    before = workshop.notebooks()
    workshop.lessons(("01_sums", "cpu"), ("02_more", "cpu"))
    workshop.lesson("01_sums", LESSON.replace("len([1])", "len([1, 2])"))
    workshop.lesson("02_more", LESSON.replace("len([1])", "1 / 0"))
    with pytest.raises(SourceError, match=r"02_more\.py:44: .*ZeroDivisionError"):
        build(workshop.root, Plan(languages=("en",)))
    assert workshop.notebooks() == before


def test_a_fault_in_the_last_lesson_shows_before_the_first_is_executed(workshop):
    workshop.lessons(("01_sums", "cpu"), ("02_more", "cpu"))
    workshop.lesson("02_more", LESSON.replace("utils.sums.total", "utils.nowhere"))
    said = []
    with pytest.raises(SourceError, match=r"02_more\.py:\d+: imports utils\.nowhere"):
        build(workshop.root, Plan(), said.append)
    assert said == []


def test_a_full_disk_leaves_the_notebooks_as_they_were(workshop, monkeypatch):
    build(workshop.root, Plan(run="none"))
    before = workshop.notebooks()
    workshop.lesson("01_sums", LESSON.replace("len([1])", "len([1, 2])"))
    writes = iter([None])

    def write_text(path, *args, **kwargs):
        next(writes)  # the second write fails
        with open(path, "w", encoding="utf-8") as file:
            file.write("half a noteb")

    monkeypatch.setattr(module.Path, "write_text", write_text)
    with pytest.raises(StopIteration):
        build(workshop.root, Plan(run="none"))
    assert workshop.notebooks() == before


def test_a_run_sees_no_gpu_and_leaves_no_file(workshop, monkeypatch):
    monkeypatch.setenv("COURSE_STRICT", "1")
    code = "import os\nopen('left.txt', 'w', encoding='utf-8').close()\n"
    code += "os.environ.get('CUDA_VISIBLE_DEVICES'), os.environ.get('COURSE_STRICT')"
    workshop.lesson("01_sums", LESSON.replace("len([1])", code))
    build(workshop.root, Plan(languages=("en",)))
    assert code_of(built(workshop, "en", "solutions"))[-1].outputs[-1].data["text/plain"] == (
        "('', None)"
    )
    assert not list(workshop.root.rglob("left.txt"))
    assert os.listdir(workshop.root / "build") == []


def test_widgets_leave_their_picture_and_no_state(workshop):
    code = "import ipywidgets\ndisplay(ipywidgets.IntSlider())\nlen([1])"
    workshop.lesson("01_sums", LESSON.replace("len([1])", code))
    build(workshop.root, Plan(languages=("en",)))
    nb = built(workshop, "en", "solutions")
    assert "widget-view" not in everything(nb) and "widgets" not in nb.metadata
    assert [out.output_type for out in code_of(nb)[-1].outputs] == ["stream", "execute_result"]


def test_notebooks_link_to_what_comes_before_and_after(workshop):
    workshop.lessons(("01_sums", "cpu"), ("02_more", "cpu"))
    workshop.lesson("02_more", LESSON)
    path = workshop.root / "lessons_src/course.toml"
    text = path.read_text(encoding="utf-8")
    head, tail = text.rsplit("needs = []", 1)
    path.write_text(f'{head}needs = ["01_sums"]{tail}', encoding="utf-8")
    build(workshop.root, Plan(run="none"))
    assert built(workshop, "zh").cells[-1].source == "**下一课**：[02 · 求和](02_more.ipynb)"
    nb = nbformat.read(workshop.root / "notebooks/en/02_more.ipynb", as_version=4)
    assert "builds on [01 · Sums](01_sums.ipynb)" in nb.cells[1].source
    assert nb.cells[-1].id != "next"


def test_colab_writes_one_file_for_each_lesson_and_language(workshop):
    build_colab(workshop.root, Plan())
    assert sorted(workshop.notebooks()) == [
        "dist/colab/en/01_sums.ipynb",
        "dist/colab/zh/01_sums.ipynb",
    ]


def test_single_files_for_another_use_leave_dist_colab_alone(workshop):
    elsewhere, said = workshop.root / "elsewhere", []
    build_colab(workshop.root, Plan(), said.append, into=elsewhere)
    assert sorted(path.name for path in elsewhere.iterdir()) == ["en", "zh"]
    assert not workshop.notebooks()
    build_colab(workshop.root, Plan(), said.append)
    assert [line.split()[0] for line in said] == ["written"] * 4
