"""The drawings of the capstone: its pipeline, its split, its scores, its seeds."""

from __future__ import annotations

from statistics import mean

from tools.drawings.kit import Area, Drawing
from transformer_ref.data import split_bucket
from transformer_ref.experiments.capstone.comparison import rates, runs_by_name
from transformer_ref.experiments.capstone.errors import (
    ALIGNED,
    LISTED,
    SAID,
    SPLIT_WORDS,
    nearest,
)
from transformer_ref.metrics import edit_distance


def drawings() -> dict[str, Drawing]:
    """Return the drawings by name."""
    return {
        "pipeline": pipeline(),
        "split": split(),
        "scores": scores(),
        "aligned": aligned(),
        "seeds": seeds(),
    }


def pipeline() -> Drawing:
    """From the dictionary to a score: learn on train, choose on dev, read test once."""
    drawing = Drawing()
    width, columns = 104.0, (0.0, 122.0, 244.0)
    dictionary = drawing.box(Area(94, 0, 160, 44), "dictionary:\nletters and phonemes", size=13)
    train, dev, test = (
        drawing.box(Area(x, 78, width, 30), name, role, size=13)
        for x, name, role in zip(columns, ("train", "dev", "test"), ("ink", "ink", "lit"),
                                 strict=True)
    )  # fmt: skip
    learn = drawing.box(Area(0, 150, width, 48), "train\na model", "residual", size=13)
    score = drawing.box(Area(122, 150, width, 48), "say the words,\nscore them", size=12)
    report = drawing.box(Area(244, 150, width, 48), "say the words,\nscore them", "lit", size=12)
    for area, x in ((train, 0.2), (dev, 0.5), (test, 0.8)):
        drawing.line([dictionary.at(x, 1), area.at(0.5, 0)], "muted", arrow=True)
    for above, below, role in ((train, learn, "ink"), (dev, score, "ink"), (test, report, "lit")):
        drawing.line([above.at(0.5, 1), below.at(0.5, 0)], role, arrow=True)
    drawing.line([learn.at(1, 0.5), score.at(0, 0.5)], arrow=True)
    drawing.line([score.at(1, 0.5), report.at(0, 0.5)], "lit", arrow=True, dashed=True)
    low = 224.0
    back = [score.at(0.5, 1), (score.at(0.5, 0)[0], low), (width / 2, low), learn.at(0.5, 1)]
    drawing.line(back, "residual", arrow=True)
    drawing.text((113, low + 20), "choose and try again,\nas often as you like", "residual",
                 size=12)  # fmt: skip
    drawing.text((report.at(0.5, 0)[0], low + 20), "once,\nat the very end", "lit", size=12)
    return drawing


def split() -> Drawing:
    """Five words, the hash of each as a number from 0 to 99, and the split that it leads to."""
    drawing = Drawing()
    scale, top, height, left = 3.4, 176.0, 24.0, 4.0
    rows = sorted((split_bucket(word), word) for word in SPLIT_WORDS)
    titles = ((70, "word"), (190, "hash mod 100"), (300, "split"))
    for x, title in titles:
        drawing.text((x, 0), title, "muted", size=13)
    for place, (number, word) in enumerate(rows):
        y = 22.0 + 24 * place
        name, role = _split_at(number)
        drawing.text((70, y), word, size=13, style="bold")
        drawing.text((190, y), str(number), size=13, style="fixed")
        drawing.text((300, y), name, role, size=13, style="bold")
    for first, last in ((0, 10), (10, 11), (11, 100)):
        name, role = _split_at(first)
        area = Area(left + first * scale, top, (last - first) * scale, height)
        drawing.box(area, "" if name == "dev" else name, role, size=12, kind="box cell")
    middle = left + 10.5 * scale
    drawing.line([(middle, top + height + 18), (middle, top + height)], "value")
    drawing.text((middle, top + height + 27), "dev: 10", "value", size=12)
    for number, words in ((0, "0"), (100, "99")):
        anchor = "start" if number == 0 else "end"
        drawing.text((left + number * scale, top - 11), words, "muted", size=12, anchor=anchor)
    for number, _ in rows:
        tick = left + (number + 0.5) * scale
        drawing.line([(tick, top - 7), (tick, top)], "ink")
    return drawing


