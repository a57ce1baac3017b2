"""Grapheme to phoneme: the committed model against its results, and the command that makes it."""

import hashlib
import json
from dataclasses import replace

import pytest
import torch

from transformer_ref.applications.g2p import (
    CHECKPOINT,
    MODEL_CONFIG,
    TRAINING_CONFIG,
    load_g2p,
    make_examples,
    train_g2p,
)
from transformer_ref.applications.translation import fixed_sample
from transformer_ref.data import CMUDICT_PATH, load_cmudict
from transformer_ref.model import TransformerConfig
from transformer_ref.training import TrainingConfig

SMALL = replace(MODEL_CONFIG, d_model=32, d_ff=64, num_encoder_layers=1, num_decoder_layers=1)
SHORT = replace(TRAINING_CONFIG, epochs=2, batch_size=8, save_every=2, warmup=2)


@pytest.fixture(scope="module")
def speller():
    return load_g2p(torch.device("cpu"))


@pytest.fixture(scope="module")
def results():
    return json.loads((CHECKPOINT / "results.json").read_text())


def test_the_committed_model_is_good_and_small(results):
    assert results["test"]["per"] <= 0.063
    assert results["test"]["wer"] <= 0.255
    assert sum(path.stat().st_size for path in CHECKPOINT.iterdir()) <= 6_000_000


def test_the_results_file_says_what_it_was_measured_on(results, speller):
    assert results["data"]["sha256"] == hashlib.sha256(CMUDICT_PATH.read_bytes()).hexdigest()
    # Fields that were added since have their defaults.
    assert TransformerConfig(**results["model"]) == MODEL_CONFIG == speller.model.config
    training = results["training"] | {"betas": tuple(results["training"]["betas"])}
    assert TrainingConfig(**training) == TRAINING_CONFIG
    assert results["words"] == {"train": 111_134, "dev": 1_266, "test": 12_526}
    assert results["parameters"] == sum(p.numel() for p in speller.model.parameters())
    assert results["steps"] > 0
    assert results["versions"].keys() == {"python", "torch"}


def test_a_fixed_sample_of_test_words_gets_the_stored_rates(speller, results):
    """Dev and 1,000 test words as stored; the latter within sampling error of the whole split."""
    dev = speller.evaluate(load_cmudict("dev"))
    assert dev == pytest.approx(results["dev"], abs=2e-3)  # two words of leeway for other CPUs
    assert speller.evaluate(fixed_sample(load_cmudict("test"))) == pytest.approx(
        results["test_sample"], abs=2e-3
    )
    # The sample is one of the whole: within three standard errors of a share.
    wer = results["test"]["wer"]
    assert abs(results["test_sample"]["wer"] - wer) < 3 * (wer * (1 - wer) / 1000) ** 0.5


def test_it_pronounces(speller):
    assert speller.pronounce("knight") == ["N", "AY", "T"]
    assert speller.pronounce("phone") == ["F", "OW", "N"]


def test_a_word_gets_the_same_answer_alone_and_in_a_batch(speller):
    words = [word for word, _ in load_cmudict("dev")[:60]]
    assert speller.pronounce_all(words, batch_size=16) == [
        speller.pronounce(word) for word in words
    ]


def test_attention_is_one_map_a_layer_and_head(speller):
    tokens, weights = speller.attention("knight")
    assert tokens == ["N", "AY", "T", "<eos>"]
    assert len(weights) == MODEL_CONFIG.num_decoder_layers
    for layer in weights:
        assert layer.shape == (MODEL_CONFIG.num_heads, 4, 6)
        torch.testing.assert_close(layer.sum(-1), torch.ones(MODEL_CONFIG.num_heads, 4))


def test_examples_are_one_a_variant():
    examples = make_examples([("ab", [["AE", "B"], ["EY"]])])
    assert [len(target) for _, target in examples] == [4, 3]
    assert all(target[0] == 1 and target[-1] == 2 for _, target in examples)
    assert examples[0][0] == [3, 4]


@pytest.mark.weekly
def test_training_writes_a_model_and_its_results(tmp_path, capsys):
    written = train_g2p(tmp_path, SMALL, SHORT, device=torch.device("cpu"), limit=40)
    assert json.loads((tmp_path / "results.json").read_text()) == json.loads(json.dumps(written))
    assert written["steps"] == 2 * -(-len(make_examples(load_cmudict("train")[:40])) // 8)
    reloaded = load_g2p(torch.device("cpu"), tmp_path)
    assert reloaded.evaluate(load_cmudict("dev")[:40]) == written["dev"]
    assert "epoch 2: loss" in capsys.readouterr().out


@pytest.mark.weekly
def test_training_twice_gives_the_same_numbers(tmp_path):
    runs = [
        train_g2p(tmp_path / name, SMALL, SHORT, device=torch.device("cpu"), limit=40)
        for name in ("first", "second")
    ]
    assert runs[0] == runs[1]


def test_a_speller_translates_words_into_strings(speller):
    assert speller.translate(["knight", " phone\n"]) == ["N AY T", "F OW N"]
    assert speller.translate([]) == []


@pytest.mark.weekly
def test_a_wider_beam_finds_likelier_pronunciations(speller):
    """Measured by one pass of teacher forcing over the answer."""
    words = [word for word, _ in load_cmudict("dev")[:400]]

    def log_probability(word, phonemes):
        ids = torch.tensor([speller.phonemes.encode(phonemes, bos=True, eos=True)])
        with torch.inference_mode():
            log_probs = speller.model(speller.source([word]), ids[:, :-1]).log_softmax(-1)
        return log_probs.gather(-1, ids[:, 1:, None]).sum().item()

    greedy = speller.pronounce_all(words)
    wide = speller.pronounce_all(words, beam_size=4, length_penalty=0.0)
    assert speller.translate(words, 4, 0.0) == [" ".join(phonemes) for phonemes in wide]
    differ = [
        answers for answers in zip(words, greedy, wide, strict=True) if answers[1] != answers[2]
    ]
    gains = [log_probability(word, w) - log_probability(word, g) for word, g, w in differ]
    assert sum(gains) > 0.1
    assert sum(gain < 0 for gain in gains) <= 1  # a beam may drop what greedy search keeps
