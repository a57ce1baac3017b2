"""Say what students read in another language, from the catalogs in locale/.

`make catalogs` brings the catalogs up to date with the English sentences, which are the keys.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

LOCALE = Path(__file__).parent / "locale"
# The name of a folder in there, such as zh_CN; without it, or without the folder, it is English.
LANGUAGE_VARIABLE = "TRANSFORMER_REF_LANGUAGE"


def languages() -> list[str]:
    """List the languages that have catalogs, besides English."""
    return sorted(path.parent.name for path in LOCALE.glob("*/LC_MESSAGES"))


def language() -> str:
    """Return the language of the environment, "" for English."""
    return os.environ.get(LANGUAGE_VARIABLE, "")


def translate(message: str) -> str:
    """Return a message in the language of the environment.

    Args:
        message: an English sentence, or a part of one that has places for values.

    Returns:
        its translation; the message itself where there is none, or its English has changed since.
    """
    return _translations(language()).get(message, message) if language() else message


def later(message: str) -> str:
    """Mark a message that is translated only where it is said, as one in a constant."""
    return message


def say(message: str, **values: Any) -> str:
    """Translate a message, and put values in its places.

    Args:
        message: as for :func:`translate`, in the notation of :meth:`str.format`.
        values: by the names of the places.

    Returns:
        the sentence.
    """
    return translate(message).format(**values)


@cache
def _translations(name: str) -> Mapping[str, str]:
    """Read all catalogs of a language."""
    found: dict[str, str] = {}
    for path in sorted((LOCALE / name / "LC_MESSAGES").glob("*.po")):
        found.update(read_catalog(path))
    return found


def read_catalog(path: Path) -> dict[str, str]:
    """Return what a catalog translates, without what is fuzzy: its English has changed since."""
    from babel.messages.pofile import read_po

    with path.open("rb") as file:
        catalog = read_po(file)
    return {
        str(each.id): str(each.string)
        for each in catalog
        if each.id and each.string and not each.fuzzy
    }
