"""A class graded in sandboxes by `make grade`, against nbgrader's own way: a kernel a notebook."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.rows import Asked, Row, Setting, measured, not_measured
from benchmarks.timing import compare
from transformer_checks.judging.changes import Change, ChangeError, changed_source
from transformer_checks.registry import all_tasks

ROOT = Path(__file__).resolve().parent.parent
SLUG = "attention"
WHAT, AGAINST = "make grade in sandboxes", "nbgrader autograde, without one"
WANTED = Asked(">=", 4.0)

OURS = ("-m", "transformer_checks.classroom", SLUG)
# What nbgrader does where nothing is said: it executes the notebook with its checks in a kernel.
STEPS = ("Execute", "IgnorePattern", "LimitOutput", "SaveAutoGrades", "AssignLatePenalties")
THEIRS = (
    *("-m", "nbgrader", "autograde", SLUG, "--force"),
    *(f"--Autograde.autograde_preprocessors=nbgrader.preprocessors.{step}" for step in STEPS),
)


def against_nbgrader(
    setting: Setting,
    *,
    submissions: int = 40,
    make: Callable[[Path, int], None] | None = None,
    commands: Sequence[Sequence[str]] = (THEIRS, OURS),
) -> list[Row]:
    """Compare submissions a minute, by the clock: ours on all cores, nbgrader's as it comes.

    Args:
        setting: how often; each run grades the whole class from the start.
        submissions: how many, no two the same.
        make: makes the course in a folder; None = :func:`make_course`.
        commands: nbgrader's and ours, without the Python in front.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    what = f"{WHAT}, {cores} cores: {submissions} submissions of {SLUG}"
    why = why_not()
    if why and make is None:
        return [not_measured("grading", "cpu", what, AGAINST, why, WANTED)]
    with tempfile.TemporaryDirectory(prefix="grading-") as name:
        folder = Path(name).resolve()
        (make or make_course)(folder, submissions)
        theirs, ours = (lambda each=each: run(folder, each) for each in commands)
        speed = compare(
            theirs,
            ours,
            setting.device,
            max(2, setting.repetitions // 3),
            warm_up=[lambda: None],
            clock=time.perf_counter,
        )
    return [
        measured(
            "grading",
            setting.device,
            what,
            AGAINST,
            speed,
            WANTED,
            unit="of its submissions a minute",
            our_submissions_per_minute=60.0 * submissions / speed.denominator_seconds,
            their_submissions_per_minute=60.0 * submissions / speed.numerator_seconds,
        )
    ]


def for_more_students(
    setting: Setting,
    *,
    sizes: Sequence[int] = (40, 80, 160),
    make: Callable[[Path, int], None] | None = None,
    command: Sequence[str] = OURS,
) -> list[Row]:
    """Compare what one student more takes in a large class and in a small one, by the clock.

    All hand in the same work, which is executed once: what grows is the reading and the gradebook.

    Args:
        setting: not used beyond its device; each class is graded once.
        sizes: of three classes.
        make: makes the course in a folder, with one student; None = :func:`make_course`.
        command: ours, without the Python in front.
    """
    small, middle, large = sizes
    what = f"one student more by make grade, from {middle} to {large}"
    against = f"from {small} to {middle}"
    asked = Asked("<=", 1.2)
    why = why_not()
    if why and make is None:
        return [not_measured("grading-growth", "cpu", what, against, why, asked)]
    seconds = {}
    for size in sizes:  # each in a separate course: nothing is graded twice
        with tempfile.TemporaryDirectory(prefix="grading-") as name:
            folder = Path(name).resolve()
            (make or make_course)(folder, 1)
            first = folder / "course" / "submitted" / "student-00"
            if first.exists():
                for number in range(1, size):
                    shutil.copytree(first, first.with_name(f"student-{number:02}"))
            start = time.perf_counter()
            run(folder, command)
            seconds[size] = time.perf_counter() - start
    more = (seconds[large] - seconds[middle]) / (large - middle)
    before = (seconds[middle] - seconds[small]) / (middle - small)
    return [
        measured(
            "grading-growth",
            setting.device,
            what,
            against,
            more / before,
            asked,
            seconds_by_students=seconds,
        )
    ]


def why_not() -> str:
    """Say why no class can be graded here, or ""."""
    from transformer_checks.classroom.sandbox import SandboxError, find_sandbox

    if find_spec("nbgrader") is None:
        return "nbgrader is not installed"
    try:
        find_sandbox()
    except SandboxError as error:
        return str(error)
    return ""


def run(folder: Path, command: Sequence[str]) -> None:
    """Grade the class from the start; nothing is kept of an earlier run.

    Raises:
        RuntimeError: if the command fails; the message has the end of what it said.
    """
    for name in ("results", "rebuilt", "autograded"):
        shutil.rmtree(folder / "course" / name, ignore_errors=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-2000:]}")


def make_course(folder: Path, submissions: int) -> None:
    """Make a course with a released assignment and a class that has handed it in."""
    import nbformat

    shutil.copy(ROOT / "nbgrader_config.py", folder)
    shutil.copytree(ROOT / "solutions" / SLUG, folder / "solutions" / SLUG)
    (folder / "course").mkdir()
    run(folder, ("-m", "nbgrader", "generate_assignment", SLUG))
    released = nbformat.read(folder / "exercises" / SLUG / f"{SLUG}.ipynb", as_version=4)
    for number in range(submissions):
        place = folder / "course" / "submitted" / f"student-{number:02}" / SLUG
        place.mkdir(parents=True)
        nbformat.write(hand_in(released, number), place / f"{SLUG}.ipynb")


def hand_in(released: Any, number: int) -> Any:
    """Fill in the released notebook: a third is right, the others have one or two mistakes."""
    import nbformat

    source = nbformat.read(ROOT / "solutions" / SLUG / f"{SLUG}.ipynb", as_version=4)
    answers = {cell.id: cell.source for cell in source.cells if cell.id.endswith("-solution")}
    names = list(answers)
    for turn in range(number % 3):
        name = names[(number + 3 * turn) % len(names)]
        answers[name] = with_a_mistake(answers[name], number)
    notebook = nbformat.from_dict(released)
    for cell in notebook.cells:
        cell.source = answers.get(cell.id, cell.source)
    # No two are the same: else they would share a result.
    notebook.cells.append(nbformat.v4.new_code_cell(f"student = {number}"))
    return notebook


def with_a_mistake(answer: str, number: int) -> str:
    """Make one of the listed mistakes in an answer, another one for each number."""
    possible = []
    for key, task in all_tasks().items():
        if not key.startswith(f"{SLUG}."):
            continue
        for change in (each for entry in task.misconceptions for each in entry.wrong):
            if isinstance(change, Change):
                try:
                    possible.append(changed_source(answer, change))
                except ChangeError:
                    continue
    return possible[number % len(possible)] if possible else answer
