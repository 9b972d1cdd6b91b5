"""The site as a reader meets it: every page, light and dark, wide and on a phone, by keyboard."""

import functools
import http.server
import threading
from types import SimpleNamespace

import pytest

from authoring.build import Plan, build_colab
from authoring.course import LANGUAGES, read_course
from tests.browser.conftest import ROOT, ends_of_numbers, missing

pytestmark = pytest.mark.browser

LESSONS = [lesson.slug for lesson in read_course(ROOT).lessons]
PAGES = ["index.html", "licenses/index.html"] + [
    f"{language}/{name}.html" for language in LANGUAGES for name in ("index", "search", *LESSONS)
]
LOOKS = {
    "wide-light": {"viewport": {"width": 1300, "height": 900}, "color_scheme": "light"},
    "phone-dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}
TOO_WIDE = """() => [...document.querySelectorAll("body, body *")].filter(e =>
    e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === "visible"
    && e.getBoundingClientRect().left + e.scrollWidth > innerWidth + 1
    && !e.closest("pre, table, mjx-container, .cell_output, dialog")).map(e => e.outerHTML.slice(0, 80))"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        """Say nothing of each request."""


@pytest.fixture(scope="module")
def site():
    """Return the address of a freshly built site."""
    try:
        from authoring.site.build import build_site
    except ImportError as error:
        missing(f"the extra `site` is not installed: {error}")
    build_site(ROOT, lambda line: None)
    handler = functools.partial(Quiet, directory=ROOT / "dist" / "site")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def visit(page, site, path):
    """Open a page; return what went wrong on the way, and the hosts that it asked."""
    seen = SimpleNamespace(faults=[], addresses=[])
    page.on("request", lambda request: seen.addresses.append(request.url))
    page.on("requestfailed", lambda request: seen.faults.append(f"failed: {request.url}"))
    page.on("pageerror", lambda error: seen.faults.append(str(error)))
    page.on("response", lambda r: r.status >= 400 and seen.faults.append(f"{r.status} {r.url}"))
    page.on("console", lambda m: m.type in ("error", "warning") and seen.faults.append(m.text))
    page.goto(f"{site}/{path}")  # waits for all that the page asks for at first
    if page.locator("script[src*=mathjax]").count():
        page.wait_for_function("() => window.MathJax?.startup?.promise")
        page.evaluate("() => MathJax.startup.promise")
        page.evaluate("() => document.fonts.ready.then(() => true)")
    return seen


@pytest.fixture
def page(chromium):
    page = chromium.new_page(**LOOKS["wide-light"])
    yield page
    page.close()


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_from_here_alone_and_fits(path, look, site, chromium):
    page = chromium.new_page(**LOOKS[look])
    seen = visit(page, site, path)
    assert seen.faults == []
    outside = [url for url in seen.addresses if not url.startswith((site, "data:", "blob:"))]
    assert outside == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(TOO_WIDE) == []
    broken = "() => [...document.images].filter(i => !i.naturalWidth).map(i => i.src)"
    assert page.evaluate(broken) == []
    assert page.locator("mjx-merror").count() == 0
    words = page.locator("article img").evaluate_all("all => all.map(i => i.alt)")
    assert all(len(alt) > 20 for alt in words), words  # in the right language: test_pages.py
    if path.count("/") and not path.startswith("licenses"):
        language, name = path.split("/")
        other = {"en": "zh", "zh": "en"}[language]
        switch = page.locator(".course-switch").get_attribute("href")
        assert switch == f"../{other}/{name}"
    page.close()


def test_the_lines_of_a_chinese_table_end_below_each_other(site, page):
    visit(page, site, "zh/02_row_tiles.html")
    assert ends_of_numbers(page, ".cell_output pre") < 0.1


@pytest.mark.parametrize("name", ["index", "search", LESSONS[4]])
def test_the_switch_leads_to_the_same_page_and_back(name, site, page):
    visit(page, site, f"en/{name}.html")
    for language, tag in (("zh", "zh-CN"), ("en", "en")):
        page.locator(".course-switch").click()
        page.wait_for_url(f"{site}/{language}/{name}.html")
        assert page.locator("html").get_attribute("lang") == tag


@pytest.mark.parametrize(
    ("language", "query", "lesson"),
    [
        ("en", "rescale", "04_online_softmax"),
        ("en", "merging", "05_state_merging"),
        ("zh", "归纳法", "04_online_softmax"),
        ("zh", "状态合并", "05_state_merging"),
        ("zh", "因果掩码", "07_causal_tiles"),
        ("zh", "安全softmax", "03_safe_softmax"),
    ],
)
def test_search_finds_the_lesson(language, query, lesson, site, page):
    seen = visit(page, site, f"{language}/search.html?q={query}")
    page.locator("#search-results li a").first.wait_for(timeout=10_000)
    found = page.locator("#search-results li a").evaluate_all("all => all.map(a => a.href)")
    assert any(f"/{language}/{lesson}.html" in address for address in found), found
    assert seen.faults == []


def test_search_that_finds_nothing_says_so(site, page):
    visit(page, site, "zh/search.html?q=量子色动力学")
    page.locator("#search-results p.search-summary").wait_for(timeout=10_000)
    page.wait_for_timeout(1000)
    assert page.locator("#search-results li").count() == 0


@pytest.mark.parametrize("look", LOOKS)
def test_search_and_switch_are_reached_by_keyboard(look, site, chromium):
    page = chromium.new_page(**LOOKS[look])
    visit(page, site, "en/04_online_softmax.html")
    focused = tab_to(page, ".course-switch")
    assert focused["outline"], "what has the focus must show it"
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site}/zh/04_online_softmax.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("归纳法")
    page.keyboard.press("Enter")
    page.wait_for_url("**/zh/search.html?q=*")
    page.locator("#search-results li a").first.wait_for(timeout=10_000)
    page.close()


def tab_to(page, selector):
    """Press Tab until an element of this selector has the focus; return how it shows that."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(f"() => document.activeElement.matches('{selector}')"):
            return page.evaluate(
                "() => {const s = getComputedStyle(document.activeElement);"
                "return {outline: s.outlineStyle !== 'none' || s.boxShadow !== 'none'}}"
            )
    pytest.fail(f"sixty times Tab do not reach {selector}")


def test_a_dark_page_is_dark_and_its_text_light(site, chromium):
    page = chromium.new_page(**LOOKS["phone-dark"])
    visit(page, site, "en/04_online_softmax.html")
    light = """e => {const [r, g, b] = getComputedStyle(e)[PART].match(/[\\d.]+/g).map(Number);
                     return (r + g + b) / 765}"""
    assert page.locator("body").evaluate(light.replace("PART", "'backgroundColor'")) < 0.2
    for part in ("article p", "article mjx-container", "article pre", "article summary"):
        assert page.locator(part).first.evaluate(light.replace("PART", "'color'")) > 0.7, part
    page.close()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_solution_is_hidden_until_it_is_opened(language, site, page):
    visit(page, site, f"{language}/04_online_softmax.html")
    answer = page.locator("details.hide pre").first
    assert not answer.is_visible()
    page.locator("details.hide summary").first.click()
    assert answer.is_visible() and "return" in answer.inner_text()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_download_is_the_file_that_runs_alone(language, site, page, tmp_path):
    visit(page, site, f"{language}/01_block_matrix.html")
    with page.expect_download() as download:
        page.locator("a[download]").click()
    build_colab(ROOT, Plan(("01_block_matrix",)), lambda line: None, into=tmp_path)
    single = tmp_path / language / "01_block_matrix.ipynb"
    assert download.value.suggested_filename == single.name
    assert open(download.value.path(), encoding="utf-8").read() == single.read_text("utf-8")


def test_every_part_of_the_site_has_its_licence_beside_it(site, page):
    visit(page, site, "licenses/index.html")
    folder = ROOT / "dist" / "site" / "licenses"
    named = page.locator("li a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert sorted(named) == sorted(p.name for p in folder.glob("*.txt"))
    for name, words in {
        "LICENSE.txt": "MIT License",
        "LICENSE-TEXT.txt": "CC BY 4.0",
        "django-static-mathjax-LICENSE.txt": "Apache License",
        "Font-Awesome.txt": "SIL OPEN FONT LICENSE",
        "Bootstrap.txt": "Permission is hereby granted",
    }.items():
        assert words in (folder / name).read_text(encoding="utf-8")
