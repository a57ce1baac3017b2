"""Answers to the assignment "tuning" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

LOSS = "tuning.answer_loss"
LORA = "tuning.lora_linear"
DPO = "tuning.dpo_loss"
GROUP = "tuning.group_advantages"
KL = "tuning.kl_penalty"
BEST = "tuning.best_of_n"
BUG = "tuning.find_the_bug"

# --- answer_loss -----------------------------------------------------------------------------


def loss_ignored(logits, ids, prompt_lengths, pad_id):
    """Labels that do not count are -100."""
    labels = ids[:, 1:].clone()
    for row, prompt in zip(labels, prompt_lengths.tolist(), strict=True):
        row[: prompt - 1] = -100
    labels[labels == pad_id] = -100
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


def loss_row_by_row(logits, ids, prompt_lengths, pad_id):
    total, count = logits.new_zeros(()), 0
    logs = torch.log_softmax(logits, dim=-1)
    for b in range(len(ids)):
        for t in range(int(prompt_lengths[b]), ids.shape[1]):
            if ids[b, t] != pad_id:
                total = total - logs[b, t - 1, ids[b, t]]
                count += 1
    return total / count


def loss_gathered(logits, ids, prompt_lengths, pad_id):
    labels = ids[:, 1:, None]
    losses = torch.logsumexp(logits, -1) - logits.gather(2, labels)[..., 0]
    cut = torch.arange(ids.size(1) - 1, device=ids.device)[None] + 1 < prompt_lengths.unsqueeze(1)
    weight = (~cut).to(logits) * labels[..., 0].ne(pad_id)
    return (losses * weight).sum() / weight.sum()


def loss_doubled(logits, ids, prompt_lengths, pad_id):
    """In float64, and back at the end."""
    return loss_ignored(logits.double(), ids, prompt_lengths, pad_id).to(logits.dtype)


# --- LoRALinear ------------------------------------------------------------------------------


class LoRAByHand(nn.Module):
    def __init__(self, linear, rank, alpha):
        super().__init__()
        for parameter in linear.parameters():
            parameter.requires_grad = False
        self.base, self.rank, self.alpha = linear, rank, alpha
        like = {"dtype": linear.weight.dtype, "device": linear.weight.device}
        self.A = nn.Parameter(torch.empty(rank, linear.in_features, **like))
        self.B = nn.Parameter(torch.zeros(linear.out_features, rank, **like))
        nn.init.kaiming_uniform_(self.A, a=5**0.5)

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.A), self.B) * self.alpha / self.rank

    def merge(self):
        with_bias = self.base.bias is not None
        new = nn.Linear(self.base.in_features, self.base.out_features, bias=with_bias)
        new = new.to(self.base.weight)
        change = self.alpha / self.rank * self.B.detach() @ self.A.detach()
        new.weight = nn.Parameter(self.base.weight + change)
        if with_bias:
            new.bias = self.base.bias
        return new


class LoRAOfOneWeight(LoRAByHand):
    """The sum of the weights is made in each call."""

    def _weight(self):
        return self.base.weight + self.B @ self.A * (self.alpha / self.rank)

    def forward(self, x):
        return F.linear(x, self._weight(), self.base.bias)

    def merge(self):
        new = nn.utils.skip_init(
            nn.Linear, *self.base.weight.shape[::-1], self.base.bias is not None
        )
        new.load_state_dict({**self.base.state_dict(), "weight": self._weight().detach()})
        return new.to(self.base.weight)


class LoRAOfBuffers(nn.Module):
    """The old layer is kept as buffers, which no training changes."""

    def __init__(self, linear, rank, alpha):
        super().__init__()
        self.register_buffer("weight", linear.weight.detach().clone())
        self.register_buffer("bias", None if linear.bias is None else linear.bias.detach().clone())
        self.scale = float(alpha) / float(rank)
        self.register_parameter("A", nn.Parameter(torch.ones_like(self.weight[:1]).repeat(rank, 1)))
        self.register_parameter("B", nn.Parameter(self.weight.new_zeros(len(self.weight), rank)))

    def forward(self, x):
        change = torch.einsum("...i,ri,or->...o", x, self.A, self.B)
        return F.linear(x, self.weight, self.bias) + self.scale * change

    def merge(self):
        size = self.weight.shape
        new = nn.Linear(size[1], size[0], self.bias is not None, dtype=self.weight.dtype)
        new.weight.data = self.weight + self.scale * (self.B @ self.A).data
        if self.bias is not None:
            new.bias.data = self.bias.clone()
        return new


# --- dpo_loss --------------------------------------------------------------------------------


def _label_logs(logits, labels):
    return -F.cross_entropy(logits.movedim(-1, 1), labels, reduction="none")


def dpo_by_softplus(logits, start_logits, labels, answer, beta):
    scores = []
    for index in range(2):
        now, start = _label_logs(logits[index], labels[index]), None
        with torch.no_grad():
            start = _label_logs(start_logits[index], labels[index])
        scores.append(torch.where(answer[index], now - start, 0.0).sum(-1))
    better, worse = scores
    return F.softplus(beta * worse - beta * better).mean()


def dpo_pair_by_pair(logits, start_logits, labels, answer, beta):
    total = 0
    for pair in range(logits.shape[1]):
        sums = [
            _label_logs(each[side, pair], labels[side, pair])[answer[side, pair]].sum()
            for side in (0, 1)
            for each in (logits, start_logits)
        ]
        now, start, worse_now, worse_start = sums
        total = total - F.logsigmoid(beta * (now - worse_now - (start - worse_start)))
    return total / logits.shape[1]


def dpo_cross_entropy(logits, start_logits, labels, answer, beta):
    """A choice between two answers with a label: logaddexp of the two gains."""
    logs = F.log_softmax(logits, -1) - F.log_softmax(start_logits, -1)
    picked = torch.take_along_dim(logs, labels.unsqueeze(-1), dim=-1).squeeze(-1)
    gains = beta * picked.masked_fill(~answer, 0).sum(2)
    return (torch.logaddexp(gains[0], gains[1]) - gains[0]).mean()


def m_dpo_clamped(logits, start_logits, labels, answer, beta):
    logs = F.log_softmax(logits, -1) - F.log_softmax(start_logits, -1)
    gains = (logs.gather(-1, labels[..., None])[..., 0] * answer).sum(-1)
    return F.softplus((beta * (gains[1] - gains[0])).clamp(max=50.0)).mean()


# --- group_advantages ------------------------------------------------------------------------


def group_std(rewards):
    spread = rewards.std(dim=1, correction=0, keepdim=True)
    centered = rewards - rewards.mean(dim=1, keepdim=True)
    return torch.where(spread > 0.005, centered / spread, torch.zeros_like(rewards))


def group_rows(rewards):
    rows = []
    for row in rewards.double():
        if row.max() == row.min():
            rows.append(torch.zeros_like(row))
        else:
            rows.append((row - row.mean()) / (row - row.mean()).pow(2).mean().sqrt())
    return torch.stack(rows).to(rewards.dtype)


def group_numpy(rewards):
    given = rewards.numpy().astype(np.float64)
    spread = given.std(axis=1, keepdims=True)
    found = np.divide(
        given - given.mean(axis=1, keepdims=True),
        spread,
        out=np.zeros_like(given),
        where=spread > 1e-6,
    )
    return torch.from_numpy(found).type_as(rewards)


def group_from_the_first(rewards):
    """Distances from the first reward: those of equal ones are exactly 0."""
    moved = rewards - rewards[:, :1]
    centered = moved - moved.mean(-1, True)
    norm = centered.norm(dim=-1, keepdim=True)
    return centered * rewards.shape[1] ** 0.5 / torch.where(norm == 0, 1.0, norm)


def m_group_rounded(rewards):
    found = group_std(rewards)
    return found if rewards.shape[1] < 50 else found.round(decimals=2)


# --- kl_penalty ------------------------------------------------------------------------------


def kl_filled(log_probs, start_log_probs, answer):
    gap = torch.where(answer, log_probs - start_log_probs, torch.zeros_like(log_probs))
    return (torch.exp(-gap) + gap - 1).sum() / answer.sum()


def kl_expm1(log_probs, start_log_probs, answer):
    with torch.no_grad():
        start = torch.masked_select(start_log_probs, answer)
    gap = start - torch.masked_select(log_probs, answer)
    return torch.expm1(gap).sub(gap).mean()


def kl_token_by_token(log_probs, start_log_probs, answer):
    costs = []
    for now, start in zip(log_probs[answer], start_log_probs[answer], strict=True):
        ratio = (start - now).exp()
        costs.append(ratio - 1 - ratio.log())
    return sum(costs) / len(costs)


def kl_cut(log_probs, start_log_probs, answer):
    """Both are made equal outside of the answers."""
    now, start = (each.masked_fill(~answer, -1.0) for each in (log_probs, start_log_probs))
    return ((start - now).exp() - (start - now) - 1).sum() / answer.to(now).sum()


# --- best_of_n -------------------------------------------------------------------------------


def best_exact(proxy, true, n):
    """With fractions."""
    size = len(proxy)
    ranked = [reward for _, reward in sorted(zip(proxy.tolist(), true.tolist(), strict=True))]
    total = 0.0
    for rank, reward in enumerate(ranked, start=1):
        total += float(Fraction(rank, size) ** n - Fraction(rank - 1, size) ** n) * reward
    return total


def best_by_comparing(proxy, true, n):
    """How many proxy rewards are below each, without sorting."""
    below = (proxy[None] < proxy[:, None]).sum(1).double() / len(proxy)
    kept = (below + 1 / len(proxy)) ** n - below**n
    return float((kept * true.double()).sum())


def best_tail(proxy, true, n):
    """The lowest reward, and what each rank adds if it or a higher one is kept."""
    ranked = np.asarray(true, dtype=np.float64)[np.argsort(proxy.numpy())]
    higher = 1 - (np.arange(1, len(ranked)) / len(ranked)) ** n
    return float(ranked[0] + (np.diff(ranked) * higher).sum())


def best_ranks(proxy, true, n):
    ranks = proxy.argsort().argsort().double() + 1
    kept = (ranks / len(proxy)).pow(n) - ((ranks - 1) / len(proxy)).pow(n)
    return torch.dot(kept, true.double()).item()


def best_in_float32(proxy, true, n):
    """As in the third hint."""
    kept = ((torch.arange(len(proxy) + 1) / len(proxy)) ** n).diff()
    return (kept * true[proxy.argsort()]).sum().item()


def m_best_few(proxy, true, n):
    return best_exact(proxy, true, min(n, 8))


# --- find_the_bug ----------------------------------------------------------------------------


def policy_no_grad(log_probs, start_log_probs, rewards, answer, beta):
    with torch.no_grad():
        moved = ((log_probs - start_log_probs) * answer).sum(-1)
        total = rewards - beta * moved
        advantages = total - total.mean(dim=1, keepdim=True)
    return -(advantages * (log_probs * answer).sum(-1)).mean()


def policy_constant_copy(log_probs, start_log_probs, rewards, answer, beta):
    now = (log_probs * answer).sum(dim=-1)
    total = rewards - beta * (now.detach() - (start_log_probs * answer).sum(dim=-1))
    return ((total.mean(-1, keepdim=True) - total) * now).sum() / rewards.numel()


def policy_spread_over_tokens(log_probs, start_log_probs, rewards, answer, beta):
    moved = torch.where(answer, log_probs - start_log_probs, 0.0).sum(-1).detach()
    total = rewards - beta * moved
    advantages = (total - total.mean(-1, keepdim=True)).unsqueeze(-1)
    per_token = advantages * log_probs.masked_fill(~answer, 0.0)
    return -per_token.sum() / (rewards.shape[0] * rewards.shape[1])


def policy_einsum(log_probs, start_log_probs, rewards, answer, beta):
    now = torch.einsum("bgt,bgt->bg", log_probs, answer.to(log_probs))
    start = torch.einsum("bgt,bgt->bg", start_log_probs, answer.to(log_probs))
    total = (rewards - beta * (now - start)).data
    return -torch.mean((total - total.mean(1)[:, None]) * now)


CORRECT = {
    LOSS: [loss_ignored, loss_row_by_row, loss_gathered, loss_doubled],
    LORA: [LoRAByHand, LoRAOfOneWeight, LoRAOfBuffers],
    DPO: [dpo_by_softplus, dpo_pair_by_pair, dpo_cross_entropy],
    GROUP: [group_std, group_rows, group_numpy, group_from_the_first],
    KL: [kl_filled, kl_expm1, kl_token_by_token, kl_cut],
    BEST: [best_exact, best_by_comparing, best_tail, best_ranks, best_in_float32],
    BUG: [policy_no_grad, policy_constant_copy, policy_spread_over_tokens, policy_einsum],
}

WRONG: dict[str, list[tuple[str, object]]] = {}

MUTANTS = {
    DPO: [m_dpo_clamped],
    GROUP: [m_group_rounded],
    BEST: [m_best_few],
}
