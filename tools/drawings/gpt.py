"""The drawings of the chapter on GPT; their numbers are those of its examples by hand."""

from __future__ import annotations

from tools.drawings.kit import Area, Drawing
from transformer_ref.experiments.gpt_by_hand import (
    LINE,
    NEXT,
    PIECE,
    STARTS,
    TEMPERATURES,
    TEXT,
    chain_by_hand,
    probabilities_by_hand,
)

CHAIN = {name: tensor.tolist() for name, tensor in chain_by_hand().items()}


def drawings() -> dict[str, Drawing]:
    """Return the drawings by name."""
    return {
        "one-more-word": one_more_word(),
        "what-is-left": what_is_left(),
        "chain": chain(),
        "pieces": pieces(),
        "window": window(),
        "temperature": temperature(),
        "after-pretraining": after_pretraining(),
        "after-pretraining-narrow": after_pretraining(narrow=True),
    }


def _word(drawing: Drawing, x: float, y: float, word: str, role: str, width: float = 52) -> Area:
    return drawing.box(Area(x, y, width, 26), word, role, size=13)


def one_more_word() -> Drawing:
    """A text that grows: all words so far go in, one word comes out and is put after them."""
    drawing = Drawing()
    text = ("we", "have", "a", "new", "world")
    for row in range(3):
        y = 44.0 * row
        read = text[: 2 + row]
        for place, word in enumerate(read):
            _word(drawing, 47 * place, y, word, "target", width=44)
        model = drawing.box(Area(212, y - 2, 52, 30), "GPT", "ink")
        drawing.arrow((47 * len(read) + 2, y + 13), (208, y + 13))
        drawing.arrow((268, y + 13), (292, y + 13))
        new = _word(drawing, 294, y, text[2 + row], "lit", width=48)
        if row < 2:
            x = 47 * len(read) + 22
            below = y + 36
            way = [new.at(0.5, 1), (new.at(0.5, 1)[0], below), (x, below), (x, y + 44)]
            drawing.line(way, "lit", arrow=True)
        assert model.right < new.x
    return drawing


def what_is_left() -> Drawing:
    """A decoder of 2017, with what goes drawn pale, beside one of GPT-2: the stream is straight."""
    drawing = Drawing()
    _decoder_of_2017(drawing, 140)
    _decoder_of_gpt2(drawing, 246)
    return drawing


def _decoder_of_2017(drawing: Drawing, stream: float) -> None:
    """Draw a decoder layer, its norms on the stream; encoder and cross-attention are struck out."""
    left = stream - 140
    drawing.text((left + 84, 0), "decoder of 2017", style="bold")
    drawing.text((stream, 28), "embedding\n+ positions", "muted", size=13)
    drawing.line([(stream, 46), (stream, 388)], "residual", arrow=True, width=4)
    parts = (
        ("masked self-\nattention", "target", 58.0), ("cross-\nattention", "muted", 168.0),
        ("feed-\nforward", "target", 278.0),
    )  # fmt: skip
    for label, role, y in parts:
        gone = role == "muted"
        ink = role if gone else "ink"
        box = drawing.box(Area(left, y, 96, 40), label, role, size=13)
        drawing.line([(stream - 2, y + 20), box.at(1, 0.5)], ink, arrow=True, dashed=gone)
        add = Area(stream - 42, y + 54, 84, 24)
        way = [(left + 76, box.bottom), (left + 76, y + 66), add.at(0, 0.5)]
        drawing.line(way, ink, arrow=True, dashed=gone)
        drawing.box(add, "", "ground", opacity=1.0)
        drawing.box(add, "add & norm", "muted" if gone else "residual", size=13)
        if gone:
            encoder = drawing.box(Area(left, y + 62, 62, 26), "encoder", "muted", size=13)
            drawing.line([encoder.at(0.5, 0), (left + 31, box.bottom)], "memory", arrow=True)
            drawing.line([(left - 4, y + 92), (left + 66, y + 58)], "mask", width=2.5)
            drawing.line([(left - 4, y + 44), (left + 100, y - 4)], "mask", width=2.5)
            drawing.line(
                [(add.x - 4, add.bottom + 4), (add.right + 4, add.y - 4)], "mask", width=2.5
            )
    drawing.text((stream, 400), "linear", size=13)


