"""The copying models of the chapter on sequences, and their longer runs."""

from __future__ import annotations

from dataclasses import asdict

import pytest
import torch

from transformer_ref.experiments import sequences
from transformer_ref.experiments.results import load_results


def test_a_run_learns_and_is_the_same_each_time() -> None:
    torch.manual_seed(3)  # the training sets its own seed
    plan, steps, lengths = sequences.Plan(8, True), (2, 30), (1, 3)
    first = sequences.run(plan, 0, steps, lengths)
    second = sequences.run(plan, 0, steps, lengths)
    assert first["right"] == second["right"]
    assert sequences.run(plan, 1, steps, lengths)["right"] != first["right"]
    assert [len(row) for row in first["right"]] == [len(lengths)] * len(steps)
    assert first["right"][0][0] < first["right"][1][0], "it learns"


def test_both_models_differ_only_in_what_the_decoder_sees() -> None:
    source, decoder_input = sequences.strings(2, 5, torch.Generator().manual_seed(0))
    assert (decoder_input[:, 1:] == source[:, :-1]).all()
    assert (decoder_input[:, 0] == sequences.LETTERS).all()
    torch.manual_seed(0)
    fixed = sequences.Seq2Seq(8, attend=False)
    torch.manual_seed(0)
    looking = sequences.Seq2Seq(8, attend=True)
    looking.load_state_dict(fixed.state_dict())
    assert fixed(source, decoder_input).shape == (2, 5, sequences.LETTERS)
    looking(source, decoder_input)
    assert looking.weights.sum(dim=-1).detach().numpy() == pytest.approx(1.0, abs=1e-5)


def test_products_are_counted_on_the_longest_and_the_shortest_way() -> None:
    a, b = (torch.randn(3, 3, requires_grad=True) for _ in range(2))
    one = a @ b
    assert sequences.products_on_the_way(one.relu()) == 1
    both = one @ b + a  # two products, or none
    assert sequences.products_on_the_way(both) == 2
    assert sequences.products_on_the_way(both, pick=min) == 0


def test_the_open_gate_is_the_one_that_forgets() -> None:
    """With everything remembered and nothing new let in, the cell stays what it was."""
    lstm = torch.nn.LSTM(4, 4, batch_first=True)
    for weight in lstm.parameters():
        torch.nn.init.zeros_(weight)
    sequences.open_forget_gate(lstm, bias=50.0)
    cell = torch.randn(1, 1, 4)
    _, (_, after) = lstm(torch.randn(1, 20, 4), (torch.zeros(1, 1, 4), cell))
    torch.testing.assert_close(after, cell)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "LSTM, open gate", "attention"])
def test_gradients_are_those_of_the_last_output_with_the_last_token_first(kind: str) -> None:
    by_distance = sequences.gradient_by_distance(kind, 12)
    assert by_distance.shape == (12,)
    if kind != "attention":
        assert by_distance[0] > by_distance[-1], "the chain loses some on the way"


def test_attention_learns_to_recall_what_is_near_and_far() -> None:
    assert sequences.recall_first("attention", 5, steps=60) > 0.9
    assert sequences.recall_first("attention", 5, steps=0) < 0.4


def test_the_committed_results_are_those_of_the_script() -> None:
    results = load_results("sequences")
    assert results["lengths"] == list(sequences.LENGTHS)
    assert results["steps"] == list(sequences.STEPS)
    planned = [
        asdict(plan) | {"seed": seed} for plan in sequences.PLANS for seed in sequences.SEEDS
    ]
    assert [{key: run[key] for key in planned[0]} for run in results["runs"]] == planned
    for run in results["runs"]:
        assert len(run["right"]) == len(sequences.STEPS)
        for shares in run["right"]:
            assert len(shares) == len(sequences.LENGTHS)
            assert all(0 <= share <= 1 for share in shares)


def test_the_chain_by_hand_is_that_of_torch() -> None:
    torch.manual_seed(0)
    rnn = torch.nn.RNN(3, 4, bias=True)
    x = torch.randn(6, 3)
    weights = rnn.weight_ih_l0.T, rnn.weight_hh_l0.T, rnn.bias_ih_l0 + rnn.bias_hh_l0
    torch.testing.assert_close(sequences.unroll(x, *weights), rnn(x)[0])


def test_additive_scores_are_those_of_the_paper_one_at_a_time() -> None:
    torch.manual_seed(0)
    s, states = torch.randn(3), torch.randn(5, 3)
    w_a, u_a, v_a = torch.randn(3, 4), torch.randn(3, 4), torch.randn(4)
    expected = [(v_a @ torch.tanh(w_a.T @ s + u_a.T @ h)).item() for h in states]
    scores = sequences.additive_scores(s, states, w_a, u_a, v_a)
    assert scores.tolist() == pytest.approx(expected, abs=1e-5)
