"""Every page of the built site, looked at in Chromium: desktop and phone, light and dark."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.site.conftest import MODES, is_alike
from tools.build_book import SITE

pytestmark = pytest.mark.browser

# The start page's address only forwards to book/index.html.
PAGES = sorted(
    path.relative_to(SITE).as_posix()
    for path in SITE.rglob("*.html")
    if "_static" not in path.parts and path != SITE / "index.html"
) or ["book/index.html"]
# The listings of the package's source differ only in their text, so one represents the others.
LISTINGS = {name for name in PAGES if name.startswith("_modules/transformer_ref/")}
LISTINGS.discard("_modules/transformer_ref/attention.html")
DAILY = "desktop-light"


def look(name: str, mode: str = DAILY, one_of_a_kind: bool = True):
    """Return a page with a way of looking at it, for one process to visit."""
    marks = [] if mode == DAILY and one_of_a_kind else [pytest.mark.weekly]
    return pytest.param(name, mode, marks=[pytest.mark.xdist_group(name), *marks])


LOOKS = [
    (name, mode) for name in PAGES for mode in MODES if mode == "phone" or name not in LISTINGS
]
EVERY_LOOK = pytest.mark.parametrize(("name", "mode"), [look(*each) for each in LOOKS])
EVERY_PAGE = pytest.mark.parametrize(
    ("name", "mode"), [look(name) for name in PAGES if name not in LISTINGS]
)

# Lines on the console that are known and harmless, with their reason. None is left.
ALLOWED_CONSOLE: frozenset[str] = frozenset()
# Schematics, by their alt text, that scroll sideways because no layout of them is narrow enough.
ALLOWED_SCROLLING: frozenset[str] = frozenset()
# Breaches of axe's rules that stay, with their reason. None is left.
ALLOWED_VIOLATIONS: frozenset[str] = frozenset()


@EVERY_LOOK
def test_nothing_is_fetched_from_outside(visit: Any, address: str, name: str, mode: str) -> None:
    seen = visit(name, mode)
    local = (f"{address}/", "data:", "blob:")
    assert [url for url in seen.requests if not url.startswith(local)] == []
    assert seen.failures == []


@EVERY_LOOK
def test_the_console_stays_empty(visit: Any, name: str, mode: str) -> None:
    assert [line for line in visit(name, mode).console if line not in ALLOWED_CONSOLE] == []


@EVERY_LOOK
def test_the_page_does_not_scroll_sideways(visit: Any, name: str, mode: str) -> None:
    assert visit(name, mode).found["overflow"] <= 0


@pytest.mark.parametrize(
    ("name", "mode"), [look(*each, one_of_a_kind=not is_alike(each[0])) for each in LOOKS]
)
def test_axe_finds_nothing(visit: Any, name: str, mode: str) -> None:
    rules = visit(name, mode).violations
    assert [line for line in rules if line.split(" ")[0] not in ALLOWED_VIOLATIONS] == []


@EVERY_PAGE
def test_mathematics_is_typeset(visit: Any, name: str, mode: str) -> None:
    found = visit(name, mode).found
    assert found["wrong"] == []
    assert found["unset"] == []


@EVERY_PAGE
def test_images_are_there_and_described(visit: Any, name: str, mode: str) -> None:
    for image in visit(name, mode).found["images"]:
        assert image["loaded"], image["source"]
        assert image["alt"] is not None, image["source"]
        assert not re.search(r"[/\\]|\.(png|svg|jpe?g|gif|webp)$", image["alt"]), image["alt"]
        # Only what decorates the frame around an article may be without words.
        assert image["alt"].strip() or not image["inArticle"], image["source"]


@EVERY_LOOK
def test_schematics_are_read_as_a_whole(visit: Any, name: str, mode: str) -> None:
    for drawing in visit(name, mode).found["drawings"]:
        assert drawing["alt"].strip()
        assert drawing["text"] > 10.9, drawing["alt"]
        fits = drawing["shown"] <= drawing["room"] + 0.5
        assert fits or drawing["alt"] in ALLOWED_SCROLLING, drawing["alt"]


@pytest.mark.weekly
@EVERY_PAGE
def test_figures_keep_a_light_card_on_a_dark_page(visit: Any, name: str, mode: str) -> None:
    figures = [i for i in visit(name, mode).found["images"] if i["isFigure"]]
    for image in visit(name, "desktop-dark").found["images"] if figures else []:
        if image["isFigure"]:
            assert image["background"] == "rgb(255, 255, 255)", image["source"]


@EVERY_LOOK
def test_every_figure_can_be_operated(visit: Any, name: str, mode: str) -> None:
    for figure in visit(name, mode).operated:
        assert figure["used"] >= 2, figure
        assert figure["changes"] >= 1, figure


def test_the_course_has_formulas_and_figures(visit: Any) -> None:
    """Without them the tests above would be about nothing."""
    assert visit("book/attention.html", "desktop-light").found["formulas"] > 5
    images = visit("book/attention.html", "desktop-light").found["images"]
    assert any(image["isFigure"] for image in images)
