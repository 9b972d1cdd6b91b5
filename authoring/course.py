"""The order of the lessons and what each needs, from lessons_src/course.toml."""

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from authoring.errors import SourceError

LANGUAGES = ("en", "zh")
DEVICES = ("cpu", "both", "gpu")
LESSON_KEYS = {"slug", "title", "minutes", "device", "needs"}


@dataclass(frozen=True, eq=False)
class Lesson:
    """One lesson: minutes is a text such as "40" or "60–75"; needs holds slugs."""

    slug: str
    title: dict[str, str]
    minutes: str
    device: str
    needs: tuple[str, ...]
    source: Path

    def link(self, language: str) -> str:
        """Return a Markdown link to this lesson's notebook from one in the same folder."""
        return f"[{self.slug[:2]} · {self.title[language]}]({self.slug}.ipynb)"


@dataclass(frozen=True)
class Course:
    """The whole course; repository is "owner/name" on GitHub, or empty; overlay is a folder.

    notes say what a selection or an order of lessons changed.
    """

    root: Path
    name: dict[str, str]
    institution: dict[str, str]
    licence: dict[str, str]
    repository: str
    overlay: str
    languages: tuple[str, ...]
    lessons: tuple[Lesson, ...]
    notes: tuple[str, ...] = ()

    def title(self, language: str) -> str:
        """Return the course's name, and the institution's where one is set."""
        parts = (self.name[language], self.institution.get(language))
        return " · ".join(part for part in parts if part)

    def links(self, slugs: tuple[str, ...], language: str) -> list[str]:
        """Return links to these lessons."""
        return [lesson.link(language) for lesson in self.lessons if lesson.slug in slugs]

    def after(self, lesson: Lesson) -> Lesson | None:
        """Return the next lesson, or None after the last one."""
        return dict(zip(self.lessons, self.lessons[1:], strict=False)).get(lesson)

    def pick(self, slugs=()) -> list[Lesson]:
        """Return these lessons, or all; a lesson without its source file is a SourceError."""
        known = {lesson.slug: lesson for lesson in self.lessons}
        for slug in slugs:
            if slug not in known:
                raise _error(self.root, slug, f"no lesson {slug!r} is listed here")
        picked = [known[slug] for slug in slugs or known]
        for lesson in picked:
            if not lesson.source.is_file():
                raise _error(self.root, lesson.slug, f"{lesson.source} does not exist")
        return picked


def read_course(root: Path) -> Course:
    """Read and check course.toml below root."""
    path = root / "lessons_src" / "course.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SourceError(path, 1, str(error)) from None
    for key in ("name", "licence", "repository"):
        if key not in data:
            raise SourceError(path, 1, f"the key {key!r} is missing")
    languages = tuple(data.get("languages", LANGUAGES))
    if not languages or set(languages) - set(LANGUAGES):
        raise SourceError(path, 1, f"languages must be some of {LANGUAGES}, got {languages}")
    lessons = tuple(_lesson(root, entry) for entry in data.get("lesson", []))
    lessons, notes = _resolve_needs(root, lessons)
    names = (data["name"], data.get("institution", {}), data["licence"])
    return Course(
        root, *names, data["repository"], data.get("overlay", ""), languages, lessons, notes
    )


def _lesson(root: Path, entry: dict) -> Lesson:
    slug = entry.get("slug", "")
    if set(entry) != LESSON_KEYS:
        wrong = ", ".join(sorted(set(entry) ^ LESSON_KEYS))
        raise _error(root, slug, f"lesson {slug!r}: missing or unknown key: {wrong}")
    if entry["device"] not in DEVICES:
        raise _error(root, slug, f"device {entry['device']!r} is none of {', '.join(DEVICES)}")
    if set(entry["title"]) != set(LANGUAGES):
        raise _error(root, slug, f"lesson {slug!r} needs a title in {' and '.join(LANGUAGES)}")
    source = root / "lessons_src" / f"{slug}.py"
    return Lesson(**{**entry, "needs": tuple(entry["needs"])}, source=source)


def _resolve_needs(root: Path, lessons: tuple[Lesson, ...]) -> tuple[tuple, tuple]:
    """Return the lessons without the needs that are not taught here, and notes on what changed."""
    places = {lesson.slug: place for place, lesson in enumerate(lessons)}
    kept, notes = [], []
    for place, lesson in enumerate(lessons):
        if places[lesson.slug] != place:
            raise _error(root, lesson.slug, f"lesson {lesson.slug!r} is listed twice")
        for need in lesson.needs:
            if need not in places and not (lesson.source.parent / f"{need}.py").is_file():
                raise _error(root, lesson.slug, f"needs {need!r}, and there is no such lesson")
            if need not in places:
                notes.append(f"{lesson.slug} builds on {need}, which is not listed: left out")
            elif places[need] >= place:
                notes.append(f"{lesson.slug} builds on {need}, which comes later here: left out")
        needs = tuple(x for x in lesson.needs if places.get(x, place) < place)
        kept.append(replace(lesson, needs=needs))
    return tuple(kept), tuple(notes)


def _error(root: Path, slug: str, reason: str) -> SourceError:
    path = root / "lessons_src" / "course.toml"
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [
        n for n, text in enumerate(lines, 1) if text.startswith("slug") and f'"{slug}"' in text
    ]
    return SourceError(path, found[-1] if found else 1, reason)
