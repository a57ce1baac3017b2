"""Quick questions that take an answer, by a directive in the dropdown that holds a question.

    ::::{dropdown} A batch holds targets of 2 and of 5 tokens. How many questions does it ask?
    :::{answer} number
    - [ ] 7
      Those are the tokens. Each target asks one question more, because of its end.
    - [x] 9
    :::
    Nine.
    ::::

`choice` shows the lines to choose from, `number` a field to type into; the right one is crossed.
What stands under a wrong one is said to a reader who gives it; under the right one nothing need be.
The page holds all of it in a <template>, which a browser does not show: book/assets/questions.js
makes the question from it, and without JavaScript there is the dropdown alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

KINDS = ("choice", "number")
OPTION = re.compile(r"- \[([ x])\] (.*\S)")


@dataclass(frozen=True)
class Option:
    """An answer that a reader may give, and what is said then."""

    text: str
    is_right: bool
    said: str


def read_options(lines: Sequence[str]) -> list[Option]:
    """Read the list in a directive: a line for each answer, and under it what is said.

    Raises:
        ValueError: a line that belongs to no answer.
    """
    read: list[Option] = []
    for line in filter(str.strip, lines):
        if found := OPTION.fullmatch(line.rstrip()):
            read.append(Option(found[2], found[1] == "x", ""))
        elif read and line.startswith("  "):
            last = read.pop()
            read.append(Option(last.text, last.is_right, f"{last.said} {line.strip()}".strip()))
        else:
            raise ValueError(f"{line!r} is neither `- [ ] answer` nor indented under one")
    return read


def faults(kind: str, options: Sequence[Option]) -> list[str]:
    """Name what is wrong with a question: it has one right answer, and a name for each mistake."""
    found = []
    if kind not in KINDS:
        found.append(f"the kind is {kind!r}, expected one of {KINDS}")
    if sum(option.is_right for option in options) != 1:
        found.append("one answer, and only one, is crossed: - [x]")
    if len(options) < 2:
        found.append("there is no wrong answer")
    if len({option.text for option in options}) < len(options):
        found.append("an answer stands twice")
    found += [
        f"nothing is said about {option.text!r}"
        for option in options
        if not option.is_right and not option.said
    ]
    if kind == "number":
        found += number_faults(options)
    return found


def number_faults(options: Sequence[Option]) -> list[str]:
    """Name the answers that are no numbers, or that rounding could take for one another."""
    try:
        values = [Decimal(option.text) for option in options]
    except InvalidOperation:
        return [f"one of {[option.text for option in options]} is no number"]
    return [
        f"{one} and {other} are too near: one unit in the last digit is accepted"
        for position, one in enumerate(values)
        for other in values[:position]
        if abs(one - other) <= tolerance(one) + tolerance(other)
    ]


def tolerance(value: Decimal) -> Decimal:
    """Return how far from a number an answer may be: a unit in its last digit after the point."""
    exponent = value.as_tuple().exponent
    return Decimal(0) if exponent == 0 else Decimal(1).scaleb(int(exponent))


class QuickAnswer(nodes.General, nodes.Element):
    """What a question takes as an answer; it holds the options."""


class QuickOption(nodes.Part, nodes.Element):
    """One answer: a paragraph with its text, and one with what is said."""


class AnswerDirective(SphinxDirective):
    """The directive `answer`."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the options as a node, or fail where the question is not in order."""
        kind = self.arguments[0]
        try:
            options = read_options(list(self.content))
        except ValueError as error:
            raise self.error(str(error)) from error
        if found := faults(kind, options):
            raise self.error("; ".join(found))
        node = QuickAnswer(kind=kind)
        for each in options:
            child = QuickOption(is_right=each.is_right)
            for text in filter(None, (each.text, each.said)):
                inline, messages = self.state.inline_text(text, self.lineno)
                paragraph = nodes.paragraph(text, "", *inline)
                self.set_source_info(paragraph)  # only then it is a message to translate
                child += [paragraph, *messages]
            node += child
        return [node]


def open_answer(writer: Any, node: nodes.Element) -> None:
    """Begin what the browser keeps and does not show."""
    writer.body.append(f'<template class="quick-answer" data-kind="{node["kind"]}">\n')


def close_answer(writer: Any, node: nodes.Element) -> None:
    """End it."""
    writer.body.append("</template>\n")


def open_option(writer: Any, node: nodes.Element) -> None:
    """Begin one answer."""
    writer.body.append("<div data-right>" if node["is_right"] else "<div>")


def close_option(writer: Any, node: nodes.Element) -> None:
    """End one answer."""
    writer.body.append("</div>\n")


def load_script(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Load the script on the pages that hold such questions."""
    if '<template class="quick-answer"' in context.get("body", ""):
        app.add_js_file("questions.js", loading_method="defer", priority=300)


def setup(app: Sphinx) -> None:
    """Add the directive and its nodes to Sphinx."""
    app.add_node(QuickAnswer, html=(open_answer, close_answer))
    app.add_node(QuickOption, html=(open_option, close_option))
    app.add_directive("answer", AnswerDirective)
    app.connect("html-page-context", load_script)
