"""The gradebook's other side: tables for learning platforms, and what a late submission costs.

Only nbgrader imports this module, by ``--exporter=`` and by the name in ``nbgrader_config.py``.
"""

from __future__ import annotations

import csv
import io
import math
from abc import abstractmethod
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import ExportPlugin
from nbgrader.plugins.latesubmission import LateSubmissionPlugin
from traitlets import Float

from transformer_ref.files import write_text

# nbgrader's assignments and students, whose fields have for mypy the types of columns.
Entry = Any
DAY = 24 * 3600.0


class _TableExport(ExportPlugin):
    """A table with a row for each student and a column for each assignment."""

    def export(self, gradebook: Gradebook) -> None:
        """Write the table to the file after ``--to``; ``grades.csv`` without one."""
        chosen, who = set(map(str, self.assignment)), set(map(str, self.student))
        assignments: list[Entry] = [*gradebook.assignments]
        assignments = [each for each in assignments if not chosen or each.name in chosen]
        students: list[Entry] = [*gradebook.students]
        students = [each for each in students if not who or each.id in who]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows(self.head(assignments))
        for student in students:
            points = [f"{_points(gradebook, each, student):.2f}" for each in assignments]
            writer.writerow([*self.names(student), *points])
        write_text(Path(self.to or "grades.csv"), text.getvalue())

    @abstractmethod
    def head(self, assignments: list[Entry]) -> list[list[str]]:
        """Return the rows above those of students."""

    @abstractmethod
    def names(self, student: Entry) -> list[str]:
        """Return the columns that say who it is."""


class CanvasExport(_TableExport):
    """What Canvas reads under *Grades > Import*: it knows students by ID or by login."""

    def head(self, assignments: list[Entry]) -> list[list[str]]:
        """Return the names of the columns, and how many points there are."""
        names = [each.name for each in assignments]
        possible = [f"{each.max_score:g}" for each in assignments]
        return [
            ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *names],
            ["Points Possible", "", "", "", "", *possible],
        ]

    def names(self, student: Entry) -> list[str]:
        """Return the name, Canvas's own number where the gradebook has it, and the login."""
        name = ", ".join(filter(None, [student.last_name, student.first_name]))
        return [name or student.id, student.lms_user_id or "", "", student.id, ""]


class MoodleExport(_TableExport):
    """What Moodle reads under *Grades > Import > CSV file*, where columns are mapped."""

    def head(self, assignments: list[Entry]) -> list[list[str]]:
        """Return the names of the columns."""
        names = [each.name for each in assignments]
        return [["Username", "First name", "Last name", "Email address", *names]]

    def names(self, student: Entry) -> list[str]:
        """Return the login, the name and the address."""
        return [
            student.id,
            *(each or "" for each in (student.first_name, student.last_name, student.email)),
        ]


class PenaltyPerDay(LateSubmissionPlugin):
    """A share of the points is lost for each day that has begun since the due date."""

    share = Float(0.1, help="Lost for each day, as a fraction of the points.").tag(config=True)
    grace_hours = Float(0.0, help="So much later is not late.").tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float:
        """Return the points that are lost.

        Args:
            student_id: whose they are.
            score: what the work has.
            total_seconds_late: since the due date.

        Returns:
            points, at most all of them.
        """
        late = max(0.0, total_seconds_late - 3600.0 * self.grace_hours)
        return min(score, self.share * score * math.ceil(late / DAY))


def _points(gradebook: Gradebook, assignment: Entry, student: Entry) -> float:
    """Return a student's points, without what was lost for being late; 0 for no submission."""
    try:
        found = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        return 0.0
    return max(0.0, float(found.score or 0.0) - float(found.late_submission_penalty or 0.0))
