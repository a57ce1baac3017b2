"""Answers to the assignment "training" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks, in the ways in which people write training loops.
"""

from __future__ import annotations

import copy
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
# accumulated_step
# =============================================================================================


def count_real(tgt, pad_id):
    return tgt[:, 1:].ne(pad_id).sum().item()


def acc_weighted(model, src, tgt, optimizer, pad_id, size):
    optimizer.zero_grad()
    total, loss_of_batch = count_real(tgt, pad_id), 0.0
    for s, t in zip(src.split(size), tgt.split(size), strict=True):
        loss = usual(model, s, t, pad_id) * (count_real(t, pad_id) / total)
        loss.backward()
        loss_of_batch += float(loss)
    optimizer.step()
    return loss_of_batch


def acc_sums(model, src, tgt, optimizer, pad_id, size):
    model.train()
    criterion = nn.CrossEntropyLoss(ignore_index=pad_id, reduction="sum")
    n = (tgt[:, 1:] != pad_id).sum()
    losses = []
    optimizer.zero_grad(set_to_none=False)
    for i in range(0, src.shape[0], size):
        part = tgt[i : i + size]
        logits = model(src[i : i + size], part[:, :-1])
        loss = criterion(logits.permute(0, 2, 1), part[:, 1:]) / n
        loss.backward()
        losses.append(loss.detach())
        print("rows", i)
    optimizer.step()
    return torch.stack(losses).sum().item()


def acc_gradients(model, src, tgt, optimizer, pad_id, size):
    parameters = list(model.parameters())
    sums, cost, count = [torch.zeros_like(p) for p in parameters], 0.0, 0
    for start in range(0, len(src), size):
        part = tgt[start : start + size]
        loss = F.cross_entropy(
            model(src[start : start + size], part)[:, :-1].transpose(1, 2),
            part[:, 1:],
            ignore_index=pad_id,
            reduction="sum",
        )
        for kept, g in zip(sums, torch.autograd.grad(loss, parameters), strict=True):
            kept += g
        cost += loss.item()
        count += count_real(part, pad_id)
    for p, g in zip(parameters, sums, strict=True):
        p.grad = g / count
    optimizer.step()
    return cost / count


def acc_scaled_after(model, src, tgt, optimizer, pad_id, size):
    for p in model.parameters():
        p.grad = None
    cost = count = 0
    for start in range(0, len(src), size):
        inputs, labels = tr.split_target(tgt[start : start + size])
        n = int((labels != pad_id).sum())
        loss = n * tr.sequence_loss(model(src[start : start + size], inputs), labels, pad_id)
        loss.backward()
        cost, count = cost + loss.item(), count + n
    for p in model.parameters():
        p.grad /= count
    optimizer.step()
    optimizer.zero_grad()
    return cost / count


def acc_row_by_row(model, src, tgt, optimizer, pad_id, size):
    optimizer.zero_grad()
    total = 0.0
    for s, t in zip(src, tgt, strict=True):
        loss = usual(model, s[None], t[None], pad_id) * count_real(t[None], pad_id)
        loss = loss / count_real(tgt, pad_id)
        loss.backward()
        total += loss.item()
    optimizer.step()
    return total


def acc_chunks_with_less_padding(model, src, tgt, optimizer, pad_id, size):
    optimizer.zero_grad()
    total, rows = 0.0, torch.arange(len(src))
    for chosen in rows.flip(0).split(size):
        t = tgt[chosen]
        width = int((t != pad_id).sum(1).max())
        loss = loss_by_hand(model(src[chosen], t[:, : width - 1]), t[:, 1:width], pad_id)
        loss = loss * count_real(t, pad_id) / count_real(tgt, pad_id)
        loss.backward()
        total = total + loss.detach().numpy().item()
    optimizer.step()
    return total


