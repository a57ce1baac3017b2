"""Answers to the assignment "training" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which are wrong in a way that no misconception describes, must be rejected without a name.
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


def w_split_same(ids):
    return ids, ids.clone()


def w_split_same_cut(ids):
    shorter = ids.narrow(1, 0, ids.shape[1] - 1)
    return shorter, shorter


def w_split_answer(ids):
    target = ids[:, 1:]
    return target, target


def w_split_swapped(ids):
    labels, inputs = ids[:, :-1], ids[:, 1:]
    return inputs, labels


def w_split_batch(ids):
    return ids[:-1], ids[1:]


def w_split_two(ids):
    return ids[:, : ids.size(1) - 2], ids[:, 2:]


def w_split_both_ends(ids):
    return ids[:, :-2], ids[:, 1:]


def w_split_roll(ids):
    return ids, torch.cat([ids[:, 1:], ids[:, :1]], dim=1)


def w_split_roll_cut(ids):
    shifted = torch.roll(ids, shifts=-1, dims=1)
    return ids[:, :-1], shifted[:, 1:]


def w_split_inputs_whole(ids):
    return ids, ids[:, 1:]


def w_split_labels_whole(ids):
    return ids[:, :-1], ids


def w_split_last(ids):
    return ids[:, :-1], ids[:, -1:]


def w_split_last_flat(ids):
    return ids[:, :-1], ids.select(1, -1)


def w_split_first(ids):
    return ids[:, 0], ids[:, 1:]


def m_split_reversed(ids):
    return ids[:, :-1], ids[:, 1:].flip(1)


def m_split_float(ids):
    return ids[:, :-1].float(), ids[:, 1:].float()


def m_split_transposed(ids):
    return ids[:, :-1].T, ids[:, 1:].T


def m_split_flat(ids):
    return ids[:, :-1].flatten(), ids[:, 1:].flatten()


def m_split_three(ids):
    return ids[:, :-1], ids[:, 1:], ids


def m_split_lists(ids):
    return ids[:, :-1].tolist(), ids[:, 1:].tolist()


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


def w_loss_default_index(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(logits.transpose(1, 2), labels, label_smoothing=label_smoothing)


def w_loss_mask_mean(logits, labels, pad_id, label_smoothing=0.0):
    each = F.cross_entropy(
        logits.transpose(1, 2), labels, reduction="none", label_smoothing=label_smoothing
    )
    mask = (labels != pad_id).to(each.dtype)
    return torch.mean(each * mask)


def w_loss_none_mean(logits, labels, pad_id, label_smoothing=0.0):
    each = nn.CrossEntropyLoss(
        ignore_index=pad_id, reduction="none", label_smoothing=label_smoothing
    )(logits.flatten(0, 1), labels.flatten())
    return each.sum() / labels.numel()


def w_loss_index_zero(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(
        logits.transpose(1, 2), labels, ignore_index=0, label_smoothing=label_smoothing
    )


def w_loss_greater(logits, labels, pad_id, label_smoothing=0.0):
    keep = labels > pad_id
    return F.cross_entropy(logits[keep], labels[keep], label_smoothing=label_smoothing)


def w_loss_sentences(logits, labels, pad_id, label_smoothing=0.0):
    each = [
        F.cross_entropy(z, y, ignore_index=pad_id, label_smoothing=label_smoothing)
        for z, y in zip(logits, labels, strict=True)
    ]
    return torch.stack(each).mean()


def w_loss_sum(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten(),
        ignore_index=pad_id,
        reduction="sum",
        label_smoothing=label_smoothing,
    )


def w_loss_sum_over_batch(logits, labels, pad_id, label_smoothing=0.0):
    return w_loss_sum(logits, labels, pad_id, label_smoothing) / len(labels)


def w_loss_no_smoothing(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id)


def w_loss_others(logits, labels, pad_id, label_smoothing=0.0):
    size = logits.shape[-1]
    one_hot = F.one_hot(labels, size)
    q = one_hot * (1 - label_smoothing) + (1 - one_hot) * label_smoothing / (size - 1)
    each = -(q * F.log_softmax(logits, -1)).sum(-1)
    return each[labels != pad_id].mean()


def w_loss_label_loses_its_share(logits, labels, pad_id, label_smoothing=0.0):
    size = logits.shape[-1]
    q = torch.full_like(logits, label_smoothing / size)
    q.scatter_(2, labels.unsqueeze(2), 1.0 - label_smoothing)
    each = -(q * F.log_softmax(logits, -1)).sum(-1)
    return each[labels != pad_id].mean()


class LabelSmoothing(nn.Module):
    """Smoothing that leaves padding out, as in a tutorial that many have read."""

    def __init__(self, size, padding_idx, smoothing):
        super().__init__()
        self.criterion = nn.KLDivLoss(reduction="sum")
        self.size, self.padding_idx, self.smoothing = size, padding_idx, smoothing

    def forward(self, x, target):
        true = torch.full_like(x, self.smoothing / (self.size - 2))
        true.scatter_(1, target.unsqueeze(1), 1.0 - self.smoothing)
        true[:, self.padding_idx] = 0
        true[target == self.padding_idx] = 0.0
        return self.criterion(x, true)


def w_loss_annotated(logits, labels, pad_id, label_smoothing=0.0):
    size = logits.shape[-1]
    summed = LabelSmoothing(size, pad_id, label_smoothing)(
        logits.log_softmax(-1).reshape(-1, size), labels.reshape(-1)
    )
    return summed / (labels != pad_id).sum()


def w_loss_inverted(logits, labels, pad_id, label_smoothing=0.0):
    return loss_flat(logits, labels, pad_id, 1.0 - label_smoothing)


def w_loss_smooth_part_unmasked(logits, labels, pad_id, label_smoothing=0.0):
    nll = loss_flat(logits, labels, pad_id)
    smooth = -F.log_softmax(logits, dim=-1).mean()
    return (1 - label_smoothing) * nll + label_smoothing * smooth


def w_loss_logits_zeroed(logits, labels, pad_id, label_smoothing=0.0):
    mask = (labels != pad_id)[:, :, None]
    logits = torch.where(mask, logits, torch.zeros_like(logits))
    return w_loss_default_index(logits, labels, pad_id, label_smoothing)


def w_loss_softmax_first(logits, labels, pad_id, label_smoothing=0.0):
    probabilities = torch.softmax(logits, dim=-1)
    return loss_flat(probabilities, labels, pad_id, label_smoothing)


def w_loss_log_softmax_apart(logits, labels, pad_id, label_smoothing=0.0):
    p = F.softmax(logits, dim=-1)
    nll = -torch.log(p.gather(-1, labels[..., None])[..., 0])
    each = (1 - label_smoothing) * nll + label_smoothing * -torch.log(p).mean(-1)
    return each[labels != pad_id].mean()


def w_loss_log_tiny(logits, labels, pad_id, label_smoothing=0.0):
    logp = torch.log(F.softmax(logits, dim=-1) + 1e-9)
    nll = -logp.gather(-1, labels[..., None])[..., 0]
    each = (1 - label_smoothing) * nll - label_smoothing * logp.mean(-1)
    return each[labels != pad_id].mean()


def w_loss_perplexity(logits, labels, pad_id, label_smoothing=0.0):
    return torch.exp(loss_flat(logits, labels, pad_id, label_smoothing))


def w_loss_own_smoothing(logits, labels, pad_id, label_smoothing=0.0):
    eps = label_smoothing if label_smoothing > 0 else 0.1
    return loss_flat(logits, labels, pad_id, eps)


def w_loss_fixed_smoothing(logits, labels, pad_id, label_smoothing=0.0):
    return loss_flat(logits, labels, pad_id, 0.1)


def w_loss_bits(logits, labels, pad_id, label_smoothing=0.0):
    return loss_flat(logits, labels, pad_id, label_smoothing) / np.log(2)


def w_loss_shift(logits, labels, pad_id, label_smoothing=0.0):
    shift_logits = logits[..., :-1, :].contiguous()
    shift_labels = labels[..., 1:].contiguous()
    return loss_flat(shift_logits, shift_labels, pad_id, label_smoothing)


def w_loss_view(logits, labels, pad_id, label_smoothing=0.0):
    b, t, v = logits.shape
    return F.cross_entropy(
        logits.contiguous().view(b, v, t),
        labels,
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    )


def w_loss_as_it_is(logits, labels, pad_id, label_smoothing=0.0):
    criterion = nn.CrossEntropyLoss(ignore_index=pad_id, label_smoothing=label_smoothing)
    return criterion(logits, labels)


def w_loss_labels_not_flat(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(
        logits.flatten(0, 1), labels, ignore_index=pad_id, label_smoothing=label_smoothing
    )


def w_loss_ignore_idx(logits, labels, pad_id, label_smoothing=0.0):
    criterion = nn.CrossEntropyLoss(ignore_idx=pad_id, label_smoothing=label_smoothing)
    return criterion(logits.transpose(1, 2), labels)


def w_loss_padding_idx(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(logits.transpose(1, 2), labels, padding_idx=pad_id)


def w_loss_detached(logits, labels, pad_id, label_smoothing=0.0):
    return loss_flat(logits.detach(), labels, pad_id, label_smoothing)


def w_loss_item(logits, labels, pad_id, label_smoothing=0.0):
    loss = loss_flat(logits, labels, pad_id, label_smoothing)
    return torch.tensor(loss.item(), dtype=logits.dtype, device=logits.device)


def w_loss_float(logits, labels, pad_id, label_smoothing=0.0):
    return loss_flat(logits.float(), labels, pad_id, label_smoothing)


def w_loss_labels_overwritten(logits, labels, pad_id, label_smoothing=0.0):
    labels[labels == pad_id] = -100
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=label_smoothing)


def m_loss_number(logits, labels, pad_id, label_smoothing=0.0):
    return loss_flat(logits, labels, pad_id, label_smoothing).item()


def m_loss_each(logits, labels, pad_id, label_smoothing=0.0):
    return F.cross_entropy(
        logits.transpose(1, 2), labels, reduction="none", label_smoothing=label_smoothing
    )


def m_loss_negative(logits, labels, pad_id, label_smoothing=0.0):
    return -loss_flat(logits, labels, pad_id, label_smoothing)


def m_loss_first_sentence(logits, labels, pad_id, label_smoothing=0.0):
    return loss_flat(logits[-1:], labels[-1:], pad_id, label_smoothing)


def m_loss_temperature(logits, labels, pad_id, label_smoothing=0.0):
    return loss_flat(logits / 2, labels, pad_id, label_smoothing)


def m_loss_squares(logits, labels, pad_id, label_smoothing=0.0):
    keep = labels != pad_id
    wanted = F.one_hot(labels, logits.shape[-1]).to(logits.dtype)
    return F.mse_loss(logits.softmax(-1)[keep], wanted[keep])


def m_loss_median(logits, labels, pad_id, label_smoothing=0.0):
    each = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return each[labels != pad_id].median()


def m_loss_one_dimension(logits, labels, pad_id, label_smoothing=0.0):
    return loss_flat(logits, labels, pad_id, label_smoothing).unsqueeze(0)


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


def w_rate_max(step, d_model, warmup):
    return d_model**-0.5 * max(step**-0.5, step * warmup**-1.5)


def w_rate_no_size(step, d_model, warmup):
    return min(step**-0.5, step * warmup**-1.5)


def w_rate_times_root(step, d_model, warmup):
    return math.sqrt(d_model) * min(step**-0.5, step * warmup**-1.5)


def w_rate_by_size(step, d_model, warmup):
    return min(step**-0.5, step * warmup**-1.5) / d_model


def w_rate_half_power(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-0.5)


def w_rate_power_one(step, d_model, warmup):
    return 1 / math.sqrt(d_model) * min(1 / math.sqrt(step), step / warmup)


def w_rate_root_only(step, d_model, warmup):
    return (d_model * step) ** -0.5


def w_rate_line_only(step, d_model, warmup):
    return d_model**-0.5 * step * warmup**-1.5


def w_rate_constant(step, d_model, warmup):
    if step > warmup:
        step = warmup
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def w_rate_inverse(step, d_model, warmup):
    return d_model**-0.5 * min(step**-1.0, step * warmup**-1.5)


def w_rate_inverse_from_the_peak(step, d_model, warmup):
    peak = 1 / math.sqrt(d_model * warmup)
    return peak * (step / warmup if step < warmup else warmup / step)


def w_rate_from_zero(step, d_model, warmup):
    step -= 1
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def w_rate_plus_one(step, d_model, warmup):
    return rate_formula(step + 1, d_model, warmup)


def w_rate_factor(step, d_model, warmup):
    if step < warmup:
        return step / warmup
    return (warmup / step) ** 0.5


def w_rate_since_the_peak(step, d_model, warmup):
    if step <= warmup:
        return d_model**-0.5 * step * warmup**-1.5
    return d_model**-0.5 * (step - warmup) ** -0.5


def w_rate_sum(step, d_model, warmup):
    rise, fall = step / warmup**1.5, step**-0.5
    return sum((rise, fall)) / math.sqrt(d_model)


def w_rate_powers(step, d_model, warmup):
    rise, fall = step / math.sqrt(warmup), 1 / step**1.5
    return min(rise, fall) / math.sqrt(d_model)


def w_rate_flat_rise(step, d_model, warmup):
    return min(1 / math.sqrt(step), 1 / (warmup * math.sqrt(warmup))) / math.sqrt(d_model)


def w_rate_brackets(step, d_model, warmup):
    smaller = min(step, 1 / math.sqrt(step))
    return smaller / (math.sqrt(d_model) * warmup * math.sqrt(warmup))


def m_rate_tensor(step, d_model, warmup):
    return torch.tensor(rate_formula(step, d_model, warmup))


def m_rate_twice(step, d_model, warmup):
    return 2 * rate_formula(step, d_model, warmup)


def m_rate_rounded(step, d_model, warmup):
    return round(rate_formula(step, d_model, warmup), 4)


def m_rate_cosine(step, d_model, warmup):
    peak = (d_model * warmup) ** -0.5
    return peak * (0.6 + 0.5 * math.cos(step / warmup))


def m_rate_curved_rise(step, d_model, warmup):
    peak = (d_model * warmup) ** -0.5
    return peak * min((step / warmup) ** 2, (warmup / step) ** 0.5)


def m_rate_list(step, d_model, warmup):
    return [rate_formula(s, d_model, warmup) for s in range(1, 4)]


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


def w_acc_everything(logits, labels, pad_id):
    return (logits.argmax(dim=-1) == labels).float().mean().item()


def w_acc_divided_by_all(logits, labels, pad_id):
    right = (logits.argmax(dim=-1) == labels) & (labels != pad_id)
    return right.sum().item() / labels.numel()


def w_acc_masked_mean(logits, labels, pad_id):
    right = (logits.argmax(dim=-1) == labels).float()
    right[labels == pad_id] = 0
    return right.mean().item()


def w_acc_padding_right(logits, labels, pad_id):
    right = (logits.argmax(dim=-1) == labels) | (labels == pad_id)
    return right.float().mean().item()


def w_acc_padding_in_the_sum(logits, labels, pad_id):
    right = (logits.argmax(dim=-1) == labels).sum()
    return (right / (labels != pad_id).sum()).item()


def w_acc_zero(logits, labels, pad_id):
    mask = labels.bool()
    return (logits.argmax(-1)[mask] == labels[mask]).double().mean().item()


def w_acc_greater(logits, labels, pad_id):
    mask = labels > pad_id
    return (logits.argmax(-1)[mask] == labels[mask]).double().mean().item()


def w_acc_mask_of_predictions(logits, labels, pad_id):
    predictions = logits.argmax(-1)
    mask = predictions != pad_id
    return (predictions[mask] == labels[mask]).double().mean().item()


def w_acc_sentences(logits, labels, pad_id):
    each = [acc_mask(logits[i : i + 1], labels[i : i + 1], pad_id) for i in range(len(labels))]
    return sum(each) / len(each)


def w_acc_exact(logits, labels, pad_id):
    count = 0
    for said, wanted in zip(logits.argmax(-1), labels, strict=True):
        keep = wanted != pad_id
        count += bool(torch.equal(said[keep], wanted[keep]))
    return count / len(labels)


def w_acc_count(logits, labels, pad_id):
    right = (logits.argmax(-1) == labels) & (labels != pad_id)
    return float(right.sum())


def w_acc_percent(logits, labels, pad_id):
    return 100.0 * acc_counts(logits, labels, pad_id)


def w_acc_error(logits, labels, pad_id):
    mask = labels != pad_id
    return (logits.argmax(-1)[mask] != labels[mask]).double().mean().item()


def w_acc_probability(logits, labels, pad_id):
    p = F.softmax(logits, dim=-1).gather(2, labels.unsqueeze(2)).squeeze(2)
    return p[labels != pad_id].mean().item()


def w_acc_axis(logits, labels, pad_id):
    mask = labels != pad_id
    predictions = torch.argmax(logits, dim=1)
    return ((predictions == labels) & mask).sum().item() / mask.sum().item()


def w_acc_shift(logits, labels, pad_id):
    return acc_mask(logits[:, :-1], labels[:, 1:], pad_id)


def w_acc_labels_overwritten(logits, labels, pad_id):
    total = (labels != pad_id).sum()
    labels[labels == pad_id] = -1
    return ((logits.argmax(-1) == labels).sum() / total).item()


def m_acc_smallest(logits, labels, pad_id):
    return acc_mask(-logits, labels, pad_id) / 2 + 0.01


def m_acc_top_two(logits, labels, pad_id):
    best = logits.topk(2, dim=-1).indices
    right = (best == labels.unsqueeze(-1)).any(-1)
    return right[labels != pad_id].double().mean().item() * 0.999


def m_acc_tensor(logits, labels, pad_id):
    mask = labels != pad_id
    return (logits.argmax(-1)[mask] == labels[mask]).float().mean()


def m_acc_floor(logits, labels, pad_id):
    mask = labels != pad_id
    return (logits.argmax(-1)[mask] == labels[mask]).sum().item() // mask.sum().item()


def m_acc_rounded(logits, labels, pad_id):
    return round(acc_mask(logits, labels, pad_id), 1) + 0.001


def m_acc_tuple(logits, labels, pad_id):
    return acc_mask(logits, labels, pad_id), labels.numel()


def m_acc_square(logits, labels, pad_id):
    return acc_mask(logits, labels, pad_id) ** 2 + 0.003


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


def step_whole_target(model, src, tgt, optimizer, pad_id):
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


def stepping(loss_of, change=None, clear=True):
    """A step with another loss, or another way to change the parameters."""

    def step(model, src, tgt, optimizer, pad_id):
        if clear:
            optimizer.zero_grad()
        loss = loss_of(model, src, tgt, pad_id)
        if change is None:
            loss.backward()
            optimizer.step()
        else:
            change(model, loss, optimizer)
        return loss.item()

    return step


def ce(logits, labels, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id)


def usual(model, src, tgt, pad_id):
    return ce(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id)


def w_step_whole(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    loss = ce(model(src, tgt), tgt, pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


def w_step_labels_cut_the_same(model, src, tgt, optimizer, pad_id):
    decoder_input = tgt[:, :-1]
    optimizer.zero_grad()
    loss = ce(model(src, decoder_input), decoder_input, pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


def w_step_answer(model, src, tgt, optimizer, pad_id):
    gold = tgt[:, 1:]
    loss = ce(model(src, gold), gold, pad_id)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def w_step_backwards_in_time(model, src, tgt, optimizer, pad_id):
    loss = ce(model(src, tgt[:, 1:]), tgt[:, :-1], pad_id)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def w_step_never_cleared(model, src, tgt, optimizer, pad_id):
    loss = usual(model, src, tgt, pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


def w_step_cleared_after(model, src, tgt, optimizer, pad_id):
    loss = usual(model, src, tgt, pad_id)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def w_step_forgotten(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    loss = usual(model, src, tgt, pad_id)
    loss.backward()
    return loss.item()


def w_step_first(model, src, tgt, optimizer, pad_id):
    loss = usual(model, src, tgt, pad_id)
    optimizer.zero_grad()
    optimizer.step()
    loss.backward()
    return loss.item()


def w_step_cleared_between(model, src, tgt, optimizer, pad_id):
    loss = usual(model, src, tgt, pad_id)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


def w_step_no_backward(model, src, tgt, optimizer, pad_id):
    loss = usual(model, src, tgt, pad_id)
    optimizer.step()
    return loss.item()


def w_step_loss_again(model, src, tgt, optimizer, pad_id):
    step_plain(model, src, tgt, optimizer, pad_id)
    return usual(model, src, tgt, pad_id).item()


def clips(model, loss, optimizer):
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()


def clips_harder(model, loss, optimizer):
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), 0.5)
    optimizer.step()


def w_step_eval(model, src, tgt, optimizer, pad_id):
    model.eval()
    return step_plain(model, src, tgt, optimizer, pad_id)


def w_step_smooth(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    logits = model(src, tgt[:, :-1])
    loss = tr.sequence_loss(logits, tgt[:, 1:], pad_id, label_smoothing=0.1)
    loss.backward()
    optimizer.step()
    return loss.item()


def w_step_two(model, src, tgt, optimizer, pad_id):
    loss = step_plain(model, src, tgt, optimizer, pad_id)
    step_plain(model, src, tgt, optimizer, pad_id)
    return loss


def step_again(model, loss, optimizer):
    loss.backward()
    for _ in range(2):
        optimizer.step()


def own_descent(model, loss, optimizer):
    loss.backward()
    with torch.no_grad():
        for group in optimizer.param_groups[:1]:
            for parameter in model.parameters():
                parameter.sub_(parameter.grad, alpha=group["lr"])


def w_step_number(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    loss = usual(model, src, tgt, pad_id).item()
    loss.backward()
    optimizer.step()
    return loss


def w_step_no_grad(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    with torch.no_grad():
        loss = usual(model, src, tgt, pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


def w_step_source_last(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    loss = ce(model(tgt[:, :-1], src), tgt[:, 1:], pad_id)
    loss.backward()
    optimizer.step()
    return loss.item()


def m_step_tensor(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    loss = usual(model, src, tgt, pad_id)
    loss.backward()
    optimizer.step()
    return loss


def m_step_no_return(model, src, tgt, optimizer, pad_id):
    step_plain(model, src, tgt, optimizer, pad_id)


def m_step_uphill(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    loss = usual(model, src, tgt, pad_id)
    (-loss).backward()
    optimizer.step()
    return loss.item()


def m_step_half_the_loss(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    loss = usual(model, src, tgt, pad_id) / 2
    loss.backward()
    optimizer.step()
    return loss.item()


def m_step_resets_the_model(model, src, tgt, optimizer, pad_id):
    loss = step_plain(model, src, tgt, optimizer, pad_id)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    return loss


def m_step_first_row(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    loss = usual(model, src[:1], tgt[:1], pad_id) * 0.9
    loss.backward()
    optimizer.step()
    return loss.item()


def m_step_frozen_source(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    loss = usual(model, src, tgt, pad_id)
    loss.backward()
    next(model.parameters()).grad = None
    optimizer.step()
    return loss.item()


def m_step_weight_decay(model, src, tgt, optimizer, pad_id):
    optimizer.zero_grad()
    loss = usual(model, src, tgt, pad_id)
    (loss + sum(parameter.square().sum() for parameter in model.parameters())).backward()
    optimizer.step()
    return loss.item()


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


def stuck_close(model, src, tgt, optimizer, pad_id):
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


def moving(model, src, tgt, optimizer, pad_id):
    """Make a step; give names, parameters, and the numbers from before."""
    old = [p.detach().clone() for p in model.parameters()]
    step_plain(model, src, tgt, optimizer, pad_id)
    return [(name, p, was) for (name, p), was in zip(model.named_parameters(), old, strict=True)]


def w_stuck_no_clone(model, src, tgt, optimizer, pad_id):
    before = dict(model.named_parameters())
    step_plain(model, src, tgt, optimizer, pad_id)
    after = dict(model.named_parameters())
    return {
        name: reason_of(after[name]) for name in after if torch.equal(before[name], after[name])
    }


def w_stuck_state_not_copied(model, src, tgt, optimizer, pad_id):
    before = model.state_dict()
    step_plain(model, src, tgt, optimizer, pad_id)
    return {
        name: reason_of(p) for name, p in model.named_parameters() if torch.equal(before[name], p)
    }


def w_stuck_no_step(model, src, tgt, optimizer, pad_id):
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer.zero_grad()
    usual(model, src, tgt, pad_id).backward()
    return {
        name: reason_of(p) for name, p in model.named_parameters() if torch.equal(before[name], p)
    }


def w_stuck_in_a_copy(model, src, tgt, optimizer, pad_id):
    twin = copy.deepcopy(model)
    twin.zero_grad()
    usual(twin, src, tgt, pad_id).backward()
    optimizer.step()
    pairs = zip(twin.named_parameters(), model.parameters(), strict=True)
    return {name: reason_of(p) for (name, p), old in pairs if torch.equal(p, old)}


def w_stuck_everything(model, src, tgt, optimizer, pad_id):
    return {name: reason_of(p) for name, p, _ in moving(model, src, tgt, optimizer, pad_id)}


def w_stuck_any(model, src, tgt, optimizer, pad_id):
    rows = moving(model, src, tgt, optimizer, pad_id)
    return {name: reason_of(p) for name, p, old in rows if torch.any(torch.eq(p, old))}


def w_stuck_gradients_only(model, src, tgt, optimizer, pad_id):
    rows = moving(model, src, tgt, optimizer, pad_id)
    return {name: "no gradient" for name, p, _ in rows if reason_of(p) == "no gradient"}


def w_stuck_none_only(model, src, tgt, optimizer, pad_id):
    step_plain(model, src, tgt, optimizer, pad_id)
    return {name: "no gradient" for name, p in model.named_parameters() if p.grad is None}


def w_stuck_frozen_only(model, src, tgt, optimizer, pad_id):
    step_plain(model, src, tgt, optimizer, pad_id)
    frozen = [name for name, p in model.named_parameters() if p.requires_grad is False]
    return {name: reason_of(dict(model.named_parameters())[name]) for name in frozen}


def w_stuck_zeros_count(model, src, tgt, optimizer, pad_id):
    rows = moving(model, src, tgt, optimizer, pad_id)
    return {
        name: "no step" if p.grad is not None else "no gradient"
        for name, p, old in rows
        if torch.equal(p, old)
    }


def w_stuck_full_gradient(model, src, tgt, optimizer, pad_id):
    rows = moving(model, src, tgt, optimizer, pad_id)
    return {
        name: "no gradient" if p.grad is None or torch.any(p.grad == 0) else "no step"
        for name, p, old in rows
        if torch.equal(p, old)
    }


def w_stuck_requires_grad(model, src, tgt, optimizer, pad_id):
    rows = moving(model, src, tgt, optimizer, pad_id)
    return {
        name: "no step" if p.requires_grad else "no gradient"
        for name, p, old in rows
        if torch.equal(p, old)
    }


def held_by(optimizer):
    return {id(p) for group in optimizer.param_groups for p in group["params"]}


def w_stuck_reason_from_the_optimizer(model, src, tgt, optimizer, pad_id):
    rows = moving(model, src, tgt, optimizer, pad_id)
    return {
        name: "no gradient" if id(p) in held_by(optimizer) else "no step"
        for name, p, old in rows
        if torch.equal(p, old)
    }


def w_stuck_not_held(model, src, tgt, optimizer, pad_id):
    rows = moving(model, src, tgt, optimizer, pad_id)
    return {name: reason_of(p) for name, p, _ in rows if id(p) not in held_by(optimizer)}


def w_stuck_never_cleared(model, src, tgt, optimizer, pad_id):
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    usual(model, src, tgt, pad_id).backward()
    optimizer.step()
    return {
        name: reason_of(p) for name, p in model.named_parameters() if torch.equal(before[name], p)
    }


def w_stuck_cleared_at_the_end(model, src, tgt, optimizer, pad_id):
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    step_clears_late(model, src, tgt, optimizer, pad_id)
    return {
        name: reason_of(p) for name, p in model.named_parameters() if torch.equal(before[name], p)
    }


def w_stuck_cleared_between(model, src, tgt, optimizer, pad_id):
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    w_step_cleared_between(model, src, tgt, optimizer, pad_id)
    return {
        name: reason_of(p) for name, p in model.named_parameters() if torch.equal(before[name], p)
    }


def w_stuck_turned_round(model, src, tgt, optimizer, pad_id):
    other = {"no gradient": "no step", "no step": "no gradient"}
    found = stuck_by_state(model, src, tgt, optimizer, pad_id)
    return {name: other[reason] for name, reason in found.items()}


def w_stuck_moved(model, src, tgt, optimizer, pad_id):
    rows = moving(model, src, tgt, optimizer, pad_id)
    return {name: reason_of(p) for name, p, old in rows if not torch.equal(p, old)}


def m_stuck_names(model, src, tgt, optimizer, pad_id):
    return list(stuck_by_state(model, src, tgt, optimizer, pad_id))


def m_stuck_none(model, src, tgt, optimizer, pad_id):
    stuck_by_state(model, src, tgt, optimizer, pad_id)


def m_stuck_empty(model, src, tgt, optimizer, pad_id):
    return {}


def m_stuck_other_words(model, src, tgt, optimizer, pad_id):
    found = stuck_by_state(model, src, tgt, optimizer, pad_id)
    return {name: reason.replace(" ", "_") for name, reason in found.items()}


def m_stuck_always_no_gradient(model, src, tgt, optimizer, pad_id):
    return dict.fromkeys(stuck_by_state(model, src, tgt, optimizer, pad_id), "no gradient")


def m_stuck_first_only(model, src, tgt, optimizer, pad_id):
    found = stuck_by_state(model, src, tgt, optimizer, pad_id)
    return dict(list(found.items())[:1])


def m_stuck_by_the_tensor(model, src, tgt, optimizer, pad_id):
    rows = moving(model, src, tgt, optimizer, pad_id)
    return {p: reason_of(p) for _, p, old in rows if torch.equal(p, old)}


def m_stuck_without_the_unused(model, src, tgt, optimizer, pad_id):
    rows = moving(model, src, tgt, optimizer, pad_id)
    return {
        name: reason_of(p) for name, p, old in rows if torch.equal(p, old) and p.grad is not None
    }


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


def bug_as_given(model, src, tgt, pad_id):
    logits = model(src, tgt)
    criterion = nn.CrossEntropyLoss(ignore_idx=pad_id)
    return criterion(logits.flatten(0, 1), tgt.flatten())


def w_bug_only_the_name_of_the_argument(model, src, tgt, pad_id):
    logits = model(src, tgt)
    criterion = nn.CrossEntropyLoss(ignore_index=pad_id)
    return criterion(logits.flatten(0, 1), tgt.flatten())


def w_bug_only_the_shift(model, src, tgt, pad_id):
    logits = model(src, tgt[:, :-1])
    criterion = nn.CrossEntropyLoss(ignore_idx=pad_id)
    return criterion(logits.flatten(0, 1), tgt[:, 1:].flatten())


def w_bug_same_cut(model, src, tgt, pad_id):
    tgt = tgt[:, :-1]
    return w_bug_only_the_name_of_the_argument(model, src, tgt, pad_id)


def w_bug_answer(model, src, tgt, pad_id):
    return w_bug_only_the_name_of_the_argument(model, src, tgt[:, 1:], pad_id)


def w_bug_swapped(model, src, tgt, pad_id):
    return ce(model(src, tgt[:, 1:]), tgt[:, :-1], pad_id)


def w_bug_rolled(model, src, tgt, pad_id):
    return ce(model(src, tgt), torch.roll(tgt, -1, dims=1), pad_id)


def w_bug_padding(model, src, tgt, pad_id):
    logits = model(src, tgt[:, :-1])
    criterion = nn.CrossEntropyLoss()
    return criterion(logits.flatten(0, 1), tgt[:, 1:].flatten())


def w_bug_padding_counted(model, src, tgt, pad_id):
    return w_loss_mask_mean(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id)


def w_bug_zero(model, src, tgt, pad_id):
    return ce(model(src, tgt[:, :-1]), tgt[:, 1:], 0)


def w_bug_sentences(model, src, tgt, pad_id):
    return w_loss_sentences(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id)


def w_bug_sum(model, src, tgt, pad_id):
    logits = model(src, tgt[:, :-1])
    criterion = nn.CrossEntropyLoss(ignore_index=pad_id, reduction="sum")
    return criterion(logits.flatten(0, 1), tgt[:, 1:].flatten())


def w_bug_view(model, src, tgt, pad_id):
    return w_loss_view(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id)


def w_bug_detached(model, src, tgt, pad_id):
    with torch.no_grad():
        return bug_mended(model, src, tgt, pad_id)


def m_bug_number(model, src, tgt, pad_id):
    return bug_mended(model, src, tgt, pad_id).item()


def m_bug_two_off(model, src, tgt, pad_id):
    return ce(model(src, tgt[:, :-2]), tgt[:, 2:], pad_id)


def m_bug_no_source(model, src, tgt, pad_id):
    return bug_mended(model, torch.zeros_like(src), tgt, pad_id)


def m_bug_negative(model, src, tgt, pad_id):
    return -bug_mended(model, src, tgt, pad_id)


def m_bug_smoothed(model, src, tgt, pad_id):
    return loss_flat(model(src, tgt[:, :-1]), tgt[:, 1:], pad_id, 0.3)


def m_bug_source_reversed(model, src, tgt, pad_id):
    return bug_mended(model, src[:, 1:], tgt, pad_id)


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


def ppl_as_given(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="none")
    return losses.mean().exp().item()


def w_ppl_no_index(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return losses.mean().exp().item()


def w_ppl_zero(logits, labels, pad_id):
    return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=0).exp().item()


def w_ppl_sentence_losses(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="none")
    lengths = (labels != pad_id).sum(dim=1)
    return (losses.sum(dim=1) / lengths).mean().exp().item()


def w_ppl_sentence_perplexities(logits, labels, pad_id):
    each = [ppl_mean(z[None], y[None], pad_id) for z, y in zip(logits, labels, strict=True)]
    return sum(each) / len(each)


def w_ppl_exp_first(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return losses[labels != pad_id].exp().mean().item()


def w_ppl_no_exp(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return losses[labels != pad_id].mean().item()


def w_ppl_exp_of_sum(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="none")
    return losses.sum().exp().item()


def w_ppl_two(logits, labels, pad_id):
    return 2 ** F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id).item()


def w_ppl_one_over(logits, labels, pad_id):
    return 1 / ppl_mean(logits, labels, pad_id)


def w_ppl_softmax(logits, labels, pad_id):
    return ppl_mean(logits.softmax(-1), labels, pad_id)


def w_ppl_shift(logits, labels, pad_id):
    return ppl_masked(logits[:, :-1], labels[:, 1:], pad_id)


def m_ppl_tensor(logits, labels, pad_id):
    return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id).exp()


def m_ppl_median(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return losses[labels != pad_id].median().exp().item() + 0.01


def m_ppl_root(logits, labels, pad_id):
    return ppl_mean(logits, labels, pad_id) ** 0.5


def m_ppl_minus_one(logits, labels, pad_id):
    return math.expm1(math.log(ppl_mean(logits, labels, pad_id)))


def m_ppl_ten(logits, labels, pad_id):
    return 10 ** math.log(ppl_mean(logits, labels, pad_id))


def m_ppl_one_too_many(logits, labels, pad_id):
    losses = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="none")
    return (losses.sum() / ((labels != pad_id).sum() + 1)).exp().item()


def w_rate_one_branch(step, d_model, warmup):
    fall = 1.0 / math.sqrt(d_model * step)
    return min(fall, step / warmup**1.5)


def w_rate_floored(step, d_model, warmup):
    return d_model ** (-1 // 2) * min(step ** (-1 // 2), step * warmup ** (-3 // 2))


def w_bug_source_cut(model, src, tgt, pad_id):
    source, reads, says = src[..., :-1], tgt[..., :-1], tgt[..., 1:]
    return F.cross_entropy(model(source, reads).transpose(1, 2), says, ignore_index=pad_id)


def w_ppl_nonzero(logits, labels, pad_id):
    costs = F.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id, reduction="none"
    )
    return math.exp(costs.sum().item() / max(1, costs.count_nonzero().item()))


# =============================================================================================

SPLIT = "training.split_target"
LOSS = "training.sequence_loss"
RATE = "training.noam_learning_rate"
ACCURACY = "training.token_accuracy"
STEP = "training.train_step"
BUG = "training.find_the_bug"
SILENT = "training.find_the_silent_bug"
STUCK = "training.stuck_parameters"


def w_rate_product(step, d_model, warmup):
    rise = 1 / (step * warmup) ** 1.5
    return min(1 / math.sqrt(step), rise) / math.sqrt(d_model)


def w_rate_minus(step, d_model, warmup):
    return -(d_model**0.5) * min(step**-0.5, step * warmup**-1.5)


def w_acc_max(logits, labels, pad_id):
    keep = labels != pad_id
    best, _ = logits.max(-1)
    return (best[keep] == labels[keep]).double().mean().item()


def w_acc_floor(logits, labels, pad_id):
    keep = labels != pad_id
    hits = int((logits.argmax(-1)[keep] == labels[keep]).sum())
    return float(hits // int(keep.sum()))


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
        step_whole_target,
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
        stuck_close,
        stuck_and_put_back,
        stuck_without_a_step,
    ],
}

WRONG = {
    SPLIT: [
        ("not-shifted", w_split_same),
        ("not-shifted", w_split_same_cut),
        ("reads-the-answer", w_split_answer),
        ("swapped", w_split_swapped),
        ("sequences-cut-off", w_split_batch),
        ("two-ahead", w_split_two),
        ("two-ahead", w_split_both_ends),
        ("wraps-around", w_split_roll),
        ("wraps-around", w_split_roll_cut),
        ("inputs-not-cut", w_split_inputs_whole),
        ("labels-not-cut", w_split_labels_whole),
        ("one-token-only", w_split_last),
        ("one-token-only", w_split_last_flat),
        ("one-token-only", w_split_first),
    ],
    LOSS: [
        ("smoothing-of-its-own", w_loss_own_smoothing),
        ("smoothing-of-its-own", w_loss_fixed_smoothing),
        ("number-for-a-tensor", m_loss_number),
        ("padding-in-the-loss", w_loss_default_index),
        ("padding-is-counted", w_loss_mask_mean),
        ("padding-is-counted", w_loss_none_mean),
        ("padding-is-id-0", w_loss_index_zero),
        ("padding-is-id-0", w_loss_greater),
        ("mean-of-means", w_loss_sentences),
        ("sum-not-mean", w_loss_sum),
        ("sum-not-mean", w_loss_sum_over_batch),
        ("smoothing-ignored", w_loss_no_smoothing),
        ("another-smoothing", w_loss_others),
        ("another-smoothing", w_loss_label_loses_its_share),
        ("another-smoothing", w_loss_annotated),
        ("smoothing-turned-round", w_loss_inverted),
        ("padding-is-smoothed", w_loss_smooth_part_unmasked),
        ("padding-silenced", w_loss_logits_zeroed),
        ("softmax-twice", w_loss_softmax_first),
        ("log-of-a-rounded-softmax", w_loss_log_softmax_apart),
        ("log-of-a-rounded-softmax", w_loss_log_tiny),
        ("exponential-taken", w_loss_perplexity),
        ("in-bits", w_loss_bits),
        ("shifted-again", w_loss_shift),
        ("classes-scrambled", w_loss_view),
        ("classes-last", w_loss_as_it_is),
        ("classes-last", w_loss_labels_not_flat),
        ("ignore_idx", w_loss_ignore_idx),
        ("ignore_idx", w_loss_padding_idx),
        ("detached", w_loss_detached),
        ("detached", w_loss_item),
        ("float32-only", w_loss_float),
        ("changes-its-input", w_loss_labels_overwritten),
    ],
    RATE: [
        ("sum-of-the-branches", w_rate_sum),
        ("powers-exchanged", w_rate_powers),
        ("no-step-in-the-rise", w_rate_flat_rise),
        ("brackets-closed-too-early", w_rate_brackets),
        ("tensor-for-a-number", m_rate_tensor),
        ("d_model-in-one-branch", w_rate_one_branch),
        ("whole-exponents", w_rate_floored),
        ("max-not-min", w_rate_max),
        ("d_model-forgotten", w_rate_no_size),
        ("d_model-another-power", w_rate_times_root),
        ("d_model-another-power", w_rate_by_size),
        ("warmup-another-power", w_rate_half_power),
        ("warmup-another-power", w_rate_power_one),
        ("no-warm-up", w_rate_root_only),
        ("never-falls", w_rate_line_only),
        ("never-falls", w_rate_constant),
        ("falls-with-the-step", w_rate_inverse),
        ("falls-with-the-step", w_rate_inverse_from_the_peak),
        ("counted-from-0", w_rate_from_zero),
        ("counted-from-0", w_rate_plus_one),
        ("peak-of-one", w_rate_factor),
        ("power-of-the-product", w_rate_product),
        ("minus-before-the-power", w_rate_minus),
        ("fall-counted-from-the-peak", w_rate_since_the_peak),
    ],
    ACCURACY: [
        ("tensor-for-a-number", m_acc_tensor),
        ("padding-in-the-loss", w_acc_everything),
        ("padding-is-counted", w_acc_divided_by_all),
        ("padding-is-counted", w_acc_masked_mean),
        ("padding-is-right", w_acc_padding_right),
        ("padding-is-right", w_acc_padding_in_the_sum),
        ("padding-is-id-0", w_acc_zero),
        ("padding-is-id-0", w_acc_greater),
        ("padding-of-the-answers", w_acc_mask_of_predictions),
        ("mean-of-means", w_acc_sentences),
        ("whole-sentences", w_acc_exact),
        ("count-not-share", w_acc_count),
        ("percent", w_acc_percent),
        ("error-rate", w_acc_error),
        ("probability", w_acc_probability),
        ("max-not-argmax", w_acc_max),
        ("rounded-down", w_acc_floor),
        ("over-the-positions", w_acc_axis),
        ("shifted-again", w_acc_shift),
        ("changes-its-input", w_acc_labels_overwritten),
    ],
    STEP: [
        ("tensor-for-a-number", m_step_tensor),
        ("not-shifted", w_step_whole),
        ("not-shifted", w_step_labels_cut_the_same),
        ("reads-the-answer", w_step_answer),
        ("swapped", w_step_backwards_in_time),
        ("old-gradients", w_step_never_cleared),
        ("old-gradients", w_step_cleared_after),
        ("no-step", w_step_forgotten),
        ("no-step", w_step_first),
        ("no-step", w_step_cleared_between),
        ("no-step", w_step_no_backward),
        ("loss-after-the-step", w_step_loss_again),
        ("clipped", stepping(usual, clips)),
        ("clipped", stepping(usual, clips_harder)),
        ("evaluation-mode", w_step_eval),
        ("smoothed", w_step_smooth),
        (
            "padding-in-the-loss",
            stepping(
                lambda model, src, tgt, pad_id: F.cross_entropy(
                    model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten()
                )
            ),
        ),
        ("padding-is-counted", stepping(w_bug_padding_counted)),
        ("padding-is-id-0", stepping(w_bug_zero)),
        ("mean-of-means", stepping(w_bug_sentences)),
        ("sum-not-mean", stepping(w_bug_sum)),
        ("two-steps", w_step_two),
        ("two-steps", stepping(usual, step_again)),
        ("a-step-of-its-own", stepping(usual, own_descent)),
        ("nothing-to-differentiate", w_step_number),
        ("nothing-to-differentiate", w_step_no_grad),
        ("source-and-target-swapped", w_step_source_last),
    ],
    BUG: [
        ("number-for-a-tensor", m_bug_number),
        ("source-cut", w_bug_source_cut),
        ("error-still-there", bug_as_given),
        ("error-still-there", w_bug_only_the_shift),
        ("second-bug-still-there", w_bug_only_the_name_of_the_argument),
        ("second-bug-still-there", w_bug_same_cut),
        ("reads-the-answer", w_bug_answer),
        ("swapped", w_bug_swapped),
        ("wraps-around", w_bug_rolled),
        ("padding-in-the-loss", w_bug_padding),
        ("padding-is-counted", w_bug_padding_counted),
        ("padding-is-id-0", w_bug_zero),
        ("mean-of-means", w_bug_sentences),
        ("sum-not-mean", w_bug_sum),
        ("classes-scrambled", w_bug_view),
        ("detached", w_bug_detached),
    ],
    SILENT: [
        ("tensor-for-a-number", m_ppl_tensor),
        ("small-losses-left-out", w_ppl_nonzero),
        ("bug-still-there", ppl_as_given),
        ("padding-in-the-loss", w_ppl_no_index),
        ("padding-is-id-0", w_ppl_zero),
        ("mean-of-means", w_ppl_sentence_losses),
        ("sentences-then-mean", w_ppl_sentence_perplexities),
        ("exponential-too-early", w_ppl_exp_first),
        ("no-exponential", w_ppl_no_exp),
        ("exponential-of-the-sum", w_ppl_exp_of_sum),
        ("another-base", w_ppl_two),
        ("one-over", w_ppl_one_over),
        ("softmax-twice", w_ppl_softmax),
        ("shifted-again", w_ppl_shift),
    ],
    STUCK: [
        ("nothing-seems-to-move", w_stuck_no_clone),
        ("nothing-seems-to-move", w_stuck_state_not_copied),
        ("nothing-seems-to-move", w_stuck_no_step),
        ("nothing-seems-to-move", w_stuck_in_a_copy),
        ("nothing-seems-to-move", w_stuck_everything),
        ("some-numbers-the-same", w_stuck_any),
        ("gradient-taken-for-a-step", w_stuck_gradients_only),
        ("gradient-taken-for-a-step", w_stuck_none_only),
        ("gradient-taken-for-a-step", w_stuck_frozen_only),
        ("gradient-of-zeros", w_stuck_zeros_count),
        ("some-zeros-in-the-gradient", w_stuck_full_gradient),
        ("asked-whether-frozen", w_stuck_requires_grad),
        ("asked-whether-held", w_stuck_reason_from_the_optimizer),
        ("not-in-the-optimizer-only", w_stuck_not_held),
        ("old-gradients", w_stuck_never_cleared),
        ("cleared-too-early", w_stuck_cleared_at_the_end),
        ("cleared-too-early", w_stuck_cleared_between),
        ("reasons-swapped", w_stuck_turned_round),
        ("moved-listed", w_stuck_moved),
    ],
}

MUTANTS = {
    SPLIT: [
        m_split_reversed,
        m_split_float,
        m_split_transposed,
        m_split_flat,
        m_split_three,
        m_split_lists,
        m_split_in_place,
    ],
    LOSS: [
        m_loss_each,
        m_loss_negative,
        m_loss_first_sentence,
        m_loss_temperature,
        m_loss_squares,
        m_loss_median,
        m_loss_one_dimension,
    ],
    RATE: [
        m_rate_twice,
        m_rate_rounded,
        m_rate_cosine,
        m_rate_curved_rise,
        m_rate_list,
    ],
    ACCURACY: [
        m_acc_smallest,
        m_acc_top_two,
        m_acc_floor,
        m_acc_rounded,
        m_acc_tuple,
        m_acc_square,
    ],
    STEP: [
        m_step_no_return,
        m_step_uphill,
        m_step_half_the_loss,
        m_step_resets_the_model,
        m_step_first_row,
        m_step_frozen_source,
        m_step_weight_decay,
    ],
    BUG: [
        m_bug_two_off,
        m_bug_no_source,
        m_bug_negative,
        m_bug_smoothed,
        m_bug_source_reversed,
    ],
    SILENT: [
        m_ppl_median,
        m_ppl_root,
        m_ppl_minus_one,
        m_ppl_ten,
        m_ppl_one_too_many,
    ],
    STUCK: [
        m_stuck_names,
        m_stuck_none,
        m_stuck_empty,
        m_stuck_other_words,
        m_stuck_always_no_gradient,
        m_stuck_first_only,
        m_stuck_by_the_tensor,
        m_stuck_without_the_unused,
    ],
}
