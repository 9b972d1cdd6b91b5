"""`stamp` renews the hashes that are stale, and nothing else."""

import re

from authoring.__main__ import main
from authoring.build import Plan, build
from tests.authoring.workshop import LESSON


def stamp(workshop, *arguments):
    return main(["--root", str(workshop.root), "stamp", *arguments])


def test_it_renews_what_is_stale_or_missing_and_shows_both_texts(workshop, capsys):
    text = LESSON.replace("A tile of", "One tile of")
    text = re.sub(r'"zh"\] en="\w+"', '"zh"]', text, count=1)
    source = workshop.lesson("01_sums", text)
    assert stamp(workshop, "01_sums") == 0
    said = capsys.readouterr().out
    assert "01_sums.py:6: stamped" in said and "01_sums.py:16: stamped" in said
    assert "en  One tile of $x$ by `sum`." in said and "zh  用 `sum` 求 $x$ 的一个 tile。" in said
    assert source.read_text(encoding="utf-8").replace("One tile", "A tile") != text
    build(workshop.root, Plan(run="none"))


def test_it_changes_no_byte_of_a_fresh_lesson(workshop, capsys):
    source = workshop.root / "lessons_src/01_sums.py"
    before = source.read_bytes(), source.stat().st_mtime_ns
    assert stamp(workshop, "--all") == 0
    assert (source.read_bytes(), source.stat().st_mtime_ns) == before
    assert "01_sums: 0 stamped" in capsys.readouterr().out


def test_it_touches_only_the_headers(workshop):
    source = workshop.lesson("01_sums", re.sub('en="[0-9a-f]+"', 'en="00000000"', LESSON))
    stamp(workshop, "01_sums")
    assert source.read_text(encoding="utf-8") == LESSON


def test_white_space_alone_makes_no_translation_stale(workshop):
    workshop.lesson("01_sums", LESSON.replace("A tile of", "A  tile\nof"))
    build(workshop.root, Plan(run="none"))


def test_a_broken_form_is_not_stamped(workshop, capsys):
    source = workshop.lesson("01_sums", LESSON.replace('["zh"]', '["zn"]', 1))
    before = source.read_bytes()
    assert stamp(workshop, "01_sums") == 1
    assert "01_sums.py:6: unknown tag 'zn'" in capsys.readouterr().err
    assert source.read_bytes() == before
