"""What a chapter holds is the same on any machine: it asserts no time and prints no rounding."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from nbformat import NotebookNode

from tools import notebooks

CHAPTERS = notebooks.find([notebooks.ROOT / "book"])  # and their closer looks
EVERY_CHAPTER = pytest.mark.parametrize(
    "path", CHAPTERS, ids=lambda path: path.relative_to(notebooks.ROOT).with_suffix("").as_posix()
)
CLOCK = re.compile(r"\b(?:process_time|perf_counter|monotonic|timeit)\b|\btime\.time\(")
ROUNDING = re.compile(r"difference\S* -?\d+(?:\.\d{5,}|[\d.]*e-)")  # "difference 0.000001", "3e-08"


def code_of(path: Path) -> list[NotebookNode]:
    return [cell for cell in notebooks.read(path).cells if cell.cell_type == "code"]


@EVERY_CHAPTER
def test_a_cell_that_reads_the_clock_asserts_nothing_and_is_not_compared(path: Path) -> None:
    timed = [cell for cell in code_of(path) if CLOCK.search(cell.source)]
    assert [cell.id for cell in timed if re.search(r"^\s*assert\b", cell.source, re.M)] == []
    assert [c.id for c in timed if "nbval-ignore-output" not in notebooks.tags(c)] == []


@EVERY_CHAPTER
def test_no_difference_that_is_rounding_is_printed_where_it_is_compared(path: Path) -> None:
    compared = [c for c in code_of(path) if "nbval-ignore-output" not in notebooks.tags(c)]
    printed = {cell.id: "\n".join(map(notebooks.text_of, cell.outputs)) for cell in compared}
    assert {
        name: ROUNDING.findall(text) for name, text in printed.items() if ROUNDING.search(text)
    } == {}
