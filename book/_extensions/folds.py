"""The code behind a page: what draws its figures and tests its claims, in one fold at its end.

A cell with the tag `hide-input` shows its output where it is in the notebook. Its code would be a
bar to click there, between two sentences of the text, so on the site it follows the last section.
Where the code asserts something, a small mark stays in its place and opens the check.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.transforms.post_transforms import SphinxPostTransform


def title_above(node: nodes.Node) -> str:
    """Return the title of the section that a node is in."""
    while not isinstance(node, nodes.section):
        node = node.parent
    return node[0].astext()


ASSERTION = re.compile(r"^\s*(assert|torch\.testing\.assert_close)\b", re.M)


def mark_of(check: str) -> nodes.raw:
    """Return the mark that leads to a check; course.js opens the fold."""
    words = _("Checked when this page was built")
    return nodes.raw("", f'<p class="page-check"><a href="#{check}">{words}</a></p>', format="html")


def is_mark(node: nodes.Node) -> bool:
    """Say whether a node is such a mark."""
    return isinstance(node, nodes.raw) and 'class="page-check"' in node.astext()


class CollectFolds(SphinxPostTransform):
    """Move the code that a chapter folds to its end."""

    default_priority = 198  # myst-nb makes a bar of each at 199
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Change one page; those of exercises and solutions keep their folded answers in place."""
        if not self.env.docname.startswith("book/"):
            return
        collected: list[nodes.Node] = []
        heading = None
        for cell in list(self.document.findall(nodes.container)):
            if cell.get("hide_mode") != "input":
                continue
            if (title := title_above(cell)) != heading:
                collected.append(nodes.rubric(text=title))
                heading = title
            source, place = cell.children[0], cell.parent.index(cell)
            assert isinstance(source, nodes.Element)
            cell.remove(source)
            collected.append(source)
            # Of checks in a row, the first has the mark; the others follow it in the fold.
            follows = place > 0 and is_mark(cell.parent[place - 1]) and not cell.children
            if ASSERTION.search(source.astext()) and not follows:
                source["ids"].append(f"check-{len(collected)}")
                cell.parent.insert(place + 1, mark_of(source["ids"][-1]))
            if not cell.children:
                cell.parent.remove(cell)
        if collected:
            prompt = _("How this page is tested and its figures are drawn")
            fold = HideCodeCellNode(prompt_show=prompt, prompt_hide=prompt)
            fold["classes"].append("above-input")
            fold.extend(collected)
            # myst-nb's style sheet knows folds in cells only.
            page = next(self.document.findall(nodes.section))
            page.append(nodes.container("", fold, classes=["cell", "page-tests"]))


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_post_transform(CollectFolds)
