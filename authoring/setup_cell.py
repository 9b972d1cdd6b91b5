"""The template of the first code cell of every notebook; what stands below the line is the cell."""
# ruff: noqa
# ---
#@title Set-up: run this first
import os
import sys
from pathlib import Path

os.environ["COURSE_LESSON"] = "LESSON"
os.environ["COURSE_LANGUAGE"] = "LANGUAGE"
FILES = "FILES"


def is_course(folder):
    marker = folder / "utils" / "__init__.py"
    return marker.is_file() and "flashattention-course" in marker.read_text(encoding="utf-8")


def write_course(folder):
    for name, text in FILES.items():
        file = folder / name
        if file.is_file() and file.read_text(encoding="utf-8") != text:
            raise FileExistsError(f"{file} is not the course's own: rename it, then run this again")
        if not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")


def find_course(here):
    for folder in (here, *here.parents):
        if is_course(folder):
            return folder
    if not FILES:
        raise ModuleNotFoundError(
            f"no folder utils/ of the course above {here}: open this notebook inside the course's folder"
        )
    write_course(here / "FOLDER")
    return here / "FOLDER"


def use_course(folder):
    loaded = getattr(sys.modules.get("utils"), "__file__", None)
    if "utils" in sys.modules and (not loaded or folder not in Path(loaded).resolve().parents):
        for name in [name for name in sys.modules if name.split(".")[0] == "utils"]:
            del sys.modules[name]  # another package of the same name
    sys.path[:] = [str(folder), *(path for path in sys.path if path != str(folder))]


use_course(find_course(Path.cwd().resolve()))
