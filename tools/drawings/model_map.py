"""The map of the whole model, with the parts lit that a chapter is about."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

from tools.drawings.kit import Area, Drawing, Point

# Each part: its label, and the role of what runs through it.
PARTS = {
    "source": ("letters", "source"),
    "source-embedding": ("embedding", "source"),
    "source-positions": ("+ positions", "source"),
    "encoder-attention": ("self-\nattention", "source"),
    "encoder-feed-forward": ("feed-\nforward", "source"),
    "target": ("phonemes\nso far", "target"),
    "target-embedding": ("embedding", "target"),
    "target-positions": ("+ positions", "target"),
    "masked-attention": ("masked self-\nattention", "target"),
    "cross-attention": ("cross-\nattention", "target"),
    "decoder-feed-forward": ("feed-\nforward", "target"),
    "output": ("linear,\nsoftmax", "target"),
    "next": ("next\nphoneme", "target"),
}
ENCODER = ("encoder-attention", "encoder-feed-forward")
DECODER = ("masked-attention", "cross-attention", "decoder-feed-forward")
ATTENTION = ("encoder-attention", "masked-attention", "cross-attention")
EMBEDDINGS = ("source-embedding", "target-embedding")
POSITIONS = ("source-positions", "target-positions")

# What each chapter lights.
CHAPTERS: dict[str, Collection[str]] = {
    "sequences": ENCODER + DECODER,
    "tokenizers": ("source", "target", "next"),
    "embeddings": EMBEDDINGS,
    "attention": ATTENTION,
    "positions": POSITIONS,
    "masking": ATTENTION,
    "blocks": ENCODER + DECODER,
    "training": ("target", "output", "next"),
    "decoding": ("target", "output", "next"),
    "gpt": (
        "target", "target-embedding", "target-positions", "masked-attention",
        "decoder-feed-forward", "output", "next",
    ),
    "tuning": ("target", "output", "next"),
    "depth": ENCODER + DECODER,
    "capstone": tuple(PARTS),
    "where_next": ("target-positions", "masked-attention", "decoder-feed-forward"),
}  # fmt: skip


def model_map(lit: Collection[str], narrow: bool = False) -> Drawing:
    """Draw the model: the encoder above the decoder, or on a phone beside it."""
    drawing = Drawing()
    place = _places_narrow() if narrow else _places_wide()
    for stack, parts in (("encoder", ENCODER), ("decoder", DECODER)):
        _frame(drawing, [place[part] for part in parts], stack, narrow)
    for part, (label, role) in PARTS.items():
        free = part in ("source", "target", "next")
        area = place[part]
        if part in lit:
            drawing.box(area, "", "lit")
            drawing.text(area.at(0.5, 0.5), label, "lit", size=13, style="bold")
        elif free:
            drawing.text(area.at(0.5, 0.5), label, role, size=13)
        else:
            drawing.box(area, label, role, size=13)
    for chain in (list(PARTS)[:5], list(PARTS)[5:]):
        for before, after in pairwise(chain):
            start: Point = (0.5, 1) if narrow else (1, 0.5)
            end: Point = (0.5, 0) if narrow else (0, 0.5)
            drawing.line([place[before].at(*start), place[after].at(*end)], "muted", arrow=True)
    _memory(drawing, place["encoder-feed-forward"], place["cross-attention"], narrow)
    return drawing


def _places_wide() -> dict[str, Area]:
    """The encoder in a row, the decoder in a row below it."""
    width = {"source": 68, "target": 84, "next": 80, "masked-attention": 104}
    width |= dict.fromkeys((*EMBEDDINGS, *POSITIONS), 90)  # long words, in bold
    place: dict[str, Area] = {}
    for names, y in ((list(PARTS)[:5], 26.0), (list(PARTS)[5:], 138.0)):
        x = 0.0
        for name in names:
            place[name] = Area(x, y, width.get(name, 84), 46)
            x += place[name].width + 13
    return place


def _places_narrow() -> dict[str, Area]:
    """The encoder in a column, the decoder in a column beside it."""
    place: dict[str, Area] = {}
    for names, x, y in ((list(PARTS)[:5], 0.0, 0.0), (list(PARTS)[5:], 186.0, 0.0)):
        for name in names:
            place[name] = Area(x, y, 104, 40)
            y += 40 + (30 if name.endswith("-positions") else 18)
    return place


def _frame(drawing: Drawing, areas: list[Area], name: str, narrow: bool) -> None:
    """Draw the frame around a stack of layers, with its name and how many layers there are."""
    first, last = areas[0], areas[-1]
    frame = Area(first.x - 9, first.y - 9, last.right - first.x + 18, last.bottom - first.y + 18)
    drawing.box(frame, kind="frame")
    if narrow:  # an arrow passes between the two words
        drawing.text((frame.x, frame.y - 9), name, "muted", size=12, anchor="start")
        drawing.text((frame.right, frame.y - 9), "3 layers", "muted", size=12, anchor="end")
    else:
        drawing.text((frame.x, frame.y - 10), f"{name}: 3 layers", "muted", size=13, anchor="start")


def _memory(drawing: Drawing, encoder: Area, cross: Area, narrow: bool) -> None:
    """Draw how what the encoder found out gets into the decoder."""
    if narrow:
        way: list[Point] = [
            encoder.at(0.5, 1), (encoder.at(0.5, 1)[0], encoder.bottom + 34),
            (158, encoder.bottom + 34), (158, cross.at(0, 0.5)[1]), cross.at(0, 0.5),
        ]  # fmt: skip
        drawing.text((encoder.x, encoder.bottom + 48), "memory", "memory", anchor="start")
    else:
        across = cross.at(0.5, 0)[0]
        way = [encoder.at(1, 0.5), (encoder.right + 30, encoder.at(1, 0.5)[1])]
        way += [(encoder.right + 30, 106.0), (across, 106.0), cross.at(0.5, 0)]
        drawing.text(
            (encoder.right + 38, encoder.at(1, 0.5)[1]), "memory", "memory", anchor="start"
        )
    drawing.line(way, "memory", arrow=True, width=2)
