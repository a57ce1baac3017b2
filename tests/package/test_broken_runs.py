"""The broken runs of the chapter on training: each has the fault that it is called after."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch

from transformer_ref.applications.g2p import Speller
from transformer_ref.experiments import training as broken_runs
from transformer_ref.experiments.results import load_results
from transformer_ref.masks import causal_mask, padding_mask
from transformer_ref.training import sequence_loss, split_target

pytestmark = pytest.mark.weekly


def batch(words: Sequence[tuple[str, Sequence[str]]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Source and target, begin and end included."""
    phonemes = Speller.phonemes
    return broken_runs.padded(
        [
            (Speller.letters.encode(word), phonemes.encode(sounds, bos=True, eos=True))
            for word, sounds in words
        ]
    )


@pytest.fixture
def cat_and_cheese() -> tuple[torch.Tensor, torch.Tensor]:
    return batch([("cat", ["K", "AE", "T"]), ("cheeses", ["CH", "IY", "Z", "AH", "Z"])])


def test_without_a_fault_it_trains_as_the_package_does(cat_and_cheese):
    source, target = cat_and_cheese
    model = broken_runs.new_model()
    inputs, labels = split_target(target)
    expected = sequence_loss(model(source, inputs), labels, Speller.phonemes.pad_id)
    loss = broken_runs.loss_of(*broken_runs.predict(model, source, target))
    torch.testing.assert_close(loss, expected)


def test_each_fault_is_the_one_that_it_is_called_after(cat_and_cheese):
    source, target = cat_and_cheese
    pad = Speller.phonemes.pad_id
    inputs, labels = split_target(target)
    model = broken_runs.new_model()
    right, _ = broken_runs.predict(model, source, target)

    unmasked, same = broken_runs.predict(model, source, target, "mask")
    memory = model.encode(source, padding_mask(source, pad))
    no_triangle = causal_mask(inputs.shape[1]) | padding_mask(inputs, pad)
    expected = model.decode(inputs, memory, no_triangle, padding_mask(source, pad))
    rows = inputs[1] != pad  # of the row without padding among its inputs
    torch.testing.assert_close(unmasked[1][rows], expected[1][rows])
    assert not torch.allclose(unmasked[1], right[1], atol=1e-3)
    assert torch.equal(same, labels)

    copied, asked = broken_runs.predict(model, source, target, "shift")
    assert torch.equal(asked, target)
    torch.testing.assert_close(copied[:, :-1], right)

    each = torch.nn.functional.cross_entropy(right.transpose(1, 2), labels, reduction="none")
    torch.testing.assert_close(broken_runs.loss_of(right, labels, "padding"), each.mean())
    torch.testing.assert_close(broken_runs.loss_of(right, labels), each[labels != pad].mean())

    assert broken_runs.rate_at(600, "rate") == pytest.approx(10 * broken_runs.rate_at(600))
    loud = broken_runs.new_model("start")
    assert loud.output_proj.weight is loud.tgt_embedding.weight
    assert loud.output_proj.weight.std().item() == pytest.approx(1.0, abs=0.1)


def test_a_run_is_the_same_each_time():
    first, second = (broken_runs.broken_run("padding", steps=10) for _ in range(2))
    assert first == second
    assert first["losses"][-1] < first["first"]


def test_without_a_rise_the_rate_starts_at_its_peak(monkeypatch):
    seen: dict[int, list[float]] = {}

    def note(model, loss_of_batch, rate_at, steps, seed):
        seen[len(seen)] = [rate_at(step) for step in range(1, steps + 1)]
        return [0.0] * steps

    monkeypatch.setattr(broken_runs, "train", note)
    for warm_up in broken_runs.WARM_UPS:
        broken_runs.warm_up_run("pre", warm_up, seed=0)
    without, rising = seen.values()
    assert without[0] == max(without) == max(rising) == broken_runs.PEAK
    assert rising[0] == pytest.approx(broken_runs.PEAK / 100)
    assert without[99:] == rising[99:], "the same fall"


def test_the_committed_results_are_those_of_the_script():
    results = load_results("training")
    assert results["every"] == broken_runs.EVERY
    assert [run["fault"] for run in results["runs"]] == list(broken_runs.FAULTS)
    for run in results["runs"]:
        assert len(run["losses"]) == broken_runs.STEPS // broken_runs.EVERY
        assert list(run["said"]) == list(broken_runs.WORDS)
    settings = [(run["norm"], run["warm_up"], run["seed"]) for run in results["warm_up"]]
    assert settings == [
        (norm, warm_up, seed)
        for norm in broken_runs.NORMS
        for warm_up in broken_runs.WARM_UPS
        for seed in broken_runs.SEEDS
    ]
    lengths = {len(run["losses"]) for run in results["warm_up"]}
    assert lengths == {broken_runs.WARM_UP_STEPS // broken_runs.EVERY}


def test_landmarks_are_those_of_a_text_that_can_be_counted():
    marks = broken_runs.landmarks([([3], [1, 5, 6, 2]), ([3], [1, 5, 7, 2])])
    # 5 and the end come twice in six, 6 and 7 once; only what follows a 5 is left open.
    assert marks["the frequencies"] == pytest.approx(2 / 3 * math.log(3) + 1 / 3 * math.log(6))
    assert marks["the phoneme before"] == pytest.approx(math.log(2) / 3)
    assert marks["nothing"] == pytest.approx(math.log(len(Speller.phonemes.tokens)))


def test_adam_by_hand_is_that_of_torch():
    weight = torch.nn.Parameter(torch.tensor(broken_runs.FIRST_WEIGHT))
    adam = torch.optim.Adam([weight], lr=broken_runs.ADAM_RATE, betas=broken_runs.BETAS)
    for row in broken_runs.adam_by_hand():
        weight.grad = torch.tensor(row["gradient"])
        adam.step()
        assert row["weight"] == pytest.approx(weight.item(), abs=1e-6)


def test_the_costs_by_hand_multiply_to_the_probability_of_the_word():
    step = broken_runs.loss_by_hand()
    assert math.exp(-3 * step["loss"].item()) == pytest.approx(0.5 * 0.25 * 0.8)
    assert step["perplexity"].item() == pytest.approx(10 ** (1 / 3))
