"""What a student's folder may hold: how files are read before anything of them is executed."""

from __future__ import annotations

import codecs
import csv
import io
import json
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader.apps.baseapp import NbGrader

from tests.notebooks.assignments import read
from tests.notebooks.courses import Course, new_course
from tests.notebooks.test_round_trip import SLUG, index_of, solved
from transformer_checks.classroom.alike import find_alike
from transformer_checks.classroom.course import (
    Classroom,
    Row,
    require_usable_ids,
    table,
    table_as_csv,
)
from transformer_checks.classroom.sandbox import NoSandbox
from transformer_checks.classroom.submission import (
    RELEASED,
    Submission,
    code_cells,
    read_submission,
)
from transformer_checks.registry import SLUGS


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


@pytest.mark.parametrize("handed_in", ["{}", json.dumps(read("exercises", SLUG))])
def test_the_courses_own_text_is_told_from_a_students(tmp_path: Path, handed_in: str) -> None:
    """On a page, the first has its hints, and the second is shown as text."""
    (tmp_path / f"{SLUG}.ipynb").write_text(handed_in, encoding="utf-8")
    cells = read_submission(tmp_path, read("exercises", SLUG), SLUG).notebook.cells
    texts = {cell.id: cell.metadata.get(RELEASED) for cell in cells if cell.cell_type != "code"}
    assert texts.pop("title") is True
    answers = [cell for cell in cells if cell.metadata.get("nbgrader", {}).get("solution")]
    assert not [cell for cell in answers if cell.metadata[RELEASED]]
    assert [*texts.values()].count(None) == (handed_in == "{}")  # what says why it is not graded


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


def rows_of(course: Course, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str]]:
    """Return who has a row in the table, and who handed in and has none."""
    monkeypatch.chdir(course.root)
    app = NbGrader()
    app.initialize([])
    classroom = Classroom(SLUG, NoSandbox(), app)
    return [row.student for row in classroom.rows()], classroom.strangers


def test_everybody_who_handed_in_has_a_row_whoever_is_in_the_gradebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first students that a run grades are in the gradebook when it is killed."""
    course = new_course(tmp_path, SLUG)
    for student in ("ann", "bob"):
        course.hand_in(student, read("exercises", SLUG))
    with Gradebook(f"sqlite:///{course.root / 'course' / 'gradebook.db'}", "transformer") as book:
        book.add_student("ann")
    assert rows_of(course, monkeypatch) == (["ann", "bob"], [])

    roster = course.root / "roster.csv"
    roster.write_text("\ufefffirst_name, id\nCleo,cleo\n", encoding="utf-8")
    assert rows_of(course, monkeypatch) == (["ann", "cleo"], ["bob"])
    roster.write_text("name\nCleo\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"roster\.csv has no column id"):
        rows_of(course, monkeypatch)
    roster.unlink()

    course.hand_in("[dora]", read("exercises", SLUG))  # nbgrader would take it for a pattern
    with pytest.raises(SystemExit, match=r"\[dora\].*rename the folders"):
        rows_of(course, monkeypatch)


def test_the_same_code_is_found_whatever_its_comments_say() -> None:
    release, bob, cleo = read("exercises", SLUG), solved(), solved()
    dora, eve = read("exercises", SLUG), read("exercises", SLUG)
    name = "find-the-bug-solution"
    place = index_of(bob, name)
    bob.cells[place].source = (
        bob.cells[place].source.replace('"""Attend', '"""Now attend') + "  # !"
    )
    cleo.cells[place].source = cleo.cells[place].source.replace("head_size", "size")
    bad = "x = 1\n\ty = 2\0" + "(" * 9_000
    dora.cells[index_of(dora, name)].source = bad
    alike = find_alike(
        {"ann": solved(), "bob": bob, "cleo": cleo, "dora": dora, "eve": eve}, release, SLUG
    )
    assert alike["ann"]["find-the-bug"] == "the package, bob"
    assert alike["bob"]["find-the-bug"] == "the package, ann"
    assert alike["ann"]["multi-head-attention"] == "the package, bob, cleo"
    assert "find-the-bug" not in alike["cleo"]
    assert "split-heads" not in alike["ann"], "honest answers of one line are alike"
    assert alike["dora"] == alike["eve"] == {}, "what was handed out is nobody's code"


def test_of_many_with_the_same_code_some_are_named() -> None:
    students = {f"s{number}": solved() for number in range(9)}
    alike = find_alike(students, read("exercises", SLUG), SLUG)
    assert alike["s0"]["find-the-bug"] == "the package, s1, s2, s3 and 5 more"
    assert alike["s8"]["find-the-bug"] == "the package, s0, s1, s2 and 5 more"


@pytest.mark.parametrize("slug", SLUGS)
def test_a_solution_is_the_packages_code_and_a_release_nobodys(slug: str) -> None:
    solution, release = read("solutions", slug), read("exercises", slug)
    alike = find_alike({"ann": solution, "bob": release, "cleo": release}, release, slug)
    assert alike["bob"] == alike["cleo"] == {}
    assert set(alike["ann"].values()) == {"the package"}


def test_the_table_says_whose_code_it_is(tmp_path: Path) -> None:
    both = dict.fromkeys(("find-the-bug", "multi-head-attention"), "the package, bob")
    row = Row("ann", tmp_path, submitted(tmp_path), alike=both)
    whose = "the package, bob (find-the-bug, multi-head-attention)"
    assert f"The same code: ann as {whose}" in table([row])
    assert table([row]).splitlines()[1].split()[-1] == "2"
    (line,) = csv.DictReader(io.StringIO(table_as_csv([row])))
    assert line["alike"] == whose
