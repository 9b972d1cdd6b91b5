"""Skip a notebook's cells that need Triton where it cannot run, so that the lesson reaches its end.

Such a cell has a line `# needs Triton` (or `import triton`, as whole files in a cell have).
"""

import sys

from utils.language import say

MARKS = ("# needs Triton", "import triton")


def skip_cells_that_need_triton() -> None:
    """From the next cell on, marked cells only say that they were skipped; outside IPython, nothing."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell and without_triton not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(without_triton)


def without_triton(lines: list[str]) -> list[str]:
    """Return the lines of a cell, or one line that says why a marked cell is skipped."""
    if not any(line.strip() in MARKS for line in lines):
        return lines
    text = say(
        en="· skipped: this cell needs Triton, which cannot run here (see the first cell)",
        zh="· 已跳过：这个单元格需要 Triton，而这里不能运行（见第一个单元格）",
    )
    return [f"print({text!r})\n"]
