"""A picture and its widgets, under the ipywidgets of JupyterLab 4 and under Colab's 7.7.1."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from utils.draw import show
from utils.draw.controls import Slider
from utils.draw.palette import canvas

ROOT = Path(__file__).parents[3]
COLAB = ROOT / ".venv-colab" / "bin" / "python"


def run_facts(python):
    """Return what widget_facts.py saw under one Python, warnings being errors in our modules."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COURSE_")}
    done = subprocess.run(
        [str(python), str(Path(__file__).with_name("widget_facts.py"))],
        env=environment | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(
    scope="module", params=["8", pytest.param("7.7.1", marks=pytest.mark.slow)], ids="v{}".format
)
def facts(request):
    if request.param == "8":
        found = run_facts(sys.executable)
    elif COLAB.exists():
        found = run_facts(COLAB)
    elif os.environ.get("CI") == "true":
        pytest.fail(f"{COLAB} is missing: CI tries the widgets under Colab's versions")
    else:
        pytest.skip(f"Colab's versions are not installed in {COLAB.parents[1]}")
    assert found["ipywidgets"].startswith(request.param)
    return found


def test_one_image_beside_the_widgets(facts):
    assert (facts["shown"], facts["widget_views"]) == (1, 2)


def test_alternative_text_is_in_data_and_metadata(facts):
    assert facts["alt"] == ["in words", "in words"]


def test_a_move_replaces_the_image_in_place(facts):
    assert facts["replaced"] and facts["moved"]


def test_dependent_bound_follows_and_comes_back(facts):
    assert facts["bound"] == [2, 2]  # 6 keys in tiles of 4: tile 3 is gone, its slider stands on 2
    assert facts["bound_back"] == 6


def test_one_move_is_one_redraw(facts):
    assert facts["redraws_when_a_bound_moves"] == 1


def test_an_error_is_shown_and_keeps_the_last_image(facts):
    assert facts["error"] == "<pre>ValueError: &lt;no such shift&gt;</pre>"
    assert facts["images_after_error"] == 0


def test_an_error_behind_a_moved_bound_is_shown_too(facts):
    assert facts["error_behind_a_bound"] == "<pre>KeyError: 2</pre>"


def test_an_error_goes_with_the_next_move(facts):
    assert (facts["error_gone"], facts["images_after_repair"]) == ("", 1)


def test_no_figure_outlives_its_redraw(facts):
    assert facts["redraws"] == 30
    assert facts["figures_alive"] <= 1


def test_pyplot_stays_out(facts):
    assert facts["pyplot"] is False


def test_labels_speak_the_notebooks_language(facts):
    assert facts["chinese"] == "Q 的第 i 块"


def test_static_builds_hold_the_image_alone_with_equal_bytes(facts):
    assert facts["static"] == [["image/png", "text/plain"]] * 2
    assert facts["same_bytes"]


def draw_one(n):
    return canvas(n, n)[0]


def test_without_ipywidgets_a_still_picture_and_one_line(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(show, "ipywidgets", None)
    monkeypatch.setattr(show, "display", lambda data, **_: shown.append(data))
    show.show(draw_one, {"n": Slider("n", 1, 3, 2)})
    assert [list(data) for data in shown] == [["image/png", "text/plain"]]
    assert capsys.readouterr().out == "A still picture: ipywidgets is missing.\n"


def test_an_error_in_the_first_drawing_is_the_cells_own(monkeypatch):
    monkeypatch.setattr(show, "display", lambda *_, **__: pytest.fail("nothing to display"))
    with pytest.raises(ZeroDivisionError):
        show.show(lambda n: 1 / n, {"n": Slider("n", 0, 3, 0)})
