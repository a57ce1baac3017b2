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
    first = sequences.run(plan, steps, lengths)
    second = sequences.run(plan, steps, lengths)
    assert first["right"] == second["right"]
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


def test_the_committed_results_are_those_of_the_script() -> None:
    results = load_results("sequences")
    assert results["lengths"] == list(sequences.LENGTHS)
    assert results["steps"] == list(sequences.STEPS)
    plans = [asdict(plan) for plan in sequences.PLANS]
    assert [{key: run[key] for key in ("size", "attend")} for run in results["runs"]] == plans
    for run in results["runs"]:
        assert len(run["right"]) == len(sequences.STEPS)
        for shares in run["right"]:
            assert len(shares) == len(sequences.LENGTHS)
            assert all(0 <= share <= 1 for share in shares)
