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
_state = getattr(getattr(check, {name!r}, None), "result", None)
_state = _state.state if _state or hasattr(check, {name!r}) else "passed"
__import__("builtins").print("{word}", _state)
"""


class Restore(OverwriteCells):
    """nbgrader's step that undoes changes of locked cells; it also puts back what is missing."""

    add_missing_cells = True

    def preprocess_cell(self, cell, resources, index):
        cell, resources = super().preprocess_cell(cell, resources, index)
        if not cell.metadata.get("nbgrader", {}).get("grade_id"):
            cell.metadata.pop("nbgrader", None)  # a second copy, or a cell of another assignment
        return cell, resources

    def add_missing_grade_cells(self, nb, resources):
        """Put the set-up at the start, checks and written answers at the end."""
        source = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        points = {cell.name: cell.max_score for cell in source.grade_cells}
        solutions = {cell.name for cell in source.solution_cells}
        here = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in nb.cells}
        for lost in source.source_cells:
            if lost.name not in here and (lost.name in points or lost.locked):
                new = new_code_cell if lost.cell_type == "code" else new_markdown_cell
                cell = new(lost.source, metadata={"nbgrader": _metadata(lost, points, solutions)})
                nb.cells.insert(len(nb.cells) if lost.name in points else 0, cell)
        return nb, resources


def _metadata(cell, points: dict, solutions: set) -> dict:
    graded = {"points": points[cell.name]} if cell.name in points else {}
    return graded | {
        "checksum": cell.checksum,
        "grade": cell.name in points,
        "grade_id": cell.name,
        "locked": cell.locked,
        "schema_version": 3,
        "solution": cell.name in solutions,
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
