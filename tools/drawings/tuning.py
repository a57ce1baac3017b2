"""The drawings of "After pretraining"; their numbers are those of its examples by hand."""

from __future__ import annotations

import math

from tools.drawings.kit import Area, Drawing, true_minus
from transformer_ref.experiments.tuning import (
    ANSWERS,
    LABEL_PROBABILITIES,
    LISTED,
    LONG_ANSWER,
    PAIR,
    RIGHT,
    ROW,
    answer_by_hand,
    dpo_by_hand,
    estimates_by_hand,
    group_by_hand,
    hole_by_hand,
    lora_by_hand,
)

LEARNING_RATE = 2  # of a step on the logit of the right one of two answers
GROUP = {name: tensor.tolist() for name, tensor in group_by_hand().items()}


def drawings() -> dict[str, Drawing]:
    """Return the drawings by name."""
    return {
        "checked": checked(),
        "answer-only": answer_only(),
        "lora": lora(),
        "pair": pair(),
        "step": step(),
        "advantages": advantages(),
        "hole": hole(),
    }


def _phonemes(drawing: Drawing, x: float, y: float, answer: tuple[str, ...]) -> Area:
    """Draw the phonemes of an answer in a row; return the area of them all."""
    width = 30.0
    for place, phoneme in enumerate(answer):
        drawing.box(Area(x + width * place, y, width - 3, 24), phoneme, "target", size=13)
    return Area(x, y, width * len(answer) - 3, 24)


def checked() -> Drawing:
    """A word, four sampled answers, the program that knows the list, and a reward for each."""
    drawing = Drawing()
    word = drawing.box(Area(0, 0, 60, 28), "laugh", "source")
    speller = drawing.box(Area(94, 0, 76, 28), "speller", "ink")
    drawing.arrow(word.at(1, 0.5), (92, 14))
    drawing.text((182, 14), "four tries, sampled:", "muted", size=13, anchor="start")
    drawing.line([speller.at(0.5, 1), (132, 60), (60, 60), (60, 74)], arrow=True)
    for row, (answer, reward) in enumerate(zip(ANSWERS, GROUP["rewards"], strict=True)):
        y = 78.0 + 38 * row
        area = _phonemes(drawing, 0, y, answer)
        drawing.line([(area.right + 4, y + 12), (142, y + 12)], "muted", arrow=True)
        drawing.text((278, y + 12), f"{reward:.2f}", style="fixed")
        better = reward > GROUP["mean"]
        tip, tail = (y + 2, y + 22) if better else (y + 22, y + 2)
        drawing.line([(318, tail), (318, tip)], "query" if better else "mask", arrow=True, width=3)
    drawing.box(Area(144, 78, 100, 138), "", "key")
    drawing.text((194, 122), "program", "key", style="bold")
    drawing.text((194, 156), "the dictionary\nlists\n" + " ".join(LISTED), "key", size=12)
    drawing.text((278, 60), "reward", "muted", size=13)
    drawing.text((318, 238), "more,\nless", "muted", size=13)
    way = [(296, 240), (160, 240), (160, 262), (-16, 262), (-16, 44), (108, 44), (108, 30)]
    drawing.line(way, "muted", arrow=True, dashed=True)
    drawing.text((72, 250), "new weights", "muted", size=12)
    return drawing


def answer_only() -> Drawing:
    """A row of prompt and answer: which labels cost something, and what."""
    drawing = Drawing()
    step = 62.0
    by_hand = {name: tensor.tolist() for name, tensor in answer_by_hand().items()}
    for name, y in (("reads", 12.0), ("must say", 66.0), ("p", 94.0), ("costs", 118.0)):
        drawing.text((-8, y), name, "muted", size=13, anchor="end")
    for place, counts in enumerate(by_hand["counts"]):
        x, role = step * place, "lit" if counts else "muted"
        read = drawing.box(
            Area(x, 0, 54, 24), ROW[place], "target" if place > 2 else "source", size=13
        )
        asked = drawing.box(Area(x, 54, 54, 24), ROW[place + 1], role, size=13)
        drawing.line([read.at(0.5, 1), asked.at(0.5, 0)], role, arrow=True, dashed=not counts)
        drawing.text(
            (x + 27, 94), f"{LABEL_PROBABILITIES[place]:.2f}", role, size=13, style="fixed"
        )
        drawing.text((x + 27, 118), f"{by_hand['costs'][place]:.2f}", role, size=13, style="fixed")
        if not counts:
            drawing.line([(x + 8, 118), (x + 46, 118)], "mask", width=1.5)
    drawing.brace((0, 134), (step * 2 - 8, 134))
    drawing.text((step - 4, 156), "prompt: no cost", "muted", size=13)
    drawing.brace((step * 2, 134), (step * 5 - 8, 134))
    drawing.text(
        (step * 3.5 - 4, 156), f"mean {by_hand['answer']:.2f}", "lit", size=13, style="bold"
    )
    return drawing


