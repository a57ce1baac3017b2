"""The answers to the tasks of the assignment "tuning": the text of the solution's cells.

A mistake is a change to one of them.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def answer_loss(
    logits: Tensor,
    ids: Tensor,
    prompt_lengths: Tensor,
    pad_id: int,
) -> Tensor:
    """Average the cross-entropy over the tokens of the answers.

    Args:
        logits: (B, T, V), floating point: the model's, for ids[:, :-1].
        ids: (B, T+1), int64: prompt, answer, padding.
        prompt_lengths: (B,), int64, at least 1: tokens of each prompt.
        pad_id: the id of padding.

    Returns:
        A tensor without axes, in the dtype of the logits.
    """
    labels = ids[:, 1:]  # (B, T)
    places = torch.arange(1, ids.shape[1], device=ids.device)  # (T,)
    answer = (places >= prompt_lengths[:, None]) & (labels != pad_id)
    losses = F.cross_entropy(logits.mT, labels, reduction="none")  # (B, T)
    return losses[answer].mean()


class LoRALinear(nn.Module):
    """A frozen linear layer and, added to it, a product of thin matrices.

    Args:
        linear: the layer, with or without a bias. It is frozen.
        rank: rows of A and columns of B.
        alpha: the product is multiplied by alpha / rank.
    """

    def __init__(self, linear: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.scale = alpha / rank
        a = torch.randn(rank, linear.in_features) / rank
        b = torch.zeros(linear.out_features, rank)
        self.A = nn.Parameter(a.to(linear.weight))  # (rank, in)
        self.B = nn.Parameter(b.to(linear.weight))  # (out, rank)

    def forward(self, x: Tensor) -> Tensor:
        """Return linear(x) + alpha / rank * B A x, (..., out)."""
        return self.linear(x) + self.scale * (x @ self.A.T @ self.B.T)

    def merge(self) -> nn.Linear:
        """Return a new layer that does the same as this one."""
        merged = copy.deepcopy(self.linear)
        with torch.no_grad():
            merged.weight += self.scale * self.B @ self.A
        return merged


def dpo_loss(
    logits: Tensor,
    start_logits: Tensor,
    labels: Tensor,
    answer: Tensor,
    beta: float,
) -> Tensor:
    """The loss of DPO for pairs of a better and a worse answer.

    Args:
        logits: (2, B, T, V), floating point, of the model in training:
            better answers, then worse ones.
        start_logits: (2, B, T, V), of the model at the start.
        labels: (2, B, T), int64: the id that each place has to predict.
        answer: (2, B, T), bool, True where the label is of the answer.
        beta: how much a change against the start counts.

    Returns:
        A tensor without axes, in the dtype of the logits: the mean over
        the B pairs.
    """
    ids = labels[..., None]  # (2, B, T, 1)
    now = logits.log_softmax(dim=-1).gather(-1, ids)[..., 0]  # (2, B, T)
    start = start_logits.detach().log_softmax(dim=-1)  # (2, B, T, V)
    start = start.gather(-1, ids)[..., 0]  # (2, B, T)
    gains = ((now - start) * answer).sum(dim=-1)  # (2, B)
    return -F.logsigmoid(beta * (gains[0] - gains[1])).mean()


def group_advantages(rewards: Tensor) -> Tensor:
    """Compare each answer with the other answers to the same question.

    Args:
        rewards: (B, G), floating point, 0 to 1: of G answers to each of
            B questions.

    Returns:
        (B, G), in the dtype of rewards: distance from the mean of the
        group, in standard deviations of the group; 0 where all its rewards
        are equal.
    """
    centered = rewards - rewards.mean(dim=-1, keepdim=True)  # (B, G)
    spread = centered.square().mean(dim=-1, keepdim=True).sqrt()  # (B, 1)
    equal = (rewards == rewards[:, :1]).all(dim=-1, keepdim=True)  # (B, 1)
    return (centered / spread).masked_fill(equal, 0.0)


def kl_penalty(
    log_probs: Tensor,
    start_log_probs: Tensor,
    answer: Tensor,
) -> Tensor:
    """Estimate how far a model has moved, from answers that it has written.

    Args:
        log_probs: (B, T), floating point: of each token under the model
            now.
        start_log_probs: (B, T): under the model at the start.
        answer: (B, T), bool, True where the token belongs to an answer.

    Returns:
        A tensor without axes, in the dtype of log_probs: the mean over all
        tokens of answers.
    """
    gain = (log_probs - start_log_probs.detach())[answer]  # (N,)
    return ((-gain).exp() + gain - 1).mean()


def best_of_n(proxy: Tensor, true: Tensor, n: int) -> float:
    """The expected true reward of the best of n answers by a proxy reward.

    Args:
        proxy: (M,), floating point, all different: what a program measures.
        true: (M,), floating point: what is wanted.
        n: answers that are drawn from the M, each time from all of them.

    Returns:
        The expected true reward, a Python float.
    """
    ranked = true[proxy.argsort()].double()  # (M,), proxy rising
    ranks = torch.arange(len(proxy) + 1, dtype=torch.float64)  # (M+1,)
    kept = ((ranks / len(proxy)) ** n).diff()  # (M,)
    return (kept * ranked).sum().item()


def policy_loss(
    log_probs: Tensor,
    start_log_probs: Tensor,
    rewards: Tensor,
    answer: Tensor,
    beta: float,
) -> Tensor:
    """The loss of a policy gradient, as above but without the bug.

    Args:
        log_probs: (B, G, T), floating point: of each token of G answers to
            each of B questions.
        start_log_probs: (B, G, T): under the model at the start.
        rewards: (B, G): of the answers.
        answer: (B, G, T), bool, True where the token is of the answer.
        beta: what it costs to be more likely than at the start.

    Returns:
        A tensor without axes, in the dtype of log_probs.
    """
    now = (log_probs * answer).sum(dim=-1)  # (B, G)
    start = (start_log_probs * answer).sum(dim=-1)  # (B, G)
    total = rewards - beta * (now - start)  # (B, G)
    advantages = total - total.mean(dim=-1, keepdim=True)  # (B, G)
    return -(advantages.detach() * now).mean()
