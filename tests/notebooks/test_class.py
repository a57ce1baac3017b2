"""A class is graded as a whole: what is right, broken and hostile together.

The run is killed in the middle and started again; nbgrader's own feedback and export follow.
Of wrong and unfinished work test_class_of_eight.py says what it is worth.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from tests.notebooks.assignments import read
from tests.notebooks.classes import (
    enrol,
    grade_killed_and_resumed,
    hand_in_broken,
    results,
    start,
    wait_until,
)
from tests.notebooks.courses import Course, new_course
from tests.notebooks.test_round_trip import (
    SLUG,
    index_of,
    solved,
    with_a_backup,
    with_split_cells,
)

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.weekly]


def with_edited_points() -> NotebookNode:
    """Nothing is solved; every check is worth a thousand points, and ends with them."""
    notebook = read("exercises", SLUG)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade"):
            cell.metadata.nbgrader.points, cell.source = 1000, "1000.0"
    return notebook


def without_marks() -> NotebookNode:
    """All right, and saved by a program that keeps neither marks nor the names of cells."""
    notebook = solved()
    for number, cell in enumerate(notebook.cells):
        cell.metadata = {}
        cell.id = f"cell-{number}"
    return notebook


def with_names_only() -> NotebookNode:
    """All right, and saved by a program that keeps the names of cells alone."""
    notebook = solved()
    for cell in notebook.cells:
        cell.metadata = {}
    return notebook


def of_vs_code() -> NotebookNode:
    """All right, with the metadata that VS Code writes into a notebook and its cells."""
    notebook = solved()
    notebook.metadata.kernelspec.display_name = ".venv (3.13.2)"
    notebook.metadata.update({"orig_nbformat": 4, "vscode": {"interpreter": {"hash": "31f2aee4"}}})
    for cell in notebook.cells:
        cell.metadata.vscode = {"languageId": "python"}
    return notebook


def with_twins() -> NotebookNode:
    """All right; two cells have one id, and an answer became text."""
    notebook = solved()
    notebook.cells[index_of(notebook, "split-heads-solution")].cell_type = "markdown"
    twin = nbformat.v4.new_code_cell("1 + 1")
    twin.id = "multi-head-attention-task"
    notebook.cells.append(twin)
    return notebook


def that_ends_the_process() -> NotebookNode:
    """All right, but for a free cell that ends the process, and one that writes into the course."""
    notebook = solved()
    notebook.cells[index_of(notebook, "split-heads-try")].source = "import os; os._exit(0)"
    place = index_of(notebook, "multi-head-attention-try")
    notebook.cells[place].source = (
        "from pathlib import Path\n"
        "for place in ('../../bob', '../../../gradebook.db', '/course', '../right'):\n"
        "    Path(place).mkdir(parents=True, exist_ok=True)"
    )
    return notebook


def that_no_file_can_hold() -> NotebookNode:
    """All right, with halves of a pair of surrogates: in a cell, printed, and in an error."""
    notebook = solved()
    notebook.cells[index_of(notebook, "split-heads-try")].source = "'\ud800'"
    notebook.cells[
        index_of(notebook, "multi-head-attention-try")
    ].source = "print('\\ud800')\nraise ValueError('\\ud800')"
    return notebook


CLASS = {
    "right": solved,
    "surrogates": that_no_file_can_hold,
    "split": with_split_cells,
    "backup": with_a_backup,
    "names": with_names_only,
    "vs-code": of_vs_code,
    "twins": with_twins,
    "ends": that_ends_the_process,
    "no-marks": without_marks,
}
ALL_POINTS = ("right", "surrogates", "split", "backup", "names", "vs-code", "twins", "ends")
# What lies in a folder, and the words by which the table says so.
BROKEN = {
    "cut": ({f"{SLUG}.ipynb": '{"cells": [{"cell_ty'}, "no JSON"),
    "list": ({f"{SLUG}.ipynb": "[1, 2]"}, "is no notebook"),
    "renamed": ({f"{SLUG} (1).ipynb": "{}"}, f"what came is {SLUG} (1).ipynb"),
    "nested": ({f"mine/{SLUG}.ipynb": "{}"}, f"what came is mine/{SLUG}.ipynb"),
    "empty": ({}, "no notebook came"),
    "deep": ({f"{SLUG}.ipynb": "[" * 200_000}, "no JSON"),
    "version": (
        {f"{SLUG}.ipynb": '{"nbformat": 4, "nbformat_minor": "x", "cells": [], "metadata": {}}'},
        "is no notebook",
    ),
    "markup": ({"<img src=x onerror=alert(1)>\x1b.ipynb": "{}"}, "alert(1)>\\x1b.ipynb"),
}
# What lies beside the notebook of somebody who has all points.
BESIDE = {"timestamp.txt": "yesterday", "x.pyc": "", os.fsdecode(b"\xdcbung.txt"): ""}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A class that was graded, with a run that was killed in the middle."""
    course = new_course(tmp_path_factory.mktemp("course"), SLUG)
    enrol(course, CLASS, BROKEN)
    hand_in_broken(course, BROKEN)
    for name, text in BESIDE.items():
        (course.submission("split") / name).write_text(text)
    os.mkfifo(course.submission("names") / "timestamp.txt")  # whoever reads it, waits for ever
    course.hand_in("stranger", solved())
    grade_killed_and_resumed(course, at_least=1)
    return course


