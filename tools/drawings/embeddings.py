"""The drawings of the chapter on embeddings; their numbers are those of its examples by hand."""

from __future__ import annotations

from tools.drawings.kit import Area, Drawing, Point
from transformer_ref.experiments import embeddings as example
from transformer_ref.experiments.embeddings import CENTER, LOOKED_UP, OTHERS, WORDS, by_hand

STEP = {name: tensor.tolist() for name, tensor in by_hand().items()}
WINDOW = 2
CELL = (36.0, 24.0)
SIGMA = "\N{GREEK SMALL LETTER SIGMA}"


def drawings() -> dict[str, Drawing]:
    """Return the drawings by name."""
    return {
        "company": company(),
        "look-up": look_up(),
        "gradient": gradient(),
        "window": window(),
        "update": update(),
        "pull-and-push": pull_and_push(),
        "both-ends": both_ends(),
    }


def company() -> Drawing:
    """Three lines of the text with the same word left out, and numbers that are sought for it."""
    drawing = Drawing()
    lines = (
        ("dependence on foreign", "is decreasing"),
        ("domestic production of", "and gas"),
        ("has reduced", "imports by 25 percent"),
    )
    for number, (left, right) in enumerate(lines):
        y = 30.0 * number
        drawing.text((158, y), left, size=13, anchor="end")
        drawing.box(Area(164, y - 11, 40, 22), "?", "lit")
        drawing.text((210, y), right, size=13, anchor="start")
    drawing.line([(184, 76), (184, 104)], "muted", arrow=True)
    drawing.grid((112, 108), [["?"] * 4], "lit", cell=(36, 26))
    drawing.text((104, 121), "its numbers", "muted", size=13, anchor="end")
    return drawing


def look_up() -> Drawing:
    """A one-hot vector beside the rows of a matrix: all rows but one are multiplied by zero."""
    drawing = Drawing()
    top, looked_up = 40.0, WORDS.index(LOOKED_UP)
    drawing.text((22, top - 14), "id", "muted", size=13)
    one_hot = [[value] for value in STEP["one_hot"]]
    ids = drawing.grid((94, top), one_hot, "source", title="one-hot", cell=CELL, lit=[looked_up])
    table = drawing.grid((186, top), STEP["E"], "residual", title="E", cell=CELL, lit=[looked_up])
    for number, word in enumerate(WORDS):
        y = top + (number + 0.5) * CELL[1]
        drawing.text((22, y), str(number), "muted", size=13)
        drawing.text((ids.x - 8, y), word, "muted", anchor="end")
        drawing.text(((ids.right + table.x) / 2, y), "times", "muted", size=12)
    middle = table.at(0.5, 1)[0]
    drawing.line([(middle, table.bottom + 6), (middle, table.bottom + 34)], arrow=True)
    drawing.text((middle - 12, table.bottom + 19), "summed", "muted", size=13, anchor="end")
    row = drawing.grid((table.x, table.bottom + 38), [STEP["row"]], "residual", cell=CELL)
    drawing.text((row.x - 8, row.at(0, 0.5)[1]), f"embedding of “{LOOKED_UP}”", anchor="end")
    start = table.at(1, (looked_up + 0.5) / len(WORDS))
    corner = table.right + 26
    drawing.line(
        [(start[0] + 4, start[1]), (corner, start[1]), (corner, row.at(0, 0.5)[1]),
         (row.right + 4, row.at(0, 0.5)[1])],
        "lit", arrow=True,
    )  # fmt: skip
    drawing.text((corner + 6, table.bottom - 12), "or\ncopy", "lit", size=13, anchor="start")
    return drawing


def gradient() -> Drawing:
    """The gradient of three look-ups, and the table after a step: two rows have moved."""
    drawing = Drawing()
    lit = sorted({WORDS.index(word) for word in example.READ})
    cell = (46.0, 24.0)
    left = drawing.grid(
        (52, 30), STEP["gradient"], "source", title="gradient", rows=WORDS, cell=cell, lit=lit
    )
    right = drawing.grid(
        (left.right + 34, 30), STEP["E_after"], "residual", title="E after the step", cell=cell,
        lit=lit,
    )  # fmt: skip
    drawing.line([(left.right + 6, left.at(0, 0.5)[1]), (right.x - 6, left.at(0, 0.5)[1])],
                 "muted", arrow=True)  # fmt: skip
    return drawing


