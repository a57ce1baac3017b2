"""The drawings of the chapter on sequences; their numbers are those of its example by hand."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from tools.drawings.kit import Area, Drawing, true_minus
from transformer_ref.experiments.sequences import VECTORS, by_hand, copy_by_hand

STEP = {name: tensor.tolist() for name, tensor in by_hand().items()}
COPYING = copy_by_hand()
FIRST = {
    name: value.tolist() if isinstance(value, Tensor) else value
    for name, value in COPYING["steps"][0].items()
}  # the decoder's first step
WORD = "not"
WHOLE, PAIR = (30.0, 24.0), (50.0, 24.0)  # cells of whole numbers, and of two decimals


def drawings() -> dict[str, Drawing]:
    """Return the drawings by name."""
    return {
        "endings": endings(),
        "order-and-length": order_and_length(),
        "step": step(),
        "unrolled": unrolled(),
        "bottleneck": bottleneck(),
        "look-back": look_back(),
        "additive": additive(),
        "decoder-step": decoder_step(),
        "waiting": waiting(),
    }


def endings() -> Drawing:
    """Two words that begin alike; a curve from the ending to the vowel that it decides."""
    drawing = Drawing()
    size = 34.0
    words = (("democrat", 1, "EH, as in bed"), ("democracy", 2, "IH, as in bit"))
    for number, (word, ending, sound) in enumerate(words):
        y = 74 + 176.0 * number
        for place, letter in enumerate(word):
            decides = place >= len(word) - ending
            role = "query" if place == 1 else "source" if decides else "muted"
            drawing.box(Area(place * size, y, size, size), letter, role, size=18, kind="box cell")
        vowel, end = 1.5 * size, (len(word) - ending / 2) * size
        drawing.curve(
            (end, y - 3), (end - 30, y - 80), (vowel + 30, y - 80), (vowel, y - 3), "source",
            width=4,
        )  # fmt: skip
        drawing.text(((vowel + end) / 2, y - 40), "decides", "source", style="bold")
        drawing.line([(vowel, y + size + 3), (vowel, y + size + 24)], "query", arrow=True)
        drawing.text((vowel - 12, y + size + 36), sound, "query", style="bold", anchor="start")
    return drawing


def order_and_length() -> Drawing:
    """The sum of the vectors forgets the order; side by side they make rows of many lengths."""
    drawing = Drawing()
    drawing.text((0, 0), "added up: the order is lost", style="bold", anchor="start")
    for number, word in enumerate((WORD, WORD[::-1])):
        x = 22.0 + 178 * number
        vectors = [VECTORS[letter] for letter in word]
        area = drawing.grid((x, 22), vectors, "source", rows=word, cell=WHOLE)
        drawing.arrow((x + 30, area.bottom + 3), (x + 30, area.bottom + 32), "sum")
        total = [sum(column) for column in zip(*vectors, strict=True)]
        drawing.grid((x, area.bottom + 36), [total], cell=WHOLE)
    drawing.text((140, 142), "=", size=20)
    drawing.text(
        (0, 190), "side by side: every length needs its own matrix", style="bold", anchor="start"
    )
    cell, letters = 20.0, (("not", 1), ("notation", 0))
    for number, (word, fits) in enumerate(letters):
        y = 226 + 82.0 * number
        for place, letter in enumerate(word):
            drawing.box(Area(2 * place * cell, y, cell, 20), "", "source", kind="box cell")
            drawing.box(Area((2 * place + 1) * cell, y, cell, 20), "", "source", kind="box cell")
            drawing.text(((2 * place + 1) * cell, y - 11), letter, "muted", size=13)
        drawing.brace((0, y + 24), (2 * len(word) * cell, y + 24))
        drawing.text((len(word) * cell, y + 44), f"{2 * len(word)} numbers", "muted", size=13)
        if fits:
            drawing.text((134, y + 10), "a matrix of 6 rows fits", "ink", size=13, anchor="start")
        else:
            drawing.text((222, y + 44), "6 rows do not fit", "ink", size=13, anchor="start")
    return drawing


def step() -> Drawing:
    """The second step of reading "not": the letter o and the state before give the state."""
    drawing = Drawing()
    _product(drawing, 24, "the letter o", (STEP["X"][1], "source"), ("W", STEP["W"], "ink"))
    _product(
        drawing, 106, "the state before", (STEP["states"][0], "memory"), ("U", STEP["U"], "ink")
    )
    for y, row in ((36, STEP["XW"][1]), (118, STEP["HU"][1]), (176, STEP["b"])):
        drawing.grid((246, y), [row], cell=PAIR)
    drawing.text((232, 188), "b", "ink", style="bold")
    bottom = _total(drawing, 212, STEP["sums"][1])
    drawing.arrow((296, bottom + 2), (296, bottom + 30), "tanh")
    drawing.grid((246, bottom + 34), [STEP["states"][1]], "memory", cell=PAIR)
    drawing.text((236, bottom + 46), "the new state", "memory", anchor="end", style="bold")
    return drawing


def additive() -> Drawing:
    """One score: the decoder's state with the encoder's state after the letter n."""
    drawing = Drawing()
    v_a = true_minus(", ".join(f"{number:.0f}" for number in STEP["v_a"]))
    _product(drawing, 24, "decoder's state", (STEP["s"], "target"), ("W_a", STEP["W_a"], "ink"))
    _product(
        drawing,
        106,
        "the state after n",
        (STEP["states"][0], "memory"),
        ("U_a", STEP["U_a"], "ink"),
    )
    for y, row in ((36, STEP["asked"]), (118, STEP["compared"][0])):
        drawing.grid((246, y), [row], cell=PAIR)
    bottom = _total(drawing, 160, STEP["sums_a"][0])
    drawing.arrow((296, bottom + 2), (296, bottom + 30), "tanh")
    drawing.grid((246, bottom + 34), [STEP["tanh_a"][0]], cell=PAIR)
    drawing.arrow((296, bottom + 62), (296, bottom + 90))
    drawing.text(
        (284, bottom + 76), f"dot product with v_a = ({v_a})", "muted", size=13, anchor="end"
    )
    drawing.grid((271, bottom + 94), [[STEP["scores"][0]]], "query", cell=PAIR)
    drawing.text((262, bottom + 106), "the score of n", "query", anchor="end", style="bold")
    return drawing


def _product(
    drawing: Drawing,
    y: float,
    name: str,
    vector: tuple[Sequence[float], str],
    matrix: tuple[str, Sequence[Sequence[float]], str],
) -> None:
    """Draw a row times a matrix of two rows; its result stands to the right at x = 246."""
    (numbers, role), (letter, rows, _) = vector, matrix
    row = drawing.grid((0, y + 12), [numbers], role, cell=PAIR)
    drawing.text((0, y - 2), name, role, size=13, style="bold", anchor="start")
    drawing.text((115, row.at(0, 0.5)[1]), "\N{MULTIPLICATION SIGN}", size=16)
    drawing.grid((130, y), rows, title=letter, cell=(36, 24))
    drawing.line([(208, row.at(0, 0.5)[1]), (242, row.at(0, 0.5)[1])], arrow=True)


def _total(drawing: Drawing, y: float, numbers: Sequence[float]) -> float:
    """Draw a sum below its terms, and return where it ends."""
    drawing.line([(240, y - 5), (350, y - 5)], width=1.2)
    drawing.text((230, y + 12), "sum", "muted", size=13, anchor="end")
    return drawing.grid((246, y), [numbers], cell=PAIR).bottom


def unrolled() -> Drawing:
    """The same step for each letter of a word; the state goes from left to right."""
    drawing = Drawing()
    pitch = 118.0
    drawing.text((0, 80), "(0, 0)", "memory", size=13, style="fixed")
    drawing.line([(25, 80), (42, 80)], "memory", arrow=True, width=2.5)
    for place, letter in enumerate(WORD):
        middle = 88 + pitch * place
        box = drawing.box(Area(middle - 43, 62, 86, 36), "W, U, b")
        vector = drawing.grid((middle - 30, 130), [VECTORS[letter]], "source", cell=WHOLE)
        drawing.text((middle, 168), letter, "source", size=18, style="bold")
        drawing.line([vector.at(0.5, 0), box.at(0.5, 1)], "source", arrow=True)
        state = drawing.grid((middle - 50, 0), [STEP["states"][place]], "memory", cell=PAIR)
        drawing.line([box.at(0.5, 0), state.at(0.5, 1)], "memory", arrow=True)
        drawing.text((middle, -14), f"h_{place}", "memory", style="bold")
        if place < len(WORD) - 1:
            drawing.line(
                [box.at(1, 0.5), (box.right + pitch - 86, 80)], "memory", arrow=True, width=2.5
            )
    return drawing


def bottleneck() -> Drawing:
    """A short and a long word; both pass through a vector of the same length."""
    drawing = Drawing()
    cell, middle = 17.0, 170.0
    for number, word in enumerate(("cat", "internationalization")):
        y = 168.0 * number
        left = middle - cell * len(word) / 2
        right = left + cell * len(word)
        for place, letter in enumerate(word):
            area = Area(left + place * cell, y, cell, 22)
            drawing.box(area, letter, "source", size=13, kind="box cell")
        drawing.line([(left, y + 32), (right, y + 32)], "memory", arrow=True, width=2.5)
        for x, side in ((left, -1), (right, 1)):
            drawing.line([(x, y + 40), (middle + 40 * side, y + 76)], "muted", dashed=True)
        drawing.grid((middle - 40, y + 78), [[""] * 5], "memory", cell=(16, 20))
        drawing.text((middle + 52, y + 88), "64 numbers", "memory", size=13, anchor="start")
        drawing.line([(middle, y + 100), (middle, y + 120)], "memory", arrow=True)
        drawing.box(Area(middle - 45, y + 122, 90, 24), "decoder", "target", size=13)
    return drawing


def look_back() -> Drawing:
    """The decoder compares itself with each state; the scores become weights of a sum."""
    drawing = Drawing()
    _look_back(drawing)
    return drawing


def decoder_step() -> Drawing:
    """A whole step of the decoder: its state looks back, and the context scores the letters."""
    drawing = Drawing()
    bottom = _look_back(drawing)
    drawing.arrow((166, bottom + 2), (166, bottom + 28), "times W_o")
    letters, scores = COPYING["letters"], [FIRST["letter_scores"]]
    cells = drawing.grid((91, bottom + 52), scores, columns=letters, cell=PAIR)
    drawing.text((83, cells.at(0, 0.5)[1]), "letter scores", anchor="end", style="bold")
    chosen = f"the highest score: it writes {letters[FIRST['said']]}"
    drawing.text((166, cells.bottom + 18), chosen, "target", style="bold")
    return drawing


def _look_back(drawing: Drawing) -> float:
    """Draw the encoder's states, what they score, and their sum; return where that ends."""
    pitch, width = 116.0, 332.0
    shown = ", ".join(true_minus(f"{number:.2f}") for number in FIRST["state"])
    compared = f"dot product with the decoder's ({shown})"
    asking = drawing.box(Area(0, 62, width, 30), compared, "target", size=13)
    total = drawing.box(
        Area(0, 194, width, 30), "each state times its weight, added up", "memory", size=13
    )
    for place, letter in enumerate(WORD):
        middle = 50 + pitch * place
        weight, score = FIRST["weights"][place], FIRST["scores"][place]
        drawing.text((middle, 0), letter, "source", size=18, style="bold")
        state = drawing.grid((middle - 50, 16), [STEP["states"][place]], "memory", cell=PAIR)
        if place < len(WORD) - 1:
            drawing.line([(state.right + 1, 28), (state.right + 15, 28)], "memory", arrow=True)
        drawing.line([(middle, 42), (middle, asking.y - 1)], "memory", arrow=True)
        drawing.line([(middle, asking.bottom + 1), (middle, 108)], arrow=True)
        shown = true_minus(f"{score:.2f}")
        drawing.text((middle, 118), f"score {shown}", "ink", size=13)
        drawing.line([(middle, 128), (middle, 144)], arrow=True)
        drawing.text((middle, 154), f"weight {weight:.2f}", "query", size=13, style="bold")
        drawing.line([(middle, 170), (middle, 186)], "query", width=1 + 14 * weight)
    drawing.arrow(total.at(0.5, 1), (width / 2, total.bottom + 26))
    grid = drawing.grid(
        (width / 2 - 50, total.bottom + 30), [FIRST["context"]], "memory", cell=PAIR
    )
    left = (width / 2 - 58, total.bottom + 42)
    drawing.text(left, "the context", "memory", anchor="end", style="bold")
    return grid.bottom


