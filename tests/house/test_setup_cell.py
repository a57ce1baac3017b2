"""The first cell of a notebook, where the course has an address: run in an environment without it.

Everything else comes from the package index of this machine.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import venv
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tools import environment, notebooks

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where this repository can be cloned from over HTTP, as from its public address."""
    copy = tmp_path / "served/course.git"
    subprocess.run(["git", "clone", "--quiet", "--bare", ROOT, copy], check=True)
    subprocess.run(["git", "-C", copy, "update-server-info"], check=True)
    serve = partial(SimpleHTTPRequestHandler, directory=str(copy.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/course.git"
        server.shutdown()


@pytest.mark.weekly
@pytest.mark.network
def test_it_installs_what_an_exercise_needs(tmp_path: Path, address: str) -> None:
    folder = tmp_path / "bare"
    venv.create(folder, with_pip=True)
    python = environment.python_of(folder)
    # What Colab has: IPython and torch, here the small one.
    settings = environment.variables_for_uv(environment.pip_settings(Path(sys.executable)))
    uv = [sys.executable, "-m", "uv", "pip", "install", "--no-config", "--python", str(python)]
    subprocess.run([*uv, "ipython", environment.locked("torch")], env=settings, check=True)
    cell = tmp_path / "cell.ipy"
    cell.write_text(
        f"{notebooks.setup_source(address)}\n"
        "import transformer_checks, transformer_ref\n"
        "print(transformer_ref.__file__)"
    )
    command = [str(python), "-m", "IPython", "--no-banner", str(cell)]
    run = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert Path(run.stdout.splitlines()[-1]).is_relative_to(folder)
