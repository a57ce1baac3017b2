"""Kernels that begin with torch imported are otherwise like any other."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tools.inputs import ROOT

pytestmark = pytest.mark.weekly


def run_with_nbval(folder: Path, cells: list[str], *options: str) -> str:
    """Run cells that print nothing; return what pytest says."""
    path = folder / "chapter.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells]), path)
    command = ["-m", "pytest", "-q", "--nbval", "--nbval-current-env", "-p", "tools.warm_kernels"]
    done = subprocess.run(
        [sys.executable, *command, *options, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return done.stdout


def test_torch_is_loaded_and_no_name_is_bound(tmp_path: Path) -> None:
    cells = [
        "import os, sys\nassert 'torch' in sys.modules and 'torch' not in globals()",
        f"assert (__name__, os.getcwd()) == ('__main__', {str(tmp_path)!r})",
        "import matplotlib\nassert 'inline' in matplotlib.get_backend()",
    ]
    assert f"{len(cells)} passed" in run_with_nbval(tmp_path, cells)


def test_a_cell_that_never_ends_is_interrupted(tmp_path: Path) -> None:
    report = run_with_nbval(tmp_path, ["while True: pass", "a = 1"], "--nbval-cell-timeout=2")
    assert "1 failed" in report
    assert "exceeded" in report
