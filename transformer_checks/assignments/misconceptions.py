"""Read the misconceptions of an assignment from Markdown: ``assignments/<slug>/misconceptions.md``.

README.md of the checks describes the format. What several assignments share is in
``assignments/misconceptions.md``.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from transformer_checks.judging.changes import ALWAYS_THERE, Change
from transformer_checks.judging.general_mistakes import DETACHED
from transformer_checks.task import Misconception

HERE = Path(__file__).parent
Way = Change | Callable[..., Any]

# All other marks of Markdown are plain text, so titles and hints may contain them.
PARSER = MarkdownIt("zero").enable(["heading", "list", "fence", "backticks"])
SHARED = "Shared:"
TASK = re.compile(r"[A-Za-z_]\w*")
KEY = re.compile(r"[^\s:,]+")
NAME = re.compile(r"[A-Z][A-Z0-9_]*")


class MisconceptionError(ValueError):
    """A file of misconceptions has a mistake; the message begins with its name and the line."""


@cache
def misconceptions_of(slug: str) -> Mapping[str, tuple[Misconception, ...]]:
    """Return the misconceptions of an assignment.

    Args:
        slug: of the assignment, such as "depth".

    Returns:
        the misconceptions by the name of their task, such as "logit_lens"; most specific first.

    Raises:
        MisconceptionError: if the file has a mistake.
    """
    answers = importlib.import_module(f"{__package__}.{slug}.answers")
    file = HERE / slug / "misconceptions.md"
    return read_misconceptions(file, _for_all_assignments(), vars(answers))[0]


@cache
def _for_all_assignments() -> Mapping[str, Misconception]:
    """Return what the tasks of all assignments may refer to, by key."""
    return read_misconceptions(HERE / "misconceptions.md", {DETACHED.key: DETACHED}, {})[1]


def read_misconceptions(
    file: Path, shared: Mapping[str, Misconception], space: Mapping[str, Any]
) -> tuple[Mapping[str, tuple[Misconception, ...]], Mapping[str, Misconception]]:
    """Read one file.

    Args:
        file: the Markdown.
        shared: misconceptions of other files that this one may refer to, by key.
        space: what functions in the file see besides torch.

    Returns:
        the misconceptions by task, and those that tasks may refer to, by key.

    Raises:
        MisconceptionError: if the file has a mistake.
    """
    reader = _Reader(file, shared, space)
    for section in reader.under_headings("h1", reader.nodes()):
        reader.read_section(*section)
    return MappingProxyType(reader.tasks), MappingProxyType(reader.shared)


class _Reader:
    """What was read of a file so far.

    Attributes:
        tasks: the misconceptions by task.
        shared: those that tasks may refer to, by key.
        names: texts and changes that have a name.
    """

    def __init__(
        self, file: Path, shared: Mapping[str, Misconception], space: Mapping[str, Any]
    ) -> None:
        self.file = file
        self.space = space
        self.tasks: dict[str, tuple[Misconception, ...]] = {}
        self.shared = dict(shared)
        self.names: dict[str, str | Change] = {}

    def nodes(self) -> list[SyntaxTreeNode]:
        """Return the headings, paragraphs and lists of the file."""
        return SyntaxTreeNode(PARSER.parse(self.file.read_text(encoding="utf-8"))).children

    def fail(self, node: SyntaxTreeNode, message: str) -> NoReturn:
        """Raise the error for a mistake in a part of the file."""
        line = node.map[0] + 1 if node.map else 1
        raise MisconceptionError(f"{self.file}:{line}: {message}")

    def under_headings(
        self, level: str, nodes: list[SyntaxTreeNode]
    ) -> Iterator[tuple[SyntaxTreeNode, list[SyntaxTreeNode]]]:
        """Yield each heading of a level with what is under it, and read what precedes them."""
        heading: SyntaxTreeNode | None = None
        body: list[SyntaxTreeNode] = []
        for node in nodes:
            if node.tag == level:
                if heading:
                    yield heading, body
                heading, body = node, []
            elif node.type == "heading" and (not heading or node.tag != "h2"):
                self.fail(node, "expected '# task' or '# Shared: ...', then '## key: title'")
            elif heading:
                body.append(node)
            elif level == "h2" and node.type == "bullet_list":
                self.read_names(node.children)
            elif node.type != "paragraph":
                self.fail(node, "only text may precede the headings, and names in a section")
        if heading:
            yield heading, body

    def read_section(self, heading: SyntaxTreeNode, body: list[SyntaxTreeNode]) -> None:
        """Read a task, or misconceptions that tasks share."""
        name = _text(heading)
        is_shared = name.startswith(SHARED)
        if not is_shared and not TASK.fullmatch(name):
            self.fail(heading, f"expected the name of a task or '{SHARED} ...', got {name!r}")
        if name in self.tasks:
            self.fail(heading, f"a second section for the task {name!r}")
        found: dict[str, Misconception] = {}
        for subheading, content in self.under_headings("h2", body):
            before = self.shared if is_shared else found
            for entry in self.read_entries(subheading, content, must_have_ways=not is_shared):
                if entry.key in before:
                    self.fail(subheading, f"a second misconception with the key {entry.key!r}")
                before[entry.key] = entry
        if not is_shared:
            self.tasks[name] = tuple(found.values())

    def read_names(self, items: list[SyntaxTreeNode]) -> None:
        """Read the definitions of names at the top of a section."""
        for node in items:
            item = _Item(self, node)
            name, colon, rest = item.take()[1].partition(":")
            if not NAME.fullmatch(name) or not colon or rest:
                self.fail(
                    node, "expected '## key: title' above, or 'NAME: ' and what it stands for"
                )
            if name in self.names:
                self.fail(node, f"{name} is defined twice")
            self.names[name] = item.text_or_changes()
            item.must_end()

    def read_entries(
        self, heading: SyntaxTreeNode, content: list[SyntaxTreeNode], must_have_ways: bool
    ) -> Iterator[Misconception]:
        """Read what one heading is about: a misconception, or keys of shared ones."""
        keys, colon, title = _text(heading).partition(": ")
        if colon:
            if not content or content[0].type != "paragraph":
                self.fail(heading, "expected a hint under the title")
            entries = [Misconception(keys, title, _text(content.pop(0)), ())]
        else:
            entries = [self.refer(heading, key) for key in keys.split(", ")]
        if not KEY.fullmatch(entries[0].key):
            self.fail(heading, f"expected 'key: title', got the key {entries[0].key!r}")
        for node in content:
            if node.type != "bullet_list" or node is not content[0]:
                self.fail(node, "this is neither the hint nor the list of changes")
        items = content[0].children if content else []
        for entry in entries:
            entry = self.read_items(entry, items)
            if must_have_ways and not entry.wrong:
                self.fail(heading, f"{entry.key!r} has no change")
            yield entry

    def refer(self, heading: SyntaxTreeNode, key: str) -> Misconception:
        """Find a misconception that tasks share."""
        if key not in self.shared:
            self.fail(
                heading, f"no shared misconception has the key {key!r}; is the title missing?"
            )
        return self.shared[key]

    def read_items(self, entry: Misconception, items: list[SyntaxTreeNode]) -> Misconception:
        """Read the list under a heading: changes, functions, and how the mistake shows."""
        ways: list[Way] = []
        error, fault = entry.error, entry.fault
        for node in items:
            item = _Item(self, node)
            if item.skip("error:"):
                error = self.pattern(node, item.text())
            elif item.skip("fault:"):
                fault = item.text()
            elif item.skip("function"):
                ways.append(self.function(node, item.block()))
            else:
                ways += item.ways(entry.wrong, ways)
            item.must_end()
        return replace(entry, error=error, fault=fault, wrong=tuple(ways) or entry.wrong)

    def pattern(self, node: SyntaxTreeNode, text: str) -> str:
        """Check a regular expression."""
        try:
            re.compile(text)
        except re.error as error:
            self.fail(node, f"not a regular expression: {error}")
        return text

    def function(self, node: SyntaxTreeNode, block: SyntaxTreeNode) -> Callable[..., Any]:
        """Define a function; tracebacks show its lines in the Markdown."""
        assert block.map
        source = "\n" * (block.map[0] + 1) + block.content
        space = {**ALWAYS_THERE, **self.space}
        before = set(space)
        try:
            exec(compile(source, str(self.file), "exec"), space)
        except SyntaxError as error:
            self.fail(node, f"not Python: {error}")
        new = [value for name, value in space.items() if name not in before and callable(value)]
        if not new:
            self.fail(node, "the block defines no function with a new name")
        return new[-1]


class _Item:
    """One list item, read from left to right: words, code, and the blocks under it."""

    def __init__(self, reader: _Reader, node: SyntaxTreeNode) -> None:
        self.reader, self.node = reader, node
        first, *blocks = node.children or [node]
        if first.type != "paragraph" or any(block.type != "fence" for block in blocks):
            self.fail("expected one line of text, then at most fenced blocks")
        self.blocks = blocks
        self.parts: list[tuple[str, str]] = []
        self.old: str | None = None  # the old text of the last change, unless that has a name
        for child in first.children[0].children:
            if child.type == "code_inline":
                self.parts.append(("code", child.content.replace(r"\n", "\n")))
            else:
                self.parts += (("word", word) for word in child.content.split())

    def fail(self, message: str) -> NoReturn:
        """Raise the error for a mistake in this item."""
        self.reader.fail(self.node, message)

    def take(self) -> tuple[str, str]:
        """Return the next word or code, and whether it is "word" or "code"."""
        return self.parts.pop(0) if self.parts else ("end", "the end of the item")

    def skip(self, *words: str) -> bool:
        """Say whether these words come next, and if so, pass over them."""
        found = self.parts[: len(words)] == [("word", word) for word in words]
        if found:
            del self.parts[: len(words)]
        return found

    def must_end(self) -> None:
        """Check that nothing is left."""
        if self.parts:
            self.fail(f"expected 'and' or the end, got {self.parts[0][1]!r}")
        if self.blocks:
            self.fail("a block that the text does not mention; 'block' stands for it")

    def block(self) -> SyntaxTreeNode:
        """Return the next block."""
        if not self.blocks:
            self.fail("expected a fenced block under the item")
        return self.blocks.pop(0)

    def text(self) -> str:
        """Read a piece of code."""
        text = self.text_or_name()
        if not isinstance(text, str):
            self.fail("expected a text, got the name of a change")
        return text

    def text_or_name(self) -> str | Change:
        """Read a piece of code, or what has a name."""
        kind, value = self.take()
        if kind == "code":
            return value
        if (kind, value) == ("word", "block"):
            return self.block().content.removesuffix("\n")
        if kind == "word" and value in self.reader.names:
            return self.reader.names[value]
        if kind == "word" and NAME.fullmatch(value):
            self.fail(f"no text or change above has the name {value}")
        self.fail(f"expected `code`, 'block' or a name, got {value!r}")

    def text_or_changes(self) -> str | Change:
        """Read what a name is defined as."""
        return self.text_or_name() if len(self.parts) == 1 else self.changes()

    def changes(self) -> Change:
        """Read changes that are made one after the other."""
        found = self.change()
        while self.parts[1:2] != [("word", "as")] and self.skip("and"):
            found += self.change()
        return found

    def change(self) -> Change:
        """Read old and new text, the name of changes, or what is to be written out."""
        self.old = None
        if self.skip("write", "out"):
            return self.write_out(self.text())
        start = self.text_or_name()
        if isinstance(start, Change):
            return start
        if not self.skip("->"):
            self.fail("expected '->' between the old text and the new one")
        self.old = start
        return Change(((start, self.new_text(start)),))

    def write_out(self, piece: str) -> Change:
        """Put the code of an answer before another one that calls it, where it can be changed."""
        if not self.skip("before"):
            self.fail("expected 'write out `answer` before `the answer that calls it`'")
        start = f"def {self.text()}("
        if not callable(self.reader.space.get(piece)):
            self.fail(f"there is no answer {piece!r}")
        source = inspect.getsource(self.reader.space[piece])
        return Change(((start, f"{source}\n\n{start}"), (f"reference.{piece}", piece)))

    def new_text(self, old: str) -> str:
        """Read what replaces a text; a block that replaces whole lines ends its last line too."""
        if self.skip("nothing"):
            return ""
        whole_lines = self.parts[:1] == [("word", "block")] and old.endswith("\n")
        return self.text() + ("\n" if whole_lines else "")

    def ways(self, shared: Sequence[Way], above: Sequence[Way]) -> list[Way]:
        """Read ways to make the mistake: changes with several last texts, or those of others."""
        given = {"shared": shared, "above": above}
        first = Change(()) if self.parts[:1] == [("word", "as")] else self.changes()
        if not first.steps or self.skip("and"):
            return self.as_others(given, first)
        found: list[Way] = [first]
        while self.old is not None and self.skip("or"):
            found.append(Change((*first.steps[:-1], (self.old, self.new_text(self.old)))))
        return found

    def as_others(self, given: Mapping[str, Sequence[Way]], before: Change) -> list[Way]:
        """Read "as shared" or "as above", and make changes before and after each of those."""
        self.skip("as")
        which = self.take()[1]
        if which not in given:
            self.fail(f"expected 'as shared' or 'as above', got 'as {which}'")
        after = self.changes() if self.skip("and") else Change(())
        others = [way for way in given[which] if isinstance(way, Change)]
        if not others or len(others) < len(given[which]):
            self.fail(
                f"expected only changes {which}, got {'a function' if given[which] else 'none'}"
            )
        return [before + way + after for way in others]


def _text(node: SyntaxTreeNode) -> str:
    """Return the text of a heading or paragraph, in one line."""
    return " ".join(node.children[0].content.split())
