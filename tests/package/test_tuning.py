"""After pretraining: losses, LoRA and the policy gradient against closed forms and expectations."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.gpt import GPT, GPTConfig
from transformer_ref.tuning import (
    LoRALinear,
    add_lora,
    answer_loss,
    answer_mask,
    dpo_loss,
    group_advantages,
    kl_penalty,
    merge_lora,
    policy_gradient_loss,
    token_log_probs,
)

pytestmark = pytest.mark.usefixtures("default_device")


def prompts_and_answers() -> tuple[Tensor, Tensor]:
    """Ids of three padded texts, and how long their prompts are."""
    ids = torch.tensor([[1, 2, 3, 4, 5], [1, 2, 2, 0, 0], [3, 1, 2, 0, 0]])
    return ids, torch.tensor([3, 1, 3])


# --- the loss of the answer only --------------------------------------------------------------


def test_only_tokens_of_answers_count() -> None:
    ids, prompts = prompts_and_answers()
    logits = torch.randn(3, 4, 6, dtype=torch.float64, requires_grad=True)
    costs = []
    for b, start in enumerate(prompts.tolist()):
        for place in range(start, 5):
            label = int(ids[b, place])
            if label != 0:
                weights = [math.exp(z) for z in logits[b, place - 1].tolist()]
                costs.append(-math.log(weights[label] / sum(weights)))
    loss = answer_loss(logits, ids, prompts, pad_id=0)
    assert len(costs) == 4
    assert loss.item() == pytest.approx(statistics.mean(costs), rel=1e-12)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert torch.equal(gradient.abs().sum(dim=2) > 0, answer_mask(ids, prompts, pad_id=0))


def test_a_batch_without_answer_has_no_loss() -> None:
    with pytest.raises(ValueError, match="at least one token of an answer"):
        answer_loss(torch.randn(1, 2, 4), torch.tensor([[1, 2, 0]]), torch.tensor([2]), pad_id=0)


@pytest.mark.parametrize("lengths", [[2, 0, 1], [2, 1]])
def test_prompts_have_at_least_one_token_each(lengths: list[int]) -> None:
    with pytest.raises(ValueError, match="prompt_lengths must have shape"):
        answer_mask(prompts_and_answers()[0], torch.tensor(lengths), pad_id=0)


def test_log_probabilities_are_those_of_the_labels() -> None:
    logits = torch.randn(2, 3, 5, dtype=torch.float64)
    labels = torch.randint(5, (2, 3))
    found = token_log_probs(logits, labels)
    for b, t in torch.cartesian_prod(torch.arange(2), torch.arange(3)).tolist():
        weights = [math.exp(z) for z in logits[b, t].tolist()]
        expected = math.log(weights[int(labels[b, t])] / sum(weights))
        assert found[b, t].item() == pytest.approx(expected, rel=1e-12)


# --- LoRA -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
def test_lora_starts_as_the_layer_and_merges_into_one(bias: bool) -> None:
    linear = nn.Linear(5, 3, bias=bias, dtype=torch.float64)
    layer, x = LoRALinear(linear, rank=2, alpha=6.0), torch.randn(4, 7, 5, dtype=torch.float64)
    assert torch.equal(layer(x), linear(x))
    with torch.no_grad():
        layer.B.normal_()
    expected = linear(x) + 3.0 * torch.einsum("bti,ri,or->bto", x, layer.A, layer.B)
    torch.testing.assert_close(layer(x), expected)
    merged = layer.merge()
    assert type(merged) is nn.Linear
    torch.testing.assert_close(merged(x), expected)
    torch.testing.assert_close(layer(x), expected)  # merging leaves the two paths alone


def small_gpt() -> GPT:
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 16, "num_layers": 2}
    return GPT(GPTConfig(11, max_len=6, dropout=0.0, **sizes)).double()


def test_lora_in_a_model_trains_its_thin_matrices_only() -> None:
    model, ids = small_gpt(), torch.randint(11, (3, 6))
    before = model(ids)
    add_lora(model, ("q_proj", "v_proj"), rank=1, alpha=2.0)
    torch.testing.assert_close(model(ids), before, rtol=0, atol=0)
    trained = {name: w for name, w in model.named_parameters() if w.requires_grad}
    assert sum(w.numel() for w in trained.values()) == 2 * 2 * (8 + 8)
    optimizer = torch.optim.SGD(trained.values(), lr=10.0)
    for _ in range(2):  # in the first step only B moves, as A meets zeros
        F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimizer.step()
    after = model(ids)
    assert (after - before).abs().max() > 1e-4
    merge_lora(model)
    torch.testing.assert_close(model(ids), after)
    assert {type(layer) for layer in model.modules()} == {type(m) for m in small_gpt().modules()}


def test_a_model_without_such_layers_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"linear layers of the names \['query'\]"):
        add_lora(small_gpt(), ["query"], rank=1, alpha=1.0)


# --- preferences ------------------------------------------------------------------------------


def test_dpo_is_the_papers_formula_and_its_gradient() -> None:
    given = torch.randn(4, 5, dtype=torch.float64).mul(3).requires_grad_()
    beta = 0.3
    loss = dpo_loss(*given, beta=beta)
    better, worse, start_better, start_worse = given.tolist()
    wrong = [  # how surely the pair is put the wrong way around
        1 / (1 + math.exp(beta * ((b - sb) - (w - sw))))
        for b, w, sb, sw in zip(better, worse, start_better, start_worse, strict=True)
    ]
    expected = statistics.mean(-math.log(1 - x) for x in wrong)
    assert loss.item() == pytest.approx(expected, rel=1e-12)
    (gradient,) = torch.autograd.grad(loss, given)
    step = beta * torch.tensor(wrong, dtype=torch.float64) / 5
    torch.testing.assert_close(gradient, torch.stack([-step, step, step, -step]))


def test_dpo_stays_finite_for_huge_margins() -> None:
    far, zero = torch.tensor([3000.0]), torch.zeros(1)
    assert dpo_loss(far, zero, zero, zero, beta=1.0).item() == 0
    assert dpo_loss(zero, far, zero, zero, beta=1.0).item() == 3000


# --- rewards ----------------------------------------------------------------------------------


def test_advantages_compare_within_a_group() -> None:
    rewards = torch.rand(3, 5, dtype=torch.float64)
    found = group_advantages(rewards)
    for row, expected in zip(found.tolist(), rewards.tolist(), strict=True):
        mean, spread = statistics.mean(expected), statistics.pstdev(expected)
        assert row == pytest.approx([(x - mean) / spread for x in expected])


@pytest.mark.parametrize("reward", [0.1, 1 / 3, 0.7, -1e4])
@pytest.mark.parametrize("size", [3, 6, 7])
def test_a_group_of_equal_rewards_has_no_advantage(reward: float, size: int) -> None:
    found = group_advantages(torch.full((2, size), reward))
    assert torch.equal(found, torch.zeros(2, size))


class Tiny(nn.Module):
    """Says two tokens of three; the second depends on the first."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.randn(3, dtype=torch.float64))
        self.second = nn.Parameter(torch.randn(3, 3, dtype=torch.float64))
        # Every answer it can give: 0 at once (then padding), or another token and any second one.
        self.answers = torch.tensor([[0, 0], [1, 0], [1, 1], [1, 2], [2, 0], [2, 1], [2, 2]])
        self.real = torch.tensor([[True, False], *[[True, True]] * 6])

    def forward(self, answers: Tensor) -> Tensor:
        """Give the log-probabilities of the tokens of answers (B, 2); 0 ends one."""
        first = self.first.log_softmax(dim=-1)[answers[:, 0]]
        second = self.second.log_softmax(dim=-1)[answers[:, 0], answers[:, 1]]
        return torch.stack([first, second], dim=1)  # (B, 2)


