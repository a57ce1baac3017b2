"""Print the built book: `python -m tools.make_pdf [page ...]` makes one PDF for each page.

They are written into _build/pdf, numbered in the order of the contents.  Without pages, such as
book/attention, all that were written are printed, and joined in one file, book.pdf; what documents
the package is read on a screen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import yaml
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, sync_playwright
from pypdf import PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, TextStringObject

from tools import chromium
from tools.build_book import SITE
from tools.inputs import ROOT

FOLDER = SITE.with_name("pdf")
JOINED = "book.pdf"
PAGE_NUMBER = '<p style="width: 100%; font-size: 8pt; text-align: center" class="pageNumber"></p>'

# Formulas and pictures wait for a reader, who is not there.
COMPLETE = """async () => {
  await setFormulas();
  for (const image of document.images) image.loading = "eager";
  await Promise.allSettled([...document.images].map((image) => image.decode()));
}"""


def below(entry: dict[str, Any]) -> Iterator[str]:
    """Yield the pages under an entry of the contents, its own first."""
    if name := entry.get("root") or entry.get("file"):
        yield name
    for kind in ("parts", "chapters", "sections"):
        for each in entry.get(kind, []):
            yield from below(each)


def pages_in_order(root: Path = ROOT) -> list[str]:
    """List the pages of the book as the contents do, without those of the package."""
    contents = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    return [name for name in below(contents) if not name.startswith("book/api/")]


def print_pages(browser: Browser, names: Sequence[str], folder: Path = FOLDER) -> list[Path]:
    """Print pages of the built site; return the files.

    Args:
        browser: what prints.
        names: pages as _toc.yml names them.
        folder: where the files go.

    Raises:
        ValueError: a page that is not in the contents.
    """
    order = pages_in_order()
    if unknown := set(names) - set(order):
        raise ValueError(f"pages: {sorted(unknown)} are not in _toc.yml, expected such as book/gpt")
    folder.mkdir(parents=True, exist_ok=True)
    page, made = browser.new_page(), []
    for name in names:
        page.goto((SITE / f"{name}.html").as_uri())
        page.evaluate(COMPLETE)
        made.append(folder / f"{order.index(name) + 1:02}-{name.replace('/', '-')}.pdf")
        page.pdf(
            path=made[-1],
            format="A4",
            margin={"top": "15mm", "bottom": "18mm", "left": "15mm", "right": "15mm"},
            display_header_footer=True,
            header_template="<p></p>",
            footer_template=PAGE_NUMBER,
            outline=True,
            tagged=True,
        )
        print(made[-1], flush=True)
    page.close()
    return made


def join(parts: Mapping[str, Path], target: Path) -> Path:
    """Join printed pages in one file, whose bookmarks are their titles and headings.

    A link to another page of the book leads to where that page begins.  What leads to a page that
    was not printed is no link any more, as its address is that of a file on this machine.

    Args:
        parts: the files by the names of their pages, in order.
        target: the file that is written.
    """
    writer, starts, headings = PdfWriter(), {}, {}
    for name, part in parts.items():
        starts[(SITE / f"{name}.html").as_uri()] = len(writer.pages)
        writer.append(part)
        headings.update(headings_of(SITE / f"{name}.html"))
    name_bookmarks(writer.get_outline_root(), headings)
    lead_within(writer, starts)
    writer.add_metadata({"/Title": book_title()})
    writer.page_mode = "/UseOutlines"
    writer.write(target)
    return target


def headings_of(page: Path) -> dict[str, str]:
    """Return the headings of a page by their letters, without the spaces between their words."""
    article = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").select(".bd-article")
    texts = [
        " ".join(heading.get_text().removesuffix("#").split())
        for heading in article[0].find_all(["h1", "h2", "h3", "h4"])
    ]
    return {"".join(text.split()): text for text in texts}


def name_bookmarks(above: DictionaryObject, headings: Mapping[str, str]) -> None:
    """Give the bookmarks below one their spaces back; Chromium loses that at the end of a line."""
    below = above.get("/First")
    while below is not None:
        bookmark = below.get_object()
        title = headings.get("".join(bookmark["/Title"].split()), bookmark["/Title"])
        bookmark[NameObject("/Title")] = TextStringObject(title)
        name_bookmarks(bookmark, headings)
        below = bookmark.get("/Next")


def lead_within(writer: PdfWriter, starts: Mapping[str, int]) -> None:
    """Lead links to the pages that begin at the given places; drop those to other files."""
    for page in writer.pages:
        annotations = page.get("/Annots", ArrayObject()).get_object()
        for link in list(annotations):
            address = link.get_object().get("/A", {}).get("/URI", "")
            if not address.startswith("file:"):
                continue
            start = starts.get(urldefrag(address).url)
            if start is None:
                annotations.remove(link)
            else:
                del link.get_object()["/A"]
                place = [writer.pages[start].indirect_reference, NameObject("/Fit")]
                link.get_object()[NameObject("/Dest")] = ArrayObject(place)


def book_title(root: Path = ROOT) -> str:
    """Return the title of the book."""
    settings = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    return str(settings["title"])


def main(names: Sequence[str]) -> int:
    """Print the given pages, or all, which are joined too; return the exit status."""
    program = chromium.find()
    if program is None:
        print(chromium.HOW_TO_GET_IT, file=sys.stderr)
        return 1
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(program), args=["--no-sandbox"])
        made = print_pages(browser, names or pages_in_order())
    if not names:
        print(join(dict(zip(pages_in_order(), made, strict=True)), FOLDER / JOINED))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
