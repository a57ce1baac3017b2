"""Run the stages of the tests: `python -m tools.run_tests [--all] [stage ...]`.

Without `--all` they prove that the course works; with it they prove everything. A stage that
fails stops only those that look at what it should have made. The summary at the end gives the time
of each stage and, for each test that failed, the command that runs it again; the exit status is 0
only when all of them passed. A browser and a sandbox are looked for before the first stage, and
fetched where there is none; without them their stages are left out, which in CI is a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import TextIO

from tools import build_book, chromium, cluster, sandbox
from tools.draw_sample import sample
from tools.notebooks import CELL_TIMEOUT, EXECUTION_ENVIRONMENT

ROOT = Path(__file__).resolve().parent.parent
# pytest writes the names of the tests that failed into its cache; each command has its own.
CACHES = ROOT / ".pytest_cache" / "stages"

PASSED, FAILED, LEFT_OUT = "passed", "FAILED", "left out"


@dataclass(frozen=True)
class Stage:
    """A named part of the tests.

    Attributes:
        name: what the summary and the command line call it.
        commands: run one after the other, all of them; each without the Python in front.
        environment: what is set for them besides what is set already.
        needs: "browser" for Chromium, "sandbox" for what grades a class, "cluster" for that with
            Dask and PostgreSQL, or nothing.
        beside: the name of the next stage, if both keep one core busy and run at the same time.
        after: the name of a stage that makes what this one looks at; where it fails, this one is
            left out.
    """

    name: str
    commands: tuple[tuple[str, ...], ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""
    beside: str = ""
    after: str = ""


@dataclass(frozen=True)
class Outcome:
    """How a stage ended.

    Attributes:
        stage: the stage.
        word: PASSED, FAILED or LEFT_OUT.
        seconds: how long it took.
        again: for each test that failed, the command that runs it again.
    """

    stage: Stage
    word: str
    seconds: float
    again: tuple[str, ...] = ()


PYTEST = ("-m", "pytest", "-q")
ON_ALL_CORES = ("-n", "auto", "--maxprocesses=4")
# Each file stays in one process: a chapter is the work of one core.
BY_FILE = (*ON_ALL_CORES, "--dist=loadfile")
# Each process begins with a part of the tests in their order, so what a module makes once for its
# tests is rarely made twice; a process that is done takes over half of what another has left.
SPREAD = (*ON_ALL_CORES, "--dist=worksteal")
# One process per core: with several threads each, they would only get in each other's way.
ONE_THREAD = {"MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
# By its folder: asked for by name, the package would be imported, and torch cannot be so twice.
LINES_OF_CHECKS = ("--cov=transformer_checks", "--cov-config=tests/checks/coverage.toml")
NBVAL = (
    "--nbval",
    "--nbval-current-env",
    f"--nbval-cell-timeout={CELL_TIMEOUT}",
    "--nbval-sanitize-with=tools/nbval.ini",
    *("-p", "tools.warm_kernels"),
)
# What nbval has run is what the next stage puts on the pages.
KEPT_FOR_THE_BOOK = ("-p", "tools.keep_executed", f"--keep-executed={build_book.STAGED.parent}")
WITHOUT_NBVAL = ("-p", "no:nbval")  # to load it takes two seconds in each process
EVERY_TEST = ("-m", "")

LINT = Stage(
    "lint",
    (
        ("-m", "ruff", "check"),
        ("-m", "ruff", "format", "--check"),
        ("-m", "mypy"),
        ("-m", "tools.notebooks", "check"),
    ),
    beside="house",
)


def marked(expression: str, everything: bool) -> tuple[str, str]:
    """Choose tests by their marks, and of these the quick ones unless everything is asked for."""
    chosen = [expression] * bool(expression) + ["not weekly"] * (not everything)
    return "-m", " and ".join(chosen)


def stages(everything: bool) -> tuple[Stage, ...]:
    """Return the stages in their order.

    Args:
        everything: also the tests marked weekly, the stages that consist of them, and the count of
            lines, with which tests take half as long again.
    """

    def tests(*arguments: str, marks: str = "") -> tuple[str, ...]:
        return (*PYTEST, *WITHOUT_NBVAL, *arguments, *marked(marks, everything))

    # Below 95% of lines pytest-cov fails the stage, as pyproject.toml says.
    package = ("--cov=transformer_ref",) * everything
    # Of the weekly tests of the checks, most grade thousands of answers and reach no other lines.
    checks = (*PYTEST, *WITHOUT_NBVAL, *SPREAD, "tests/checks")
    counted_checks = (*checks, *LINES_OF_CHECKS, "-m", "not sandbox and (not weekly or lines)")
    other_checks = (*checks, "-m", "not sandbox and weekly and not lines")
    grades_a_class = ("tests/checks/test_classroom.py", "tests/notebooks")
    notebooks = ("book", "solutions") if everything else ("book",)
    daily = (
        LINT,
        Stage("house", (tests("tests/house"),), beside="class"),
        Stage("class", (tests(*BY_FILE, *grades_a_class, marks="sandbox"),), ONE_THREAD, "sandbox"),
        Stage("package", (tests(*SPREAD, "tests/package", *package),), ONE_THREAD),
        Stage(
            "checks",
            (counted_checks, other_checks)
            if everything
            else (tests(*SPREAD, "tests/checks", marks="not sandbox"),),
            ONE_THREAD,
        ),
        Stage(
            "notebooks",
            ((*PYTEST, *BY_FILE, *NBVAL, *KEPT_FOR_THE_BOOK, *notebooks),),
            EXECUTION_ENVIRONMENT,
        ),
        Stage("book", (("-m", "tools.build_book"),), beside="exercises"),
        Stage("exercises", (tests("tests/notebooks", marks="not sandbox"),), ONE_THREAD),
        Stage("site", (tests(*SPREAD, "tests/site", marks="not browser"),), after="book"),
        Stage(
            "browser",
            (tests(*SPREAD, "tests/site", marks="browser"),),
            needs="browser",
            after="book",
        ),
    )
    return (*daily, *ONLY_ALL) if everything else daily


# What `make test-all` runs beyond the tests of the other stages.
ONLY_ALL = (
    Stage("joeynmt", ((*PYTEST, "tests/joeynmt"),)),
    Stage("elsewhere", (("-m", "tools.elsewhere", "--drawn"),)),
    Stage("mutation", (("-m", "tools.mutation", "--drawn"),)),
)
# What takes long, for `make test-class` alone; the seeds of each task need nothing in common.
WHOLE_CLASS, SEEDS = "tests/whole_class", "tests/whole_class/test_seeds.py"
ON_REQUEST = (
    Stage(
        "whole-class",
        (
            (*PYTEST, *BY_FILE, WHOLE_CLASS, f"--ignore={SEEDS}", *EVERY_TEST),
            (*PYTEST, *SPREAD, SEEDS, *EVERY_TEST),
        ),
        ONE_THREAD,
        needs="cluster",
    ),
)


def run_command(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    cache: Path = CACHES / "0",
    output: TextIO | None = None,
) -> tuple[bool, tuple[str, ...]]:
    """Run Python with arguments in the root of the repository.

    Args:
        arguments: the command line behind Python.
        environment: what is set besides what is set already.
        cache: where pytest keeps the names of the tests that failed.
        output: where it prints, if not here.

    Returns:
        whether it passed, and for each test that failed the command that runs it again.
    """
    print(f"$ python {shlex.join(arguments)}", flush=True, file=output)
    command = [sys.executable, *arguments]
    runs_pytest = tuple(arguments[:2]) == PYTEST[:2]
    if runs_pytest:
        shutil.rmtree(cache, ignore_errors=True)
        command += ["-o", f"cache_dir={cache}"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=output,
        stderr=output and subprocess.STDOUT,
    )
    if done.returncode == 0:
        return True, ()
    names = failed_tests(cache) if runs_pytest else []
    if not names:
        return False, (again(arguments, environment),)
    nbval = NBVAL if "--nbval" in arguments else ()
    if nbval:  # a cell needs the cells before it
        names = list(dict.fromkeys(name.partition("::")[0] for name in names))
    return False, tuple(again((*PYTEST, *EVERY_TEST, *nbval, name), environment) for name in names)


def failed_tests(cache: Path) -> list[str]:
    """Return the names of the tests that failed, as pytest's cache has them."""
    file = cache / "v" / "cache" / "lastfailed"
    return list(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else []


def again(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Write the command that runs something again, to be copied into a shell."""
    python = os.path.relpath(sys.executable, ROOT)
    settings = [f"{name}={value}" for name, value in environment.items()]
    return " ".join([*settings, shlex.join([python, *arguments])])


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
    """Look for what some stages need, and get it; return what cannot be had here, and why."""
    look = {"browser": why_no_browser, "sandbox": why_no_sandbox, "cluster": why_no_cluster}
    needed = dict.fromkeys(stage.needs for stage in stages if stage.needs)
    found = {need: look[need](environ) for need in needed}
    return {need: why for need, why in found.items() if why is not None}


def in_ci(environ: Mapping[str, str]) -> bool:
    """Say whether this is continuous integration, where nothing may be left out."""
    return environ.get("CI") == "true"


def run_stage(stage: Stage, missing: Collection[str] = (), output: TextIO | None = None) -> Outcome:
    """Run one stage, all of its commands, and time it.

    Args:
        stage: the stage.
        missing: what cannot be had here; a stage that needs it is left out.
        output: where it prints, if not here.
    """
    if stage.needs in missing:
        return Outcome(stage, LEFT_OUT, 0.0)
    print(f"\n=== {stage.name} ===", flush=True, file=output)
    start = time.monotonic()
    done = [
        run_command(command, stage.environment, CACHES / f"{stage.name}-{number}", output)
        for number, command in enumerate(stage.commands)
    ]
    word = PASSED if all(passed for passed, _ in done) else FAILED
    commands = tuple(command for _, failed in done for command in failed)
    return Outcome(stage, word, time.monotonic() - start, commands)


def run_together(stages: Sequence[Stage], missing: Collection[str]) -> list[Outcome]:
    """Run stages at the same time; print what each had to say when it is done."""

    def run(stage: Stage) -> Outcome:
        with TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            outcome = run_stage(stage, missing, output)
            output.seek(0)
            print(output.read(), end="", flush=True)
        return outcome

    print(f"\nAt the same time: {', '.join(stage.name for stage in stages)} ...", flush=True)
    with ThreadPoolExecutor(len(stages)) as pool:
        return list(pool.map(run, stages))


def run_all(stages: Sequence[Stage], missing: Collection[str]) -> list[Outcome]:
    """Run stages one after the other, and at the same time those that keep one core busy.

    Args:
        stages: the stages.
        missing: what cannot be had here; a stage that needs it is left out.
    """
    outcomes: list[Outcome] = []
    waiting = list(stages)
    while waiting:
        failed = {outcome.stage.name for outcome in outcomes if outcome.word == FAILED}
        if waiting[0].after in failed:
            outcomes.append(Outcome(waiting.pop(0), LEFT_OUT, 0.0))
            continue
        together = [waiting.pop(0)]
        while waiting and waiting[0].name == together[-1].beside:
            together.append(waiting.pop(0))
        if len(together) == 1:
            outcomes.append(run_stage(together[0], missing))
        else:
            outcomes += run_together(together, missing)
    return outcomes


def summary(outcomes: Sequence[Outcome], seconds: float, note: str | None = None) -> str:
    """Return the table of the stages, why one is left out, and how to run again what failed."""
    lines = ["", "=== summary ==="]
    lines += [f"{o.stage.name:<12}{o.word:<10}{o.seconds:8.1f} s" for o in outcomes]
    lines.append(f"{'all':<22}{seconds:8.1f} s")
    failures = {o.stage.name for o in outcomes if o.word == FAILED}
    lines += [
        f"{o.stage.name} is left out, as the stage {o.stage.after} failed."
        for o in outcomes
        if o.word == LEFT_OUT and o.stage.after in failures
    ]
    if note is not None:
        lines += ["", note]
    if failed := [command for outcome in outcomes for command in outcome.again]:
        lines += ["", "What failed, and the command that runs each again:", *failed]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Run the command line; return the exit status."""
    names = [stage.name for stage in (*stages(everything=True), *ON_REQUEST)]
    parser = argparse.ArgumentParser(prog="python -m tools.run_tests", description=__doc__)
    parser.add_argument("stages", nargs="*", help=f"of {', '.join(names)}; else all but the last")
    parser.add_argument("--all", action="store_true", help="everything, and not only what is quick")
    options = parser.parse_args(arguments)
    wanted = options.stages
    if unknown := sorted(set(wanted) - set(names)):
        parser.error(f"unknown stage {', '.join(unknown)}; expected some of {', '.join(names)}")
    usual = stages(options.all)
    possible = (*usual, *(() if options.all else ONLY_ALL), *ON_REQUEST)
    chosen = [stage for stage in possible if stage.name in wanted] or [*usual]
    try:
        missing = what_is_missing(chosen, environ)
    except ValueError as error:
        parser.error(str(error))
    for why in missing.values():
        print(why, flush=True)
    on_purpose = {"browser"} if environ.get("SKIP_BROWSER") == "1" else set[str]()
    if in_ci(environ) and set(missing) - on_purpose:
        return 1
    print(f"Samples are drawn by {sample()}; SAMPLE={sample()} draws them again.", flush=True)
    start = time.monotonic()
    outcomes = run_all(chosen, missing)
    print(summary(outcomes, time.monotonic() - start, "\n".join(missing.values()) or None))
    return 1 if any(outcome.word == FAILED for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
