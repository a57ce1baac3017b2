"""A course in a folder of its own, with nbgrader's own commands, as the guide has them."""

from __future__ import annotations

import csv
import html
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tests.notebooks.assignments import ROOT


def environment() -> dict[str, str]:
    """That of these tests; nbgrader looks for the command alembic on the PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path}


@dataclass
class Course:
    """A course in a folder of its own, and all that nbgrader said."""

    root: Path
    slug: str
    said: str = ""

    def nbgrader(self, *arguments: str) -> None:
        """Run one command of nbgrader; it has to succeed."""
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *arguments],
            cwd=self.root,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.said += done.stdout
        assert done.returncode == 0, done.stdout

    def hand_in(self, student: str, notebook: NotebookNode) -> None:
        """Put a student's notebook where nbgrader looks for it."""
        place = self.submission(student)
        place.mkdir(parents=True)
        nbformat.write(notebook, place / f"{self.slug}.ipynb")

    def submission(self, student: str) -> Path:
        """The folder of what a student hands in."""
        return self.root / "course" / "submitted" / student / self.slug

    def points(self) -> dict[str, float]:
        """The score of each student, from the exported table."""
        with (self.root / "course" / "grades.csv").open(newline="") as table:
            rows = list(csv.DictReader(table))
        assert {row["assignment"] for row in rows} == {self.slug}
        assert {float(row["max_score"]) for row in rows} == {20.0}
        return {row["student_id"]: float(row["score"]) for row in rows}

    def page(self, student: str) -> Path:
        """The file that a student gets back."""
        return self.root / "course" / "feedback" / student / self.slug / f"{self.slug}.html"

    def feedback(self, student: str) -> str:
        """The text that a student gets back."""
        source = self.page(student).read_text(encoding="utf-8")
        without_styles = re.sub(r"<(style|script).*?</\1>", "", source, flags=re.DOTALL)
        return html.unescape(re.sub(r"<[^>]+>", "", without_styles))


def new_course(folder: Path, slug: str) -> Course:
    """Make a course with one released assignment."""
    course = Course(folder.resolve(), slug)
    shutil.copy(ROOT / "nbgrader_config.py", course.root)
    shutil.copytree(ROOT / "solutions" / slug, course.root / "solutions" / slug)
    (course.root / "course").mkdir()
    course.nbgrader("generate_assignment", slug)
    return course