def m_acc_one_backward(model, src, tgt, optimizer, pad_id, size):
    optimizer.zero_grad()
    parts = zip(src.split(size), tgt.split(size), strict=True)
    losses = [usual(model, s, t, pad_id) * count_real(t, pad_id) for s, t in parts]
    loss = sum(losses) / count_real(tgt, pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


def m_acc_whole_batch(model, src, tgt, optimizer, pad_id, size):
    optimizer.zero_grad()
    loss = usual(model, src, tgt, pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


def m_acc_one_row_more(model, src, tgt, optimizer, pad_id, size):
    return acc_weighted(model, src, tgt, optimizer, pad_id, size + 1)


def step_plain(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    loss = usual(model, src, tgt, pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


def ce(logits, labels, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id)


def usual(model, src, tgt, pad_id):
    return ce(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id)


# =============================================================================================
# largest_gap
# =============================================================================================


def gap_sorted(costs, parts):
    ordered, others = sorted(costs), len(costs) - parts + 1
    mean = sum(costs) / len(costs)
    low = (sum(ordered[: parts - 1]) + sum(ordered[parts - 1 :]) / others) / parts
    high = (sum(ordered[others:]) + sum(ordered[:others]) / others) / parts
    return max(mean - low, high - mean)


def gap_torch(costs, parts):
    values = torch.tensor(costs, dtype=torch.float64)
    gaps = []
    for descending in (False, True):
        ordered = values.sort(descending=descending).values
        means = torch.cat((ordered[: parts - 1], ordered[parts - 1 :].mean()[None]))
        gaps.append((means.mean() - values.mean()).abs().item())
    print(gaps)
    return max(gaps)


def gap_numpy(costs, parts):
    values = np.sort(np.asarray(costs))
    weights = np.full(len(values), 1 / (len(values) - parts + 1))
    weights[: parts - 1] = 1.0
    both = np.array([weights @ values, weights @ values[::-1]]) / parts
    return np.abs(both - values.mean()).max()


def gap_heap(costs, parts):
    best = 0.0
    for sign in (1, -1):
        rest = [sign * cost for cost in costs]
        mean, alone = sum(rest) / len(rest), []
        for _ in range(parts - 1):
            alone.append(max(rest))
            rest.remove(max(rest))
        best = max(best, (sum(alone) + sum(rest) / len(rest)) / parts - mean)
    return best


def gap_all_cuts_of_the_sorted(costs, parts):
    ordered, n = np.sort(np.asarray(costs)), len(costs)
    total = np.concatenate(([0.0], np.cumsum(ordered)))
    best = []
    for sign in (1.0, -1.0):
        found = np.full(n + 1, -np.inf)
        found[0] = 0.0
        for _ in range(parts):
            following = np.full(n + 1, -np.inf)
            for end in range(1, n + 1):
                starts = np.arange(end)
                means = sign * (total[end] - total[starts]) / (end - starts)
                following[end] = (found[starts] + means).max()
            found = following
        best.append(sign * found[n] / parts)
    return float(max(abs(each - total[n] / n) for each in best))


def m_gap_few_alone(costs, parts):
    return gap_sorted(costs, min(parts, 200))


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

SPLIT = "training.split_target"
LOSS = "training.sequence_loss"
STEP = "training.accumulated_step"
GAP = "training.largest_gap"
BUG = "training.find_the_bug"
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
    STEP: [
        acc_weighted,
        acc_sums,
        acc_gradients,
        acc_scaled_after,
        acc_row_by_row,
        acc_chunks_with_less_padding,
    ],
    GAP: [
        gap_sorted,
        gap_torch,
        gap_numpy,
        gap_heap,
        gap_all_cuts_of_the_sorted,
    ],
    BUG: [
        bug_mended,
        bug_transposed,
        bug_wasted_column,
        bug_by_hand,
        bug_selected,
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
    STEP: [m_acc_one_backward, m_acc_whole_batch, m_acc_one_row_more],
    GAP: [m_gap_few_alone],
    STUCK: [m_stuck_close],
}
