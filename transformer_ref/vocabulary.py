"""Vocabulary: tokens to ids and back, with the special tokens that sequences need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SPECIALS = ("<pad>", "<bos>", "<eos>")


class Vocabulary:
    """A fixed list of tokens; specials first, so that padding is id 0 in every vocabulary.

    Args:
        tokens: the tokens besides the specials, each once, in the order of their ids.

    Raises:
        ValueError: if a token comes twice or has the name of a special.
    """

    pad_id, bos_id, eos_id = range(len(SPECIALS))

    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens: tuple[str, ...] = (*SPECIALS, *tokens)
        self._ids = {token: index for index, token in enumerate(self.tokens)}
        if len(self._ids) != len(self.tokens):
            twice = sorted({token for token in self.tokens if self.tokens.count(token) > 1})
            raise ValueError(f"tokens must be distinct and no specials, got twice: {twice}")

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
            ValueError: naming the first token that is not in the vocabulary.
        """
        unknown = next((token for token in tokens if token not in self._ids), None)
        if unknown is not None:
            raise ValueError(
                f"token {unknown!r} is not in the vocabulary of {len(self)}: "
                f"{' '.join(self.tokens[len(SPECIALS) :])}"
            )
        ids = [self._ids[token] for token in tokens]
        return [self.bos_id] * bos + ids + [self.eos_id] * eos

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Turn ids back into tokens: what stands before the first end token, without specials.

        Args:
            ids: integers, a list or a 1-D tensor.

        Returns:
            A list of tokens.

        Raises:
            ValueError: if an id is outside the vocabulary.
        """
        tokens: list[str] = []
        for token_id in map(int, ids):
            if not 0 <= token_id < len(self):
                raise ValueError(f"ids must lie in 0..{len(self) - 1}, got {token_id}")
            if token_id == self.eos_id:
                break
            if token_id >= len(SPECIALS):
                tokens.append(self.tokens[token_id])
        return tokens
