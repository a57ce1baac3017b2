"""What is counted in wrong answers, and the examples that the chapter works out by hand."""

from __future__ import annotations

from collections.abc import Sequence

from transformer_ref.metrics import edit_distance

NOTHING = "-"

# Words that the chapter sends to a split by hand.
SPLIT_WORDS = ("attach", "knighted", "collage", "knights", "knight")

# Three words of dev: what a model might say (made up), and what the dictionary lists.
SAID = {
    "collage": ("K", "AA", "L", "IH", "JH"),
    "fiato": ("F", "IY", "AA", "T", "OW"),
    "nacho": ("N", "AA", "CH", "OW"),
}
LISTED = {
    "collage": (("K", "AH", "L", "AA", "ZH"),),
    "fiato": (("F", "IY", "AE", "T", "OW"), ("F", "Y", "AE", "T", "OW")),
    "nacho": (("N", "AE", "CH", "OW"), ("N", "AA", "CH", "OW")),
}

# A word and the sounds of each letter, as `learn_to_align` cuts them.
ALIGNED = (
    ("t", ()), ("h", ("TH",)), ("o", ("AO",)), ("u", ()), ("g", ()),
    ("h", ()), ("t", ("T",)), ("f", ("F",)), ("u", ("AH",)), ("l", ("L",)),
)  # fmt: skip


def nearest(answer: Sequence[str], listed: Sequence[Sequence[str]]) -> Sequence[str]:
    """Return the listed pronunciation with the fewest edits, of several the longest."""
    return min(listed, key=lambda variant: (edit_distance(answer, variant), -len(variant)))


def edits(answer: Sequence[str], truth: Sequence[str]) -> list[tuple[str, str]]:
    """Return the edits on one shortest way from what is listed to what was said.

    Args:
        answer: phonemes that were said.
        truth: phonemes that are listed.

    Returns:
        Pairs of what is listed and what was said there; "-" stands for nothing.
    """
    if not answer or not truth:
        missing = [(sound, NOTHING) for sound in truth]
        return missing + [(NOTHING, sound) for sound in answer]
    if answer[-1] == truth[-1]:
        return edits(answer[:-1], truth[:-1])
    ways = {
        (truth[-1], answer[-1]): (answer[:-1], truth[:-1]),
        (truth[-1], NOTHING): (answer, truth[:-1]),
        (NOTHING, answer[-1]): (answer[:-1], truth),
    }
    edit = min(ways, key=lambda way: edit_distance(*ways[way]))
    return [*edits(*ways[edit]), edit]
