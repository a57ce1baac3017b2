"""What the page "The Transformer today" builds, counts and names in a library is as it says."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import scipy.stats
import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from transformer_ref.cache import KVCache
from transformer_ref.experiments import where_next_runs
from transformer_ref.experiments.gpt import load_corpus, new_gpt
from transformer_ref.experiments.results import load_results
from transformer_ref.experiments.where_next import (
    BANDWIDTH,
    OPERATIONS,
    PUBLISHED,
    QUANTIZED_BYTES,
    STUDENT_T,
    Sizes,
    acceptance_by_hand,
    count_parameters,
    draft_by_counts,
    draft_by_neighbour,
    gate_by_hand,
    paired_difference,
    resources,
    rotary_by_hand,
    router_by_hand,
    speculative_decode,
    writing,
)
from transformer_ref.experiments.where_next_runs import LAYERS, best_peak, config_of, layer_run
from transformer_ref.g2p import load_g2p
from transformer_ref.modern import ModernGPT

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "book" / "where_next.ipynb"
CELLS = {
    cell["id"]: "".join(cell["source"])
    for cell in json.loads(PAGE.read_text(encoding="utf-8"))["cells"]
}


def test_what_the_reader_is_to_find_is_there() -> None:
    rows = [
        line.split("|")[1] for line in CELLS["real-code"].splitlines() if line.startswith("| `")
    ]
    names = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(names) >= 6

    library = find_spec("transformers")
    assert library is not None
    assert library.origin is not None
    llama = Path(library.origin).parent / "models" / "llama" / "modeling_llama.py"
    source = llama.read_text(encoding="utf-8")
    config = LlamaConfig(
        vocab_size=8, hidden_size=8, num_attention_heads=2, intermediate_size=8, num_hidden_layers=1
    )
    modules = LlamaForCausalLM(config).named_modules()
    known = set(re.findall(r"^(?:class|def) (\w+)", source, re.MULTILINE))
    known |= {name.rpartition(".")[2] for name, _ in modules}
    known |= {*config.to_dict(), *config.rope_parameters}
    assert names <= known


# ---- what a model takes --------------------------------------------------------------------------


def as_the_library_has_it(sizes: Sizes) -> nn.Module:
    """Build a model of these sizes in the library, without memory for its weights."""
    config: Any
    with torch.device("meta"):
        if sizes.learned_positions:
            config = GPT2Config(
                vocab_size=sizes.vocab_size, n_positions=sizes.learned_positions,
                n_embd=sizes.d_model, n_layer=sizes.num_layers, n_head=sizes.num_heads,
                n_inner=sizes.d_ff,
            )  # fmt: skip
            return GPT2LMHeadModel(config)
        config = LlamaConfig(
            vocab_size=sizes.vocab_size, hidden_size=sizes.d_model,
            num_hidden_layers=sizes.num_layers, num_attention_heads=sizes.num_heads,
            num_key_value_heads=sizes.num_sets, intermediate_size=sizes.d_ff,
        )  # fmt: skip
        return LlamaForCausalLM(config)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_parameters_are_those_of_the_library(name: str) -> None:
    theirs = as_the_library_has_it(PUBLISHED[name])
    assert count_parameters(PUBLISHED[name]) == sum(p.numel() for p in theirs.parameters())


def test_the_counts_are_those_that_were_published() -> None:
    """Kaplan's 6 N per token; the papers of GPT-2 (its repository), Llama 2 and Llama 3."""
    takes = {name: resources(sizes) for name, sizes in PUBLISHED.items()}
    assert takes["GPT-2"].parameters == pytest.approx(124e6, rel=0.005)
    assert takes["Llama 2 7B"].parameters == pytest.approx(6.74e9, rel=0.001)
    assert takes["Llama 3 8B"].parameters == pytest.approx(8.03e9, rel=0.001)
    assert takes["Llama 3 405B"].parameters == pytest.approx(405e9, rel=0.005)
    assert takes["Llama 3 405B"].operations == pytest.approx(3.8e25, rel=0.01)
    assert takes["GPT-2"].operations is None


