"""What a student's folder may hold: how files are read before anything of them is executed."""

from __future__ import annotations

import codecs
import json
from pathlib import Path

import pytest

from tests.notebooks.assignments import read
from tests.notebooks.test_round_trip import SLUG, solved
from transformer_ref.checks.classroom.course import require_usable_ids
from transformer_ref.checks.classroom.submission import (
    Submission,
    code_cells,
    read_submission,
)


def submitted(folder: Path, timestamp: str | None = None, mark: bytes = b"") -> Submission:
    """Hand in the solved notebook, behind a mark, with a time; return how it is read."""
    notebook = folder / f"{SLUG}.ipynb"
    notebook.write_bytes(mark + json.dumps(solved()).encode("utf-8"))
    if timestamp is not None:
        (folder / "timestamp.txt").write_text(timestamp, encoding="utf-8")
    return read_submission(folder, read("exercises", SLUG), SLUG)


def test_a_byte_order_mark_costs_nothing(tmp_path: Path) -> None:
    marked = submitted(tmp_path, mark=codecs.BOM_UTF8)
    assert marked.problem == ""
    assert code_cells(marked.notebook) == code_cells(submitted(tmp_path).notebook)


@pytest.mark.parametrize(
    "timestamp",
    [
        "2027-03-02 18:00:00 UTC",
        "2027-03-02 18:00:00.123456 America/Los_Angeles",
        "2027-03-02T18:00:00+01:00",
        "2027-03-02 18:00\n",
    ],
)
def test_a_time_that_begins_with_the_year_counts(tmp_path: Path, timestamp: str) -> None:
    submission = submitted(tmp_path, timestamp)
    assert submission.remark == ""
    assert submission.time == timestamp.strip()


@pytest.mark.parametrize(
    "timestamp",
    ["02.03.2027", "02/03/2027 18:00", "3 Feb 2027", "yesterday", "", "2027-02-30 18:00", "18:00"],
)
def test_any_other_time_is_refused_with_the_form_that_is_taken(
    tmp_path: Path, timestamp: str
) -> None:
    submission = submitted(tmp_path, timestamp)
    assert "timestamp.txt holds no time in the form 2027-03-02 18:00:00 UTC" in submission.remark
    assert submission.time == ""


def test_a_file_of_that_name_in_a_folder_is_no_time(tmp_path: Path) -> None:
    """It may hold anything, and must not stop the grading of the others."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "timestamp.txt").write_bytes(b"\xfcber")
    submission = submitted(tmp_path)
    assert (submission.problem, submission.remark, submission.time) == ("", "", "")


def test_ids_that_people_have_are_usable() -> None:
    require_usable_ids(["ann", "bob.smith@example.org", "O'Neil, Jr", "s+1", "Jürgen", "42 (b)"])


@pytest.mark.parametrize(
    "name", ["[abc]", "kai[1]", "a*", "who?", "{x}", "a/b", "a\\b", "a\nb", ".x"]
)
def test_an_id_that_is_a_pattern_is_refused_by_name(name: str) -> None:
    with pytest.raises(SystemExit, match="Student ids must not have") as caught:
        require_usable_ids(["ann", name])
    assert repr(name) in str(caught.value)
    assert "ann" not in str(caught.value)
