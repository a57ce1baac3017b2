"""The answers to the tasks of the assignment "training": the text of the solution's cells.

A mistake is a change to one of them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref import training as reference


def split_target(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Cut a target into what the decoder reads and what it has to say.

    Args:
        ids: (B, T+1), int64: begin token, tokens, end token, padding.

    Returns:
        The inputs (B, T), all columns but the last, and the labels (B, T),
        all columns but the first.
    """
    return ids[:, :-1], ids[:, 1:]


def sequence_loss(
    logits: Tensor,
    labels: Tensor,
    pad_id: int,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Average the cross-entropy over all labels that are not padding.

    Args:
        logits: (B, T, V), floating point, up to 1,000 from 0.
        labels: (B, T), int64, at least one of them not `pad_id`.
        pad_id: labels of this id count neither in the sum nor in the mean.
        label_smoothing: eps; every token gets the weight eps / V, and the
            label 1 - eps more.

    Returns:
        A tensor without axes, in the dtype of the logits.
    """
    return F.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten(),
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    )


def accumulated_step(
    model: nn.Module,
    src: Tensor,
    tgt: Tensor,
    optimizer: torch.optim.Optimizer,
    pad_id: int,
    size: int,
) -> float:
    """Make one step on a batch that goes through the model in pieces.

    Args:
        model: maps (b, S) and (b, T) ids to logits (b, T, V).
        src: (B, S), int64.
        tgt: (B, T+1), int64: begin token, tokens, end token, padding.
        optimizer: holds the parameters of the model.
        pad_id: labels of this id do not count.
        size: at most this many rows go through the model at once.

    Returns:
        The loss of the whole batch before the step, a Python float: the
        mean over all of its labels that are not `pad_id`.
    """
    inputs, labels = reference.split_target(tgt)
    count = (labels != pad_id).sum()
    optimizer.zero_grad()
    total = 0.0
    for start in range(0, len(src), size):
        rows = slice(start, start + size)
        mean = reference.sequence_loss(model(src[rows], inputs[rows]), labels[rows], pad_id)
        loss = mean * (labels[rows] != pad_id).sum() / count
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


def largest_gap(costs: list[float], parts: int) -> float:
    """Find how far a mean of means can be from the mean.

    Args:
        costs: one for each real label, in any order.
        parts: the number of micro-batches, from 1 to the number of costs.

    Returns:
        The largest possible distance between the mean of all costs and the
        mean of the means of `parts` micro-batches, a Python float.
    """
    mean = sum(costs) / len(costs)
    gaps = []
    for ordered in (sorted(costs), sorted(costs, reverse=True)):
        alone, rest = ordered[: parts - 1], ordered[parts - 1 :]
        mean_of_means = (sum(alone) + sum(rest) / len(rest)) / parts
        gaps.append(abs(mean_of_means - mean))
    return max(gaps)


def teacher_forced_loss(
    model: nn.Module,
    src: Tensor,
    tgt: Tensor,
    pad_id: int,
) -> Tensor:
    """The loss of a batch, as above and without the bugs.

    Args:
        model: maps (B, S) and (B, T) ids to logits (B, T, V).
        src: (B, S), int64.
        tgt: (B, T+1), int64: begin token, tokens, end token, padding.
        pad_id: labels of this id do not count.

    Returns:
        A tensor without axes: the mean loss of the next token, over all
        labels that are not `pad_id`.
    """
    logits = model(src, tgt[:, :-1])  # reads all but the last token
    criterion = nn.CrossEntropyLoss(ignore_index=pad_id)
    return criterion(logits.flatten(0, 1), tgt[:, 1:].flatten())  # says the next


def stuck_parameters(
    model: nn.Module,
    src: Tensor,
    tgt: Tensor,
    optimizer: torch.optim.Optimizer,
    pad_id: int,
) -> dict[str, str]:
    """Make one step of training, and say what stayed as it was, and why.

    Args:
        model: maps (B, S) and (B, T) ids to logits (B, T, V).
        src: (B, S), int64.
        tgt: (B, T+1), int64: begin token, tokens, end token, padding.
        optimizer: holds parameters of the model, perhaps not all.
        pad_id: labels of this id do not count.

    Returns:
        By name, each parameter of which no number has changed:
        "no gradient" if its gradient is None or all zeros, else "no step".
    """
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    inputs, labels = reference.split_target(tgt)
    optimizer.zero_grad()
    loss = reference.sequence_loss(model(src, inputs), labels, pad_id)
    loss.backward()
    optimizer.step()
    stuck = {}
    for name, p in model.named_parameters():
        if p.equal(before[name]):
            nothing = p.grad is None or not p.grad.any()
            stuck[name] = "no gradient" if nothing else "no step"
    return stuck
