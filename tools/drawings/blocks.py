"""The drawings of the chapter on blocks; their numbers are those of its example by hand."""

from __future__ import annotations

from itertools import pairwise

from tools.drawings.kit import Area, Drawing
from transformer_ref.experiments.blocks import WORDS, by_hand

# The eps of the norm moves the sixth digit; the drawings show whole numbers as such.
STEP = {name: tensor.round(decimals=4).tolist() for name, tensor in by_hand().items()}
FEATURE, UNIT = (44.0, 24.0), (38.0, 24.0)  # a cell of the vectors, and of the hidden layer


def drawings() -> dict[str, Drawing]:
    """Return the drawings by name."""
    return {
        "layers": layers(),
        "trace-attention": trace_attention(),
        "network": network(),
        "trace-feed-forward": trace_feed_forward(),
        "way-back": way_back(),
        "axes": axes(),
        "post-and-pre": post_and_pre(),
        "wiring": wiring(),
    }


def layers() -> Drawing:
    """One encoder layer and one decoder layer, with the residual lines and the memory."""
    drawing = Drawing()
    encoder = (("self-\nattention", "source"), ("feed-\nforward", "source"))
    decoder = (
        ("masked self-\nattention", "target"),
        ("cross-\nattention", "target"),
        ("feed-\nforward", "target"),
    )
    last = _layer(drawing, 18, -1, "encoder layer", "letters", encoder)[-1]
    cross = _layer(drawing, 214, 1, "decoder layer", "phonemes", decoder)[1]
    out = (last.at(0.5, 0)[0], last.bottom + 74)
    drawing.text((out[0], out[1] + 10), "memory", "memory", style="bold")
    way = [(out[0] + 32, out[1] + 10), (168, out[1] + 10), (168, cross.at(0, 0.5)[1])]
    drawing.line([*way, cross.at(0, 0.5)], "memory", arrow=True, width=2)
    drawing.text((cross.at(0.5, 0)[0] - 14, cross.y - 16), "Q", "query", style="bold")
    drawing.text((187, cross.at(0, 0.5)[1] - 12), "K, V", "memory", size=13, style="bold")
    return drawing


def _layer(
    drawing: Drawing,
    x: float,
    side: int,
    name: str,
    source: str,
    sublayers: tuple[tuple[str, str], ...],
) -> list[Area]:
    """Draw a layer from top to bottom, its residual lines at one side; return its sublayers."""
    middle, pitch = x + 52, 118.0
    residual = x - 10 if side < 0 else x + 114
    drawing.text((middle, 0), source, sublayers[0][1], style="bold")
    places = []
    for number, (label, role) in enumerate(sublayers):
        top = 44 + pitch * number
        box = drawing.box(Area(x, top + 18, 104, 40), label, role, size=13)
        add = drawing.box(Area(x, top + 74, 104, 24), "add & norm", "residual", size=13)
        above = 10 if number == 0 else top - 20
        drawing.line([(middle, above), (middle, box.y)], arrow=True)
        drawing.line([(middle, box.bottom), (middle, add.y)], arrow=True)
        end = add.at(0 if side < 0 else 1, 0.5)
        way = [(middle, top + 6), (residual, top + 6), (residual, end[1]), end]
        drawing.line(way, "residual", arrow=True, width=2.5)
        places.append(box)
    bottom = 44 + pitch * len(sublayers) - 20
    frame = Area(min(residual, x) - 8, 36, 130, bottom - 26)
    drawing.box(frame, kind="frame")
    drawing.line([(middle, bottom), (middle, bottom + 34)], arrow=True)
    anchor = "start" if side < 0 else "end"
    drawing.text((middle - 8 * side, bottom + 20), name, "muted", size=12, anchor=anchor)
    return places


def trace_attention() -> Drawing:
    """Two words through attention, add and norm, with all numbers."""
    return _trace(
        ("X", "the vectors of the words", "residual"),
        ("found", "attention: here half of each word", "ink"),
        ("first_sum", "add: the word and what was found", "residual"),
        ("first_norm", "norm: minus the mean 4, divided by 2", "residual"),
    )


