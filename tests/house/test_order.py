"""The chapters have one order, that of _toc.yml, and a closer look stands under its chapter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import yaml

from tools.inputs import ROOT
from transformer_checks.registry import SLUGS

CONTENTS = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
INDEX = (ROOT / "book/index.md").read_text(encoding="utf-8")
CLOSER_LOOKS = sorted((ROOT / "book/closer").glob("*.ipynb"))


def part(caption: str) -> list[dict[str, Any]]:
    """The pages of a part of the contents; none where an instructor has left the part out."""
    return [
        page
        for each in CONTENTS["parts"]
        if each["caption"] == caption
        for page in each["chapters"]
    ]


def nested(pages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield each page and the page under which it stands."""
    for page in pages:
        for below in page.get("sections", []):
            yield below["file"], page["file"]


ORDER = [Path(page["file"]).name for page in part("Chapters")]


def test_the_contents_have_every_chapter_once() -> None:
    assert sorted(ORDER) == sorted(path.stem for path in (ROOT / "book").glob("*.ipynb"))


def test_the_index_has_the_chapters_in_this_order() -> None:
    found = re.findall(r"^(\d+)\. \[\*\*.+\*\*\]\((\w+)\.ipynb\)", INDEX, re.MULTILINE)
    assert found == [(str(number), slug) for number, slug in enumerate(ORDER, start=1)]


def assignments(folder: str) -> list[str]:
    """The pages of the exercises or solutions, in the order of the chapters."""
    pages = [f"{folder}/{slug}/{slug}" for slug in ORDER]
    return [page for page in pages if (ROOT / f"{page}.ipynb").exists()]


def test_solutions_follow_the_chapters() -> None:
    # None where an instructor has left the solutions out.
    assert [page["file"] for page in part("Solutions")] in (assignments("solutions"), [])


def test_the_checks_follow_the_chapters() -> None:
    assert list(SLUGS) == [slug for slug in ORDER if slug in SLUGS]


def test_closer_look_and_exercise_stand_under_their_chapter_in_the_contents() -> None:
    expected = {f"book/closer/{path.stem}" for path in CLOSER_LOOKS} | set(assignments("exercises"))
    found = list(nested(part("Chapters")))
    assert {below for below, _ in found} == expected
    assert [below for below, page in found if Path(below).name != Path(page).name] == []
    assert [below for below, _ in found if below.startswith("exercises/")] == assignments(
        "exercises"
    )


def test_every_closer_look_stands_behind_its_chapter_in_the_index() -> None:
    found = re.findall(r"^\d+\. .*\]\((\w+)\.ipynb\).*\]\(closer/(\w+)\.ipynb\)", INDEX, re.M)
    expected = [path.stem for path in CLOSER_LOOKS]
    assert sorted(found) == [(slug, slug) for slug in expected]
    assert INDEX.count("](closer/") == len(expected)


def test_a_closer_look_says_so_in_its_title() -> None:
    first = {path.name: nbformat.read(path, as_version=4).cells[0].source for path in CLOSER_LOOKS}
    assert [name for name, text in first.items() if not text.startswith("# A closer look: ")] == []
