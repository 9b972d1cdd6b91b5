"""Lesson 01 as a learner meets it: run all cells, move a slider, save; in JupyterLab 4 and 3.6."""

import time
from types import SimpleNamespace

import nbformat
import pytest

pytestmark = pytest.mark.browser

MENUS = ["File", "Edit", "View", "Run", "Kernel", "Tabs", "Settings", "Help"]
IMAGE = ".jp-OutputArea img"


@pytest.fixture(scope="module")
def seen(lab, chromium):
    """Drive the lesson once and return all that the tests ask about."""
    address, file, version = lab
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    see = SimpleNamespace(errors=watch(page), meant=version)
    open_lesson(page, address)
    see.menus = page.locator(".lm-MenuBar-itemLabel").all_inner_texts()
    see.version = page.locator("#jupyter-config-data").evaluate(
        "e => JSON.parse(e.text).appVersion"
    )
    choose(page, "Run", "Run All Cells")
    page.get_by_text("exercises passed").wait_for(timeout=60_000)  # printed by the last cell
    see.before = image_of(page)
    move(page, "tile of Q, i", "ArrowLeft")
    see.after = image_of(page, other_than=see.before)
    screenshots(page, file.parents[3] / f"lab{version[0]}")
    page.keyboard.press("Control+s")
    see.saved = wait_for_saved(file, see.after)
    see.body = page.locator("body").inner_text()
    see.errors = list(see.errors)  # before the copy, which has no kernel behind its sliders
    see.trusted, see.reopened = reopen_elsewhere(page, address, file)
    page.close()
    return see


def open_lesson(page, address):
    """Open the lesson and wait until its kernel is there: before, Run All runs nothing."""
    page.goto(address)
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=60_000)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)


def watch(page):
    """Return a list that fills with the page's errors."""
    errors = []

    def keep(message):
        own = "about:blank" in message.text + message.location["url"]  # a font of JupyterLab 3
        if message.type == "error" and not own:
            errors.append(message.text)

    page.on("console", keep)
    page.on("pageerror", lambda error: errors.append(str(error)))
    return errors


def choose(page, menu, *items):
    """Click through a menu of the menu bar."""
    page.locator(".lm-MenuBar-itemLabel").get_by_text(menu, exact=True).click()
    for item in items:
        label = page.locator(".lm-Menu-itemLabel").get_by_text(item, exact=True)
        label.hover()
        last = item == items[-1]
        label.click() if last else page.locator(".lm-Menu").nth(1).wait_for()


def move(page, label, key):
    """Press a key on the slider with this label."""
    row = page.locator(".widget-slider").filter(has_text=label)
    row.scroll_into_view_if_needed()
    row.locator(".noUi-handle, .ui-slider-handle").focus()  # ipywidgets 8, 7
    page.keyboard.press(key)


def image_of(page, other_than=None):
    """Return the one picture's PNG in base 64, once it is another one."""
    page.locator(IMAGE).first.wait_for(state="attached", timeout=60_000)  # outputs follow the cells
    for _ in range(100):
        (image,) = page.locator(IMAGE).all()
        source = image.get_attribute("src")
        if source != f"data:image/png;base64,{other_than}":
            return source.removeprefix("data:image/png;base64,")
        time.sleep(0.1)
    return other_than


def wait_for_saved(file, png):
    """Return the saved notebook, once it holds the picture, or what it is after ten seconds."""
    for _ in range(100):
        if png.strip() in file.read_text(encoding="utf-8").replace("\\n", ""):
            break
        time.sleep(0.1)
    return nbformat.read(file, as_version=4)


def screenshots(page, stem):
    """Leave the picture and its sliders in each theme for people to look at."""
    for theme in ("Light", "Dark"):
        choose(page, "Settings", "Theme", f"JupyterLab {theme}")
        flag = "true" if theme == "Light" else "false"
        page.wait_for_selector(f"body[data-jp-theme-light={flag}]", state="attached")
        page.wait_for_selector("#jupyterlab-splash", state="detached")
        page.locator(IMAGE).scroll_into_view_if_needed()
        page.screenshot(path=f"{stem}-{theme.lower()}.png")


def reopen_elsewhere(page, address, file):
    """Open a copy that this user never ran; return whether it is trusted, and its picture."""
    notebook = nbformat.read(file, as_version=4)
    notebook.cells[0].source += "\n"  # another content, so the signature no longer fits
    copy = file.with_name("copy.ipynb")
    nbformat.write(notebook, copy)
    contents = address.replace("/lab/tree/", "/api/contents/").replace(file.name, copy.name)
    cells = page.request.get(contents).json()["content"]["cells"]
    trusted = any(cell["metadata"].get("trusted") for cell in cells if cell.get("outputs"))
    open_lesson(page, address.replace(file.name, copy.name))
    return trusted, image_of(page)


def outputs(notebook):
    return [out for cell in notebook.cells for out in cell.get("outputs", ())]


def test_the_jupyterlab_meant_is_the_one_that_ran(seen):
    assert seen.version.startswith(seen.meant)


def test_all_cells_run_without_an_error_output(seen):
    codes = [cell for cell in seen.saved.cells if cell.cell_type == "code" and cell.source]
    assert all(cell.execution_count for cell in codes)
    assert [out for out in outputs(seen.saved) if out.output_type == "error"] == []
    assert [out for out in outputs(seen.saved) if out.get("name") == "stderr"] == []


def test_moving_a_slider_changes_the_picture(seen):
    assert seen.before != seen.after


def test_the_moved_picture_is_what_the_saved_notebook_holds_once(seen):
    saved = [
        out.data["image/png"] for out in outputs(seen.saved) if "image/png" in out.get("data", {})
    ]
    assert [png.replace("\n", "") for png in saved] == [seen.after]


def test_an_untrusted_copy_still_shows_the_moved_picture(seen):
    assert not seen.trusted
    assert seen.reopened == seen.after


def test_the_page_reports_no_error(seen):
    assert seen.errors == []


def test_a_learner_sees_no_grading_and_no_news(seen):
    assert seen.menus == MENUS
    assert "Nbgrader" not in seen.body and "Formgrader" not in seen.body
    assert "Would you like to get notified" not in seen.body
