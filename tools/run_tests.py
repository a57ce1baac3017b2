"""Run every stage of the tests: `python -m tools.run_tests [stage ...]`.

Every stage runs even when an earlier one failed.  The summary at the end gives the time of each;
the exit status is 0 only when all of them passed.  A browser and a sandbox are looked for before
the first one, and fetched where there is none; without them their stages are left out, which in CI
is a failure.  The stage whole-class runs only where it is asked for.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tools import build_book, chromium, cluster, sandbox
from tools.notebooks import CELL_TIMEOUT, EXECUTION_ENVIRONMENT

ROOT = Path(__file__).resolve().parent.parent

PASSED, FAILED, LEFT_OUT = "passed", "FAILED", "left out"


@dataclass(frozen=True)
class Stage:
    """A named part of the tests.

    Attributes:
        name: how the summary and the command line call it.
        commands: run one after the other, all of them; each without the Python in front.
        environment: what is set for them besides what is set already.
        needs: "browser" for Chromium, "sandbox" for what grades a class, "cluster" for that with
            Dask and PostgreSQL, or nothing.
    """

    name: str
    commands: tuple[tuple[str, ...], ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""


@dataclass(frozen=True)
class Outcome:
    """What became of a stage: one of the words above, and the seconds that it took."""

    stage: Stage
    word: str
    seconds: float


PYTEST = ("-m", "pytest", "-q")
ON_ALL_CORES = ("-n", "auto", "--maxprocesses=4")
# Each file stays in one process: a chapter is the work of one core.
BY_FILE = (*ON_ALL_CORES, "--dist=loadfile")
# The tests of one page stay in one process, which visits the page once for all of them.
BY_GROUP = (*ON_ALL_CORES, "--dist=loadgroup")
# Each process begins with a part of the tests in their order, so what a module makes once for its
# tests is rarely made twice; who is done takes over half of what another one has left.
SPREAD = (*ON_ALL_CORES, "--dist=worksteal")
# A process for each core: threads of each of them would only get into the way of the others.
ONE_THREAD = {"MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
COUNTS_LINES = "--cov"  # what the options that count lines begin with
# By its folder: asked for by name, the package would be imported, and torch cannot be so twice.
LINES_OF_CHECKS = ("--cov=transformer_ref/checks", "--cov-config=tests/checks/coverage.toml")
REPORT = "tests/checks/test_report.py"
GRADES_A_CLASS = ("tests/checks/test_classroom.py", "tests/notebooks")
# What is tried once a week is left out, as pyproject.toml says, or a stage that chooses by marks.
NOT_WEEKLY = " and not weekly"
EVERY_TEST = {"PYTEST_ADDOPTS": "-m ''"}
NBVAL = ("--nbval", "--nbval-current-env", f"--nbval-cell-timeout={CELL_TIMEOUT}")

# What nbval has run is what the next stage puts on the pages.
KEPT_FOR_THE_BOOK = ("-p", "tools.keep_executed", f"--keep-executed={build_book.STAGED.parent}")

LINT = Stage(
    "lint",
    (
        ("-m", "ruff", "check"),
        ("-m", "ruff", "format", "--check"),
        ("-m", "mypy"),
        ("-m", "tools.notebooks", "check"),
    ),
)
STAGES = (
    LINT,
    Stage("house", ((*PYTEST, *BY_FILE, "tests/house"),)),
    # Below 95% of lines pytest-cov fails the stage, as pyproject.toml says.
    Stage("package", ((*PYTEST, *SPREAD, "tests/package", "--cov=transformer_ref"),), ONE_THREAD),
    Stage("joeynmt", ((*PYTEST, "tests/joeynmt"),)),
    # The report runs no line that the others do not.
    Stage(
        "checks",
        (
            (
                *(*PYTEST, *SPREAD, "tests/checks", f"--ignore={REPORT}", *LINES_OF_CHECKS),
                *("-m", "not sandbox" + NOT_WEEKLY),
            ),
            (*PYTEST, *SPREAD, REPORT),
        ),
        ONE_THREAD,
    ),
    Stage(
        "exercises",
        ((*PYTEST, *BY_FILE, "tests/notebooks", "-m", "not sandbox" + NOT_WEEKLY),),
        ONE_THREAD,
    ),
    Stage(
        "class",
        ((*PYTEST, *BY_FILE, *GRADES_A_CLASS, "-m", "sandbox" + NOT_WEEKLY),),
        ONE_THREAD,
        needs="sandbox",
    ),
    Stage(
        "notebooks",
        ((*PYTEST, *BY_FILE, *NBVAL, *KEPT_FOR_THE_BOOK, "book", "solutions"),),
        EXECUTION_ENVIRONMENT,
    ),
    Stage("book", (("-m", "tools.build_book"),)),
    Stage("site", ((*PYTEST, "tests/site", "-m", "not browser" + NOT_WEEKLY),)),
    Stage(
        "browser",
        ((*PYTEST, *BY_GROUP, "tests/site", "-m", "browser" + NOT_WEEKLY),),
        needs="browser",
    ),
)
# What takes long, for `make test-class` alone.
ON_REQUEST = (
    Stage(
        "whole-class",
        ((*PYTEST, *BY_FILE, "tests/whole_class"),),
        {**ONE_THREAD, **EVERY_TEST},
        needs="cluster",
    ),
)


def run_command(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Run Python with arguments in the root of the repository; return whether it passed."""
    print(f"$ python {' '.join(arguments)}", flush=True)
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}).returncode == 0


