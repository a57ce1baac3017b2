"""The drawings of the chapter on tokenizers; their tokens and numbers are the package's."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from tools.drawings.kit import Area, Drawing
from transformer_ref.experiments.tokenizers import (
    GPT2_PATTERN,
    NEW_SENTENCE,
    NEW_WORD,
    PRICE,
    PROBABILITIES,
    SENTENCES,
    TEXT,
    WORD_COUNTS,
    all_cuts,
    encoding_by_hand,
    merges_by_hand,
    pair_counts,
    train_three,
    wordpiece_scores,
)
from transformer_ref.tokenizers import WordTokenizer

LETTER = 13.0  # the width of a letter in a box of several
TIMES = "\N{MULTIPLICATION SIGN}"


def drawings() -> dict[str, Drawing]:
    """Return the drawings by name."""
    return {
        "three-cuts": three_cuts(),
        "vocabulary": vocabulary(),
        "pairs": pairs(),
        "new-word": new_word(),
        "chunks": chunks(),
        "wordpiece": wordpiece(),
        "unigram": unigram(),
    }


def three_cuts() -> Drawing:
    """One text as words, as characters and as byte pairs, with the ids below."""
    drawing = Drawing()
    words, characters, pieces = train_three()
    rows = (("words", words), ("characters", characters), ("byte pairs", pieces))
    for row, (name, tokenizer) in enumerate(rows):
        y, place = 82.0 * row, 0
        tokens, ids = tokenizer.tokenize(TEXT), tokenizer.encode(TEXT)
        drawing.text((0, y), f"{name}: {len(tokens)} tokens", style="bold", anchor="start")
        for token, token_id in zip(tokens, ids, strict=True):
            plain = token.replace("Ġ", " ")
            place = TEXT.index(plain, place)
            lost = token_id == tokenizer.unk_id
            area = Area(19.7 * place, y + 14, 19.7 * len(plain) - 2, 24)
            label = "<unk>" if lost else _visible(plain)
            drawing.box(area, label, "lit" if lost else "source", size=13)
            drawing.text((area.at(0.5, 0)[0], y + 48), str(token_id), "muted", size=11)
            place += len(plain)
    return drawing


def vocabulary() -> Drawing:
    """A text is counted, each token gets an id, and a new text is looked up."""
    drawing = Drawing()
    tokenizer = WordTokenizer.train([SENTENCES])
    seen = tokenizer.tokenize(SENTENCES)
    drawing.text((0, 0), f"text: {SENTENCES}", anchor="start")
    for x, label in ((16.0, "id"), (65.0, "token"), (118.0, "count")):
        drawing.text((x, 30), label, "muted", size=13)
    for token_id, token in enumerate(tokenizer.vocabulary.tokens):
        y = 42.0 + 24 * token_id
        special = token in tokenizer.vocabulary.specials
        drawing.box(Area(0, y, 32, 24), str(token_id), "muted", size=13, kind="box cell")
        role = "lit" if token_id == tokenizer.unk_id else "muted" if special else "source"
        drawing.box(Area(32, y, 66, 24), token, role, size=13, kind="box cell")
        drawing.text((118, y + 12), "" if special else str(seen.count(token)), size=13)
    drawing.text((162, 30), "a new text", "muted", size=13, anchor="start")
    tokens, ids = tokenizer.tokenize(NEW_SENTENCE), tokenizer.encode(NEW_SENTENCE)
    for row, (token, token_id) in enumerate(zip(tokens, ids, strict=True)):
        y = 42.0 + 36 * row
        lost = token_id == tokenizer.unk_id
        drawing.box(Area(162, y, 56, 24), token, "lit" if lost else "source", size=13)
        drawing.arrow((222, y + 12), (258, y + 12), role="lit" if lost else "ink")
        drawing.text((272, y + 12), str(token_id), "lit" if lost else "ink", style="bold")
        if lost:
            drawing.text((286, y + 12), "<unk>", "lit", size=13, anchor="start")
    return drawing


def pairs() -> Drawing:
    """The pairs of letters in five words, counted."""
    drawing = Drawing()
    total = pair_counts({word: list(word) for word in WORD_COUNTS}, WORD_COUNTS)
    order = sorted(total, key=lambda pair: (-total[pair], pair))
    values = [
        [
            str(count or "")
            for count in (pair_counts({word: list(word)}, WORD_COUNTS)[pair] for pair in order)
        ]
        for word in WORD_COUNTS
    ]
    cell = (30.0, 24.0)
    area = drawing.grid(
        (84, 0), values, rows=[f"{word} {TIMES} {count}" for word, count in WORD_COUNTS.items()],
        columns=[" ".join(pair) for pair in order], cell=cell,
    )  # fmt: skip
    sums = [[str(total[pair]) for pair in order]]
    drawing.grid((84, area.bottom + 6), sums, rows=["together"], cell=cell)
    first = Area(84, -20, cell[0], area.bottom + 6 + cell[1] + 20)
    drawing.box(first, "", "lit", opacity=0.0)
    return drawing


def new_word() -> Drawing:
    """A word that was not among those of the training, after each merge."""
    drawing = Drawing()
    cuts = encoding_by_hand()
    names = [f"{number}.  {' + '.join(s.pair)}" for number, s in enumerate(merges_by_hand(), 1)]
    for row, (name, symbols) in enumerate(zip(["letters", *names], cuts, strict=True)):
        y = 32.0 * row
        changed = row == 0 or symbols != cuts[row - 1]
        drawing.text((0, y + 12), name, "ink" if changed else "muted", anchor="start")
        if not changed:
            drawing.text((124, y + 12), "not in the word", "muted", size=13, anchor="start")
            continue
        new = "".join(merges_by_hand()[row - 1].pair) if row else ""
        _symbols(drawing, (124, y), symbols, new, letter=22)
    drawing.text((124 + 22 * len(NEW_WORD) + 16, 12), NEW_WORD, "muted", size=13, anchor="start")
    return drawing


def chunks() -> Drawing:
    """A text, cut by the pattern of GPT-2; each piece says which part of the pattern took it."""
    drawing = Drawing()
    found = regex.findall(GPT2_PATTERN, PRICE)
    for row, line in enumerate((found[:4], found[4:])):
        x, y = 0.0, 66.0 * row
        for piece in line:
            area = Area(x, y, 17.0 * len(piece), 26)
            drawing.box(area, "", "source")
            for number, letter in enumerate(piece):
                at = (x + 17 * (number + 0.5), y + 13)
                drawing.text(at, _visible(letter), "source", style="fixed")
            drawing.text((area.at(0.5, 0)[0], y + 38), _part(piece), "muted", size=11)
            x = area.right + 14
    return drawing


def wordpiece() -> Drawing:
    """Four pairs with their counts, and the score by which WordPiece compares them."""
    drawing = Drawing()
    scores = wordpiece_scores()
    chosen = (("##e", "##r"), ("##l", "##d"), ("o", "##l"), ("c", "##o"))
    values = [
        [" ".join(pair), *map(str, scores[pair][:3]), f"{scores[pair][3]:.2f}"] for pair in chosen
    ]
    drawing.grid(
        (0, 0), values, columns=["", "pair", "first", "second", "score"],
        cell=(57, 28), lit=[0, len(chosen) - 1],
    )  # fmt: skip
    for row, name in ((0, "BPE"), (len(chosen) - 1, "Word-\nPiece")):
        drawing.text((292, 28 * row + 14), name, "lit", size=12, anchor="start", style="bold")
    return drawing


def unigram() -> Drawing:
    """The ways through a word, a token at a time, each token with its probability."""
    drawing = Drawing()
    word, step = "older", 64.0
    best = next(iter(all_cuts(word)))
    starts = {token: (word.index(token), word.index(token) + len(token)) for token in PROBABILITIES}
    heights = {"ol": 56.0, "er": 56.0, "old": 108.0, "der": -118.0, "older": 172.0}
    for token, (start, end) in starts.items():
        left, right = step * start + 5, step * end - 5
        role = "lit" if token in best else "muted"
        width = 4.0 if token in best else 1.5
        label = f"{token} {PROBABILITIES[token]:g}"
        if token not in heights:
            drawing.line([(left, 0), (right, 0)], role, width=width)
            drawing.text((step * (start + 0.5), 15), f"{token}\n{PROBABILITIES[token]:g}", size=12)
            continue
        height = heights[token]
        pull, push = (left + 8, -height), (right - 8, -height)
        middle = drawing.curve((left, -4 if height > 0 else 4), pull, push,
                               (right, -4 if height > 0 else 4), role, width=width)  # fmt: skip
        at = (middle[0], middle[1] - 11 if height > 0 else middle[1] + 12)
        drawing.text(at, label, role, size=13, style="bold" * (token in best))
    for place in range(len(word) + 1):
        drawing.circle((step * place, 0), 4)
    return drawing


def _symbols(
    drawing: Drawing,
    at: tuple[float, float],
    symbols: Sequence[str],
    new: str = "",
    *,
    letter: float = LETTER,
) -> float:
    """Draw the symbols of a word as boxes, the new one lit, and return where the last one ends."""
    x, y = at
    for symbol in symbols:
        area = Area(x, y, letter * len(symbol), 23)
        drawing.box(area, "", "lit" if symbol == new else "source", kind="box")
        for number, character in enumerate(symbol):
            middle = (x + letter * (number + 0.5), y + 11.5)
            drawing.text(middle, character, size=13, style="fixed")
        x = area.right
    return x


def _visible(text: str) -> str:
    """Write a space so that it can be seen."""
    return text.replace(" ", "\N{OPEN BOX}")


def _part(piece: str) -> str:
    """Say which part of the pattern of GPT-2 takes a piece."""
    if piece.startswith("'"):
        return "ending"
    kinds = {str.isalpha: "letters", str.isdigit: "digits", str.isspace: "spaces"}
    inside = piece.strip() or piece
    return next((name for test, name in kinds.items() if test(inside)), "other")
