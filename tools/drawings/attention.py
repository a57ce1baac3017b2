"""The drawings of the chapter on attention; their numbers are those of its example by hand."""

from __future__ import annotations

from tools.drawings.kit import Area, Drawing, Matrix, chain
from transformer_ref.experiments.attention import WORDS, by_hand

STEP = {name: tensor.tolist() for name, tensor in by_hand().items()}
SENTENCE = ("The", "cat", "sat", "down", "because", "it", "was", "tired")
PAIR = (36.0, 24.0)  # a cell where two features stand side by side
NARROW_PAIR = (30.0, 24.0)
SQUARE = (48.0, 24.0)  # a cell of what every word has with every other


def drawings() -> dict[str, Drawing]:
    """Return the drawings by name."""
    return {
        "pronoun": pronoun(),
        "look-up": look_up(),
        "three-projections": three_projections(),
        "scores-to-output": scores_to_output(),
        "scores-to-output-narrow": scores_to_output(narrow=True),
        "heads": heads(),
        "three-places": three_places(),
        "three-places-narrow": three_places(narrow=True),
    }


def pronoun() -> Drawing:
    """A sentence, and curves from its pronoun to the words that it attends to."""
    drawing = Drawing()
    weights = dict(zip(WORDS, STEP["weights"][2], strict=True))
    x, base, places = 0.0, 132.0, {}
    for word in SENTENCE:
        width = 10.0 * len(word)
        places[word] = x + width / 2
        drawing.text(
            (places[word], base + 16), word, "ink" if word in weights else "muted", size=18
        )
        x += width + 13
    it = places["it"]
    for word, weight in weights.items():
        end, width = places[word], 1 + 12 * weight
        if word == "it":
            start, pull, push, stop = (
                (it + 5, base),
                (it + 70, base - 80),
                (it, base - 80),
                (it, base),
            )
        else:
            height = 1.3 * (base - 12 if word == "cat" else 62)
            start, pull, push, stop = (
                (it - 5, base),
                (it - 20, base - height),
                (end, base - height),
                (end, base),
            )
        top = drawing.curve(start, pull, push, stop, "query", width=width)
        side = -1 if word == "cat" else 1
        label = (top[0], top[1] + side * (width / 2 + 11))
        if word == "it":
            label = (top[0] + 24, top[1] - 12)
        drawing.text(label, f"{weight:.2f}", "query", style="bold")
    return drawing


def look_up() -> Drawing:
    """One query against three keys: products, weights, and the mean of the values."""
    drawing = Drawing()
    query, keys, values = STEP["Q"][2], STEP["K"], STEP["V"]
    drawing.grid((38, 0), [query], "query", rows=["it"], cell=NARROW_PAIR)
    drawing.text((106, 12), "the query: what “it” looks for", "query", size=13, anchor="start")
    top = 74.0
    for text, x, role in (
        ("keys", 68, "key"), ("q · k", 130, "ink"), ("weights", 213, "ink"),
        ("values", 310, "value"),
    ):  # fmt: skip
        drawing.text((x, top - 16), text, role, size=13, style="bold")
    for row, word in enumerate(WORDS):
        y = top + row * 34
        numbers = {name: STEP[name][2][row] for name in ("products", "weights")}
        drawing.grid((38, y), [keys[row]], "key", rows=[word], cell=NARROW_PAIR)
        drawing.text((130, y + 12), f"{numbers['products']:.0f}", size=13, style="fixed")
        drawing.box(
            Area(176, y + 3, max(2, 60 * numbers["weights"]), 18), "", "query", opacity=0.45
        )
        drawing.text(
            (232, y + 12), f"{numbers['weights']:.2f}", size=13, style="fixed", anchor="start"
        )
        drawing.grid((280, y), [values[row]], "value", cell=NARROW_PAIR)
    bottom = top + 3 * 34
    drawing.line([(310, bottom - 4), (310, bottom + 20)], "value", arrow=True)
    drawing.text((298, bottom + 8), "weight times value, summed", "muted", size=13, anchor="end")
    drawing.grid((244, bottom + 24), [STEP["output"][2]], "value", cell=(48, 24))
    drawing.text((236, bottom + 36), "output of “it”", anchor="end")
    return drawing