def _decoder_of_gpt2(drawing: Drawing, stream: float) -> None:
    """Draw a layer with its norms beside the stream, and the norm that follows the last layer."""
    right = stream + 30
    drawing.text((right + 32, 0), "GPT-2", style="bold")
    drawing.text((stream, 28), "embedding\n+ positions", "muted", size=13)
    drawing.line([(stream, 46), (stream, 388)], "residual", arrow=True, width=4)
    for label, y in (("masked self-\nattention", 58.0), ("feed-\nforward", 186.0)):
        norm = drawing.box(Area(right, y, 96, 24), "norm", "lit", size=13)
        drawing.line([(stream + 2, y + 12), norm.at(0, 0.5)], arrow=True)
        drawing.line([norm.at(0.5, 1), (right + 48, y + 40)], arrow=True)
        box = drawing.box(Area(right, y + 40, 96, 40), label, "target", size=13)
        way = [box.at(0.5, 1), (right + 48, y + 98), (stream + 14, y + 98)]
        drawing.line(way, arrow=True)
        add = Area(stream - 13, y + 87, 26, 22)
        drawing.box(add, "", "ground", opacity=1.0)
        drawing.box(add, "+", "residual")
    final = Area(stream - 42, 332, 84, 24)
    drawing.box(final, "", "ground", opacity=1.0)
    drawing.box(final, "final norm", "lit", size=13)
    drawing.text((stream, 400), "linear", size=13)


def chain() -> Drawing:
    """What is read, what comes next, its probability, and its price in bits."""
    drawing = Drawing()
    read = ("begin", *TEXT)
    for x, label in ((76, "read"), (202, "next"), (262, "p"), (316, "bits")):
        drawing.text((x, 0), label, "muted", size=13)
    for row, word in enumerate(TEXT):
        y = 16.0 + 36 * row
        for place in range(row + 1):
            _word(drawing, 52 * place, y, read[place], "target", width=48)
        drawing.arrow((52 * (row + 1), y + 13), (176, y + 13))
        _word(drawing, 180, y, word, "lit", width=44)
        drawing.text((262, y + 13), f"{CHAIN['guesses'][row]:.2f}", style="fixed")
        drawing.text((316, y + 13), f"{CHAIN['bits'][row]:.0f}", style="fixed")
    y = 16.0 + 36 * len(TEXT) + 4
    drawing.line([(180, y), (338, y)], "muted")
    drawing.text((172, y + 16), "the whole text", "muted", size=13, anchor="end")
    drawing.text((262, y + 16), f"{CHAIN['product']:.4f}", style="fixed bold")
    drawing.text((316, y + 16), f"{CHAIN['total_bits']:.0f}", style="fixed bold")
    drawing.text((262, y + 36), "product", "muted", size=12)
    drawing.text((316, y + 36), "sum", "muted", size=12)
    return drawing


def pieces() -> Drawing:
    """One long text, two pieces of it, and the labels one word later."""
    drawing = Drawing()
    width = 42.0
    for place, word in enumerate(LINE):
        inside = any(start <= place < start + PIECE for start in STARTS)
        _word(drawing, width * place, 0, word, "target" if inside else "muted", width=width - 2)
        drawing.text((width * (place + 0.5), -10), str(place), "muted", size=12)
    for number, start in enumerate(STARTS):
        left = width * start
        drawing.brace((left, 30), (left + PIECE * width - 2, 30))
        x = 22.0 + 176 * number
        drawing.line(
            [(left + PIECE * width / 2, 44), (x + PIECE * width / 2, 74)], "muted", arrow=True
        )
        for label, offset, role in (("inputs", 0, "target"), ("labels", 1, "lit")):
            y = 92.0 + 54 * offset
            drawing.text((x, y - 10), f"{label}, row {number}", role, size=13, anchor="start")
            for place in range(PIECE):
                word = LINE[start + offset + place]
                _word(drawing, x + width * place, y, word, role, width=width - 2)
    return drawing


