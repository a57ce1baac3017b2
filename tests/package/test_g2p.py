"""Grapheme to phoneme: the committed model against its results, and the command that makes it."""

import hashlib
import json
from dataclasses import asdict, replace

import pytest
import torch

from transformer_ref import g2p
from transformer_ref.data import CMUDICT_PATH, load_cmudict
from transformer_ref.g2p import (
    CHECKPOINT,
    MODEL_CONFIG,
    TRAINING_CONFIG,
    fixed_sample,
    load_g2p,
    main,
    make_examples,
    train_g2p,
)

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
    assert results["model"] == asdict(MODEL_CONFIG) == asdict(speller.model.config)
    assert results["training"] == json.loads(json.dumps(asdict(TRAINING_CONFIG)))
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


@pytest.mark.parametrize("word", ["Knight", "caf\u00e9", "two words", ""])
def test_words_that_cannot_be_spelled_are_refused(speller, word):
    with pytest.raises(ValueError, match=r"not in the vocabulary|must not be empty"):
        speller.pronounce(word)


def test_training_writes_a_model_and_its_results(tmp_path, capsys):
    written = train_g2p(tmp_path, SMALL, SHORT, device=torch.device("cpu"), limit=40)
    assert json.loads((tmp_path / "results.json").read_text()) == json.loads(json.dumps(written))
    assert written["steps"] == 2 * -(-len(make_examples(load_cmudict("train")[:40])) // 8)
    reloaded = load_g2p(torch.device("cpu"), tmp_path)
    assert reloaded.evaluate(load_cmudict("dev")[:40]) == written["dev"]
    assert "epoch 2: loss" in capsys.readouterr().out


def test_training_twice_gives_the_same_numbers(tmp_path):
    runs = [
        train_g2p(tmp_path / name, SMALL, SHORT, device=torch.device("cpu"), limit=40)
        for name in ("first", "second")
    ]
    assert runs[0] == runs[1]


def test_command_line_reports_errors_without_a_traceback(tmp_path, capsys):
    (tmp_path / "last.pt").write_bytes(b"damaged")
    assert main(["--run-dir", str(tmp_path), "--limit", "10", "--device", "cpu"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "last.pt is damaged" in error


def test_an_interrupted_command_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(g2p, "train_g2p", interrupt)
    assert main(["--run-dir", str(tmp_path)]) == 130
    assert f"the last checkpoint is in {tmp_path}" in capsys.readouterr().err


def test_a_missing_model_is_named(tmp_path):
    with pytest.raises(OSError, match=r"no checkpoint at .*nowhere"):
        load_g2p(torch.device("cpu"), tmp_path / "nowhere")
