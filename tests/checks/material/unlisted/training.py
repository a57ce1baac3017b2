"""Wrong answers to the tasks on training."""

import math

import torch
import torch.nn.functional as F

from tests.checks.material.unlisted import wrong
from transformer_ref import training as reference


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


@wrong("training.noam_learning_rate", "max: the larger of the branches")
def noam_learning_rate_1(step, d_model, warmup):
    return d_model**-0.5 * max(step**-0.5, step * warmup**-1.5)


@wrong("training.noam_learning_rate", "d_model**0.5: multiplied by the root of D")
def noam_learning_rate_2(step, d_model, warmup):
    return d_model**0.5 * min(step**-0.5, step * warmup**-1.5)


@wrong("training.noam_learning_rate", "no factor of d_model")
def noam_learning_rate_3(step, d_model, warmup):
    return min(step**-0.5, step * warmup**-1.5)


@wrong("training.noam_learning_rate", "warmup**-0.5: the exponent of the rise")
def noam_learning_rate_4(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-0.5)


@wrong("training.noam_learning_rate", "(step * warmup)**-1.5: the power takes the product")
def noam_learning_rate_5(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, (step * warmup) ** -1.5)


@wrong("training.noam_learning_rate", "step + 1: counted from 0")
def noam_learning_rate_6(step, d_model, warmup):
    step = step + 1
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


