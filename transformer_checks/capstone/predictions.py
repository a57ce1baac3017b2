"""A file of predicted pronunciations: read it, name all that is wrong with it, write it.

The packaging may be anybody's: rows in any order, CRLF, a byte order mark, quotes, spaces around a
field, lines without text. The content is exact: the words that were asked, each once, and the
phonemes as the package names them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import get_args

from transformer_checks.capstone.reading import HandedInError, Problem, read_text, short
from transformer_ref.data import PHONEMES, Split, load_cmudict
from transformer_ref.files import write_text

HEADER = ("word", "phones")
MAX_BYTES = 5_000_000
TOO_LARGE = "the test words take about 300,000. Are the training words in it?"
TABLES = (".csv", ".txt", ".tsv")  # what a table may be called by mistake
MAX_PHONES = 100

_PHONEMES = frozenset(PHONEMES)


@dataclass
class _Reader:
    """Reads the rows of a file and keeps what is wrong with them.

    Attributes:
        asked: the words that may come, each once; None takes any word, more than once.
        rows: the pronunciations of each word that came, whether or not they are well-formed.
        problems: what is wrong, by line.
    """

    asked: Collection[str] | None
    rows: dict[str, list[list[str]]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def read(self, lines: Iterable[tuple[int, str]]) -> None:
        for number, line in lines:
            fields = _fields(line)
            if fields is None or len(fields) != len(HEADER):
                self._note("malformed lines", _why_malformed(line, fields), number)
                self._keep(fields[0] if fields else "", [], number)
                continue
            word, phones = fields[0], fields[1].split()
            self._check_word(word, number)
            for kind, message in _wrong_phones(word, phones):
                self._note(kind, message, number)
            self._keep(word, phones, number)

    def look_for_missing_words(self) -> None:
        missing = [word for word in self.asked or () if word not in self.rows]
        for number, word in enumerate(missing):
            more = f" (the first of {len(missing):,} missing)" if not number and missing[1:] else ""
            self._note("missing words", f"no line for the word {word!r}{more}", None)

    def _keep(self, word: str, phones: list[str], number: int) -> None:
        self.rows.setdefault(word, []).append(phones)
        self.places.setdefault(word, number)

    def _check_word(self, word: str, number: int) -> None:
        if not word:
            self._note("lines without a word", "nothing stands before the comma", number)
        elif self.asked is not None and word not in self.asked:
            message = f"{short(word)} is none of the {len(self.asked):,} words asked for"
            self._note("words not asked for", message + _why_not_asked(word, self.asked), number)
        elif self.asked is not None and word in self.places:
            message = f"{word!r} stands already in line {self.places[word]}; expected once"
            self._note("words that come twice", message, number)

    def _note(self, kind: str, message: str, number: int | None) -> None:
        self.problems.append(Problem(kind, message, number))


def read_predictions(path: str | Path, words: Collection[str]) -> dict[str, list[str]]:
    """Read one pronunciation for each word.

    Args:
        path: a text file in UTF-8 whose first line is ``word,phones``. Each other line holds a
            word, a comma, and its phonemes with spaces between.
        words: those that are asked for; each must come once, in any order.

    Returns:
        The phonemes of each word, in the order of `words`.

    Raises:
        HandedInError: naming all that is wrong, with lines: also if there is no file.
    """
    asked = dict.fromkeys(words)
    rows = _read_rows(Path(path), asked)
    return {word: rows[word][0] for word in asked}


def read_gold(path: str | Path) -> list[tuple[str, list[list[str]]]]:
    """Read words with their right pronunciations, to score other words than the dictionary's.

    Args:
        path: a file as of :func:`read_predictions`; a word with several pronunciations has
            several lines.

    Returns:
        The words, in the order in which they come first, each with its pronunciations.

    Raises:
        HandedInError: as :func:`read_predictions`, or if there is no word.
    """
    rows = _read_rows(Path(path), None)
    if not rows:
        raise HandedInError(Path(path).name, [Problem("empty files", "it holds no word")])
    return list(rows.items())


def write_predictions(path: str | Path, predictions: Mapping[str, Sequence[str]]) -> None:
    """Write one pronunciation for each word, whole or not at all.

    Args:
        path: the file; its folder must exist.
        predictions: the phonemes of each word.

    Raises:
        ValueError: if a word has no phonemes or an unknown one; the message names both.
        OSError: if the file cannot be written; what was there before stays.
    """
    for word, phones in predictions.items():
        for _, message in _wrong_phones(word, phones):
            raise ValueError(f"predictions: {message}")
    rows = [",".join(HEADER), *(f"{word},{' '.join(p)}" for word, p in predictions.items())]
    write_text(Path(path), "\n".join(rows) + "\n")


def _read_rows(path: Path, asked: Collection[str] | None) -> dict[str, list[list[str]]]:
    numbered = enumerate(
        re.split(r"\r\n|\n|\r", read_text(path, MAX_BYTES, TOO_LARGE, TABLES)), start=1
    )
    lines = [(number, line) for number, line in numbered if line.strip()]
    if not lines:
        raise HandedInError(path.name, [Problem("empty files", "it holds no text")])
    header = _fields(lines[0][1])
    reader = _Reader(asked)
    if header != list(HEADER):
        message, is_fatal = _why_no_header(lines[0][1], header, asked or ())
        reader.problems.append(Problem("wrong headers", message, lines[0][0]))
        if is_fatal:  # every line after it would be wrong for the same reason
            raise HandedInError(path.name, reader.problems)
    looks_like_a_word = header is not None and header[0] in (asked or ())
    reader.read(lines if looks_like_a_word else lines[1:])
    reader.look_for_missing_words()
    if reader.problems:
        raise HandedInError(path.name, reader.problems)
    return reader.rows


def _fields(line: str) -> list[str] | None:
    """Cut a line into its fields, without quotes and spaces; None where a quote stays open.

    Each line by itself: an open quote would swallow the rest of the file.
    """
    try:
        (fields,) = csv.reader([line], strict=True, skipinitialspace=True)
    except (csv.Error, ValueError):
        return None
    return [each.strip() for each in fields]


def _why_no_header(line: str, header: list[str] | None, asked: Collection[str]) -> tuple[str, bool]:
    """Say what is wrong with the first line, and whether that is so of all lines."""
    expected = f"expected {','.join(HEADER)!r}"
    received = f"the header is {short(line)}, {expected}"
    names = header or []
    lowered = [name.lower() for name in names]
    if len(names) == 1 and (separator := _other_separator(line)):
        return f"{received}: the fields are separated by {separator}, not by a comma", True
    if lowered == list(reversed(HEADER)):
        return f"{received}: the columns are in the other order", True
    if names and not names[0] and lowered[1:] == list(HEADER):
        return f"{received}: a column of row numbers comes first; pandas: to_csv(index=False)", True
    if lowered == list(HEADER):
        return f"{received}: in lower case", False
    if names and names[0] in asked:
        return f"there is no header: line 1 is {short(line)}, {expected}", False
    return received, len(names) != len(HEADER)


def _other_separator(line: str) -> str:
    found = {";": "semicolons", "\t": "tabs", "|": "bars"}
    return next((name for separator, name in found.items() if separator in line), "")


def _why_malformed(line: str, fields: list[str] | None) -> str:
    received = f"received {short(line)}"
    if fields is None:
        return f"{received}: a quotation mark is opened and not closed, or stands inside a field"
    if len(fields) == 1:
        separator = _other_separator(line)
        remedy = f"; the separator is a comma, not {separator}" if separator else ""
        return f"{received}: no comma, expected word,phones{remedy}"
    return (
        f"{received}: {len(fields)} fields, expected word,phones; "
        "between phones stands a space, not a comma"
    )


def _why_not_asked(word: str, asked: Collection[str]) -> str:
    plain = word.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if plain in asked:
        return f"; expected {plain!r}"
    found = [split for split in get_args(Split) if word in _words(split)]
    return f"; it is of the split {found[0]!r}" if found else ""


@cache
def _words(split: Split) -> frozenset[str]:
    return frozenset(word for word, _ in load_cmudict(split))


def _wrong_phones(word: str, phones: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the kind and the message of what is wrong with a pronunciation."""
    place = f"the pronunciation of {short(word)}"
    if not phones:
        message = f"{place} is empty; expected at least one phone: a guess costs no more"
        yield "empty pronunciations", message
    if len(phones) > MAX_PHONES:
        yield (
            "pronunciations too long",
            f"{place} has {len(phones):,} phones, expected at most {MAX_PHONES}",
        )
    unknown = [phone for phone in phones if phone not in _PHONEMES]
    if unknown:
        first, others = unknown[0], len(set(unknown)) - 1
        more = f" and {others} more" if others else ""
        yield (
            "unknown phones",
            f"unknown phone {short(first)}{more} in {place}; expected {_expected(first)}",
        )


def _expected(phone: str) -> str:
    if (bare := phone.rstrip("012")) in _PHONEMES:
        return f"{bare!r}, without the digit of the stress"
    if phone.upper().rstrip("012") in _PHONEMES:
        return f"{phone.upper().rstrip('012')!r}, in upper case"
    return f"one of the {len(PHONEMES)} of transformer_ref.data.PHONEMES"
