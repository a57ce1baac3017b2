"""The page with all misconceptions: what students read, folded by task, and no code."""

from __future__ import annotations

import shutil
from pathlib import Path

from bs4 import BeautifulSoup
from sphinx.testing.util import SphinxTestApp
from sphinx.util.docutils import docutils_namespace

from book._extensions.misconceptions import literally
from transformer_checks.registry import all_tasks

PAGE = Path(__file__).resolve().parents[2] / "book" / "misconceptions.md"
SETTINGS = """\
extensions = ["myst_parser", "sphinx_design", "book._extensions.misconceptions"]
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath", "substitution"]
html_theme = "basic"
"""


def test_the_page_has_the_titles_and_hints_of_each_task(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text(SETTINGS, encoding="utf-8")
    shutil.copy(PAGE, tmp_path / "index.md")
    with docutils_namespace():
        app = SphinxTestApp("html", srcdir=tmp_path)
        app.build()
    assert app.warning.getvalue() == ""
    page = BeautifulSoup((Path(app.outdir) / "index.html").read_text("utf-8"), "html.parser")
    shown = [
        (box.summary.get_text().strip(), [item.get_text().strip() for item in box.select("li")])
        for box in page.select("details")
        if box.summary
    ]
    assert shown == [
        (
            key.split(".")[1],
            [f"{each.title}. {each.hint}".replace("`", "") for each in task.misconceptions],
        )
        for key, task in all_tasks().items()
    ]


def test_only_code_keeps_its_meaning() -> None:
    assert literally("*a* `*b*` [c](d)") == r"\*a\* `*b*` \[c\]\(d\)"
