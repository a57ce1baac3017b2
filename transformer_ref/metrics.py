"""Metrics: how far a pronunciation is from one that the dictionary lists."""

from __future__ import annotations

from collections.abc import Sequence

Tokens = Sequence[str]


def edit_distance(hypothesis: Tokens, reference: Tokens) -> int:
    """Count the insertions, deletions and substitutions that turn one sequence into the other.

    Args:
        hypothesis: tokens.
        reference: tokens.

    Returns:
        The smallest number of edits, each costing 1.

    Source: Levenshtein 1966; Wagner and Fischer 1974 for the table.
    """
    row = list(range(len(reference) + 1))
    for i, token in enumerate(hypothesis, start=1):
        diagonal, row[0] = row[0], i
        for j, wanted in enumerate(reference, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (token != wanted))
    return row[-1]


def _require_pairs(hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> None:
    if len(hypotheses) != len(references) or not hypotheses:
        raise ValueError(
            "hypotheses and references must have the same length, at least 1, "
            f"got {len(hypotheses)} and {len(references)}"
        )
    for index, variants in enumerate(references):
        if isinstance(variants, str) or not variants or any(isinstance(v, str) for v in variants):
            raise ValueError(
                f"references[{index}] must be a list of variants, each a list of tokens, "
                f"got {variants!r}"
            )


def phoneme_error_rate(
    hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]
) -> float:
    """Edits to the nearest listed variant, over the length of those variants (PER).

    Args:
        hypotheses: one sequence of phonemes for each word.
        references: for each word its listed variants.

    Returns:
        A fraction, 0 when every hypothesis is a listed variant; above 1 is possible.

    Raises:
        ValueError: if the lengths differ, are 0, or a word has no list of variants.
    """
    _require_pairs(hypotheses, references)
    edits = length = 0
    for hypothesis, variants in zip(hypotheses, references, strict=True):
        # Of variants equally near, the longest: its rate is the lowest.
        distance, negative_length = min((edit_distance(hypothesis, v), -len(v)) for v in variants)
        edits += distance
        length -= negative_length
    if length == 0:
        raise ValueError("references must hold at least one phoneme, got only empty variants")
    return edits / length


def word_error_rate(hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> float:
    """Share of words whose pronunciation is none of the listed variants (WER).

    Args:
        hypotheses: one sequence of phonemes for each word.
        references: for each word its listed variants.

    Returns:
        A fraction in [0, 1].

    Raises:
        ValueError: if the lengths differ, are 0, or a word has no list of variants.
    """
    _require_pairs(hypotheses, references)
    wrong = sum(
        all(list(hypothesis) != list(variant) for variant in variants)
        for hypothesis, variants in zip(hypotheses, references, strict=True)
    )
    return wrong / len(hypotheses)
