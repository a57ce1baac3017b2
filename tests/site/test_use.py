"""The site in use: searching, downloading, folding, moving by keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

from tests.site.conftest import open_page
from tools.build_book import ROOT, SITE

pytestmark = pytest.mark.browser


NOTEBOOKS = sorted(
    path.relative_to(SITE / "_sources").with_suffix("").as_posix()
    for path in (SITE / "_sources").rglob("*.ipynb")
) or ["book/attention"]
EXERCISES = [name for name in NOTEBOOKS if name.startswith("exercises/")]
SOLUTIONS = [name for name in NOTEBOOKS if name.startswith("solutions/")]


def test_the_bare_address_leads_to_the_start_page(tab: Page, address: str) -> None:
    tab.goto(f"{address}/")
    tab.wait_for_url("**/book/index.html")


def test_search_finds_softmax(tab: Page, address: str) -> None:
    open_page(tab, f"{address}/book/index.html")
    tab.keyboard.press("Control+k")
    tab.keyboard.type("softmax")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/search.html?q=softmax*")
    # Results are shown one after the other, so the one that is wanted is waited for.
    chapter = tab.locator('#search-results a[href*="book/attention.html"]')
    expect(chapter.first).to_be_visible()


def test_the_sidebar_numbers_chapters_and_nothing_else(tab: Page, address: str) -> None:
    open_page(tab, f"{address}/book/index.html")
    links = tab.locator(".bd-docs-nav a").evaluate_all(
        """(all) => all.filter((a) => getComputedStyle(a, "::before").content.includes("counter"))
          .map((a) => a.getAttribute("href"))"""
    )
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    (chapters,) = [part["chapters"] for part in contents if part["caption"] == "Chapters"]
    assert links == [f"{Path(page['file']).name}.html" for page in chapters]


def test_what_is_searched_for_stands_beside_the_icon(tab: Page, address: str) -> None:
    open_page(tab, f"{address}/search.html?q=softmax")
    field = tab.locator(".bd-article-container .bd-search")
    icon = field.locator(".fa-magnifying-glass").bounding_box()
    start = field.locator("input").evaluate(
        "(e) => e.getBoundingClientRect().x + parseFloat(getComputedStyle(e).paddingLeft)"
    )
    assert icon is not None
    assert icon["x"] + icon["width"] < start


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_notebook_downloads(tab: Page, address: str, tmp_path: Path, name: str) -> None:
    open_page(tab, f"{address}/{name}.html")
    tab.get_by_role("button", name="Download this page").click()
    with tab.expect_download() as download:
        tab.locator("a.btn-download-source-button").click()
    download.value.save_as(tmp_path / "notebook.ipynb")
    assert (tmp_path / "notebook.ipynb").read_bytes() == (ROOT / f"{name}.ipynb").read_bytes()
    assert json.loads((tmp_path / "notebook.ipynb").read_bytes())["nbformat"] == 4


@pytest.mark.parametrize("name", EXERCISES)
def test_an_exercise_offers_its_notebook(
    tab: Page, address: str, tmp_path: Path, name: str
) -> None:
    open_page(tab, f"{address}/{name}.html")
    with tab.expect_download() as download:
        tab.get_by_role("link", name="download the notebook").click()
    download.value.save_as(tmp_path / "notebook.ipynb")
    assert (tmp_path / "notebook.ipynb").read_bytes() == (ROOT / f"{name}.ipynb").read_bytes()


@pytest.mark.parametrize("name", SOLUTIONS)
def test_answers_are_folded_until_clicked(tab: Page, address: str, name: str) -> None:
    notebook = json.loads((ROOT / f"{name}.ipynb").read_text(encoding="utf-8"))
    answers = [
        cell
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and cell["metadata"].get("nbgrader", {}).get("solution")
    ]
    assert answers
    open_page(tab, f"{address}/{name}.html")
    folds = tab.locator("details", has=tab.get_by_text("Show the answer"))
    expect(folds).to_have_count(len(answers))
    for index in range(len(answers)):
        expect(folds.nth(index).locator("pre")).to_be_hidden()
    folds.first.locator("summary").click()
    expect(folds.first.locator("pre")).to_be_visible()


def test_the_first_tab_stop_skips_to_the_content(tab: Page, address: str) -> None:
    open_page(tab, f"{address}/book/conventions.html")
    tab.keyboard.press("Tab")
    skip = tab.get_by_role("link", name="Skip to main content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()


def test_it_skips_the_buttons_above_the_article(tab: Page, address: str) -> None:
    open_page(tab, f"{address}/book/conventions.html")
    for key in ("Tab", "Enter", "Tab"):
        tab.keyboard.press(key)
    assert tab.evaluate("document.activeElement.closest('.bd-article') !== null")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_formula_is_a_tab_stop_only_where_it_scrolls(tab: Page, address: str, width: int) -> None:
    size = tab.viewport_size
    assert size is not None
    tab.set_viewport_size({"width": width, "height": 900})
    open_page(tab, f"{address}/book/closer/attention.html")
    tab.evaluate("setFormulas().then(() => new Promise(requestAnimationFrame))")
    formulas = tab.locator(".bd-article mjx-container")
    stops = tab.locator(".bd-article mjx-container[tabindex]")
    seen = formulas.count()
    overflow = stops.evaluate_all("(all) => all.map((e) => getComputedStyle(e).overflowX)")
    tab.set_viewport_size(size)
    assert seen > 20
    assert set(overflow) <= {"auto"}


def test_colours_can_be_chosen(tab: Page, address: str) -> None:
    open_page(tab, f"{address}/book/conventions.html")
    root = tab.locator("html")
    seen = {root.get_attribute("data-mode")}
    for _ in range(2):
        tab.get_by_role("button", name="Color mode").first.click()
        seen.add(root.get_attribute("data-mode"))
    assert seen == {"auto", "light", "dark"}


@pytest.fixture(scope="module")
def phone(browser: Browser, address: str) -> Iterator[Page]:
    """Open the chapter on attention on a phone."""
    page = browser.new_page(viewport={"width": 390, "height": 800})
    open_page(page, f"{address}/book/attention.html")
    page.wait_for_load_state("load")
    yield page
    page.close()


def test_long_lines_fade_out_until_their_end_is_there(phone: Page) -> None:
    box = phone.locator(".bd-article pre.course-more").first
    expect(box).to_be_attached()
    here = box.element_handle()
    assert here.evaluate("box => getComputedStyle(box).maskImage.startsWith('linear-gradient')")
    here.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    phone.wait_for_function("box => !box.classList.contains('course-more')", arg=here)


def test_long_lines_can_be_wrapped(phone: Page) -> None:
    wide = """() => [...document.querySelectorAll('.bd-article pre')]
        .filter((box) => box.scrollWidth > box.clientWidth + 1).length"""
    button = phone.get_by_role("button", name="Wrap long lines")
    before = phone.evaluate(wide)
    button.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    assert phone.evaluate(wide) == 0 < before
    expect(phone.locator(".bd-article pre.course-more")).to_have_count(0)
    button.press("Enter")
    assert phone.evaluate(wide) == before


def test_a_figure_of_a_phone_leads_to_itself_in_full(phone: Page, address: str) -> None:
    image = phone.locator(".bd-article .cell_output a:has(img)").first
    shown = image.locator("img").evaluate("image => image.getBoundingClientRect().width")
    image.press("Enter")
    phone.wait_for_url("**/*.png")
    assert phone.locator("img").evaluate("image => image.naturalWidth") > 2 * shown
    phone.go_back()


def test_the_mark_of_a_check_opens_it(tab: Page, address: str) -> None:
    open_page(tab, f"{address}/book/attention.html")
    mark = tab.get_by_role("link", name="Checked when this page was built").first
    mark.press("Enter")
    check = tab.locator(str(mark.get_attribute("href")))
    expect(check).to_be_in_viewport()
    expect(check).to_contain_text("assert")
