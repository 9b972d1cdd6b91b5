"""All of the site: pages and single files laid out, Sphinx once a language, licences beside it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

from authoring.build import Plan, build_colab
from authoring.course import Course, read_course
from authoring.errors import SourceError
from authoring.site.door import front_door
from authoring.site.licences import gather
from authoring.site.pages import lay_out

HERE = Path(__file__).parent
MATHJAX = ("tex-mml-chtml.js", "a11y", "input", "output/chtml", "sre", "ui")


def build_site(root: Path, report: Callable[[str], None] = print) -> None:
    """Write dist/site anew: index.html, en/, zh/, mathjax/, licenses/."""
    course, work, site = read_course(root), root / "build" / "site", root / "dist" / "site"
    shutil.rmtree(work, ignore_errors=True)
    build_colab(root, Plan(), lambda line: None, into=work / "single")  # what pages offer
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    for language in course.languages:
        lay_out(course, language, work / language)
        shutil.copytree(work / "single" / language, work / "extra" / language / "notebooks")
    _run_sphinx(course, work)
    for language in course.languages:
        shutil.move(work / "html" / language, site / language)
    _add_mathjax(site / "mathjax")
    gather(root, site / "licenses")
    (site / "index.html").write_text(front_door(course), encoding="utf-8")
    shutil.copy(HERE / "static" / "icon.svg", site)
    report(f"written   {site}: open index.html, or put the folder on any web server")


def _run_sphinx(course: Course, work: Path) -> None:
    """Build the languages side by side; what Sphinx warns of stops the build."""
    runs = {language: _sphinx(course.root, work, language) for language in course.languages}
    said = {language: run.communicate()[0] for language, run in runs.items()}
    for language, run in runs.items():
        if run.returncode:
            raise SourceError(work / language, 1, f"Sphinx stopped:\n{said[language]}")


def _sphinx(root: Path, work: Path, language: str) -> subprocess.Popen:
    options = ["-W", "--keep-going", "-q", "-b", "html", "-c", HERE]
    folders = ["-d", work / "doctrees" / language, work / language, work / "html" / language]
    extra = {
        "COURSE_LANGUAGE": language,
        "COURSE_ROOT": str(root),
        "COURSE_EXTRA": str(work / "extra" / language),
        "PYTHONPATH": str(HERE.parents[1]),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "sphinx", *options, *folders],
        env=os.environ | extra,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )


def _add_mathjax(folder: Path) -> None:
    """Copy MathJax's own files, for both languages: no page asks another host for them."""
    files = distribution("django-static-mathjax").locate_file("mathjax/static/mathjax/es5")
    for name in MATHJAX:
        source, target = Path(str(files)) / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
