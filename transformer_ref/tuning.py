"""After pretraining: the losses that turn a model that continues text into one that answers.

Loss on the answer only, LoRA, preferences (DPO), and the parts of a loop of reinforcement learning
whose reward a program computes: group-relative advantages, the policy gradient and the KL penalty.

Letters here, besides those of the conventions: G answers to one prompt.
"""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref._validate import require_at_least_one, require_ids, require_positive
from transformer_ref.training.losses import require_scores


def answer_mask(ids: Tensor, prompt_lengths: Tensor, pad_id: int) -> Tensor:
    """Mark the labels that belong to an answer: not the prompt's, not padding.

    Args:
        ids: (B, T+1) integer ids: a prompt, its answer, padding. The labels are ``ids[:, 1:]``.
        prompt_lengths: (B,) integers, the number of tokens of each prompt, at least 1.
        pad_id: occurs as padding only.

    Returns:
        (B, T) bool, True where the label is a token of the answer. Its first token is guessed
        at the last token of the prompt.

    Raises:
        ValueError: if `ids` is not (B, T+1) integer, or `prompt_lengths` not (B,) of at least 1.
    """
    require_ids("ids", ids)
    if prompt_lengths.shape != ids.shape[:1] or (prompt_lengths < 1).any():
        raise ValueError(
            f"prompt_lengths must have shape ({len(ids)},) and hold at least 1 each, "
            f"got {prompt_lengths.tolist()}"
        )
    places = torch.arange(1, ids.shape[1], device=ids.device)  # (T,), of the labels
    return (places >= prompt_lengths[:, None]) & (ids[:, 1:] != pad_id)  # (B, T)


def token_log_probs(logits: Tensor, labels: Tensor) -> Tensor:
    """Look up the log-probability of each label.

    Args:
        logits: (B, T, V) floating.
        labels: (B, T) int64 ids; padding too must lie in the vocabulary.

    Returns:
        (B, T), in nats. The log-probability of an answer is the sum over its tokens.

    Raises:
        ValueError: if the shapes do not fit or `logits` is not floating.
    """
    require_scores(logits, labels)
    return -F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")  # (B, T)


def answer_loss(logits: Tensor, ids: Tensor, prompt_lengths: Tensor, pad_id: int) -> Tensor:
    """Average the cross-entropy over the tokens of the answers.

    Args:
        logits: (B, T, V) floating, what a model says of ``ids[:, :-1]``.
        ids: (B, T+1) int64 ids: a prompt, its answer, padding.
        prompt_lengths: (B,) integers, the number of tokens of each prompt, at least 1.
        pad_id: occurs as padding only.

    Returns:
        A scalar, in nats per token: the mean over all answer tokens of the batch.

    Raises:
        ValueError: if shapes or dtypes do not fit, or the batch has no answer.

    Source: Wei et al. 2022 for tuning on instructions.
    """
    answer = answer_mask(ids, prompt_lengths, pad_id)  # (B, T)
    if not answer.any():
        raise ValueError("ids must hold at least one token of an answer, got only prompts")
    return -_masked(token_log_probs(logits, ids[:, 1:]), answer).sum() / answer.sum()


