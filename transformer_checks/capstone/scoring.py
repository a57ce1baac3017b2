"""Points for pronunciations, by their phoneme error rate, and what is printed about them.

Nothing of a student is run: what a file holds is compared with the dictionary, and gets its points
by ``STEPS``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from transformer_ref.data import Entry
from transformer_ref.metrics import edit_distance

FILE = "predictions.csv"
POINTS = 16


@dataclass(frozen=True)
class Step:
    """What a phoneme error rate is worth.

    Attributes:
        permille: the highest rate that reaches it, in thousandths, so that it is exact.
        points: of ``POINTS``.
    """

    permille: int
    points: int

    @property
    def percent(self) -> str:
        """The highest rate for people, without the sign."""
        return f"{self.permille / 10:g}"

    def wrong_phones(self, length: int) -> int:
        """Return how many phonemes of `length` may be wrong."""
        return self.permille * length // 1000


# The one place where they stand; tests compare the tables in the exercise and the guide with it.
STEPS = (Step(300, 3), Step(200, 5), Step(140, 7), Step(100, 9), Step(80, 13), Step(65, 16))
# No published model comes near it, on whatever split.
TOO_GOOD = Step(40, POINTS)

NOTHING = "-"
_LENGTHS = ((1, 4), (5, 6), (7, 8), (9, 10), (11, 99))
_SHOWN = 10
_SHOWN_PHONES = 20


@dataclass(frozen=True)
class Answer:
    """One scored word.

    Attributes:
        word: the word.
        said: the predicted phonemes.
        wanted: the listed pronunciation that is nearest to them.
        edits: how far the two are apart.
    """

    word: str
    said: tuple[str, ...]
    wanted: tuple[str, ...]
    edits: int


@dataclass(frozen=True)
class Score:
    """Predictions compared with the listed pronunciations.

    Attributes:
        answers: word by word.
    """

    answers: tuple[Answer, ...]

    @property
    def edits(self) -> int:
        """How many phonemes of all words are wrong, be they left out, put in or another."""
        return sum(answer.edits for answer in self.answers)

    @property
    def length(self) -> int:
        """Phonemes over all words, of the nearest pronunciations."""
        return sum(len(answer.wanted) for answer in self.answers)

    @property
    def per(self) -> float:
        """The phoneme error rate, as :func:`transformer_ref.metrics.phoneme_error_rate` has it."""
        return self.edits / self.length

    @property
    def wer(self) -> float:
        """The share of words with an error, as in :mod:`transformer_ref.metrics`."""
        return sum(answer.edits > 0 for answer in self.answers) / len(self.answers)

    @property
    def points(self) -> int:
        """The points of the best step that is reached, or 0."""
        return max((step.points for step in STEPS if self.reaches(step)), default=0)

    @property
    def next_step(self) -> Step | None:
        """The nearest step that is not reached."""
        return next((step for step in STEPS if not self.reaches(step)), None)

    def reaches(self, step: Step) -> bool:
        """Say whether the rate, not rounded, is low enough for a step."""
        return self.edits <= step.wrong_phones(self.length)


def score_predictions(predictions: Mapping[str, Sequence[str]], gold: Sequence[Entry]) -> Score:
    """Compare pronunciations with the listed ones.

    Args:
        predictions: the phonemes of each word.
        gold: words with their listed pronunciations.

    Returns:
        The score; of equally near pronunciations the longest counts.

    Raises:
        ValueError: if `gold` is empty, or a word of it has no prediction.
    """
    if not gold:
        raise ValueError("gold must hold at least one word, got none")
    if missing := [word for word, _ in gold if word not in predictions]:
        raise ValueError(
            f"predictions must hold every word of gold, {len(missing)} are missing: {missing[0]!r}"
        )
    return Score(tuple(_compare(word, predictions[word], variants) for word, variants in gold))


def _compare(word: str, said: Sequence[str], variants: Sequence[Sequence[str]]) -> Answer:
    edits, _, wanted = min(
        (edit_distance(said, variant), -len(variant), tuple(variant)) for variant in variants
    )
    return Answer(word, tuple(said), wanted, edits)


# --- what is printed --------------------------------------------------------------------------


def report(score: Score) -> str:
    """Say how good predictions are, and where they are wrong.

    Args:
        score: of :func:`score_predictions`.

    Returns:
        several lines.
    """
    parts = [
        f"{len(score.answers):,} words: PER {score.per:.2%}, WER {score.wer:.2%}",
        _by_length(score),
    ]
    if score.edits:
        parts += [_confusions(score), _worst_words(score)]
    return "\n\n".join(parts)


def next_step(score: Score) -> str:
    """Say how far the next step is.

    Args:
        score: of :func:`score_predictions`.

    Returns:
        one line; "" where there is no further step.
    """
    if score.reaches(TOO_GOOD):
        return "That is better than any published model: were the answers looked up?"
    if (step := score.next_step) is None:
        return ""
    too_many = score.edits - step.wrong_phones(score.length)
    return (
        f"{step.points} points are for a PER of {step.percent}% or less: "
        f"{too_many:,} wrong phones fewer than your {score.edits:,}."
    )


def _by_length(score: Score) -> str:
    lines = ["letters  words     PER     WER"]
    for shortest, longest in _LENGTHS:
        part = [a for a in score.answers if shortest <= len(a.word) <= longest]
        if part:
            of_length = Score(tuple(part))
            name = f"{shortest} to {longest}" if longest < _LENGTHS[-1][1] else f"{shortest} up"
            lines.append(f"{name:<7}{len(part):>7,}{of_length.per:>8.1%}{of_length.wer:>8.1%}")
    return "\n".join(lines)


def _confusions(score: Score) -> str:
    counts = Counter(
        (wanted, said)
        for answer in score.answers
        if answer.edits
        for wanted, said in align(answer.wanted, answer.said)
        if wanted != said
    )
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN]
    lines = [f"{wanted:<3}-> {said:<3}{count:>6,}" for (wanted, said), count in shown]
    return "\n".join([f"Most frequent, wanted -> said ({NOTHING} is nothing):", *lines])


def align(wanted: Sequence[str], said: Sequence[str]) -> list[tuple[str, str]]:
    """Put two pronunciations side by side, with as few differences as there can be.

    Args:
        wanted: phonemes.
        said: phonemes.

    Returns:
        Pairs; ``NOTHING`` stands for a phoneme that one of them lacks.
    """
    table = [[i + j for j in range(len(said) + 1)] for i in range(len(wanted) + 1)]
    for i, mine in enumerate(wanted, start=1):
        for j, yours in enumerate(said, start=1):
            table[i][j] = min(
                table[i - 1][j - 1] + (mine != yours), table[i - 1][j] + 1, table[i][j - 1] + 1
            )
    pairs = []
    i, j = len(wanted), len(said)
    while i or j:
        if i and j and table[i][j] == table[i - 1][j - 1] + (wanted[i - 1] != said[j - 1]):
            i, j = i - 1, j - 1
            pairs.append((wanted[i], said[j]))
        elif i and table[i][j] == table[i - 1][j] + 1:
            i -= 1
            pairs.append((wanted[i], NOTHING))
        else:
            j -= 1
            pairs.append((NOTHING, said[j]))
    return pairs[::-1]


def _worst_words(score: Score) -> str:
    wrong = [answer for answer in score.answers if answer.edits]
    worst = sorted(wrong, key=lambda a: (-a.edits, len(a.wanted), a.word))[:_SHOWN]
    lines = []
    for answer in worst:
        cut = " ..." * (len(answer.said) > _SHOWN_PHONES)
        lines.append(f"{answer.word}: {' '.join(answer.said[:_SHOWN_PHONES])}{cut}")
        lines.append(" " * (len(answer.word) + 2) + " ".join(answer.wanted))
    return "\n".join(["Furthest off, said above wanted:", *lines])
