"""The drawings of the chapter on depth; their numbers are those of its example by hand."""

from __future__ import annotations

from itertools import pairwise

import torch

from tools.drawings.kit import Area, Drawing, Matrix, Point, chain
from transformer_ref.experiments.depth import (
    ASKED_AT,
    LETTERS,
    NAMES,
    TOKENS,
    by_hand,
    reach,
    recall_batch,
)

# The softmax leaves the other keys less than a thousandth; the drawings round that away.
STEP = {
    name: tensor.round(decimals=1 if "products" in name else 2).tolist()
    for name, tensor in by_hand().items()
}
CELL, WEIGHT = (34.0, 26.0), (44.0, 26.0)


def drawings() -> dict[str, Drawing]:
    """Return the drawings by name."""
    return {
        "question": question(),
        "previous-token": previous_token(),
        "previous-token-narrow": previous_token(narrow=True),
        "induction": induction(),
        "induction-narrow": induction(narrow=True),
        "hidden": hidden(),
        "path": path(),
        "receptive-field": receptive_field(),
    }


def question() -> Drawing:
    """A text that goes on as it did before, in three steps: find, step right, read."""
    drawing, middle, pitch = Drawing(), 70.0, 48.0
    places = []
    for number, letter in enumerate("cakbda?"):
        role = {1: "key", 2: "value", 5: "query", 6: "lit"}.get(number, "muted")
        area = Area(pitch * number, middle, 36, 36)
        drawing.box(area, role=role)
        drawing.text(area.at(0.5, 0.5), letter, role, size=18, style="bold")
        places.append(area)
    first, after, last, asked = (places[number] for number in (1, 2, 5, 6))
    start, end = last.at(0.5, 0), first.at(0.5, 0)
    x, y = drawing.curve(
        start, (start[0], 10), (end[0], 10), (end[0], end[1] - 8), "query", width=2
    )
    drawing.line([(end[0], end[1] - 9), end], "query", arrow=True, width=2)
    drawing.text((x, y - 13), "1. find the a before", "query", size=13)
    drawing.line([first.at(1, 0.5), after.at(0, 0.5)], "key", arrow=True, width=2)
    start, end = after.at(0.5, 1), asked.at(0.5, 1)
    x, y = drawing.curve(
        start, (start[0], 166), (end[0], 166), (end[0], end[1] + 8), "value", width=2
    )
    drawing.line([(end[0], end[1] + 9), end], "value", arrow=True, width=2)
    drawing.text((x, y + 15), "3. say what is there", "value", size=13)
    drawing.text((first.at(0.5, 0)[0] - 66, 140), "2. one to the right", "key", size=13,
                 anchor="start")  # fmt: skip
    drawing.line([(90.0, 131.0), (90.0, 94.0)], "key", width=1)
    return drawing


def previous_token(narrow: bool = False) -> Drawing:
    """Layer 0 by hand: each token looks at the one before it."""
    return chain(
        (
            Matrix("products of places", STEP["back_products"], "query", "scale, mask,\nsoftmax",
                   TOKENS, CELL),
            Matrix("weights", STEP["back_weights"], "key", "times\nletters", TOKENS, CELL, True),
            Matrix("the letter before", STEP["before"], "value", "", LETTERS, CELL),
        ),
        TOKENS, narrow,
    )  # fmt: skip


def induction(narrow: bool = False) -> Drawing:
    """Layer 1 by hand: each token looks for one that has its own letter before it."""
    return chain(
        (
            Matrix("products", STEP["products"], "query", "scale, mask,\nsoftmax", TOKENS, CELL),
            Matrix("weights", STEP["weights"], "key", "times\nletters", TOKENS, WEIGHT, True),
            Matrix("what followed", STEP["found"], "value", "", LETTERS, WEIGHT),
        ),
        TOKENS, narrow,
    )  # fmt: skip


