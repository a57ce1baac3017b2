"""The zip of the course that the site offers: whole, the same each time, and of use without git."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import course_zip
from tools.inputs import ROOT

pytestmark = pytest.mark.weekly

# What git holds although .gitignore names its folder; only instructors look there.
NEEDS_GIT = {"course/.gitignore", "course/README.md"}


def names(packed: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return [name.removeprefix(f"{course_zip.FOLDER}/") for name in archive.namelist()]


@pytest.fixture(scope="module")
def packed() -> bytes:
    return course_zip.pack(ROOT)


@pytest.fixture(scope="module")
def unpacked(packed: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("somewhere")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(folder)
    return folder / course_zip.FOLDER


def test_the_same_files_give_the_same_bytes(unpacked: Path) -> None:
    packed = course_zip.pack(unpacked)
    os.utime(unpacked / "Makefile", (10**9, 10**9))
    assert course_zip.pack(unpacked) == packed
    assert names(packed) == sorted(names(packed))


def test_it_holds_what_the_book_and_the_exercises_are_made_of(packed: bytes) -> None:
    held = set(names(packed))
    assert {"Makefile", "README.md", "lab.py", "LICENSE", "requirements.lock", "_toc.yml"} <= held
    assert {"book/attention.ipynb", "exercises/attention/attention.ipynb"} <= held
    assert ("solutions/attention/attention.ipynb" in held) is course_zip.shows_solutions(ROOT)
    assert not [name for name in held if name.startswith(("_build", ".venv", ".git/", "my-work"))]


def test_the_course_works_where_it_is_unpacked(unpacked: Path) -> None:
    set_up = [sys.executable, "-m", "tools.environment", "--help"]
    done = subprocess.run(set_up, cwd=unpacked, capture_output=True, text=True, check=True)
    assert "--venv" in done.stdout
    for target, module in (("lab", "tools.lab"), ("book", "tools.build_book")):
        command = ["make", "--dry-run", target]
        done = subprocess.run(command, cwd=unpacked, capture_output=True, text=True, check=True)
        assert "-m tools.environment" in done.stdout
        assert f"-m {module}" in done.stdout
    # They start, on what is in the zip alone.
    for module in ("tools.lab", "tools.build_book"):
        command = [sys.executable, "-m", module, "--help"]
        subprocess.run(
            command,
            cwd=unpacked,
            env={**os.environ, "PYTHONPATH": str(unpacked)},
            capture_output=True,
            check=True,
        )


def test_the_unpacked_course_packs_itself(unpacked: Path, packed: bytes) -> None:
    """Without git, and without what a class or its work has left there."""
    for name in ("my-work/a.ipynb", "gradebook.db", "roster.csv", "course/b", "book/__pycache__/c"):
        (unpacked / name).parent.mkdir(exist_ok=True)
        (unpacked / name).write_text("private")
    assert set(names(packed)) - set(names(course_zip.pack(unpacked))) <= NEEDS_GIT
    assert set(names(course_zip.pack(unpacked))) <= set(names(packed))


def test_solutions_that_are_not_in_the_book_are_not_in_the_zip(unpacked: Path) -> None:
    contents = unpacked / "_toc.yml"
    whole = contents.read_text(encoding="utf-8")
    left = [line for line in whole.splitlines() if "solutions/" not in line]
    contents.write_text("\n".join(left), encoding="utf-8")
    held = names(course_zip.pack(unpacked))
    contents.write_text(whole, encoding="utf-8")
    assert not [name for name in held if name.startswith(("solutions/", "tests/"))]
    assert "exercises/attention/attention.ipynb" in held
