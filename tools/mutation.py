"""Mutation testing: break the package in many small ways, and see which the tests notice.

``make mutation`` copies the repository to .mutation/, lets mutmut change one expression after the
other in the modules that everything rests on, and runs the tests that reach the change.
It prints the changes that no test noticed, and writes how many there were into tests/mutation.json.
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
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

from tools.draw_sample import rank
from transformer_ref.files import write_json

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / ".mutation"
RESULTS = ROOT / "tests" / "mutation.json"

# The modules that are mutated, and the tests that must notice.
MODULES: Mapping[str, tuple[str, ...]] = {
    "attention": ("attention", "cache", "bad_input", "parity", "layers"),
    "masks": ("masks", "attention", "cache", "bad_input", "model"),
    "positions": ("positions", "bad_input", "model", "torch_world"),
    # Without data_parallel: each mutant would start processes, and parallel.py is not mutated.
    **{
        f"training/{name}": ("training", "bad_input")
        for name in ("config", "losses", "optimizers", "run_state", "schedules", "trainer")
    },
    "decoding": ("decoding", "gpt", "torch_world", "bad_input"),
    "cache": ("cache", "decoding", "gpt", "bad_input"),
    "layers": ("layers", "cache", "gpt", "parity", "bad_input"),
    "model": ("model", "cache", "decoding", "parity", "torch_world", "bad_input"),
    "gpt": ("gpt", "cache", "bad_input"),
}
GOAL = 0.85
# mutmut's exit codes: a test failed or crashed, or the mutant never ended.
NOTICED = {1, 3, -11, 24, -24, 36, 152, 255}
LIVED = {0, 5, 33}  # the tests passed, or none reaches the change


@dataclass(frozen=True)
class Score:
    """What became of the mutants of a module, and when."""

    module: str
    date: str
    mutants: int
    noticed: int


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


def meta_file(module: str) -> Path:
    """Where mutmut notes the exit codes of a module's mutants."""
    return COPY / "mutants" / "transformer_ref" / f"{module}.py.meta"


def read_score(module: str) -> tuple[Score, list[str]]:
    """Read what mutmut noted for a module; return also the names of the mutants that lived."""
    meta = meta_file(module)
    codes: dict[str, int | None] = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
    if unknown := {*codes.values()} - NOTICED - LIVED:
        raise RuntimeError(f"mutmut left mutants of {module} without a verdict: codes {unknown}")
    survivors = [name for name, code in codes.items() if code in LIVED]
    date = datetime.datetime.fromtimestamp(meta.stat().st_mtime, datetime.UTC).date().isoformat()
    return Score(module, date, len(codes), len(codes) - len(survivors)), survivors


def write(scores: Sequence[Score], path: Path) -> None:
    """Write the scores; modules that were not measured now keep those of an earlier run."""
    earlier = json.loads(path.read_text(encoding="utf-8"))["modules"] if path.exists() else []
    found = {each["module"]: each for each in earlier} | {s.module: asdict(s) for s in scores}
    conditions = {"python": platform.python_version(), "mutmut": version("mutmut")}
    modules = [found[module] for module in MODULES if module in found]
    write_json(path, {"conditions": conditions, "modules": modules})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the status is 1 below the goal."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("modules", nargs="*", help=f"of {', '.join(MODULES)}; all when left out")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--keep", action="store_true", help="do not run mutmut: read what its last run gave"
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
    found = [read_score(module) for module in modules if meta_file(module).exists()]
    for score, survivors in found:
        print(*map(partial(mutmut, "show"), survivors), sep="\n")
        print(f"{score.module}: {score.noticed} of {score.mutants} noticed")
    scores = [score for score, _ in found]
    if not options.drawn:
        write(scores, RESULTS)
        print(f"written: {RESULTS}")
    met = sum(s.noticed for s in scores) >= GOAL * sum(s.mutants for s in scores)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