@torch.no_grad()
def test_bytes_are_those_of_tensors() -> None:
    sizes = Sizes(16, 2, 4, 2, 24, 10)
    model = as_the_library_has_it(sizes).to_empty(device="cpu").bfloat16()
    takes = resources(sizes, bandwidth=1e6)
    assert takes.weights == takes.gradients == sum(p.nbytes for p in model.parameters())
    assert takes.optimizer == sum(3 * 4 * p.numel() for p in model.parameters())
    cache = model(torch.zeros(1, 5, dtype=torch.long), use_cache=True).past_key_values
    kept = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    assert 5 * takes.cache == kept
    assert takes.seconds == pytest.approx(takes.weights / 1e6)


def test_the_speed_of_the_card_is_the_one_that_was_measured() -> None:
    rows = json.loads((ROOT / "benchmarks/results.json").read_text(encoding="utf-8"))["results"]
    measured = {
        name: value
        for row in rows
        if "H100" in row["conditions"].get("gpu", "")
        for name, value in row["details"].items()
    }
    assert pytest.approx(measured["copy_bytes_per_second"], rel=0.02) == BANDWIDTH
    assert pytest.approx(measured["matmul_flops_per_second"], rel=0.02) == OPERATIONS


def test_a_pass_reads_the_weights_once_for_all_texts() -> None:
    sizes = Sizes(100, 1, 1, 1, 0, 0)  # a key and a value of 100 features, in 2 bytes each
    parameters = count_parameters(sizes)
    one, many = writing(sizes, 1, 50), writing(sizes, 20, 50, weight_bytes=0.5)
    assert (one["weights"], many["weights"]) == (2 * parameters, parameters / 2)
    assert (one["caches"], many["caches"]) == (50 * 400, 20 * 50 * 400)
    for takes in (one, many):
        for name in ("weights", "caches"):
            assert takes[f"reading {name}"] == pytest.approx(takes[name] / 3.0e12)
    assert many["computing"] == pytest.approx(20 * one["computing"])
    assert one["computing"] == pytest.approx(2 * parameters / 7.6e14)


