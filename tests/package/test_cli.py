"""The command line: train, translate and evaluate, and each error told in one line."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.timeouts import COMMAND_SECONDS
from transformer_ref.applications import command_line as cli
from transformer_ref.applications.command_line import main
from transformer_ref.applications.g2p import load_g2p
from transformer_ref.applications.toys import date_pairs, reversal_pairs
from transformer_ref.data import load_cmudict

TINY = """
task = "{task}"
{data}
[model]
d_model = 16
num_heads = 2
num_encoder_layers = 1
num_decoder_layers = 1
d_ff = 32
max_len = 64
{model}
[training]
epochs = 1
batch_size = 8
warmup = 2
[decoding]
batch_size = 16
"""


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def config(tmp_path):
    """A function that writes the config of a tiny model and returns its name."""

    def write(task, data="", model=""):
        (tmp_path / "tiny.toml").write_text(TINY.format(task=task, data=data, model=model))
        return "tiny.toml"

    return write


@pytest.fixture
def multi30k(tmp_path):
    folder = tmp_path / "multi30k"
    folder.mkdir()
    for split in ("train", "val", "test_2016_flickr"):
        (folder / f"{split}.de").write_text("Ein Hund rennt.\nZwei Hunde.\n" * 10)
        (folder / f"{split}.en").write_text("A dog runs.\nTwo dogs.\n" * 10)
    return folder


def run(*arguments):
    return main([str(argument) for argument in arguments])


def test_the_model_that_ships_pronounces_arguments(capsys):
    assert run("translate", "--device", "cpu", "knight", "phone") == 0
    assert capsys.readouterr().out == "N AY T\nF OW N\n"


def test_it_pronounces_lines_from_stdin_too(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("knight\nphone\n"))
    assert run("translate", "--device", "cpu") == 0
    assert capsys.readouterr().out == "N AY T\nF OW N\n"


def test_one_bad_word_on_stdin_loses_no_answer(capsys, monkeypatch):
    lines = "\ufeffknight\n\nNight\nwell-known\ndon\u2019t\nna\u00efve\nphone"
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    assert run("translate", "--device", "cpu") == 1
    printed = capsys.readouterr()
    answers = printed.out.split("\n")
    assert answers[:3] == ["N AY T", "", "N AY T"]
    assert answers[3].startswith("? token '-' is not in the vocabulary")
    assert answers[4] == "D OW N T"
    assert answers[5].startswith("? token '\u00ef' is not")
    assert answers[6:] == ["F OW N", ""]
    assert "2 of 7 texts have no answer; the first is number 4, 'well-known'" in printed.err


def test_a_word_that_is_too_long_is_told_beside_the_others(capsys):
    assert run("translate", "--device", "cpu", "phone", "a" * 600) == 1
    answers = capsys.readouterr().out.splitlines()
    assert answers[0] == "F OW N"
    assert answers[1].startswith("? a word has at most")


def test_nothing_on_stdin_gives_nothing(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert run("translate", "--device", "cpu") == 0
    assert capsys.readouterr().out == ""


def test_it_is_scored_as_the_speller_scores_itself(capsys):
    rates = load_g2p(torch.device("cpu")).evaluate(load_cmudict("dev")[:100])
    assert run("evaluate", "--device", "cpu", "--split", "dev", "--limit", 100) == 0
    expected = f"dev: PER {rates['per']:.2%}, WER {rates['wer']:.2%}\n"
    assert capsys.readouterr().out == expected


def test_a_toy_is_trained_saved_used_and_scored(config, capsys):
    name = config("reversal", "[data]\nexamples = 40")
    assert run("train", "--config", name, "--limit", 30, "--device", "cpu") == 0
    trained = capsys.readouterr().out
    results = json.loads(Path("runs/tiny/results.json").read_text())
    assert results["pairs"] == {"train": 30, "dev": 30, "test": 30}
    assert results["model"]["d_model"] == 16
    test = f"test: exact match {results['test']['exact_match']:.2%}\n"
    assert trained.endswith(test + "written: runs/tiny\n")
    assert run("evaluate", "--config", name, "--limit", 30, "--device", "cpu") == 0
    assert capsys.readouterr().out == test
    assert run("translate", "--config", name, "--device", "cpu", "abc", "", "x") == 0
    answers = capsys.readouterr().out.split("\n")
    assert len(answers) == 4
    assert answers[1] == answers[3] == ""


@pytest.mark.weekly
def test_small_models_are_trained_on_one_thread_unless_asked(config):
    torch.set_num_threads(2)
    name = config("reversal", "[data]\nexamples = 9")
    arguments = ("train", "--config", name, "--device", "cpu", "--limit", 9)
    for number, options in ((1, ()), (2, ("--threads", 2))):
        assert run(*arguments, "--run-dir", f"on {number}", *options) == 0
        results = json.loads(Path(f"on {number}", "results.json").read_text())
        assert results["threads"] == number


def test_another_limit_needs_another_folder(config, capsys):
    name = config("reversal", "[data]\nexamples = 40")
    for first, second in ((10, 30), (30, 10)):
        folder = f"runs/{first}"
        arguments = ("train", "--config", name, "--run-dir", folder, "--device", "cpu")
        assert run(*arguments, "--limit", first) == 0
        kept = Path(folder, "results.json").read_text()
        capsys.readouterr()
        assert run(*arguments, "--limit", second) == 1
        told = capsys.readouterr().err
        assert told.startswith(f"error: run_dir holds another run: {folder}/last.pt was made with")
        assert re.search(rf"examples={first} .* got examples={second} .*; use another folder", told)
        assert Path(folder, "results.json").read_text() == kept


def test_multi30k_is_scored_with_signatures(config, multi30k, capsys):
    name = config("multi30k", '[tokenizer]\nkind = "bpe"\njoint = true', 'tie_weights = "all"')
    assert run("train", "--config", name, "--data", multi30k, "--device", "cpu") == 0
    scores = re.compile(
        r"test: \n  BLEU \d+\.\d\d \(nrefs:1\|case:mixed\|.*\)\n"
        r"  BLEU \d+\.\d\d \(nrefs:1\|case:lc\|.*\)\n  chrF2 \d+\.\d\d \(nrefs:1\|case:mixed.*\)\n"
    )
    assert scores.search(capsys.readouterr().out)
    arguments = ("--config", name, "--data", multi30k, "--device", "cpu", "--split", "dev")
    assert run("evaluate", *arguments, "--beam-size", 2) == 0
    assert scores.search(capsys.readouterr().out.replace("dev", "test"))


def test_each_task_has_its_pairs(config, multi30k):
    def pairs(task, split, data=""):
        return cli.load_pairs(cli.read_settings(config(task, data)), split)

    assert pairs("reversal", "train", "[data]\nexamples = 9") == reversal_pairs("train", 9)
    assert len(pairs("reversal", "dev", "[data]\nexamples = 9")) == 1000
    assert pairs("dates", "dev", "[data]\nlimit = 9") == date_pairs("dev", 1000)[:9]
    folder = f'[data]\nfolder = "{multi30k}"\nlimit = 1'
    assert pairs("multi30k", "test", folder) == [("Ein Hund rennt.", "A dog runs.")]
    (multi30k / "val.en").write_text("A cat.\n" * 20)
    assert pairs("multi30k", "dev", folder) == [("Ein Hund rennt.", "A cat.")]


def test_the_dictionary_has_no_pairs():
    with pytest.raises(ValueError, match="must be of a text-to-text task, got 'g2p'"):
        cli.load_pairs(cli.read_settings("g2p"), "dev")


def test_options_go_before_the_config(config, monkeypatch):
    found = []
    monkeypatch.setattr(cli, "train_translator", lambda *_, **__: {})
    monkeypatch.setattr(
        cli, "load_pairs", lambda settings, _: found.append(settings) or [("a", "b")]
    )
    name = config("reversal", "[data]\nlimit = 3")
    assert run("train", "--config", name, "--epochs", 7, "--seed", 5) == 0
    assert (found[0].training.epochs, found[0].training.seed) == (7, 5)
    assert found[0].training.batch_size == 8
    assert found[0].data.limit == 3
    assert run("train", "--config", config("multi30k"), "--limit", 2, "--data", "there") == 0
    assert (found[-1].data.limit, found[-1].data.folder) == (2, "there")
    assert found[-1].training.epochs == 1


def test_the_search_is_that_of_the_config_or_of_the_options(config, monkeypatch, capsys):
    searches = []

    class Recorder:
        def translate(self, texts, **search):
            searches.append(search)
            return texts

        def why_not(self, text):
            return ""

    monkeypatch.setattr(cli, "_load", lambda *_: Recorder())
    name = config("reversal")
    assert run("translate", "--config", name, "a") == 0
    assert searches[-1] == {"beam_size": 1, "length_penalty": 1.0, "batch_size": 16}
    options = ("--beam-size", 3, "--length-penalty", 0.5, "--batch-size", 2)
    assert run("translate", "--config", name, *options, "a") == 0
    assert searches[-1] == {"beam_size": 3, "length_penalty": 0.5, "batch_size": 2}
    assert capsys.readouterr().out == "a\na\n"


@pytest.mark.weekly
def test_g2p_is_trained_as_its_config_says(config, capsys):
    assert run("train", "--config", config("g2p"), "--limit", 20, "--run-dir", "here") == 0
    results = json.loads(Path("here/results.json").read_text())
    assert results["words"] == {"train": 20, "dev": 20, "test": 20}
    assert results["model"]["d_model"] == 16
    assert results["model"]["src_vocab_size"] == 30
    assert f"test: PER {results['test']['per']:.2%}" in capsys.readouterr().out
    assert run("translate", "--model", "here", "--device", "cpu", "knight") == 0


@pytest.mark.weekly
@pytest.mark.parametrize(("supported", "used"), [(True, "bfloat16"), (False, "float32")])
def test_a_processor_without_bfloat16_trains_in_float32(
    config, capsys, monkeypatch, supported, used
):
    monkeypatch.setattr(cli, "has_bfloat16", lambda device: supported)
    text = Path(config("g2p", data="[data]\nlimit = 20")).read_text()
    Path("tiny.toml").write_text(text.replace("epochs = 1", 'epochs = 1\nprecision = "bfloat16"'))
    assert run("train", "--config", "tiny.toml", "--run-dir", "run") == 0
    told = "training in float32: cpu has no instructions for bfloat16"
    assert (told in capsys.readouterr().out) is not supported
    assert json.loads(Path("run/results.json").read_text())["training"]["precision"] == used


def test_an_interrupted_training_says_how_to_go_on(config, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    for task, trainer in (("g2p", "train_g2p"), ("reversal", "train_translator")):
        monkeypatch.setattr(cli, trainer, interrupt)
        assert run("train", "--config", config(task), "--run-dir", "there") == 130
        told = capsys.readouterr().err
        assert told.startswith("interrupted; the last checkpoint is in there, and the same command")
    monkeypatch.setattr(cli, "_load", interrupt)
    assert run("translate", "knight") == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["translate", "Knight!"], "1 of 1 texts have no answer; the first is number 1, 'Knight!'"),
        (["translate", "--model", "nowhere", "a"], "no checkpoint at nowhere"),
        (["translate", "--config", "dates", "a"], "no checkpoint at runs/dates"),
        (["translate", "--config", "mine", "a"], "no config 'mine'"),
        (["translate", "--beam-size", "0", "a"], "beam_size must be an integer of at least 1"),
        (["translate", "--length-penalty", "-1", "a"], "length_penalty must be at least 0, got -1"),
        (["evaluate", "--data", "there"], "data.folder must be left out of the task g2p"),
        (["evaluate", "--limit", "0"], "limit must be an integer of at least 1, got 0"),
        (["evaluate", "--limit", "-5"], "limit must be an integer of at least 1, got -5"),
        (["train", "--epochs", "0"], "epochs must be an integer of at least 1, got 0"),
        (["train", "--config", "multi30k"], "the task multi30k needs the folder of its files: --"),
        (["train", "--config", "multi30k", "--data", "nowhere"], "Multi30k is missing: nowhere"),
    ],
)
def test_each_error_is_one_line_and_exit_code_1(arguments, problem, capsys):
    assert run(*arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {problem}")
    assert error.count("\n") == 1


def test_a_damaged_run_is_named(config, capsys, tmp_path):
    (tmp_path / "runs" / "tiny").mkdir(parents=True)
    (tmp_path / "runs" / "tiny" / "last.pt").write_bytes(b"damaged")
    assert run("train", "--config", config("reversal", "[data]\nexamples = 9")) == 1
    assert "error: runs/tiny/last.pt is damaged" in capsys.readouterr().err


def test_a_model_of_another_task_is_refused(config, capsys):
    name = config("reversal")
    assert run("train", "--config", name, "--limit", 9, "--device", "cpu") == 0
    assert run("translate", "--config", "g2p", "--model", "runs/tiny", "a") == 1
    assert "model must have 30 source and 42 target tokens" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "arguments are required: COMMAND"),
        (["fly"], "invalid choice: 'fly'"),
        (["train", "--device", "abacus"], "cannot compute on 'abacus'"),
        (["train", "--device", "cuda:99"], "cannot compute on 'cuda:99'"),
        (["train", "--threads", "0"], "--threads: must be an integer of at least 1, got '0'"),
        (["translate", "--threads", "x"], "--threads: must be an integer of at least 1, got 'x'"),
        (["train", "--epochs", "many"], "argument --epochs: invalid int value: 'many'"),
        (["evaluate", "--split", "val"], "argument --split: invalid choice: 'val'"),
    ],
)
def test_wrong_options_are_told_with_exit_code_2(arguments, problem, capsys):
    with pytest.raises(SystemExit) as stop:
        run(*arguments)
    assert stop.value.code == 2
    assert problem in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_here_is_refused(capsys):
    with pytest.raises(SystemExit):
        run("translate", "--device", "cuda", "a")
    assert "argument --device: cannot compute on 'cuda': " in capsys.readouterr().err


@pytest.mark.parametrize("command", ["", "train", "translate", "evaluate"])
def test_help_shows_every_option_with_its_meaning(command, capsys):
    with pytest.raises(SystemExit) as stop:
        run(*command.split(), "--help")
    assert stop.value.code == 0
    text = capsys.readouterr().out
    expected = (
        ["--config", "--device", "dates, g2p, multi30k, reversal"] if command else ["examples:"]
    )
    assert all(part in text for part in expected)


def test_the_examples_of_the_help_are_understood():
    commands = re.findall(r"-m transformer_ref (.*?)(?:   .*)?$", cli.EXAMPLES, flags=re.MULTILINE)
    assert len(commands) == 7
    for command in commands:
        cli._parser().parse_args(command.split())


@pytest.mark.weekly
@pytest.mark.slow
def test_under_torchrun_the_first_process_speaks_for_all(config):
    name = config("reversal", "[data]\nexamples = 24\nlimit = 24")
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = ["-m", "transformer_ref", "train", "--config", name, "--device", "cpu"]
    process = subprocess.run(
        [sys.executable, *launcher, *command],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
    )
    assert process.returncode == 0, process.stderr
    assert [line.partition(":")[0] for line in process.stdout.splitlines()] == [
        "epoch 1",
        "dev",
        "test",
        "written",
    ]
