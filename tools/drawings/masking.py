"""The drawings of the chapter on masking; their numbers are those of its examples by hand."""

from __future__ import annotations

import math

from tools.drawings.kit import Area, Drawing, Matrix, chain
from transformer_ref.experiments.masking import (
    ALLOWED,
    INPUTS,
    empty_row_by_hand,
    masks_by_hand,
    mean_by_hand,
)

MEAN = {name: tensor.tolist() for name, tensor in mean_by_hand().items()}
MASKS = {name: tensor.tolist() for name, tensor in masks_by_hand().items()}
EMPTY = {name: tensor.tolist() for name, tensor in empty_row_by_hand().items()}
MINUS_INFINITY = "\N{MINUS SIGN}∞"
NUMBER = (40.0, 26.0)  # a cell with a number
TOKENS = ("a", "b", "c")
SIDE = 22.0  # of a cell of a mask


def drawings() -> dict[str, Drawing]:
    """Return the drawings by name."""
    return {
        "answers": answers(),
        "averages": averages(),
        "mean-as-softmax": mean_as_softmax(),
        "mean-as-softmax-narrow": mean_as_softmax(narrow=True),
        "two-masks": two_masks(),
        "rows-or-columns": rows_or_columns(),
        "empty-row": empty_row(),
        "empty-row-narrow": empty_row(narrow=True),
    }


def answers() -> Drawing:
    """What a decoder reads and has to say; the answer to each token is the next one's input."""
    drawing = Drawing()
    inputs, labels = INPUTS[0], (*INPUTS[0][1:], "eos")
    places = [Area(70.0 + 66 * number, 96, 54, 32) for number in range(4)]
    for place, token, label in zip(places, inputs, labels, strict=True):
        drawing.box(place, token, "target")
        x = place.at(0.5, 0)[0]
        drawing.line([(x, place.bottom + 4), (x, 160)], "muted", arrow=True)
        drawing.text((x, 174), label, "target", style="bold")
    drawing.text((60, 112), "reads", "muted", anchor="end")
    drawing.text((60, 174), "must say", "muted", anchor="end")
    asking = places[1].at(0.5, 0)
    for number, to in enumerate(places):
        x, y = to.at(0.5, 0)
        if number == 1:
            continue
        away = abs(number - 1) * 40.0
        start = (asking[0] + (5 if number > 1 else -5), asking[1])
        role, width = ("query", 3.0) if number < 1 else ("mask", 2.0)
        top = drawing.curve(start, (start[0], y - away), (x, y - away), (x, y), role, width=width)
        if number > 1:
            drawing.text((top[0], top[1]), "✕", "key", size=18, style="bold")
    drawing.text((asking[0] - 34, 46), "earlier:\nmay be seen", "query", size=13)
    drawing.text((asking[0] + 112, 10), "later: must be hidden", "key", size=13)
    return drawing


def averages() -> Drawing:
    """A lower triangle of averages times the values gives the means of what came before."""
    drawing = Drawing()
    fractions = [
        [f"1/{row + 1}" if column <= row else "0" for column in range(3)] for row in range(3)
    ]
    left = drawing.grid((20, 44), fractions, "query", title="averages A", rows=TOKENS,
                        columns=TOKENS, cell=(34, 26), lit=[2])  # fmt: skip
    drawing.text((left.right + 16, left.at(0, 0.5)[1]), "\N{MULTIPLICATION SIGN}", size=18)
    middle = drawing.grid((left.right + 42, 44), MEAN["values"], "value", title="values V",
                          rows=TOKENS, cell=(34, 26))  # fmt: skip
    drawing.text((middle.right + 15, middle.at(0, 0.5)[1]), "=", size=18)
    drawing.grid((middle.right + 32, 44), MEAN["output"], "value", title="means", cell=(34, 26),
                 lit=[2])  # fmt: skip
    return drawing


def mean_as_softmax(narrow: bool = False) -> Drawing:
    """Equal scores, masked, through the two steps of the softmax: the same averages."""
    masked = [[MINUS_INFINITY if z == -math.inf else z for z in row] for row in MEAN["masked"]]
    matrices = (
        Matrix("scores", MEAN["scores"], "ink", "mask", TOKENS, NUMBER),
        Matrix("masked scores", masked, "mask", "exponential", TOKENS, NUMBER),
        Matrix(
            "exponentials", MEAN["exponentials"], "ink", "divide by\nsum of row", TOKENS, NUMBER
        ),
        Matrix("weights", MEAN["weights"], "query", "", TOKENS, NUMBER),
    )
    return chain(matrices, TOKENS, narrow)


