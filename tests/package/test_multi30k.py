"""Multi30k from a folder, plain or gzipped, on files made here: its own text stays outside."""

import gzip
import json
import re
from dataclasses import asdict

import pytest
import torch

from transformer_ref.applications.translation import Translator
from transformer_ref.data import load_multi30k
from transformer_ref.experiments.capstone import multi30k

GERMAN = "Zwei Hunde spielen.\n  Ein Mädchen\u2028lacht. \nGrün\n"
ENGLISH = "Two dogs play.\nA girl laughs.\nGreen\n"
PAIRS = [
    ("Zwei Hunde spielen.", "Two dogs play."),
    ("Ein Mädchen\u2028lacht.", "A girl laughs."),  # U+2028 does not end a line of the file
    ("Grün", "Green"),
]


@pytest.fixture
def folder(tmp_path):
    for split in ("train", "val", "test_2016_flickr"):
        (tmp_path / f"{split}.de").write_text(GERMAN, encoding="utf-8")
        (tmp_path / f"{split}.en").write_text(ENGLISH, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("split", ["train", "val", "test_2016_flickr"])
def test_plain_files(folder, split):
    assert load_multi30k(folder, split) == PAIRS


def test_each_split_has_its_own_files(folder):
    (folder / "val.de").write_text("Katze\n")
    (folder / "val.en").write_text("Cat\n")
    assert load_multi30k(str(folder), "val") == [("Katze", "Cat")]
    assert load_multi30k(str(folder), "train") == PAIRS


def test_gzipped_files_and_a_mixture(folder):
    content = (folder / "val.de").read_bytes()
    (folder / "val.de").unlink()
    (folder / "val.de.gz").write_bytes(gzip.compress(content))
    assert load_multi30k(folder, "val") == PAIRS


def test_windows_line_ends_and_a_missing_last_one(folder):
    (folder / "val.de").write_bytes(GERMAN.replace("\n", "\r\n").encode())
    (folder / "val.en").write_bytes(ENGLISH.removesuffix("\n").encode())
    assert load_multi30k(folder, "val") == PAIRS


def test_what_is_missing_is_named_with_where_to_get_it_and_its_licence(folder):
    where = "https://github.com/multi30k/dataset .for research and education only."
    with pytest.raises(OSError, match=rf"missing: .*nowhere does not exist; get .*{where}"):
        load_multi30k(folder / "nowhere", "val")
    (folder / "val.en").unlink()
    with pytest.raises(OSError, match=rf"missing: .*val.en does not exist \(nor .gz\); .*{where}"):
        load_multi30k(folder, "val")


def test_languages_of_different_length_are_refused(folder):
    (folder / "val.en").write_text(ENGLISH + "One more.\n")
    expected = r"val.de and val.en must have the same number of lines, got 3 and 4"
    with pytest.raises(OSError, match=expected):
        load_multi30k(folder, "val")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("val.de", "Grün".encode("latin-1"), "utf-8"),
        ("val.de", b"\n\n", "it holds no text"),
        ("val.de.gz", b"not gzip", "gzip"),
        ("val.de.gz", gzip.compress(b"word " * 100)[:-12], "end-of-stream"),
        ("val.de.gz", gzip.compress(b"word")[:10] + b"\x07" * 30, "decompressing"),
        ("val.de.gz", gzip.compress("Grün".encode("latin-1")), "utf-8"),
    ],
    ids=["latin-1", "blank", "not gzip", "cut short", "bits flipped", "latin-1 gzipped"],
)
def test_damaged_files_are_named(folder, name, content, reason):
    (folder / "val.de").unlink()
    (folder / name).write_bytes(content)
    damaged = rf"Multi30k is damaged: {re.escape(str(folder / name))}: .*{reason}"
    with pytest.raises(OSError, match=damaged):
        load_multi30k(folder, "val")


TINY = """
task = "multi30k"
[tokenizer]
kind = "bpe"
joint = true
num_merges = 20
[model]
d_model = 16
num_heads = 2
num_encoder_layers = 1
num_decoder_layers = 1
d_ff = 32
max_len = 32
tie_weights = "all"
[training]
epochs = 1
batch_size = 2
[decoding]
beam_size = 2
"""


@pytest.fixture
def measure(folder, tmp_path):
    """A function that runs the command on the small files and returns its exit code."""
    (tmp_path / "tiny.toml").write_text(TINY)

    def run(*arguments):
        config, output = str(tmp_path / "tiny.toml"), str(tmp_path / "results.json")
        places = ["--config", config, "--run-dir", str(tmp_path / "run"), "--output", output]
        return multi30k.main(["--data", str(folder), *places, "--device", "cpu", *arguments])

    return run


def test_the_measurement_says_how_it_was_made(measure, tmp_path, capsys):
    assert measure() == 0
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["conditions"]["threads"] == 1
    assert results["seconds_of_training"] >= 0
    assert results["steps"] == 2
    assert results["tokenizer"]["num_merges"] == 20
    beam = results["test"]["beam"]
    assert beam["beam_size"] == 2
    assert list(beam["val_bleu"]) == [str(penalty) for penalty in multi30k.PENALTIES]
    assert beam["val_bleu"][str(beam["length_penalty"])] == max(beam["val_bleu"].values())
    for search in ("greedy", "beam"):
        assert results["test"][search]["bleu"]["signature"].startswith("nrefs:1|case:mixed")
        assert results["test"][search]["bleu_lowercase"]["signature"].startswith("nrefs:1|case:lc")
    assert "greedy: BLEU 0.00 (nrefs:1|case:mixed|" in capsys.readouterr().out
    translator = Translator.from_pretrained(tmp_path / "run", torch.device("cpu"))
    greedy = translator.evaluate(load_multi30k(tmp_path, "test_2016_flickr"))
    assert asdict(greedy) == results["test"]["greedy"]


def test_a_finished_run_is_only_scored_again(measure, tmp_path, monkeypatch):
    assert measure() == 0
    before = json.loads((tmp_path / "results.json").read_text())
    monkeypatch.setattr(multi30k, "train_translator", None)
    assert measure() == 0
    assert json.loads((tmp_path / "results.json").read_text()) == before


def test_a_run_of_unknown_time_is_refused(measure, tmp_path, capsys):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "last.pt").write_bytes(b"")
    assert measure() == 1
    assert "holds an unfinished run, whose time is not known" in capsys.readouterr().err


def test_no_results_without_data(measure, folder, tmp_path, capsys):
    (folder / "val.en").unlink()
    assert measure() == 1
    assert "error: Multi30k is missing" in capsys.readouterr().err
    assert not (tmp_path / "results.json").exists()
