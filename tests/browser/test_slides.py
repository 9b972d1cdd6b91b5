"""The decks as a lecturer opens them: from a folder, without a network; and their PDFs."""

import re
import shutil
from types import SimpleNamespace

import pytest

from authoring.build import Plan
from authoring.course import LANGUAGES, read_course
from tests.browser.conftest import ROOT, ends_of_numbers, missing

pytestmark = pytest.mark.browser

SAMPLE = ("04_online_softmax", "07_causal_tiles")
MEASURE = """() => {
  const face = Reveal.getCurrentSlide().querySelector('.face');
  const inside = r => r.left >= 0 && r.top >= 0 && r.right <= 1281 && r.bottom <= 686;
  const parts = [...face.children].map(e => e.getBoundingClientRect());
  const texts = [...face.querySelectorAll('*')].filter(e => !e.closest('mjx-container') &&
    [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()));
  const formulas = [...face.querySelectorAll('mjx-container')].map(e => e.getBoundingClientRect());
  const raw = face.cloneNode(true);
  raw.querySelectorAll('code, pre, mjx-container').forEach(e => e.remove());
  return {
    size: [face.scrollWidth, face.scrollHeight],
    inside: [...parts, ...formulas].every(inside),
    overlap: parts.some((r, i) => i && r.top < parts[i - 1].bottom - 1),
    smallest: Math.min(...texts.map(e => parseFloat(getComputedStyle(e).fontSize))),
    pictures: [...face.querySelectorAll('img')].map(e => e.naturalWidth > 0 && e.alt.length > 20),
    faults: face.querySelectorAll('mjx-merror, [data-mjx-error]').length,
    flat: formulas.some(r => r.width < 5 || r.height < 5),
    raw: raw.textContent,
    notes: Reveal.getSlideNotes().length,
  };
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return dist/slides of the whole course, built in a copy of it."""
    try:
        from authoring.slides import build_slides
        from authoring.slides_pdf import print_decks

        root = tmp_path_factory.mktemp("course")
        for name in ("lessons_src", "utils", "notebooks"):
            shutil.copytree(ROOT / name, root / name)
        for licence in ROOT.glob("LICENSE*"):
            shutil.copy(licence, root)
        decks = build_slides(root, Plan(), lambda line: None)
        print_decks([deck for deck in decks if deck.stem in SAMPLE], lambda line: None)
    except SystemExit as reason:
        missing(str(reason))
    stick = tmp_path_factory.mktemp("stick") / "slides"
    shutil.move(root / "dist" / "slides", stick)  # a folder that knows nothing of the course
    return stick


@pytest.fixture(scope="module", params=[lesson.slug for lesson in read_course(ROOT).pick()])
def lesson(request):
    return request.param


@pytest.fixture(scope="module", params=LANGUAGES)
def seen(request, lesson, folder, chromium):
    """Open one deck and look at every slide of it."""
    path = folder / request.param / f"{lesson}.html"
    context = chromium.new_context(offline=True, viewport={"width": 1280, "height": 720})
    page = context.new_page()
    see = SimpleNamespace(path=path, wrong=[], asked=[])
    page.on("console", lambda m: see.wrong.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: see.wrong.append(str(error)))
    page.on("requestfailed", lambda request: see.wrong.append(request.url))
    page.on("request", lambda request: see.asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector(".reveal.ready")
    see.count = page.evaluate("Reveal.getTotalSlides()")
    see.formulas = page.locator(".face mjx-container svg").count()
    see.slides = []
    for number in range(see.count):
        page.evaluate(f"Reveal.slide({number})")
        see.slides.append(page.evaluate(MEASURE))
    context.close()
    return see


def numbers(seen, wrong):
    """Return the numbers of the slides of which wrong(slide) is true."""
    return [n for n, slide in enumerate(seen.slides, 1) if wrong(slide)]


def test_a_deck_opens_from_a_folder_without_a_network(seen):
    assert seen.wrong == []
    assert seen.asked and all(url.startswith("file:") for url in seen.asked)


def test_no_slide_is_cut_off_or_overlaps(seen):
    assert numbers(seen, lambda s: s["size"] != [1280, 720]) == []
    assert numbers(seen, lambda s: not s["inside"]) == []
    assert numbers(seen, lambda s: s["overlap"]) == []


def test_no_text_is_below_24_pixels(seen):
    assert numbers(seen, lambda s: s["smallest"] < 24) == []


def test_formulas_are_set_and_pictures_are_there(seen):
    assert seen.formulas > 0
    assert numbers(seen, lambda s: s["faults"] or s["flat"] or "$" in s["raw"]) == []
    assert numbers(seen, lambda s: not all(s["pictures"])) == []


def test_every_slide_has_speaker_notes(seen):
    assert numbers(seen, lambda s: s["notes"] < 10) == []


def test_the_lines_of_a_chinese_table_end_below_each_other(folder, chromium):
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    page.goto((folder / "zh" / "02_row_tiles.html").as_uri())
    page.wait_for_selector(".reveal.ready")
    table = page.locator("pre.output", has_text="合计").first
    page.evaluate(
        "e => Reveal.slide(Reveal.getIndices(e.closest('section')).h)", table.element_handle()
    )
    assert ends_of_numbers(page, "pre.output") < 0.1
    page.close()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("slug", SAMPLE)
def test_a_pdf_has_one_page_a_slide(folder, slug, language):
    path = folder / language / f"{slug}.pdf"
    html = path.with_suffix(".html").read_text(encoding="utf-8")
    pages = re.findall(rb"/Type\s*/Page\b", path.read_bytes())
    assert len(pages) == html.count('<div class="face">') > 10


def test_the_speaker_view_shows_notes_and_the_next_slide(folder, chromium):
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.goto((folder / "en" / "04_online_softmax.html").as_uri())
    page.wait_for_selector(".reveal.ready")
    page.evaluate("Reveal.slide(1)")
    with context.expect_page() as opened:
        page.keyboard.press("s")
    view = opened.value
    view.get_by_text("Scores arrive one after another").wait_for()
    for name, heading in (("current", "A maximum that is only"), ("upcoming", "Four terms")):
        frame = view.frame_locator(f"#{name}-slide iframe")
        frame.locator("section.present .face").get_by_text(heading).wait_for()
    context.close()


def test_licences_and_the_five_key_pictures_lie_beside_the_decks(folder):
    for name in ("LICENSE", "LICENSE-TEXT", "lib/reveal/LICENSE", "lib/mathjax/LICENSE"):
        assert len((folder / name).read_text(encoding="utf-8")) > 500, name
    for number in ("01", "04", "05", "06", "07"):
        (path,) = [p for p in folder.glob(f"pictures/{number}_*.svg") if "-" not in p.stem]
        assert "<svg" in path.read_text(encoding="utf-8")
