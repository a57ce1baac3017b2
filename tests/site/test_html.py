"""The HTML of the built site: links lead somewhere, and nothing useless is offered or loaded."""

from __future__ import annotations

import functools
import json
import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
import yaml
from lxml import html

from tests.site.conftest import pages_of_site
from tools.build_book import ROOT, SITE, languages

pytestmark = pytest.mark.usefixtures("site")

PAGES = pages_of_site()
# Pages that were written, not generated, have a source.
WRITTEN = [
    name for name in PAGES if list((SITE / "_sources").glob(name.removesuffix(".html") + ".*"))
]
EVERY_PAGE = pytest.mark.parametrize("name", PAGES)


@functools.cache
def parse(path: Path) -> html.HtmlElement:
    return html.document_fromstring(path.read_text(encoding="utf-8"))


@functools.cache
def anchors(path: Path) -> frozenset[str]:
    return frozenset(parse(path).xpath("//@id | //a/@name"))


@functools.cache
def references(path: Path) -> list[str]:
    return parse(path).xpath("//a/@href | //link/@href | //img/@src | //script/@src")


def name_of_book(page: str) -> str:
    """Return the title of the start page in the language of a page."""
    folder = page.partition("/")[0]
    start = SITE / (f"{folder}/" if folder in languages() else "") / "book/index.html"
    return str(parse(start).xpath("//article//h1")[0].text_content()).rstrip("#")


def of_class(name: str) -> str:
    """Return the condition of XPath that an element has a class."""
    return f"contains(concat(' ', @class, ' '), ' {name} ')"


@EVERY_PAGE
def test_internal_links_resolve(name: str) -> None:
    here, dead = SITE / name, []
    for reference in references(here):
        if urlsplit(reference).scheme or reference.startswith("//"):
            continue
        target, anchor = urldefrag(reference)
        path = (here.parent / unquote(urlsplit(target).path)).resolve() if target else here
        if not path.is_file() or (
            anchor and path.suffix == ".html" and anchor not in anchors(path)
        ):
            dead.append(reference)
    assert dead == []


@EVERY_PAGE
def test_nothing_points_into_this_machine(name: str) -> None:
    schemes = {urlsplit(reference).scheme for reference in references(SITE / name)}
    assert schemes <= {"", "http", "https", "data"}
    assert not [r for r in references(SITE / name) if "localhost" in r or "127.0.0.1" in r]


@EVERY_PAGE
def test_links_into_a_repository_need_its_address(name: str) -> None:
    """While _config.yml names no repository, no page offers a button that leads to one."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    links = parse(SITE / name).xpath(f"//*[{of_class('article-header-buttons')}]//a/@href")
    outside = [link for link in links if urlsplit(link).scheme]
    if not settings["repository"]["url"]:
        assert outside == []
    elif name in WRITTEN:
        assert any(link.startswith(settings["repository"]["url"]) for link in outside)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_shared_link_has_a_title_and_a_description(name: str) -> None:
    page = parse(SITE / name)
    tags = {tag.get("property"): tag.get("content") for tag in page.xpath("//*[@property]")}
    assert tags["og:title"]
    assert tags["og:type"] == "website"
    assert tags["og:site_name"] == name_of_book(name)
    assert len(tags["og:description"]) > 20
    assert all(urlsplit(tags[key]).scheme for key in ("og:url", "og:image") if key in tags)


@EVERY_PAGE
def test_the_title_names_the_book_once(name: str) -> None:
    (title,) = parse(SITE / name).xpath("//head/title")
    assert title.text_content().count(name_of_book(name)) == 1


@pytest.mark.parametrize("name", WRITTEN)
def test_headings_form_an_outline(name: str) -> None:
    (article,) = parse(SITE / name).xpath(f"//article[{of_class('bd-article')}]")
    levels = [int(tag.tag[1]) for tag in article.iter("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


@pytest.mark.parametrize("name", [page for page in WRITTEN if page.startswith("book/api/")])
def test_signatures_are_parsed(name: str) -> None:
    # What Sphinx cannot parse it prints raw: types with their whole path after a tilde.
    found = parse(SITE / name).xpath(f"//dt[{of_class('sig')}]")
    signatures = [tag.text_content() for tag in found]
    assert not [text for text in signatures if "~" in text]


@EVERY_PAGE
def test_there_is_a_favicon(name: str) -> None:
    (icon,) = parse(SITE / name).xpath("//link[@rel='icon']/@href")
    assert (SITE / name).parent.joinpath(icon).resolve().is_file()


@pytest.mark.parametrize("name", WRITTEN)
def test_every_column_of_a_table_has_a_head(name: str) -> None:
    # axe says so too, but only behind all other stages.
    heads = parse(SITE / name).xpath("//thead//th")
    assert [head for head in heads if not head.text_content().strip()] == []


def test_mathjax_stands_beside_its_licence(site: Path) -> None:
    assert "Apache License" in (site / "_static/mathjax/LICENSE").read_text(encoding="utf-8")


def test_the_font_of_headings_stands_beside_its_licence(site: Path) -> None:
    folder = site / "_static/fonts"
    assert "SIL OPEN FONT LICENSE" in (folder / "LICENSE").read_text(encoding="utf-8")
    assert sum(font.stat().st_size for font in folder.glob("*.woff2")) < 60_000


@pytest.mark.parametrize("name", [name for name in WRITTEN if name.startswith("book/")])
def test_code_that_draws_and_tests_is_folded_once_at_the_end(name: str) -> None:
    page = parse(SITE / name)
    notebook = SITE / "_sources" / name.replace(".html", ".ipynb")
    folded = 0
    if notebook.exists():
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        folded = sum("hide-input" in cell["metadata"].get("tags", []) for cell in cells)
    folds = page.xpath(f"//article//details[{of_class('hide')}]")
    assert len(folds) == bool(folded)
    for fold in folds:
        assert fold.getparent().getnext() is None
        assert len(fold.xpath(f".//div[{of_class('cell_input')}]")) == folded


@pytest.mark.parametrize("name", [name for name in WRITTEN if name.startswith("book/")])
def test_every_hidden_check_has_a_mark_that_leads_to_it(name: str) -> None:
    page = parse(SITE / name)
    checks = [
        cell
        for cell in page.xpath(f"//article//details//div[{of_class('cell_input')}]")
        if re.search(r"^\s*(assert|torch.testing)\b", cell.text_content(), re.MULTILINE)
    ]
    marks = page.xpath(f"//article//p[{of_class('page-check')}]/a")
    assert all(mark.text_content().strip() for mark in marks)
    targets = [page.xpath(f"//*[@id='{mark.get('href')[1:]}']") for mark in marks]
    marked = [cell for found in targets for cell in found]
    assert [cell for cell in checks if cell.get("id")] == marked
    assert bool(marked) == bool(checks)


@EVERY_PAGE
def test_mathjax_is_loaded_where_there_are_formulas(name: str) -> None:
    page = parse(SITE / name)
    scripts = [tag.get("src", "") + tag.text_content() for tag in page.iter("script")]
    loads = [script for script in scripts if "mathjax" in script.lower()]
    assert len(loads) == (2 if page.xpath(f"//*[{of_class('math')}]") else 0)


@EVERY_PAGE
def test_every_image_of_an_article_says_how_large_it_is(name: str) -> None:
    images = parse(SITE / name).xpath(f"//*[{of_class('bd-article')}]//img")
    assert [tag.get("src") for tag in images if not (tag.get("width") and tag.get("height"))] == []
