"""What the tests of the assignments share: the notebooks, their tasks, and a way to run cells.

The cells run in an IPython shell inside the test process.
That is what a kernel runs too, and it saves starting one (and importing torch) for every case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from nbformat import NotebookNode
from traitlets.config import Config

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENTS = sorted(path.parent.name for path in ROOT.glob("solutions/*/*.ipynb"))
# In the capstone a file is judged and no function; test_capstone.py has what holds for it.
SLUGS = [slug for slug in ASSIGNMENTS if slug != "capstone"]
ROLES = ("task", "solution", "try", "check", "hidden", "now")
REGION = re.compile(r"( *)### BEGIN (SOLUTION|HIDDEN TESTS)\n.*?### END \2\n?", re.DOTALL)


def read(folder: str, slug: str) -> NotebookNode:
    """The notebook of an assignment, from solutions/ or exercises/."""
    return nbformat.read(ROOT / folder / slug / f"{slug}.ipynb", as_version=4)


@dataclass
class Task:
    """The cells of one task, by their role: the cell ids are `<prefix>-<role>`."""

    prefix: str
    cells: dict[str, NotebookNode] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The task's name in the checks, such as `attention.split_heads`."""
        found = re.search(
            r'^_course_check\(\s*"([\w.]+)"', self.cells["check"].source, re.MULTILINE
        )
        assert found, f"{self.prefix}-check calls no check"
        return found[1]

    @property
    def points(self) -> tuple[int, int]:
        """What the check and the hidden tests are worth, from nbgrader's metadata."""
        return tuple(self.cells[role].metadata.nbgrader.points for role in ("check", "hidden"))


def tasks(notebook: NotebookNode) -> list[Task]:
    """The tasks of a notebook in their order."""
    found: dict[str, Task] = {}
    for cell in notebook.cells:
        prefix, _, role = cell.id.rpartition("-")
        if role in ROLES:
            found.setdefault(prefix, Task(prefix)).cells[role] = cell
    return list(found.values())


@dataclass(frozen=True)
class Outcome:
    """What became of one cell: the value of its last line, what it printed, what it raised."""

    value: object
    printed: str
    complaints: str
    error: BaseException | None


class Shell:
    """An IPython shell that runs cells one after the other, as a kernel does."""

    def __init__(self) -> None:
        self.shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
        # The value of the last line is kept, and not printed among what the cell prints.
        self.shell.displayhook.write_output_prompt = lambda: None
        self.shell.displayhook.write_format_data = lambda *_: None

    def run(self, source: str) -> Outcome:
        """Run one cell; an error in it is part of the outcome."""
        with capture_output() as captured:
            result = self.shell.run_cell(source)
        return Outcome(
            result.result,
            captured.stdout,
            captured.stderr,
            result.error_before_exec or result.error_in_exec,
        )


def prepared_shell(notebook: NotebookNode) -> Shell:
    """A shell in which the cells before the first task have run."""
    shell = Shell()
    for cell in cells_before_the_tasks(notebook):
        assert shell.run(cell.source).error is None
    return shell


def cells_before_the_tasks(notebook: NotebookNode) -> Iterator[NotebookNode]:
    """The code cells that set the notebook up."""
    for cell in notebook.cells:
        if cell.id.rpartition("-")[2] in ROLES:
            return
        if cell.cell_type == "code":
            yield cell
