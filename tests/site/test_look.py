"""What the site looks like, on a small sample of it: schematics, colours of formulas, type.

A schematic is the SVG itself, described, readable on a phone, in the colours of its roles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Browser, Page, expect
from sphinx.testing.util import SphinxTestApp

from book._extensions import drawings, pages
from tests.site.conftest import open_page
from tools.build_book import ROOT

SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]
ALT = 'The query "q" meets two keys & values.'

SAMPLE = """<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="-6 -6 {width} 90"
 width="{width}" height="90"><style>svg.drawing{{--role-query:#123456}}</style>
<marker id="attention-{name}-head"><path class="head query" d="M0 0L9 4L0 9Z" /></marker>
<text class="query" x="10" y="30" font-size="13">q &lt; {name}</text>
<text class="ink" x="10" y="60" font-size="12.5">softmax</text></svg>
"""

# Two colours that no style sheet of ours has.
COLORS = {"light": "rgb(1, 2, 3)", "dark": "rgb(201, 202, 203)"}
STYLE = f"""html {{ --role-query: {COLORS["light"]}; --role-ink: {COLORS["light"]} }}
html[data-theme="dark"] {{ --role-query: {COLORS["dark"]}; --role-ink: {COLORS["dark"]} }}
.drawing text.query {{ fill: var(--role-query) }}
"""

# Sentences of a chapter, so that a line holds as many characters as there.
PROSE = """The Transformer is the architecture behind today's language and translation models.
This course builds one from nothing but tensors: a book to read, a small package to quote, and
exercises that grade themselves. One running example goes through all of it. A model learns to
pronounce English words from their spelling. You can look inside it and see which letters it
reads while it speaks, as in the picture above: the curves are as wide as the model's attention."""

PAGE = """# Page

## Section

### Part

{prose}

![{alt}](assets/drawings/attention/by-hand.svg)

:::{{figure}} assets/drawings/attention/one.svg
:alt: One layout for all widths.
:name: attention-one

The caption.
:::

See {{numref}}`attention-one`, {{numref}}`attention-other`, and
$$\\textcolor{{query}}{{Q}} + K$$

:::{{figure}} assets/photo.svg
:alt: Not a schematic.
:name: attention-other

Another caption.
:::

```python
print("wider than prose")
```
"""


def draw(book: Path, name: str, width: int) -> Path:
    path = book / f"assets/drawings/attention/{name}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SAMPLE.format(name=name, width=width), encoding="utf-8")
    return path


def write_project(folder: Path) -> Path:
    """Write a book of two pages with two schematics; return its folder of pages."""
    book = folder / "book"
    (book / "closer").mkdir(parents=True)
    draw(book, "by-hand", 620)
    draw(book, "by-hand-narrow", 330)
    draw(book, "one", 450)
    (book / "assets/photo.svg").write_text(SAMPLE.format(name="photo", width=100))
    (book / "assets/sample.css").write_text(STYLE)
    (folder / "conf.py").write_text("")
    (folder / "index.md").write_text("# Start\n\n```{toctree}\nbook/page\nbook/closer/page\n```\n")
    (book / "page.md").write_text(PAGE.format(alt=ALT, prose=PROSE), encoding="utf-8")
    closer = "# Closer\n\n![Again.](../assets/drawings/attention/by-hand.svg)\n"
    (book / "closer/page.md").write_text(closer)
    return book


def build(folder: Path) -> tuple[Path, str]:
    """Build the project as the book is built; return the folder of its pages and the warnings."""
    wanted = ("mathjax_path", "mathjax_options", "mathjax3_config", "numfig", "html_js_files")
    settings: dict[str, Any] = {name: SETTINGS[name] for name in wanted}
    settings |= {
        "extensions": ["myst_parser", "book._extensions.drawings"],
        "myst_enable_extensions": ["colon_fence", "dollarmath"],
        "html_theme": "sphinx_book_theme",
        "html_theme_options": {"use_download_button": False},
        "html_context": SETTINGS["html_context"],
        "html_static_path": [str(ROOT / "book/assets"), "book/assets"],
        "html_css_files": [*SETTINGS["html_css_files"], "sample.css"],
    }
    app = SphinxTestApp("html", srcdir=folder, confoverrides=settings)
    try:
        app.connect("doctree-resolved", pages.require_alt_text)
        app.build()
        return Path(app.outdir), app.warning.getvalue()
    finally:
        app.cleanup()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sample project once; return the folder of its pages."""
    folder = tmp_path_factory.mktemp("drawings")
    write_project(folder)
    pages, warnings = build(folder)
    assert warnings == ""
    return pages


def parse(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def one(page: BeautifulSoup | Tag, selector: str) -> Tag:
    (tag,) = page.select(selector)
    return tag


def test_a_drawing_is_in_the_page_in_both_layouts(built: Path) -> None:
    page = parse(built / "book/page.html")
    layouts = page.select("p > span.drawing-box > svg.drawing")
    assert [svg["class"][1:] for svg in layouts] == [["drawing-wide"], ["drawing-narrow"]]
    assert [svg["width"] for svg in layouts] == ["620", "330"]
    assert [svg.find("text").get_text() for svg in layouts] == ["q < by-hand", "q < by-hand-narrow"]


def test_a_drawing_is_described_in_each_layout(built: Path) -> None:
    layouts = parse(built / "book/page.html").select("p svg.drawing")
    assert [(svg["role"], svg["aria-label"]) for svg in layouts] == [("img", ALT)] * 2


def test_the_style_of_the_file_stays_in_the_file(built: Path) -> None:
    assert not parse(built / "book/page.html").select("svg style")
    assert "#123456" not in (built / "book/page.html").read_text(encoding="utf-8")


def test_a_figure_keeps_its_caption_and_number(built: Path) -> None:
    page = parse(built / "book/page.html")
    figure = one(page, "figure#attention-one")
    assert one(figure, "div.drawing-box > svg")["class"] == ["drawing"]
    assert one(figure, ".caption-number").get_text() == "Fig. 1 "
    assert one(figure, ".caption-text").get_text() == "The caption."
    references = [tag.get_text() for tag in page.select("a.reference .std-numref")]
    assert references == ["Fig. 1", "Fig. 2"]


def test_other_images_stay_images(built: Path) -> None:
    page = parse(built / "book/page.html")
    assert one(page, "figure#attention-other img")["alt"] == "Not a schematic."


def test_a_closer_look_uses_the_drawing_of_its_chapter(built: Path) -> None:
    assert len(parse(built / "book/closer/page.html").select("svg.drawing")) == 2


def test_the_text_of_a_drawing_is_found_by_search(built: Path) -> None:
    assert "softmax" in (built / "searchindex.js").read_text(encoding="utf-8")


def test_the_markup_needs_no_guessing(built: Path) -> None:
    """Whoever reads the page as XML, which forgives nothing, reads the same elements."""
    text = (built / "book/page.html").read_text(encoding="utf-8")
    for drawing in re.findall(r"<svg class=\"drawing.*?</svg>", text, flags=re.DOTALL):
        ElementTree.fromstring(drawing)


@pytest.mark.parametrize(
    ("markdown", "complaint"),
    [
        ("![Words.](assets/drawings/attention/absent.svg)", "image file not readable"),
        ("![](assets/drawings/attention/one.svg)", "without alt text"),
        (":::{figure} assets/drawings/attention/one.svg\n\nCaption.\n:::", "without alt text"),
        ("![Words.](assets/drawings/attention/broken.svg)", "is no SVG"),
        ("![Words.](assets/drawings/attention/page.svg)", "is no SVG"),
    ],
)
def test_what_is_missing_is_a_warning(tmp_path: Path, markdown: str, complaint: str) -> None:
    book = write_project(tmp_path)
    draw(book, "broken", 100).write_text("<svg><g></svg>")
    draw(book, "page", 100).write_text("<html />")
    (book / "page.md").write_text(f"# Page\n\n{markdown}\n")
    _, warnings = build(tmp_path)
    (warning,) = warnings.splitlines()
    assert complaint in warning
    assert "page" in warning


def test_text_is_never_made_smaller_than_can_be_read() -> None:
    small = drawings.inline_svg(SAMPLE.format(name="one", width=500), "Words.")
    # At this width the text of 12.5 px has become 11 px.
    assert 'style="min-width: 440px"' in small
    tiny = SAMPLE.format(name="one", width=500).replace("12.5", "9")
    assert 'style="min-width: 500px"' in drawings.inline_svg(tiny, "Words.")


# ---- in Chromium --------------------------------------------------------------------------------


@pytest.fixture
def look(browser: Browser, built: Path) -> Iterator[Callable[[int, str], Page]]:
    """Return a function that opens the sample page, from its file, at a width and in a theme."""
    opened = []

    def open_sample(width: int, theme: str) -> Page:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
        opened.append(page)
        open_page(page, (built / "book/page.html").as_uri())
        page.evaluate("setFormulas()")
        return page

    yield open_sample
    for page in opened:
        page.close()


@pytest.mark.browser
@pytest.mark.parametrize("theme", COLORS)
def test_a_letter_of_a_formula_has_the_colour_of_its_role(
    look: Callable[[int, str], Page], theme: str
) -> None:
    page = look(1280, theme)
    expect(page.locator("mjx-merror, [data-mjx-error]")).to_have_count(0)
    letter = page.locator("mjx-container .query mjx-c")
    color = "(letter) => getComputedStyle(letter).color"
    assert letter.evaluate(color) == COLORS[theme]
    assert page.locator("mjx-container mjx-mo mjx-c").evaluate(color) != COLORS[theme]


@pytest.mark.browser
@pytest.mark.parametrize("theme", COLORS)
def test_a_drawing_has_the_colours_of_the_theme(
    look: Callable[[int, str], Page], theme: str
) -> None:
    text = look(1280, theme).locator(".drawing-wide text.query")
    assert text.evaluate("(text) => getComputedStyle(text).fill") == COLORS[theme]


@pytest.mark.browser
@pytest.mark.parametrize(
    ("width", "medium", "shown"),
    [(1280, "screen", "wide"), (390, "screen", "narrow"), (390, "print", "wide")],
)
def test_one_layout_is_shown(
    look: Callable[[int, str], Page], width: int, medium: Any, shown: str
) -> None:
    page = look(width, "light")
    page.emulate_media(media=medium)
    for layout in ("wide", "narrow"):
        expect(page.locator(f".drawing-{layout}")).to_be_visible(visible=layout == shown)
    # What is hidden is no image for a screen reader either.
    expect(page.get_by_role("img", name=ALT)).to_have_count(1)


@pytest.mark.browser
def test_a_drawing_without_a_narrow_layout_scrolls_in_its_box(
    look: Callable[[int, str], Page],
) -> None:
    page = look(320, "light")
    box = page.locator("#attention-one .drawing-box")
    assert box.evaluate("(box) => box.scrollWidth > box.clientWidth")
    assert box.get_attribute("tabindex") == "0"
    scale = box.locator("svg").evaluate("(svg) => svg.getScreenCTM().a")
    assert scale * 12.5 == pytest.approx(11, abs=0.05)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.browser
def test_headings_have_the_font_of_the_site_and_one_weight(
    look: Callable[[int, str], Page],
) -> None:
    page = look(1280, "light")
    page.evaluate("document.fonts.ready")
    styles = page.locator(".bd-article :is(h1, h2, h3)").evaluate_all(
        """headings => headings.map(getComputedStyle).map(({fontFamily, fontWeight, fontSize}) =>
           [fontFamily.split(",")[0], fontWeight, parseFloat(fontSize)])"""
    )
    assert [style[:2] for style in styles] == [['"Source Serif 4"', "600"]] * 3
    sizes = [size for *_, size in styles]
    assert sizes == sorted(set(sizes), reverse=True)
    assert page.evaluate("document.fonts.check('600 20px \"Source Serif 4\"')")


@pytest.mark.browser
@pytest.mark.parametrize("width", [1100, 1280, 1600])
def test_prose_is_easy_to_follow_and_code_may_be_wider(
    look: Callable[[int, str], Page], width: int
) -> None:
    page = look(width, "light")
    prose = page.locator(".bd-article p", has_text="This course builds one")
    size, lines = prose.evaluate(
        """(prose) => {
          const {fontSize, lineHeight} = getComputedStyle(prose);
          return [parseFloat(fontSize), prose.clientHeight / parseFloat(lineHeight)];
        }"""
    )
    assert 17 <= size <= 18
    # The last of the lines is not full.
    assert 62 <= len(PROSE) / (lines - 0.5) <= 74
    widths = "(element) => element.clientWidth"
    assert page.locator(".bd-article pre").evaluate(widths) > prose.evaluate(widths)


@pytest.mark.browser
def test_captions_are_not_thin(look: Callable[[int, str], Page]) -> None:
    caption = look(1280, "light").locator("#attention-one figcaption")
    assert caption.evaluate("(caption) => getComputedStyle(caption).fontWeight") == "400"