def expectation(model: Tiny, loss: Callable[[Tensor, Tensor], Tensor]) -> list[Tensor]:
    """Average the gradient of a loss of one sampled answer over all answers, exactly."""
    with torch.no_grad():
        chances = model(model.answers).where(model.real, 0.0).sum(dim=1).exp()
    assert chances.sum().item() == pytest.approx(1)
    weights = list(model.parameters())
    total = [torch.zeros_like(w) for w in weights]
    for i, chance in enumerate(chances):
        one = slice(i, i + 1)
        gradients = torch.autograd.grad(
            loss(model(model.answers[one]), model.real[one]), weights, allow_unused=True
        )
        for sum_, gradient in zip(total, gradients, strict=True):
            if gradient is not None:
                sum_ += chance * gradient
    return total


@pytest.mark.parametrize("baseline", [0.0, 0.8])
def test_policy_gradient_is_on_average_that_of_the_expected_reward(baseline: float) -> None:
    model, rewards = Tiny(), torch.rand(7, dtype=torch.float64)
    chances = model(model.answers).where(model.real, 0.0).sum(dim=1).exp()
    expected = torch.autograd.grad(-(chances * rewards).sum(), list(model.parameters()))
    order = iter(rewards)

    def loss(log_probs: Tensor, mask: Tensor) -> Tensor:
        return policy_gradient_loss(log_probs, next(order)[None] - baseline, mask)

    for found, exact in zip(expectation(model, loss), expected, strict=True):
        torch.testing.assert_close(found, exact)


