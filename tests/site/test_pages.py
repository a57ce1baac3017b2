"""Every page of the built site, looked at in Chromium: desktop and phone, light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.site.conftest import MODES, Visit, is_alike, is_translated, pages_of_site

pytestmark = pytest.mark.browser

# The listings of the package's source differ only in their text, so one represents the others.
LISTINGS, LISTING = "_modules/transformer_ref/", "_modules/transformer_ref/attention.html"
PAGES = [name for name in pages_of_site() if not name.startswith(LISTINGS) or name == LISTING]
# The dark changes nothing but colors. Those of a translated page are those of the English one, and
# the pages of the package are made by one template; one of each kind is looked at in the dark.
ALSO_IN_THE_DARK = {
    name
    for name in PAGES
    if not is_translated(name) and not (is_alike(name) and name.startswith("book/api/"))
}
DAILY = "desktop-light"


def look(name: str, mode: str) -> Any:
    """Return a page with a way of looking at it; `make test` looks in one way."""
    return pytest.param(name, mode, marks=[] if mode == DAILY else [pytest.mark.weekly])


LOOKS = [
    look(name, mode)
    for name in PAGES
    for mode in MODES
    if mode != "desktop-dark" or name in ALSO_IN_THE_DARK
]


def outside(seen: Visit, address: str) -> list[str]:
    """Return the requests that left this machine, and those that failed."""
    local = (f"{address}/", "data:", "blob:")
    left = [f"requests {url}" for url in seen.requests if not url.startswith(local)]
    return left + [f"cannot load {url}" for url in seen.failures]


def images(seen: Visit, mode: str) -> Iterator[str]:
    """Yield what is wrong with the images: not loaded, not described, no light card in the dark."""
    for image in seen.found["images"]:
        source, alt = image["source"], image["alt"]
        if not image["loaded"]:
            yield f"{source} is not loaded"
        if alt is None or re.search(r"[/\\]|\.(png|svg|jpe?g|gif|webp)$", alt):
            yield f"{source} has the alt text {alt}"
        # Only what decorates the frame around an article may be without words.
        elif not alt.strip() and image["inArticle"]:
            yield f"{source} has no alt text"
        on_card = image["background"] == "rgb(255, 255, 255)"
        if mode == "desktop-dark" and image["isFigure"] and not on_card:
            yield f"{source} is a figure on {image['background']}"


def drawings(seen: Visit) -> Iterator[str]:
    """Yield what is wrong with the schematics: not described, too small, too wide."""
    for drawing in seen.found["drawings"]:
        if not drawing["alt"].strip():
            yield "a schematic has no label"
        if drawing["text"] <= 10.9:
            yield f"text of {drawing['text']} px in: {drawing['alt']}"
        if drawing["shown"] > drawing["room"] + 0.5:
            yield f"scrolls sideways: {drawing['alt']}"


def figures(seen: Visit) -> Iterator[str]:
    """Yield the moving figures that show nothing new after all their controls were used."""
    for figure in seen.operated:
        if figure["used"] < 2 or figure["changes"] < 1:
            yield f"cannot be operated: {figure}"


@pytest.mark.parametrize(("name", "mode"), LOOKS)
def test_one_visit_finds_nothing_wrong(visit: Any, address: str, name: str, mode: str) -> None:
    seen = visit(name, mode)
    found = seen.found
    assert [
        *outside(seen, address),
        *(f"on the console: {line}" for line in seen.console),
        *(f"axe: {line}" for line in seen.violations),
        *(f"not typeset: {formula}" for formula in found["unset"] + found["wrong"]),
        *images(seen, mode),
        *drawings(seen),
        *figures(seen),
    ] == []
    assert found["overflow"] <= 0, "the page scrolls sideways"


def test_the_course_has_formulas_and_figures(visit: Any) -> None:
    """Without them the test above would be about nothing."""
    seen = visit("book/attention.html", "desktop-light")
    assert seen.found["formulas"] > 5
    assert any(image["isFigure"] for image in seen.found["images"])
    assert seen.found["drawings"]
    assert seen.operated
