"""The assignment "tuning": its answers against what is known without them, and what is told."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.checks.exams import run
from transformer_checks import tuning as reference
from transformer_checks.assignments.tuning import cases
from transformer_checks.judging.exam import make_exam
from transformer_checks.judging.verdict import judge


def tensors(arguments):
    return {
        name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }


# --- the answers -----------------------------------------------------------------------------


def test_the_loss_of_a_text_that_is_all_answer_is_that_of_pretraining():
    logits, ids = torch.randn(3, 5, 7), torch.randint(1, 7, (3, 6))
    whole = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    loss = reference.answer_loss(logits, ids, torch.ones(3, dtype=torch.int64), 0)
    torch.testing.assert_close(loss, whole)


def test_the_gradient_reaches_the_guesses_of_the_answers_only():
    logits = torch.randn(2, 4, 5, requires_grad=True)
    ids = torch.tensor([[3, 4, 1, 2, 0], [1, 2, 3, 0, 0]])
    reference.answer_loss(logits, ids, torch.tensor([2, 1]), 0).backward()
    touched = logits.grad.abs().sum(dim=-1) > 0
    assert touched.tolist() == [[False, True, True, False], [True, True, False, False]]


def test_a_merged_layer_differs_by_a_matrix_of_the_rank():
    linear = torch.nn.Linear(7, 6, dtype=torch.float64)
    layer = reference.LoRALinear(linear, rank=2, alpha=3.0)
    assert torch.equal(layer.merge().weight, linear.weight)
    torch.nn.init.normal_(layer.B)
    change = layer.merge().weight - linear.weight
    assert torch.linalg.matrix_rank(change) == 2
    torch.testing.assert_close(change, 1.5 * layer.B @ layer.A)


def test_at_the_start_dpo_knows_as_much_as_a_coin():
    logits, labels = torch.randn(2, 3, 4, 6), torch.randint(6, (2, 3, 4))
    answer = torch.ones(2, 3, 4, dtype=torch.bool)
    loss = reference.dpo_loss(logits, logits, labels, answer, 0.3)
    torch.testing.assert_close(loss, torch.tensor(math.log(2)))


def test_what_is_rare_in_its_group_counts_most():
    rewards = torch.zeros(1, 8)
    rewards[0, 3] = 1.0
    found = reference.group_advantages(rewards)[0]
    assert found[3].item() == pytest.approx(math.sqrt(7))
    torch.testing.assert_close(reference.group_advantages(1 - rewards)[0], -found)


def test_the_penalty_has_the_expected_value_of_the_divergence():
    """Over all tokens of a vocabulary, each as often as the model now writes it."""
    now, start = torch.randn(2, 50, dtype=torch.float64).log_softmax(dim=-1)
    expected = F.kl_div(start, now, log_target=True, reduction="sum")
    answer = torch.ones(1, 1, dtype=torch.bool)
    each = [
        reference.kl_penalty(now[None, None, i], start[None, None, i], answer) for i in range(50)
    ]
    assert min(each) >= 0
    torch.testing.assert_close((now.exp() * torch.stack(each)).sum(), expected)


@pytest.mark.parametrize(("n", "said"), [(1, "4.00"), (2, "4.75"), (4, "4.14"), (100, "2.00")])
def test_the_expected_rewards_are_those_that_the_task_explains(n, said):
    proxy, true = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0.0, 4.0, 10.0, 2.0])
    assert f"{reference.best_of_n(proxy, true, n):.2f}" == said


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_expected_reward_is_the_mean_over_all_draws(n):
    proxy, true = torch.tensor([2.0, -1.0, 5.0, 3.0]), torch.tensor([1.0, 7.0, -2.0, 4.0])
    kept = [
        true[max(draw, key=lambda i: proxy[i])] for draw in itertools.product(range(4), repeat=n)
    ]
    assert reference.best_of_n(proxy, true, n) == pytest.approx(float(torch.stack(kept).mean()))


def test_the_policy_gradient_is_that_of_the_expected_reward():
    """Over all answers of one token, each as often as the model writes it."""
    logits = torch.randn(6, dtype=torch.float64, requires_grad=True)
    start = torch.randn(6, dtype=torch.float64).log_softmax(dim=-1)
    rewards, beta = torch.rand(6, dtype=torch.float64), 0.7
    logs = logits.log_softmax(dim=-1)
    expected = (logs.exp() * (rewards - beta * (logs - start))).sum()
    (wanted,) = torch.autograd.grad(-expected, logits, retain_graph=True)
    # Two answers in a group: the baseline is half of either, so the gradient is halved.
    pairs = torch.cartesian_prod(torch.arange(6), torch.arange(6))  # (36, 2)
    chance = logs.detach().exp()[pairs].prod(dim=-1)
    losses = torch.stack(
        [
            reference.policy_loss(
                logs[pair][None, :, None],
                start[pair][None, :, None],
                rewards[pair][None],
                torch.ones(1, 2, 1, dtype=torch.bool),
                beta,
            )
            for pair in pairs
        ]
    )
    (found,) = torch.autograd.grad((chance * losses).sum(), logits)
    torch.testing.assert_close(2 * found, wanted)


# --- the cases -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_groups_are_equal_or_spread(seed):
    for case in make_exam("tuning.group_advantages", seed).cases:
        rewards = case.arguments["rewards"].astype(np.float64)
        spread = rewards.std(axis=1)
        equal = (rewards == rewards[:, :1]).all(axis=1)
        assert (spread[~equal] >= cases.LEAST_SPREAD).all()
        assert rewards.min() >= 0
        assert rewards.max() <= 1


@pytest.mark.parametrize("seed", range(3))
def test_a_fooled_judge_gets_worse_with_a_longer_search(seed):
    for case in make_exam("tuning.best_of_n", seed).cases:
        if "fooled" in case.name and case.arguments["n"] > 4:
            given = tensors(case.arguments)
            longer = reference.best_of_n(**{**given, "n": 100 * given["n"]})
            assert longer < reference.best_of_n(**{**given, "n": 1})


# --- what is told ----------------------------------------------------------------------------


def told(key, answer):
    exam = make_exam(key, 0)
    return judge(exam, run(exam, answer), "done", 10.0).message


def test_a_mean_of_row_means_is_told_with_numbers():
    """Although it is NaN in all cases where a row has no answer."""

    def of_rows(logits, ids, prompt_lengths, pad_id):
        rows = zip(logits.split(1), ids.split(1), prompt_lengths.split(1), strict=True)
        return torch.stack([reference.answer_loss(*row, pad_id) for row in rows]).mean()

    message = told("tuning.answer_loss", of_rows)
    assert "averaged first" in message
    assert "NaN" not in message


def test_a_layer_without_its_parts_is_told_which():
    class Nameless(torch.nn.Linear):
        def __init__(self, linear, rank, alpha):
            super().__init__(linear.in_features, linear.out_features)

    class Plain(reference.LoRALinear):
        def __init__(self, linear, rank, alpha):
            super().__init__(linear, rank, alpha)
            a = self.A.detach()
            del self.A
            self.A = a

    class Wider(reference.LoRALinear):
        def __init__(self, linear, rank, alpha):
            super().__init__(linear, rank + 1, alpha)

    key = "tuning.lora_linear"
    assert "expected a parameter `A`" in told(key, Nameless)
    assert "`A` should be an nn.Parameter, received a tensor" in told(key, Plain)
    assert "`sizes`" in told(key, Wider)
    assert "expected an nn.Module" in told(key, lambda linear, rank, alpha: linear.weight)


def test_a_wrong_merge_earns_what_forward_is_worth():
    class InPlace(reference.LoRALinear):
        def merge(self):
            with torch.no_grad():
                self.linear.weight += self.scale * self.B @ self.A
            return self.linear

    exam = make_exam("tuning.lora_linear", 0)
    result = judge(exam, run(exam, InPlace), "done", 10.0)
    assert "changes the layer itself" in result.message
    assert 0 < result.score < 0.5


def test_a_negative_penalty_and_a_reward_that_nobody_has_are_told():
    def difference(log_probs, start_log_probs, answer):
        return (log_probs - start_log_probs)[answer].mean() - 9

    assert "is never negative" in told("tuning.kl_penalty", difference)
    much = told("tuning.best_of_n", lambda proxy, true, n: 1e9)
    assert "do the weights sum to 1?" in much
