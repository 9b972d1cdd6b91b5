"""Run lesson 10 on this machine's GPU as a script and record what it measured there:
`python tests/gpu/measure_steps.py utils/measurements/h200_steps.py`.

The lesson's source is itself a Python file; with COURSE_STRICT=1 its exercises must pass, compiled.
"""

import datetime
import os
import pprint
import runpy
import subprocess
import sys
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from utils.device import describe

ROOT = Path(__file__).parents[2]
LESSON = ROOT / "lessons_src" / "10_triton_from_zero.py"


def run_lesson() -> dict:
    """Return the names that the lesson's cells leave; pictures are not shown."""
    os.environ["COURSE_STRICT"] = "1"
    show = types.ModuleType("utils.draw.show")
    show.show = lambda *_: None
    sys.modules["utils.draw.show"] = show
    return runpy.run_path(str(LESSON))


def main() -> None:
    names = run_lesson()
    machine = describe()
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    driver = subprocess.run(query, capture_output=True, encoding="utf-8", check=True).stdout.strip()
    values = {
        "CARD": machine.gpu,
        "CAPABILITY": machine.capability,
        "DRIVER": driver,
        "TORCH": machine.torch,
        "TRITON": machine.triton,
        "DATE": datetime.date.today().isoformat(),
        "CHIP": names["card"],
        "ANSWERS": names["answered"],
        "RESOURCES_METHOD": names["method"],
        "RESOURCES": names["resources"],
    }
    text = '"""Measured by tests/gpu/measure_steps.py: sizes, and what lesson 10\'s kernels need."""\n\n'
    text += "# fmt: off\n" + "".join(
        f"{name} = {pprint.pformat(value, width=160, sort_dicts=False)}\n"
        for name, value in values.items()
    )
    Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
