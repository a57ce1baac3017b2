"""Losses: teacher forcing, and cross-entropy over what is no padding."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from transformer_ref._validate import require_ids, require_integer, require_probability


def split_target(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Cut a target into what the decoder reads and what it must say (teacher forcing).

    Args:
        ids: (B, T+1) integer ids: begin token, tokens, end token, padding.

    Returns:
        inputs (B, T) without the last column and labels (B, T) without the first.

    Raises:
        ValueError: if `ids` is not a 2-D integer tensor with at least two columns.
    """
    require_ids("ids", ids)
    if ids.shape[1] < 2:
        raise ValueError(f"ids must have at least 2 columns, got shape {tuple(ids.shape)}")
    return ids[:, :-1], ids[:, 1:]


def sequence_loss(
    logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float = 0.0
) -> Tensor:
    """Cross-entropy averaged over all labels that are not padding.

    Smoothing by eps is that of ``F.cross_entropy``: the target gives every class eps / V, and
    the label 1 - eps more.
    The Annotated Transformer leaves label and pad out: 1 - eps, 0, and eps / (V - 2) for each
    other class. With l = -log p, that makes its cross-entropy smaller by
    eps / V * (l_label + l_pad - 2 * mean of the other l): little, where V is large.
    (It then reports the Kullback-Leibler divergence, which is smaller by another constant.)

    Args:
        logits: (B, T, V) floating.
        labels: (B, T) int64 or int32 ids, at least one of them not `pad_id`.
        pad_id: labels of this id are left out, in the sum and in the count; it may lie outside
            the vocabulary.
        label_smoothing: share of the target spread evenly over all V classes, in [0, 1).

    Returns:
        A scalar, in nats a token.

    Raises:
        ValueError: if shapes, dtypes or devices do not fit, a label is outside the vocabulary,
            all are padding, or the smoothing is out of range.

    Source: Vaswani et al. 2017, section 5.4; smoothing as in Szegedy et al. 2016, section 7.
    """
    require_integer(pad_id=pad_id)
    require_probability(label_smoothing=label_smoothing)
    require_scores(logits, labels)
    real = labels != pad_id
    require_ids("labels", labels.where(real, 0), logits.shape[-1], logits.device)
    if not (torch.compiler.is_compiling() or real.any()):
        raise ValueError(f"labels must hold at least one that is not pad_id={pad_id}, got none")
    return mean_surprise(logits, labels, pad_id, label_smoothing)


def require_scores(logits: Tensor, labels: Tensor) -> None:
    """Refuse logits that are not (B, T, V) floating for labels (B, T); looks at no value."""
    if logits.ndim != 3 or logits.shape[:2] != labels.shape:
        raise ValueError(
            "logits must be (B, T, V) and labels (B, T), "
            f"got {tuple(logits.shape)} and {tuple(labels.shape)}"
        )
    if not logits.is_floating_point():
        raise ValueError(f"logits must be floating, got {logits.dtype}")


def mean_surprise(logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float) -> Tensor:
    """:func:`sequence_loss` of what is known to fit."""
    return F.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten().long(),
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    )


@dataclass(frozen=True)
class Batch:
    """Some examples, padded, as a loss sees them.

    Attributes:
        source: (B, S) int64 ids.
        inputs: (B, T) int64 ids that the decoder reads: the target without its last token.
        labels: (B, T) int64 ids that it must say: the target without its first token.
        places: B places in the trainer's examples, to find what is kept of each, such as the
            answers of a teacher.
    """

    source: Tensor
    inputs: Tensor
    labels: Tensor
    places: list[int]


Loss = Callable[[Callable[..., Tensor], Batch], Tensor]
