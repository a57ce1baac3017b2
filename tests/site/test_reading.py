"""What helps a reader on a page: tables on a phone, the foot of a chapter, what a term means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page, expect

from book._extensions import ends, tables, terms
from tests.site.conftest import open_page
from tests.site.test_html import PAGES, of_class, parse
from tools.build_book import ROOT, SITE

# ---- tables --------------------------------------------------------------------------------------

HOLDER = '<div class="pst-scrollable-table-container">'


def prepared(cells: list[str], heads: list[str]) -> str:
    """Return a table of one row as the site has it."""
    head = "".join(f"<th><p>{text}</p></th>" for text in heads)
    row = "".join(f"<td><p>{text}</p></td>" for text in cells)
    table = (
        f'<table class="table"><thead><tr>{head}</tr></thead><tbody><tr>{row}</tr></tbody></table>'
    )
    context = {"body": f"{HOLDER}{table}</div>"}
    tables.stack_tables(None, "page", "page.html", context, None)  # type: ignore[arg-type]
    return context["body"]


@pytest.mark.parametrize(
    ("cells", "is_card"),
    [
        (["1", "2", "3"], False),
        (["<code>a_name_that_does_not_break</code>", "a", "<code>and_another_one</code>"], True),
        (["a sentence of many words that goes on and on and fills a line", "b " * 30, ""], True),
    ],
)
def test_a_table_becomes_cards_where_it_is_too_wide(cells: list[str], is_card: bool) -> None:
    body = prepared(
        cells, ["one", "two", r'<span class="math">\(d_{\mathrm{ff}} = 2\)</span>, three']
    )
    assert ("stacked" in body) == is_card
    if is_card:
        assert re.findall(r'data-label="([^"]*)"', body) == ["one", "two", "d_ff = 2, three"]
        assert body.count('role="cell"') == 3
        assert ('class="empty"' in body) == (not cells[2])
        assert "brief" not in body


def test_numbers_stand_beside_their_label() -> None:
    assert "table stacked brief" in prepared(["1", "2", "3"], ["multiplications"] * 3)


WITH_CARDS = ("book/notes.html", "book/api/index.html", "book/closer/blocks.html")


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("name", WITH_CARDS)
def test_every_cell_of_a_card_says_its_column(name: str) -> None:
    page = BeautifulSoup((SITE / name).read_text(encoding="utf-8"), "lxml")
    found = page.select("table.stacked")
    assert found
    for table in found:
        heads = [tables.label_of(head) for head in table.select("thead th")]
        for row in table.select("tbody tr"):
            assert [cell["data-label"] for cell in row.select("td")] == heads


@pytest.mark.browser
def test_no_table_scrolls_on_a_phone(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    for name in (
        "book/notes.html",
        "book/conventions.html",
        "book/training.html",
        "book/blocks.html",
    ):
        open_page(page, f"{address}/{name}")
        page.evaluate("setFormulas()")
        scrolling = page.locator(".pst-scrollable-table-container").evaluate_all(
            "(all) => all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)"
        )
        assert scrolling == [], name
    open_page(page, f"{address}/book/notes.html")
    cell = page.locator("table.stacked td").nth(1)
    label = "(cell) => getComputedStyle(cell, '::before').content"
    assert cell.evaluate(label) == '"chapter"'
    expect(page.get_by_role("table").first.get_by_role("columnheader")).to_have_count(4)
    page.set_viewport_size({"width": 1280, "height": 900})
    assert cell.evaluate(label) == "none"
    page.close()


# ---- the foot of a chapter -----------------------------------------------------------------------

CONTENTS = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
(CHAPTERS,) = [part["chapters"] for part in CONTENTS["parts"] if part["caption"] == "Chapters"]
NAMES = [chapter["file"] for chapter in CHAPTERS]


def cards_of(name: str) -> dict[str, tuple[str, str, str]]:
    """Return what the foot of a page shows: the lead, the title and the address of each card."""
    found = {}
    for card in parse(SITE / f"{name}.html").xpath(f"//a[{of_class('end-card')}]"):
        kind = card.get("class").split()[1].removeprefix("end-")
        lead, title = (" ".join(part.text_content().split()) for part in card.iter("span"))
        target = (SITE / f"{name}.html").parent.joinpath(card.get("href")).resolve()
        found[kind] = (lead, title, target.relative_to(SITE).with_suffix("").as_posix())
    return found


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("name", NAMES[:-1])
def test_a_chapter_ends_with_its_exercise_and_the_next_chapter(name: str) -> None:
    cards, after = cards_of(name), NAMES[NAMES.index(name) + 1]
    slug = Path(name).name
    exercise = f"exercises/{slug}/{slug}"
    minutes = re.findall(
        r"They take about (\d+) minutes", (ROOT / f"{exercise}.ipynb").read_text(encoding="utf-8")
    )
    lead = f"Practice this ({minutes[0]} minutes)" if minutes else "Practice this"
    assert (cards["practise"][0], cards["practise"][2]) == (lead, exercise)
    index = (ROOT / "book/index.md").read_text(encoding="utf-8")
    (said,) = re.findall(rf"\]\({Path(after).name}\.ipynb\), (\d+) minutes", index)
    assert (cards["next"][0], cards["next"][2]) == (f"Next chapter ({said} minutes)", after)
    for _, title, target in cards.values():
        heading = parse(SITE / f"{target}.html").xpath("//article//h1")[0]
        assert heading.text_content().removesuffix("#") == title


def test_the_last_chapter_leads_to_its_exercise_and_no_further() -> None:
    assert ends.ends_of(ROOT, NAMES[-1]).keys() == {"practise", "previous"}
    assert ends.ends_of(ROOT, "book/glossary") == {}


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("name", [name for name in PAGES if not name.startswith("_modules")])
def test_only_a_solution_leads_to_a_solution(name: str) -> None:
    here = (SITE / name).parent
    page = parse(SITE / name)
    links = page.xpath(f"//footer[{of_class('prev-next-footer')}]//a/@href")
    links += page.xpath("//link[@rel='next' or @rel='prev']/@href")
    targets = [here.joinpath(link).resolve().relative_to(SITE) for link in links]
    solutions = {target.parts[0] == "solutions" for target in targets}
    assert solutions <= {name.startswith("solutions/")}


# ---- terms ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("book/")])
def test_a_page_holds_the_terms_that_it_links_to(name: str) -> None:
    page = parse(SITE / name)
    terms = page.xpath(f"//*[{of_class('bd-article')}]//a[contains(@href, 'glossary.html#term-')]")
    linked = {link.get("href").partition("#")[2] for link in terms}
    held = {entry.get("data-term"): entry for entry in page.xpath("//*[@id='course-terms']/div")}
    assert set(held) == linked
    glossary = parse(SITE / "book/glossary.html")
    for anchor, entry in held.items():
        (definition,) = glossary.xpath(f"//dt[@id='{anchor}']/following-sibling::dd[1]")
        sentence = entry.text_content().strip()
        assert sentence.endswith("."), sentence
        words = re.findall(r"\w+", sentence)
        assert words[:4] == re.findall(r"\w+", definition.text_content())[:4]
        assert " ." not in sentence
    assert bool(page.xpath("//script[contains(@src, 'terms.js')]")) == bool(linked)


@pytest.fixture
def chapter(tab: Page, address: str) -> Page:
    open_page(tab, f"{address}/book/attention.html")
    return tab


@pytest.mark.browser
def test_a_term_is_explained_at_a_pointer_and_closed_with_escape(chapter: Page) -> None:
    link = chapter.locator('.bd-article a[href$="#term-attention"]').first
    box = chapter.get_by_role("tooltip")
    link.hover()
    expect(box).to_contain_text("A weighted sum of values")
    expect(link).to_have_attribute("aria-describedby", "course-term")
    box.hover()  # it stays while it is read
    expect(box).to_be_visible()
    chapter.keyboard.press("Escape")
    expect(box).to_be_hidden()
    expect(link).not_to_have_attribute("aria-describedby", re.compile(".*"))


@pytest.mark.browser
def test_a_term_is_explained_at_the_focus(chapter: Page) -> None:
    links = chapter.locator('.bd-article a[href*="#term-"]')
    box = chapter.get_by_role("tooltip")
    chapter.keyboard.press("Tab")  # from now on the focus is shown
    links.nth(0).focus()
    expect(box).to_contain_text("A weighted sum of values")
    links.nth(1).focus()
    expect(box).not_to_contain_text("A weighted sum of values")
    links.nth(1).evaluate("(link) => link.blur()")
    expect(box).to_be_hidden()


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_box_of_a_term_stays_on_the_page(browser: Browser, address: str, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 700})
    open_page(page, f"{address}/book/attention.html")
    page.keyboard.press("Tab")
    links = page.locator('.bd-article a[href*="glossary.html#term-"]:visible').all()
    assert links
    for link in links:
        link.focus()
        expect(link).to_have_attribute("aria-describedby", "course-term")
        box = page.get_by_role("tooltip").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    page.close()


def test_nothing_is_known_of_a_page_without_terms() -> None:
    context: dict[str, Any] = {"body": "<p>No link.</p>"}

    terms.add_terms(None, "page", "page.html", context, None)  # type: ignore[arg-type]
    assert context == {"body": "<p>No link.</p>"}
