"""The broken runs of the chapter on training: made by its own code, and complete."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from benchmarks import broken_runs
from benchmarks.chapters import chapter_code
from transformer_ref.g2p import Speller
from transformer_ref.masks import causal_mask, padding_mask
from transformer_ref.training import sequence_loss, split_target


@pytest.fixture(scope="module")
def code() -> dict[str, Any]:
    return chapter_code(broken_runs.CHAPTER, broken_runs.CELLS)


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


def test_without_a_fault_the_chapter_trains_as_the_package_does(code, cat_and_cheese):
    source, target = cat_and_cheese
    model = code["new_model"]()
    inputs, labels = split_target(target)
    expected = sequence_loss(model(source, inputs), labels, Speller.phonemes.pad_id)
    loss = code["loss_of"](*code["predict"](model, source, target))
    torch.testing.assert_close(loss, expected)


def test_each_fault_is_the_one_that_it_is_called_after(code, cat_and_cheese):
    source, target = cat_and_cheese
    pad = Speller.phonemes.pad_id
    inputs, labels = split_target(target)
    model = code["new_model"]()
    right, _ = code["predict"](model, source, target)

    unmasked, same = code["predict"](model, source, target, "mask")
    memory = model.encode(source, padding_mask(source, pad))
    no_triangle = causal_mask(inputs.shape[1]) | padding_mask(inputs, pad)
    expected = model.decode(inputs, memory, no_triangle, padding_mask(source, pad))
    rows = inputs[1] != pad  # of the row without padding among its inputs
    torch.testing.assert_close(unmasked[1][rows], expected[1][rows])
    assert not torch.allclose(unmasked[1], right[1], atol=1e-3)
    assert torch.equal(same, labels)

    copied, asked = code["predict"](model, source, target, "shift")
    assert torch.equal(asked, target)
    torch.testing.assert_close(copied[:, :-1], right)

    each = torch.nn.functional.cross_entropy(right.transpose(1, 2), labels, reduction="none")
    torch.testing.assert_close(code["loss_of"](right, labels, "padding"), each.mean())
    torch.testing.assert_close(code["loss_of"](right, labels), each[labels != pad].mean())

    assert code["rate_at"](600, "rate") == pytest.approx(10 * code["rate_at"](600))
    loud = code["new_model"]("start")
    assert loud.output_proj.weight is loud.tgt_embedding.weight
    assert loud.output_proj.weight.std().item() == pytest.approx(1.0, abs=0.1)


def test_a_run_is_the_same_each_time(code):
    first, second = (broken_runs.broken_run("padding", code, steps=10) for _ in range(2))
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
    results = json.loads(broken_runs.RESULTS.read_text(encoding="utf-8"))
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
