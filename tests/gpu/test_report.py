"""The report of `make gpu` from recorded values: complete, and from what an interrupted run leaves."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.report import write_report
from utils.measurements import h200_forward as recorded

ROOT = Path(__file__).parents[2]
VALUES = {name: value for name, value in vars(recorded).items() if name.isupper()}


def page(tmp_path, values):
    write_report(tmp_path / "report.html", values)
    return (tmp_path / "report.html").read_text(encoding="utf-8")


def test_it_names_card_versions_and_date(tmp_path):
    text = page(tmp_path, VALUES)
    for name in ("CARD", "DRIVER", "TORCH", "TRITON", "DATE"):
        assert VALUES[name] in text


def test_every_speed_stands_in_the_table(tmp_path):
    text = page(tmp_path, VALUES)
    cells = re.findall(r"<td class=n>([\d.]+)</td>", text)
    assert all(str(row["tflops"]) in cells for row in VALUES["SPEED"])


def test_it_needs_nothing_beside_itself(tmp_path):
    sources = re.findall(r'src="(.{22})', page(tmp_path, VALUES))
    assert sources and set(sources) == {"data:image/png;base64,"}
    assert "http" not in page(tmp_path, VALUES)


@pytest.mark.parametrize("missing", [("CEILINGS", "SPEED", "MEMORY"), ("MEMORY",), ("SPEED",)])
def test_an_interrupted_run_gets_its_page(tmp_path, missing):
    page(
        tmp_path,
        {
            name: [] if name in missing[1:] else value
            for name, value in VALUES.items()
            if name != missing[0]
        },
    )


def test_the_command_makes_it_from_a_measurements_file(tmp_path):
    file = ROOT / "utils/measurements/h200_forward.py"
    command = [sys.executable, "tests/gpu/report.py", file, tmp_path / "report.html"]
    subprocess.run(command, cwd=ROOT, check=True)
    assert VALUES["CARD"] in (tmp_path / "report.html").read_text(encoding="utf-8")
