"""The drawings of the page "The Transformer today"; their numbers are its examples by hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tools.drawings.kit import Area, Drawing, Point, true_minus
from transformer_ref.experiments.where_next import (
    ANSWERS,
    CARD_BYTES,
    KNIGHTED,
    KNIGHTEN,
    NEXT_WORDS,
    PLACES,
    PUBLISHED,
    QUANTIZED_BYTES,
    WEIGHT_BYTES,
    acceptance_by_hand,
    gate_by_hand,
    resources,
    rotary_by_hand,
    router_by_hand,
    writing,
)

CELL = (46.0, 24.0)


def drawings() -> dict[str, Drawing]:
    """Return the drawings by name."""
    return {
        "then-and-now": then_and_now(),
        "rotary": rotary(),
        "grouped": grouped(),
        "gate": gate(),
        "card": card(),
        "speculate": speculate(),
        "accept": accept(),
        "experts": experts(),
    }


def then_and_now() -> Drawing:
    """A layer of 2017 beside one of today; what has changed is lit."""
    drawing = Drawing()
    _layer(
        drawing,
        0,
        "2017",
        "embedding\n+ positions",
        ("masked self-\nattention", "feed-forward,\nReLU"),
    )
    parts = "masked self-\nattention,\nrotary, grouped", "feed-forward,\nSwiGLU"
    _layer(drawing, 182, "today", "embedding", parts, before="RMSNorm")
    return drawing


def _layer(
    drawing: Drawing, x: float, title: str, first: str, sublayers: tuple[str, str], before: str = ""
) -> None:
    """Draw the residual stream as one line from top to bottom, and two sublayers to its right.

    Args:
        drawing: where.
        x: the left edge.
        title: above the layer.
        first: what the stream begins with.
        sublayers: their names.
        before: a norm in front of each sublayer; if there is none, one on the stream after each.
    """
    stream, middle = x + 22, x + 108
    role = "lit" if before else "ink"
    drawing.text((x + 83, 0), title, style="bold")
    on_stream = [drawing.box(Area(x, 16, 166, 42), first, role, size=13)]
    for label, top in zip(sublayers, (66.0 if before else 74.0, 204.0), strict=True):
        high = 58.0 if label.count("\n") > 1 else 42.0
        box = Area(x + 52, top + (44 if before else 24), 114, high)
        enters = box.y
        if before:
            norm = drawing.box(Area(box.x, top + 8, 114, 24), before, role, size=13)
            drawing.line([(middle, norm.bottom), (middle, box.y)], "muted", arrow=True)
            enters = norm.y
        drawing.line([(stream, top), (middle, top), (middle, enters)], "muted", arrow=True)
        drawing.box(box, label, role, size=13)
        added = box.bottom + 14
        drawing.line(
            [(middle, box.bottom), (middle, added), (stream + 12, added)], "muted", arrow=True
        )
        on_stream.append(drawing.box(Area(stream - 12, added - 10, 24, 20), "+", "residual"))
        if not before:
            on_stream.append(drawing.box(Area(x, added + 22, 44, 24), "norm", "residual", size=13))
    for above, below in pairwise([*on_stream, Area(x, 344, 44, 0)]):
        ends = [(stream, above.bottom), (stream, below.y)]
        drawing.line(ends, "residual", arrow=below.y == 344, width=3)


def rotary() -> Drawing:
    """A query and a key, not turned, and turned by two pairs of places at one distance."""
    drawing = Drawing()
    unit = 21.0
    for number, (places, step) in enumerate(zip(PLACES, rotary_by_hand(), strict=True)):
        x, y = 52.0 + 118 * number, 92.0
        title = "not turned" if number == 0 else f"query at {places[0]},\nkey at {places[1]}"
        drawing.text((x, 10), title, size=13, style="bold")
        drawing.circle((x, y), unit * 5**0.5, "muted")
        for name in ("key", "query"):
            across, up = step[name].tolist()
            tip: Point = (x + unit * across, y - unit * up)
            drawing.line([(x, y), tip], name, arrow=True, width=2.4)
            far = 14 / (across**2 + up**2) ** 0.5
            drawing.text((tip[0] + far * across, tip[1] - far * up), name[0], name, style="bold")
        for row, name in enumerate(("query", "key")):
            numbers = ", ".join(f"{value:.2f}".rstrip("0").rstrip(".") for value in step[name])
            numbers = true_minus(numbers)
            drawing.text((x, 164 + 20 * row), f"{name[0]} = {numbers}", name, size=12)
        product = f"{step['product'].item():.2f}".removesuffix(".00")
        drawing.text((x, 208), f"q · k = {product}", style="bold", size=13)
    return drawing


def grouped() -> Drawing:
    """Four heads with four, two and one set of keys and values."""
    drawing = Drawing()
    for number, (name, sets) in enumerate((("multi-head", 4), ("grouped", 2), ("multi-query", 1))):
        x = 122.0 * number
        drawing.text((x + 50, 0), name, size=13, style="bold")
        for head in range(4):
            top = drawing.box(Area(x + 26 * head, 22, 22, 24), "Q", "query", size=13)
            at = x + 50 + 104 / sets * (head * sets // 4 - (sets - 1) / 2)
            drawing.line([top.at(0.5, 1), (at, 84)], "muted")
        for group in range(sets):
            at = x + 50 + 104 / sets * (group - (sets - 1) / 2)
            drawing.box(Area(at - 11, 84, 22, 24), "K", "key", size=13)
            drawing.box(Area(at - 11, 112, 22, 24), "V", "value", size=13)
        words = "keep 8 vectors", "keep 4 vectors", "keep 2 vectors"
        drawing.text((x + 50, 156), words[number], "muted", size=12)
    return drawing


def gate() -> Drawing:
    """One token through the feed-forward network with a gate."""
    drawing, step = Drawing(), {name: value.tolist() for name, value in gate_by_hand().items()}
    x = drawing.grid((126, 22), [step["x"]], "residual", cell=CELL)
    drawing.text((172, 8), "one token x", "residual", size=13, style="bold")
    opened = drawing.grid((0, 104), [step["gate"]], "query", cell=CELL)
    up = drawing.grid((206, 104), [step["up"]], "value", cell=CELL)
    drawing.text((69, 90), "the gate: x W_1", "query", size=13)
    drawing.text((275, 90), "the content: x W_3", "value", size=13)
    for place in (opened, up):
        drawing.line([x.at(0.5, 1), (place.at(0.5, 0)[0], 78)], "muted", arrow=True)
    silu = drawing.grid((0, 176), [step["open"]], "query", cell=CELL)
    drawing.arrow((69, opened.bottom + 4), (69, silu.y - 4), "SiLU")
    product = drawing.grid((103, 254), [step["product"]], "ink", cell=CELL)
    drawing.text((172, 240), "times, unit by unit", size=13)
    for place, target in ((silu, 110.0), (up, 234.0)):
        drawing.line([place.at(0.5, 1), (target, 228)], "muted", arrow=True)
    output = drawing.grid((126, 320), [step["output"]], "residual", cell=CELL)
    drawing.arrow((172, product.bottom + 4), (172, output.y - 4), "times W_2")
    drawing.text((226, 332), "output", "residual", size=13, anchor="start")
    return drawing


LEFT = 116.0  # where the bars of a card begin
LEFT_OF_PASS = 44.0  # where the tokens of a pass begin


def card() -> Drawing:
    """Where memory and time go when one card trains a model, or writes with it."""
    drawing, sizes = Drawing(), PUBLISHED["Llama 3 8B"]
    names = (("weights", "query", 0), ("caches", "value", 74), ("training only", "muted", 142))
    for name, role, x in names:
        drawing.box(Area(x, 0, 12, 12), "", role)
        drawing.text((x + 17, 6), name, role, size=12, anchor="start")
    drawing.box(Area(262, 3, 12, 6), "", "lit", kind="box cell")
    drawing.text((279, 6), "computing", "lit", size=12, anchor="start")
    rows = [
        (f"{texts} text{'s' * (texts > 1)}", bits, writing(sizes, texts, weight_bytes=each))
        for texts in (1, 64)
        for bits, each in (("16 bits", WEIGHT_BYTES), ("4 bits", QUANTIZED_BYTES))
    ]

    drawing.text((0, 36), "memory in GB", style="bold", anchor="start")
    takes, pixels = resources(sizes), 1.45
    parts = [size / 1e9 for size in (takes.weights, takes.optimizer, takes.gradients)]
    _bars(drawing, 50, "training", "", parts, pixels, ("query", "muted", "muted"))
    for number, (name, bits, each) in enumerate(rows):
        parts = [each["weights"] / 1e9, each["caches"] / 1e9]
        _bars(drawing, 74 + 24.0 * number, name, bits, parts, pixels)
    edge = LEFT + pixels * CARD_BYTES / 1e9
    drawing.line([(edge, 46), (edge, 168)], "lit", dashed=True)
    words = f"the card: {CARD_BYTES / 1e9:.0f}"
    drawing.text((edge + 6, 155), words, "lit", size=12, anchor="start")

    drawing.text((0, 196), "a pass in ms: writing", style="bold", anchor="start")
    for number, (name, bits, each) in enumerate(rows):
        _pass(drawing, 210 + 34.0 * number, name, bits, each)

    drawing.text((0, 362), "a pass in ms: a prompt of 1,024 tokens", style="bold", anchor="start")
    read = writing(sizes, 1024, tokens=0)  # each of its tokens is computed, as one of each text
    _pass(drawing, 376, "1 text", "16 bits", read)
    return drawing


def _pass(drawing: Drawing, y: float, name: str, note: str, each: dict[str, float]) -> None:
    """Draw the milliseconds that a pass reads and, below them, those that it computes."""
    pixels = 10.0
    parts = [1000 * each["reading weights"], 1000 * each["reading caches"]]
    _bars(drawing, y, name, note, parts, pixels, digits=1)
    computing = 1000 * each["computing"]
    drawing.box(Area(LEFT, y + 20, max(1.0, pixels * computing), 6), "", "lit", kind="box cell")
    shown = f"{computing:.0f}" if computing > 10 else f"{computing:.{1 if computing > 1 else 2}f}"
    at = LEFT + pixels * computing + 6, y + 26
    drawing.text(at, shown, "lit", size=12, anchor="start")


def _bars(
    drawing: Drawing,
    y: float,
    name: str,
    note: str,
    parts: Sequence[float],
    pixels: float,
    roles: Sequence[str] = ("query", "value"),
    *,
    digits: int = 0,
) -> None:
    """Draw bars that continue each other, and their sum.

    Args:
        drawing: where.
        y: the upper edge.
        name: to their left.
        note: after the name.
        parts: what the bars show.
        pixels: for each 1 of a part.
        roles: of the bars.
        digits: after the point, in a bar that has room for its number.
    """
    drawing.text((0, y + 9), name, size=12, anchor="start")
    drawing.text((LEFT - 6, y + 9), note, "muted", size=12, anchor="end")
    x = LEFT
    for part, role in zip(parts, roles, strict=True):
        if not part:
            continue
        number = f"{part:.{digits}f}"
        area = Area(x, y, pixels * part, 18)
        fits = area.width > 7 * len(number) + 4
        drawing.box(area, number if fits else "", role, size=12, kind="box cell")
        x = area.right
    drawing.text((x + 5, y + 9), f"{sum(parts):.1f}", size=12, anchor="start")


def speculate() -> Drawing:
    """The passes that say one word: what each reads, guesses among it, and what the model says."""
    drawing = Drawing()
    drawing.text((0, 0), "nearest word in the list: knighten", anchor="start", size=13)
    for place, token in enumerate(KNIGHTEN):
        drawing.box(Area(LEFT_OF_PASS + 54 * (place + 1), 12, 48, 26), token, "ink", size=13)
    known = "<bos>"
    for number, (guessed, said) in enumerate(KNIGHTED):
        y = 66.0 + 112.0 * number
        before = sum(len(answer) for _, answer in KNIGHTED[:number])
        drawing.text((0, y), f"pass {number + 1}", style="bold", anchor="start")
        # An answer to each token that is read; behind a wrong guess they are lost.
        answers = [*said, *"?" * (len(guessed) + 1 - len(said))]
        rows = (("reads", [known, *guessed], y + 16), ("says", answers, y + 60))
        for name, tokens, top in rows:
            drawing.text((0, top + 13), name, "muted", size=13, anchor="start")
            for place, token in enumerate(tokens):
                area = Area(LEFT_OF_PASS + 54.0 * (before + place), top, 48, 26)
                if name == "reads":
                    role = "muted" if place else "ink"  # a guess, or what is known
                else:
                    role = "lit" if place < len(said) else "muted"
                drawing.box(area, token, role, size=13 if len(token) < 4 else 12)
                if name == "says" and place < len(guessed):
                    # What is said here is compared with the guess that is read next.
                    sign = "=" if place < len(said) - 1 else "≠"
                    drawing.text((area.right + 3, top - 9), sign, size=13)
        known = said[-1]
    return drawing


def accept() -> Drawing:
    """The probabilities of draft and model, and which part of them a draw from the draft keeps."""
    step = {name: value.tolist() for name, value in acceptance_by_hand().items()}
    drawing = Drawing()
    labels = ("draft q", "model p", "kept: the smaller", "rest: p minus kept")
    values = [step[name] for name in ("draft", "model", "kept", "rest")]
    area = drawing.grid(
        (142, 30), values, "query", rows=labels, columns=NEXT_WORDS, cell=(50, 28), shade=True
    )
    for row, total in enumerate(sum(numbers) for numbers in values):
        drawing.text((area.right + 12, 44 + 28 * row), f"= {total:.1f}", size=13, anchor="start")
    return drawing


def experts() -> Drawing:
    """A router that sends one token to two of four experts."""
    drawing = Drawing()
    step = {name: value.tolist() for name, value in router_by_hand().items()}
    x = drawing.grid((126, 22), [step["x"]], "residual", cell=CELL)
    drawing.text((172, 8), "one token x", "residual", size=13, style="bold")
    router = drawing.grid((0, 92), [step["scores"]], "query", cell=(86, 24))
    drawing.line([x.at(0.5, 1), (172, 86)], "muted", arrow=True)
    drawing.text((180, 68), "router: x W_r", "query", size=13, anchor="start")
    output = Area(126, 252, 92, 24)
    for expert in range(4):
        used = expert in step["chosen"]
        role, middle = ("lit" if used else "muted"), 86.0 * expert + 43
        box = drawing.box(Area(86.0 * expert + 4, 150, 78, 28), f"expert {expert}", role, size=13)
        if not used:
            continue
        weight = step["weights"][step["chosen"].index(expert)]
        answer = ", ".join(f"{number:.0f}" for number in ANSWERS[expert])
        drawing.line([(middle, router.bottom), (middle, box.y)], "lit", arrow=True)
        drawing.text((middle, 194), f"{weight:.2f} times ({answer})", "lit", size=12)
        end = output.at(0.44 if expert == 1 else 0.56, 0)
        drawing.line([(middle, 204), end], "lit", arrow=True)
    drawing.grid((output.x, output.y), [step["output"]], "residual", cell=CELL)
    drawing.text((output.right + 8, 264), "output", "residual", size=13, anchor="start")
    return drawing
