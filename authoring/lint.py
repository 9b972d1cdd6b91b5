"""Compare each English cell with its Chinese one, and look for what breaks Chinese text."""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from authoring.course import Lesson
from authoring.errors import SourceError
from authoring.form import pairs
from authoring.read import Cell, stamp_of

HAN = r"\u3400-\u4dbf\u4e00-\u9fff"
WIDE = "，。；：！？、（）“”‘’《》【】…—"
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
MATH = re.compile(r"(?<!\\)\$\$.+?\$\$|(?<![\\$])\$(?!\$)[^$\n]+?(?<!\\)\$", re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)[^()]*\)|<(https?://[^>]+)>")
TAG = re.compile(r"</?(details|summary|img|table|tr|td|sub|sup|a)\b[^>]*>", re.IGNORECASE)
HEADING = re.compile(r"^(#{1,6}) ", re.MULTILINE)
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s", re.MULTILINE)
ROW = re.compile(r"^\|", re.MULTILINE)
BLOCK = re.compile(r"\s*([-*+]\s|\d+[.)]\s|[#|>]|</?\w|\$\$|```|~~~)")
HALF_WIDTH = [
    (rf"[{HAN}][,;:!?]|[,;:!?] ?[{HAN}]", "half-width punctuation in a Chinese sentence"),
    (rf"[{HAN}]\.(?!\w)", "a half-width full stop after Chinese"),
    (rf"\([^()]*[{HAN}][^()]*\)|[{HAN}]\(|\)[{HAN}]", "half-width brackets in Chinese text"),
    (rf'"[^"]*[{HAN}][^"]*"', "half-width quotation marks around Chinese"),
]


def lint(lesson: Lesson, cells: list[Cell], glossary: list[dict]) -> list[SourceError]:
    """Return everything that is wrong with the texts of a lesson, in the order of its lines."""
    found = list(_title(lesson, cells))
    for en, zh in pairs(cells):
        found += _stamp(en, zh)
        found += [zh.error(reason) for reason in _shape(en.text, zh.text)]
        found += [zh.error(reason) for reason in _terms(en.text, zh.text, glossary)]
        found += [zh.error(reason, zh.start + n) for n, reason in chinese(zh.text)]
        if re.search(f"[{HAN}]", en.text):
            found.append(en.error("Chinese text in an English cell"))
    return sorted(found, key=lambda error: error.line)


def read_glossary(root: Path) -> list[dict]:
    """Read the terms: each has lists `en` (its word forms) and `zh` (what may stand for it)."""
    path = root / "lessons_src" / "glossary.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))["term"]
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise SourceError(path, 1, f"cannot read the glossary: {error}") from None


def chinese(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line from 0, reason) for what a Chinese text must not hold."""
    for match in MATH.finditer(_blank(text, FENCE, CODE)):
        if re.search(f"[{HAN}]", match[0]):
            yield _line(text, match.start()), f"Chinese inside a formula: {match[0]!r}"
    masked = _blank(_blank(text, FENCE, keep="\n"), CODE, keep="`")
    masked = _blank(masked, MATH, keep="$")
    for n, line in enumerate(masked.split("\n")):
        original = text.split("\n")[n].strip()
        yield from ((n, f"{reason}: {original[:60]!r}") for reason in _line_faults(line))
        yield from ((n, f"{reason}: {original[:60]!r}") for reason in _bold_faults(line))
    yield from _broken_paragraphs(masked)


def _title(lesson: Lesson, cells: list[Cell]) -> Iterator[SourceError]:
    for cell in cells[:2]:
        title = lesson.title.get(cell.language, "")
        if not cell.text.split("\n")[0].endswith(title):
            yield cell.error(f"the first line does not end with the title of course.toml: {title}")


def _stamp(en: Cell, zh: Cell) -> Iterator[SourceError]:
    if zh.keys.get("en") != stamp_of(en.text):
        reason = "the English text has changed since this translation was stamped"
        yield zh.error(f'{reason} (en="{stamp_of(en.text)}" by `make stamp` after reading both)')
    words = re.sub(r"\W+", " ", _prose(en.text)).split()
    if len(words) > 3 and not re.search(f"[{HAN}]", zh.text):
        yield zh.error("untranslated: this Chinese cell has no Chinese text")


def _shape(en: str, zh: str) -> Iterator[str]:
    """Yield what differs in the parts that a translation leaves as they are."""
    for name, parts in (
        ("code block", _fences),
        ("inline code", lambda text: [m[2].strip() for m in CODE.finditer(_blank(text, FENCE))]),
        (
            "formula",
            lambda text: ["".join(f.split()) for f in MATH.findall(_blank(text, FENCE, CODE))],
        ),
        ("link", _links),
        ("HTML tag", lambda text: [m.lower() for m in TAG.findall(_blank(text, FENCE, CODE))]),
    ):
        ours, theirs = Counter(parts(en)), Counter(parts(zh))
        if ours != theirs:
            only_en, only_zh = (
                sorted((ours - theirs).elements()),
                sorted((theirs - ours).elements()),
            )
            yield f"{name}: only in English {only_en}, only in Chinese {only_zh}"
    en, zh = _blank(en, FENCE, MATH, keep="\n"), _blank(zh, FENCE, MATH, keep="\n")
    levels = [[len(h) for h in HEADING.findall(text)] for text in (en, zh)]
    if levels[0] != levels[1]:
        yield f"heading levels differ: English {levels[0]}, Chinese {levels[1]}"
    for name, pattern in (("list items", ITEM), ("table rows", ROW)):
        counts = [len(pattern.findall(text)) for text in (en, zh)]
        if counts[0] != counts[1]:
            yield f"{name} differ: English {counts[0]}, Chinese {counts[1]}"


def _terms(en: str, zh: str, glossary: list[dict]) -> Iterator[str]:
    prose = _prose(en)
    for term in glossary:
        forms = "|".join(map(re.escape, term["en"]))
        used = re.search(rf"(?<![\w-])({forms})(?![\w-])", prose, re.IGNORECASE)
        if used and not any(form.lower() in zh.lower() for form in term["zh"]):
            yield f"{used[0]!r} is in the English text, but none of {term['zh']} in the Chinese"


def _fences(text: str) -> list[str]:
    return [match[0] for match in FENCE.finditer(text)]


def _links(text: str) -> list[str]:
    targets = [a or b for a, b in LINK.findall(_blank(text, FENCE, CODE, MATH))]
    return ["#" if target.startswith("#") else target for target in targets]


def _prose(text: str) -> str:
    return TAG.sub(" ", LINK.sub(" ", _blank(text, FENCE, CODE, MATH)))


def _blank(text: str, *patterns: re.Pattern, keep: str = " ") -> str:
    """Replace matches by characters of the same number, so that positions and lines stay."""
    for pattern in patterns:
        text = pattern.sub(lambda m: re.sub(r"[^\n]", " " if keep == "\n" else keep, m[0]), text)
    return text


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position)


def _line_faults(line: str) -> Iterator[str]:
    """Yield reasons for one line in which code is a row of ` and a formula a row of $."""
    plain = TAG.sub("", re.sub(r"\]\([^)\s]*\)", "]", line))
    plain = re.sub(r"\*+|[\[\]]|https?://\S+", "", plain)
    if "您" in plain:
        yield "您 (write 你)"
    if re.search(rf"[{HAN}][A-Za-z0-9`$]|[A-Za-z0-9`$][{HAN}]", plain):
        yield "no space between Chinese and Latin letters, digits, code or a formula"
    for pattern, reason in HALF_WIDTH:
        if re.search(pattern, plain):
            yield reason


def _bold_faults(line: str) -> Iterator[str]:
    """Yield where CommonMark would show the stars of **…** instead of bold text."""
    edges = [match.span() for match in re.finditer(r"\*\*", line)]
    for (start, inside), (last, end) in zip(edges[::2], edges[1::2], strict=False):
        before, after = line[start - 1 : start], line[end : end + 1]
        stray = line[last - 1] in WIDE and after.isspace()  # a space put there only to end the bold
        if stray or (_punctuation(line[last - 1]) and not _open(after)):
            yield "bold ends with punctuation: put the mark outside of **…**"
        if _punctuation(line[inside]) and not _open(before):
            yield "bold begins with punctuation: put the mark outside of **…**"
    if len(edges) % 2:
        yield "an odd number of **"


def _punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def _open(character: str) -> bool:
    return not character or character.isspace() or _punctuation(character)


def _broken_paragraphs(masked: str) -> Iterator[tuple[int, str]]:
    lines = masked.split("\n")
    for n, (line, after) in enumerate(zip(lines, lines[1:], strict=False)):
        starts = line.strip() and after.strip() and not BLOCK.match(after)
        if (
            starts
            and re.search(f"[{HAN}{WIDE}]$", line.rstrip())
            and not line.startswith(("#", "|", "<"))
        ):
            yield n + 1, "a line break inside a Chinese paragraph becomes a space"
