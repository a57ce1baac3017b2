"""Translators: in order whatever the batches, whole on disk, and able to learn a task."""

import csv
import json
from dataclasses import asdict, replace

import pytest
import torch

from transformer_ref.applications import translation
from transformer_ref.applications.toys import reversal_pairs
from transformer_ref.applications.translation import (
    Translator,
    decode_all,
    train_tokenizers,
    train_translator,
)
from transformer_ref.batching import pad_batch
from transformer_ref.decoding import beam_search, greedy_decode
from transformer_ref.metrics import corpus_bleu, corpus_chrf
from transformer_ref.model import Transformer, TransformerConfig
from transformer_ref.tokenizers import BPETokenizer, CharTokenizer, WordTokenizer
from transformer_ref.training import TrainingConfig

CPU = torch.device("cpu")
SMALL = TransformerConfig(
    src_vocab_size=4,
    tgt_vocab_size=4,
    d_model=32,
    num_heads=4,
    num_encoder_layers=1,
    num_decoder_layers=1,
    d_ff=64,
    dropout=0.0,
    max_len=16,
    norm="pre",
)
PAIRS = [("ein Hund", "a dog"), ("zwei Hunde", "two dogs"), ("ein Mann", "a man")]
TEXTS = ["ein Hund", "Hunde", "zwei Mann ein", "n", "", "  \n", "zwei"]


