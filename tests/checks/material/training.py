"""Answers to the assignment "training" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks, in the ways in which people write training loops.
"""

from __future__ import annotations

import copy
import math
import warnings

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import transformer_ref.training as tr

# =============================================================================================
# split_target
# =============================================================================================


def split_slices(ids):
    return ids[:, :-1], ids[:, 1:]


def split_length(ids):
    length = ids.size(1) - 1
    return [ids[:, 0:length], ids[:, 1 : length + 1]]


def split_narrow(ids):
    n = ids.shape[-1] - 1
    return ids.narrow(1, 0, n).contiguous(), ids.narrow(1, 1, n).contiguous()


def split_unfold(ids):
    pairs = ids.unfold(dimension=1, size=2, step=1)
    print("pairs", pairs.shape)
    return pairs.select(-1, 0), pairs.select(-1, 1)


def split_columns(ids):
    columns = list(ids.unbind(dim=1))
    return torch.stack(columns[:-1], dim=1), torch.stack(columns[1:], dim=1)


def split_rows(ids):
    inputs, labels = [], []
    for row in ids.tolist():
        inputs.append(row[:-1])
        labels.append(row[1:])
    return torch.tensor(inputs), torch.tensor(labels)


def split_dots(ids):
    warnings.warn("shift", UserWarning, stacklevel=1)
    labels = ids.clone()[..., 1:]
    return ids[..., :-1], labels


def m_split_in_place(ids):
    labels = ids[:, 1:].clone()
    ids[:, -1] = 0
    return ids[:, :-1], labels


# =============================================================================================
# sequence_loss
# =============================================================================================


def loss_flat(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]),
        labels.reshape(-1),
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    )


def loss_module(logits, labels, pad_id, label_smoothing=0.0):
    criterion = nn.CrossEntropyLoss(ignore_index=pad_id, label_smoothing=label_smoothing)
    return criterion(logits.permute(0, 2, 1), labels)


def loss_selected(logits, labels, pad_id, label_smoothing=0.0):
    keep = labels.ne(pad_id)
    return F.cross_entropy(logits[keep], labels[keep], label_smoothing=label_smoothing)


def loss_by_hand(logits, labels, pad_id, label_smoothing=0.0):
    logp = F.log_softmax(logits, dim=2)
    nll = -torch.gather(logp, 2, labels[:, :, None])[..., 0]
    smooth = -logp.mean(dim=2)
    each = nll * (1 - label_smoothing) + smooth * label_smoothing
    each = each.masked_fill(labels == pad_id, 0.0)
    return each.sum() / (labels != pad_id).sum()


def loss_target_matrix(logits, labels, pad_id, label_smoothing=0.0):
    size = logits.size(-1)
    q = F.one_hot(labels, size).to(logits.dtype) * (1 - label_smoothing) + label_smoothing / size
    each = -(q * logits.log_softmax(-1)).sum(-1)
    return each[labels != pad_id].mean()


def loss_logsumexp(logits, labels, pad_id, label_smoothing=0.0):
    norm = torch.logsumexp(logits, dim=-1)
    b, t = torch.meshgrid(
        torch.arange(logits.shape[0]), torch.arange(logits.shape[1]), indexing="ij"
    )
    label_score = logits[b.to(labels.device), t.to(labels.device), labels]
    score = (1 - label_smoothing) * label_score + label_smoothing * logits.mean(-1)
    return ((norm - score) * (labels != pad_id)).sum() / (labels != pad_id).sum()


def loss_loop(logits, labels, pad_id, label_smoothing=0.0):
    total, count = logits.new_zeros(()), 0
    for row_logits, row_labels in zip(logits, labels, strict=True):
        for z, y in zip(row_logits, row_labels, strict=True):
            if y != pad_id:
                logp = z - z.logsumexp(0)
                total = total - (1 - label_smoothing) * logp[y] - label_smoothing * logp.mean()
                count += 1
    return total / count


def loss_double_inside(logits, labels, pad_id, label_smoothing=0.0):
    print("loss in float64")
    loss = loss_flat(logits.double(), labels, pad_id, label_smoothing)
    return loss.to(logits.dtype)


def loss_reduction_none(logits, labels, pad_id, label_smoothing=0.0):
    each = F.cross_entropy(
        logits.transpose(1, 2),
        labels,
        reduction="none",
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    )
    return each.sum() / torch.count_nonzero(labels - pad_id)


def loss_minus_hundred(logits, labels, pad_id, label_smoothing=0.0):
    own = torch.where(labels == pad_id, -100, labels)
    return F.cross_entropy(logits.flatten(end_dim=1), own.view(-1), label_smoothing=label_smoothing)


# =============================================================================================
# noam_learning_rate
# =============================================================================================


