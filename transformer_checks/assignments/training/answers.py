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
    logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float = 0.0
) -> Tensor:
    """Average the cross-entropy over all labels that are not padding.

    Args:
        logits: (B, T, V), floating point, up to 500 apart.
        labels: (B, T), int64, at least one of them not `pad_id`.
        pad_id: labels of this id count neither in the sum nor in the mean.
        label_smoothing: eps; the target is eps / V for every class, and
            1 - eps more for the label.

    Returns:
        A tensor without axes, in the dtype of the logits.
    """
    return F.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten(),
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    )


def noam_learning_rate(step: int, d_model: int, warmup: int) -> float:
    """The paper's learning rate: a straight rise, then a fall with the root.

    Args:
        step: counts from 1.
        d_model: D.
        warmup: the number of steps of the rise.

    Returns:
        D^(-1/2) * min(step^(-1/2), step * warmup^(-3/2)), a Python float.
    """
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def token_accuracy(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    """The share of the real labels that the largest logit names.

    Args:
        logits: (B, T, V), floating point.
        labels: (B, T), int64, at least one of them not `pad_id`.
        pad_id: labels of this id do not count, right or wrong.

    Returns:
        A Python float in [0, 1].
    """
    real = labels != pad_id
    right = logits.argmax(dim=-1) == labels
    return (right & real).sum().item() / real.sum().item()


def train_step(
    model: nn.Module,
    src: Tensor,
    tgt: Tensor,
    optimizer: torch.optim.Optimizer,
    pad_id: int,
) -> float:
    """Make one step of teacher-forced training.

    Args:
        model: maps (B, S) and (B, T) ids to logits (B, T, V); in training
            mode.
        src: (B, S), int64.
        tgt: (B, T+1), int64: begin token, tokens, end token, padding.
        optimizer: holds the parameters of the model.
        pad_id: labels of this id do not count.

    Returns:
        The loss from before the step, a Python float: the mean over all
        labels that are not `pad_id`, without smoothing.
    """
    inputs, labels = reference.split_target(tgt)
    optimizer.zero_grad()
    loss = reference.sequence_loss(model(src, inputs), labels, pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


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


def perplexity(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    """Turn the mean loss into a number of choices, without the bug.

    Args:
        logits: (B, T, V), floating point.
        labels: (B, T), int64, at least one of them not `pad_id`.
        pad_id: labels of this id count neither in the sum nor in the mean.

    Returns:
        A Python float from 1 up: e to the mean of -ln p(label).
    """
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return losses[labels != pad_id].mean().exp().item()  # only what counts


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
