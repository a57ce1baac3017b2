"""Wrong answers to the tasks of training, as beginners write them."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.checks.material.unseen import wrong

# training.noam_learning_rate


@wrong("training.noam_learning_rate", "max instead of min", "max-not-min")
def _(step, d_model, warmup):
    return d_model**-0.5 * max(step**-0.5, step * warmup**-1.5)


@wrong("training.noam_learning_rate", "warmup to the -0.5", "warmup-another-power")
def _(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-0.5)


@wrong(
    "training.noam_learning_rate",
    "the minus of the exponent of D is missing",
    "d_model-another-power",
)
def _(step, d_model, warmup):
    return d_model**0.5 * min(step**-0.5, step * warmup**-1.5)


@wrong("training.noam_learning_rate", "step counts from 0: one is added", "counted-from-0")
def _(step, d_model, warmup):
    step = step + 1
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


@wrong("training.noam_learning_rate", "the factor of D is missing", "d_model-forgotten")
def _(step, d_model, warmup):
    return min(step**-0.5, step * warmup**-1.5)


@wrong("training.noam_learning_rate", "only the rise", "never-falls")
def _(step, d_model, warmup):
    return d_model**-0.5 * step * warmup**-1.5


@wrong("training.noam_learning_rate", "only the fall", "no-warm-up")
def _(step, d_model, warmup):
    return d_model**-0.5 * step**-0.5


@wrong(
    "training.noam_learning_rate",
    "integer division in the exponent: -3 // 2 is -2, 1 // 2 is 0",
    "whole-exponents",
)
def _(step, d_model, warmup):
    return d_model ** (-1 // 2) * min(step ** (-1 // 2), step * warmup ** (-3 // 2))


@wrong(
    "training.noam_learning_rate",
    "the factor of D stands on the first branch only",
    "d_model-in-one-branch",
)
def _(step, d_model, warmup):
    return min(d_model**-0.5 * step**-0.5, step * warmup**-1.5)


@wrong("training.noam_learning_rate", "the minus of warmup's exponent is missing", "no-warm-up")
def _(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**1.5)


@wrong("training.noam_learning_rate", "a tensor instead of a float", "tensor-for-a-number")
def _(step, d_model, warmup):
    s, w = torch.tensor(float(step)), torch.tensor(float(warmup))
    return d_model**-0.5 * torch.minimum(s**-0.5, s * w**-1.5)


@wrong("training.noam_learning_rate", "D divides without the root", "d_model-another-power")
def _(step, d_model, warmup):
    return 1 / d_model * min(1 / math.sqrt(step), step * warmup**-1.5)


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


# training.token_accuracy


@wrong("training.token_accuracy", "padding counts", "padding-in-the-loss")
def _(logits, labels, pad_id):
    return (logits.argmax(-1) == labels).float().mean().item()


@wrong(
    "training.token_accuracy", "right padding counts above, real labels below", "padding-is-right"
)
def _(logits, labels, pad_id):
    right = (logits.argmax(-1) == labels).sum()
    return (right / (labels != pad_id).sum()).item()


@wrong("training.token_accuracy", "divided by all positions", "padding-is-counted")
def _(logits, labels, pad_id):
    right = (logits.argmax(-1) == labels) & (labels != pad_id)
    return right.float().mean().item()


@wrong(
    "training.token_accuracy",
    "places where the model says padding are left out",
    "padding-of-the-answers",
)
def _(logits, labels, pad_id):
    pred = logits.argmax(-1)
    keep = pred != pad_id
    return (pred[keep] == labels[keep]).float().mean().item()


@wrong("training.token_accuracy", "argmax over the positions")
def _(logits, labels, pad_id):
    pred = logits.argmax(1)[:, : labels.shape[1]]
    real = labels != pad_id
    n = min(pred.shape[1], labels.shape[1])
    return ((pred[:, :n] == labels[:, :n]) & real[:, :n]).sum().item() / real.sum().item()


# training.train_step


@wrong("training.train_step", "zero_grad is missing", "old-gradients")
def _(model, src, tgt, optimizer, pad_id):
    logits = model(src, tgt[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


@wrong("training.train_step", "zero_grad between backward and step", "no-step")
def _(model, src, tgt, optimizer, pad_id):
    logits = model(src, tgt[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=pad_id)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


@wrong("training.train_step", "no step", "no-step")
def _(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    logits = model(src, tgt[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=pad_id)
    loss.backward()
    return loss.item()


@wrong("training.train_step", "returns the tensor", "tensor-for-a-number")
def _(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    logits = model(src, tgt[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=pad_id)
    loss.backward()
    optimizer.step()
    return loss


@wrong("training.train_step", "the model reads what it has to say", "reads-the-answer")
def _(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    logits = model(src, tgt[:, 1:])
    loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


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


# training.find_the_silent_bug


@wrong("training.find_the_silent_bug", "the mean loss, without exp", "no-exponential")
def _(logits, labels, pad_id):
    return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id).item()


@wrong("training.find_the_silent_bug", "the mean of the exps", "exponential-too-early")
def _(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return losses[labels != pad_id].exp().mean().item()


@wrong(
    "training.find_the_silent_bug",
    "losses that happen to be 0 are left out",
    "small-losses-left-out",
)
def _(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="none")
    return losses[losses > 0.1].mean().exp().item()


@wrong("training.find_the_silent_bug", "sums, without a mean", "exponential-of-the-sum")
def _(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="none")
    return losses.sum().exp().item()


@wrong("training.find_the_silent_bug", "divided by the number of rows", "exponential-of-the-sum")
def _(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="none")
    return (losses.sum() / labels.shape[0]).exp().item()
