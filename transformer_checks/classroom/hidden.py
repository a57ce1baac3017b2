"""Takes the place of `answers.py` where a student's code runs: the answers are not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn


def __getattr__(name: str) -> Callable[..., NoReturn]:
    """Give a stand-in for any answer: the tasks refer to it, and only a student would call it."""

    def hidden(*_: object, **__: object) -> NoReturn:
        raise RuntimeError(f"the course's own {name} is not here when work is graded")

    return hidden
