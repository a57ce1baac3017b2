"""What the tests of a class share: the roster, what is handed in, a run, and one that is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nbformat import NotebookNode

from tests.notebooks.courses import Course, environment
from tests.notebooks.test_round_trip import SLUG


def enrol(course: Course, notebooks: dict[str, Callable[[], NotebookNode]], others: Iterable[str]):
    """Put students into the roster, and the notebooks of some where they are looked for."""
    roster = course.root / "roster.csv"
    roster.write_text("\n".join(["id", *notebooks, *others, ""]), encoding="utf-8")
    course.nbgrader("db", "student", "import", "roster.csv")
    for student, make in notebooks.items():
        place = course.submission(student) / f"{course.slug}.ipynb"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(make()), encoding="utf-8")  # nbformat would mend it


def hand_in_broken(course: Course, broken: Mapping[str, tuple[dict[str, str], Any]]) -> None:
    """Hand in files that are no notebook of the assignment, beside a note."""
    for student, (files, _) in broken.items():
        for name, text in {"notes.txt": "", **files}.items():
            path = course.submission(student) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def start(course: Course, *options: str) -> subprocess.Popen[str]:
    """Start the command that grades the class."""
    return subprocess.Popen(
        [sys.executable, "-m", "transformer_checks.classroom", SLUG, "--jobs=2", *options],
        cwd=course.root,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def results(course: Course) -> dict[str, float]:
    """When each result was written."""
    return {path.name: path.stat().st_mtime for path in course.root.glob("course/results/*.json")}


def wait_until(there: Callable[[], bool], process: subprocess.Popen[Any], seconds: float) -> None:
    """Wait for something that a process does; fail if it ends before, or takes too long."""
    until = time.monotonic() + seconds
    while not there():
        assert process.poll() is None, f"it ended with {process.returncode}"
        assert time.monotonic() < until, f"not there after {seconds:g} s"
        time.sleep(0.05)


def kill_when(process: subprocess.Popen[str], course: Course, at_least: int) -> dict[str, float]:
    """Kill a run with all its processes when it has so many results; return these."""
    wait_until(lambda: len(results(course)) >= at_least, process, 3000.0)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return results(course)


def grade_killed_and_resumed(course: Course, at_least: int) -> None:
    """Grade a class, kill the run after so many results, start it again, and give back."""
    before = kill_when(start(course), course, at_least)
    assert before
    said, _ = start(course).communicate()
    course.said += said
    assert {name: results(course)[name] for name in before} == before, "a result was made twice"
    course.nbgrader("generate_feedback", SLUG)
    course.nbgrader("export", "--to", "course/grades.csv")