def network() -> Drawing:
    """The two matrices of the feed-forward network, with the hidden units numbered."""
    drawing = Drawing()
    names = [str(unit + 1) for unit in range(len(STEP["W_2"]))]
    up = drawing.grid((0, 50), STEP["W_1"], title="W_1", columns=names, cell=(26, 22))
    down = drawing.grid((206, 50), STEP["W_2"], title="W_2", rows=names, cell=(26, 22))
    drawing.text((up.at(0.5, 0)[0], up.bottom + 16), "a column for each unit", "muted", size=12)
    drawing.text((down.at(0.5, 0)[0], down.bottom + 16), "a row for each unit", "muted", size=12)
    return drawing


def trace_feed_forward() -> Drawing:
    """The same words through the feed-forward network, add and norm."""
    return _trace(
        ("first_norm", "what the first half gave", "residual"),
        ("units", "times W_1: six hidden units", "ink"),
        ("hidden", "ReLU: what is negative becomes 0", "ink"),
        ("change", "times W_2: back to four features", "ink"),
        ("second_sum", "add", "residual"),
        ("output", "norm: the output of the layer", "residual"),
    )


def _trace(*steps: tuple[str, str, str]) -> Drawing:
    """Draw both words after each step; the residual line goes from the first to the sum."""
    drawing, grids = Drawing(), {}
    for number, (step, title, role) in enumerate(steps):
        y = 20 + 92.0 * number
        cell = UNIT if len(STEP[step][0]) > 4 else FEATURE
        grids[step] = drawing.grid((34, y), STEP[step], role, rows=WORDS, cell=cell)
        drawing.text((62, y - 13), title, role, size=13, anchor="start")
    for here, there in pairwise(grids.values()):
        drawing.line([(50, here.bottom + 3), (50, there.y - 3)], arrow=True)
    start, end = grids[steps[0][0]].at(1, 0.5), grids[steps[-2][0]].at(1, 0.5)
    way = [start, (302.0, start[1]), (302.0, end[1]), end]
    drawing.line(way, "residual", arrow=True, width=2.5)
    return drawing


def way_back() -> Drawing:
    """The gradient's way from below through three sublayers, each of which halves it."""
    drawing = Drawing()
    for line, title, factor in ((36.0, "with sums", 1.5), (262.0, "without", 0.5)):
        sums = factor > 1
        drawing.text((line + 37 * sums, 0), title, style="bold")
        if sums:
            drawing.line([(line, 324), (line, 24)], "residual", arrow=True, width=4)
        for number in range(4):
            top = 36 + 96.0 * number
            size = f"{factor ** (3 - number):.3g}"
            drawing.text((line - 9, top - 6), size, "lit", size=13, anchor="end", style="bold")
            if number == 3:
                break
            middle = line + 74 * sums
            box = Area(middle - 41, top + 26, 82, 30)
            drawing.box(box, f"sublayer {number + 1}", size=13)
            drawing.text((box.right + 4, top + 41), "· 0.5", size=13, anchor="start")
            if sums:
                drawing.line([(line, top + 76), (middle, top + 76), box.at(0.5, 1)], arrow=True)
                way = [box.at(0.5, 0), (middle, top + 8), (line + 3, top + 8)]
                drawing.line(way, arrow=True)
                drawing.text((line + 7, top + 41), "· 1", "residual", size=13, anchor="start")
            else:
                drawing.line([(line, top + 84), box.at(0.5, 1)], arrow=True)
                drawing.line([box.at(0.5, 0), (line, top - 12)], arrow=number == 0)
    return drawing


