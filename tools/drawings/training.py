"""The drawings of the chapter on training; their numbers are those of its examples by hand."""

from __future__ import annotations

from tools.drawings.kit import Area, Drawing
from transformer_ref.experiments.training import TOKENS, adam_by_hand, loss_by_hand

TARGET = ("<bos>", "I", "have", "a", "cat", "<eos>", "<pad>", "<pad>")


def drawings() -> dict[str, Drawing]:
    """Return the drawings by name."""
    return {
        "loop": loop(),
        "shift": shift(),
        "loss": loss(),
        "adam": adam(),
        "own-words": own_words(),
    }


def loop() -> Drawing:
    """One step of training: from a batch to new weights."""
    drawing = Drawing()
    width, height, top, low = 92.0, 46.0, 0.0, 128.0
    batch = drawing.box(Area(0, top, width, height), "batch:\nquestions\nand answers", size=12)
    model = drawing.box(Area(130, top, width, height), "", "lit")
    drawing.text(model.at(0.5, 0.5), "model", "lit", style="bold")
    cost = drawing.box(Area(260, top, width, height), "loss:\nhow wrong?", size=13)
    gradient = drawing.box(Area(260, low, width, height), "gradient:\nwhich way?", size=13)
    optimizer = drawing.box(Area(130, low, width, height), "optimizer:\nhow far?", size=13)
    drawing.line([batch.at(1, 0.5), model.at(0, 0.5)], arrow=True)
    drawing.line([model.at(1, 0.5), cost.at(0, 0.5)], arrow=True)
    drawing.line([cost.at(0.5, 1), gradient.at(0.5, 0)], arrow=True)
    drawing.line([gradient.at(0, 0.5), optimizer.at(1, 0.5)], arrow=True)
    drawing.line([optimizer.at(0.5, 0), model.at(0.5, 1)], "lit", arrow=True, width=2.5)
    drawing.text((241, -14), "logits", "muted", size=12)
    middle = (top + height + low) / 2
    drawing.text((298, middle), "backward", "muted", size=12, anchor="end")
    drawing.text((168, middle), "new\nweights", "lit", size=12, anchor="end")
    drawing.text((width / 2, middle), "another one\nfor each step", "muted", size=12)
    return drawing


def shift() -> Drawing:
    """A target, cut into what the decoder reads and what it is asked for."""
    drawing = Drawing()
    width, height = 42.0, 26.0
    reads, asked = 84.0, 140.0
    rows = (
        (20.0, -13.0, "the target", TARGET, "muted"),
        (reads, -13.0, "reads: all but the last", TARGET[:-1], "target"),
        (asked, height + 14, "is asked: all but the first", TARGET[1:], "lit"),
    )
    for y, beside, title, tokens, role in rows:
        drawing.text((0, y + beside), title, role, size=13, anchor="start", style="bold")
        for column, token in enumerate(tokens):
            # What is asked for at padding does not count, and the row above it with it.
            quiet = role != "muted" and TARGET[column + 1] == "<pad>"
            place = Area(column * width, y, width, height)
            drawing.box(place, token, "muted" if quiet else role, size=12, kind="box cell",
                        opacity=0.0 if quiet or role == "muted" else None)  # fmt: skip
    for column in range(len(TARGET) - 1):
        x, quiet = (column + 0.5) * width, TARGET[column + 1] == "<pad>"
        role = "muted" if quiet else "ink"
        drawing.line([(x, reads + height), (x, asked)], role, arrow=True, dashed=quiet)
    drawing.text((294, asked + height + 14), "not counted", "muted", size=12, anchor="end")
    return drawing


