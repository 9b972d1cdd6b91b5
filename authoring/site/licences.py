"""The licences of what the site ships, as files beside it."""

import shutil
from html import escape
from importlib.metadata import distribution
from pathlib import Path

from authoring.site.door import plain_page

# distribution → what of it the site ships
SHIPPED = {
    "django-static-mathjax": "MathJax and its fonts (folder mathjax)",
    "Sphinx": "search and other scripts",
    "snowballstemmer": "the search's word stems",
    "sphinx-book-theme": "layout, styles, scripts",
    "pydata-sphinx-theme": "layout, styles, scripts",
    "myst-nb": "styles of cells",
    "accessible-pygments": "colours of code",
    "Pygments": "colours of code",
}
BUNDLED = {  # parts of pydata-sphinx-theme whose licence files it does not carry
    "Bootstrap.txt": "Bootstrap and Popper, in pydata-sphinx-theme",
    "Font-Awesome.txt": "Font Awesome, in pydata-sphinx-theme",
}
COURSE = {"LICENSE": "the course's code", "LICENSE-TEXT": "the course's text and figures"}


def gather(root: Path, folder: Path) -> None:
    """Copy every licence file into folder, with a page that lists them."""
    folder.mkdir(parents=True)
    listed = []
    for name, what in COURSE.items():
        listed.append((what, [_copy(root / name, folder / f"{name}.txt")]))
    for name, what in SHIPPED.items():
        found = distribution(name)
        files = [_copy(p, folder / f"{name}-{p.stem}.txt") for p in _licence_files(found)]
        if not files:
            raise FileNotFoundError(f"no licence file in the package {name}")
        listed.append((f"{name} {found.version}: {what}", files))
    for name, what in BUNDLED.items():
        third_party = Path(__file__).parent / "third_party"
        listed.append((what, [_copy(third_party / name, folder / name)]))
    (folder / "index.html").write_text(_list(listed), encoding="utf-8")


def _licence_files(found) -> list[Path]:
    names = ("licen", "copying", "notice")
    files = [file for file in found.files or () if file.name.lower().startswith(names)]
    return [Path(str(found.locate_file(f))) for f in files if ".dist-info" in f.parts[0]]


def _copy(source: Path, target: Path) -> str:
    shutil.copyfile(source, target)
    return target.name


def _list(listed: list[tuple[str, list[str]]]) -> str:
    rows = []
    for what, names in listed:
        links = ", ".join(f'<a href="{name}">{name}</a>' for name in names)
        rows.append(f"<li>{escape(what)}: {links}</li>")
    return plain_page("Licences", "../icon.svg", "<ul>\n" + "\n".join(rows) + "\n</ul>")
