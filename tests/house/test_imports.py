"""Imports go one way: between the rooms of the house, between those of the checks, in the model."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MODEL, APPLICATIONS, EXPERIMENTS = (
    "transformer_ref",
    "transformer_ref.applications",
    "transformer_ref.experiments",
)
CHECKS = "transformer_checks"
BENCHMARKS, TOOLS, BOOK, TESTS = "benchmarks", "tools", "book", "tests"
# What each room of the house may import of the others, besides itself.
MAY_IMPORT = {
    MODEL: set(),
    APPLICATIONS: {MODEL},
    CHECKS: {MODEL},
    EXPERIMENTS: {MODEL, APPLICATIONS},  # else a hint would let every chapter run again
    BENCHMARKS: {MODEL, APPLICATIONS, CHECKS, EXPERIMENTS},
    TOOLS: {MODEL, APPLICATIONS, CHECKS, EXPERIMENTS},
    BOOK: {MODEL, APPLICATIONS, CHECKS, EXPERIMENTS, TOOLS},
}
# Files of the package that only offer, under a short name, what stands in the applications.
OFFERS = {f"transformer_ref/{name}.py" for name in ("__init__", "__main__", "g2p")}


def room_of(module: str) -> str | None:
    """The room that a module of ours is in; None for one of another library."""
    rooms = (*MAY_IMPORT, TESTS)
    found = [room for room in rooms if module == room or module.startswith(f"{room}.")]
    return max(found, key=len, default=None)


def name_of(path: Path) -> str:
    """The name by which a file is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def syntax_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, anywhere in it; of `from a import b` both a and a.b."""
    for node in ast.walk(syntax_of(path)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imported_by(path, node)


def imported_by(path: Path, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The modules that one statement of a file imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    package = name_of(path) if path.name == "__init__.py" else name_of(path).rpartition(".")[0]
    module = resolve_name("." * node.level + (node.module or ""), package)
    yield module
    yield from (f"{module}.{alias.name}" for alias in node.names)


def files() -> list[Path]:
    folders = {room.partition(".")[0] for room in MAY_IMPORT}
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_imports_go_one_way(room: str) -> None:
    allowed = {None, room} | MAY_IMPORT[room]
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in files()
        if room_of(name_of(path)) == room
        for module in imported(path)
        if room_of(module) not in allowed
        and not (room_of(module) == APPLICATIONS and path.relative_to(ROOT).as_posix() in OFFERS)
    ]
    assert wrong == []


def test_every_room_has_files() -> None:
    assert {room_of(name_of(path)) for path in files()} == set(MAY_IMPORT)


def test_what_is_installed_knows_no_path_of_the_tests() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in files()
        if path.is_relative_to(ROOT / MODEL) or path.is_relative_to(ROOT / CHECKS)
        for node in ast.walk(syntax_of(path))
        if isinstance(node, ast.Constant) and str(node.value).split("/")[0] == "tests"
    }
    assert found == set()


def test_no_module_of_the_package_imports_in_a_circle() -> None:
    paths = [path for path in files() if path.is_relative_to(ROOT / MODEL)]
    assert len(paths) > 20
    graph = {name_of(path): set(imported(path)) - {name_of(path)} for path in paths}
    # That of the package itself imports what it offers; nobody inside may go that way round.
    assert graph.pop(MODEL) & set(graph)
    assert not [name for name, needs in graph.items() if MODEL in needs]
    TopologicalSorter(graph).prepare()  # a CycleError names the circle


def test_no_module_of_the_checks_imports_in_a_circle() -> None:
    paths = [path for path in files() if path.is_relative_to(ROOT / CHECKS)]
    assert len(paths) > 20
    # `import package.module` also names the package, whose own file offers the public functions.
    names = {name_of(path) for path in paths} - {CHECKS}
    graph = {name_of(path): names & set(imported(path)) - {name_of(path)} for path in paths}
    TopologicalSorter(graph).prepare()


# What each folder of the checks may not import: what stands above it.
CLOSED = {
    "running": ("judging", "assignments", "capstone", "classroom", "grading"),
    "judging": ("assignments", "capstone", "classroom", "grading"),
    "assignments": ("capstone", "classroom", "grading"),
    "capstone": ("running", "judging", "assignments", "classroom", "grading"),
    "classroom": ("assignments", "capstone"),
}


@pytest.mark.parametrize("folder", CLOSED)
def test_no_folder_of_the_checks_reaches_into_one_above_it(folder: str) -> None:
    paths = [*(ROOT / CHECKS / folder).rglob("*.py")]
    assert paths
    above = tuple(f"{CHECKS}.{each}" for each in CLOSED[folder])
    wrong = [
        (path.name, name) for path in paths for name in imported(path) if name.startswith(above)
    ]
    assert wrong == []


# Where Windows has no such module.
POSIX_ONLY = {
    *("_posixsubprocess", "curses", "fcntl", "grp", "posix", "pty", "pwd", "readline"),
    *("resource", "syslog", "termios", "tty"),
}
# What students run: the checks, whose other modules these import, the answers of a notebook, and
# the command that opens it.
STUDENTS_RUN = (
    "tools.lab",
    "tools.environment",
    "transformer_checks.grading",
    "transformer_checks.assignments.reading",
)


def needed(path: Path) -> Iterator[str]:
    """Every module that a file cannot do without: all that it imports outside of `try`."""
    guarded = {
        id(inner)
        for node in ast.walk(syntax_of(path))
        if isinstance(node, ast.Try)
        and any("ImportError" in ast.dump(each) for each in node.handlers)
        for inner in ast.walk(node)
    }
    for node in ast.walk(syntax_of(path)):
        if id(node) not in guarded and isinstance(node, ast.Import | ast.ImportFrom):
            yield from imported_by(path, node)


def test_nothing_that_students_run_needs_posix() -> None:
    paths = {name_of(path): path for path in files()}
    answers = [name for name in paths if name.startswith(f"{CHECKS}.assignments.")]
    waiting, seen, wrong = [*STUDENTS_RUN, *answers], set[str](), []
    while waiting:
        name = waiting.pop()
        if name in seen or name not in paths:
            continue
        seen.add(name)
        wrong += [f"{name} needs {each}" for each in needed(paths[name]) if each in POSIX_ONLY]
        waiting += needed(paths[name])
    assert len(seen) > 50
    assert wrong == []


def test_what_runs_on_request_only_can_be_imported() -> None:
    collect = ("-q", "--collect-only", "-p", "no:nbval", "-p", "no:cacheprovider", "-m", "")
    command = [sys.executable, "-m", "pytest", *collect, "tests/whole_class"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
