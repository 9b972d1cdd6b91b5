"""The course as lessons_src/course.toml describes it."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = ("en", "zh")
DEVICES = ("cpu", "both", "gpu")


class SourceError(Exception):
    """A fault in a source, said as `file:line: reason`."""

    def __init__(self, file: Path, line: int, reason: str):
        super().__init__(f"{file}:{line}: {reason}")


@dataclass(frozen=True)
class Lesson:
    slug: str
    title: dict[str, str]
    minutes: str
    device: str
    needs: tuple[str, ...]

    @property
    def number(self) -> str:
        return self.slug.split("_")[0]


@dataclass(frozen=True)
class Course:
    root: Path
    name: dict[str, str]
    repository: str
    lessons: tuple[Lesson, ...]

    def source(self, lesson: Lesson) -> Path:
        return self.root / "lessons_src" / f"{lesson.slug}.py"

    def lesson(self, slug: str) -> Lesson:
        for lesson in self.lessons:
            if lesson.slug == slug:
                return lesson
        known = ", ".join(lesson.slug for lesson in self.lessons)
        raise SourceError(self.root / "lessons_src/course.toml", 1, f"no lesson {slug!r} in {known}")

    def neighbour(self, lesson: Lesson, step: int) -> Lesson | None:
        position = self.lessons.index(lesson) + step
        return self.lessons[position] if 0 <= position < len(self.lessons) else None


def load_course(root: Path) -> Course:
    """Read course.toml; every lesson it names must have a source."""
    file = root / "lessons_src" / "course.toml"
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    lessons = tuple(
        Lesson(e["slug"], e["title"], str(e["minutes"]), e["device"], tuple(e["needs"]))
        for e in data["lesson"]
    )
    course = Course(root, data["name"], data["repository"], lessons)
    slugs = {lesson.slug for lesson in lessons}
    for lesson in lessons:
        if not course.source(lesson).is_file():
            raise SourceError(file, 1, f"lesson {lesson.slug!r} has no source {lesson.slug}.py")
        if lesson.device not in DEVICES:
            raise SourceError(file, 1, f"device {lesson.device!r} is none of {', '.join(DEVICES)}")
        if unknown := set(lesson.needs) - slugs:
            raise SourceError(file, 1, f"{lesson.slug} needs unknown lessons {sorted(unknown)}")
    return course
