"""Tables that are too wide for a phone: each row can be a card, whose cells say their column.

A page is written once for all widths, so a table that would scroll on a phone, or whose lines would
hold two words, gets the class `stacked` and in each cell the head of its column (`data-label`).
book/assets/course.css makes cards of it where there is little room; elsewhere nothing changes.
As a card is no table to a screen reader, the roles that it would lose are written out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bs4 import BeautifulSoup, Tag
from sphinx.application import Sphinx

TABLE = re.compile(
    r'(?<=<div class="pst-scrollable-table-container">)<table class="table">.*?</table>', re.S
)
ROLES = {
    "table": "table",
    "thead": "rowgroup",
    "tbody": "rowgroup",
    "tr": "row",
    "th": "columnheader",
    "td": "cell",
}

# A phone's page has room for about 350 pixels; a letter takes about 9 of them, an edge 16.
ROOM, LETTER, EDGES, NARROWEST = 350, 9, 16, 80
# So many letters in the longest cells of all columns make three lines and more of each row.
LONG = 95
# Where no cell has more letters than that, it stands beside its label.
BRIEF = 16


def needed_width(cell: Tag) -> int:
    """Guess how narrow a cell can become, in pixels: code does not break, prose does."""
    code = [part.get_text() for part in cell.select("code")]
    words = re.sub(r"\\[a-zA-Z]+|[{}\\]", "", cell.get_text(" ")).split()
    return max(NARROWEST, EDGES + LETTER * max(map(len, [*code, *words]), default=0))


def is_wide(heads: Sequence[Tag], rows: Sequence[Sequence[Tag]]) -> bool:
    """Say whether a table is too wide for a phone."""
    columns = [[head, *cells] for head, *cells in zip(heads, *rows, strict=True)]
    width = sum(max(map(needed_width, column)) for column in columns)
    letters = sum(max(len(cell.get_text()) for cell in column) for column in columns)
    return width > ROOM or letters > LONG


def label_of(head: Tag) -> str:
    """Return the head of a column as plain text; a label cannot hold a formula."""
    text = re.sub(r"\\\(|\\\)|\\mathrm|[{}]", "", head.get_text(" ", strip=True))
    return re.sub(r"\s+(?=,)|(?<=\s)\s+", "", text).strip()


def stacked(table: re.Match[str]) -> str:
    """Return a table that can be shown as cards, or the same where it need not be."""
    parsed = BeautifulSoup(table[0], "html.parser")
    heads = parsed.select("thead th")
    rows = [row.select("td") for row in parsed.select("tbody tr")]
    if not heads or any(len(row) != len(heads) for row in rows) or not is_wide(heads, rows):
        return table[0]
    for name, role in ROLES.items():
        for part in parsed.select(name):
            part["role"] = role
    for row in rows:
        for head, cell in zip(heads, row, strict=True):
            cell["data-label"] = label_of(head)
            if not cell.get_text(strip=True):
                cell["class"] = "empty"
    brief = all(len(cell.get_text()) <= BRIEF for row in rows for cell in row)
    parsed.select("table")[0]["class"] = "table stacked brief" if brief else "table stacked"
    return str(parsed)


def stack_tables(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Prepare the tables of a page."""
    context["body"] = TABLE.sub(stacked, context.get("body", ""))


def setup(app: Sphinx) -> None:
    """Connect to Sphinx."""
    app.connect("html-page-context", stack_tables)
