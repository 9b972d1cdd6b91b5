"""A learner's JupyterLab on a copy of lesson 01, and a page of Chromium that looks at it."""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LESSON = Path("notebooks/en/01_block_matrix.ipynb")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# where each line of a printed table ends, of the first <pre> below `part` that has this word
ENDS = """([part, word]) => {
  const pre = [...document.querySelectorAll(part)].find(e => e.textContent.includes(word));
  const range = document.createRange(), text = [], ends = [];
  const walk = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) text.push(walk.currentNode);
  for (const node of text) for (const line of node.data.matchAll(/[^\\n]+/g)) {
    range.setStart(node, line.index + line[0].length - 1);
    range.setEnd(node, line.index + line[0].length);
    const box = range.getBoundingClientRect();
    ends.push([line[0], box.right, box.width]);
  }
  return ends;
}"""


def ends_of_numbers(page, part):
    """Return how far apart, in Latin columns, the lines of the Chinese table of bytes end."""
    lines = [line for line in page.evaluate(ENDS, [part, "合计"]) if "：" not in line[0]]
    table = [line for line in lines if line[0].startswith(("  ", "K ", "Q ", "合计"))]
    assert len(table) > 2 and table[-1][0].startswith("合计")
    right = [right for _, right, _ in table]
    return (max(right) - min(right)) / table[-1][2]


def missing(what):
    """In CI nothing of this may be missing; elsewhere say what is, and skip."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(url, server, log):
    for _ in range(240):
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.25)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text(encoding='utf-8')}")


@pytest.fixture(scope="module")
def chromium():
    """Return a running browser, the system's own Chromium."""
    try:
        from playwright import sync_api
    except ImportError:
        missing("playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        missing("no Chromium on PATH")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=[".venv", ".venv-colab"], ids=["lab4", "lab3"])
def lab(request, tmp_path_factory):
    """Return (address of the lesson, its file, the start of JupyterLab's version)."""
    python = Path(sys.executable)
    if request.param == ".venv-colab":
        python = ROOT / ".venv-colab" / "bin" / "python"
        if not python.exists():
            missing(f"Colab's versions are not installed: no {python}")
    if not (ROOT / LESSON).exists():
        missing(f"{LESSON} has not been built")
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "utils", home / "course" / "utils")
    (home / "course" / LESSON).parent.mkdir(parents=True)
    shutil.copy(ROOT / LESSON, home / "course" / LESSON)
    port, token = free_port(), secrets.token_hex()
    log = home / "log.txt"
    with log.open("w", encoding="utf-8") as out:
        server = start(python, home, port, token, out)
    try:
        wait_for(f"http://127.0.0.1:{port}/api?token={token}", server, log)
        address = f"http://127.0.0.1:{port}/lab/tree/{LESSON}?reset&token={token}"
        yield address, home / "course" / LESSON, "4." if request.param == ".venv" else "3."
    finally:
        server.terminate()
        server.wait(timeout=30)


def start(python, home, port, token, out):
    """Start JupyterLab with the learner's settings and nothing of this user's own."""
    folders = {f"JUPYTER_{kind}_DIR": str(home / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    folders |= {f"JUPYTERLAB_{kind}_DIR": str(home / kind) for kind in ("SETTINGS", "WORKSPACES")}
    settings = {"JUPYTER_CONFIG_PATH": str(ROOT / "authoring" / "lab")}
    path = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("COURSE_", "JUPYTER"))}
    options = [
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={home / 'course'}",
    ]
    return subprocess.Popen(
        [str(python), "-m", "jupyterlab", *options],
        env=kept | folders | settings | path,
        cwd=home / "course",
        stdout=out,
        stderr=subprocess.STDOUT,
    )