def loss() -> Drawing:
    """The probabilities of four positions, the label of each, and what it costs."""
    drawing = Drawing()
    step = loss_by_hand()
    probabilities, labels = step["probabilities"].tolist(), step["labels"].tolist()
    costs = step["costs"].tolist()
    cell, top, left = (46.0, 26.0), 46.0, 103.0
    drawing.text((left + 92, 8), "probability of", "muted", size=13)
    for x, title in ((19, "reads"), (72, "asked"), (319, "\N{MINUS SIGN}ln p")):
        drawing.text((x, top - 12), title, size=13, style="bold")
    drawing.grid((left, top), probabilities, columns=TOKENS, cell=cell)
    for row, label in enumerate(labels):
        y, counts = top + (row + 0.5) * cell[1], label != 0
        before = "<bos>" if row == 0 else TOKENS[labels[row - 1]]
        drawing.text((19, y), before, "target" if counts else "muted", size=12)
        drawing.text((72, y), TOKENS[label], "lit" if counts else "muted", size=12, style="bold")
        if counts:
            place = Area(left + label * cell[0], y - cell[1] / 2, *cell)
            drawing.box(place, "", "lit", opacity=0.0)
        else:
            middle = Area(left, y - cell[1] / 2, 4 * cell[0], cell[1])
            drawing.line([middle.at(0, 0.5), middle.at(1, 0.5)], "muted")
        text = f"{costs[row]:.2f}" if counts else "padding"
        drawing.text((319, y), text, "ink" if counts else "muted", size=13 if counts else 12)
    y = top + 4 * cell[1] + 22
    drawing.line([(290, y - 16), (345, y - 16)])
    text = f"loss: the mean of the three = {step['loss'].item():.2f}"
    drawing.text((345, y), text, size=13, anchor="end", style="bold")
    return drawing


def adam() -> Drawing:
    """Three steps of Adam on one weight."""
    drawing = Drawing()
    rows = adam_by_hand()
    names = ("gradient", "m", "v", "m_corrected", "v_corrected", "step", "weight")
    titles = ("g", "m", "v", "m\u0302", "v\u0302", "step", "w")
    roles = ("query", "ink", "ink", "ink", "ink", "lit", "residual")
    x, top, height = 20.0, 56.0, 28.0
    groups = (("running means", 1, 3), ("corrected", 3, 5))
    places = []
    for name, title, role in zip(names, titles, roles, strict=True):
        values = [[row[name]] for row in rows]
        area = drawing.grid((x, top), values, role, title=title, cell=(44, height))
        places.append(area)
        x = area.right + (4 if name in ("gradient", "v", "v_corrected", "step") else 0)
    for number in range(len(rows)):
        drawing.text((14, top + (number + 0.5) * height), str(number + 1), "muted", anchor="end")
    for title, first, last in groups:
        middle = (places[first].x + places[last - 1].right) / 2
        drawing.text((middle, top - 34), title, "muted", size=12)
    step = places[5]
    y = step.bottom + 16
    drawing.text((step.at(0.5, 0)[0], y), "m\u0302 / √v\u0302", "lit", size=12)
    drawing.text((places[0].x, y), "w: minus 0.1 times the step", "muted", size=12,
                 anchor="start")  # fmt: skip
    return drawing


def own_words() -> Drawing:
    """The same word with the true tokens as input, and with the model's own."""
    drawing = Drawing()
    width, height = 46.0, 26.0
    ways = (
        ("in training: reads the true tokens", ("<bos>", "N", "AY", "T", "IH", "D"),
         ("N", "IH", "T", "IH", "D", "<eos>")),
        ("in use: reads its own", ("<bos>", "N", "IH", "G", "IH", "T"),
         ("N", "IH", "G", "IH", "T", "<eos>")),
    )  # fmt: skip
    true = ("N", "AY", "T", "IH", "D", "<eos>")
    for number, (title, reads, says) in enumerate(ways):
        y = 24.0 + 122 * number
        drawing.text((56, y - 14), title, size=13, anchor="start", style="bold")
        for row, (name, tokens) in enumerate((("reads", reads), ("says", says))):
            top = y + 46.0 * row
            drawing.text((48, top + height / 2), name, "muted", size=13, anchor="end")
            for column, token in enumerate(tokens):
                right = token == (true if row else ("<bos>", *true))[column]
                place = Area(56 + column * width, top, width, height)
                role = ("lit" if row else "target") if right else "key"
                drawing.box(place, token if right else f"✗ {token}", role, size=12,
                            kind="box cell")  # fmt: skip
        for column in range(len(reads)):
            x = 56 + (column + 0.5) * width
            drawing.line([(x, y + height), (x, y + 46)], "muted", arrow=True)
            if number and column < len(reads) - 1:
                drawing.line([(x + 8, y + 46), (x + width - 8, y + height + 1)], "key", dashed=True)
    return drawing
