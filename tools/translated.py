"""Translate the text of an exercise for its notebook, with the catalog of its page on the site."""

from __future__ import annotations

import re
from collections.abc import Mapping

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from nbformat import NotebookNode

from tools.inputs import LOCALE, ROOT
from transformer_checks.translation import read_catalog

PARSER = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin)
# The title of a hint, which is HTML.
SUMMARY = re.compile(r"(?<=<summary>)[^<]+(?=</summary>)")


def translate_markdown(source: str, words: Mapping[str, str]) -> str:
    """Return Markdown with each heading, paragraph, list item and cell of a table in other words.

    Args:
        source: the English Markdown.
        words: translations, by the English text in one line, as Sphinx's catalogs have them.

    Returns:
        the Markdown; what has no translation stays English.
    """
    lines = source.split("\n")
    for token in reversed(PARSER.parse(source)):
        message = token.content.replace("\n", " ")
        if token.type != "inline" or token.map is None or message not in words:
            continue
        start, stop = token.map
        first = token.content.partition("\n")[0]
        # What is before the text marks a heading or an item of a list.
        before, _, after = lines[start].partition(first)
        lines[start:stop] = [before + words[message] + after]
    return SUMMARY.sub(lambda title: words.get(title[0], title[0]), "\n".join(lines))


def translate_exercise(notebook: NotebookNode, slug: str, language: str) -> None:
    """Translate the texts of an exercise's notebook in place; code stays as it is.

    Without a catalog of the exercise all stays English.

    Args:
        notebook: the released exercise.
        slug: of the assignment, such as "attention".
        language: such as "zh_CN".
    """
    path = ROOT / LOCALE / language / "LC_MESSAGES/exercises" / slug / f"{slug}.po"
    words = read_catalog(path) if path.is_file() else {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = translate_markdown(cell.source, words)
