"""The drawings of the chapter on positions; their numbers are those of its example by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tools.drawings.kit import Area, Drawing, Point
from transformer_ref.experiments.positions import D_MODEL, SHIFT, WORDS, by_hand
from transformer_ref.positions import frequencies

STEP = {name: tensor.tolist() for name, tensor in by_hand().items()}
ORDERS = (("dog bites man", WORDS, ""), ("man bites dog", WORDS[::-1], "_backwards"))
CELL = (44.0, 24.0)
APART = 240.0  # from one sentence to the other


def drawings() -> dict[str, Drawing]:
    """Return the drawings by name."""
    return {
        "two-sentences": two_sentences(),
        "two-sentences-narrow": two_sentences(narrow=True),
        "hands": hands(),
        "table": table(),
        "sum": with_positions(),
        "sum-narrow": with_positions(narrow=True),
        "shift": shift(),
        "six-clocks": six_clocks(),
    }


def two_sentences(narrow: bool = False) -> Drawing:
    """Two orders of three words; attention gives the dog the same vector in both."""
    drawing = Drawing()
    for x, y, words, ending in _both_orders(
        drawing, 252, "the dog is the same vector in both", narrow
    ):
        _sentence(drawing, (x, y + 22), f"X{ending}", "residual", words)
        drawing.arrow((x + 88, y + 100), (x + 88, y + 138), "self-attention")
        _sentence(drawing, (x, y + 144), f"attended{ending}", "value", words)
    return drawing


def with_positions(narrow: bool = False) -> Drawing:
    """The vectors of the words plus the rows of their positions, in both orders."""
    drawing = Drawing()
    places = ("0", "1", "2")
    for x, y, words, ending in _both_orders(
        drawing, 332, "now the dog is two different vectors", narrow
    ):
        _sentence(drawing, (x, y + 22), f"X{ending}", "residual", words)
        drawing.text((x + 88, y + 108), "+ the rows of positions 0, 1, 2", size=13)
        drawing.grid((x, y + 122), STEP["PE"][:3], "lit", rows=places, cell=CELL)
        drawing.text((x + 88, y + 208), "=", size=16, style="bold")
        _sentence(drawing, (x, y + 222), f"sum{ending}", "residual", words)
    return drawing


def _both_orders(
    drawing: Drawing, height: float, note: str, narrow: bool
) -> Iterator[tuple[float, float, Sequence[str], str]]:
    """Write the sentences side by side, or below each other, and what is to be seen in both.

    Yields:
        For each sentence where it begins, its words, and the ending of its steps' names.
    """
    for number, (sentence, words, ending) in enumerate(ORDERS):
        x, y = (0.0, height * number) if narrow else (APART * number, 0.0)
        drawing.text((x + 88, y), f"“{sentence}”", size=16, style="bold")
        yield x, y, words, ending
    below = (88, 2 * height - 14) if narrow else (88 + APART / 2, height - 14)
    drawing.text(below, note, "lit", style="bold")


def _sentence(drawing: Drawing, at: Point, name: str, role: str, words: Sequence[str]) -> None:
    """The rows of a step of the example, with the dog's row lit."""
    drawing.grid(at, STEP[name], role, rows=words, cell=CELL, lit=[words.index("dog")])


def hands() -> Drawing:
    """What a hand says, and a fast and a slow one at five positions."""
    drawing = Drawing()
    _one_hand(drawing, (92, 70), 64)
    places = (0, 1, 2, 3, 100)
    for row, (name, omega) in enumerate(zip(("fast", "slow"), (1.0, 0.01), strict=True)):
        y = 228.0 + 92 * row
        drawing.text((0, y - 9), name, style="bold", anchor="start")
        drawing.text((0, y + 9), "hand", style="bold", anchor="start")
        drawing.text((0, y + 38), "angle", "muted", anchor="start", size=13)
        for column, place in enumerate(places):
            x = 86.0 + 64 * column + (12 if place == 100 else 0)
            _clock(drawing, (x, y), 26, [(place * omega, "lit", False)])
            drawing.text((x, y + 38), _radians(place * omega), "muted", size=13, style="fixed")
            if row == 0:
                drawing.text((x, y - 42), str(place), style="bold")
    drawing.text((0, 186), "position", anchor="start", size=13)
    return drawing


