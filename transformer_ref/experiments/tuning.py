"""What the page "After pretraining" does by hand, for its drawings and its cells.

The runs that it shows are those of :mod:`~transformer_ref.experiments.tuning_runs`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from transformer_ref.experiments.tuning_runs import by_errors, with_hole

# A word and its pronunciation as one row; the prompt ends with <bos>. Then what each label gets.
ROW = ("h", "i", "<bos>", "HH", "AY", "<eos>")
PROMPT = 3
LABEL_PROBABILITIES = (0.04, 0.90, 0.50, 0.80, 0.90)

# What LoRA adds to a matrix: a column times a row, and a token that goes through it.
DOWN = ((1.0, 0.0, 2.0, -1.0),)
UP = ((1.0,), (0.0,), (-1.0,), (2.0,))
TOKEN = (2.0, 1.0, 0.0, 1.0)

# Log-probabilities of a better and of a worse answer, at the start and now.
PAIR = {"better": (-6.0, -4.0), "worse": (-5.0, -5.0)}
DPO_BETA = 0.1

# Four pronunciations of "laugh"; the dictionary lists L AE F.
LISTED = ("L", "AE", "F")
ANSWERS = (
    ("L", "AE", "F"),
    ("L", "AE", "G"),
    ("L", "AO", "G"),
    ("L", "AW", "G", "HH"),
)
LONG_ANSWER = ("L", "AW", "G", "AE", "HH", "F", "F")

# A model with two answers: the right one has this probability, and the reward 1.
RIGHT = 0.2


def answer_by_hand() -> dict[str, Tensor]:
    """Return the costs of the row's labels (5,), which of them count (5,), and both means."""
    costs = -torch.tensor(LABEL_PROBABILITIES).log()
    counts = torch.arange(1, len(ROW)) >= PROMPT
    return {"costs": costs, "counts": counts, "answer": costs[counts].mean(), "all": costs.mean()}


def lora_by_hand() -> dict[str, Tensor]:
    """Return A (1, 4), B (4, 1), their product (4, 4), and a token's way through: x, A x, B A x."""
    down, up, x = torch.tensor(DOWN), torch.tensor(UP), torch.tensor(TOKEN)
    return {
        "A": down, "B": up, "change": up @ down + 0,  # the sum makes a zero of a minus zero
        "x": x, "narrow": down @ x, "added": up @ (down @ x) + 0,
    }  # fmt: skip


def dpo_by_hand() -> dict[str, float]:
    """Return what both answers of the pair gained, the margin, its sigmoid and the loss."""
    gains = {name: now - start for name, (start, now) in PAIR.items()}
    margin = DPO_BETA * (gains["better"] - gains["worse"])
    sigmoid = torch.tensor(margin).sigmoid()
    return {**gains, "margin": margin, "sigmoid": sigmoid.item(), "loss": -sigmoid.log().item()}


def group_by_hand() -> dict[str, Tensor]:
    """Return rewards (4,) of the four answers, their mean, spread and advantages (4,)."""
    rewards = torch.tensor([by_errors(answer, [LISTED]) for answer in ANSWERS])
    mean = rewards.mean()
    spread = (rewards - mean).square().mean().sqrt()
    return {
        "rewards": rewards, "mean": mean, "spread": spread, "advantages": (rewards - mean) / spread,
    }  # fmt: skip


def hole_by_hand() -> dict[str, float]:
    """Return both rewards of the long answer."""
    return {"errors": by_errors(LONG_ANSWER, [LISTED]), "hole": with_hole(LONG_ANSWER, [LISTED])}


def estimates_by_hand(baseline: float) -> dict[str, float]:
    """Estimate a gradient from one answer of the model with two.

    The gradient is that of the expected reward, with respect to the logit of the right answer.

    Args:
        baseline: is subtracted from the reward.

    Returns:
        The estimate after the right answer and after the wrong one, their mean and variance.
    """
    right, wrong = (1 - baseline) * (1 - RIGHT), (0 - baseline) * (0 - RIGHT)
    mean = RIGHT * right + (1 - RIGHT) * wrong
    variance = RIGHT * (right - mean) ** 2 + (1 - RIGHT) * (wrong - mean) ** 2
    return {"right": right, "wrong": wrong, "mean": mean, "variance": variance}