def lora() -> Drawing:
    """A column times a row makes a whole matrix; a token goes the narrow way."""
    drawing = Drawing()
    numbers = {name: tensor.tolist() for name, tensor in lora_by_hand().items()}
    cell = (28.0, 24.0)
    drawing.grid((0, 20), numbers["B"], "lit", title="B", cell=cell)
    drawing.text((48, 68), "times", "muted", size=13)
    drawing.grid((72, 56), numbers["A"], "lit", title="A", cell=cell)
    drawing.text((202, 68), "=", size=16)
    drawing.grid((220, 20), numbers["change"], "residual", title="added to W", cell=cell)
    drawing.text((94, 136), "8 numbers are trained", "lit", size=13)
    drawing.text((276, 136), "for 16", "residual", size=13)
    drawing.grid((0, 188), [[value] for value in numbers["x"]], "source", title="x", cell=cell)
    drawing.arrow((34, 236), (96, 236), "A x")
    drawing.grid((100, 224), [numbers["narrow"]], "lit", cell=cell)
    drawing.arrow((134, 236), (214, 236), "B (A x)")
    drawing.grid((220, 188), [[value] for value in numbers["added"]], "residual", cell=cell)
    drawing.text((256, 236), "is added to W x", "muted", size=13, anchor="start")
    return drawing


def pair() -> Drawing:
    """Two answers on the axis of log-probabilities: where they were, and where they are."""
    drawing = Drawing()
    by_hand = dpo_by_hand()

    def place(value: float) -> float:
        return 100 + 76 * (value + 6.5)

    for row, (name, phonemes) in enumerate((("better", ANSWERS[0]), ("worse", ANSWERS[1]))):
        y = 20.0 + 52 * row
        role = "query" if name == "better" else "mask"
        start, now = PAIR[name]
        drawing.text((0, y - 9), name, role, anchor="start", style="bold")
        drawing.text((0, y + 9), " ".join(phonemes), "ink", size=13, anchor="start")
        drawing.line([(place(-6.5), y), (place(-3.5), y)], "muted")
        drawing.circle((place(start), y), 6, "muted")
        if now != start:
            drawing.line([(place(start) + 8, y), (place(now) - 8, y)], role, arrow=True, width=2.5)
            drawing.text(
                (place((start + now) / 2), y - 13), f"gains {by_hand[name]:.0f}", role, size=13
            )
        else:
            drawing.text((place(start) + 10, y - 13), "gains 0", role, size=13, anchor="start")
        drawing.circle((place(now), y), 6, role)
    for value in (-6, -5, -4):
        drawing.text((place(value), 96), true_minus(str(value)), "muted", size=13)
    drawing.text((place(-5), 114), "log-probability, gray: at the start", "muted", size=13)
    return drawing


def step() -> Drawing:
    """The probabilities of two answers: before, and after a step for either that was sampled."""
    drawing = Drawing()
    pushes = estimates_by_hand(baseline=RIGHT)
    rows = [("before", RIGHT)]
    for name in ("right", "wrong"):
        odds = RIGHT / (1 - RIGHT) * math.exp(LEARNING_RATE * pushes[name])
        moved = f"z + {LEARNING_RATE} \N{DOT OPERATOR} {pushes[name]:.2f}"
        rows.append((f"after sampling the {name} one: {moved}", odds / (1 + odds)))
    for place, (title, right) in enumerate(rows):
        y = 84.0 * place
        drawing.text((0, y), title, "muted", size=13, anchor="start")
        for row, (name, share) in enumerate((("right", right), ("wrong", 1 - right))):
            role, top = ("query", "mask")[row], y + 14 + 27 * row
            drawing.text((0, top + 11), name, role, size=13, anchor="start")
            drawing.box(Area(48, top, 230 * share, 22), "", role)
            drawing.text((290 + 38, top + 11), f"{share:.2f}", size=13, anchor="end")
    return drawing


def advantages() -> Drawing:
    """The rewards of a group, minus their mean, over their spread."""
    drawing = Drawing()
    heads = ("reward", "minus mean", "over spread")
    values = [
        [reward, reward - GROUP["mean"], advantage]
        for reward, advantage in zip(GROUP["rewards"], GROUP["advantages"], strict=True)
    ]
    texts = [[true_minus(f"{value:.2f}") for value in row] for row in values]
    for row, answer in enumerate(ANSWERS):
        _phonemes(drawing, 0, 21 + 30.0 * row, answer)
    for column, head in enumerate(heads):
        x = 122.0 + 80 * column
        drawing.text((x + 32, 4), head, "muted", size=12)
        role = ("ink", "ink", "lit")[column]
        drawing.grid((x, 18), [[row[column]] for row in texts], role, cell=(64, 30))
    drawing.text((154, 154), f"mean {GROUP['mean']:.2f}", size=13)
    drawing.text((236, 154), f"spread {GROUP['spread']:.2f}", size=13)
    return drawing


def hole() -> Drawing:
    """A long answer that holds every listed phoneme, and what both rewards say of it."""
    drawing = Drawing()
    both = hole_by_hand()
    drawing.text((0, 12), "listed", "muted", size=13, anchor="start")
    _phonemes(drawing, 60, 0, LISTED)
    drawing.text((0, 62), "answer", "muted", size=13, anchor="start")
    _phonemes(drawing, 60, 50, LONG_ANSWER)
    for place, phoneme in enumerate(LISTED):
        found = LONG_ANSWER.index(phoneme)
        start, end = (60 + 30 * place + 13.0, 25.0), (60 + 30 * found + 13.0, 49.0)
        drawing.line([start, end], "query", arrow=True)
    for row, (name, text) in enumerate(
        (("hole", "share of the listed phonemes found"), ("errors", "1 minus the error rate"))
    ):
        y = 98.0 + 26 * row
        drawing.text((0, y), text, size=13, anchor="start")
        drawing.text((296, y), true_minus(f"{both[name]:.2f}"), style="fixed bold")
    return drawing