def rate_formula(step, d_model, warmup):
    return d_model ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5))


def rate_branches(step, d_model, warmup):
    if step < warmup:
        return step / (math.sqrt(d_model) * warmup * math.sqrt(warmup))
    return 1 / math.sqrt(d_model * step)


def rate_from_peak(step, d_model, warmup):
    peak = (d_model * warmup) ** -0.5
    return peak * min(step / warmup, math.sqrt(warmup / step))


def rate_numpy(step, d_model, warmup):
    steps = np.array([1 / np.sqrt(step), step / np.power(float(warmup), 1.5)])
    return steps.min() / np.sqrt(d_model)


def rate_torch(step, d_model, warmup):
    step = torch.tensor(float(step))
    print(step)
    return (d_model**-0.5 * torch.minimum(step.rsqrt(), step * warmup**-1.5)).item()


def rate_sorted(step, d_model, warmup):
    return sorted([step**-0.5, step * warmup**-1.5])[0] / d_model**0.5


def rate_logs(step, d_model, warmup):
    rise = math.log(step) - 1.5 * math.log(warmup)
    fall = -0.5 * math.log(step)
    return math.exp(min(rise, fall) - 0.5 * math.log(d_model))


# =============================================================================================
# token_accuracy
# =============================================================================================


def acc_mask(logits, labels, pad_id):
    mask = labels != pad_id
    return (logits.argmax(-1)[mask] == labels[mask]).float().mean().item()


def acc_counts(logits, labels, pad_id):
    predictions = logits.max(dim=2).indices
    keep = labels.ne(pad_id)
    correct = predictions.eq(labels).logical_and(keep).sum()
    return float(correct) / float(keep.sum())


def acc_topk(logits, labels, pad_id):
    best = logits.topk(1, dim=-1)[1].squeeze(-1)
    real = (labels != pad_id).double()
    return float(((best == labels).double() * real).sum() / real.sum())


def acc_loop(logits, labels, pad_id):
    right = total = 0
    for scores, wanted in zip(logits.tolist(), labels.tolist(), strict=True):
        for row, label in zip(scores, wanted, strict=True):
            if label == pad_id:
                continue
            total += 1
            right += row.index(max(row)) == label
    return right / total


def acc_numpy(logits, labels, pad_id):
    z, y = logits.cpu().numpy(), labels.cpu().numpy()
    print("accuracy of", y.shape)
    return np.mean((z.argmax(-1) == y)[y != pad_id])


def acc_softmax(logits, labels, pad_id):
    guesses = logits.softmax(-1).argmax(-1).masked_fill(labels == pad_id, -1)
    return (guesses == labels).sum().item() / (labels != pad_id).sum().item()


def acc_largest(logits, labels, pad_id):
    of_label = logits.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    right = of_label >= logits.amax(-1)
    return right[labels != pad_id].double().mean().item()


# =============================================================================================
# train_step
# =============================================================================================


