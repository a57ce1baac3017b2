"""Bring notebooks into the one form that git holds; check that they are in it; execute them.

    python -m tools.notebooks format  [path ...]   normalise in place
    python -m tools.notebooks check   [path ...]   write nothing; name what is wrong, and where
    python -m tools.notebooks execute [path ...]   run chapters and solutions, then normalise

Without a path: all of book/, solutions/ and exercises/.
Chapters and solutions are held executed, because nbval compares only cells that have been run.
Exercises are held without outputs; tools/exercises.py makes them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import yaml
from nbformat import NotebookNode

from transformer_checks.limits import NOTEBOOK_CELL_SECONDS
from transformer_ref.files import write_text

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("book", "solutions", "exercises")

# Every job that runs a notebook uses these, so that the outputs do not depend on who runs it.
EXECUTION_ENVIRONMENT = {
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "PYTHONHASHSEED": "0",
}
CELL_TIMEOUT = int(NOTEBOOK_CELL_SECONDS)

NOTEBOOK_METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}
# Whatever is not named here was left by an editor or a run (timings, folded cells, widgets).
KEPT_NOTEBOOK_METADATA = frozenset({"mystnb"})
KEPT_CELL_METADATA = frozenset({"deletable", "editable", "mystnb", "nbgrader", "slideshow", "tags"})

READABLE_ID = re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*")
# What editors give to a new cell: eight hexadecimal digits, not all of them letters, or a UUID.
RANDOM_ID = re.compile(r"(?=[a-f]*\d)[0-9a-f]{8}(-[0-9a-f]{4}){0,3}(-[0-9a-f]{12})?")

# What differs on the next run or another machine: an address in memory, the folder of a person.
VOLATILE_TEXT = re.compile(r"\b0x[0-9a-f]{6,}\b|ipykernel_\d+|(?<![\w/.])/(?:home|Users|root|tmp)/")

SETUP_TAG = "setup"
SETUP_TEMPLATE = """\
# Set-up: run this cell first; there is nothing to change in it.
import importlib.util

if importlib.util.find_spec("transformer_ref") is None:
    {remedy}\
"""
# IPython puts the address in, so that no line is too long.
SETUP_INSTALL = """\
course = "{url}"
    %pip install --quiet "transformer-ref[checks,text] @ git+{{course}}"\
"""
# For a reader who has only this file, as long as the course has no address to install from.
SETUP_EXPLAIN = """\
raise ModuleNotFoundError(
        "transformer_ref is missing. This notebook is part of a course: "
        "download the course from the start page of its book, unpack it, "
        "and run `pip install uv` and `uv run lab.py` in its folder. "
        "There, open the notebook with the same name."
    )"""


@cache
def repository_url(config: Path = ROOT / "_config.yml") -> str:
    """Return the address of the repository, or an empty string while it is not set."""
    settings = yaml.safe_load(config.read_text(encoding="utf-8")) if config.exists() else {}
    return str((settings.get("repository") or {}).get("url") or "")


def setup_source(url: str) -> str:
    """Return the source of the setup cell, which stands in every notebook.

    Args:
        url: the address of the repository; empty while there is none.
    """
    remedy = SETUP_INSTALL.format(url=url) if url else SETUP_EXPLAIN
    return SETUP_TEMPLATE.format(remedy=remedy)


def is_executed_kind(path: Path) -> bool:
    """Say whether a notebook is held executed; all in the repository are but exercises."""
    return not path.resolve().is_relative_to(ROOT / "exercises")


# --- reading and writing ----------------------------------------------------------------------


def read(path: Path) -> NotebookNode:
    """Read a notebook without adding anything to it; nbformat.read would invent random ids.

    Raises:
        ValueError: it is not a notebook of format 4.
    """
    text = path.read_text(encoding="utf-8")
    try:
        data = json.loads(text)
        major = data["nbformat"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: not a notebook ({error!r})") from error
    if major != 4:
        raise ValueError(f"{path}: notebook format {major}, expected 4")
    return nbformat.v4.to_notebook(data)


def dumps(notebook: NotebookNode) -> str:
    """Return the bytes that git holds, as text."""
    return str(nbformat.v4.writes(notebook)) + "\n"


def write(path: Path, notebook: NotebookNode) -> bool:
    """Write a notebook in one step; return False when nothing had to be written."""
    text = dumps(notebook)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    write_text(path, text)
    return True


# --- the one form -----------------------------------------------------------------------------


def tags(cell: NotebookNode) -> list[str]:
    """Return the tags of a cell."""
    return list(cell.metadata.get("tags", []))


def has_readable_id(cell: NotebookNode) -> bool:
    """Say whether a cell has an id that a person chose."""
    identifier = cell.get("id", "")
    return bool(READABLE_ID.fullmatch(identifier)) and not RANDOM_ID.fullmatch(identifier)


def suggest_id(cell: NotebookNode) -> str:
    """Make an id from the words of a cell: its heading, what it defines, or how it begins."""
    if SETUP_TAG in tags(cell):
        return "setup"
    found = re.search(r"^(?:#+|def|class)\s+(.+)", cell.source, flags=re.MULTILINE)
    words = re.findall(r"[a-z0-9]+", (found.group(1) if found else cell.source).lower())
    identifier = "-".join(words[:6])[:40].strip("-") or cell.cell_type
    return f"cell-{identifier}" if RANDOM_ID.fullmatch(identifier) else identifier


def normalise_ids(cells: Iterable[NotebookNode]) -> None:
    """Keep readable ids that are the first of their name, and replace the others."""
    cells = list(cells)
    taken: set[str] = set()
    unnamed = []
    for cell in cells:
        if has_readable_id(cell) and cell.id not in taken:
            taken.add(cell.id)
        else:
            unnamed.append(cell)
    for cell in unnamed:
        suggestion = suggest_id(cell)
        cell.id = suggestion
        number = 2
        while cell.id in taken:
            cell.id = f"{suggestion}-{number}"
            number += 1
        taken.add(cell.id)


def merge_streams(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Join neighbouring pieces of one stream; where they are split depends on timing."""
    merged: list[NotebookNode] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if output.output_type == "stream" and last and last.get("name") == output.name:
            last.text += output.text
        else:
            merged.append(output)
    return merged