def window() -> Drawing:
    """A model that reads three words: the frame moves with the text."""
    drawing = Drawing()
    text = ("we", "have", "a", "new", "world")
    for row, seen in enumerate((2, 3, 4)):
        y = 46.0 * row
        first = max(0, seen - 3)
        for place in range(seen):
            _word(drawing, 52 * place, y, text[place], "muted" if place < first else "target", 48)
        frame = Area(52 * first - 4, y - 4, 52 * (seen - first) + 4, 34)
        drawing.box(frame, "", "lit", opacity=0.0)
        drawing.arrow((52 * seen + 4, y + 13), (250, y + 13))
        _word(drawing, 254, y, text[seen], "lit")
    return drawing


def temperature() -> Drawing:
    """The probabilities of four words at three temperatures, as bars."""
    drawing = Drawing()
    for number, (row, value) in enumerate(
        zip(probabilities_by_hand().tolist(), TEMPERATURES, strict=True)
    ):
        left = 58.0 + 100 * number
        drawing.text((left + 40, 0), f"{value:g}", style="bold")
        if number == 0:
            drawing.text((left - 20, 0), "temperature", "muted", size=13)
        for place, probability in enumerate(row):
            y = 16.0 + 28 * place
            if number == 0:
                drawing.text((left - 8, y + 10), NEXT[place], "muted", size=13, anchor="end")
            drawing.box(Area(left, y, max(1.5, 50 * probability), 20), "", "target", opacity=0.5)
            drawing.text(
                (left + 54, y + 10), f"{probability:.2f}", size=12, style="fixed", anchor="start"
            )
    return drawing


STAGES = (
    ("pretraining", "all the text\nthere is", "next token", "base model"),
    ("instruction\ntuning", "instructions\nwith answers", "next token\nof the answer",
     "follows\ninstructions"),
    ("preference\ntuning", "pairs: better\nand worse", "better above\nworse", "assistant"),
    ("checked\nrewards", "tasks with\na checker", "more of what\nis rewarded",
     "solves more\ntasks"),
)  # fmt: skip


def after_pretraining(narrow: bool = False) -> Drawing:
    """Four stages of training: what each reads, what its loss asks for, what comes out."""
    drawing = Drawing()
    for number, (name, data, loss, result) in enumerate(STAGES):
        last = number == len(STAGES) - 1
        if narrow:
            y = 120.0 * number
            box = drawing.box(Area(110, y, 104, 48), name, "lit")
            drawing.text((92, y + 24), data, "source", size=13, anchor="end")
            drawing.line([(94, y + 24), box.at(0, 0.5)], "source", arrow=True)
            drawing.text((224, y + 24), f"loss:\n{loss}", "muted", size=13, anchor="start")
            drawing.line([box.at(0.5, 1), (162, y + 66)], arrow=True)
            drawing.text((162, y + 84), result, "target", size=13, style="bold")
            if not last:
                drawing.line([(162, y + 101), (162, y + 119)], arrow=True)
        else:
            x = 172.0 * number
            box = drawing.box(Area(x, 60, 112, 48), name, "lit")
            drawing.text((x + 56, 16), data, "source", size=13)
            drawing.line([(x + 56, 36), (x + 56, 60)], "source", arrow=True)
            drawing.text((x + 56, 136), f"loss:\n{loss}", "muted", size=13)
            drawing.text((x + 56, 184), result, "target", size=13, style="bold")
            if not last:
                drawing.line([box.at(1, 0.5), (x + 170, 84)], arrow=True)
    return drawing