class LoRALinear(nn.Module):
    """A frozen linear layer plus a trained product of two thin matrices.

    ``y = linear(x) + alpha / rank * B A x``. B starts at zero, so the layer starts unchanged.

    Args:
        linear: it is frozen and kept; (out, in) is the shape of its weight.
        rank: r, rows of A and columns of B.
        alpha: scales the product, so that the learning rate need not change with the rank.

    Attributes:
        A: (rank, in), random.
        B: (out, rank), zero at the start.

    Raises:
        ValueError: if `rank` is below 1 or `alpha` is not above 0.

    Source: Hu et al. 2022, section 4.1.
    """

    def __init__(self, linear: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        require_at_least_one(rank=rank)
        require_positive(alpha=alpha)
        self.linear, self.scale = linear.requires_grad_(False), alpha / rank
        weight = linear.weight
        self.A = nn.Parameter(
            torch.randn_like(weight[:1].expand(rank, -1)) * weight.shape[1] ** -0.5
        )
        self.B = nn.Parameter(weight.new_zeros(weight.shape[0], rank))

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., in) to (..., out)."""
        added: Tensor = x @ self.A.T @ self.B.T  # (..., out), by way of (..., rank)
        return self.linear(x) + self.scale * added

    @torch.no_grad()
    def merge(self) -> nn.Linear:
        """Make an ordinary layer that computes the same, so that inference costs nothing extra."""
        out_features, in_features = self.linear.weight.shape
        made = nn.utils.skip_init(
            nn.Linear, in_features, out_features, bias=self.linear.bias is not None,
            device=self.linear.weight.device, dtype=self.linear.weight.dtype,
        )  # fmt: skip
        made.weight.copy_(self.linear.weight + self.scale * self.B @ self.A)
        if self.linear.bias is not None:
            made.bias.copy_(self.linear.bias)
        return made


def add_lora(model: nn.Module, names: Collection[str], rank: int, alpha: float) -> None:
    """Freeze a model, and put a :class:`LoRALinear` around its linear layers of these names.

    Args:
        model: it is changed; afterwards only the matrices A and B are trained.
        names: of the layers in the module that holds them, such as ("q_proj", "v_proj").
        rank: of :class:`LoRALinear`.
        alpha: of :class:`LoRALinear`.

    Raises:
        ValueError: if it has no such layer.
    """
    model.requires_grad_(False)
    found = [
        (parent, name, layer)
        for parent in list(model.modules())
        for name, layer in parent.named_children()
        if name in names and isinstance(layer, nn.Linear)
    ]
    if not found:
        raise ValueError(f"model must have linear layers of the names {sorted(names)}, found none")
    for parent, name, layer in found:
        setattr(parent, name, LoRALinear(layer, rank, alpha))


def merge_lora(model: nn.Module) -> None:
    """Replace each :class:`LoRALinear` of a model by an ordinary layer."""
    for parent in list(model.modules()):
        for name, layer in parent.named_children():
            if isinstance(layer, LoRALinear):
                setattr(parent, name, layer.merge())


def dpo_loss(
    better: Tensor, worse: Tensor, start_better: Tensor, start_worse: Tensor, beta: float
) -> Tensor:
    """Raise the better answer of each pair above the worse, compared with the model at the start.

    Args:
        better: (B,) log-probabilities of the better answers, each a sum over its tokens.
        worse: (B,) of the worse answers.
        start_better: (B,) of the better answers under the model at the start.
        start_worse: (B,) of the worse ones.
        beta: a large one keeps the model near the start.

    Returns:
        A scalar: the mean over the pairs.

    Raises:
        ValueError: if the shapes differ or `beta` is not above 0.

    Source: Rafailov et al. 2023, equation 7.
    """
    _require_same_shape(
        better=better, worse=worse, start_better=start_better, start_worse=start_worse
    )
    require_positive(beta=beta)
    margin = (better - start_better) - (worse - start_worse)  # (B,)
    return -F.logsigmoid(beta * margin).mean()


def group_advantages(rewards: Tensor) -> Tensor:
    """Compare each answer with the others to the same prompt.

    Args:
        rewards: (B, G) floating, the rewards of G answers to each prompt.

    Returns:
        (B, G): the reward minus the mean of its group, over the group's standard deviation (the
        root of the mean squared deviation); 0 where all rewards of a group are equal.

    Raises:
        ValueError: if `rewards` is not (B, G) floating.

    Source: Shao et al. 2024, section 4.1.2 (GRPO).
    """
    if rewards.ndim != 2 or not rewards.is_floating_point():
        raise ValueError(
            f"rewards must be (B, G) floating, got {rewards.dtype} of shape {tuple(rewards.shape)}"
        )
    apart = rewards - rewards.mean(dim=1, keepdim=True)  # (B, G)
    spread = apart.square().mean(dim=1, keepdim=True).sqrt()  # (B, 1)
    equal = (rewards == rewards[:, :1]).all(dim=1, keepdim=True)  # (B, 1), whatever is rounded
    return (apart / spread).masked_fill(equal, 0.0)


def policy_gradient_loss(log_probs: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
    """Weigh the log-probability of each sampled answer by its advantage.

    Its gradient is an estimate of minus the gradient of the expected reward. The value means
    nothing. No gradient goes through the advantages: they are weights.

    Args:
        log_probs: (B, T) of the tokens of B answers that the model itself has just sampled.
        advantages: (B,) how much better each was than expected.
        mask: (B, T) bool, True at the tokens of the answers, their end token included.

    Returns:
        A scalar: minus the mean over the answers of advantage times log-probability.

    Raises:
        ValueError: if the shapes do not fit or the mask is not boolean.

    Source: Williams 1992.
    """
    _require_tokens(log_probs, mask)
    if advantages.shape != log_probs.shape[:1]:
        raise ValueError(
            f"advantages must have shape ({len(log_probs)},), got {tuple(advantages.shape)}"
        )
    of_answers = _masked(log_probs, mask).sum(dim=1)  # (B,)
    return -(advantages.detach() * of_answers).mean()


def kl_penalty(log_probs: Tensor, start_log_probs: Tensor, mask: Tensor) -> Tensor:
    """Estimate how far the model has moved from its start, from the tokens that it sampled.

    For a token with the gain g = now - start, e^-g + g - 1, which is never negative. Its expected
    value is the Kullback-Leibler divergence KL(now || start).

    Args:
        log_probs: (B, T) of the sampled tokens under the model now.
        start_log_probs: (B, T) under the model at the start.
        mask: (B, T) bool, True at the tokens of the answers.

    Returns:
        A scalar, in nats per token: the mean over all tokens of the answers.

    Raises:
        ValueError: if the shapes differ, the mask is not boolean or marks no token.

    Source: Shao et al. 2024, equation 4.
    """
    _require_tokens(log_probs, mask)
    _require_same_shape(log_probs=log_probs, start_log_probs=start_log_probs)
    if not mask.any():
        raise ValueError("mask must be True somewhere, got only False")
    gain = _masked(log_probs - start_log_probs, mask)  # (B, T), 0 outside the answers
    return ((-gain).exp() + gain - 1).sum() / mask.sum()


def _masked(x: Tensor, mask: Tensor) -> Tensor:
    """Put zeros outside the mask, also where x is infinite there."""
    return x.masked_fill(~mask, 0.0)


def _require_tokens(log_probs: Tensor, mask: Tensor) -> None:
    if log_probs.ndim != 2 or mask.shape != log_probs.shape or mask.dtype != torch.bool:
        raise ValueError(
            "log_probs must be (B, T) and mask a bool of the same shape, "
            f"got {tuple(log_probs.shape)} and {mask.dtype} of shape {tuple(mask.shape)}"
        )


def _require_same_shape(**given: Tensor) -> None:
    if len({x.shape for x in given.values()}) > 1:
        got = ", ".join(f"{name} {tuple(x.shape)}" for name, x in given.items())
        raise ValueError(f"all must have one shape, got {got}")
