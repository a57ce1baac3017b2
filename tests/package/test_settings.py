"""Settings: what a file changes and what it leaves; each wrong key and type refused by name."""

from dataclasses import replace

import pytest

from transformer_ref.applications import g2p
from transformer_ref.applications.settings import (
    DataSettings,
    DecodingSettings,
    Settings,
    TokenizerSettings,
    read_settings,
    ready_configs,
)
from transformer_ref.model import TransformerConfig
from transformer_ref.training import TrainingConfig


@pytest.fixture
def config(tmp_path):
    """A function that writes a config and returns its path."""

    def write(text):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return path

    return write


def test_a_task_alone_is_its_defaults(config):
    settings = read_settings(config('task = "dates"'))
    assert settings == Settings("dates")
    assert settings.training == TrainingConfig()
    assert settings.decoding == DecodingSettings(beam_size=1)


def test_g2p_is_as_its_module_has_it(config):
    settings = read_settings("g2p")
    assert settings == read_settings(config('task = "g2p"'))
    assert settings.model == g2p.MODEL_CONFIG
    assert settings.training == g2p.TRAINING_CONFIG
    changed = read_settings(config('task = "g2p"\n[training]\nepochs = 3'))
    assert changed.training == replace(g2p.TRAINING_CONFIG, epochs=3)


def test_every_section_is_read(config):
    settings = read_settings(
        config(
            """
            task = "multi30k"
            [data]
            folder = "there"
            examples = 7
            limit = 5
            [tokenizer]
            kind = "bpe"
            joint = true
            num_merges = 9
            min_freq = 2
            [model]
            d_model = 32
            dropout = 0
            norm = "post"
            [training]
            learning_rate = 2
            betas = [0.8, 0.9]
            batch_tokens = 100
            precision = "bfloat16"
            [decoding]
            beam_size = 4
            length_penalty = 0.5
            batch_size = 3
            """
        )
    )
    assert settings.data == DataSettings("there", 7, 5)
    assert settings.tokenizer == TokenizerSettings("bpe", True, 9, 2)
    assert settings.model == replace(Settings("multi30k").model, d_model=32, dropout=0, norm="post")
    assert settings.training == TrainingConfig(
        learning_rate=2, betas=(0.8, 0.9), batch_tokens=100, precision="bfloat16"
    )
    assert settings.decoding == DecodingSettings(4, 0.5, 3)


@pytest.mark.parametrize("name", ready_configs())
def test_the_ready_configs_can_be_read(name):
    settings = read_settings(name)
    assert settings.task == name
    assert isinstance(settings.model, TransformerConfig)


def test_there_is_a_ready_config_for_every_task():
    assert ready_configs() == ["dates", "g2p", "multi30k", "reversal"]


@pytest.mark.parametrize("content", [b"task = ", b'task = "caf\xe9"'], ids=["syntax", "latin-1"])
def test_what_is_not_toml_is_named(tmp_path, content):
    (tmp_path / "bad.toml").write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.toml is not a TOML file: "):
        read_settings(tmp_path / "bad.toml")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", r"task must be one of g2p, multi30k, reversal, dates, got None"),
        ('task = "sums"', r"task must be one of g2p, multi30k, reversal, dates, got 'sums'"),
        ('task = "dates"\nepochs = 3', r"unknown key 'epochs'; allowed are task, data, tokenizer"),
        ('task = "dates"\nmodel = 3', r"model must be a table, \[section\] in TOML, got 3"),
        ('task = "g2p"\n[tokenizer]\nkind = "bpe"', r"tokenizer must be left out of the task g2p"),
    ],
)
def test_each_wrong_task_or_section_is_named_with_its_file(config, text, problem):
    with pytest.raises(ValueError, match=rf"mine\.toml: {problem}"):
        read_settings(config(text))


@pytest.mark.parametrize(
    ("section", "setting", "problem"),
    [
        ("data", 'file = "x"', r"data: unknown key 'file'; allowed are folder, examples, limit"),
        ("data", "folder = 3", r"data\.folder must be a string, got 3"),
        ("data", 'limit = "3"', r"data\.limit must be an integer, got '3'"),
        ("data", "examples = 0", r"data: examples must be .* at least 1, got 0"),
        ("data", 'folder = "x"', r"data.folder must be left out of the task dates, got 'x'"),
        ("tokenizer", 'kind = "byte"', r"tokenizer\.kind must be one of .* bpe, got 'byte'"),
        ("tokenizer", "joint = 1", r"tokenizer\.joint must be true or false, got 1"),
        ("tokenizer", "num_merges = 0", r"tokenizer: num_merges must be .* at least 1, got 0"),
        ("model", "d_model = 64.0", r"model\.d_model must be an integer, got 64.0"),
        ("model", "d_model = true", r"model\.d_model must be an integer, got True"),
        ("model", 'dropout = "low"', r"model\.dropout must be a number, got 'low'"),
        ("model", 'norm = "no"', r"model\.norm must be one of post, pre, got 'no'"),
        ("model", "pad_id = 3", r"model: unknown key 'pad_id'; allowed are d_model"),
        ("model", "src_vocab_size = 3", r"model: unknown key 'src_vocab_size'"),
        ("model", "num_heads = 7", r"model: num_heads must divide d_model"),
        ("training", "betas = [0.9]", r"training\.betas .* list of 2 numbers, got \[0.9\]"),
        ("training", 'betas = [0.9, "x"]', r"training\.betas .* 2 numbers, got \[0.9, 'x'\]"),
        ("training", "betas = 0.9", r"training\.betas must be a list of 2 numbers"),
        ("training", "epochs = 0", r"training: epochs must be .* got 0"),
        ("decoding", "beam_size = 0", r"decoding: beam_size must be .* at least 1, got 0"),
        ("decoding", "length_penalty = -0.5", r"decoding: length_penalty .* least 0, got -0.5"),
        ("decoding", 'length_penalty = "1"', r"decoding\.length_penalty must be a number, got '1'"),
    ],
)
def test_each_wrong_setting_is_named_with_its_file(config, section, setting, problem):
    with pytest.raises(ValueError, match=rf"mine\.toml: {problem}"):
        read_settings(config(f'task = "dates"\n[{section}]\n{setting}'))