def hidden() -> Drawing:
    """Where the weight of the last letter goes, and which keys its answer needs: by cells.

    The page asserts that the trained model does the same; a drawing has no trained numbers.
    """
    torch.manual_seed(0)
    ids, _, answer_at = recall_batch(1)
    asks = ASKED_AT[0]
    followed = int(answer_at[0, asks])
    letters = [NAMES[i] for i in ids[0, : asks + 1].tolist()]
    maps = (
        (f"most weight from\nthe last {letters[-1]}", "key", {(asks - 1, 0), (followed, 1)}),
        ("hidden, it changes\nthe answer", "lit", {(followed - 1, 0), (followed, 1)}),
    )
    drawing, (width, height) = Drawing(), (66.0, 22.0)
    for number, (title, role, marked) in enumerate(maps):
        left = 40 + number * (2 * width + 24)
        drawing.text((left + width, -48), title, role, style="bold")
        for layer in (0, 1):
            drawing.text((left + (layer + 0.5) * width, -12), f"layer {layer}", "muted", size=13)
            for place in range(len(letters)):
                area = Area(left + layer * width, place * height, width, height)
                strength = 0.55 if (place, layer) in marked else 0.05
                drawing.box(area, "", role, kind="box cell", opacity=strength)
                if (place, layer) in marked:
                    drawing.text(area.at(0.5, 0.5), "yes", size=13)
    for place, letter in enumerate(letters):
        drawing.text((30, (place + 0.5) * height), letter, "muted", anchor="end")
    return drawing


def path() -> Drawing:
    """The path of the letter b through three layers, to the token that asks for it."""
    drawing, text = Drawing(), "kbdakca"
    ways = (((0, 1), (3, 4)), ((1, 4), (4, 6)), ((4, 6),))  # what each layer brings, and where
    knows = [[("", letter, "") for letter in text]]
    knows.append([(text[max(i - 1, 0) : i], letter, "") for i, letter in enumerate(text)])
    knows.append([*knows[1][:4], ("a", "k", "b"), knows[1][5], ("c", "a", "k")])
    knows.append([*knows[2][:6], ("c", "a", "b")])
    on_path = ({0, 1, 3, 4, 6}, {1, 4, 6}, {4, 6}, {6})
    rows = []
    for level, row in enumerate(knows):
        y = 96.0 * level
        if level:
            drawing.text((0, y - 31), f"layer {level - 1}", "lit", anchor="start", style="bold",
                         size=13)  # fmt: skip
        areas = []
        for i, known in enumerate(row):
            area = Area(52 + 43.0 * i, y, 39, 32)
            lit = i in on_path[level]
            drawing.box(area, role="lit" if lit else "muted")
            for across, letter, role in zip((0.17, 0.5, 0.83), known, _roles(lit), strict=True):
                if letter:
                    style = "bold" if across == 0.5 else ""
                    drawing.text(area.at(across, 0.5), letter, role, style=style, size=14)
            areas.append(area)
        rows.append(areas)
    for (above, below), pairs in zip(pairwise(rows), ways, strict=True):
        for here, there in zip(above, below, strict=True):
            drawing.line([here.at(0.5, 1), there.at(0.5, 0)], "residual", width=1.2)
        for start, end in pairs:
            way = [above[start].at(0.6, 1), below[end].at(0.25, 0)]
            drawing.line(way, "value", arrow=True, width=2.5)
    drawing.text((0, 16), "input", "muted", anchor="start", size=13)
    drawing.text((0, 304), "output", "muted", anchor="start", size=13)
    return drawing


def _roles(lit: bool) -> tuple[str, str, str]:
    """Return the roles of the letter before, of the token itself, and of what followed."""
    return ("key", "ink", "value") if lit else ("muted", "muted", "muted")


def receptive_field() -> Drawing:
    """What one output sees through three convolutions with kernel 3."""
    drawing, letters = Drawing(), "beginning"
    seen = reach(3, 3)[::-1]
    middle, rows = len(letters) // 2, []
    for level, places in enumerate(seen):
        y, points = 20 + 74.0 * level, []
        for i, letter in enumerate(letters):
            at: Point = (16 + 31.0 * i, y)
            lit = i - middle in places
            drawing.circle(at, 12, "lit" if lit else "muted")
            if level == 0:
                drawing.text(at, letter, "lit" if lit else "muted", style="bold" if lit else "")
            points.append(at)
        rows.append(points)
        count = f"{len(places)} token{'s' * (len(places) > 1)}"
        drawing.text((286, y), count, "lit", size=13, anchor="start")
        if level:
            drawing.text((286, y - 37), f"layer {level - 1}", "muted", size=13, anchor="start")
    for (above, below), places in zip(pairwise(rows), seen[1:], strict=True):
        for place in places:
            x, y = below[middle + place]
            for start_x, start_y in above[middle + place - 1 : middle + place + 2]:
                drawing.line([(start_x, start_y + 13), (x, y - 13)], "source", width=1.2)
    return drawing
