"""Metrics: how far a pronunciation is from a listed one, and a translation from its reference."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # where it is used it is imported: it comes with an extra
    from sacrebleu.metrics.base import Metric

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


def _require_same_length(hypotheses: Sequence[object], references: Sequence[object]) -> None:
    if len(hypotheses) != len(references) or not hypotheses:
        raise ValueError(
            "hypotheses and references must have the same length, at least 1, "
            f"got {len(hypotheses)} and {len(references)}"
        )


def _require_pairs(hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> None:
    _require_same_length(hypotheses, references)
    for index, hypothesis in enumerate(hypotheses):
        if isinstance(hypothesis, str):
            raise ValueError(f"hypotheses[{index}] must be a list of tokens, got {hypothesis!r}")
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


@dataclass(frozen=True)
class CorpusScore:
    """A score of a whole corpus, with all that is needed to compute it again.

    Attributes:
        name: "BLEU" or "chrF2".
        score: 0 to 100, as is the custom for both.
        signature: sacrebleu's: case, tokeniser, smoothing, version.
    """

    name: str
    score: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} {self.score:.2f} ({self.signature})"


def corpus_bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> CorpusScore:
    """BLEU of a corpus of translations, by sacrebleu.

    Args:
        hypotheses: whole sentences, as a reader would see them.
        references: one sentence for each.
        lowercase: compare without regard to case.
        tokenize: sacrebleu's name of a tokeniser: "13a", "intl", "char", "none" ...

    Returns:
        The score with its signature.

    Raises:
        ValueError: if the lengths differ, are 0, an item is not a string, or sacrebleu
            does not know the tokeniser.

    Source: Papineni et al. 2002; Post 2018 for the signature.
    """
    from sacrebleu.metrics.bleu import BLEU

    if tokenize not in BLEU.TOKENIZERS:
        raise ValueError(f"tokenize must be one of {sorted(BLEU.TOKENIZERS)}, got {tokenize!r}")
    return _corpus_score(BLEU(lowercase=lowercase, tokenize=tokenize), hypotheses, references)


def corpus_chrf(
    hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False
) -> CorpusScore:
    """F-score of the character n-grams of a corpus of translations, by sacrebleu.

    Args:
        hypotheses: whole sentences.
        references: one sentence for each.
        lowercase: compare without regard to case.

    Returns:
        The score with its signature; n-grams up to 6, recall counts twice (chrF2).

    Raises:
        ValueError: if the lengths differ, are 0, or an item is not a string.

    Source: Popovic 2015.
    """
    from sacrebleu.metrics.chrf import CHRF

    return _corpus_score(CHRF(lowercase=lowercase), hypotheses, references)


def _corpus_score(
    metric: Metric, hypotheses: Sequence[str], references: Sequence[str]
) -> CorpusScore:
    _require_sentences(hypotheses, references)
    result = metric.corpus_score(hypotheses, [references])
    return CorpusScore(result.name, result.score, str(metric.get_signature()))


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Share of answers that are the reference, character by character.

    Args:
        hypotheses: answers.
        references: the right answer to each.

    Returns:
        A fraction in [0, 1].

    Raises:
        ValueError: if the lengths differ, are 0, or an item is not a string.
    """
    _require_sentences(hypotheses, references)
    return sum(map(operator.eq, hypotheses, references)) / len(references)


def _require_sentences(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    _require_same_length(hypotheses, references)
    for name, sentences in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(sentences, str):
            raise ValueError(f"{name} must be a list of strings, got one string")
        for index, sentence in enumerate(sentences):
            if not isinstance(sentence, str):
                raise ValueError(f"{name}[{index}] must be a string, got {sentence!r}")
