"""What a term of the glossary means, shown beside the link that leads to it.

Each page holds the first sentence of the definitions that it links to, in a <template>, which a
browser does not show; book/assets/terms.js shows one when a link is pointed at or has the focus.
So it works without a server, and a link stays a link.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

GLOSSARY = "book/glossary"
LINK = re.compile(r'href="[^"]*glossary\.html#(term-[^"]+)"')


def first_sentence(definition: nodes.Element) -> nodes.paragraph:
    """Return the first sentence of a definition, without what it cites and what it links to.

    A sentence ends with its line, as everywhere in the book, and in Chinese with its full stop.
    """
    first = next(iter(definition.findall(nodes.paragraph))).deepcopy()
    for link in list(first.findall(addnodes.pending_xref)):
        link.parent.replace(link, [] if link["refdomain"] == "cite" else nodes.Text(link.astext()))
    sentence = nodes.paragraph()
    for child in first.children:
        text, *more = re.split(r"\n|(?<=。)", child) if isinstance(child, nodes.Text) else [""]
        sentence += nodes.Text(text) if more else child
        if more:
            break
    tidy(sentence)
    return sentence


def tidy(sentence: nodes.paragraph) -> None:
    """Take away the space that a citation has left before a full stop."""
    for position, child in enumerate(sentence.children):
        after = sentence.children[position + 1 : position + 2]
        stops = bool(after) and re.match(r"[.,;:]", after[0].astext())
        if isinstance(child, nodes.Text) and stops:
            sentence[position] = nodes.Text(child.rstrip())


@cache
def definitions(app: Sphinx) -> dict[str, str]:
    """Return the first sentence of each definition as HTML, by the anchor of its term."""
    found: dict[str, str] = {}
    builder = cast(StandaloneHTMLBuilder, app.builder)
    for item in app.env.get_doctree(GLOSSARY).findall(nodes.definition_list_item):
        sentence = first_sentence(next(iter(item.findall(nodes.definition))))
        html = builder.render_partial(sentence)["fragment"].strip()
        for term in item.findall(nodes.term):
            found.update(dict.fromkeys(term["ids"], html))
    return found


def add_terms(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Put the definitions that a page links to behind it, and load the script that shows them."""
    linked = set(LINK.findall(context.get("body", "")))
    if not linked:
        return
    known = definitions(app)
    names = sorted(linked & set(known))
    entries = "".join(f'<div data-term="{name}">{known[name]}</div>\n' for name in names)
    context["body"] += f'<template id="course-terms">\n{entries}</template>\n'
    app.add_js_file("terms.js", loading_method="defer")


def setup(app: Sphinx) -> None:
    """Connect to Sphinx."""
    app.connect("html-page-context", add_terms)
