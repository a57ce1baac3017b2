"""Wrong answers that people wrote from the exercises' text alone, before a look at the lists.

Only those are kept that behave, in some case, like no listed change: of the others, the tests of
the misconceptions say the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Unseen:
    """A wrong answer.

    Attributes:
        task: such as "gpt.lm_batch".
        what: what is wrong with it, in a line.
        key: of the misconception that says so, "" where none does, None where any may.
        answer: the function or class.
        relation: key of what is said of its results where it has no name, "" where nothing is.
    """

    task: str
    what: str
    key: str | None
    answer: Callable[..., Any]
    relation: str = ""


def into(bank: list[Unseen]) -> Callable[..., Callable[[Any], Any]]:
    """Return a decorator with which wrong answers are put into a bank."""

    def wrong(
        task: str, what: str, key: str | None = "", *, relation: str = ""
    ) -> Callable[[Any], Any]:
        """Put the function or class below into the bank."""

        def keep(answer: Any) -> Any:
            bank.append(Unseen(task, what, key, answer, relation))
            return answer

        return keep

    return wrong


BANK: list[Unseen] = []
wrong = into(BANK)
