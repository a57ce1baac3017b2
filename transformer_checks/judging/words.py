"""Write the sentences that students read, out of what was found out about an answer.

The sentences are in words.toml beside this file. Nothing reads facts out of them, so that they can
be reworded, and translated: whoever looks one up gets it in the language of the environment.
"""

from __future__ import annotations

import re
import string
import tomllib
from pathlib import Path
from typing import Any

from transformer_checks.judging.facts import Fault, Term
from transformer_checks.running import wire_format
from transformer_checks.running.asking import described
from transformer_checks.running.comparing import difference
from transformer_checks.translation import say, translate

# Chinese sentences have a space beside Latin letters and code, which may stand in for a value or
# not: where the value is Chinese, too, there is none.
_TOO_WIDE = re.compile(r"(?<=[\u3400-\u9fff]) (?=[\u3400-\u9fff])")


class Words(dict[str, str]):
    """Sentences by key."""

    def __getitem__(self, key: str) -> str:
        """Return a sentence in the language of the environment; the values are in English."""
        return translate(super().__getitem__(key))


_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
MESSAGES, FAULTS, TERMS, BETWEEN = (
    Words(_WORDS[part]) for part in ("messages", "faults", "terms", "between")
)
PARTS_OF_CASES = tuple(_WORDS["cases"]["parts"])


def in_words(part: Any) -> str:
    """Write a term, or what is in one: a name, a number, or a formula.

    Args:
        part: the term.

    Returns:
        a sentence without the full stop, or a part of one.
    """
    if isinstance(part, tuple):
        return "".join(map(in_words, part))
    if not isinstance(part, Term):
        return str(part)
    return _TOO_WIDE.sub("", _WRITER.format(TERMS[part.key], **dict(part.parameters)))


class _Writer(string.Formatter):
    """Fills the parameters of a term into its words."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "type":
            return described(value)
        if format_spec:
            return BETWEEN[format_spec].join(map(in_words, value))
        return in_words(value)


_WRITER = _Writer()


def fault_in_words(fault: Fault | None) -> str:
    """Write a fault.

    Args:
        fault: the fault, or None.

    Returns:
        a sentence or more without the last full stop; "" for None.
    """
    if fault is None:
        return ""
    text = _told(fault) if fault.kind == "told" else translate(fault.text)
    return FAULTS[fault.kind].format(
        **{**vars(fault), "text": text, "inside": fault_in_words(fault.inside)},
        place="" if isinstance(fault.name, tuple) else place_in_words(fault.name),
        names=names_in_words(fault),
        both=names_in_words(fault, BETWEEN["and"]),
        what=described(str(fault.received), fault.size),
        values=_values(fault) if fault.kind in ("values", "left", "gradient") else "",
    )


def _told(fault: Fault) -> str:
    """Fill in what a task says in its own words, without format(): an answer may have sent it."""
    values = {**vars(fault), "what": described(str(fault.received), fault.size)}
    sentence = re.sub(
        r"\{(name|expected|received|what)\}",
        lambda place: str(values[place[1]]),
        translate(fault.text),
    )
    return _TOO_WIDE.sub("", sentence)


def case_in_words(name: str) -> str:
    """Write the name of a case, such as "[1] x (2, 3), gradients"."""
    parts = name.split(", ")
    return ", ".join(translate(part) if part in PARTS_OF_CASES else part for part in parts)


def what_in_words(fault: Fault) -> str:
    """Write what was received where something of another type should be, such as "a list"."""
    return described(str(fault.received))


def names_in_words(fault: Fault, between: str = ", ") -> str:
    """Write the names that a fault is about."""
    names = fault.name if isinstance(fault.name, tuple) else ()
    return between.join(f"`{name}`" for name in names)


def place_in_words(name: str) -> str:
    """Write a name with brackets as a student does, such as "`tokens[2]`"."""
    before, key, _ = name.partition(wire_format.KEY)
    return say("a key of `{name}`", name=before) if key else f"`{name}`"


def _values(fault: Fault) -> str:
    """Write where two results differ."""
    return difference(str(fault.name), fault.received, fault.expected, fault.tolerance)