def make_translator(device=CPU, pairs=PAIRS, kind="char", joint=False, seed=0):
    """A translator whose weights say different things to different sources."""
    source, target = train_tokenizers(pairs, kind, joint=joint)
    config = replace(SMALL, src_vocab_size=len(source), tgt_vocab_size=len(target))
    torch.manual_seed(seed)
    model = Transformer(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return Translator(model, source, target, device)


@pytest.fixture
def translator(device):
    return make_translator(device)


def test_answers_are_those_of_greedy_search_one_by_one_in_order(translator):
    def alone(text):
        ids = torch.tensor([translator.source.encode(text.strip(), eos=True)])
        answer = greedy_decode(translator.model, ids.to(translator.device), 1, 2, SMALL.max_len)
        return translator.target.decode(answer[0].tolist())

    one_by_one = [alone(text) if text.strip() else "" for text in TEXTS]
    assert len(set(one_by_one)) > 3  # the order matters
    for batch_size in (1, 2, 64):
        assert translator.translate(TEXTS, batch_size=batch_size) == one_by_one


@pytest.mark.parametrize("penalty", [0.0, 2.0])
def test_a_beam_is_searched_with_its_length_penalty(translator, penalty):
    ids = [translator.source.encode(text, eos=True) for text in TEXTS[:4]]
    src = pad_batch(ids, 0).to(translator.device)
    found, _ = beam_search(translator.model, src, 1, 2, 3, SMALL.max_len, penalty)
    expected = [translator.target.decode(row[0].tolist()) for row in found]
    assert translator.translate(TEXTS[:4], 3, penalty) == expected
    assert expected != translator.translate(TEXTS[:4])


def test_the_penalty_and_the_limit_reach_the_search(device):
    translator = make_translator(device, seed=4)  # its weights make an early end likely
    sources = [translator.source.encode(text, eos=True) for text in TEXTS[:4]]
    short, long = (
        decode_all(translator.model, sources, 1, 2, beam_size=3, length_penalty=penalty)
        for penalty in (0.0, 3.0)
    )
    assert sum(map(len, short)) < sum(map(len, long))
    assert max(map(len, decode_all(translator.model, sources, 1, 2, max_len=3))) == 3


def test_nothing_is_translated_into_nothing(translator):
    assert translator.translate([]) == []
    assert translator.translate(["", " \t"]) == ["", ""]
    assert decode_all(translator.model, [], 1, 2) == []


def test_the_first_tokens_are_the_ids_that_are_trained_on(translator):
    (source, target), *_ = translator.examples([(" ein ", "a")])
    letters = translator.source.convert_tokens_to_ids(["e", "i", "n"])
    assert source == [*letters, 2]
    assert target == [1, *translator.target.convert_tokens_to_ids(["a"]), 2]


def test_evaluate_compares_what_is_translated(translator):
    answers = translator.translate(["ein", "zwei"], 2, 0.0)
    pairs = [("ein", answers[0]), ("zwei", "another thing")]
    scores = translator.evaluate(pairs, 2, 0.0)
    references = [answers[0], "another thing"]
    assert scores.exact_match == 0.5
    assert scores.bleu == corpus_bleu(answers, references)
    assert scores.bleu_lowercase == corpus_bleu(answers, references, lowercase=True)
    assert scores.chrf == corpus_chrf(answers, references)


def test_evaluate_searches_as_it_is_told(device):
    translator = make_translator(device, seed=4)
    pairs = list(zip(TEXTS[:4], translator.translate(TEXTS[:4], 3, 0.0), strict=True))
    assert translator.evaluate(pairs, 3, 0.0).exact_match == 1.0
    assert translator.evaluate(pairs, 3, 3.0).exact_match < 1.0
    assert translator.evaluate(pairs, 1, 0.0).exact_match < 1.0


@pytest.mark.parametrize("kind", ["word", "char", "bpe"])
@pytest.mark.parametrize("joint", [False, True])
def test_a_saved_translator_says_the_same(tmp_path, device, kind, joint):
    translator = make_translator(device, kind=kind, joint=joint)
    translator.save_pretrained(tmp_path / "saved")
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == [
        "config.json",
        "model.safetensors",
        "source",
        "target",
    ]
    again = Translator.from_pretrained(tmp_path / "saved", device)
    assert again.translate(["ein Hund", "zwei"]) == translator.translate(["ein Hund", "zwei"])
    assert type(again.source) is type(translator.source)
    assert not again.model.training
    assert again.model.output_proj.weight.device.type == device.type


@pytest.mark.parametrize("part", ["source", "target", "config.json", "model.safetensors"])
def test_a_missing_part_is_named(tmp_path, part):
    make_translator().save_pretrained(tmp_path)
    (tmp_path / part).rename(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=part):
        Translator.from_pretrained(tmp_path, CPU)


def test_a_tokenizer_of_another_model_is_refused(tmp_path):
    make_translator().save_pretrained(tmp_path)
    CharTokenizer.train(["other"]).save_pretrained(tmp_path / "target")
    expected = r"the target tokenizer must have \d+ tokens and pad_id 0 .*, got \d tokens"
    with pytest.raises(ValueError, match=expected):
        Translator.from_pretrained(tmp_path, CPU)
    model = Transformer(replace(SMALL, src_vocab_size=9, tgt_vocab_size=9, pad_id=1))
    tokenizer = CharTokenizer.train(["abcde"])
    with pytest.raises(ValueError, match=r"pad_id 1 like the model, got 9 tokens and pad_id 0"):
        Translator(model, tokenizer, tokenizer, CPU)


def test_what_is_too_long_is_named(translator):
    fits = "n" * 15  # and the end token
    translator.translate([fits])
    with pytest.raises(ValueError, match=r"texts\[1\] must have at most 16 tokens .* got 17"):
        translator.translate(["n", fits + "n"])
    translator.examples([(fits, fits)])
    with pytest.raises(ValueError, match=r"pairs\[1\]\[0\] must have at most 16 tokens .*, got 17"):
        translator.examples([("n", "n"), (fits + "n", "n")])
    with pytest.raises(ValueError, match=r"pairs\[0\]\[1\] must have at most 16 tokens .*, got 17"):
        translator.examples([("n", fits + "n")])
    with pytest.raises(ValueError, match=r"sources must have 1 to 16 tokens .*, got 17"):
        decode_all(translator.model, [[3], [3] * 17], 1, 2)


def test_each_kind_of_tokenizer_is_trained_on_its_side():
    word = train_tokenizers(PAIRS, "word", min_freq=2)
    assert [type(side) for side in word] == [WordTokenizer] * 2
    assert word[0].vocabulary.tokens[4:] == ("ein",)
    assert word[1].vocabulary.tokens[4:] == ("a",)
    char = train_tokenizers(PAIRS, "char", min_freq=5)
    assert [type(side) for side in char] == [CharTokenizer] * 2
    assert "n" in char[0].vocabulary.tokens
    assert "g" not in char[1].vocabulary.tokens
    few, many = (train_tokenizers(PAIRS, "bpe", num_merges=n)[0] for n in (1, 4))
    assert type(few) is BPETokenizer
    assert len(many) == len(few) + 3


def test_a_joint_tokenizer_knows_both_sides():
    source, target = train_tokenizers(PAIRS, "word", joint=True)
    assert source is target
    assert {"Hund", "dog"} <= set(source.vocabulary.tokens)


def test_training_twice_gives_the_same_files(tmp_path, capsys):
    splits = {split: reversal_pairs(split, 40) for split in ("train", "dev", "test")}
    training = TrainingConfig(epochs=2, batch_size=8, warmup=2)
    written = []
    for name in ("first", "second"):
        torch.rand(len(name))  # what was drawn before must not matter
        tokenizers = train_tokenizers(splits["train"], "char")
        written.append(
            train_translator(tmp_path / name, splits, tokenizers, SMALL, training, device=CPU)
        )
    assert written[0] == written[1]
    on_disk = json.loads((tmp_path / "first" / "results.json").read_text())
    assert on_disk == json.loads(json.dumps(written[0]))
    assert on_disk["pairs"] == {"train": 40, "dev": 40, "test": 40}
    assert on_disk["steps"] == 10
    with open(tmp_path / "first" / "metrics.csv", newline="") as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file)]
    assert on_disk["loss_last_epoch"] == pytest.approx(sum(losses[5:]) / 5)
    assert on_disk["training"]["epochs"] == 2
    again = Translator.from_pretrained(tmp_path / "first", CPU)
    assert asdict(again.model.config) == on_disk["model"]
    assert on_disk["parameters"] == sum(p.numel() for p in again.model.parameters())
    assert asdict(again.evaluate(splits["test"])) == on_disk["test"]
    assert asdict(again.evaluate(splits["dev"])) == on_disk["dev"]
    assert "epoch 2: loss" in capsys.readouterr().out


