"""A mistake as a change to the right answer: old text, new text.

The wrong implementation is made from the answer's source when a diagnosis first asks for it.
"""

from __future__ import annotations

import inspect
import linecache
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

# What every notebook has imported; a change may use it where the answer itself does not.
ALWAYS_THERE = {"F": F, "math": math, "nn": nn, "torch": torch}


class ChangeError(ValueError):
    """A change does not fit the answer that it is to change."""


@dataclass(frozen=True)
class Change:
    """One or several replacements in the source of an answer, made one after the other.

    Attributes:
        steps: pairs of old and new text. An old text must stand exactly once in the source, as the
            steps before have left it.
    """

    steps: tuple[tuple[str, str], ...]

    def __add__(self, other: Change) -> Change:
        """Return the change that makes this one first and then the other."""
        return Change(self.steps + other.steps)


def change(old: str, new: str) -> Change:
    """Describe a mistake as a change to the right answer.

    Args:
        old: what stands exactly once in its source.
        new: what a wrong answer has there.

    Returns:
        the change; two that belong together are added with ``+``.
    """
    return Change(((old, new),))


@cache
def changed(answer: Callable[..., Any], difference: Change) -> Callable[..., Any]:
    """Make a wrong answer from the right one.

    Args:
        answer: a function or class at the top of a module.
        difference: what the wrong one has in other words.

    Returns:
        the function or class of the same name, which sees what the answer's module has.

    Raises:
        ChangeError: if an old text does not stand exactly once, or what comes out is no Python.
    """
    name, module = answer.__name__, answer.__module__
    source = changed_source(inspect.getsource(answer), difference)
    # Under a name of its own, and with its lines known, so that tracebacks and inspect show them.
    file = f"<{module}.{name}, changed: {abs(hash(difference)):x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = ALWAYS_THERE | vars(sys.modules[module])
    try:
        # What this module takes from __future__ holds for the source too, as in the answers.
        exec(compile(source, file, "exec"), space)
    except SyntaxError as error:
        raise ChangeError(f"what comes out is no Python: {error}\n{source}") from error
    wrong: Callable[..., Any] = space[name]
    return wrong


def changed_source(source: str, difference: Change) -> str:
    """Make the replacements.

    Args:
        source: of an answer.
        difference: the replacements.

    Returns:
        the source with them.

    Raises:
        ChangeError: if an old text does not stand exactly once.
    """
    for old, new in difference.steps:
        if source.count(old) != 1:
            raise ChangeError(
                f"expected the old text to stand once in the answer, it stands there "
                f"{source.count(old)} times: {old!r}\n{source}"
            )
        source = source.replace(old, new)
    return source
