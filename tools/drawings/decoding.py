"""The drawings of the chapter on decoding; their numbers are those of its examples by hand."""

from __future__ import annotations

from tools.drawings.kit import Area, Drawing
from transformer_ref.attention import scaled_dot_product_attention
from transformer_ref.experiments.attention import WORDS
from transformer_ref.experiments.attention import by_hand as attention_by_hand
from transformer_ref.experiments.decoding import (
    BUTTE,
    EOS,
    FOLLOWS,
    HYPOTHESIS,
    REFERENCE,
    STEPS,
    TOP_K,
    TOP_P,
    Hypothesis,
    beam_by_hand,
    clipped_by_hand,
    cut_by_hand,
    edits_by_hand,
)

ATTENTION = {name: tensor.tolist() for name, tensor in attention_by_hand().items()}
PAIR = (28.0, 24.0)  # a cell of a key or a value
CROSS = "✕"


def drawings() -> dict[str, Drawing]:
    """Return the drawings by name."""
    return {
        "steps": steps(),
        "beam": beam(),
        "beam-narrow": beam(narrow=True),
        "cut": cut(),
        "cache": cache(),
        "edits": edits(),
        "clipping": clipping(),
    }


def steps() -> Drawing:
    """What goes into the decoder and what comes out: each answer goes in with the next step."""
    drawing = Drawing()
    pitch, row_height = 58.0, 58.0
    said = ["<bos>"]
    drawing.text((4, -26), "goes in", "target", size=13, style="bold", anchor="start")
    drawing.text((pitch + 46, -26), "comes out", "lit", size=13, style="bold", anchor="start")
    while said[-1] != EOS:
        follows = FOLLOWS[said[-1]]
        best = max(follows, key=lambda token: follows[token])
        y = (len(said) - 1) * row_height
        for number, token in enumerate(said):
            drawing.box(Area(pitch * number, y, 46, 26), token, "target", size=_size(token))
        x = pitch * len(said)
        drawing.line([(x - 12, y + 13), (x, y + 13)], arrow=True)
        answer = drawing.box(Area(x, y - 6, 46, 38), "", "lit")
        drawing.text(answer.at(0.5, 0.32), best, "lit", size=_size(best), style="bold")
        drawing.text(answer.at(0.5, 0.74), f"{follows[best]:.2f}", "lit", size=12, style="fixed")
        if best != EOS:
            drawing.line([(x + 23, answer.bottom), (x + 23, y + row_height)], "muted", arrow=True)
        said.append(best)
    return drawing


def _size(token: str) -> float:
    """Return the size at which a token fits its box."""
    return 12 if len(token) > 4 else 13


# Each beginning of the tree by its tokens: the line on which it stands.
LANES = {
    "I": 2.0, "a": 5.0,
    "I have": 1.0, "I own": 3.0, "a cat": 4.6, "a dog": 5.4,
    "I have got": 0.0, "I have a": 1.0, "I own a": 3.0, "I own cat": 3.9,
    "I have a cat": 1.0, "I have a dog": 1.8, "I own a cat": 3.0, "I own a dog": 3.8,
    "I have a cat <eos>": 1.0, "I have a cat and": 1.8,
    "I own a cat <eos>": 3.0, "I own a cat and": 3.8,
}  # fmt: skip


def beam(narrow: bool = False) -> Drawing:
    """A beam search with two hypotheses as a tree; what is dropped is grey."""
    drawing = Drawing()
    pitch, width = (58.0, 46.0) if narrow else (118.0, 60.0)
    height = 56.0

    def place(column: int, lane: float) -> Area:
        return Area(pitch * column, height * lane, width, 38)

    found = beam_by_hand(2)
    best = max(found[-1].kept, key=lambda one: one.probability).tokens
    drawing.box(place(0, 2.5), "<bos>", "target", size=12)
    for column, step in enumerate(found, start=1):
        label = str(column) if narrow else f"step {column}"
        drawing.text((pitch * column + width / 2, -36), label, "muted", size=13)
        for hypothesis in [*step.dropped, *step.kept]:
            kept = hypothesis in step.kept
            role = "muted" if not kept else "lit" if _begins(hypothesis, best) else "target"
            area = place(column, LANES[" ".join(hypothesis.tokens)])
            before = " ".join(hypothesis.tokens[:-1])
            parent = place(column - 1, LANES[before] if before else 2.5)
            start = parent.at(1, 0.5)
            drawing.line([start, area.at(0, 0.5)], role, dashed=not kept, arrow=not narrow,
                         width=2.4 if role == "lit" else 1.5)  # fmt: skip
            name = hypothesis.tokens[-1]
            drawing.box(area, "", role, opacity=None if kept else 0.0)
            drawing.text(area.at(0.5, 0.32), name, role, size=13, style="bold" if kept else "")
            drawing.text(
                area.at(0.5, 0.74), f"{hypothesis.probability:.3f}", role, size=12, style="fixed"
            )
    return drawing


def _begins(hypothesis: Hypothesis, best: tuple[str, ...]) -> bool:
    return best[: len(hypothesis.tokens)] == hypothesis.tokens


