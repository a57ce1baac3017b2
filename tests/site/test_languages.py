"""The site in other languages: the same code and anchors, no English left, a way there and back."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Page, expect
from sphinx.testing.util import SphinxTestApp

from book import catalogs
from book._extensions.languages import SITE, catalog_of, translated_pages
from tests.site.conftest import open_page
from tests.site.test_search import search
from tools.build_book import ROOT, languages

TRANSLATED = [
    (language, page) for language in languages() for page in translated_pages(ROOT, language)
]
EVERY_TRANSLATION = pytest.mark.parametrize(("language", "page"), TRANSLATED)
# English words in a row, in a sentence and not in a list of names or phonemes.
ENGLISH = re.compile(r"(?:\b[A-Za-z]?[a-z]+\b +){4,}[a-z]+")
QUOTED = re.compile(  # the English of a term in brackets after it, and examples in quotes
    r"\uff08[^\uff08\uff09]*\uff09|\u201c[^\u201d]*\u201d"
)
# What is not translated: code, what it prints, works that are cited, names in the code.
KEPT = "pre, code, .cell_input, .cell_output, .bibtex, [lang=en], .math, em, strong, cite"


def article(path: Path) -> Tag:
    page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    (found,) = page.select("article.bd-article")
    return found


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("language", "page"), [*TRANSLATED, *((language, SITE) for language in languages())]
)
def test_all_that_a_page_says_is_in_its_catalog(language: str, page: str) -> None:
    catalog = catalogs.read(catalog_of(ROOT, language, page), language)
    known = {str(each.id) for each in catalog if each.id}
    assert set(catalogs.messages_of(page)) == known, "run `make catalogs`"


@EVERY_TRANSLATION
def test_code_outputs_and_anchors_are_those_of_the_english_page(
    site: Path, language: str, page: str
) -> None:
    english, other = article(site / f"{page}.html"), article(site / language / f"{page}.html")
    for image in [*english.select("img"), *other.select("img")]:
        del image["alt"]  # it is translated
    for selector in ("pre", "div.cell_output > *:not(figure)", "script.moving-data"):
        assert list(map(str, english.select(selector))) == list(map(str, other.select(selector)))
    anchors = [{tag["id"] for tag in each.select("[id]")} for each in (english, other)]
    assert anchors[0] - anchors[1] == set()


@EVERY_TRANSLATION
def test_no_english_sentence_is_left(site: Path, language: str, page: str) -> None:
    found = article(site / language / f"{page}.html")
    for kept in found.select(KEPT):
        kept.decompose()
    assert "**" not in found.get_text(), "Markdown has not seen the end of something bold"
    assert ENGLISH.findall(QUOTED.sub("", found.get_text(" "))) == []


@pytest.mark.parametrize("language", languages())
def test_what_is_not_translated_says_so(site: Path, language: str) -> None:
    page = next(
        name for name in ("book/attention", "book/notes") if (language, name) not in TRANSLATED
    )
    found = BeautifulSoup(
        (site / language / f"{page}.html").read_text(encoding="utf-8"), "html.parser"
    )
    assert found.select(f"html[lang={language.replace('_', '-')}]")
    assert found.select(".course-untranslated")
    assert found.select("[lang=en] h1")


@pytest.mark.browser
def test_the_switch_keeps_the_place(tab: Page, site: Path) -> None:
    open_page(tab, f"{(site / 'book/masking.html').as_uri()}#rows-or-columns")
    for code in ("zh-CN", "en"):
        tab.evaluate("window.setFormulas()")  # or what is above would still grow
        tab.evaluate("document.querySelector(location.hash).scrollIntoView({behavior: 'instant'})")
        # Playwright would scroll the bar that stays at the top into view, and the page with it.
        tab.locator(f".course-language[hreflang={code}]").evaluate("link => link.click()")
        expect(tab.locator(f"html[lang={code}]")).to_be_attached()
        expect(tab.locator("#rows-or-columns > h2")).to_be_in_viewport()
        assert tab.url.endswith("#rows-or-columns")


@pytest.mark.browser
@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("因果掩码", "book/masking"),
        ("束搜索", "book/decoding"),
        ("教师强制", "book/training"),
        ("键值缓存", "book/decoding"),
        ("多头注意力", "book/attention"),
    ],
)
def test_chinese_is_found(tab: Page, address: str, words: str, page: str) -> None:
    assert search(tab, f"{address}/zh_CN", words)[0] == page


PAGE = """# First steps

A mask hides the *future*, as $x$ does.

![Words for eyes.](picture.svg)

## More

<figure class="moving-figure" data-figure="none"><figcaption>Move it.</figcaption></figure>
"""


@pytest.fixture
def build(tmp_path: Path) -> Callable[[], str]:
    """Return a function that builds a small book in Esperanto and returns the HTML of its page."""
    (tmp_path / "book").mkdir()
    (tmp_path / "book/picture.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    (tmp_path / "conf.py").write_text("")
    (tmp_path / "index.md").write_text("# Start\n\n```{toctree}\nbook/page\nbook/other\n```\n")
    (tmp_path / "book/other.md").write_text("# Other\n\nThis stays.\n")

    def run() -> str:
        shutil.rmtree(tmp_path / "_build", ignore_errors=True)
        settings = {
            "extensions": ["myst_parser", "book._extensions.languages"],
            "myst_enable_extensions": ["dollarmath"],
            "language": "eo",
            "locale_dirs": ["book/locale"],
            "gettext_compact": False,
            "html_theme": "basic",
            "course_languages": {"en": "English", "eo": "Esperanto"},
        }
        app = SphinxTestApp("html", srcdir=tmp_path, confoverrides=settings)
        try:
            app.build()
            assert "other" in (Path(app.outdir) / "book/other.html").read_text()
            return (Path(app.outdir) / "book/page.html").read_text(encoding="utf-8")
        finally:
            app.cleanup()

    return run


@pytest.mark.weekly
def test_another_language_takes_a_catalog_and_a_line(
    tmp_path: Path, build: Callable[[], str]
) -> None:
    """And where an English sentence changes, the page says the new one, not the old translation."""
    (tmp_path / "book/page.md").write_text(PAGE)
    path = catalog_of(tmp_path, "eo", "book/page")
    messages = ["First steps", "A mask hides the *future*, as $x$ does.", "More", "Move it."]
    messages.append("Words for eyes.")
    catalog = catalogs.updated(Catalog(locale="eo"), messages, memory={})
    for each in catalog:
        if each.id:
            each.string = f"¡{each.id}!"
    catalogs.write(catalog, path, "eo")
    page = build()
    assert 'lang="eo"' in page
    for text in ("¡First steps!", "¡A mask hides the <em>future</em>", "¡More!", "¡Move it.!"):
        assert text in page
    assert 'id="first-steps"' in page
    assert 'alt="¡Words for eyes.!"' in page

    (tmp_path / "book/page.md").write_text(PAGE.replace("A mask hides", "A mask never hides"))
    messages[1] = messages[1].replace("hides", "never hides")
    catalogs.write(catalogs.updated(catalogs.read(path, "eo"), messages, memory={}), path, "eo")
    page = build()
    assert "¡More!" in page
    assert "A mask never hides" in page
    assert "¡A mask" not in page
