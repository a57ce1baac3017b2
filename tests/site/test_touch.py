"""What a finger does on a phone: it drags what can be dragged, and the page stays where it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, CDPSession, Locator, Page

from tests.site.conftest import open_page
from tools.build_book import SITE

pytestmark = pytest.mark.browser

# The pages with moving figures, and those whose figures can be dragged.
FIGURE = re.compile(r'<figure [^>]*data-figure="')
MOVING = [
    path.relative_to(SITE).as_posix()
    for path in sorted(SITE.glob("book/**/*.html"))
    if FIGURE.search(path.read_text(encoding="utf-8"))
] or ["book/attention.html"]

# Marks what follows a pointer, and counts the times when the browser took a pointer for scrolling.
WATCH = """
window.taken = 0;
addEventListener("pointercancel", () => { window.taken += 1; }, true);
const listen = EventTarget.prototype.addEventListener;
EventTarget.prototype.addEventListener = function (type, ...rest) {
  if (type === "pointermove") this.classList?.add("test-draggable");
  return listen.call(this, type, ...rest);
};
"""


@dataclass
class Phone:
    """A phone's page, and the fingers on it."""

    page: Page
    fingers: CDPSession

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 10) -> None:
        """Put a finger down, move it and lift it."""

        def touch(kind: str, *points: tuple[float, float]) -> None:
            touched = [{"x": x, "y": y} for x, y in points]
            self.fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touched})

        touch("touchStart", start)
        for step in range(1, steps + 1):
            share = step / steps
            touch("touchMove", (
                start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])
            ))  # fmt: skip
        touch("touchEnd")


@pytest.fixture(scope="module")
def phone(browser: Browser) -> Iterator[Phone]:
    """Return a tab that is touched."""
    size = {"width": 390, "height": 844}
    with browser.new_context(viewport=size, has_touch=True, is_mobile=True) as context:  # type: ignore[arg-type]
        page = context.new_page()
        page.add_init_script(WATCH)
        yield Phone(page, context.new_cdp_session(page))


def center(place: Locator) -> tuple[float, float]:
    """Return the middle of an element, in pixels of the window."""
    box = place.bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def open_with_formulas(phone: Phone, url: str) -> None:
    """Open a page and set its formulas, which move what is below them when a finger comes near."""
    open_page(phone.page, url)
    phone.page.evaluate("setFormulas()")


def in_the_middle(place: Locator) -> None:
    """Scroll until an element is in the middle of the window."""
    place.evaluate("(e) => e.scrollIntoView({ block: 'center', behavior: 'instant' })")


def test_the_query_follows_the_finger(phone: Phone, address: str) -> None:
    open_with_formulas(phone, f"{address}/book/attention.html")
    plane = phone.page.locator(".moving-plane")
    in_the_middle(plane)
    scrolled = phone.page.evaluate("scrollY")
    middle = center(plane)
    aim = (middle[0] - 40, middle[1] + 90)
    phone.drag(center(plane.locator(".moving-handle")), aim)
    assert center(plane.locator(".moving-handle")) == pytest.approx(aim, abs=6)  # a slider's step
    assert phone.page.evaluate("[scrollY, taken]") == [scrolled, 0]


@pytest.mark.parametrize("name", MOVING)
def test_a_finger_that_drags_does_not_scroll(phone: Phone, address: str, name: str) -> None:
    open_with_formulas(phone, f"{address}/{name}")
    sliders = "figure.moving-figure input[type=range]"
    places = phone.page.locator(f"{sliders}, figure.moving-figure .test-draggable")
    for place in places.locator("visible=true").all():
        in_the_middle(place)
        scrolled = phone.page.evaluate("scrollY")
        x, y = center(place)
        is_slider = place.evaluate("(e) => e.type === 'range'")
        phone.drag((x, y), (x + 60, y) if is_slider else (x + 30, y + 100))
        assert phone.page.evaluate("[scrollY, taken]") == [scrolled, 0], place