def axes() -> Drawing:
    """Which numbers share a mean: those of a token, of a sequence, or of a feature."""
    drawing = Drawing()
    kinds = ("each token\n(LayerNorm)", "each sequence\n(mistaken)", "each feature\n(BatchNorm)")
    width, height = 22.0, 20.0
    for number, kind in enumerate(kinds):
        x = 22.0 + 110 * number
        drawing.text((x + 2 * width, 14), kind, size=12, style="bold")
        for sequence in range(2):
            y = 44 + 74.0 * sequence
            numbers = [[_group(number, sequence, row, j) for j in range(4)] for row in range(3)]
            drawing.grid((x, y), numbers, "muted", cell=(width, height))
            if number == 0:
                for row in range(3):
                    frame = Area(x, y + row * height, 4 * width, height)
                    drawing.box(frame, "", "lit", opacity=0.0)
            elif number == 1:
                drawing.box(Area(x, y, 4 * width, 3 * height), "", "lit", opacity=0.0)
        if number == 2:
            for column in range(4):
                frame = Area(x + column * width, 41, width, 140)
                drawing.box(frame, "", "lit", opacity=0.0)
        drawing.text((x + 2 * width, 192), "features", "muted", size=12)
    return drawing


def _group(kind: int, sequence: int, row: int, column: int) -> str:
    """Return the number of the group that a cell belongs to."""
    return str((3 * sequence + row, sequence, column)[kind] + 1)


def post_and_pre() -> Drawing:
    """The residual stream as a line, the sublayers beside it, and the norms on it or beside it."""
    drawing = Drawing()
    for number, (kind, beside) in enumerate((("post-norm", False), ("pre-norm", True))):
        line = 20.0 + 200 * number
        drawing.text((line + 58, 0), kind, style="bold")
        drawing.text((line, 22), "x", "residual", style="bold")
        top = 34.0
        for sublayer in ("attention", "feed-forward"):
            top = _beside_the_line(drawing, line, top, sublayer, norm_beside=beside)
        drawing.line([(line, top), (line, top + 22)], "residual", arrow=True, width=5)
        drawing.text((line, top + 34), "new x", "residual", style="bold")
    return drawing


def _beside_the_line(
    drawing: Drawing, line: float, top: float, sublayer: str, *, norm_beside: bool
) -> float:
    """Draw what reads from the stream and adds to it; return where the stream goes on."""
    names = [*(["norm"] if norm_beside else []), sublayer, "dropout"]
    fork, middle = top + 10, line + 92
    plus = fork + 30 + 38.0 * len(names)
    drawing.line([(line, top), (line, plus - 12)], "residual", width=5)
    drawing.line([(line, fork), (middle, fork), (middle, fork + 14)], arrow=True)
    y = fork + 14
    for name in names:
        role = "lit" if name == "norm" else "ink"
        box = drawing.box(Area(middle - 48, y, 96, 26), name, role, size=13)
        y = box.bottom + 12
        end = (middle, y) if name != names[-1] else (middle, plus)
        drawing.line([(middle, box.bottom), end], arrow=name != names[-1])
    drawing.line([(middle, plus), (line + 13, plus)], arrow=True)
    drawing.box(Area(line - 12, plus - 12, 24, 24), "+", "residual", size=13)
    if norm_beside:
        return plus + 12
    drawing.line([(line, plus + 12), (line, plus + 22)], "residual", width=5)
    norm = drawing.box(Area(line - 24, plus + 22, 48, 24), "norm", "lit", size=13)
    return norm.bottom


def wiring() -> Drawing:
    """Three encoder and three decoder layers: the last encoder layer feeds all of the others."""
    drawing = Drawing()
    for x, stack, role in ((0.0, "encoder", "source"), (224.0, "decoder", "target")):
        for level in range(3):
            y = 66.0 * level
            box = drawing.box(Area(x, y, 112, 36), f"{stack} layer {level}", role, size=13)
            if level < 2:
                middle = box.at(0.5, 1)
                drawing.line([middle, (middle[0], y + 66)], arrow=True)
    drawing.line([(112, 150), (172, 150)], "memory", width=2)
    drawing.line([(172, 150), (172, 18)], "memory", width=2)
    for level in range(3):
        y = 18 + 66.0 * level
        drawing.line([(172, y), (224, y)], "memory", arrow=True, width=2)
        drawing.text((197, y - 11), "K, V", "memory", size=13)
    drawing.text((141, 138), "memory", "memory", size=12, style="bold")
    return drawing