def empty_row(narrow: bool = False) -> Drawing:
    """The masked softmax, step by step, on a row that may see two keys and one that sees none."""
    mask = [["see" if may else "hide" for may in row] for row in ALLOWED]
    filled = [
        [number if may else "low" for number, may in zip(row, rule, strict=True)]
        for row, rule in zip(EMPTY["filled"], ALLOWED, strict=True)
    ]
    matrices = (
        Matrix("mask", mask, "mask", "hide in\n2 1 3", cell=NUMBER),
        Matrix("filled", filled, "ink", "softmax", cell=NUMBER),
        Matrix("after softmax", EMPTY["softmax"], "ink", "fill with 0", cell=NUMBER),
        Matrix("weights", EMPTY["weights"], "query", cell=NUMBER),
    )
    return chain(matrices, ("row 0", "row 1"), narrow)


def two_masks() -> Drawing:
    """For each of three words: the padding mask, the causal mask, and what both allow."""
    drawing = Drawing()
    width = 4 * SIDE
    starts = [0.0, width + 34, 2 * width + 68]
    heads = (
        ("padding", "(B, 1, 1, T)"), ("causal", "(1, 1, T, T)"), ("both", "(B, 1, T, T)"),
    )  # fmt: skip
    for x, (name, shape) in zip(starts, heads, strict=True):
        drawing.text((x + width / 2, 0), name, "mask", style="bold")
        drawing.text((x + width / 2, 18), shape, size=13, style="fixed")
    for word, tokens in enumerate(INPUTS):
        top = 52.0 + word * 122
        padding = MASKS["padding"][word][0][0]
        for x, mask in zip(
            starts, ([padding] * 4, MASKS["causal"][0][0], MASKS["both"][word][0]), strict=True
        ):
            repeated = x == starts[0]
            for row, line in enumerate(mask):
                for column, may in enumerate(line):
                    _may(
                        drawing, Area(x + SIDE * column, top + SIDE * row, SIDE, SIDE), may,
                        faint=(repeated and row > 0) or (x == starts[1] and word > 0),
                    )  # fmt: skip
        for x in (starts[0], starts[2]):
            for column, token in enumerate(tokens):
                drawing.text((x + SIDE * (column + 0.5), top - 9), token, "muted", size=11)
        for x, sign in ((starts[1] - 17, "&"), (starts[2] - 17, "=")):
            drawing.text((x, top + 2 * SIDE), sign, size=18)
    return drawing


def rows_or_columns() -> Drawing:
    """The padding of one word hidden in columns, as keys, and wrongly in rows, as queries."""
    drawing = Drawing()
    tokens = INPUTS[1]
    real = MASKS["padding"][1][0][0]
    for x, title, columns in ((40.0, "columns: right", True), (212.0, "rows: wrong", False)):
        area = Area(x, 46, 112, 112)
        drawing.text((area.at(0.5, 0)[0], 0), title, "mask", style="bold")
        drawing.text((area.at(0.5, 0)[0], 18), "keys", "key", size=13)
        for row, query in enumerate(tokens):
            drawing.text((x - 6, 60 + 28 * row), query, "muted", size=13, anchor="end")
            for column in range(4):
                cell = Area(x + 28 * column, 46 + 28 * row, 28, 28)
                _may(drawing, cell, real[column if columns else row])
        for column, key in enumerate(tokens):
            drawing.text((x + 28 * column + 14, 36), key, "muted", size=13)
    drawing.text((12, 36), "queries", "query", size=13)
    return drawing


def _may(drawing: Drawing, cell: Area, may: bool, faint: bool = False) -> None:
    """Draw a cell of a mask: 1 on a ground where the key may be seen, 0 where not."""
    drawing.box(cell, "", "mask", kind="box cell", opacity=(0.18 if faint else 0.4) * may)
    role = "muted" if faint else "ink"
    drawing.text(cell.at(0.5, 0.5), "1" if may else "0", role, size=12, style="fixed")
