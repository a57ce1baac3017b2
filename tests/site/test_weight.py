"""What a page of the site costs: how much is loaded, and whether its text stays in place."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route

from tests.site.conftest import SETTLE, open_page
from tests.site.test_html import PAGES, of_class, parse
from tools.build_book import SITE

pytestmark = pytest.mark.browser

START_PAGE_LIMIT = 500_000  # bytes, compressed
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
    page.evaluate("window.MathJax?.startup?.promise.then(() => null)")
    return paths


def test_the_start_page_is_light(fresh: Page, address: str, site: Path) -> None:
    paths = set(requested(fresh, f"{address}/book/index.html"))
    sizes = {path: len(gzip.compress((site / path[1:]).read_bytes())) for path in paths}
    assert len(sizes) > 10
    assert sum(sizes.values()) <= START_PAGE_LIMIT, sorted(sizes.items(), key=lambda s: -s[1])[:5]


@pytest.mark.parametrize("name", KINDS)
def test_every_icon_is_in_the_small_font(fresh: Page, address: str, name: str) -> None:
    # For an icon that it lacks, the browser would ask for the theme's.
    paths = requested(fresh, f"{address}/{name}")
    assert [path for path in paths if "fontawesome" in path] == []
    assert "/_static/fonts/icons.woff" in paths


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("name", PAGES)
def test_mathjax_is_loaded_where_there_are_formulas(name: str) -> None:
    page = parse(SITE / name)
    scripts = [tag.get("src", "") + tag.text_content() for tag in page.iter("script")]
    loads = [script for script in scripts if "mathjax" in script.lower()]
    assert len(loads) == (2 if page.xpath(f"//*[{of_class('math')}]") else 0)


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("name", PAGES)
def test_every_image_of_an_article_says_how_large_it_is(name: str) -> None:
    images = parse(SITE / name).xpath(f"//*[{of_class('bd-article')}]//img")
    assert [tag.get("src") for tag in images if not (tag.get("width") and tag.get("height"))] == []


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
