"""Wrong answers to the tasks of training, as beginners write them."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.checks.material.unseen import wrong
from transformer_ref import training as reference

# training.split_target


@wrong("training.split_target", "the rows are cut, not the columns", "sequences-cut-off")
def _(ids):
    return ids[:-1], ids[1:]


@wrong("training.split_target", "inputs are not cut", "inputs-not-cut")
def _(ids):
    return ids, ids[:, 1:]


@wrong("training.split_target", "swapped", "swapped")
def _(ids):
    return ids[:, 1:], ids[:, :-1]


@wrong("training.split_target", "the label is the last token only", "one-token-only")
def _(ids):
    return ids[:, :-1], ids[:, -1]


@wrong(
    "training.split_target", "the labels are rolled: the begin token at their end", "wraps-around"
)
def _(ids):
    return ids, ids.roll(-1, dims=1)


# training.sequence_loss


@wrong("training.sequence_loss", "padding counts", "padding-in-the-loss")
def _(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=label_smoothing)


@wrong("training.sequence_loss", "softmax before cross_entropy", "softmax-twice")
def _(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(
        logits.softmax(-1).flatten(0, 1),
        labels.flatten(),
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    )


@wrong("training.sequence_loss", "the smoothing is not handed on", "smoothing-ignored")
def _(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id)


@wrong("training.sequence_loss", "padding is zeroed but counted in the mean", "padding-is-counted")
def _(logits, labels, pad_id, label_smoothing=0.0):
    loss = F.cross_entropy(
        logits.transpose(1, 2), labels, reduction="none", label_smoothing=label_smoothing
    )
    return (loss * (labels != pad_id)).mean()


@wrong("training.sequence_loss", "the mean of the means of the rows", "mean-of-means")
def _(logits, labels, pad_id, label_smoothing=0.0):
    real = labels != pad_id
    loss = F.cross_entropy(
        logits.transpose(1, 2), labels, reduction="none", label_smoothing=label_smoothing
    )
    return ((loss * real).sum(1) / real.sum(1).clamp(min=1)).mean()


# training.find_the_bug


@wrong("training.find_the_bug", "only the loud bug mended", "second-bug-still-there")
def _(model, src, tgt, pad_id):
    logits = model(src, tgt)
    criterion = nn.CrossEntropyLoss(ignore_index=pad_id)
    return criterion(logits.flatten(0, 1), tgt.flatten())


@wrong("training.find_the_bug", "the argument is left out: padding counts", "padding-in-the-loss")
def _(model, src, tgt, pad_id):
    logits = model(src, tgt[:, :-1])
    criterion = nn.CrossEntropyLoss()
    return criterion(logits.flatten(0, 1), tgt[:, 1:].flatten())


@wrong("training.find_the_bug", "shifted the wrong way round", "swapped")
def _(model, src, tgt, pad_id):
    logits = model(src, tgt[:, 1:])
    criterion = nn.CrossEntropyLoss(ignore_index=pad_id)
    return criterion(logits.flatten(0, 1), tgt[:, :-1].flatten())


@wrong("training.find_the_bug", "the source is what is shifted", "source-cut")
def _(model, src, tgt, pad_id):
    logits = model(src[:, :-1], tgt[:, :-1])
    criterion = nn.CrossEntropyLoss(ignore_index=pad_id)
    return criterion(logits.flatten(0, 1), tgt[:, 1:].flatten())


@wrong("training.find_the_bug", "a Python float: no gradient", "number-for-a-tensor")
def _(model, src, tgt, pad_id):
    logits = model(src, tgt[:, :-1])
    criterion = nn.CrossEntropyLoss(ignore_index=pad_id)
    return criterion(logits.flatten(0, 1), tgt[:, 1:].flatten()).item()


# training.accumulated_step, written from its text once the names were done


def _loss(model, src, tgt, pad_id):
    return reference.sequence_loss(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id)


@wrong("training.accumulated_step", "every micro-batch counts the same", "mean-of-micro-batches")
def _(model, src, tgt, optimizer, pad_id, size):
    optimizer.zero_grad()
    sources, targets = src.split(size), tgt.split(size)
    total = 0.0
    for s, t in zip(sources, targets, strict=True):
        loss = _loss(model, s, t, pad_id) / len(sources)
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


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


@wrong(
    "training.accumulated_step", "the gradients are divided by the pieces", "mean-of-micro-batches"
)
def _(model, src, tgt, optimizer, pad_id, size):
    optimizer.zero_grad()
    losses = []
    for i in range(0, len(src), size):
        loss = _loss(model, src[i : i + size], tgt[i : i + size], pad_id)
        loss.backward()
        losses.append(loss.item())
    for parameter in model.parameters():
        parameter.grad /= len(losses)
    optimizer.step()
    return sum(losses) / len(losses)


@wrong("training.accumulated_step", "right step, averaged losses", "mean-of-means-returned")
def _(model, src, tgt, optimizer, pad_id, size):
    optimizer.zero_grad()
    count, losses = (tgt[:, 1:] != pad_id).sum(), []
    for i in range(0, len(src), size):
        t = tgt[i : i + size]
        loss = _loss(model, src[i : i + size], t, pad_id)
        (loss * (t[:, 1:] != pad_id).sum() / count).backward()
        losses.append(loss.item())
    optimizer.step()
    return sum(losses) / len(losses)


@wrong("training.accumulated_step", "the tokens of the target are counted", "begin-token-counted")
def _(model, src, tgt, optimizer, pad_id, size):
    optimizer.zero_grad()
    total = 0.0
    for i in range(0, len(src), size):
        t = tgt[i : i + size]
        share = (t != pad_id).sum() / (tgt != pad_id).sum()
        loss = _loss(model, src[i : i + size], t, pad_id) * share
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


@wrong("training.accumulated_step", "sums, never divided", "sum-not-mean")
def _(model, src, tgt, optimizer, pad_id, size):
    optimizer.zero_grad()
    total = 0.0
    for i in range(0, len(src), size):
        logits = model(src[i : i + size], tgt[i : i + size, :-1])
        loss = F.cross_entropy(
            logits.transpose(1, 2), tgt[i : i + size, 1:], ignore_index=pad_id, reduction="sum"
        )
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


@wrong("training.accumulated_step", "zero_grad only at the end", "old-gradients")
def _(model, src, tgt, optimizer, pad_id, size):
    count, total = (tgt[:, 1:] != pad_id).sum(), 0.0
    for i in range(0, len(src), size):
        t = tgt[i : i + size]
        loss = _loss(model, src[i : i + size], t, pad_id) * (t[:, 1:] != pad_id).sum() / count
        loss.backward()
        total += loss.item()
    optimizer.step()
    optimizer.zero_grad()
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


# training.largest_gap, written from its text once the names were done


def _mean(numbers):
    return sum(numbers) / len(numbers)


@wrong("training.largest_gap", "the costly labels are alone", "one-direction")
def _(costs, parts):
    ordered = sorted(costs)[::-1]
    means = [*ordered[: parts - 1], _mean(ordered[parts - 1 :])]
    return abs(_mean(means) - _mean(costs))


@wrong("training.largest_gap", "the farthest from the mean are alone", "both-ends")
def _(costs, parts):
    mean = _mean(costs)
    ordered = sorted(costs, key=lambda cost: -abs(cost - mean))
    means = [*ordered[: parts - 1], _mean(ordered[parts - 1 :])]
    return abs(_mean(means) - mean)


@wrong("training.largest_gap", "sorted, and cut into equal pieces", "equal-sizes")
def _(costs, parts):
    pieces = torch.tensor(sorted(costs)).tensor_split(parts)
    means = torch.stack([piece.mean() for piece in pieces])
    return abs(means.mean().item() - _mean(costs))


@wrong("training.largest_gap", "rounded to two digits, as in the example", "rounded")
def _(costs, parts):
    best = 0.0
    for ordered in (sorted(costs), sorted(costs)[::-1]):
        means = [*ordered[: parts - 1], _mean(ordered[parts - 1 :])]
        best = max(best, abs(_mean(means) - _mean(costs)))
    return round(best, 2)


@wrong("training.largest_gap", "the farthest micro-batch, not the mean of all", "farthest-cost")
def _(costs, parts):
    gaps = []
    for ordered in (sorted(costs), sorted(costs)[::-1]):
        means = [*ordered[: parts - 1], _mean(ordered[parts - 1 :])]
        gaps += [abs(each - _mean(costs)) for each in means]
    return max(gaps)


@wrong("training.largest_gap", "the mean of means itself", "mean-of-means-itself")
def _(costs, parts):
    ordered = sorted(costs, reverse=True)
    return _mean([*ordered[: parts - 1], _mean(ordered[parts - 1 :])])


@wrong("training.largest_gap", "only the first label is moved, in the given order", "not-sorted")
def _(costs, parts):
    means = [*costs[: parts - 1], _mean(costs[parts - 1 :])]
    return abs(_mean(means) - _mean(costs))


@wrong("training.largest_gap", "slices from the end fail with one part", relation="only-cases")
def _(costs, parts):
    ordered = sorted(costs)
    high = _mean([*ordered[-(parts - 1) :], _mean(ordered[: -(parts - 1)])])
    low = _mean([*ordered[: parts - 1], _mean(ordered[parts - 1 :])])
    return max(high - _mean(costs), _mean(costs) - low)


@wrong("training.largest_gap", "one label too many alone", "one-too-many-alone")
def _(costs, parts):
    gaps = []
    for ordered in (sorted(costs), sorted(costs)[::-1]):
        rest = ordered[parts:]
        means = ordered[:parts] + ([_mean(rest)] if rest else [])
        gaps.append(abs(_mean(means) - _mean(costs)))
    return max(gaps)


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


@wrong("training.largest_gap", "the lone labels share one", "lone-labels-together")
def _(costs, parts):
    gaps = [0.0]
    for ordered in (sorted(costs), sorted(costs)[::-1]):
        if parts > 1:
            means = [_mean(ordered[: parts - 1]), _mean(ordered[parts - 1 :])]
            gaps.append(abs(_mean(means) - _mean(costs)))
    return max(gaps)


@wrong("training.largest_gap", "compared with the rest", "compared-with-the-rest")
def _(costs, parts):
    gaps = []
    for ordered in (sorted(costs), sorted(costs)[::-1]):
        rest = _mean(ordered[parts - 1 :])
        gaps.append(abs(_mean([*ordered[: parts - 1], rest]) - rest))
    return max(gaps)


@wrong("training.largest_gap", "both gaps are returned", relation="form")
def _(costs, parts):
    gaps = []
    for ordered in (sorted(costs), sorted(costs)[::-1]):
        gaps.append(abs(_mean([*ordered[: parts - 1], _mean(ordered[parts - 1 :])]) - _mean(costs)))
    return gaps


@wrong("training.largest_gap", "the gap has a sign", "one-direction")
def _(costs, parts):
    gaps = []
    for ordered in (sorted(costs), sorted(costs)[::-1]):
        gaps.append(_mean([*ordered[: parts - 1], _mean(ordered[parts - 1 :])]) - _mean(costs))
    return max(gaps)


@wrong("training.largest_gap", "sums of the micro-batches instead of means", "rest-is-summed")
def _(costs, parts):
    gaps = []
    for ordered in (sorted(costs), sorted(costs)[::-1]):
        sums = [*ordered[: parts - 1], sum(ordered[parts - 1 :])]
        gaps.append(abs(_mean(sums) - _mean(costs)))
    return max(gaps)


@wrong("training.largest_gap", "a tensor", "tensor-for-a-number")
def _(costs, parts):
    gaps = []
    for ordered in (sorted(costs), sorted(costs)[::-1]):
        alone, rest = torch.tensor(ordered[: parts - 1]), torch.tensor(ordered[parts - 1 :])
        means = torch.cat((alone, rest.mean()[None]))
        gaps.append((means.mean() - torch.tensor(costs).mean()).abs())
    return max(gaps)


@wrong("training.largest_gap", "two micro-batches, whatever parts is", "two-parts-only")
def _(costs, parts):
    gaps = []
    for ordered in (sorted(costs), sorted(costs)[::-1]):
        means = [ordered[0], _mean(ordered[1:])]
        gaps.append(abs(_mean(means) - _mean(costs)))
    return max(gaps)
