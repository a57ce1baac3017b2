"""The foot of a page: where a chapter leads, and nowhere that a reader should not be led.

The theme links the pages as the contents have them: a chapter to its closer look, the last chapter
to a solution. A chapter ends with its exercise and the next chapter instead, by the titles and the
minutes that these pages state themselves; and no page but a solution leads to one.
"""

from __future__ import annotations

import json
import posixpath
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from sphinx.application import Sphinx

EXERCISE_MINUTES = re.compile(r"They take about (\d+) minutes")
READING_MINUTES = re.compile(r"Reading takes about (\d+) minutes")


@cache
def chapters_of(root: Path) -> list[dict[str, Any]]:
    """List the chapters as _toc.yml has them, each with its sections; read once for all pages."""
    contents = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    parts = {part["caption"]: part["chapters"] for part in contents["parts"]}
    return list(parts["Chapters"])


def minutes_of(notebook: Path, pattern: re.Pattern[str]) -> int | None:
    """Read how many minutes a notebook says that it takes, if it does."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    first = "".join(next(cell for cell in cells if cell["cell_type"] == "markdown")["source"])
    found = pattern.search(first)
    return int(found[1]) if found else None


def ends_of(root: Path, page: str) -> dict[str, tuple[str, int | None]]:
    """Say where a chapter leads: to pages, with the minutes that they take.

    Args:
        root: the folder of _toc.yml.
        page: the name of a page.

    Returns:
        "practise", "next" and "previous", as far as there are such pages; nothing where the page
        is no chapter, or where only the way back would be left.
    """
    chapters = chapters_of(root)
    names = [chapter["file"] for chapter in chapters]
    if page not in names:
        return {}
    place, found = names.index(page), {}
    below = [section["file"] for section in chapters[place].get("sections", [])]
    for name in below:
        if name.startswith("exercises/"):
            found["practise"] = name, minutes_of(root / f"{name}.ipynb", EXERCISE_MINUTES)
    if page != names[-1]:
        name = names[place + 1]
        found["next"] = name, minutes_of(root / f"{name}.ipynb", READING_MINUTES)
    if found and place > 0:
        found["previous"] = names[place - 1], None
    return found


def end_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the template prev-next.html what a page leads to."""
    context["ends"] = {
        kind: {
            "link": app.builder.get_relative_uri(pagename, name),
            "title": app.env.titles[name].astext(),
            "minutes": minutes,
        }
        for kind, (name, minutes) in ends_of(Path(app.srcdir), pagename).items()
    }
    for way in ("prev", "next"):
        if (end := context.get(way)) and crosses(pagename, end["link"]):
            context[way] = None


def crosses(page: str, link: str) -> bool:
    """Say whether a link leads into the solutions or out of them."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    return page.startswith("solutions/") != target.startswith("solutions/")


def setup(app: Sphinx) -> None:
    """Connect to Sphinx, after the themes have filled the page's context."""
    app.connect("html-page-context", end_page, priority=900)
