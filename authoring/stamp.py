"""Renew the en="…" hashes of a lesson's Chinese cells, once a person has read both texts."""

import os
import re
from collections.abc import Callable

from authoring.course import Lesson
from authoring.form import check_form, pairs
from authoring.read import read, stamp_of


def stamp(lesson: Lesson, report: Callable[[str], None] = print) -> int:
    """Rewrite the headers whose English text has changed; return how many."""
    cells = read(lesson.source)
    check_form(cells)
    changed = [(en, zh) for en, zh in pairs(cells) if zh.keys.get("en") != stamp_of(en.text)]
    lines = lesson.source.read_text(encoding="utf-8").split("\n")
    for en, zh in changed:
        report(f"{lesson.source}:{zh.line}: stamped")
        report(f"    en  {_begin(en.text)}\n    zh  {_begin(zh.text)}")
        header = re.sub(r'\s+en="[^"]*"', "", lines[zh.line - 1]).rstrip()
        lines[zh.line - 1] = f'{header} en="{stamp_of(en.text)}"'
    if changed:
        part = lesson.source.with_suffix(".part")
        part.write_text("\n".join(lines), encoding="utf-8", newline="\n")
        os.replace(part, lesson.source)
    report(f"{lesson.slug}: {len(changed)} stamped")
    return len(changed)


def _begin(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 90 else flat[:89] + "…"
