"""Wrong answers to the tasks of training, as beginners write them."""

import torch
import torch.nn.functional as F

from tests.checks.material.unseen import wrong
from transformer_ref import training as reference


@wrong("training.sequence_loss", "the mean of the means of the rows", "mean-of-means")
def _(logits, labels, pad_id, label_smoothing=0.0):
    real = labels != pad_id
    loss = F.cross_entropy(
        logits.transpose(1, 2), labels, reduction="none", label_smoothing=label_smoothing
    )
    return ((loss * real).sum(1) / real.sum(1).clamp(min=1)).mean()


def _loss(model, src, tgt, pad_id):
    return reference.sequence_loss(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id)


@wrong("training.accumulated_step", "chunk: `size` pieces, not pieces of `size` rows")
def _(model, src, tgt, optimizer, pad_id, size):
    optimizer.zero_grad()
    count = (tgt[:, 1:] != pad_id).sum()
    total = 0.0
    for s, t in zip(src.chunk(size), tgt.chunk(size), strict=True):
        loss = _loss(model, s, t, pad_id) * (t[:, 1:] != pad_id).sum() / count
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


@wrong("training.accumulated_step", "range(B // size): the last rows are lost", "last-rows-dropped")
def _(model, src, tgt, optimizer, pad_id, size):
    optimizer.zero_grad()
    count = (tgt[:, 1:] != pad_id).sum()
    total = 0.0
    for i in range(len(src) // size):
        s, t = src[i * size : (i + 1) * size], tgt[i * size : (i + 1) * size]
        loss = _loss(model, s, t, pad_id) * (t[:, 1:] != pad_id).sum() / count
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


@wrong("training.accumulated_step", "backward comes after the loop", relation="only-cases")
def _(model, src, tgt, optimizer, pad_id, size):
    optimizer.zero_grad()
    count, loss = (tgt[:, 1:] != pad_id).sum(), 0.0
    for i in range(0, len(src), size):
        t = tgt[i : i + size]
        loss += _loss(model, src[i : i + size], t, pad_id) * (t[:, 1:] != pad_id).sum() / count
    loss.backward()
    optimizer.step()
    return loss.item()


@wrong("training.accumulated_step", "each row has its mean, then the rows", "rows-weigh")
def _(model, src, tgt, optimizer, pad_id, size):
    optimizer.zero_grad()
    total = 0.0
    for i in range(0, len(src), size):
        s, t = src[i : i + size], tgt[i : i + size]
        loss = _loss(model, s, t, pad_id) * (len(s) / len(src))
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


def _mean(numbers):
    return sum(numbers) / len(numbers)


@wrong("training.largest_gap", "slices from the end fail with one part", relation="only-cases")
def _(costs, parts):
    ordered = sorted(costs)
    high = _mean([*ordered[-(parts - 1) :], _mean(ordered[: -(parts - 1)])])
    low = _mean([*ordered[: parts - 1], _mean(ordered[parts - 1 :])])
    return max(high - _mean(costs), _mean(costs) - low)


@wrong("training.largest_gap", "one alone at each end, the rest in pieces of one size")
def _(costs, parts):
    ordered = sorted(costs)
    if parts == 1:
        return 0.0
    if parts == 2:
        means = [ordered[-1], _mean(ordered[:-1])]
    else:
        means = [ordered[0], ordered[-1]] + (parts - 2) * [_mean(ordered[1:-1])]
    return abs(_mean(means) - _mean(costs))


@wrong("training.largest_gap", "both gaps are returned", relation="form")
def _(costs, parts):
    gaps = []
    for ordered in (sorted(costs), sorted(costs)[::-1]):
        gaps.append(abs(_mean([*ordered[: parts - 1], _mean(ordered[parts - 1 :])]) - _mean(costs)))
    return gaps


@wrong("training.sequence_loss", "a mean for each row, and the mean of those", None)
def sequence_loss_8(logits, labels, pad_id, label_smoothing=0.0):
    rows = [
        F.cross_entropy(row, label, ignore_index=pad_id, label_smoothing=label_smoothing)
        for row, label in zip(logits, labels, strict=True)
    ]
    return torch.stack(rows).mean()
