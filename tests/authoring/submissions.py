"""What students hand in for lesson 04, and the points that each has earned."""

import copy

from nbformat import NotebookNode

SLUG = "04_online_softmax"
POINTS = {"update_tile": 3, "merge": 2, "two_pass": 3, "same_in_any_order": 2, "judge": 2}
ALL = sum(POINTS.values())
PROOF = "By induction: the start, the step, and the masked rows."
MARKS = {"perfect": 4, "half": 3, "duplicated": 2}  # given by hand for the written answer
UNSCALED = """
def update_tile(m, l, x):
    m_new = np.maximum(m, x.max(axis=1))
    return m_new, l + np.exp(x - m_new[:, None]).sum(axis=1)
"""
LOOP = """
def update_tile(m, l, x):
    while True:
        print("still here")
"""
STUBBORN_LOOP = """
def two_pass(x, y, b, memory):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
"""
DEADLY = """
import os

def merge(a, b):
    print("✓ merge: passed, 8 cases")
    os._exit(0)
"""
NOISY = """
import sys, warnings

def noisy(function):
    def speaks(*args):
        warnings.warn("a warning")
        print("to stderr", file=sys.stderr)
        return function(*args)
    return speaks

update_tile = noisy(update_tile)
warnings.warn("another")
"""
FORGED = """
import os
import utils.checks.core as core
from types import SimpleNamespace

for name in ("COURSE_STRICT", "NBGRADER_EXECUTION"):
    os.environ.pop(name, None)
print("✓ update_tile: passed, 9 cases")
core.Check.__call__ = lambda self, attempt: print(f"✓ {self.name}: passed, 9 cases")
core.differ = lambda *_: False
check = SimpleNamespace(judge=check.judge)
check.update_tile = check.merge = lambda attempt: print("✓ merge: passed, 8 cases")
update_tile = merge = two_pass = same_in_any_order = lambda *_: None
"""


def submissions(release: NotebookNode, source: NotebookNode) -> dict:
    """Return student → (notebook handed in, points earned by the checks and by hand)."""
    blank, perfect = release, filled(release, source, POINTS)
    half = filled(blank, source, ("update_tile", "merge"))
    wrong = written(perfect, "update_tile", UNSCALED)
    return {
        "blank": (blank, 0),
        "perfect": (written(perfect, "induction", PROOF), ALL + MARKS["perfect"]),
        "half": (written(half, "induction", PROOF), 5 + MARKS["half"]),
        "wrong": (wrong, ALL - 3),
        "deleted": (deleted(perfect), ALL - 2 - 2),
        "duplicated": (duplicated(perfect), ALL + MARKS["duplicated"]),
        "retyped": (retyped(filled(blank, source, [*POINTS][:-1])), ALL - 2),
        "loop": (written(perfect, "update_tile", LOOP), ALL - 3),
        "stubborn": (written(perfect, "two_pass", STUBBORN_LOOP), 5),
        "dies": (written(perfect, "merge", DEADLY), 3),
        "noisy": (added(perfect, "update_tile", NOISY), ALL),
        "forged": (written(blank, "update_tile", FORGED), 0),
        "tampered": (tampered(blank), 0),
        "plain": (plain(perfect), ALL),
    }


def filled(nb: NotebookNode, source: NotebookNode, names) -> NotebookNode:
    """Return a copy with the answers of the source in these exercises, outputs and all."""
    for name in names:
        lines = cell_of(source, name).source.split("\n")
        nb = written(nb, name, "\n".join(line for line in lines if "### " not in line))
    return nb


def written(nb: NotebookNode, name: str, text: str) -> NotebookNode:
    nb = copy.deepcopy(nb)
    cell_of(nb, name).source = text
    return nb


def added(nb: NotebookNode, name: str, text: str) -> NotebookNode:
    return written(nb, name, cell_of(nb, name).source + "\n" + text)


def deleted(nb: NotebookNode) -> NotebookNode:
    """Without one answer, without one check, without both of a third, without the set-up."""
    gone = ("merge", "two_pass-check", "same_in_any_order", "same_in_any_order-check", "set-up")
    nb = copy.deepcopy(nb)
    for name in gone:
        nb.cells.remove(cell_of(nb, name))
    return nb


def duplicated(nb: NotebookNode) -> NotebookNode:
    nb = copy.deepcopy(nb)
    for name in ("set-up", "update_tile", "merge-check", "judge", "judge-check", "induction"):
        cell = cell_of(nb, name)
        nb.cells.insert(nb.cells.index(cell), copy.deepcopy(cell))
    cell_of(nb, "induction").source = PROOF  # in the first copy; the last one stays empty
    return nb


def retyped(nb: NotebookNode) -> NotebookNode:
    """An answer and three checks as text; the last one has no answer, and no output either."""
    nb = copy.deepcopy(nb)
    kinds = {"update_tile": "raw", "merge-check": "markdown", "two_pass-check": "raw"}
    for name, kind in {**kinds, "judge-check": "markdown"}.items():
        cell = cell_of(nb, name)
        cell.cell_type = kind
        for key in ("outputs", "execution_count"):
            cell.pop(key)
    return nb


def tampered(nb: NotebookNode) -> NotebookNode:
    """Checks that are no longer checks, or worth more, or of another scheme."""
    nb = copy.deepcopy(nb)
    cell_of(nb, "update_tile-check").metadata.nbgrader.update(grade=False, locked=False)
    cell_of(nb, "merge-check").source = "print('✓ merge: passed, 8 cases')"
    cell_of(nb, "two_pass-check").metadata.nbgrader.update(points=100, solution=True)
    cell_of(nb, "judge-check").metadata.nbgrader.update(schema_version=99)
    return nb


def plain(nb: NotebookNode) -> NotebookNode:
    """Saved by a program that drops all metadata."""
    nb = copy.deepcopy(nb)
    for cell in nb.cells:
        cell.metadata = NotebookNode()
    return nb


def cell_of(nb: NotebookNode, name: str) -> NotebookNode:
    return next(
        cell
        for cell in nb.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == f"{SLUG}-{name}"
    )