def row(course: Course, student: str) -> str:
    """What the table says of a student."""
    (line,) = (each for each in course.said.splitlines() if each.startswith(f"{student} "))
    return line


@pytest.mark.parametrize("student", ALL_POINTS)
def test_right_work_has_all_points_whatever_became_of_its_notebook(
    course: Course, student: str
) -> None:
    assert course.points()[student] == 20.0
    assert " 20/20" in row(course, student)


@pytest.mark.parametrize("student", BROKEN)
def test_what_cannot_be_read_has_a_row_a_page_and_a_reason(course: Course, student: str) -> None:
    assert course.points()[student] == 0.0
    assert BROKEN[student][1] in row(course, student)
    assert "This work could not be graded" in course.feedback(student)


def test_the_name_of_a_file_is_no_markup(course: Course) -> None:
    page = course.page("markup").read_text(encoding="utf-8")
    assert "&lt;img src=x" in page
    assert "<img src=x" not in page


def test_a_file_that_holds_no_time_costs_nothing_and_is_told(course: Course) -> None:
    assert "timestamp.txt holds no time" in row(course, "split")


def test_lost_names_and_marks_are_told(course: Course) -> None:
    assert "neither names nor nbgrader's marks" in row(course, "no-marks")


def test_who_is_not_in_the_roster_is_named_and_not_graded(course: Course) -> None:
    assert "stranger handed in and is not in the roster" in course.said
    assert "stranger" not in course.points()


def test_a_cell_that_ended_the_process_is_told(course: Course) -> None:
    assert "ended the process" in row(course, "ends")
    assert "ended the process" in course.feedback("ends")


def test_nothing_of_the_course_was_touched(course: Course) -> None:
    places = {path.name for path in (course.root / "course" / "submitted").iterdir()}
    assert places == {*CLASS, *BROKEN, "stranger"}
    assert not Path("/course").exists()


def test_every_result_says_in_which_sandbox_it_was_made(course: Course) -> None:
    paths = list(course.root.glob("course/results/*.json"))
    assert len(paths) > 1  # the same work shares a result
    assert {json.loads(path.read_text("utf-8"))["sandbox"] for path in paths} == {"bubblewrap"}


def test_a_second_run_executes_nothing(course: Course) -> None:
    before = results(course)
    said, _ = start(course).communicate()
    assert results(course) == before
    assert " 20/20" in said


def test_another_time_or_due_date_is_another_penalty(course: Course) -> None:
    with (course.root / "nbgrader_config.py").open("a", encoding="utf-8") as settings:
        settings.write(
            '\nc.AssignLatePenalties.plugin_class = "transformer_checks.classroom.for_gradebook'
            '.PenaltyPerDay"\nc.PenaltyPerDay.share = 0.1\n'
        )
    gradebook = Gradebook(f"sqlite:///{course.root / 'course' / 'gradebook.db'}", "transformer")
    handed_in = course.submission("backup") / "timestamp.txt"
    done = results(course)
    for time, due, points in (
        ("2027-03-02 18:00:00 UTC", "2027-03-01 00:00:00 UTC", 16.0),
        ("2027-03-01 18:00:00 UTC", "2027-03-01 00:00:00 UTC", 18.0),
        ("2027-03-01 18:00:00 UTC", "2027-03-09 00:00:00 UTC", 20.0),  # an extension
    ):
        handed_in.write_text(time, encoding="utf-8")
        with gradebook:
            gradebook.update_or_create_assignment(SLUG, duedate=due)
        course.said, _ = start(course).communicate()
        assert (" -" in row(course, "backup")) == (points < 20.0)
        with gradebook:
            found = gradebook.find_submission(SLUG, "backup")
            assert found.score - (found.late_submission_penalty or 0.0) == pytest.approx(points)
        with (course.root / f"course/results/{SLUG}.csv").open(newline="") as file:
            (line,) = (each for each in csv.DictReader(file) if each["student"] == "backup")
        assert float(line["penalty"]) == pytest.approx(20.0 - points)
    assert results(course) == done  # nothing was executed again


def test_a_resubmission_is_graded_anew(course: Course) -> None:
    notebook = read("exercises", SLUG)
    place = index_of(notebook, "attention-scores-solution")
    notebook.cells[place].source = "import os; os._exit(0)"
    nbformat.write(notebook, course.submission("right") / f"{SLUG}.ipynb")
    said, _ = start(course).communicate()
    (line,) = (each for each in said.splitlines() if each.startswith("right "))
    assert " 0/20" in line
    assert "ended the process" in line


def test_an_assignment_that_was_not_released_is_named(course: Course) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "transformer_checks.classroom", "attension"],
        cwd=course.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert "nbgrader generate_assignment attension --force" in done.stderr


def test_without_a_roster_nobody_is_lost_when_a_run_goes_on(tmp_path: Path) -> None:
    course = new_course(tmp_path, SLUG)
    students = [f"student-{number}" for number in range(4)]
    for number, student in enumerate(students):
        notebook = read("exercises", SLUG)
        notebook.cells.append(nbformat.v4.new_code_cell(str(number)))  # a result for each
        course.hand_in(student, notebook)
    process = start(course)
    written = course.root / "course" / "rebuilt"
    wait_until(lambda: any(written.glob("*/*.written")), process, 600.0)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    course.hand_in("too-late", read("exercises", SLUG))
    course.said, _ = start(course).communicate()
    assert "not in the roster" not in course.said
    for student in (*students, "too-late"):
        assert " 0/20" in row(course, student)
