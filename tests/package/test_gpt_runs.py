"""The language models and spellers of the chapter on GPT, and their longer runs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from transformer_ref.experiments import gpt, gpt_by_hand
from transformer_ref.experiments.capstone.systems import small_speller
from transformer_ref.experiments.results import load_results
from transformer_ref.masks import padding_mask


@pytest.fixture(scope="module")
def corpus() -> gpt.Corpus:
    """The real one, cut short: enough to see that its texts are read."""
    whole = gpt.load_corpus()
    texts = {name: getattr(whole, name)[:1000] for name in ("text", "unseen", "to_stop", "later")}
    return replace(whole, **texts)


def test_a_long_run_has_a_row_for_each_stretch_and_is_the_same_again(
    corpus: gpt.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpt, "LARGER", {"d_model": 8, "num_layers": 1, "block": 128})
    both = [gpt.long_run(corpus, steps=4, every=2) for _ in range(2)]
    assert all(run.pop("seconds") >= 0 for run in both)
    assert both[0] == both[1]
    assert [row["step"] for row in both[0]["curve"]] == [2, 4]
    assert [sample["temperature"] for sample in both[0]["samples"]] == list(gpt.SAMPLES)


def test_bits_are_those_of_one_pass_where_the_text_fits_in_a_block(corpus: gpt.Corpus) -> None:
    model, ids = gpt.new_gpt(len(corpus.tokenizer), block=64).eval(), corpus.ids[:65]
    text = corpus.tokenizer.decode(ids.tolist())
    start = torch.tensor(corpus.tokenizer.encode("\n"))
    read = torch.cat([start, torch.tensor(corpus.tokenizer.encode(text))])[:65]
    with torch.inference_mode():
        nats = torch.nn.functional.cross_entropy(model(read[None, :-1])[0], read[1:])
    counted = corpus.tokenizer.decode(read[1:].tolist())
    bits = nats.item() * 64 / torch.tensor(2.0).log().item() / len(counted)
    assert gpt.bits_per_character(model, corpus.tokenizer, counted) == pytest.approx(bits, rel=1e-4)


def test_tuning_has_both_prices_for_each_size_and_is_the_same_again(corpus: gpt.Corpus) -> None:
    both = [gpt.tuning_run(1, corpus, sizes={800: (2, 3)}, steps=3) for _ in range(2)]
    assert both[0] == both[1]
    assert set(both[0]) == {"seed", "untuned", "800"}
    assert set(both[0]["800"]) == {"tuned", "alone"}


def test_tuning_never_ends_worse_than_it_began(corpus: gpt.Corpus) -> None:
    model = gpt.new_gpt(len(corpus.tokenizer), d_model=16, num_layers=1, block=16)
    before = gpt.bits_per_character(model, corpus.tokenizer, corpus.to_stop)
    harmful = gpt.tune(model, corpus, corpus.small[:1000], 3, peak=3.0, every=1)
    assert gpt.bits_per_character(harmful, corpus.tokenizer, corpus.to_stop) <= before


@pytest.mark.parametrize("both_ways", [False, True])
def test_the_speller_reads_each_row_as_if_it_were_alone(both_ways: bool) -> None:
    model = gpt.DecoderOnly(both_ways).eval()
    src = torch.tensor([[5, 6, 7, 8, 9], [10, 11, 0, 0, 0]])
    tgt = torch.tensor([[1, 20, 21, 22], [1, 23, 24, 0]])
    together = model(src, tgt)
    assert torch.allclose(together[0], model(src[:1], tgt[:1])[0], atol=1e-5)
    assert torch.allclose(together[1, :3], model(src[1:, :2], tgt[1:, :3])[0], atol=1e-5)


@pytest.mark.parametrize("both_ways", [False, True])
def test_the_speller_sees_no_later_phoneme_and_all_letters(both_ways: bool) -> None:
    model = gpt.DecoderOnly(both_ways).eval()
    src, tgt = torch.tensor([[5, 6, 7]]), torch.tensor([[1, 20, 21, 22]])
    logits = model(src, tgt)
    for place in range(1, 4):
        other = tgt.clone()
        other[0, place] = 30
        change = (model(src, other) - logits).abs().amax(dim=-1)[0]
        assert change[:place].max() < 1e-5 < change[place:].min()
    for place in range(3):
        other = src.clone()
        other[0, place] = 12
        assert (model(other, tgt) - logits).abs().amax(dim=-1).min() > 1e-5


def test_both_spellers_have_the_parameters_of_the_capstone_s() -> None:
    theirs = small_speller()
    ours = gpt.DecoderOnly()
    sizes = [sum(weight.numel() for weight in model.parameters()) for model in (ours, theirs)]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.02)


@pytest.mark.parametrize("both_ways", [False, True])
def test_who_feels_whom_is_what_the_mask_says(both_ways: bool) -> None:
    model = gpt.DecoderOnly(both_ways).eval()
    src, tgt_in = torch.tensor([[5, 6, 7]]), torch.tensor([[1, 20]])
    felt = [gpt.letters_felt(model, src, tgt_in, place) for place in range(5)]
    letters = [[0, 1, 2]] * 3 if both_ways else [[0], [0, 1], [0, 1, 2]]
    assert felt == [*letters, [0, 1, 2, 3], [0, 1, 2, 3, 4]]


def test_states_of_letters_stay_when_one_is_added_unless_all_see_all() -> None:
    for both_ways in (False, True):
        model = gpt.DecoderOnly(both_ways)
        short, longer = (gpt.letter_states(model, word) for word in ("night", "nights"))
        assert (len(short), len(longer)) == (5, 6)
        assert torch.allclose(short, longer[:5], atol=1e-5) is not both_ways


def test_a_squeezed_memory_is_one_vector_of_the_real_letters() -> None:
    model = small_speller().eval()
    src = torch.tensor([[5, 6, 7, 0, 0], [8, 9, 10, 11, 12]])
    memory = model.encode(src, padding_mask(src, 0))
    wanted = {"mean": memory[0, :3].mean(dim=0), "last": memory[0, 2]}
    for way, vector in wanted.items():
        squeezed = gpt.Squeezed(model, way).encode(src, padding_mask(src, 0))
        assert squeezed.shape == memory.shape
        torch.testing.assert_close(squeezed[0], vector.expand(5, -1))


def test_the_committed_results_are_those_of_the_script() -> None:
    results = load_results("gpt")
    steps = [row["step"] for row in results["long"]["curve"]]
    assert steps == list(range(gpt.EVERY, gpt.STEPS + 1, gpt.EVERY))
    assert [s["temperature"] for s in results["long"]["samples"]] == list(gpt.SAMPLES)
    assert [run["seed"] for run in results["tuning"]] == list(gpt.SEEDS)
    for run in results["tuning"]:
        assert {key for key in run if key.isdecimal()} == set(map(str, gpt.SIZES))
    assert set(results["spellers"]) == set(gpt.SPELLERS)
    for runs in results["spellers"].values():
        assert [run["seed"] for run in runs] == list(gpt.SEEDS)


def test_the_examples_by_hand_give_what_paper_and_pencil_give() -> None:
    chain = gpt_by_hand.chain_by_hand()
    assert chain["product"].item() == 1 / 16
    assert chain["perplexity"].item() == pytest.approx(16 ** (1 / 3))
    sharp, plain, flat = gpt_by_hand.probabilities_by_hand().tolist()
    assert plain[0] / plain[1] == pytest.approx(math.e)  # logits that differ by 1
    assert sharp[0] / sharp[1] == pytest.approx(math.e**2)
    assert flat[0] / flat[1] == pytest.approx(math.e**0.5)
