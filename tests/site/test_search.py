"""Searching the site: chapters come first, and excerpts are sentences."""

from __future__ import annotations

import re

import pytest
import yaml
from playwright.sync_api import Page, expect

from tests.site.conftest import open_page
from tools.build_book import ROOT

pytestmark = pytest.mark.browser


def search(tab: Page, address: str, words: str) -> list[str]:
    """Search as a reader does; return the pages that were found, the best first."""
    open_page(tab, f"{address}/search.html?q={words.replace(' ', '+')}")
    expect(tab.locator(".search-summary")).to_contain_text(re.compile(r"\d"))  # in any language
    links = tab.locator("#search-results li > a").evaluate_all(
        "(all) => all.map((link) => link.getAttribute('href'))"
    )
    return [link.partition("#")[0].removesuffix(".html") for link in links]


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("teacher forcing", "book/training"),
        ("KV cache", "book/decoding"),
        ("multi-head attention", "book/attention"),
        ("beam search", "book/decoding"),
        ("causal mask", "book/masking"),
        ("speak your word", "book/speak"),
        ("whole model", "book/model"),
        ("rope", "book/where_next"),
        ("speller", "book/speak"),
        ("hint", "book/students"),
        ("GPU", "book/api/device"),
    ],
)
def test_the_page_for_it_comes_first(tab: Page, address: str, words: str, page: str) -> None:
    assert search(tab, address, words)[0] == page


def test_chapters_come_before_what_belongs_to_them(tab: Page, address: str) -> None:
    found = search(tab, address, "softmax")
    kinds = ["book/attention", "book/closer/", "exercises/", "book/api/", "solutions/"]
    first = [next((n for n, p in enumerate(found) if p.startswith(kind)), 999) for kind in kinds]
    assert first == sorted(first)
    assert 999 not in first[:4]


def test_excerpts_are_sentences(tab: Page, address: str) -> None:
    search(tab, address, "scores")
    excerpts = tab.locator("#search-results p.context")
    expect(excerpts.nth(10)).to_be_visible()
    for text in excerpts.all_text_contents():
        assert not re.search(r"\\\(|\\\[|\\[a-z]+\{|\\sqrt|Toggle primary", text), text


def test_words_are_led_to_chapters_that_have_them() -> None:
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    for page, words in settings["sphinx"]["config"]["search_words"].items():
        (source,) = ROOT.glob(f"{page}.*")
        text = source.read_text(encoding="utf-8").lower()
        for word in words:
            assert all(part in text for part in re.split(r"\W+", word.lower())), (page, word)
