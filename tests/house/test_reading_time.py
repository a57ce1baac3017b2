"""Chapters, closer looks and the index say how long a page takes to read, and it is so."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import nbformat
import pytest

from tools import reading_time
from tools.reading_time import (
    A_MINUTE_AT_WORK,
    CHAPTERS,
    CLOSER,
    main,
    measure,
    measure_prose,
    minutes,
)

INDEX = (CHAPTERS / "index.md").read_text(encoding="utf-8")
FIRST_READINGS = sorted(CHAPTERS.glob("*.ipynb"))
CLOSER_LOOKS = sorted(CLOSER.glob("*.ipynb"))
EVERY_PAGE = pytest.mark.parametrize(
    "path",
    [*FIRST_READINGS, *CLOSER_LOOKS],
    ids=lambda path: path.relative_to(CHAPTERS).with_suffix("").as_posix(),
)


def is_short(path: Path) -> bool:
    """Say whether a page is a first reading, which leaves the rest to a closer look."""
    return (path.parent / "closer" / path.name).exists()


def to_say(path: Path) -> str:
    """The minutes of reading that a page has to name: for a long one in steps of five."""
    exact = minutes(measure(path))
    return str(round(exact) if is_short(path) else 5 * round(exact / 5))


def sentence(path: Path) -> str:
    """What a page has to say of its minutes: a first reading also how long working takes."""
    if not is_short(path):
        return f"Reading takes about {to_say(path)} minutes."
    working = 5 * round(minutes(measure(path), A_MINUTE_AT_WORK) / 5)
    return (
        f"Reading takes about {to_say(path)} minutes, "
        f"and about {working} with the figures and questions."
    )


def faults(path: Path, index: str) -> list[str]:
    """Name what is wrong with what a page and the index say of its minutes."""
    found = []
    exact = round(minutes(measure(path)), 1)
    if is_short(path) and not 20.0 <= exact <= 30.0:
        found.append(f"takes {exact} minutes, not 20.0 to 30.0")
    first = nbformat.read(path, as_version=4).cells[0].source
    if re.findall(r"Reading takes about .*", first) != [sentence(path)]:
        found.append(f"does not say: {sentence(path)}")
    link = f"closer/{path.name}" if path.parent.name == "closer" else path.name
    if re.findall(rf"\]\({link}\), (\d+) minutes", index) != [to_say(path)]:
        found.append(f"the index does not say {to_say(path)} minutes")
    return found


@EVERY_PAGE
def test_a_page_and_the_index_say_how_long_it_takes(path: Path) -> None:
    assert faults(path, INDEX) == []


@pytest.mark.parametrize(
    ("path", "pages"),
    [
        ("The model in an afternoon", FIRST_READINGS),
        ("Everything", [*FIRST_READINGS, *CLOSER_LOOKS]),
    ],
)
def test_the_index_has_the_sums(path: str, pages: list[Path]) -> None:
    total = sum(minutes(measure(page)) for page in pages)
    said = re.findall(rf"^- \*\*{path}:\*\* .*about (\d+) hours", INDEX, re.MULTILINE)
    assert said == [str(round(total / 60))]


def test_the_index_says_while_a_chapter_is_too_long_for_the_afternoon() -> None:
    is_long = any(round(minutes(measure(page)), 1) > 30.0 for page in FIRST_READINGS)
    assert ("not yet an afternoon" in INDEX) == is_long


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """An empty book with a folder for closer looks."""
    (tmp_path / "closer").mkdir()
    return tmp_path


def write_page(path: Path, says: int, takes: float) -> Path:
    """Write a page that says one number of minutes and takes another."""
    said = f"Reading takes about {says} minutes.\n"
    words = "word " * (round(200 * takes) - len(said.split()))
    cell = nbformat.v4.new_markdown_cell(said + words)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    assert minutes(measure(path)) == pytest.approx(takes)
    return path


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
    working = 5 / 150 + 3 / 10 + 3 / 30 + 1 / 4 + 2 / 3 + 1  # a minute for the dropdown
    assert minutes(found, A_MINUTE_AT_WORK) == pytest.approx(working)


def test_fences_are_code_and_figures_are_pictures() -> None:
    found: Counter[str] = Counter()
    measure_prose("```python\na\nb\n```\n\n```{figure} x.svg\nCaption here.\n```\n", found)
    assert (found["code"], found["pictures"]) == (2, 1)


def test_the_command_prints_a_row_for_each_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(CHAPTERS / "where_next.ipynb")]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == ["page", "where_next", "all"]
    assert rows[1].split()[-1] == rows[2].split()[-1]


def test_the_command_prints_chapters_and_closer_looks(
    book: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_page(book / "masks.ipynb", 25, 25.0)
    write_page(book / "closer/masks.ipynb", 40, 40.0)
    monkeypatch.setattr(reading_time, "CHAPTERS", book)
    monkeypatch.setattr(reading_time, "CLOSER", book / "closer")
    assert main([]) == 0
    rows = [row.split() for row in capsys.readouterr().out.splitlines()[1:]]
    assert [(row[0], row[-1]) for row in rows] == [
        ("masks", "25.0"),
        ("closer/masks", "40.0"),
        ("all", "65.0"),
    ]