def three_projections() -> Drawing:
    """The vectors of the words times three matrices: queries, keys and values."""
    drawing = Drawing()
    x = drawing.grid((30, 134), STEP["X"], "residual", title="X", rows=WORDS, cell=PAIR)
    for number, (letter, role) in enumerate((("q", "query"), ("k", "key"), ("v", "value"))):
        y = 20.0 + 114 * number
        matrix = drawing.grid(
            (132, y + 12), STEP[f"W_{letter}"], role, title=f"W_{letter}", cell=PAIR
        )
        result = drawing.grid((248, y), STEP[letter.upper()], role, title=letter.upper(), cell=PAIR)
        drawing.arrow(x.at(1, 0.5), (128, matrix.at(0, 0.5)[1]), role=role)
        drawing.arrow((208, matrix.at(0, 0.5)[1]), (244, matrix.at(0, 0.5)[1]), role=role)
        drawing.text((226, matrix.at(0, 0.5)[1] - 12), f"X W_{letter}", role, size=12)
        for row, word in enumerate(WORDS):
            drawing.text((result.right + 6, y + 12 + 24 * row), word, "muted", anchor="start")
    return drawing


def scores_to_output(narrow: bool = False) -> Drawing:
    """From queries, keys and values to the output, matrix by matrix."""
    products, weights, output = (STEP[name] for name in ("products", "weights", "output"))
    matrices = (
        Matrix("products Q Kᵀ", products, "ink", "softmax\nby row", WORDS, SQUARE),
        Matrix("weights", weights, "query", "times V", WORDS, SQUARE, shade=True),
        Matrix("output", output, "value", cell=(50, 24)),
    )
    return chain(matrices, WORDS, narrow)


def heads() -> Drawing:
    """Four features, cut into two heads; each has its own map; the results are joined."""
    drawing = Drawing()
    names = (("head 0", "lit"), ("head 1", "muted"))
    cell = (30.0, 18.0)
    blank = [["", ""]] * 3
    for number, (_, role) in enumerate(names):
        drawing.grid((100 + 60 * number, 24), blank, role, cell=cell)
    for row, word in enumerate(WORDS):
        drawing.text((92, 33 + 18 * row), word, "muted", anchor="end")
    drawing.text((160, 10), "queries, keys, values: 4 features each", "ink", size=13)
    maps = (STEP["weights"], [[0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.1, 0.6, 0.3]])
    for number, (name, role) in enumerate(names):
        x = 52.0 + 132 * number
        drawing.line([(130 + 60 * number, 80), (x + 42, 106)], role, arrow=True)
        drawing.text((x + 42, 120), name, role, style="bold")
        for row, weights in enumerate(maps[number]):
            for column, weight in enumerate(weights):
                place = Area(x + 28 * column, 134 + 20 * row, 28, 20)
                drawing.box(place, "", role, kind="box cell", opacity=0.05 + 0.75 * weight)
        drawing.line([(x + 42, 198), (130 + 60 * number, 224)], role, arrow=True)
        drawing.grid((100 + 60 * number, 228), blank, role, cell=cell)
    drawing.text(
        (276, 164), "its own\nweights, times\nits values", "muted", size=13, anchor="start"
    )
    drawing.text((228, 255), "joined", "muted", size=13, anchor="start")
    drawing.line([(160, 284), (160, 308)], arrow=True)
    drawing.text((172, 295), "times W_o mixes the heads", "muted", size=13, anchor="start")
    drawing.grid((100, 312), [[""] * 4] * 3, "residual", cell=cell)
    drawing.text((228, 339), "output", "muted", size=13, anchor="start")
    return drawing


def three_places(narrow: bool = False) -> Drawing:
    """The same module in three places; only where queries, keys and values come from differs."""
    drawing = Drawing()
    places = (
        ("encoder self-attention", ("letters", "source"), ("letters", "source"), "all letters"),
        (
            "decoder self-attention",
            ("phonemes", "target"),
            ("phonemes", "target"),
            "itself and earlier",
        ),
        ("cross-attention", ("phonemes", "target"), ("memory", "memory"), "all letters"),
    )
    for number, (title, (asking, asks), (asked, answers), seen) in enumerate(places):
        x, y = (0.0, 176.0 * number) if narrow else (232.0 * number, 0.0)
        drawing.text((x + 100, y), title, style="bold")
        left = drawing.box(Area(x, y + 110, 84, 34), asking, asks)
        right = drawing.box(Area(x + 116, y + 110, 84, 34), asked, answers)
        module = drawing.box(Area(x + 10, y + 40, 180, 34), f"may see {seen}", "ink", size=13)
        drawing.line([left.at(0.5, 0), (left.at(0.5, 0)[0], module.bottom)], "query", arrow=True)
        drawing.text((left.at(0.5, 0)[0] - 12, y + 93), "Q", "query", style="bold")
        for across, letter, role in ((0.3, "K", "key"), (0.75, "V", "value")):
            start = right.at(across, 0)
            drawing.line([start, (start[0], module.bottom)], role, arrow=True)
            drawing.text((start[0] - 11, y + 93), letter, role, style="bold")
        drawing.line([(x + 100, module.y), (x + 100, y + 14)], "ink", arrow=True)
    return drawing
