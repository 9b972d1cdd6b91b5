"""Points only for checks that were seen to run and to pass: two steps of `nbgrader autograde`.

nbgrader alone gives a check cell full points when it has no output, as after the death of the
kernel, and none when a warning was printed. And a cell of the submission may have replaced the
check by something that prints the line of success. So each check cell is run between two
questions to the kernel: the first loads the course's files anew, the second asks the check itself
whether it passed, and both answers carry a word that the submission cannot know.
"""

import secrets
import shutil
from pathlib import Path

from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from nbgrader import utils
from nbgrader.preprocessors import Execute, OverwriteCells

FRESH = """
def _fresh_check():
    import importlib, sys
    before = vars(sys.modules.get({module!r}, sys))
    for name in [name for name in sys.modules if name.split(".")[0] == "utils"]:
        del sys.modules[name]
    exec({setup!r}, {{}})
    check = importlib.import_module({module!r})
    for name, value in vars(check).items():
        if name != {name!r} and hasattr(value, "result"):
            value.result = getattr(before.get(name), "result", None)
    return check
check = _fresh_check()
del _fresh_check
__import__("builtins").print("{word}")
"""
ASK = """
_check = getattr(check, {name!r}, None)  # a private exercise may have plain asserts instead
_state = getattr(_check.result, "state", None) if hasattr(_check, "result") else "passed"
__import__("builtins").print("{word}", _state)
"""


class Restore(OverwriteCells):
    """nbgrader's step that undoes changes of locked cells, made to believe nothing but the ids.

    Kinds, points and locks come from the gradebook; what is missing is put back. Of several copies
    of a cell the last one counts, as it does when the notebook runs; written answers are joined.
    """

    add_missing_cells = True

    def preprocess(self, nb, resources):
        self.copies = {}
        for cell in nb.cells:
            about = cell.metadata.pop("nbgrader", None) or {}
            self.copies.setdefault(about.get("grade_id"), []).append(cell)
        return super().preprocess(nb, resources)

    def add_missing_grade_cells(self, nb, resources):
        """Called by OverwriteCells with the gradebook open."""
        ours = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        points = {cell.name: cell.max_score for cell in ours.grade_cells}
        solutions = {cell.name for cell in ours.solution_cells}
        for kept in ours.source_cells:
            written = kept.name in points and kept.name in solutions
            copies = self.copies.get(kept.name) or _lost(nb, kept, kept.name in points, written)
            if not copies:
                continue
            cell = copies[-1]
            cell.metadata["nbgrader"] = _metadata(kept, points, solutions)
            if written:
                cell.source = "\n\n".join(dict.fromkeys(copy.source for copy in copies))
            self.preprocess_cell(cell, resources, 0)  # its kind, and its text if it is locked
        return nb, resources


def _lost(nb, kept, graded: bool, written: bool) -> list:
    """Put back a check or a written answer at the end, the set-up at the start; no exercise."""
    if not (graded or kept.locked):
        return []
    new = new_code_cell if kept.cell_type == "code" else new_markdown_cell
    cell = new("This cell was missing." if written else kept.source)  # so somebody looks for it
    nb.cells.insert(len(nb.cells) if graded else 0, cell)
    return [cell]


def _metadata(kept, points: dict, solutions: set) -> dict:
    graded = {"points": points[kept.name]} if kept.name in points else {}
    return graded | {
        "checksum": kept.checksum,
        "grade": kept.name in points,
        "grade_id": kept.name,
        "locked": kept.locked,
        "schema_version": 3,
        "solution": kept.name in solutions,
        "task": False,
    }


class Proven(Execute):
    """nbgrader's step that runs the notebook; it leaves an error in each check not proven."""

    def preprocess(self, nb, resources=None, km=None):
        for old in Path(resources["metadata"]["path"]).glob("flashattention_course_*"):
            shutil.rmtree(old)  # handed in, or left by the last run: the set-up writes its own
        slug = resources["nbgrader"]["notebook"]
        self.module = f"utils.checks.{slug.split('_', 1)[1]}"
        named = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in nb.cells}
        self.setup, self.lesson, self.dead = named[f"{slug}-set-up"].source, slug, ""
        return super().preprocess(nb, resources, km)

    def preprocess_cell(self, cell, resources, index):
        check = cell.cell_type == "code" and utils.is_grade(cell)
        why = self.dead or self._run(cell, resources, index, check)
        if check:
            _settle(cell, why)
        return cell, resources

    def _run(self, cell, resources, index: int, check: bool) -> str:
        """Run one cell; return why it earns nothing, or "" if it may."""
        try:
            if not check:
                super().preprocess_cell(cell, resources, index)
                return ""
            return self._prove(cell, resources, index)
        except (DeadKernelError, CellTimeoutError) as error:
            self.dead = f"the kernel died or had to be stopped ({type(error).__name__})"
            return self.dead

    def _prove(self, cell, resources, index: int) -> str:
        name = cell.metadata.nbgrader.grade_id.removeprefix(f"{self.lesson}-")
        name = name.removesuffix("-check")
        if self._ask(FRESH, name, cell, index) is None:
            return "the course's files could not be loaded anew"
        super().preprocess_cell(cell, resources, index)
        if any(out.output_type == "error" for out in cell.outputs):
            return "the check failed"
        state = self._ask(ASK, name, cell, index)
        return "" if state == "passed" else f"the check did not report a pass, but {state!r}"

    def _ask(self, code: str, name: str, cell, index: int) -> str | None:
        """Run code of ours; return what it prints behind a secret word, or None."""
        word = secrets.token_hex(16)
        code = code.format(module=self.module, name=name, setup=self.setup, word=word)
        ours = new_code_cell(code)
        self.execute_cell(ours, index, store_history=False)
        self.nb.cells[index] = cell  # execute_cell has put ours there
        said = "".join(out.text for out in ours.outputs if out.output_type == "stream")
        return said.split(word)[-1].strip() if word in said else None


def _settle(cell, why: str) -> None:
    """Leave outputs from which nbgrader counts all of the points, or none if there is a why."""
    for out in cell.outputs:
        if out.output_type == "stream":
            out.name = "stdout"  # on stderr, a warning would cost the points
        if out.output_type == "execute_result":  # a number would be read as points
            out.output_type = "display_data"
            out.pop("execution_count")
    if why and not any(out.output_type == "error" for out in cell.outputs):
        said = f"Not counted: {why}."
        cell.outputs.append(new_output("error", ename="NotProven", evalue=said, traceback=[said]))
