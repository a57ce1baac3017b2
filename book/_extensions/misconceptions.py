"""The misconceptions of an assignment as a page shows them, by a directive.

    ```{misconceptions} attention
    ```

Each task is a dropdown with the titles and hints that its students read, without any code.
"""

from __future__ import annotations

import re

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from transformer_checks.assignments import misconceptions
from transformer_checks.task import Misconception

CODE = re.compile(r"(`+.+?`+)")
MARK = re.compile(r"[!-/:-@\[-`{-~]")


def literally(text: str) -> str:
    """Return a title or a hint as Markdown, in which only code in backticks has a meaning."""
    parts = CODE.split(text)
    return "".join(
        part if CODE.fullmatch(part) else MARK.sub(r"\\\g<0>", part) for part in parts if part
    )


def dropdown(task: str, entries: tuple[Misconception, ...]) -> list[str]:
    """Write the lines of the dropdown of one task."""
    said = [f"- **{literally(each.title)}.** {literally(each.hint)}" for each in entries]
    return [f":::{{dropdown}} `{task}`", *said, ":::", ""]


class MisconceptionsDirective(SphinxDirective):
    """The directive `misconceptions`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the dropdowns of an assignment; the page depends on the files they come from."""
        slug = self.arguments[0]
        for folder in (misconceptions.HERE, misconceptions.HERE / slug):
            self.env.note_dependency(str(folder / "misconceptions.md"))
        tasks = misconceptions.misconceptions_of(slug)
        lines = [line for task, entries in tasks.items() for line in dropdown(task, entries)]
        found = nodes.container(support_smartquotes=False)  # quotes in them are often Python's
        self.state.nested_parse(StringList(lines, slug), self.content_offset, found)
        return [found]


def setup(app: Sphinx) -> None:
    """Add the directive to Sphinx."""
    app.add_directive("misconceptions", MisconceptionsDirective)
