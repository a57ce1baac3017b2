"""The baselines and ablations of the capstone: each is what its name says, and scored rightly."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from tests.package.examples import PAD
from transformer_ref.applications.g2p import Speller, make_examples
from transformer_ref.attention import MultiHeadAttention
from transformer_ref.batching import pad_batch
from transformer_ref.data import load_cmudict
from transformer_ref.decoding import greedy_decode
from transformer_ref.experiments import results
from transformer_ref.experiments.capstone import ablations, comparison, errors, systems
from transformer_ref.experiments.capstone.counting import (
    align,
    learn_to_align,
    most_frequent,
    read_by_table,
)
from transformer_ref.experiments.capstone.systems import SMALL, Seq2Seq, answer, small_speller

WORDS = ["cat", "cheese", "a", "photograph"]


@pytest.fixture(scope="module")
def source() -> torch.Tensor:
    return pad_batch([Speller.letters.encode(word) for word in WORDS], pad_id=0)


@pytest.fixture(scope="module")
def target() -> torch.Tensor:
    torch.manual_seed(5)
    return torch.cat([torch.ones(4, 1, dtype=torch.long), torch.randint(3, 42, (4, 6))], dim=1)


def cheapest(word: str, sounds: tuple[str, ...], cost: Any) -> float | None:
    """The least cost of all ways to cut the sounds, each of them tried."""
    totals = []
    for sizes in itertools.product(range(3), repeat=len(word)):
        if sum(sizes) == len(sounds):
            ends = list(itertools.accumulate(sizes))
            pieces = [sounds[end - size : end] for end, size in zip(ends, sizes, strict=True)]
            totals.append(sum(map(cost, word, pieces)))
    return min(totals, default=None)


@pytest.mark.parametrize("seed", range(4))
def test_the_alignment_is_the_cheapest_of_all(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    price: dict[tuple[str, tuple[str, ...]], float] = {}

    def cost(letter: str, piece: tuple[str, ...]) -> float:
        return price.setdefault((letter, piece), torch.rand((), generator=generator).item())

    for sounds in (("K", "AE", "T"), ("S",), ("EH", "K", "S", "IY", "Z"), ("A",) * 9):
        expected = cheapest("axes", sounds, cost)
        pieces = align("axes", sounds, cost)
        if expected is None:
            assert pieces is None, "two sounds a letter at most"
        else:
            assert tuple(itertools.chain(*pieces)) == sounds
            assert sum(map(cost, "axes", pieces)) == pytest.approx(expected)


def test_alignment_is_learned_from_counts_and_read_from_the_widest_window() -> None:
    pairs = [
        ("cat", ("K", "AE", "T")),
        ("tax", ("T", "AE", "K", "S")),
        ("fix", ("F", "IH", "K", "S")),
        ("cite", ("S", "AY", "T")),
        ("ace", ("EY", "S")),
        ("act", ("AE", "K", "T")),
    ]
    cost = learn_to_align(pairs)
    assert align("tax", ("T", "AE", "K", "S"), cost) == (("T",), ("AE",), ("K", "S"))
    table = most_frequent(pairs, cost, 1)
    assert read_by_table("tact", table, 0)[-2:] == ["K", "T"]
    assert read_by_table("cit", table, 0)[0] == "K"
    assert read_by_table("cit", table, 1)[0] == "S", "after the beginning, before an i"
    assert read_by_table("qat", table, 1) == ["AE", "T"], "q was never seen"


def test_nothing_taken_away_is_the_packages_model(source: Any) -> None:
    model = small_speller(seed=8).eval()  # one that does not say the padding token
    ids = greedy_decode(model, source, Speller.phonemes.bos_id, Speller.phonemes.eos_id, 28)
    answers = answer(model, WORDS)
    for word, row in zip(WORDS, ids, strict=True):
        said, whole = answers[word], Speller.phonemes.decode(row)
        assert PAD not in row[: len(whole)]
        assert said == whole[: len(said)]  # each batch has its own limit, for models that go on
        assert said


def test_no_positions_cannot_tell_the_order_of_letters(source: Any, target: Any) -> None:
    words = Speller.letters.encode("stop"), Speller.letters.encode("pots")
    pair = torch.tensor(words)
    for without, same in (("positions", True), (None, False)):
        logits = small_speller(without).eval()(pair, target[:1].expand(2, -1))
        assert torch.allclose(logits[0], logits[1], atol=1e-4) is same


def test_no_scaling_attends_by_the_product_itself() -> None:
    model = small_speller("scaling").eval()
    attention = next(m for m in model.modules() if isinstance(m, MultiHeadAttention))
    x = torch.randn(1, 5, 64)
    _, weights = attention(x, x, x, need_weights=True)
    hooks, attention.q_proj._forward_hooks = attention.q_proj._forward_hooks, {}
    heads = [p(x).view(5, 4, 16).transpose(0, 1) for p in (attention.q_proj, attention.k_proj)]
    attention.q_proj._forward_hooks = hooks
    expected = (heads[0] @ heads[1].transpose(1, 2)).softmax(dim=-1)
    torch.testing.assert_close(weights[0], expected)


def test_no_causal_mask_lets_the_future_through(source: Any, target: Any) -> None:
    changed = target.clone()
    changed[:, -1] = 3 + (target[:, -1] - 2) % 39
    for without, leaks in (("mask", True), (None, False)):
        model = small_speller(without).eval()
        before, after = model(source, target)[:, :-1], model(source, changed)[:, :-1]
        assert (not torch.allclose(before, after, atol=1e-5)) is leaks


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_no_residual_gives_the_sublayers_alone(norm: str) -> None:
    model = small_speller("residual", norm).eval()
    layer = model.encoder.layers[0]
    x = torch.randn(2, 5, 64)
    norms, parts = (layer.norm1, layer.norm2), (lambda y: layer.self_attention(y, y, y),)
    expected = x
    for normalise, part in zip(norms, (*parts, layer.feed_forward), strict=True):
        expected = part(normalise(expected)) if norm == "pre" else normalise(part(expected))
    torch.testing.assert_close(layer(x), expected)


def test_one_head_and_post_norm_are_settings() -> None:
    assert small_speller("heads").config == replace(SMALL, num_heads=1)
    assert small_speller(norm="post").config == replace(SMALL, norm="post")


@pytest.mark.parametrize("attend", [False, True])
def test_the_lstm_reads_no_padding_and_no_future(source: Any, target: Any, attend: bool) -> None:
    torch.manual_seed(0)
    model = Seq2Seq(16, attend).eval()
    together = model(source, target)
    assert together.shape == (4, 7, len(Speller.phonemes))
    for row, word in enumerate(WORDS):
        alone = model(source[row : row + 1, : len(word)], target[row : row + 1])
        torch.testing.assert_close(together[row : row + 1], alone)
    changed = target.clone()
    changed[:, -1] = 3
    torch.testing.assert_close(model(source, changed)[:, :-1], together[:, :-1])


def test_every_system_has_the_same_size_within_two_percent() -> None:
    wanted = sum(weight.numel() for weight in small_speller().parameters())
    for attend, size in ((False, None), (True, "bottleneck")):
        model = Seq2Seq(ablations.LSTM_SIZES[size], attend)
        got = sum(weight.numel() for weight in model.parameters())
        assert math.isclose(got, wanted, rel_tol=0.02)


@pytest.mark.weekly
def test_a_run_scores_what_the_model_says(monkeypatch: Any) -> None:
    """A model that knows the answers, so that no training is needed to see the scores."""
    entries = {split: load_cmudict(split)[:30] for split in ("train", "dev", "test")}
    right = {word: listed[-1] for split in entries.values() for word, listed in split}
    wrong_word = entries["dev"][0][0]
    right[wrong_word] = [*right[wrong_word], "ZH"]
    stub = ([1.0] * 40, right)
    monkeypatch.setattr(systems, "train_and_answer", lambda *arguments: stub)
    found = ablations.measure(torch.nn.Linear(2, 3), systems.RECIPE, limit=30)
    assert found["parameters"] == 9
    assert found["test"] == {"per": 0.0, "wer": 0.0}
    assert found["dev"]["wer"] == round(1 / 30, 5)
    assert found["losses"] == [1.0, 1.0]


@pytest.mark.weekly
def test_training_starts_at_the_loss_of_guessing_and_falls() -> None:
    entries = load_cmudict("train")[:400]
    recipe = replace(systems.RECIPE, epochs=6, batch_size=32, warmup=20)
    losses, answers = systems.train_and_answer(
        small_speller(), make_examples(entries), ["cat"], recipe
    )
    uniform = F.cross_entropy(torch.zeros(1, 42), torch.zeros(1, dtype=torch.long)).item()
    assert losses[0] == pytest.approx(uniform, rel=0.15)
    assert losses[-1] < 0.8 * losses[0]
    assert list(answers) == ["cat"]


def test_what_is_computed_is_kept_until_the_code_changes(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(results, "RUNS", tmp_path / "runs")
    module = tmp_path / "module.py"
    module.write_text("EPOCHS = 2")

    def kept(name: str, value: int | None) -> Any:
        make = (lambda: {"x": value}) if value else lambda: pytest.fail("made twice")
        return results.kept(name, [module], make)

    assert kept("a, b 0", 1) == {"x": 1}
    assert kept("a, b 0", None) == {"x": 1}
    assert kept("a, b 1", 2) == {"x": 2}
    module.write_text("EPOCHS = 3")
    assert kept("a, b 0", 3) == {"x": 3}


def test_the_committed_results_are_those_of_the_script() -> None:
    stored = results.load_results("capstone")
    names = [(run["seed"], run["name"]) for run in stored["runs"]]
    assert names == [(s, system.name) for s in ablations.SEEDS for system in ablations.SYSTEMS]
    assert [row["reach"] for row in stored["by_table"]] == list(range(ablations.WIDEST + 1))
    assert len({len(run["losses"]) for run in stored["runs"]}) == 1


def test_edits_lead_from_what_is_listed_to_what_was_said() -> None:
    said, truth = ["B", "AH", "T"], ["B", "Y", "UW", "T"]
    found = errors.edits(said, truth)
    assert len(found) == 2
    assert {wanted for wanted, _ in found} == {"Y", "UW"}
    assert errors.edits([], ["T"]) == [("T", "-")]
    assert errors.edits(["T"], []) == [("-", "T")]
    assert errors.nearest(["A", "B"], [["A"], ["A", "B", "C"], ["C"]]) == ["A", "B", "C"]


def test_chance_and_time_are_estimated_from_stored_runs() -> None:
    assert comparison.spread([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]]) == pytest.approx(math.sqrt(0.5))
    larger = {"parameters": 300, "training": {"epochs": 8}}
    assert comparison.seconds_by_size({"seconds": 7, "parameters": 100}, 2, larger) == 84
