"""The longer runs of the chapter on GPT: made by its own code, on the texts that it names."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from benchmarks import capstone, gpt
from benchmarks.chapters import chapter_code


@pytest.fixture(scope="module")
def code() -> dict[str, Any]:
    names = chapter_code(gpt.CHAPTER, gpt.CELLS)
    for name in ("text", "unseen", "to_stop", "later"):  # enough to see that they are read
        names[name] = names[name][:1000]
    return names


@pytest.fixture(scope="module")
def speller_code() -> dict[str, Any]:
    return chapter_code(gpt.CHAPTER, gpt.SPELLER_CELLS)


def test_a_long_run_has_a_row_for_each_stretch_and_is_the_same_again(
    code: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpt, "LARGER", {"d_model": 8, "num_layers": 1, "block": 128})
    both = [gpt.long_run(code, steps=4, every=2) for _ in range(2)]
    assert all(run.pop("seconds") >= 0 for run in both)
    assert both[0] == both[1]
    assert [row["step"] for row in both[0]["curve"]] == [2, 4]
    assert [sample["temperature"] for sample in both[0]["samples"]] == list(gpt.SAMPLES)


def test_bits_are_those_of_one_pass_where_the_text_fits_in_a_block(code: dict[str, Any]) -> None:
    model, ids = code["new_gpt"](block=64).eval(), code["ids"][:65]
    text = code["tokenizer"].decode(ids.tolist())
    start = torch.tensor(code["tokenizer"].encode("\n"))
    read = torch.cat([start, torch.tensor(code["tokenizer"].encode(text))])[:65]
    with torch.inference_mode():
        nats = torch.nn.functional.cross_entropy(model(read[None, :-1])[0], read[1:])
    counted = code["tokenizer"].decode(read[1:].tolist())
    bits = nats.item() * 64 / torch.tensor(2.0).log().item() / len(counted)
    assert code["bits_per_character"](model, counted) == pytest.approx(bits, rel=1e-4)


def test_tuning_has_both_prices_for_each_size_and_is_the_same_again(code: dict[str, Any]) -> None:
    both = [gpt.tuning_run(1, code, sizes={800: (2, 3)}, steps=3) for _ in range(2)]
    assert both[0] == both[1]
    assert set(both[0]) == {"seed", "untuned", "800"}
    assert set(both[0]["800"]) == {"tuned", "alone"}


def test_tuning_never_ends_worse_than_it_began(code: dict[str, Any]) -> None:
    model = code["new_gpt"](d_model=16, num_layers=1, block=16)
    before = code["bits_per_character"](model, code["to_stop"])
    harmful = code["tune"](model, code["small_text"][:1000], 3, peak=3.0, every=1)
    assert code["bits_per_character"](harmful, code["to_stop"]) <= before


@pytest.mark.parametrize("both_ways", [False, True])
def test_the_speller_reads_each_row_as_if_it_were_alone(
    speller_code: dict[str, Any], both_ways: bool
) -> None:
    model = speller_code["DecoderOnly"](both_ways).eval()
    src = torch.tensor([[5, 6, 7, 8, 9], [10, 11, 0, 0, 0]])
    tgt = torch.tensor([[1, 20, 21, 22], [1, 23, 24, 0]])
    together = model(src, tgt)
    assert torch.allclose(together[0], model(src[:1], tgt[:1])[0], atol=1e-5)
    assert torch.allclose(together[1, :3], model(src[1:, :2], tgt[1:, :3])[0], atol=1e-5)


@pytest.mark.parametrize("both_ways", [False, True])
def test_the_speller_sees_no_later_phoneme_and_all_letters(
    speller_code: dict[str, Any], both_ways: bool
) -> None:
    model = speller_code["DecoderOnly"](both_ways).eval()
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


def test_both_spellers_have_the_parameters_of_the_capstone_s(speller_code: dict[str, Any]) -> None:
    theirs = chapter_code(capstone.CHAPTER, capstone.CELLS)["small_speller"]()
    ours = speller_code["DecoderOnly"]()
    sizes = [sum(weight.numel() for weight in model.parameters()) for model in (ours, theirs)]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.02)


def test_the_committed_results_are_those_of_the_script() -> None:
    results = json.loads(gpt.RESULTS.read_text(encoding="utf-8"))
    steps = [row["step"] for row in results["long"]["curve"]]
    assert steps == list(range(gpt.EVERY, gpt.STEPS + 1, gpt.EVERY))
    assert [s["temperature"] for s in results["long"]["samples"]] == list(gpt.SAMPLES)
    assert [run["seed"] for run in results["tuning"]] == list(gpt.SEEDS)
    for run in results["tuning"]:
        assert {key for key in run if key.isdecimal()} == set(map(str, gpt.SIZES))
    assert set(results["spellers"]) == set(gpt.SPELLERS)
    for runs in results["spellers"].values():
        assert [run["seed"] for run in runs] == list(gpt.SEEDS)
