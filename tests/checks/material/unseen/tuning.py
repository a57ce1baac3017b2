"""Wrong answers to the tasks of tuning, as beginners write them."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.checks.material.unseen import wrong


@wrong("tuning.answer_loss", "the loop ends at the padding, and the logits are not shifted", None)
def _(logits, ids, prompt_lengths, pad_id):
    total, count = 0, 0
    for b in range(len(ids)):
        for t in range(int(prompt_lengths[b]), ids.shape[1]):
            if ids[b, t] == pad_id:
                break
            if t < logits.shape[1]:
                total = total + F.cross_entropy(logits[b, t], ids[b, t])
            count += 1
    return total / count


@wrong("tuning.answer_loss", "the two first tokens of an answer are left out", None)
def _(logits, ids, prompt_lengths, pad_id):
    labels = ids[:, 1:]
    mask = (torch.arange(labels.shape[1]) > prompt_lengths[:, None]) & (labels != pad_id)
    losses = F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")
    return (losses * mask).sum() / mask.sum().clamp(min=1)


@wrong("tuning.answer_loss", "the loop returns after its first row", None)
def _(logits, ids, prompt_lengths, pad_id):
    for b in range(len(ids)):
        prompt = int(prompt_lengths[b])
        labels = ids[b, prompt:]
        labels = labels[labels != pad_id]
        return F.cross_entropy(logits[b, prompt - 1 : prompt - 1 + len(labels)], labels)


class Layer(nn.Module):
    """A right answer."""

    def __init__(self, linear, rank, alpha):
        super().__init__()
        self.linear, self.alpha, self.rank = linear, alpha, rank
        for parameter in linear.parameters():
            parameter.requires_grad = False
        dtype = linear.weight.dtype
        self.A = nn.Parameter(torch.randn(rank, linear.in_features, dtype=dtype) * 0.02)
        self.B = nn.Parameter(torch.zeros(linear.out_features, rank, dtype=dtype))

    def change(self):
        return self.alpha / self.rank * self.B @ self.A

    def forward(self, x):
        return self.linear(x) + x @ self.change().T

    def merge(self):
        merged = copy.deepcopy(self.linear)
        with torch.no_grad():
            merged.weight.add_(self.change())
        return merged


@wrong("tuning.lora_linear", "the bias is added twice", None)
class BiasTwice(Layer):
    def forward(self, x):
        y = super().forward(x)
        return y if self.linear.bias is None else y + self.linear.bias


@wrong("tuning.lora_linear", "the merged layer has a new bias of its own", None)
class NewBias(Layer):
    def merge(self):
        merged = nn.Linear(self.linear.in_features, self.linear.out_features)
        merged = merged.to(self.linear.weight)
        with torch.no_grad():
            merged.weight.copy_(self.linear.weight + self.change())
        return merged


@wrong("tuning.lora_linear", "a dropout on the way to A", "", relation="unsteady")
class Dropout(Layer):
    def forward(self, x):
        return self.linear(x) + F.dropout(x, 0.1) @ self.change().T


@wrong("tuning.lora_linear", "the merged weight is (in, out)", None)
class Transposed(Layer):
    def merge(self):
        merged = nn.Linear(self.linear.out_features, self.linear.in_features)
        with torch.no_grad():
            merged.weight.copy_((self.linear.weight + self.change()).T)
        return merged


@wrong("tuning.dpo_loss", "the margin is clamped so that nothing is infinite", None)
def _(logits, start_logits, labels, answer, beta):
    logs = logits.log_softmax(-1) - start_logits.log_softmax(-1)
    gains = (logs.gather(-1, labels[..., None]).squeeze(-1) * answer).sum(-1)
    return -F.logsigmoid((beta * (gains[0] - gains[1])).clamp(-30, 30)).mean()


@wrong("tuning.dpo_loss", "the prompt is scored, and not the answer", None)
def _(logits, start_logits, labels, answer, beta):
    logs = logits.log_softmax(-1) - start_logits.log_softmax(-1)
    gains = (logs.gather(-1, labels[..., None]).squeeze(-1) * ~answer).sum(-1)
    return -F.logsigmoid(beta * (gains[0] - gains[1])).mean()


@wrong("tuning.group_advantages", "a softmax within the group", None)
def _(rewards):
    return rewards.softmax(-1)


@wrong("tuning.group_advantages", "the distance from the mean of the others, not divided", None)
def _(rewards):
    others = rewards.sum(-1, keepdim=True) - rewards
    return rewards - others / max(rewards.shape[1] - 1, 1)


@wrong("tuning.group_advantages", "one group with equal rewards sets all of them to 0", None)
def _(rewards):
    spread = rewards.std(-1, correction=0, keepdim=True)
    if (spread < 1e-6).any():
        return torch.zeros_like(rewards)
    return (rewards - rewards.mean(-1, keepdim=True)) / spread


@wrong("tuning.kl_penalty", "the differences are clamped so that nothing is infinite", None)
def _(log_probs, start_log_probs, answer):
    change = (start_log_probs - log_probs).clamp(-1, 1)[answer]
    return (change.exp() - change - 1).mean()


@wrong("tuning.kl_penalty", "only tokens that became more likely cost anything", None)
def _(log_probs, start_log_probs, answer):
    return (log_probs - start_log_probs)[answer].relu().mean()


@wrong("tuning.kl_penalty", "the largest penalty", None)
def _(log_probs, start_log_probs, answer):
    change = (start_log_probs - log_probs)[answer]
    return (change.exp() - change - 1).max()


@wrong("tuning.best_of_n", "simulated with a fixed seed", None)
def _(proxy, true, n):
    chance = torch.Generator().manual_seed(0)
    drawn = torch.randint(len(proxy), (1000, n), generator=chance)
    return true[drawn.gather(1, proxy[drawn].argmax(1, keepdim=True))].mean().item()


@wrong("tuning.best_of_n", "the mean over groups of n neighbors", None)
def _(proxy, true, n):
    best = [proxy[i : i + n].argmax() + i for i in range(0, len(proxy), n)]
    return true[torch.stack(best)].mean().item()


@wrong("tuning.best_of_n", "the proxy rewards are used as if they were ranks", None)
def _(proxy, true, n):
    order = proxy.argsort()
    shares = torch.cat([proxy.new_zeros(1), proxy[order] / proxy.max()]) ** n
    return (shares.diff() * true[order]).sum().item()


@wrong("tuning.best_of_n", "the largest expected reward of all searches up to n", None)
def _(proxy, true, n):
    ranks = torch.arange(len(proxy) + 1, dtype=torch.float64) / len(proxy)
    ranked = true[proxy.argsort()].double()
    return max(((ranks**each).diff() * ranked).sum().item() for each in range(1, n + 1))


@wrong("tuning.find_the_bug", "the advantages are limited to 1", None)
def _(log_probs, start_log_probs, rewards, answer, beta):
    now = (log_probs * answer).sum(-1)
    total = (rewards - beta * (now - (start_log_probs * answer).sum(-1))).detach()
    advantages = (total - total.mean(-1, keepdim=True)).clamp(-1, 1)
    return -(advantages * now).mean()
