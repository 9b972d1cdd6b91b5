"""Run a notebook in the working directory, with the interpreter that runs this: run_alone.py FILE"""

import importlib.util
import sys

import nbformat
from nbclient import NotebookClient

assert importlib.util.find_spec("utils") is None, "this interpreter finds a utils"
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
for cell in notebook.cells:
    for output in cell.get("outputs", []):
        if output.get("name") == "stderr":
            sys.exit(f"a cell warns: {output['text']}\n{cell.source}")
