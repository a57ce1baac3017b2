"""What a page of the site costs: how much is loaded, and whether its text stays in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from book._extensions.ends import chapters_of
from tests.site.conftest import SETTLE, open_page
from tools.build_book import ROOT

pytestmark = pytest.mark.browser

# Bytes, as a server without compression sends them, before the reader does anything.
START_PAGE_LIMIT = 500_000
CHAPTER_LIMIT = 800_000
SHIFT_LIMIT = 0.05  # half of what browser makers call good

# One page of each kind; together they have all icons.
KINDS = (
    "book/index.html",
    "book/attention.html",
    "book/closer/attention.html",
    "book/api/attention.html",
    "exercises/attention/attention.html",
    "search.html",
)

# The chapters themselves, as the contents name them.
CHAPTERS = [f"{chapter['file']}.html" for chapter in chapters_of(ROOT)]

# Adds up how far what is seen has moved by itself; has to stand before the page is loaded.
ADD_UP_SHIFTS = """
window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.shift += entry.hadRecentInput ? 0 : entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.fixture
def fresh(browser: Browser) -> Iterator[Page]:
    """Return a tab that has nothing in store."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        yield context.new_page()


def requested(page: Page, url: str) -> list[str]:
    """Open an address; return the paths of all that was loaded for it."""
    paths: list[str] = []
    page.on("request", lambda request: paths.append(urlsplit(request.url).path))
    open_page(page, url)  # drawn, with the fonts that this asked for
    return paths


@pytest.mark.parametrize("name", ["book/index.html", *CHAPTERS])
def test_little_is_loaded_before_the_reader_does_anything(
    fresh: Page, address: str, site: Path, name: str
) -> None:
    paths = requested(fresh, f"{address}/{name}")
    fresh.wait_for_load_state("load")
    expect(fresh.locator("figure.moving-figure .moving-fallback")).to_have_count(0)
    assert not [path for path in paths if "mathjax" in path or "searchindex" in path]
    sizes = {path: (site / path[1:]).stat().st_size for path in set(paths)}
    limit = CHAPTER_LIMIT if name in CHAPTERS else START_PAGE_LIMIT
    assert len(sizes) > 10
    assert sum(sizes.values()) <= limit, sorted(sizes.items(), key=lambda s: -s[1])[:5]


def come_down(page: Page) -> None:
    page.mouse.move(640, 450)
    page.mouse.wheel(0, 300)


SIGNS: dict[str, Callable[[Page], None]] = {
    "scroll": come_down,
    "key": lambda page: page.keyboard.press("Tab"),
    "link to a place": lambda page: page.evaluate("location.hash = 'all-queries-in-one-product'"),
}


@pytest.mark.parametrize("sign", SIGNS)
def test_formulas_are_set_once_the_reader_does_something(
    fresh: Page, address: str, sign: str
) -> None:
    open_page(fresh, f"{address}/book/attention.html")
    formulas = fresh.locator(".bd-article .math")
    expect(fresh.locator("mjx-container")).to_have_count(0)
    SIGNS[sign](fresh)
    expect(fresh.locator(".bd-article .math:has(mjx-container)")).to_have_count(formulas.count())


@pytest.mark.parametrize("name", KINDS)
def test_every_icon_is_in_the_small_font(fresh: Page, address: str, name: str) -> None:
    # For an icon that it lacks, the browser would ask for the theme's.
    paths = requested(fresh, f"{address}/{name}")
    assert [path for path in paths if "fontawesome" in path] == []
    assert "/_static/fonts/icons.woff" in paths


@pytest.mark.parametrize("name", ["book/index.html", "book/positions.html"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_text_stays_in_place(fresh: Page, address: str, name: str, width: int) -> None:
    held: list[Route] = []
    fresh.set_viewport_size({"width": width, "height": 900})
    fresh.add_init_script(ADD_UP_SHIFTS)
    fresh.route("**/_images/*", lambda route: held.append(route))
    fresh.goto(f"{address}/{name}", wait_until="domcontentloaded")
    fresh.evaluate(SETTLE)  # the text is drawn, and the images come only now
    while held:  # images that are asked for meanwhile wait here too
        held.pop().continue_()
    fresh.unroute("**/_images/*")
    fresh.wait_for_load_state("load")
    fresh.evaluate(SETTLE)
    assert fresh.evaluate("window.shift") <= SHIFT_LIMIT
