"""Each extra brings all that its part imports: tried with everything else out of reach."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.weekly

# What each installation is for. Chapters draw with transformer_ref.plotting, which needs `book`.
MODEL = """
import pkgutil, transformer_ref
for module in pkgutil.iter_modules(transformer_ref.__path__, "transformer_ref."):
    if not module.name.endswith(("__main__", "plotting")):
        __import__(module.name)
"""
TOKENIZER = """
from transformer_ref.tokenizers import BPETokenizer
BPETokenizer.train(["low lower lowest"], 260)
"""
GRADE = """
import torch
from transformer_checks import grade
right = lambda query, key: query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
wrong = lambda query, key: query @ key.transpose(-2, -1)
assert grade("attention.attention_scores", right).score == 1
assert grade("attention.attention_scores", wrong).misconception == "no-scale"
"""
CLASS = """
import nbgrader.apps.formgradeapp
from transformer_checks.classroom import course, for_gradebook, for_nbgrader, student
"""
# A module of a distribution that was not installed is not found.
WITHOUT = """
import sys
class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, *where):
        hidden = name.partition(".")[0] in {hidden!r}
        return None if hidden else self.finder.find_spec(name, *where)
sys.meta_path[:] = map(Hiding, sys.meta_path)
"""


def installed_by(extras: set[str], of: str = "transformer-ref") -> set[str]:
    """The distributions that an installation with these extras brings, by their names."""
    found: set[str] = set()
    waiting = [(of, frozenset(extras))]
    seen = set(waiting)
    while waiting:
        name, wanted = waiting.pop()
        found.add(name)
        needs: list[str] = []
        with suppress(PackageNotFoundError):  # such as what the lock leaves out
            needs = requires(name) or []
        for text in needs:
            need = Requirement(text)
            if need.marker is None or any(
                need.marker.evaluate({"extra": extra}) for extra in (wanted or {""})
            ):
                one = (need.name.lower().replace("_", "-"), frozenset(need.extras))
                if one not in seen:
                    seen.add(one)
                    waiting.append(one)
    return found


@pytest.mark.parametrize(
    ("extras", "code"),
    [
        (set(), MODEL),
        ({"text"}, MODEL + TOKENIZER),
        ({"checks"}, GRADE),
        ({"exercises"}, MODEL + TOKENIZER + GRADE + CLASS),
    ],
    ids=["none", "text", "checks", "exercises"],
)
def test_an_extra_brings_what_its_part_imports(extras: set[str], code: str) -> None:
    brought = installed_by(extras)
    hidden = {
        module
        for module, owners in packages_distributions().items()
        if not brought & {owner.lower().replace("_", "-") for owner in owners}
    }
    assert "sphinx" in hidden
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(hidden=hidden) + code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_wheel_holds_both_packages_with_their_data(tmp_path: Path) -> None:
    clone = tmp_path / "clone"  # setuptools leaves a folder where it builds
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", str(clone), "--no-deps"),
            *("--no-build-isolation", "--quiet", "--wheel-dir", str(tmp_path)),
        ],
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "transformer_ref", "transformer_checks"],
        cwd=clone,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert [name for name in set(tracked) - names if not name.endswith("README.md")] == []