def normalise_output(output: NotebookNode, count: int | None) -> None:
    """Drop the data of images and widgets from an output, and keep the output itself."""
    if "data" in output:
        for mime in list(output.data):
            if mime.startswith("image/") or "jupyter.widget" in mime:
                del output.data[mime]
        output.metadata = NotebookNode()
    if output.output_type == "execute_result":
        output.execution_count = count


def normalise_code(cells: Iterable[NotebookNode], executed: bool) -> None:
    """Number the cells that were run 1 to n and tidy their outputs, or empty them all."""
    count = 0
    for cell in cells:
        was_run = cell.get("execution_count") is not None and bool(cell.source.strip())
        if not (executed and was_run):
            cell.execution_count, cell.outputs = None, []
            continue
        count += 1
        cell.execution_count = count
        cell.outputs = merge_streams(cell.get("outputs", []))
        for output in cell.outputs:
            normalise_output(output, count)


def normalise(notebook: NotebookNode, *, executed: bool, url: str = "") -> NotebookNode:
    """Bring a notebook into the form that git holds; doing it twice changes nothing more.

    Args:
        notebook: changed in place.
        executed: True for chapters and solutions, which keep their text outputs; False for
            exercises, which keep none.
        url: the address of the repository, for the setup cell.

    Returns:
        The same notebook.

    Raises:
        nbformat.ValidationError: it is not a valid notebook.
    """
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    kept = {k: v for k, v in notebook.metadata.items() if k in KEPT_NOTEBOOK_METADATA}
    notebook.metadata = nbformat.from_dict({**kept, **NOTEBOOK_METADATA})
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict(
            {k: v for k, v in cell.metadata.items() if k in KEPT_CELL_METADATA and v != []}
        )
        if SETUP_TAG in tags(cell):
            cell.source = setup_source(url)
    normalise_ids(notebook.cells)
    normalise_code((c for c in notebook.cells if c.cell_type == "code"), executed)
    nbformat.validate(notebook)
    return notebook


# --- the check --------------------------------------------------------------------------------


def text_of(output: NotebookNode) -> str:
    """Return all text of an output."""
    parts = [output.get("text", ""), *output.get("traceback", [])]
    parts += [v for k, v in output.get("data", {}).items() if k.startswith("text/")]
    return "\n".join(parts)


def output_problems(cell: NotebookNode) -> Iterator[str]:
    """Yield what is wrong with the outputs of one executed cell."""
    raises = {"raises-exception", "nbval-raises-exception"} & set(tags(cell))
    for output in cell.outputs:
        if output.output_type == "error" and not raises:
            yield f"ended in {output.ename}; fix it, or tag the cell raises-exception"
        if output.get("name") == "stderr":
            yield f"wrote to stderr: {output.text.strip().splitlines()[0][:80]!r}"
        if found := VOLATILE_TEXT.search(text_of(output)):
            yield f"prints {found.group()!r}, which differs on another run or machine"


