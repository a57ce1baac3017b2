"""Vocabulary: tokens to ids and back, with the special tokens that sequences need."""

from __future__ import annotations

import operator
import reprlib
from collections import Counter
from collections.abc import Iterable, Sequence

from transformer_ref._validate import require_several

SPECIALS = ("<pad>", "<bos>", "<eos>")
UNK = "<unk>"
SHOWN = 50  # tokens in the message of an error


class Vocabulary:
    """A fixed list of tokens; specials first, so that padding is id 0 in every vocabulary.

    Args:
        tokens: the tokens besides the specials, each once, in the order of their ids.
        specials: further special tokens, ids from 3. With "<unk>" among them, a token that the
            vocabulary lacks is encoded as it; without, such a token is an error.

    Attributes:
        tokens: all tokens; a token's id is its place.
        specials: those of them that stand for no text.
        unk_id: the id of "<unk>", or None.

    Raises:
        ValueError: if a token is no string or empty, comes twice or has the name of a special,
            or `specials` is one string.
    """

    pad_id, bos_id, eos_id = range(len(SPECIALS))

    def __init__(self, tokens: Iterable[str], specials: Iterable[str] = ()) -> None:
        require_several(specials=specials)
        self.specials: tuple[str, ...] = (*SPECIALS, *specials)
        self.tokens: tuple[str, ...] = (*self.specials, *tokens)
        wrong = [token for token in self.tokens if not isinstance(token, str) or not token]
        if wrong:
            raise ValueError(f"tokens must be strings of at least one character, got {wrong[0]!r}")
        self._ids = {token: index for index, token in enumerate(self.tokens)}
        if len(self._ids) != len(self.tokens):
            twice = sorted(token for token, count in Counter(self.tokens).items() if count > 1)
            raise ValueError(
                f"tokens must be distinct and no specials, got twice: {reprlib.repr(twice)}"
            )
        self.unk_id = self._ids[UNK] if UNK in self.specials else None

    def __len__(self) -> int:
        """Size of the vocabulary, specials included: V."""
        return len(self.tokens)

    def encode(self, tokens: Sequence[str], *, bos: bool = False, eos: bool = False) -> list[int]:
        """Turn tokens into ids.

        Args:
            tokens: tokens of this vocabulary; a string counts as its characters.
            bos: put the begin token before them.
            eos: put the end token after them.

        Returns:
            A list of ids.

        Raises:
            ValueError: naming the first token that is not in a vocabulary without "<unk>".
        """
        unknown = [token for token in tokens if token not in self._ids]
        if unknown and self.unk_id is None:
            known = self.tokens[len(self.specials) :]
            raise ValueError(
                f"token {unknown[0]!r} is not in the vocabulary of {len(self)}: "
                f"{' '.join(known[:SHOWN])}{' ...' if len(known) > SHOWN else ''}"
            )
        ids = [self._ids[token if token in self._ids else UNK] for token in tokens]
        return [self.bos_id] * bos + ids + [self.eos_id] * eos

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Turn ids back into tokens: what stands before the first end token, without specials.

        Args:
            ids: integers, a list or a 1-D tensor.

        Returns:
            A list of tokens. "<unk>" stays: it says that there was something.

        Raises:
            ValueError: if an id is no integer or outside the vocabulary.
        """
        tokens: list[str] = []
        for token_id in map(_as_integer, ids):
            if not 0 <= token_id < len(self):
                raise ValueError(f"ids must lie in 0..{len(self) - 1}, got {token_id}")
            if token_id == self.eos_id:
                break
            if token_id >= len(self.specials) or token_id == self.unk_id:
                tokens.append(self.tokens[token_id])
        return tokens


def _as_integer(token_id: object) -> int:
    try:
        return operator.index(token_id)  # type: ignore[arg-type]
    except TypeError as error:
        raise ValueError(f"ids must be a row of integers, got {token_id!r} in it") from error
