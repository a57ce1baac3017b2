"""Toys: tasks with one right answer and as many examples as one likes, learned in a minute."""

from __future__ import annotations

import datetime
import hashlib
import random
import string
from collections.abc import Callable

from transformer_ref._validate import require_at_least_one
from transformer_ref.data import Pair, Split

# Locales of several scripts and orders. The short format is left out: 3/4/87 is two dates.
LOCALES = (  # noqa: SIM905 (a literal would take 20 lines)
    "en_US en_GB de fr es it pt nl sv da fi pl cs hu tr el ru ja zh ko vi id"
).split()
FORMATS = ("medium", "long", "full")
FIRST_DAY, LAST_DAY = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)


def reversal_pairs(split: Split, count: int, *, seed: int = 0, max_length: int = 12) -> list[Pair]:
    """Draw strings with the same strings reversed.

    Args:
        split: "train", "dev" or "test"; no string is in two of them.
        count: pairs; a short string may come twice.
        seed: the same seed gives the same pairs.
        max_length: strings have 1 to so many lower-case letters, all lengths equally often.

    Returns:
        A list of (string, reversed string).

    Raises:
        ValueError: on another `split`, or a count or length below 1.
    """
    require_at_least_one(max_length=max_length)

    def draw(source: random.Random) -> tuple[str, Pair]:
        text = "".join(source.choices(string.ascii_lowercase, k=source.randint(1, max_length)))
        return text, (text, text[::-1])

    return _draw_pairs(draw, split, count, seed)


def date_pairs(split: Split, count: int, *, seed: int = 0) -> list[Pair]:
    """Draw dates as people of many languages write them, with the same dates in ISO 8601.

    Args:
        split: "train", "dev" or "test"; no day is in two of them, however it is written.
        count: pairs; from the years 1900 to 2099.
        seed: the same seed gives the same pairs.

    Returns:
        A list such as ``("4 de marzo de 1987", "1987-03-04")``.

    Raises:
        ValueError: on another `split`, or a count below 1.

    Source: the formats are those of the Unicode CLDR, as babel has them.
    """
    from babel.dates import format_date  # comes with an extra

    def draw(source: random.Random) -> tuple[str, Pair]:
        day = FIRST_DAY + datetime.timedelta(days=source.randint(0, (LAST_DAY - FIRST_DAY).days))
        style, locale = source.choice(FORMATS), source.choice(LOCALES)
        return day.isoformat(), (format_date(day, style, locale), day.isoformat())

    return _draw_pairs(draw, split, count, seed)


def _draw_pairs(
    draw: Callable[[random.Random], tuple[str, Pair]], split: Split, count: int, seed: int
) -> list[Pair]:
    """Draw (key, pair) until `count` pairs have a key of this split."""
    if split not in ("train", "dev", "test"):
        raise ValueError(f'split must be "train", "dev" or "test", got {split!r}')
    require_at_least_one(count=count)
    source = random.Random(f"{split} {seed}")
    pairs: list[Pair] = []
    while len(pairs) < count:
        key, pair = draw(source)
        if _split_of(key) == split:
            pairs.append(pair)
    return pairs


def _split_of(key: str) -> Split:
    """Ten percent dev, ten percent test, by a hash: the same for every seed."""
    bucket = hashlib.md5(key.encode(), usedforsecurity=False).digest()[0]
    return "dev" if bucket < 26 else "test" if bucket < 52 else "train"
