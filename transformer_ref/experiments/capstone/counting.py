"""A speller without a model: what each letter, with its neighbours, is said like most often."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

Sounds = tuple[str, ...]
Spelled = tuple[str, Sounds]  # a word and its sounds
Cost = Callable[[str, Sounds], float]  # of a letter that is said like this


def align(word: str, sounds: Sounds, cost: Cost) -> tuple[Sounds, ...] | None:
    """Cut the sounds into one piece of 0, 1 or 2 for each letter, at the least cost.

    Args:
        word: letters.
        sounds: of the word.
        cost: what it costs to say a letter like a piece.

    Returns:
        The pieces, or None where there are more than two sounds a letter.
    """
    # Sounds used so far: cost and pieces.
    best: dict[int, tuple[float, tuple[Sounds, ...]]] = {0: (0.0, ())}
    for letter in word:
        longer: dict[int, tuple[float, tuple[Sounds, ...]]] = {}
        for used, (paid, pieces) in best.items():
            for size in range(min(2, len(sounds) - used) + 1):
                piece = sounds[used : used + size]
                total = paid + cost(letter, piece)
                if used + size not in longer or total < longer[used + size][0]:
                    longer[used + size] = total, (*pieces, piece)
        best = longer
    return best[len(sounds)][1] if len(sounds) in best else None


def learn_to_align(pairs: Iterable[Spelled], rounds: int = 5) -> Cost:
    """Align, count, align by the counts, and again; return the cost of a piece.

    Args:
        pairs: words and their sounds.
        rounds: how often.
    """
    pairs = list(pairs)
    counts: Counter[tuple[str, Sounds]] = Counter()
    totals: Counter[str] = Counter()

    def cost(letter: str, piece: Sounds) -> float:
        if not totals:  # at first one sound a letter is as good as any other
            return abs(len(piece) - 1)
        return -math.log((counts[letter, piece] + 0.01) / (totals[letter] + 1))

    for _ in range(rounds):
        found = [(word, align(word, sounds, cost)) for word, sounds in pairs]
        counts.clear()
        for word, pieces in found:
            counts.update(zip(word, pieces or (), strict=False))
        totals.clear()
        for (letter, _), count in counts.items():
            totals[letter] += count
    return cost


def around(word: str, place: int, reach: int) -> str:
    """The letter at a place, with `reach` letters on either side."""
    padded = "_" * reach + word + "_" * reach
    return padded[place : place + 2 * reach + 1]


def most_frequent(pairs: Iterable[Spelled], cost: Cost, widest: int) -> dict[str, Sounds]:
    """For each letter with up to `widest` neighbours on either side the piece it has most often."""
    counts: defaultdict[str, Counter[Sounds]] = defaultdict(Counter)
    for word, sounds in pairs:
        for place, piece in enumerate(align(word, sounds, cost) or ()):
            for reach in range(widest + 1):
                counts[around(word, place, reach)][piece] += 1
    return {window: pieces.most_common(1)[0][0] for window, pieces in counts.items()}


def read_by_table(word: str, table: Mapping[str, Sequence[str]], widest: int) -> list[str]:
    """Take for each letter the widest window that was seen in training."""
    answer: list[str] = []
    for place in range(len(word)):
        for reach in range(widest, -1, -1):
            if (window := around(word, place, reach)) in table:
                answer += table[window]
                break
    return answer
