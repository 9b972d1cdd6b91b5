"""nbgrader's settings for this course folder; written by `make assignment`.

Run every nbgrader command inside this folder. What you change here stays until the next
`make assignment`.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # proven.py lies beside this file
os.environ["COURSE_STATIC"] = "1"  # pictures instead of controls, also in the feedback

c = get_config()  # noqa: F821

c.ClearSolutions.code_stub = {"python": "CODE_STUB"}
c.ClearSolutions.text_stub = "TEXT_STUB"
c.ClearSolutions.begin_solution_delimeter = "### BEGIN SOLUTION"
c.ClearSolutions.end_solution_delimeter = "### END SOLUTION"
c.ClearHiddenTests.begin_test_delimeter = "### BEGIN HIDDEN TESTS"
c.ClearHiddenTests.end_test_delimeter = "### END HIDDEN TESTS"
c.ClearMarkScheme.begin_mark_scheme_delimeter = "### BEGIN MARK SCHEME"
c.ClearMarkScheme.end_mark_scheme_delimeter = "### END MARK SCHEME"

c.Execute.timeout = 60  # seconds for one cell
c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "proven.Restore",  # in place of DeduplicateIds and OverwriteCells
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "proven.Proven",  # in place of Execute
    "nbgrader.preprocessors.IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
