"""Mutation testing: break the package in many small ways, and see which the tests notice.

``make mutation`` copies the repository to .mutation/, lets mutmut change one expression after the
other in the modules that everything rests on, and runs the tests that reach the change.
It writes tests/mutation/RESULTS.md and results.json.
A change that no test noticed must be listed with the reason in tests/mutation/survivors.toml.
It takes some hours of one core; `make test` does not run it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tools.draw_sample import rank
from transformer_ref.files import write_json, write_text

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / ".mutation"
RESULTS = ROOT / "tests" / "mutation"

# The modules that are mutated, and the tests that must notice.
MODULES: Mapping[str, tuple[str, ...]] = {
    "attention": ("attention", "cache", "errors", "parity", "layers"),
    "masks": ("masks", "attention", "cache", "errors", "model"),
    "positions": ("positions", "errors", "model", "torch_world"),
    # Without data_parallel: each mutant would start processes, and parallel.py is not mutated.
    **{
        f"training/{name}": ("training", "errors")
        for name in ("config", "losses", "optimizers", "run_state", "schedules", "trainer")
    },
    "decoding": ("decoding", "gpt", "torch_world", "errors"),
    "cache": ("cache", "decoding", "gpt", "errors"),
    "layers": ("layers", "cache", "gpt", "parity", "errors"),
    "model": ("model", "cache", "decoding", "parity", "torch_world", "errors", "bad_input"),
    "gpt": ("gpt", "cache", "errors"),
}
GOAL = 0.85
# mutmut's exit codes: a test failed or crashed, or the mutant never ended.
NOTICED = {1, 3, -11, 24, -24, 36, 152, 255}
LIVED = {0, 5, 33}  # the tests passed, or none reaches the change

Reasons = Mapping[tuple[str, str, str], str]  # place, before and after to why it may live


@dataclass(frozen=True)
class Survivor:
    """A change that no test noticed.

    Attributes:
        place: module and function.
        before: the lines that were taken out.
        after: the lines that stand there instead.
        why: the reason why it is left so; empty when nobody has given one.
    """

    place: str
    before: str
    after: str
    why: str = ""


@dataclass(frozen=True)
class Score:
    """What became of the mutants of a module, and when."""

    module: str
    date: str
    mutants: int
    noticed: int
    survivors: tuple[Survivor, ...]

    @property
    def rate(self) -> float:
        """Share of the mutants that a test noticed."""
        return self.noticed / self.mutants


def make_copy(modules: Sequence[str]) -> None:
    """Copy what git knows, and tell mutmut what to change and which tests to run."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)
    tests = sorted({f"tests/package/test_{name}.py" for m in modules for name in MODULES[m]})
    settings = {
        "source_paths": ["transformer_ref"],
        "only_mutate": [f"transformer_ref/{module}.py" for module in modules],
        "also_copy": [path.name for path in sorted(COPY.iterdir()) if path.name != ".mutation"],
        # Neither torch.compile nor torch.export looks through the switch that mutmut puts into each
        # function.
        "pytest_add_cli_args": [
            *(
                "-p",
                "no:cacheprovider",
                "-m",
                "not slow",
                "-k",
                "not compile and not export and not forgotten",
            )
        ],
        "pytest_add_cli_args_test_selection": tests,
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    with (COPY / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("\n".join(["", "[tool.mutmut]", *lines, ""]))


def mutmut(*arguments: str) -> str:
    """Run mutmut in the copy, on one thread a process; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        cwd=COPY,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"mutmut {' '.join(arguments)} failed:\n{done.stdout[-3000:]}")
    return done.stdout


def describe(name: str, reasons: Reasons) -> Survivor:
    """Say what a mutant changed, and why it may live."""
    lines = mutmut("show", name).splitlines()
    before, after = (
        "\n".join(line[1:].strip() for line in lines if line[:1] == sign and line[:3] != 3 * sign)
        for sign in "-+"
    )
    # transformer_ref.masks.x_causal_mask__mutmut_1; methods are xǁClassǁmethod
    function = name.rpartition("__mutmut_")[0].removeprefix("transformer_ref.")
    place = function.replace(".x_", ".").replace(".xǁ", ".").replace("ǁ", ".")
    return _explained(Survivor(place, before, after), reasons)


def read_reasons(path: Path) -> Reasons:
    """Read survivors.toml: a list of tables with place, before, after and why."""
    if not path.exists():
        return {}
    listed: list[dict[str, str]] = tomllib.loads(path.read_text(encoding="utf-8"))["survivor"]
    return {(s["place"], s["before"], s["after"]): s["why"] for s in listed}


def meta_file(module: str) -> Path:
    """Where mutmut notes the exit codes of a module's mutants."""
    return COPY / "mutants" / "transformer_ref" / f"{module}.py.meta"


def read_score(module: str, reasons: Reasons) -> Score:
    """Read what mutmut noted for a module."""
    meta = meta_file(module)
    codes: dict[str, int | None] = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
    if unknown := {*codes.values()} - NOTICED - LIVED:
        raise RuntimeError(f"mutmut left mutants of {module} without a verdict: codes {unknown}")
    survivors = tuple(describe(name, reasons) for name, code in codes.items() if code in LIVED)
    date = datetime.datetime.fromtimestamp(meta.stat().st_mtime, datetime.UTC).date().isoformat()
    return Score(module, date, len(codes), len(codes) - len(survivors), survivors)


def earlier_scores(folder: Path, reasons: Reasons) -> list[Score]:
    """Read results.json of earlier runs, with the reasons as they are now."""
    path = folder / "results.json"
    if not path.exists():
        return []
    listed = json.loads(path.read_text(encoding="utf-8"))["modules"]
    return [
        Score(
            **{**s, "survivors": tuple(_explained(Survivor(**x), reasons) for x in s["survivors"])}
        )
        for s in listed
    ]


def _explained(survivor: Survivor, reasons: Reasons) -> Survivor:
    key = (survivor.place, survivor.before, survivor.after)
    return replace(survivor, why=reasons.get(key, ""))


def markdown(scores: Sequence[Score], conditions: Mapping[str, str]) -> str:
    """The table of the modules, and under it every survivor."""
    mutants, noticed = sum(s.mutants for s in scores), sum(s.noticed for s in scores)
    lines = [
        "# Mutation testing",
        "",
        "Written by `make mutation`: each mutant is the package with one expression changed,",
        "and it counts as noticed when a test fails or never ends.",
        "",
        "| module | mutants | noticed | share | date |",
        "| --- | ---: | ---: | ---: | --- |",
        *(
            f"| {s.module} | {s.mutants} | {s.noticed} | {100 * s.rate:.1f}% | {s.date} |"
            for s in scores
        ),
        f"| all | {mutants} | {noticed} | {100 * noticed / mutants:.1f}% | |",
        "",
        *(f"- {name}: {value}" for name, value in conditions.items()),
        "",
        "## What no test noticed, and why it is left so",
        "",
    ]
    for survivor in (survivor for score in scores for survivor in score.survivors):
        lines += [f"### `{survivor.place}`", "", "```diff"]
        lines += [f"-{line}" for line in survivor.before.splitlines()]
        lines += [f"+{line}" for line in survivor.after.splitlines()]
        lines += ["```", "", survivor.why or "**No reason is given yet.**", ""]
    return "\n".join(lines).rstrip() + "\n"


def write(scores: Sequence[Score], folder: Path) -> None:
    """Write RESULTS.md and results.json into `folder`."""
    conditions = {"python": platform.python_version(), "mutmut": version("mutmut")}
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"conditions": conditions, "modules": [asdict(s) for s in scores]}
    write_json(folder / "results.json", results)
    write_text(folder / "RESULTS.md", markdown(scores, conditions))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the status is 1 below the goal or with a survivor without reason."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("modules", nargs="*", help=f"of {', '.join(MODULES)}; all when left out")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--keep", action="store_true", help="do not run mutmut: write again what its last run gave"
    )
    parser.add_argument(
        "--drawn", action="store_true", help="one module, which the commit draws; write nothing"
    )
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.modules) - set(MODULES)):
        parser.error(f"unknown module {', '.join(unknown)}; expected some of {', '.join(MODULES)}")
    modules = [min(MODULES, key=rank)] if options.drawn else options.modules or list(MODULES)
    if not options.keep:
        make_copy(modules)
        mutmut("run", "--max-children", str(options.processes))
    reasons = read_reasons(RESULTS / "survivors.toml")
    found = {score.module: score for score in earlier_scores(RESULTS, reasons)}
    found |= {m: read_score(m, reasons) for m in modules if meta_file(m).exists()}
    shown = modules if options.drawn else MODULES
    scores = [found[module] for module in shown if module in found]
    for score in scores:
        unexplained = sum(not survivor.why for survivor in score.survivors)
        print(
            f"{score.module}: {score.noticed} of {score.mutants} noticed "
            f"({100 * score.rate:.1f}%), {unexplained} survivors without a reason"
        )
    if not options.drawn:
        write(scores, RESULTS)
        print(f"written: {RESULTS}")
    met = sum(s.noticed for s in scores) >= GOAL * sum(s.mutants for s in scores)
    explained = all(survivor.why for score in scores for survivor in score.survivors)
    return 0 if met and explained else 1


if __name__ == "__main__":
    sys.exit(main())
