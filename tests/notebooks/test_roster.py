"""A roster from Excel goes into the gradebook, or the message says what to change."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from tests.notebooks.assignments import ROOT
from tests.notebooks.courses import environment

pytestmark = [pytest.mark.slow, pytest.mark.weekly]

ROWS = [["id", "first_name", "last_name"], ["ann", "Änne", "Smith, Jr"], ["bob", "", "Jones"]]
COMMAS = 'id,first_name,last_name\r\nann,Änne,"Smith, Jr"\r\nbob,,Jones\r\n'
SEMICOLONS = "id;first_name;last_name\r\nann;Änne;Smith, Jr\r\nbob;;Jones\r\n"


def import_roster(folder: Path, content: bytes) -> subprocess.CompletedProcess[str]:
    """Import a roster with nbgrader's own command, in a course in an empty folder."""
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    (folder / "course").mkdir()
    (folder / "roster.csv").write_bytes(content)
    return subprocess.run(
        [sys.executable, "-m", "nbgrader", "db", "student", "import", "roster.csv"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "content",
    [COMMAS.encode(), COMMAS.encode("utf-8-sig"), SEMICOLONS.encode("utf-8-sig")],
    ids=["plain", "byte-order-mark", "semicolons"],
)
def test_a_roster_of_excel_is_read(content: bytes, tmp_path: Path) -> None:
    done = import_roster(tmp_path, content)
    assert done.returncode == 0, done.stdout
    with Gradebook(f"sqlite:///{tmp_path / 'course' / 'gradebook.db'}") as gradebook:
        found = [[each.id, each.first_name or "", each.last_name] for each in gradebook.students]
    assert sorted(found) == ROWS[1:]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (SEMICOLONS.encode("cp1252"), "CSV UTF-8"),
        (COMMAS.encode("utf-16"), "CSV UTF-8"),
        (COMMAS.replace("id", "Matrikel").encode(), "no column id; its columns are: Matrikel,"),
        (b"", "no column id; its columns are: none"),
    ],
    ids=["windows", "utf-16", "no-id", "empty"],
)
def test_a_roster_that_cannot_be_read_says_why(
    content: bytes, expected: str, tmp_path: Path
) -> None:
    done = import_roster(tmp_path, content)
    assert done.returncode == 1
    assert expected in done.stdout
    assert "Traceback" not in done.stdout