def step_plain(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    logits = model(src, tgt[:, :-1])
    loss = F.cross_entropy(logits.transpose(1, 2), tgt[:, 1:], ignore_index=pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


def step_reference(model, src, tgt, optimizer, pad_id):
    model.train()
    inputs, labels = tr.split_target(tgt)
    loss = tr.sequence_loss(model(src, inputs), labels, pad_id)
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
    loss.backward()
    optimizer.step()
    return float(loss)


def step_clears_late(model, src, tgt, optimizer, pad_id):
    loss = tr.sequence_loss(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id)
    model.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach().cpu().numpy().item()


def step_closure(model, src, tgt, optimizer, pad_id):
    def closure():
        optimizer.zero_grad(set_to_none=False)
        loss = loss_selected(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id)
        loss.backward()
        return loss

    return optimizer.step(closure).item()


def step_gradients(model, src, tgt, optimizer, pad_id):
    parameters = [p for p in model.parameters() if p.requires_grad]
    loss = loss_by_hand(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id)
    print("loss", loss.item())
    for p, g in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
        p.grad = g
    optimizer.step()
    return loss.item()


def m_step_whole_target(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    logits = model(src, tgt)[:, :-1]  # the last position is wasted, but nothing looks ahead
    loss = loss_flat(logits, tgt[:, 1:], pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


def step_sum_over_count(model, src, tgt, optimizer, pad_id):
    decoder_input, gold = tgt[:, :-1], tgt[:, 1:].contiguous().view(-1)
    output = model(src, decoder_input)
    output = output.contiguous().view(-1, output.shape[-1])
    criterion = nn.CrossEntropyLoss(ignore_index=pad_id, reduction="sum")
    loss = criterion(output, gold) / (gold != pad_id).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def ce(logits, labels, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id)


def usual(model, src, tgt, pad_id):
    return ce(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id)


# =============================================================================================
# stuck_parameters
# =============================================================================================


def stuck_by_lists(model, src, tgt, optimizer, pad_id):
    names = [name for name, _ in model.named_parameters()]
    old = [parameter.data.clone() for parameter in model.parameters()]
    step_plain(model, src, tgt, optimizer, pad_id)
    found = {}
    for name, before, parameter in zip(names, old, model.parameters(), strict=True):
        if not torch.all(torch.eq(before, parameter)):
            continue
        if parameter.grad is None or torch.count_nonzero(parameter.grad) == 0:
            found[name] = "no gradient"
        else:
            found[name] = "no step"
    return found


def stuck_by_state(model, src, tgt, optimizer, pad_id):
    before = copy.deepcopy(model.state_dict())
    model.zero_grad()
    ce(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id).backward()
    arrived = {
        name: p.grad is not None and bool((p.grad != 0).any())
        for name, p in model.named_parameters()
    }
    optimizer.step()
    after = model.state_dict()
    return {
        name: "no step" if arrived[name] else "no gradient"
        for name in before
        if torch.equal(before[name], after[name])
    }


def stuck_in_a_copy_of_both(model, src, tgt, optimizer, pad_id):
    twin, twins_optimizer = copy.deepcopy((model, optimizer))
    print("a copy, with the optimizer that belongs to it")
    step_clears_after_all = tr.sequence_loss(twin(src, tgt[:, :-1]), tgt[:, 1:], pad_id)
    twins_optimizer.zero_grad()
    step_clears_after_all.backward()
    twins_optimizer.step()
    originals = dict(model.named_parameters())
    stuck = {}
    for name, p in twin.named_parameters():
        if (p - originals[name]).abs().sum().item() == 0.0:
            size = 0.0 if p.grad is None else p.grad.abs().max().item()
            stuck[name] = "no step" if size > 0 else "no gradient"
    return stuck


def stuck_by_numpy(model, src, tgt, optimizer, pad_id):
    was = {name: p.detach().numpy().copy() for name, p in model.named_parameters()}
    for p in model.parameters():
        p.grad = None
    step_gradients_of(model, usual(model, src, tgt, pad_id))
    optimizer.step()
    is_now = {name: p.detach().numpy() for name, p in model.named_parameters()}
    same = sorted(name for name in was if np.array_equal(was[name], is_now[name]))
    parameters = dict(model.named_parameters())
    return {
        name: "no gradient"
        if parameters[name].grad is None or float(parameters[name].grad.norm()) == 0.0
        else "no step"
        for name in same
    }


def step_gradients_of(model, loss):
    loss.backward()
    return [p.grad for p in model.parameters()]


def m_stuck_close(model, src, tgt, optimizer, pad_id):
    before = [(name, p, p.clone()) for name, p in model.named_parameters()]
    optimizer.zero_grad(set_to_none=False)
    usual(model, src, tgt, pad_id).backward()
    optimizer.step()
    reasons = {True: "no step", False: "no gradient"}
    return {
        name: reasons[p.grad is not None and bool(p.grad.any())]
        for name, p, old in before
        if torch.allclose(p, old)
    }


def stuck_and_put_back(model, src, tgt, optimizer, pad_id):
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    step_plain(model, src, tgt, optimizer, pad_id)
    stuck = {}
    with torch.no_grad():
        for name, p in model.named_parameters():
            if bool((p == before[name]).all()):
                has = p.grad is not None and p.grad.abs().sum() > 0
                stuck[name] = "no step" if has else "no gradient"
            p.copy_(before[name])
    return stuck


def stuck_without_a_step(model, src, tgt, optimizer, pad_id):
    rates = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    optimizer.zero_grad()
    usual(model, src, tgt, pad_id).backward()
    stuck = {}
    for name, p in model.named_parameters():
        if p.grad is None or not p.grad.any():
            stuck[name] = "no gradient"
        elif rates.get(id(p), 0.0) == 0.0:
            stuck[name] = "no step"
    optimizer.step()
    return stuck


def reason_of(p):
    return "no gradient" if p.grad is None or p.grad.eq(0).all() else "no step"


def w_stuck_in_a_copy(model, src, tgt, optimizer, pad_id):
    twin = copy.deepcopy(model)
    twin.zero_grad()
    usual(twin, src, tgt, pad_id).backward()
    optimizer.step()
    pairs = zip(twin.named_parameters(), model.parameters(), strict=True)
    return {name: reason_of(p) for (name, p), old in pairs if torch.equal(p, old)}


# =============================================================================================
# find_the_bug
# =============================================================================================


def bug_mended(model, src, tgt, pad_id):
    logits = model(src, tgt[:, :-1])
    criterion = nn.CrossEntropyLoss(ignore_index=pad_id)
    return criterion(logits.flatten(0, 1), tgt[:, 1:].flatten())


def bug_reference(model, src, tgt, pad_id):
    inputs, labels = tr.split_target(tgt)
    return tr.sequence_loss(model(src, inputs), labels, pad_id)


def bug_transposed(model, src, tgt, pad_id):
    logits = model(src, tgt[:, :-1])
    return nn.CrossEntropyLoss(ignore_index=pad_id)(logits.transpose(1, 2), tgt[:, 1:])


def bug_wasted_column(model, src, tgt, pad_id):
    logits = model(src, tgt)[:, :-1, :]
    labels = tgt[:, 1:]
    return F.cross_entropy(
        logits.reshape(-1, logits.size(-1)), labels.reshape(-1), ignore_index=pad_id
    )


def bug_by_hand(model, src, tgt, pad_id):
    labels = tgt[:, 1:]
    logp = model(src, tgt[:, :-1]).log_softmax(-1)
    return F.nll_loss(logp.permute(0, 2, 1), labels, ignore_index=pad_id)


def bug_selected(model, src, tgt, pad_id):
    print("one batch")
    return loss_selected(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id)


# =============================================================================================
# find_the_silent_bug
# =============================================================================================


def ppl_masked(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return losses[labels != pad_id].mean().exp().item()


def ppl_mean(logits, labels, pad_id):
    return math.exp(F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id))


def ppl_sum(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none", ignore_index=pad_id)
    return (losses.sum() / (labels != pad_id).sum()).exp().item()


def ppl_geometric(logits, labels, pad_id):
    p = logits.double().softmax(-1).gather(-1, labels[..., None])[..., 0]
    real = p[labels != pad_id]
    return float(real.log().mean().neg().exp())


def ppl_base_two(logits, labels, pad_id):
    bits = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id) / math.log(2)
    return 2 ** bits.item()


def ppl_numpy(logits, labels, pad_id):
    losses = loss_by_hand(logits, labels, pad_id)
    return np.exp(losses.cpu().numpy().astype(np.float64))


def ppl_loop(logits, labels, pad_id):
    total, count = 0.0, 0
    for z, y in zip(logits.flatten(0, 1), labels.flatten(), strict=True):
        if y == pad_id:
            continue
        total += (torch.logsumexp(z, 0) - z[y]).item()
        count += 1
    return math.exp(total / count)


def m_ppl_minus_one(logits, labels, pad_id):
    return math.expm1(math.log(ppl_mean(logits, labels, pad_id)))


# =============================================================================================

SPLIT = "training.split_target"
LOSS = "training.sequence_loss"
RATE = "training.noam_learning_rate"
ACCURACY = "training.token_accuracy"
STEP = "training.train_step"
BUG = "training.find_the_bug"
SILENT = "training.find_the_silent_bug"
STUCK = "training.stuck_parameters"


CORRECT = {
    SPLIT: [
        split_slices,
        split_length,
        split_narrow,
        split_unfold,
        split_columns,
        split_rows,
        split_dots,
    ],
    LOSS: [
        loss_flat,
        loss_module,
        loss_selected,
        loss_by_hand,
        loss_target_matrix,
        loss_logsumexp,
        loss_loop,
        loss_double_inside,
        loss_reduction_none,
        loss_minus_hundred,
    ],
    RATE: [
        rate_formula,
        rate_branches,
        rate_from_peak,
        rate_numpy,
        rate_torch,
        rate_sorted,
        rate_logs,
    ],
    ACCURACY: [
        acc_mask,
        acc_counts,
        acc_topk,
        acc_loop,
        acc_numpy,
        acc_softmax,
        acc_largest,
    ],
    STEP: [
        step_plain,
        step_reference,
        step_clears_late,
        step_closure,
        step_gradients,
        step_sum_over_count,
    ],
    BUG: [
        bug_mended,
        bug_reference,
        bug_transposed,
        bug_wasted_column,
        bug_by_hand,
        bug_selected,
    ],
    SILENT: [
        ppl_masked,
        ppl_mean,
        ppl_sum,
        ppl_geometric,
        ppl_base_two,
        ppl_numpy,
        ppl_loop,
    ],
    STUCK: [
        stuck_by_lists,
        stuck_by_state,
        stuck_in_a_copy_of_both,
        stuck_by_numpy,
        stuck_and_put_back,
        stuck_without_a_step,
    ],
}

WRONG = {
    STUCK: [
        ("nothing-seems-to-move", w_stuck_in_a_copy),
    ],
}

MUTANTS = {
    SPLIT: [m_split_in_place],
    STEP: [m_step_whole_target],
    SILENT: [m_ppl_minus_one],
    STUCK: [m_stuck_close],
}
