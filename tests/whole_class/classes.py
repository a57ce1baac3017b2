"""What the tests of a whole class share: who is in it, and how its results are compared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from typing import Any

from nbformat import NotebookNode

from tests.notebooks.courses import Course
from tests.notebooks.test_class import CLASS, results

# Few who differ much, for what is tried in more than one way.
SMALL_CLASS = {name: CLASS[name] for name in ("right", "wrong", "half", "split", "ends")}


def enrol(course: Course, notebooks: dict[str, Callable[[], NotebookNode]], others: Iterable[str]):
    """Put students into the roster, and the notebooks of some where they are looked for."""
    roster = course.root / "roster.csv"
    roster.write_text("\n".join(["id", *notebooks, *others, ""]), encoding="utf-8")
    course.nbgrader("db", "student", "import", "roster.csv")
    for student, make in notebooks.items():
        place = course.submission(student) / f"{course.slug}.ipynb"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(make()), encoding="utf-8")  # nbformat would mend it


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


def judged(course: Course) -> dict[str, Any]:
    """What every result says, apart from how long it took."""
    found = {}
    for path in course.root.glob("course/results/*.json"):
        said = json.loads(path.read_text("utf-8"))
        found[path.name] = {name: said[name] for name in ("cells", "sandbox", "ended")}
    return found
