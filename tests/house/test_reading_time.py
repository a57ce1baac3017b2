"""Chapters and the index say how long the chapters take to read, and it is so."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import nbformat
import pytest

from tools.reading_time import CHAPTERS, main, measure, measure_prose, minutes

INDEX = (CHAPTERS / "index.md").read_text(encoding="utf-8")
EVERY_CHAPTER = pytest.mark.parametrize(
    "path", sorted(CHAPTERS.glob("*.ipynb")), ids=lambda path: path.stem
)


def in_steps_of_five(path: Path) -> int:
    return 5 * round(minutes(measure(path)) / 5)


@EVERY_CHAPTER
def test_a_chapter_says_how_long_it_takes(path: Path) -> None:
    first = nbformat.read(path, as_version=4).cells[0].source
    said = re.findall(r"Reading takes about (\d+) minutes", first)
    assert said == [str(in_steps_of_five(path))]


@EVERY_CHAPTER
def test_the_index_says_it_too(path: Path) -> None:
    said = re.findall(rf"\]\({path.name}\), (\d+) minutes", INDEX)
    assert said == [str(in_steps_of_five(path))]


def test_the_index_has_the_sum() -> None:
    total = sum(minutes(measure(path)) for path in CHAPTERS.glob("*.ipynb"))
    assert f"about {round(total / 60)} hours" in INDEX


def test_a_page_is_counted_by_what_is_in_view(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell
    printed = nbformat.v4.new_output("stream", text="1\n2\n\n3\n")
    drawn = nbformat.v4.new_output("display_data", {"image/png": "", "text/plain": "<Figure>"})
    page = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("Four words stand here.\n\n$$a = b$$\n\n| a |\n|---|\n"),
            nbformat.v4.new_markdown_cell(":::{dropdown} More\nNot counted.\n:::\n"),
            cell("a = 1; b = 2\n\nprint(a)", outputs=[printed]),
            cell("import torch", metadata={"tags": ["setup"]}),
            cell("plot()", metadata={"tags": ["hide-input"]}, outputs=[drawn]),
            cell("x", metadata={"tags": ["remove-cell"]}, outputs=[drawn]),
        ]
    )
    path = tmp_path / "page.ipynb"
    nbformat.write(page, path)
    found = measure(path)
    assert {name: found[name] for name in ("words", "code", "printed", "formulas", "pictures")} == {
        "words": 5,  # and the head of the table
        "code": 3,
        "printed": 3,
        "formulas": 1,
        "pictures": 2,
    }
    assert found["hidden"] == 2
    assert found["folded"] > 0
    assert minutes(found) == pytest.approx(5 / 200 + 3 / 12 + 3 / 30 + 1 / 6 + 2 / 3)


def test_fences_are_code_and_figures_are_pictures() -> None:
    found: Counter[str] = Counter()
    measure_prose("```python\na\nb\n```\n\n```{figure} x.svg\nCaption here.\n```\n", found)
    assert (found["code"], found["pictures"]) == (2, 1)


def test_the_command_prints_a_row_for_each_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(CHAPTERS / "where_next.ipynb")]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == ["page", "where_next", "all"]
    assert rows[1].split()[-1] == rows[2].split()[-1]