def why_no_browser(environ: Mapping[str, str]) -> str | None:
    """Look for a browser, and get one where there is none; return None, or why there is none.

    Raises:
        ValueError: CHROMIUM names no browser that starts.
    """
    if environ.get("SKIP_BROWSER") == "1":
        return "The stage browser is left out, as SKIP_BROWSER says."
    if chromium.find() is not None:
        return None
    print("The stage browser needs Chromium, and none here starts: getting one.", flush=True)
    if chromium.fetch(ci=in_ci(environ)) is not None:
        return None
    return f"The stage browser is left out.\n{chromium.HOW_TO_GET_IT}"


def why_no_sandbox(environ: Mapping[str, str]) -> str | None:
    """Look for the sandbox, and get it where there is none; return None, or why there is none."""
    if not sandbox.why_not():
        return None
    print("The stage class needs bubblewrap, which is not here: getting it.", flush=True)
    why = sandbox.fetch(ci=in_ci(environ))
    return f"The stage class is left out.\n{why}" if why else None


def why_no_cluster(environ: Mapping[str, str]) -> str | None:
    """Look for what grades a whole class in every way, and get what is not here."""
    ci = in_ci(environ)
    why = (sandbox.why_not() and sandbox.fetch(ci)) or (cluster.why_not() and cluster.fetch(ci))
    return f"The stage whole-class is left out.\n{why}" if why else None


def what_is_missing(stages: Sequence[Stage], environ: Mapping[str, str]) -> dict[str, str]:
    """Return what some stages need and cannot have here, each with the reason in words."""
    look = {"browser": why_no_browser, "sandbox": why_no_sandbox, "cluster": why_no_cluster}
    needed = dict.fromkeys(stage.needs for stage in stages if stage.needs)
    found = {need: look[need](environ) for need in needed}
    return {need: why for need, why in found.items() if why is not None}


def in_ci(environ: Mapping[str, str]) -> bool:
    """Say whether this is continuous integration, where nothing may be left out."""
    return environ.get("CI") == "true"


def for_every_day(stage: Stage) -> Stage:
    """Return the stage without the count of lines, by which tests take half as long again."""
    commands = tuple(
        tuple(part for part in command if not part.startswith(COUNTS_LINES))
        for command in stage.commands
    )
    return replace(stage, commands=commands)


def with_weekly(stage: Stage) -> Stage:
    """Return the stage with the tests, and the count of lines, that else run once a week."""
    commands = tuple(
        tuple(part.removesuffix(NOT_WEEKLY) for part in command) for command in stage.commands
    )
    return replace(stage, commands=commands, environment={**stage.environment, **EVERY_TEST})


def run_stage(stage: Stage) -> Outcome:
    """Run one stage, all of its commands, and time it."""
    print(f"\n=== {stage.name} ===", flush=True)
    start = time.monotonic()
    passed = [run_command(command, stage.environment) for command in stage.commands]
    return Outcome(stage, PASSED if all(passed) else FAILED, time.monotonic() - start)


def summary(outcomes: Sequence[Outcome], note: str | None = None) -> str:
    """Return the table of the stages, and below it why one is left out."""
    lines = ["", "=== summary ==="]
    lines += [f"{o.stage.name:<12}{o.word:<10}{o.seconds:8.1f} s" for o in outcomes]
    lines.append(f"{'all':<22}{sum(o.seconds for o in outcomes):8.1f} s")
    if note is not None:
        lines += ["", note]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Run the command line; return the exit status."""
    names = [stage.name for stage in (*STAGES, *ON_REQUEST)]
    parser = argparse.ArgumentParser(prog="python -m tools.run_tests", description=__doc__)
    parser.add_argument(
        "stages", nargs="*", help=f"of {', '.join(names)}; when left out, all but the last"
    )
    parser.add_argument(
        "--all", action="store_true", help="also the tests marked weekly, and which lines all run"
    )
    options = parser.parse_args(arguments)
    wanted = options.stages
    if unknown := sorted(set(wanted) - set(names)):
        parser.error(f"unknown stage {', '.join(unknown)}; expected some of {', '.join(names)}")
    chosen = [stage for stage in (*STAGES, *ON_REQUEST) if stage.name in wanted] or [*STAGES]
    try:
        missing = what_is_missing(chosen, environ)
    except ValueError as error:
        parser.error(str(error))
    note = "\n".join(missing.values()) or None
    if note is not None:
        print(note, flush=True)
    on_purpose = {"browser"} if environ.get("SKIP_BROWSER") == "1" else set[str]()
    if in_ci(environ) and set(missing) - on_purpose:
        return 1
    outcomes = [
        Outcome(stage, LEFT_OUT, 0.0)
        if stage.needs in missing
        else run_stage((with_weekly if options.all else for_every_day)(stage))
        for stage in chosen
    ]
    print(summary(outcomes, note))
    return 1 if any(outcome.word == FAILED for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