def test_quantized_weights_take_the_bytes_of_their_tensors() -> None:
    weights, groups = 1024, 1024 // 128
    packed = torch.zeros(weights // 2, dtype=torch.uint8)  # two of 4 bits in each byte
    scales = torch.zeros(groups, dtype=torch.float16)
    assert (packed.nbytes + scales.nbytes) / weights == QUANTIZED_BYTES


def test_drafts_guess_from_the_list_that_they_were_given() -> None:
    speller = load_g2p(torch.device("cpu"))
    phonemes = speller.phonemes
    entries = [("knife", [["N", "AY", "F"]]), ("knight", [["N", "AY", "T"]]), ("no", [["N", "OW"]])]

    copied = draft_by_neighbour(speller, entries, length=2)
    said = [phonemes.bos_id]
    assert phonemes.decode(copied("knighted", said)) == ["N", "AY"]
    said += phonemes.encode(["N", "AY"])
    assert phonemes.decode(copied("knighted", said)) == ["T"]
    assert phonemes.decode(copied("knight", [phonemes.bos_id])) == ["N", "AY"]  # not from itself

    counted = draft_by_counts(speller, [*entries, entries[0]])
    assert phonemes.decode(counted("zoo", [phonemes.bos_id])) == ["N", "AY", "F"]
    assert counted("zoo", [phonemes.bos_id, *phonemes.encode(["N", "OW"])]) == []  # then the end


def test_guesses_change_the_number_of_passes_and_not_what_is_said() -> None:
    speller = load_g2p(torch.device("cpu"))
    listed = [("knighten", [["N", "AY", "T", "AH", "N"]])]
    drafts = {"nobody": lambda word, said: [], "list": draft_by_neighbour(speller, listed)}
    for word in ("knighted", "zoo"):
        runs = {name: speculative_decode(speller, word, draft) for name, draft in drafts.items()}
        for said, _ in runs.values():
            assert speller.phonemes.decode(said) == speller.pronounce(word)
        assert runs["nobody"][1] == len(runs["nobody"][0]) - 1  # a pass for each token
        assert (runs["list"][1] < runs["nobody"][1]) == (word == "knighted")


def test_the_examples_by_hand_give_what_paper_and_pencil_give() -> None:
    first, *others = (step["product"].item() for step in rotary_by_hand())
    assert first == 4
    # Arrows of lengths sqrt(5) and 2, with arctan(1/2) between them, and four places more.
    angle = math.atan2(1, 2) + 0.4
    assert others == pytest.approx(2 * [math.sqrt(5) * 2 * math.cos(angle)])
    gate = gate_by_hand()
    silu = 2 / (1 + math.exp(-2))
    assert gate["product"].tolist() == pytest.approx([silu, 0, 2 * (silu - 2)])
    split = acceptance_by_hand()
    torch.testing.assert_close(split["kept"] + split["rest"], split["model"])
    assert bool((split["kept"] <= split["draft"]).all())
    router = router_by_hand()
    share = 1 / (1 + math.exp(-1))
    assert router["output"].tolist() == pytest.approx([1 + share, 4 - 3 * share])


# ---- the trained models --------------------------------------------------------------------------


def test_the_models_are_that_of_the_chapter_on_gpt_but_for_the_changes() -> None:
    chapters = new_gpt(11).config
    wanted = {"SwiGLU": {"d_ff"}, "all four": {"d_ff"}, "sinusoids": {"positions"}}
    for name in LAYERS:
        mine = vars(config_of(name, 11))
        changed = {field for field, value in vars(chapters).items() if mine[field] != value}
        assert changed == wanted.get(name, set())


def test_a_gate_with_fewer_hidden_units_takes_no_more_weights() -> None:
    counts = {}
    for name in ("GPT-2", "SwiGLU"):
        network = ModernGPT(config_of(name, 11)).layers[0].feed_forward
        counts[name] = sum(weight.numel() for weight in network.parameters() if weight.ndim == 2)
    assert counts["GPT-2"] == counts["SwiGLU"]


def test_the_peak_is_the_best_for_both_models_together() -> None:
    pilot = {"a": {"0.002": 2.0, "0.004": 2.1, "0.008": 2.5}, "b": {"0.002": 3.0, "0.004": 2.8}}
    pilot["b"]["0.008"] = 2.6
    assert best_peak(pilot) == 0.004


def test_differences_are_those_of_the_same_seed() -> None:
    bits = {"GPT-2": (2.1, 2.3, 2.4), "grouped": (2.0, 2.1, 2.3)}
    runs = {name: [{"bits": value} for value in values] for name, values in bits.items()}
    differences, mean, reach = paired_difference(runs, "grouped")
    assert differences == pytest.approx([-0.1, -0.2, -0.1])
    assert mean == pytest.approx(-0.4 / 3)
    interval = scipy.stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    assert (mean - reach, mean + reach) == pytest.approx((interval.low, interval.high), abs=1e-4)


@pytest.mark.parametrize("freedom", STUDENT_T)
def test_intervals_have_95_percent(freedom: int) -> None:
    assert STUDENT_T[freedom] == pytest.approx(scipy.stats.t.ppf(0.975, freedom), rel=1e-3)


@pytest.mark.parametrize("name", ["GPT-2", "all four"])
def test_a_run_is_measured_as_it_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where_next_runs, "STEPS", 2)
    corpus = load_corpus()
    short = replace(corpus, unseen=corpus.unseen[:3000])
    run = layer_run(name, 0, 0.001, short)
    assert set(run["longer"]) == (set() if name == "GPT-2" else {"128", "256"})
    assert 1 < run["bits"] < 5

    model = ModernGPT(config_of(name, len(corpus.tokenizer))).bfloat16()
    assert run["parameters"] == sum(weight.numel() for weight in model.parameters())
    cache = KVCache(model.config.num_layers)
    model(torch.zeros(1, 1, dtype=torch.long), cache)
    empty = torch.zeros(1, model.config.num_sets, 0, 24, dtype=torch.bfloat16)
    kept = [layer.self_attention.append(empty, empty) for layer in cache.layers]
    assert run["cache"] == sum(tensor.nbytes for pair in kept for tensor in pair)


def test_the_stored_runs_are_those_of_the_code() -> None:
    stored = load_results("where_next")
    assert stored["steps"] == where_next_runs.STEPS
    assert stored["peak"] == best_peak(stored["pilot"])
    assert list(stored["runs"]) == list(LAYERS)
    for runs in stored["runs"].values():
        assert [run["seed"] for run in runs] == list(where_next_runs.SEEDS)