@wrong("training.noam_learning_rate", "d_model ** (-1 // 2): a floor division makes it 1 / D")
def noam_learning_rate_7(step, d_model, warmup):
    return d_model ** (-1 // 2) * min(step**-0.5, step * warmup**-1.5)


@wrong("training.noam_learning_rate", "1 / step after the warm-up: falls faster than the root")
def noam_learning_rate_8(step, d_model, warmup):
    if step < warmup:
        return d_model**-0.5 * step * warmup**-1.5
    return d_model**-0.5 / step


@wrong("training.noam_learning_rate", "the factor of D inside min: on the first branch only")
def noam_learning_rate_9(step, d_model, warmup):
    return min(d_model**-0.5 * step**-0.5, step * warmup**-1.5)


@wrong("training.noam_learning_rate", "-d_model**0.5: the minus comes after the power")
def noam_learning_rate_10(step, d_model, warmup):
    return -(d_model**0.5) * min(-(step**0.5), step * -(warmup**1.5))


@wrong("training.token_accuracy", "(said == labels).float().mean(): padding counts")
def token_accuracy_1(logits, labels, pad_id):
    return (logits.argmax(dim=-1) == labels).float().mean().item()


@wrong("training.token_accuracy", "said != pad_id: what the model says decides what is real")
def token_accuracy_2(logits, labels, pad_id):
    said = logits.argmax(dim=-1)
    real = said != pad_id
    return ((said == labels) & real).sum().item() / max(1, real.sum().item())


@wrong("training.token_accuracy", "labels != 0: pad_id is taken for 0")
def token_accuracy_3(logits, labels, pad_id):
    real = labels != 0
    right = (logits.argmax(dim=-1) == labels) & real
    return (right.sum() / real.sum()).item()


@wrong("training.token_accuracy", "logits.max(dim=-1).values: a logit and not its place")
def token_accuracy_4(logits, labels, pad_id):
    real = labels != pad_id
    right = (logits.max(dim=-1).values == labels) & real
    return (right.sum() / real.sum()).item()


@wrong("training.token_accuracy", "argmax(dim=1): over the places and not the tokens")
def token_accuracy_5(logits, labels, pad_id):
    said = logits.argmax(dim=1)[:, : labels.shape[1]]
    real = labels != pad_id
    return (((said == labels) & real).sum() / real.sum()).item()


@wrong("training.token_accuracy", "right.sum() / labels.numel(): divided by all positions")
def token_accuracy_6(logits, labels, pad_id):
    right = (logits.argmax(dim=-1) == labels) & (labels != pad_id)
    return right.sum().item() / labels.numel()


@wrong("training.token_accuracy", "no .item(): a tensor and not a float")
def token_accuracy_7(logits, labels, pad_id):
    real = labels != pad_id
    right = (logits.argmax(dim=-1) == labels) & real
    return right.sum() / real.sum()


@wrong("training.token_accuracy", "right.sum() // real.sum(): a whole number")
def token_accuracy_8(logits, labels, pad_id):
    real = labels != pad_id
    right = (logits.argmax(dim=-1) == labels) & real
    return float(right.sum() // real.sum())


@wrong("training.token_accuracy", "the mean of the accuracies of the rows")
def token_accuracy_9(logits, labels, pad_id):
    real = labels != pad_id
    right = (logits.argmax(dim=-1) == labels) & real
    return (right.sum(dim=1) / real.sum(dim=1).clamp(min=1)).mean().item()


@wrong("training.token_accuracy", "1 - share: the share of the wrong tokens")
def token_accuracy_10(logits, labels, pad_id):
    real = labels != pad_id
    missed = (logits.argmax(dim=-1) != labels) & real
    return (missed.sum() / real.sum()).item()


@wrong("training.train_step", "no zero_grad: old gradients count")
def train_step_1(model, src, tgt, optimizer, pad_id):
    inputs, labels = reference.split_target(tgt)
    loss = reference.sequence_loss(model(src, inputs), labels, pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


@wrong("training.train_step", "zero_grad between backward and step: nothing is learned")
def train_step_2(model, src, tgt, optimizer, pad_id):
    inputs, labels = reference.split_target(tgt)
    loss = reference.sequence_loss(model(src, inputs), labels, pad_id)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


@wrong("training.train_step", "no optimizer.step(): the parameters stay")
def train_step_3(model, src, tgt, optimizer, pad_id):
    inputs, labels = reference.split_target(tgt)
    optimizer.zero_grad()
    loss = reference.sequence_loss(model(src, inputs), labels, pad_id)
    loss.backward()
    return loss.item()


@wrong("training.train_step", "model(src, tgt[:, 1:]): the model reads its labels")
def train_step_4(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    loss = reference.sequence_loss(model(src, tgt[:, 1:]), tgt[:, 1:], pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


@wrong("training.train_step", "return loss: a tensor with its graph and no float")
def train_step_5(model, src, tgt, optimizer, pad_id):
    inputs, labels = reference.split_target(tgt)
    optimizer.zero_grad()
    loss = reference.sequence_loss(model(src, inputs), labels, pad_id)
    loss.backward()
    optimizer.step()
    return loss


@wrong("training.train_step", "the loss is computed once more after the step and returned")
def train_step_6(model, src, tgt, optimizer, pad_id):
    inputs, labels = reference.split_target(tgt)
    optimizer.zero_grad()
    reference.sequence_loss(model(src, inputs), labels, pad_id).backward()
    optimizer.step()
    with torch.no_grad():
        return reference.sequence_loss(model(src, inputs), labels, pad_id).item()


@wrong("training.train_step", "label_smoothing=0.1: the loss is smoothed")
def train_step_7(model, src, tgt, optimizer, pad_id):
    inputs, labels = reference.split_target(tgt)
    optimizer.zero_grad()
    loss = reference.sequence_loss(model(src, inputs), labels, pad_id, label_smoothing=0.1)
    loss.backward()
    optimizer.step()
    return loss.item()


@wrong("training.train_step", "model.eval() at the start: it does not stay in training mode")
def train_step_8(model, src, tgt, optimizer, pad_id):
    model.eval()
    inputs, labels = reference.split_target(tgt)
    optimizer.zero_grad()
    loss = reference.sequence_loss(model(src, inputs), labels, pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


@wrong("training.train_step", "F.cross_entropy without ignore_index: padding is learned")
def train_step_9(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    logits = model(src, tgt[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    return loss.item()


@wrong("training.train_step", "math.exp(loss): the perplexity is returned")
def train_step_10(model, src, tgt, optimizer, pad_id):
    inputs, labels = reference.split_target(tgt)
    optimizer.zero_grad()
    loss = reference.sequence_loss(model(src, inputs), labels, pad_id)
    loss.backward()
    optimizer.step()
    return math.exp(loss.item())