def cut() -> Drawing:
    """Top-k and top-p in an open and in a sure step: what is cut off is grey."""
    drawing = Drawing()
    kept = cut_by_hand()
    rules = {"top-k": f"top-k, k = {TOP_K}", "top-p": f"top-p, p = {TOP_P}"}
    for row, (step, follows) in enumerate(STEPS.items()):
        base = 128.0 + 186 * row
        drawing.text((2, base - 118), f"{step} step", "muted", style="bold", anchor="start")
        for column, (rule, title) in enumerate(rules.items()):
            x = 174.0 * column
            drawing.text((x + 80, base - 98), title, style="bold", size=13)
            for number, (token, probability) in enumerate(follows.items()):
                share = kept[step, rule][number]
                role = "target" if share > 0 else "muted"
                left, tall = x + 38 * number, max(2.0, 70 * probability)
                drawing.box(
                    Area(left + 4, base - tall, 30, tall),
                    "", role, kind="box cell", opacity=0.4 if share > 0 else 0.0,
                )  # fmt: skip
                drawing.text((left + 19, base - tall - 8), f"{probability:.2f}", role, size=12)
                drawing.text((left + 19, base + 11), token, role, size=12)
                after = f"{share:.2f}" if share > 0 else CROSS
                drawing.text((left + 19, base + 30), after, role, size=12, style="bold")
    return drawing


def cache() -> Drawing:
    """The cache as it grows: in each step one key and one value are new."""
    drawing = Drawing()
    top = 24.0
    names = (("query", 28.0, "query"), ("keys", 136.0, "key"), ("values", 208.0, "value"))
    for title, x, role in names:
        drawing.text((x, 0), title, role, style="bold")
    drawing.text((300, 0), "output", "value", style="bold")
    for count in range(1, len(WORDS) + 1):
        newest = count - 1
        middle = top + 12 + 24 * newest
        drawing.grid((0, middle - 12), [ATTENTION["Q"][newest]], "query", cell=PAIR)
        for name, x, role in (("K", 108.0, "key"), ("V", 180.0, "value")):
            for row in range(count):
                new = row == newest
                y = top + 24 * row
                drawing.grid((x, y), [ATTENTION[name][row]], role if new else "muted", cell=PAIR)
                if new:
                    drawing.box(Area(x, y, 56, 24), "", "lit", opacity=0.0)
        for row in range(count):
            role = "ink" if row == newest else "muted"
            drawing.text((101, top + 12 + 24 * row), WORDS[row], role, size=13, anchor="end")
        drawing.line([(58, middle), (74, middle)], "query", arrow=True)
        drawing.line([(240, middle), (256, middle)], "value", arrow=True)
        drawing.grid((260, middle - 12), [_masked_output(newest)], "value", cell=(42, 24))
        top += 24 * count + 22
    return drawing


def _masked_output(newest: int) -> list[float]:
    """Return what this word gets when it sees itself and those before it."""
    step = attention_by_hand()
    seen = slice(newest + 1)
    query = step["Q"][newest : newest + 1]
    output, _ = scaled_dot_product_attention(query, step["K"][seen], step["V"][seen])
    return [float(number) for number in output[0]]


def edits() -> Drawing:
    """The table of edit distances of what was said to what is listed, with the way through it."""
    drawing = Drawing()
    said, wanted = BUTTE
    table = edits_by_hand()
    cell = (40.0, 34.0)
    area = drawing.grid(
        (64, 56), table, "ink", rows=["start", *said], columns=["start", *wanted], cell=cell
    )
    drawing.text((area.at(0.5, 0)[0], 12), "listed", "target", style="bold")
    drawing.text((18, 30), "said", "source", style="bold")
    way, row, column = [(len(said), len(wanted))], len(said), len(wanted)
    while row or column:
        fits = row and column and said[row - 1] == wanted[column - 1]
        if row and column and table[row][column] == table[row - 1][column - 1] + (not fits):
            row, column = row - 1, column - 1
        elif column and table[row][column] == table[row][column - 1] + 1:
            column -= 1
        else:
            row -= 1
        way.append((row, column))
    for down, across in way:
        place = Area(area.x + cell[0] * across, area.y + cell[1] * down, *cell)
        drawing.box(place, "", "lit", opacity=0.25)
    notes = (
        ("→ +1", "one is missing"), ("↓ +1", "one too many"), ("↘ +0", "the same"),
        ("↘ +1", "another one"),
    )  # fmt: skip
    for number, (sign, meaning) in enumerate(notes):
        x, y = area.x - 40 + 142 * (number // 2), area.bottom + 24 + 24 * (number % 2)
        drawing.text((x, y), sign, size=13, style="fixed", anchor="start")
        drawing.text((x + 40, y), meaning, "muted", size=13, anchor="start")
    return drawing


def clipping() -> Drawing:
    """Which sequences of one to four words of a hypothesis stand in the reference."""
    drawing = Drawing()
    pitch, left = 37.0, 68.0
    for y, name, tokens, role in (
        (0.0, "reference", REFERENCE, "target"), (28.0, "hypothesis", HYPOTHESIS, "source"),
    ):  # fmt: skip
        drawing.text((left - 6, y), name, "muted", size=11, anchor="end")
        for column, token in enumerate(tokens):
            drawing.text((left + pitch * (column + 0.5), y), token, role, style="bold")
    rows = clipped_by_hand()
    for n, row in enumerate(rows, start=1):
        y = 44.0 + 32 * (n - 1)
        drawing.text((left - 6, y + 13), f"{n} word{'s' * (n > 1)}", "muted", size=13, anchor="end")
        for column, counts in enumerate(row):
            role = "source" if counts else "muted"
            area = Area(left + pitch * column + 2, y, pitch - 4, 26)
            drawing.box(area, "", role, kind="box cell", opacity=0.3 if counts else 0.0)
            drawing.text(area.at(0.5, 0.5), "✓" if counts else CROSS, role, size=14)
        drawing.text(
            (left + pitch * len(HYPOTHESIS) + 8, y + 13), f"{sum(row)}/{len(row)}",
            style="fixed", anchor="start",
        )  # fmt: skip
    return drawing