def test_no_gradient_goes_through_an_advantage() -> None:
    """An advantage that holds log-probabilities, as with a penalty in the reward."""
    log_probs = torch.tensor([[-1.0], [-3.0]], requires_grad=True)
    total = torch.tensor([1.0, 0.0]) - 0.5 * log_probs[:, 0]
    loss = policy_gradient_loss(log_probs, total - total.mean(), torch.ones(2, 1, dtype=torch.bool))
    (gradient,) = torch.autograd.grad(loss, log_probs)
    assert torch.equal(gradient, torch.zeros(2, 1))  # 1.5 and 1.5: no advantage


def test_what_is_padding_never_counts() -> None:
    log_probs = torch.tensor([[-1.0, -2.0], [-3.0, -torch.inf]], requires_grad=True)
    mask = torch.tensor([[True, True], [True, False]])
    start = torch.tensor([[-1.0, -2.0], [-3.0, -5.0]])
    loss = policy_gradient_loss(log_probs, torch.tensor([1.0, -1.0]), mask)
    assert loss.item() == 0
    loss = loss + kl_penalty(log_probs, start, mask)
    (gradient,) = torch.autograd.grad(loss, log_probs)
    assert torch.equal(gradient, torch.tensor([[-0.5, -0.5], [0.5, 0.0]]))


def test_kl_penalty_is_on_average_the_divergence() -> None:
    now, start = torch.randn(2, 6, dtype=torch.float64).log_softmax(dim=-1)
    one = torch.ones(1, 1, dtype=torch.bool)
    each = [kl_penalty(a.view(1, 1), b.view(1, 1), one) for a, b in zip(now, start, strict=True)]
    assert min(each) >= 0
    found = sum(p.exp() * x for p, x in zip(now, each, strict=True))
    exact = sum(math.exp(p) * (p - q) for p, q in zip(now.tolist(), start.tolist(), strict=True))
    assert float(found) == pytest.approx(exact)


def test_kl_penalty_by_hand() -> None:
    now, mask = torch.tensor([[-1.0, -1.0]]), torch.ones(1, 2, dtype=torch.bool)
    start = now + math.log(2) * torch.tensor([[-1.0, 1.0]])  # it became twice, half as likely
    assert kl_penalty(now, start, mask).item() == pytest.approx((0.5 + 2 - 2) / 2)


def test_arguments_that_do_not_fit() -> None:
    two, mask = torch.zeros(2, 3), torch.ones(2, 3, dtype=torch.bool)
    with pytest.raises(ValueError, match="rewards must be"):
        group_advantages(torch.zeros(3))
    with pytest.raises(ValueError, match=r"advantages must have shape \(2,\)"):
        policy_gradient_loss(two, torch.zeros(2, 1), mask)
    with pytest.raises(ValueError, match="mask a bool"):
        policy_gradient_loss(two, torch.zeros(2), mask.long())
    with pytest.raises(ValueError, match="True somewhere"):
        kl_penalty(two, two, ~mask)
    with pytest.raises(ValueError, match="one shape"):
        kl_penalty(two, torch.zeros(2, 1), mask)
    with pytest.raises(ValueError, match="one shape"):
        dpo_loss(two[:, 0], two[:, 1], two[:, 2], torch.zeros(3), beta=0.1)
    with pytest.raises(ValueError, match="beta must be"):
        dpo_loss(*torch.zeros(4, 2), beta=0.0)
