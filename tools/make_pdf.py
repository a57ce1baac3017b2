"""Print the built book: `python -m tools.make_pdf [page ...]` makes one PDF for each page.

They are written into _build/pdf, numbered in the order of the contents.  Without pages, such as
book/attention, all that were written are printed; what documents the package is read on a screen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from playwright.sync_api import Browser, sync_playwright

from tools import chromium
from tools.build_book import SITE
from tools.inputs import ROOT

FOLDER = SITE.with_name("pdf")
PAGE_NUMBER = '<p style="width: 100%; font-size: 8pt; text-align: center" class="pageNumber"></p>'


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
        page.evaluate("window.MathJax?.startup?.promise")
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


def main(names: Sequence[str]) -> int:
    """Print the given pages, or all; return the exit status."""
    program = chromium.find()
    if program is None:
        print(chromium.HOW_TO_GET_IT, file=sys.stderr)
        return 1
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(program), args=["--no-sandbox"])
        print_pages(browser, names or pages_in_order())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
