"""The gradebook as a learning platform reads it, and what a late submission costs."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from tests.notebooks.courses import environment
from transformer_checks.classroom.for_gradebook import CanvasExport, MoodleExport, PenaltyPerDay

# As in the log of nbgrader, where the guide explains it.
pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")


@pytest.fixture(scope="module")
def gradebook(tmp_path_factory: pytest.TempPathFactory):
    """Two assignments; Ann has handed in the first, half a point late, Bob nothing."""
    file = tmp_path_factory.mktemp("course") / "gradebook.db"
    path, os.environ["PATH"] = os.environ["PATH"], environment()["PATH"]
    try:
        made = Gradebook(f"sqlite:///{file}", "a course")
    finally:
        os.environ["PATH"] = path
    for name, worth in (("attention", 20.0), ("gpt", 10.0)):
        made.add_assignment(name)
        made.add_notebook(name, name)
        made.add_grade_cell("check", name, name, max_score=worth, cell_type="code")
        made.add_source_cell("check", name, name, cell_type="code")
    made.add_student("ann", first_name="Ann", last_name="O'Neil, Jr", email="ann@example.org")
    made.update_or_create_student("ann", lms_user_id="4711")
    made.add_student("bob")
    made.add_submission("attention", "ann")
    made.find_grade("check", "attention", "attention", "ann").auto_score = 12.3456
    made.find_submission_notebook("attention", "attention", "ann").late_submission_penalty = 0.5
    made.db.commit()
    yield made
    made.close()


def rows(exporter, gradebook: Gradebook, folder: Path, **settings: object) -> list[list[str]]:
    file = folder / "table.csv"
    exporter(to=str(file), **settings).export(gradebook)
    with file.open(newline="", encoding="utf-8") as table:
        return list(csv.reader(table))


def test_canvas_gets_its_columns(gradebook: Gradebook, tmp_path: Path) -> None:
    assert rows(CanvasExport, gradebook, tmp_path) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "attention", "gpt"],
        ["Points Possible", "", "", "", "", "20", "10"],
        ["bob", "", "", "bob", "", "0.00", "0.00"],
        ["O'Neil, Jr, Ann", "4711", "", "ann", "", "11.85", "0.00"],
    ]


def test_moodle_gets_its_columns(gradebook: Gradebook, tmp_path: Path) -> None:
    chosen = {"assignment": ["attention"], "student": ["ann"]}
    assert rows(MoodleExport, gradebook, tmp_path, **chosen) == [
        ["Username", "First name", "Last name", "Email address", "attention"],
        ["ann", "Ann", "O'Neil, Jr", "ann@example.org", "11.85"],
    ]


@pytest.mark.parametrize(
    ("hours", "lost"), [(0.5, 0.0), (1.5, 1.0), (24.5, 1.0), (26, 2.0), (2400, 10.0)]
)
def test_each_day_that_has_begun_costs_its_share(hours: float, lost: float) -> None:
    policy = PenaltyPerDay(share=0.1, grace_hours=1.0, parent=None)
    assert policy.late_submission_penalty("ann", 10.0, 3600.0 * hours) == pytest.approx(lost)