def waiting() -> Drawing:
    """A chain and attention; numbers say at which step an output is ready, and a way is lit."""
    drawing = Drawing()
    letters, pitch = "token", 68.0
    titles = ("recurrent layer: ready after 5 steps", "attention: ready after 1 step")
    for number, name in enumerate(titles):
        y = 196.0 * number
        drawing.text((0, y), name, style="bold", anchor="start")
        for place, letter in enumerate(letters):
            x = 20 + pitch * place
            drawing.text((x, y + 138), letter, "source", size=18, style="bold")
            for other in range(len(letters)):
                if number == 0 and other != place:
                    continue
                lit = place == 0 and (number == 0 or other == len(letters) - 1)
                drawing.line(
                    [(x, y + 124), (20 + pitch * other, y + 61)], "lit" if lit else "muted",
                    arrow=lit or number == 0, width=3.0 if lit else 1.0,
                )  # fmt: skip
            if number == 0 and place > 0:
                drawing.line(
                    [(x - pitch + 17, y + 43), (x - 17, y + 43)], "lit", arrow=True, width=3
                )
        for place in range(len(letters)):
            x = 20 + pitch * place
            drawing.circle((x, y + 43), 15, "memory")
            drawing.text((x, y + 43), str(place + 1 if number == 0 else 1), "memory", style="bold")
    return drawing