def _split_at(number: int) -> tuple[str, str]:
    if number < 10:
        return "test", "lit"
    return ("dev", "value") if number == 10 else ("train", "source")


def scores() -> Drawing:
    """Three words: edits to the nearest listed pronunciation, its length, right or wrong."""
    drawing = Drawing()
    x_word, x_said, x_edits, x_length, x_wrong = 0.0, 62.0, 232.0, 284.0, 334.0
    for x, title in ((x_edits, "edits"), (x_length, "length"), (x_wrong, "wrong")):
        drawing.text((x, 0), title, "muted", size=12)
    y, sums = 24.0, [0, 0, 0]
    for word, said in SAID.items():
        drawing.text((x_word, y), word, "source", size=13, anchor="start", style="bold")
        drawing.text((x_said, y), f"says {' '.join(said)}", "target", size=12, anchor="start")
        near = nearest(said, LISTED[word])
        for variant in LISTED[word]:
            y += 21
            chosen = variant == near
            role = "ink" if chosen else "muted"
            text = f"listed {' '.join(variant)}"
            drawing.text((x_said, y), text, role, size=12, anchor="start")
            edits = edit_distance(said, variant)
            drawing.text((x_edits, y), str(edits), role, size=13, style="fixed")
            if chosen:
                row = (edits, len(variant), int(edits > 0))
                sums = [total + number for total, number in zip(sums, row, strict=True)]
                place = Area(x_edits - 14, y - 10, x_wrong + 14 - x_edits + 14, 20)
                drawing.box(place, "", "lit", opacity=0.0, kind="box cell")
                for x, number in ((x_length, row[1]), (x_wrong, row[2])):
                    drawing.text((x, y), str(number), size=13, style="fixed")
        y += 30
    drawing.line([(x_edits - 14, y - 14), (x_wrong + 14, y - 14)])
    for x, number in zip((x_edits, x_length, x_wrong), sums, strict=True):
        drawing.text((x, y), str(number), "lit", size=13, style="bold fixed")
    drawing.text((x_said + 120, y), "sums", "muted", size=12, anchor="end")
    return drawing


def aligned() -> Drawing:
    """A word and the sound of each letter; silent letters have none."""
    drawing = Drawing()
    step, size = 34.5, 28.0
    for place, (letter, sounds) in enumerate(ALIGNED):
        x = place * step
        drawing.box(Area(x, 0, size, size), letter, "source" if sounds else "muted")
        if sounds:
            drawing.line([(x + size / 2, size), (x + size / 2, size + 26)], arrow=True)
            area = Area(x - 1, size + 26, size + 2, size)
            drawing.box(area, "+".join(sounds), "target", size=13)
        else:
            drawing.text((x + size / 2, size + 40), "\N{EN DASH}", "muted")
    return drawing


def seeds() -> Drawing:
    """Three systems, the rate of each seed, their means, and the gap to the whole model."""
    drawing = Drawing()
    names = ("whole", "one head", "no warm-up")
    runs = runs_by_name()
    table = [rates(runs[name]) for name in names]
    left, top, cell = 84.0, 40.0, (50.0, 28.0)
    drawing.grid(
        (left, top), [[f"{rate:.2f}" for rate in row] for row in table], "residual",
        title="PER of each seed, %", rows=names, cell=cell,
    )  # fmt: skip
    x = left + 3 * cell[0] + 10
    means = [[f"{mean(row):.2f}"] for row in table]
    drawing.grid((x, top), means, "lit", title="mean", cell=cell)
    for place, row in enumerate(table[1:], start=1):
        y = top + (place + 0.5) * cell[1]
        gap = f"{mean(row) - mean(table[0]):+.2f}"
        drawing.text((x + cell[0] + 24, y), gap, size=13, style="fixed")
    drawing.text((x + cell[0] + 24, top - 14), "gap", size=14, style="bold")
    return drawing
