"""Print decks with the system's Chromium, one page a slide."""

import shutil
from collections.abc import Callable
from pathlib import Path

QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
).split()


def print_decks(decks: list[Path], report: Callable[[str], None] = print) -> None:
    """Write a PDF beside each deck."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("no Chromium on PATH: print the deck from a browser, with ?print-pdf")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=QUIET)
        page = browser.new_page()
        for deck in decks:
            page.goto(f"{deck.as_uri()}?print-pdf")
            page.wait_for_selector("html.print-pdf .pdf-page")
            page.wait_for_function("document.fonts.status == 'loaded'")
            page.pdf(
                path=deck.with_suffix(".pdf"), prefer_css_page_size=True, print_background=True
            )
            report(f"written   {deck.with_suffix('.pdf')}")
        browser.close()
