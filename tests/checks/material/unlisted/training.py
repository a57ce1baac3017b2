"""Wrong answers to the tasks on training."""

import torch
import torch.nn.functional as F

from tests.checks.material.unlisted import wrong


@wrong("training.sequence_loss", "no ignore_index: padding counts like a label")
def sequence_loss_1(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=label_smoothing)


@wrong("training.sequence_loss", "ignore_index=0: pad_id is taken for 0")
def sequence_loss_2(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=0, label_smoothing=label_smoothing
    )


@wrong("training.sequence_loss", "label_smoothing is not handed on")
def sequence_loss_3(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id)


@wrong("training.sequence_loss", "reduction='sum': not divided by the number of labels")
def sequence_loss_4(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(
        logits.transpose(1, 2),
        labels,
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
        reduction="sum",
    )


@wrong("training.sequence_loss", "reduction='none' and .mean(): divided by B T, padding counted")
def sequence_loss_5(logits, labels, pad_id, label_smoothing=0.0):
    costs = F.cross_entropy(
        logits.transpose(1, 2),
        labels,
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
        reduction="none",
    )
    return costs.mean()


@wrong("training.sequence_loss", "logits.view(B, V, T): the numbers are mixed, not transposed")
def sequence_loss_6(logits, labels, pad_id, label_smoothing=0.0):
    batch, length, size = logits.shape
    mixed = logits.reshape(batch, size, length)
    return F.cross_entropy(mixed, labels, ignore_index=pad_id, label_smoothing=label_smoothing)


@wrong("training.sequence_loss", "softmax before cross_entropy: it is taken twice")
def sequence_loss_7(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(
        logits.softmax(dim=-1).flatten(0, 1),
        labels.flatten(),
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    )


@wrong("training.sequence_loss", "a mean for each row, and the mean of those")
def sequence_loss_8(logits, labels, pad_id, label_smoothing=0.0):
    rows = [
        F.cross_entropy(row, label, ignore_index=pad_id, label_smoothing=label_smoothing)
        for row, label in zip(logits, labels, strict=True)
    ]
    return torch.stack(rows).mean()


@wrong("training.sequence_loss", ".item(): a float, no gradient reaches the logits")
def sequence_loss_9(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten(),
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    ).item()


@wrong("training.sequence_loss", "logits[labels != pad_id].softmax.log: infinite for 500 apart")
def sequence_loss_10(logits, labels, pad_id, label_smoothing=0.0):
    real = labels != pad_id
    logs = logits[real].softmax(dim=-1).log()
    said = logs.gather(-1, labels[real].unsqueeze(-1)).squeeze(-1)
    return -((1 - label_smoothing) * said + label_smoothing * logs.mean(dim=-1)).mean()
