"""What the site's tests share: the built site, a server, Chromium, one visit of each page.

A page is opened once for each way of looking at it; the tests then read what that visit recorded.
One tab goes from page to page, as a reader's does: a new one starts a process that reads every
script anew, and for most pages that takes longer than all the rest.
"""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from book._extensions.languages import translated_pages
from tests.timeouts import BROWSER_MILLISECONDS
from tools import chromium
from tools.build_book import ROOT, SITE, is_current, languages
from transformer_ref.applications.g2p import Speller, load_g2p


def pages_of_site() -> list[str]:
    """List the pages: those in English, and those that are translated."""
    names = {path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html")}
    kept = {f"{each}/{page}.html" for each in languages() for page in translated_pages(ROOT, each)}
    kept |= {
        name for name in names if not name.startswith(tuple(f"{each}/" for each in languages()))
    }
    # The start page's address only forwards to book/index.html.
    pages = names & kept - {"index.html"}
    return sorted(name for name in pages if "_static/" not in name) or ["book/index.html"]


# How a page is looked at: width in pixels and colours.
MODES = {"desktop-light": (1280, "light"), "desktop-dark": (1280, "dark"), "phone": (390, "light")}

# Pages that one template makes.
ALIKE = ("_modules/", "book/api/", "book/closer/", "exercises/", "solutions/")

# What is recorded in the page, once its mathematics is set.
EXAMINE = """async () => {
  await window.setFormulas?.();
  for (const image of document.images) image.loading = "eager"; // some wait to be near
  await Promise.allSettled([...document.images].map((image) => image.decode()));
  await document.fonts.ready;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)));
  const images = [...document.images].map((image) => ({
    source: image.getAttribute("src"),
    alt: image.getAttribute("alt"),
    loaded: image.complete && image.naturalWidth > 0,
    inArticle: image.closest(".bd-article") !== null,
    background: getComputedStyle(image).backgroundColor,
    isFigure: image.closest(".cell_output") !== null,
  }));
  const formulas = [...document.querySelectorAll(".math")];
  const drawings = [...document.querySelectorAll("svg.drawing")].filter((e) => e.checkVisibility());
  const page = document.documentElement;
  return {
    images,
    drawings: drawings.map((drawing) => ({
      alt: drawing.getAttribute("aria-label"),
      shown: drawing.getBoundingClientRect().width,
      room: drawing.parentElement.clientWidth,
      text: Math.min(...[...drawing.querySelectorAll("text")].map(
        (text) => parseFloat(getComputedStyle(text).fontSize) * drawing.getScreenCTM().a)),
    })),
    overflow: page.scrollWidth - page.clientWidth,
    formulas: formulas.length,
    unset: formulas.filter((e) => !e.querySelector("mjx-container")).map((e) => e.innerText),
    wrong: [...document.querySelectorAll("mjx-merror, [data-mjx-error]")].map((e) => e.outerHTML),
  };
}"""

# A figure draws itself again in the frame after the one in which it learns its width.
SETTLE = """async () => {
  await document.fonts.ready;
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
}"""

# Uses every control of every figure once, and says whether the figure shows anything else by then.
OPERATE = """() => {
  const notify = (control) => ["input", "change"].forEach(
    (type) => control.dispatchEvent(new Event(type, { bubbles: true })));
  const use = {
    range: (control) => { control.value === control.max ? control.stepDown() : control.stepUp(); },
    "select-one": (control) => {
      control.selectedIndex = (control.selectedIndex + 1) % control.options.length;
    },
  };
  const usable = (control) => control.isConnected && control.checkVisibility();
  return [...document.querySelectorAll("figure.moving-figure")].map((figure) => {
    const drawn = () => [...figure.querySelectorAll("svg, table, .moving-words, output")]
      .map((part) => part.outerHTML).join();
    const [seen, controls] = [new Set([drawn()]), figure.querySelectorAll("input, select, button")];
    let used = 0;
    for (const control of controls) {
      if (!usable(control)) continue;
      used += 1;
      if (control.type in use) {
        use[control.type](control);
        notify(control);
      } else control.click();
      seen.add(drawn());
    }
    return { name: figure.dataset.figure, used, changes: seen.size - 1 };
  });
}"""

COMPLAINTS = ("error", "warning")

# Most elements of a chapter are words of code, and most of axe's time goes into their contrast.
# Words of one class, colour and kind of box look alike: the first stands for the others, which
# become plain text and keep their place.
THIN_OUT_CODE = """() => {
  const seen = new Set();
  const repeated = [...document.querySelectorAll("pre span:not(:has(*))")].filter((word) => {
    const box = word.closest("pre").parentElement;
    const look = [word.className, getComputedStyle(word).color, box.className].join(" | ");
    const known = seen.has(look);
    seen.add(look);
    return known;
  });
  // Only now, or the styles would be computed anew for every word.
  for (const word of repeated) word.replaceWith(word.textContent);
}"""


# What `make test` does with the pages besides visiting them and operating each figure; all other
# tests in the browser run in `make test-all`.
EVERY_DAY = (
    "test_pages.py::",
    "test_languages.py::test_the_switch_keeps_the_place",
    "test_print.py::test_answers_are_printed_and_folded_again",
    "test_questions.py::test_the_site_shows_what_the_source_says[attention]",
    "test_reading.py::test_a_term_is_explained_at_a_pointer_and_closed_with_escape",
    "test_search.py::test_the_page_for_it_comes_first[GPU-book/api/device]",
    "test_speak.py::test_it_works_from_a_file_without_a_server",
    "test_use.py::test_answers_are_folded_until_clicked[solutions/attention/attention]",
    "test_use.py::test_it_skips_the_buttons_above_the_article",
    "test_use.py::test_search_finds_softmax",
    "test_use.py::test_the_bare_address_leads_to_the_start_page",
    "test_use.py::test_the_notebook_downloads[book/attention]",
    "test_weight.py::test_little_is_loaded_before_the_reader_does_anything[book/index.html]",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as weekly what happens in the browser and is not named above."""
    for item in items:
        name = f"{item.path.name}::{item.name}"
        if item.get_closest_marker("browser") and not name.startswith(EVERY_DAY):
            item.add_marker(pytest.mark.weekly)


@dataclass
class Visit:
    """What one visit of one page recorded."""

    requests: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    found: dict[str, Any] = field(default_factory=dict)
    operated: list[dict[str, Any]] = field(default_factory=list)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def site() -> Path:
    """Return the folder of the built site, or fail if it is not that of the files as they are."""
    if not is_current():
        pytest.fail("the site is missing or older than its sources: run `make book` first")
    return SITE


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Serve the site on this machine; the value ends without a slash."""
    handler = functools.partial(QuietHandler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session", autouse=True)
def patience() -> None:
    """Give every `expect` the same generous time."""
    expect.set_options(timeout=BROWSER_MILLISECONDS)


@dataclass(frozen=True)
class Label:
    """A text of a picture, where it is in the window, and whether all of it is in the picture."""

    text: str
    left: float
    right: float
    top: float
    bottom: float
    inside: bool

    @property
    def height(self) -> float:
        """Pixels from its top to its bottom."""
        return self.bottom - self.top


def labels_of(texts: Locator) -> list[Label]:
    """Measure the `text` elements of pictures."""
    measured = texts.evaluate_all(
        """texts => texts.map((text) => {
          const box = text.getBoundingClientRect();
          const frame = text.ownerSVGElement.getBoundingClientRect();
          const inside = box.left >= frame.left - 1 && box.right <= frame.right + 1
            && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
          return [text.textContent, box.left, box.right, box.top, box.bottom, inside];
        })"""
    )
    return [Label(*each) for each in measured]


def open_page(page: Page, url: str) -> Page:
    """Open an address and wait until its figures have been drawn in their final size."""
    page.set_default_timeout(BROWSER_MILLISECONDS)
    page.goto(url)
    page.evaluate(SETTLE)
    return page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start one headless Chromium; it runs as root in containers, hence without its sandbox."""
    executable = chromium.find()
    if executable is None:
        pytest.fail(chromium.HOW_TO_GET_IT)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(executable), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def contexts(browser: Browser) -> Iterator[dict[str, BrowserContext]]:
    """Return one browser context for each way of looking at a page."""
    made = {
        mode: browser.new_context(viewport={"width": width, "height": 900}, color_scheme=colours)
        for mode, (width, colours) in MODES.items()
    }
    yield made
    for context in made.values():
        context.close()


@pytest.fixture(scope="session")
def tabs(contexts: dict[str, BrowserContext]) -> dict[str, Page]:
    """Return one tab for each way of looking at a page."""
    return {mode: context.new_page() for mode, context in contexts.items()}


@pytest.fixture
def tab(tabs: dict[str, Page]) -> Iterator[Page]:
    """Return the desktop tab for a test that clicks, and leave nothing of its page in it."""
    yield tabs["desktop-light"]
    tabs["desktop-light"].goto("about:blank")


@pytest.fixture
def figure(tab: Page, address: str, request: pytest.FixtureRequest) -> Locator:
    """Open the page PAGE of a test's module and return its figure, FIGURE there."""
    open_page(tab, f"{address}/{request.module.PAGE}")
    return figure_of(tab, request)


def figure_of(page: Page, request: pytest.FixtureRequest) -> Locator:
    """Return FIGURE of a test's module."""
    return page.locator(f'figure[data-figure="{request.module.FIGURE}"]')


@pytest.fixture
def figure_at(
    browser: Browser, address: str, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Locator]]:
    """Return a function that opens PAGE at a width, with options of a page, and returns FIGURE."""
    with ExitStack() as pages:

        def open_at(width: int, **options: Any) -> Locator:
            page = browser.new_page(viewport={"width": width, "height": 900}, **options)
            pages.callback(page.close)
            open_page(page, f"{address}/{request.module.PAGE}")
            return figure_of(page, request)

        yield open_at


@pytest.fixture(scope="session")
def speller() -> Speller:
    """Load the trained model once."""
    return load_g2p(torch.device("cpu"))


@pytest.fixture(scope="session")
def visit(address: str, tabs: dict[str, Page], request: pytest.FixtureRequest) -> Any:
    """Return a function of page and mode that visits each once and remembers what it saw."""
    everything = "not weekly" not in request.config.option.markexpr
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")

    @functools.cache
    def look(name: str, mode: str) -> Visit:
        seen, page = Visit(), tabs[mode]
        listeners: dict[Any, Callable[[Any], None]] = {
            "request": lambda request: seen.requests.append(request.url),
            "requestfailed": lambda request: seen.failures.append(request.url),
            "response": lambda reply: seen.failures.extend([reply.url] * (reply.status >= 400)),
            "console": lambda line: seen.console.extend([line.text] * (line.type in COMPLAINTS)),
            "pageerror": lambda error: seen.console.append(str(error)),
        }
        for event, listener in listeners.items():
            page.on(event, listener)
        page.goto(f"{address}/{name}")
        seen.found = page.evaluate(EXAMINE)
        in_full = not is_alike(name) and not is_translated(name)
        # Half of the time of a visit: in the dark axe looks at nothing but contrast, and on a phone
        # the pages of one kind are as alike as on a desktop.
        runs_axe = {
            "desktop-light": everything or not is_alike(name),
            "desktop-dark": in_full,
            "phone": not is_alike(name),
        }
        if runs_axe[mode]:
            contrast = in_full and mode != "phone"
            seen.violations = run_axe(page, axe, mode, contrast=contrast)
        seen.operated = page.evaluate(OPERATE)
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        page.goto("about:blank")  # whatever is still under way ends here, and is nobody's failure
        return seen

    return look


def is_alike(name: str) -> bool:
    """Say whether a page has the colours of others: of each kind one is looked at in full."""
    return name.startswith(ALIKE) and "attention" not in name


def is_translated(name: str) -> bool:
    """Say whether a page has the colours of another one in English; one is looked at in full."""
    return name.partition("/")[0] in languages() and "attention" not in name


def run_axe(page: Page, axe: str, mode: str, *, contrast: bool) -> list[str]:
    """Run axe's rules; one line for each element that breaks one.

    The contrast of colours is two thirds of the time: a phone shows the colours of a desktop, and
    a dark page differs from a light one in nothing else.
    """
    page.evaluate(axe)
    page.evaluate(THIN_OUT_CODE)
    options: dict[str, Any] = {"resultTypes": ["violations"], "preload": False}
    if mode == "desktop-dark":
        options["runOnly"] = ["color-contrast"]
    elif not contrast:
        options["rules"] = {"color-contrast": {"enabled": False}}
    report = page.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{rule['id']} ({rule['impact']}): {node['target']} {node['html'][:120]}"
        for rule in report["violations"]
        for node in rule["nodes"]
    ]


@pytest.fixture
def timed_tab(browser: Browser) -> Iterator[Page]:
    """Return a tab whose clock, once stopped by `stop_clock`, moves only when the test says so."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.clock.install()
    yield page
    page.close()


@pytest.fixture
def timed_figure(timed_tab: Page, address: str, request: pytest.FixtureRequest) -> Locator:
    """Open PAGE, stop its clock, and return FIGURE."""
    open_page(timed_tab, f"{address}/{request.module.PAGE}")
    stop_clock(timed_tab)
    return figure_of(timed_tab, request)


def stop_clock(page: Page) -> None:
    """Stop the clock of a page; from now on only `page.clock.run_for` moves it."""
    page.clock.pause_at("2100-01-01")


@pytest.fixture(scope="module")
def quiet_tab(browser: Browser) -> Iterator[Page]:
    """Return one tab for somebody who wants less motion, so that what moves is there at once."""
    page = browser.new_page(reduced_motion="reduce")
    yield page
    page.close()
