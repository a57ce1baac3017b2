"""A page on paper: answers are open, nothing is there that only a screen can do; and `make pdf`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pypdf import PdfReader

from tests.site.conftest import open_page
from tools import make_pdf

pytestmark = pytest.mark.browser


@pytest.fixture
def paper(tab: Page) -> Iterator[Page]:
    """Return a tab that shows a page as it is printed."""
    tab.emulate_media(media="print", color_scheme="dark")
    yield tab
    tab.emulate_media(media="screen", color_scheme="light")


def send_to_printer(page: Page, url: str) -> None:
    open_page(page, url)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")


def test_answers_are_printed_and_folded_again(paper: Page, address: str) -> None:
    send_to_printer(paper, f"{address}/book/attention.html")
    answers = paper.locator("details.sd-dropdown .sd-summary-content")
    assert answers.count() > 3
    for answer in answers.all():
        expect(answer).to_be_visible()
    expect(paper.locator("html")).to_have_attribute("data-theme", "light")
    paper.evaluate("window.dispatchEvent(new Event('afterprint'))")
    expect(paper.locator("details.sd-dropdown[open]")).to_have_count(0)
    expect(paper.locator("html")).to_have_attribute("data-theme", "dark")


def test_solutions_are_printed_with_their_answers(paper: Page, address: str) -> None:
    # An instructor may have left them out.
    name = "solutions/attention/attention"
    if name not in make_pdf.pages_in_order():
        pytest.skip("the book has no solutions")
    send_to_printer(paper, f"{address}/{name}.html")
    answers = paper.locator("details.hide", has=paper.get_by_text("Show the answer"))
    assert answers.count() > 3
    for answer in answers.all():
        expect(answer.locator("pre").first).to_be_visible()


def test_hints_stay_folded_on_paper(paper: Page, address: str) -> None:
    send_to_printer(paper, f"{address}/exercises/attention/attention.html")
    assert paper.locator(".bd-article section > details").count() > 3
    expect(paper.locator(".bd-article section > details[open]")).to_have_count(0)


@pytest.mark.parametrize("name", ["book/attention", "book/positions", "book/closer/decoding"])
def test_nothing_is_printed_that_only_a_screen_can_do(paper: Page, address: str, name: str) -> None:
    send_to_printer(paper, f"{address}/{name}.html")
    label = paper.get_by_text("Show code cell source").locator("visible=true")
    expect(label).to_have_count(0)
    controls = paper.locator(".moving-figure :is(input, select, button)").locator("visible=true")
    expect(controls).to_have_count(0)
    for still in paper.locator(".moving-figure").all():
        expect(still.locator("svg, table").first).to_be_visible()
    heading = paper.get_by_role("heading", level=1).locator("visible=true")
    expect(heading).to_have_count(1)


@pytest.mark.usefixtures("site")
def test_a_chapter_becomes_a_pdf(browser: Browser, tmp_path: Path) -> None:
    order = make_pdf.pages_in_order()
    assert order[0] == "book/index"
    assert order.index("book/attention") < order.index("book/closer/attention")
    (made,) = make_pdf.print_pages(browser, ["book/attention"], tmp_path)
    assert made.name == f"{order.index('book/attention') + 1:02}-book-attention.pdf"
    content = made.read_bytes()
    assert content.startswith(b"%PDF")
    assert content.count(b"/Type /Page\n") > 5
    with pytest.raises(ValueError, match="book/nothing"):
        make_pdf.print_pages(browser, ["book/nothing"], tmp_path)


@pytest.mark.usefixtures("site")
def test_pages_are_joined_with_bookmarks_and_links(browser: Browser, tmp_path: Path) -> None:
    names = ["book/index", "book/conventions"]
    parts = dict(zip(names, make_pdf.print_pages(browser, names, tmp_path), strict=True))
    book = PdfReader(make_pdf.join(parts, tmp_path / make_pdf.JOINED))
    begins = len(PdfReader(parts["book/index"]).pages)
    assert len(book.pages) == begins + len(PdfReader(parts["book/conventions"]).pages)
    titles = {
        mark.title: book.get_destination_page_number(mark)
        for mark in book.outline
        if not isinstance(mark, list)
    }
    assert titles == {"The Transformer from the ground up": 0, "Conventions": begins}
    assert book.metadata is not None
    assert book.metadata.title == "The Transformer from the ground up"
    links = [link.get_object() for page in book.pages[:begins] for link in page.get("/Annots", [])]
    places = [link["/Dest"][0] for link in links if "/Dest" in link]
    assert book.pages[begins].indirect_reference in places
    addresses = [link.get("/A", {}).get("/URI", "") for link in links]
    assert not [address for address in addresses if address.startswith("file:")]