def cell_problems(notebook: NotebookNode) -> Iterator[str]:
    """Yield what `make format` cannot fix in the code cells of a notebook that is held executed."""
    for position, cell in enumerate(notebook.cells, start=1):
        name = f"cell {position} ({cell.get('id', 'no id')})"
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        if cell.get("execution_count") is None:
            yield f"{name} was not run: `make notebooks` runs it"
            continue
        for problem in output_problems(cell):
            yield f"{name} {problem}"


def problems(path: Path, *, executed: bool, url: str = "") -> list[str]:
    """List everything that keeps a notebook file from being what git should hold.

    Args:
        path: the file.
        executed: True for chapters and solutions, False for exercises.
        url: the address of the repository, for the setup cell.
    """
    try:
        notebook = read(path)
        found = [*cell_problems(notebook)] if executed else []
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        if code and SETUP_TAG not in tags(code[0]):
            found.append(f"the first code cell is not tagged {SETUP_TAG!r}")
        normalised = dumps(normalise(notebook, executed=executed, url=url))
    except (ValueError, nbformat.ValidationError) as error:
        return [str(error).splitlines()[0]]
    if normalised != path.read_text(encoding="utf-8"):
        found.append("is not normalised: `make format` does it")
    return found


# --- execution --------------------------------------------------------------------------------


class ExecutionError(Exception):
    """A notebook did not run to its end; the text names the notebook and shows the cell."""


@contextmanager
def working_folder(path: Path) -> Iterator[Path]:
    """Yield where to run a notebook: its own folder, or for an assignment an empty one.

    What an assignment writes beside itself would be released with it.
    """
    if not path.resolve().is_relative_to(ROOT / "solutions"):
        yield path.parent
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def execute(path: Path) -> NotebookNode:
    """Run a notebook from top to bottom in its own folder; an assignment in an empty one.

    Returns:
        The notebook with its outputs, not yet normalised and not yet written.

    Raises:
        ExecutionError: a cell failed or took too long.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal, DeadKernelError

    notebook = read(path)
    normalise_ids(notebook.cells)
    client: Any = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name=NOTEBOOK_METADATA["kernelspec"]["name"],
        record_timing=False,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],  # it warns of sockets on this machine
    )
    try:
        with working_folder(path) as folder:
            client.execute(env={**os.environ, **EXECUTION_ENVIRONMENT}, cwd=str(folder))
    except (CellControlSignal, DeadKernelError) as error:
        raise ExecutionError(f"{path}: {error}") from error
    return notebook


# --- the command line -------------------------------------------------------------------------


def find(paths: Sequence[Path]) -> list[Path]:
    """List the notebooks in files and folders, without checkpoints and built copies.

    Raises:
        ValueError: a path does not exist.
    """
    found: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise ValueError(f"{path}: no such file or folder")
        found.update(path.rglob("*.ipynb") if path.is_dir() else [path])
    hidden = {".ipynb_checkpoints", "_build"}
    return sorted(path for path in found if not hidden & set(path.parts))


def run(command: str, path: Path) -> bool:
    """Do one command to one notebook; print what happened; return whether all is well."""
    executed, url = is_executed_kind(path), repository_url()
    name = os.path.relpath(path)
    if command == "check":
        found = problems(path, executed=executed, url=url)
        for problem in found:
            print(f"{name}: {problem}")
        return not found
    if command == "execute":
        if not executed:
            return True
        print(f"{name}: running ...", flush=True)
    notebook = execute(path) if command == "execute" else read(path)
    if write(path, normalise(notebook, executed=executed, url=url)):
        print(f"{name}: written")
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.notebooks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=["format", "check", "execute"])
    parser.add_argument("paths", nargs="*", type=Path)
    options = parser.parse_args(arguments)
    default = [ROOT / folder for folder in FOLDERS if (ROOT / folder).exists()]
    try:
        notebooks = find(options.paths or default)
        well = [run(options.command, path) for path in notebooks]
    except (ValueError, nbformat.ValidationError) as error:
        print(error, file=sys.stderr)
        return 2
    except ExecutionError as error:
        print(error, file=sys.stderr)
        return 1
    if options.command == "check":
        print(f"{sum(well)} of {len(well)} notebooks are in order")
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main())