def window() -> Drawing:
    """Each word in turn is the center, and the words up to two places away are its context."""
    drawing = Drawing()
    width, height = 52.0, 26.0
    for center in range(len(WORDS)):
        y = (height + 10) * center
        pairs = 0
        for place, word in enumerate(WORDS):
            area = Area(place * (width + 4), y, width, height)
            if place == center:
                drawing.box(area, word, "lit", size=13)
            elif abs(place - center) <= WINDOW:
                drawing.box(area, word, "target", size=13)
                pairs += 1
            else:
                drawing.text(area.at(0.5, 0.5), word, "muted", size=13)
        drawing.text(
            (5 * (width + 4) + 4, y + height / 2), f"{pairs} pairs", size=13, anchor="start"
        )
    bottom = (height + 10) * len(WORDS) + 12
    for x, label, role in ((0.0, "center", "lit"), (112.0, "context", "target")):
        drawing.box(Area(x, bottom - 8, 24, 16), "", role)
        drawing.text((x + 32, bottom), label, role, size=13, anchor="start")
    return drawing


def update() -> Drawing:
    """One update: scores, sigmoids, errors, and the center's vector after the step."""
    drawing = Drawing()
    drawing.grid((62, 0), [STEP["v"]], "lit", rows=[CENTER], cell=CELL)
    drawing.text((144, 12), "v, the center", "lit", size=13, anchor="start")
    top = 72.0
    for text, x in (
        ("u", 98), ("score\nv · u", 160), (SIGMA, 209), ("real?", 254), ("error", 310),
    ):  # fmt: skip
        drawing.text((x, top - 20), text, "target" if text == "u" else "ink", size=13, style="bold")
    for row, word in enumerate(OTHERS):
        y = top + row * 32
        drawing.grid((62, y), [STEP["u"][row]], "target", rows=[word], cell=CELL)
        numbers = (STEP["scores"][row], STEP["sigmoids"][row], STEP["real"][row])
        for x, number, digits in zip((160, 209, 254), numbers, (0, 2, 0), strict=True):
            drawing.text((x, y + 12), f"{number:.{digits}f}", size=13, style="fixed")
        drawing.grid((286, y), [[STEP["errors"][row]]], "mask", cell=(48, 24))
    bottom = top + 3 * 32
    drawing.line([(98, bottom), (98, bottom + 26)], arrow=True)
    drawing.text(
        (112, bottom + 13), "minus 0.5 · error · u, for each", "muted", size=13, anchor="start"
    )
    drawing.grid((62, bottom + 30), [STEP["v_after"]], "lit", rows=[CENTER], cell=(48, 24))
    drawing.text((168, bottom + 42), "v after the step", "lit", size=13, anchor="start")
    return drawing


def pull_and_push() -> Drawing:
    """The vectors of the update in the plane, before and after."""
    drawing = Drawing()
    unit = 48.0
    for number, (title, ending) in enumerate((("before", ""), ("after", "_after"))):
        origin: Point = (70.0 + 176 * number, 130.0)
        across, down = origin
        drawing.line([(across - 66, down), (across + 92, down)], "muted", width=0.8)
        drawing.line(
            [(origin[0], origin[1] + 16), (origin[0], origin[1] - 106)], "muted", width=0.8
        )
        drawing.text((origin[0] + 13, origin[1] + 58), title, style="bold")
        vectors = {CENTER: STEP[f"v{ending}"]}
        vectors |= dict(zip(OTHERS, STEP[f"u{ending}"], strict=True))
        for word, (x, y) in vectors.items():
            tip = (origin[0] + unit * x, origin[1] - unit * y)
            role = "lit" if word == CENTER else "target"
            drawing.line([origin, tip], role, arrow=True, width=2)
            down = 13 if (word == CENTER and number) or (word == "peace" and not number) else -11
            across = 18 if word == "peace" else 0
            drawing.text((tip[0] + across, tip[1] + down), word, role, size=12)
    return drawing


def both_ends() -> Drawing:
    """One matrix: a row of it is looked up, and a hidden vector is compared with all rows."""
    drawing = Drawing()
    top = 66.0
    table = drawing.grid((100, top), STEP["E"], "residual", title="E", rows=WORDS, cell=CELL)
    read = WORDS.index("must")
    y = table.at(0, (read + 0.5) / len(WORDS))[1]
    drawing.text((0, 10), "input: id 1", "source", size=13, anchor="start")
    drawing.text((0, 28), "looks up a row", "muted", size=13, anchor="start")
    drawing.line([(16, 40), (16, y), (44, y)], "source", arrow=True)
    drawing.text((244, 10), "output: h", "target", size=13, style="bold")
    drawing.grid((256, 20), [STEP["hidden"]], "target", cell=(28, 24))
    scores = drawing.grid(
        (278, top), [[number] for number in STEP["logits"]], "target", cell=(40, 24)
    )
    for number in range(len(WORDS)):
        y = table.at(0, (number + 0.5) / len(WORDS))[1]
        drawing.line([(table.right + 4, y), (scores.x - 4, y)], "target", arrow=True, width=1)
    drawing.text((scores.at(0.5, 1)[0], scores.bottom + 14), "scores", "target", size=13)
    drawing.text((scores.x - 8, scores.bottom + 14), "row · h:", "muted", size=13, anchor="end")
    return drawing
