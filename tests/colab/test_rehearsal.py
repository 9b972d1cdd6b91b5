"""Every lesson as the single file that a learner uploads, alone in an empty folder, with the package
versions of Colab's image (its CPU, its front end not included). Part of `make test-all`."""

import os
import subprocess
from pathlib import Path

import pytest

from authoring.build import Plan, build_colab
from authoring.course import LANGUAGES, read_course

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-colab" / "bin" / "python"
RUN = Path(__file__).with_name("run_alone.py")
LESSONS = [lesson.slug for lesson in read_course(ROOT).lessons]


@pytest.fixture(scope="module", autouse=True)
def colab():
    if not PYTHON.exists():
        if os.environ.get("CI") == "true":
            pytest.fail("the environment of Colab's versions is missing: make test-all creates it")
        pytest.skip("no environment of Colab's versions here: make test-all creates it")
    build_colab(ROOT, Plan(), lambda line: None)


@pytest.mark.slow
@pytest.mark.parametrize("slug", LESSONS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_single_file_runs_alone(slug, language, tmp_path):
    notebook = ROOT / "dist" / "colab" / language / f"{slug}.ipynb"
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHONPATH", "TRITON_"))
    }
    environment |= {"CUDA_VISIBLE_DEVICES": ""}
    run = subprocess.run(
        [PYTHON, RUN, notebook],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert run.returncode == 0, run.stderr[-3000:]