def test_other_processes_than_the_first_write_nothing(tmp_path, monkeypatch):
    class Second(translation.Trainer):
        def train(self, **_):
            self.processes = replace(self.processes, rank=1)

    monkeypatch.setattr(translation, "Trainer", Second)
    splits = {split: reversal_pairs(split, 20) for split in ("train", "dev", "test")}
    tokenizers = train_tokenizers(splits["train"], "char")
    run = train_translator(tmp_path, splits, tokenizers, SMALL, TrainingConfig(), device=CPU)
    assert run == {}
    assert not (tmp_path / "results.json").exists()


@pytest.mark.weekly
def test_it_learns_to_reverse_strings(tmp_path):
    """A small model, a few seconds: 99% of unseen strings exactly right."""
    splits = {
        split: reversal_pairs(split, count, max_length=4)
        for split, count in (("train", 6000), ("dev", 300), ("test", 300))
    }
    model = replace(SMALL, d_model=64, d_ff=128)
    training = TrainingConfig(
        epochs=4, batch_size=32, learning_rate=3e-3, warmup=50, decay_fraction=0.5,
        label_smoothing=0.0,
    )  # fmt: skip
    tokenizers = train_tokenizers(splits["train"], "char")
    run = train_translator(tmp_path, splits, tokenizers, model, training, device=CPU)
    assert run["test"]["exact_match"] >= 0.99
