"""What the package imports: nothing that comes with an extra, and nothing in a circle."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import transformer_ref

PACKAGE = Path(transformer_ref.__file__).parent


def test_the_package_loads_nothing_that_comes_with_an_extra() -> None:
    script = """
import sys, transformer_ref
print(*{"babel", "cloudpickle", "matplotlib", "regex", "sacrebleu"} & set(sys.modules))
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def imported(path: Path, names: set[str]) -> set[str]:
    """The modules of the package that a file of it imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found & names


def test_no_module_imports_in_a_circle() -> None:
    files: dict[str, Path] = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if "checks" not in parts:
            files[".".join(parts).removesuffix(".__init__")] = path
    # That of the package itself imports what it offers; nobody inside may go that way round.
    assert len(files) > 20
    graph = {name: imported(path, set(files)) - {name} for name, path in files.items()}
    offered = graph.pop("transformer_ref")
    assert not [name for name, needs in graph.items() if "transformer_ref" in needs]
    assert offered
    TopologicalSorter(graph).prepare()  # a CycleError names the circle
