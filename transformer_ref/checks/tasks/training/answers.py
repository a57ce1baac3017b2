"""Right answers to tasks of the assignment "training": those that the package does not hold."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from transformer_ref import training as reference


def token_accuracy(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    """Return the share of the labels that the largest logit names, padding left out.

    Args:
        logits: (B, T, V) floating.
        labels: (B, T) int64.
        pad_id: labels of this id do not count.

    Returns:
        a number in [0, 1].
    """
    real = labels != pad_id
    right = (logits.argmax(dim=-1) == labels) & real
    return right.sum().item() / real.sum().item()


def train_step(
    model: nn.Module, src: Tensor, tgt: Tensor, optimizer: torch.optim.Optimizer, pad_id: int
) -> float:
    """Make one step of teacher-forced training.

    Args:
        model: maps (B, S) and (B, T) ids to (B, T, V) logits.
        src: (B, S) int64.
        tgt: (B, T+1) int64, with begin and end token.
        optimizer: of the model's parameters.
        pad_id: labels of this id do not count.

    Returns:
        the loss from before the step.
    """
    optimizer.zero_grad()
    loss = teacher_forced_loss(model, src, tgt, pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


def teacher_forced_loss(model: nn.Module, src: Tensor, tgt: Tensor, pad_id: int) -> Tensor:
    """Return the mean loss of the next token at all positions of a target, padding left out.

    Args:
        model: maps (B, S) and (B, T) ids to (B, T, V) logits.
        src: (B, S) int64.
        tgt: (B, T+1) int64, with begin and end token.
        pad_id: labels of this id do not count.

    Returns:
        a scalar.
    """
    inputs, labels = reference.split_target(tgt)
    return reference.sequence_loss(model(src, inputs), labels, pad_id)


def perplexity(logits: Tensor, labels: Tensor, pad_id: int) -> float:
    """Return e to the mean loss of the labels that are not padding.

    Args:
        logits: (B, T, V) floating.
        labels: (B, T) int64.
        pad_id: labels of this id do not count.

    Returns:
        a number from 1 up.
    """
    return math.exp(reference.sequence_loss(logits, labels, pad_id).item())