def _one_hand(drawing: Drawing, middle: Point, radius: float) -> None:
    """A hand at one radian: its sine is how far right its tip is, its cosine how far up."""
    (x, y), sine, cosine = middle, STEP["PE"][1][0], STEP["PE"][1][1]
    drawing.circle(middle, radius, "muted")
    tip = x + radius * sine, y - radius * cosine
    drawing.line([(x, y - radius), (x, y)], "muted", dashed=True, width=1)
    drawing.line([middle, tip], "lit", arrow=True, width=2.4)
    drawing.line([middle, (tip[0], y)], "ink", width=2.4)
    drawing.line([(tip[0], y), tip], "ink", width=2.4)
    drawing.text((x + 32, y + 12), "sine", size=13)
    drawing.text((tip[0] + 5, y - 12), "cos", size=13, anchor="start")
    lines = (
        ("angle: 1 radian from the top", "lit"),
        (f"sine: {sine:.2f} to the right", "ink"),
        (f"cosine: {cosine:.2f} up", "ink"),
    )
    for number, (line, role) in enumerate(lines):
        drawing.text((184, 40 + 30 * number), line, role, size=13, anchor="start")


def table() -> Drawing:
    """From the angles of two hands to their sines and cosines: the first rows of the table."""
    drawing = Drawing()
    angles = [[_radians(angle) for angle in row] for row in STEP["angles"]]
    positions = [f"pos {place}" for place in range(len(angles))]
    left = drawing.grid(
        (46, 60), angles, "ink", title="angles", rows=positions, columns=("fast", "slow"), cell=CELL
    )
    names = ("sin", "cos", "sin", "cos")
    right = drawing.grid(
        (200, 60), STEP["PE"], "lit", title="encoding", columns=names, cell=(44, 24)
    )
    middle = left.at(1, 0.5)[1]
    drawing.arrow((left.right + 6, middle), (right.x - 6, middle), "sin, cos")
    y = right.bottom + 6
    for number, name in enumerate(("fast hand, i = 0", "slow hand, i = 1")):
        x = right.x + 88 * number
        drawing.brace((x + 3, y), (x + 85, y))
        drawing.text((x + 44, y + 30), name.replace(", ", "\n"), "muted", size=13)
    return drawing


def shift() -> Drawing:
    """The shift matrix times the encoding of position 1 is that of position 3."""
    drawing = Drawing()
    cell, middle = (48.0, 26.0), 92.0
    start, end = 1, 1 + SHIFT
    matrix = drawing.grid((0, 40), STEP["M"], "ink", title=f"M_{SHIFT}", cell=cell)
    for number in range(D_MODEL // 2):
        block = Area(96.0 * number, 40 + 52.0 * number, 96, 52)
        drawing.box(block, "", "lit", opacity=0.12)
    columns = [[[value] for value in STEP["PE"][place]] for place in (start, end)]
    before = drawing.grid((240, 40), columns[0], "lit", title=f"PE({start})", cell=cell)
    after = drawing.grid((320, 40), columns[1], "lit", title=f"PE({end})", cell=cell)
    for left, right, sign in ((matrix, before, "times"), (before, after, "=")):
        drawing.text(((left.right + right.x) / 2, middle), sign, size=13)
    drawing.text((matrix.at(0.25, 0)[0], 156), "fast hand", "muted", size=13)
    drawing.text((matrix.at(0.75, 0)[0], 156), "slow hand", "muted", size=13)
    return drawing


def six_clocks() -> Drawing:
    """Six hands, each at two positions: the angle between depends on the offset alone."""
    drawing = Drawing()
    omegas = frequencies(12).tolist()
    drawing.text((200, 0), "one round takes ... positions", "muted", size=13)
    for row, (first, second) in enumerate(((5, 8), (105, 108))):
        y = 62.0 + 70 * row
        drawing.text((0, y - 8), f"{first} and", size=13, anchor="start")
        drawing.text((0, y + 8), str(second), size=13, anchor="start")
        for column, omega in enumerate(omegas):
            x = 86.0 + 57 * column
            turns = [(first * omega, "lit", False), (second * omega, "ink", True)]
            _clock(drawing, (x, y), 25, turns)
            if row == 0:
                around = f"{2 * math.pi / omega:.0f}"
                drawing.text((x, y - 40), around, "muted", size=13)
    return drawing


def _clock(
    drawing: Drawing, middle: Point, radius: float, turns: list[tuple[float, str, bool]]
) -> None:
    """A dial, and hands at angles clockwise from twelve o'clock, in their roles, dashed or not."""
    drawing.circle(middle, radius, "muted")
    for angle, role, dashed in turns:
        tip = middle[0] + radius * math.sin(angle), middle[1] - radius * math.cos(angle)
        drawing.line([middle, tip], role, arrow=not dashed, dashed=dashed, width=2.2)


def _radians(angle: float) -> str:
    """Write an angle as short as it is exact."""
    return f"{angle:.2f}".rstrip("0").rstrip(".")
