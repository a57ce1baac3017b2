"""JoeyNMT in an environment of its own: installed at first use, and run in another process.

Its packages lie in a folder of the environment that runs the tests, so that they go when that
goes; torch and numpy come from there.  Nothing of JoeyNMT is imported here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tools import environment

HERE = Path(__file__).resolve().parent
LOCK = HERE / "requirements.lock"
FOLDER = Path(sys.prefix) / "joeynmt"


def install(lock: Path, folder: Path) -> None:
    """Install what the lock lists into the folder, unless it is there.

    Raises:
        subprocess.CalledProcessError: if uv fails; it has printed why.
    """
    stamp = folder / "requirements.lock"
    if stamp.exists() and stamp.read_bytes() == lock.read_bytes():
        return
    new = Path(tempfile.mkdtemp(dir=folder.parent, prefix="joeynmt-"))
    try:
        options = ("--quiet", "--no-deps", "--target", str(new), "--requirements", str(lock))
        environment.install(Path(sys.executable), *options)
        shutil.copy(lock, new / stamp.name)
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


@pytest.fixture(scope="session")
def joeynmt(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, dict[str, Tensor]]]:
    """What peer.py has written: norm, then part, then name, to a tensor."""
    try:
        install(LOCK, FOLDER)
    except subprocess.CalledProcessError as error:
        pytest.fail(f"JoeyNMT is needed for this comparison.\n{error}", pytrace=False)
    file = tmp_path_factory.mktemp("joeynmt") / "results.pt"
    variables = {**os.environ, "PYTHONPATH": str(FOLDER), "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(
        [sys.executable, HERE / "peer.py", file], env=variables, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return torch.load(file)
