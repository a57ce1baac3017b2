"""save_pretrained and from_pretrained: what is kept, and what a broken folder says."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from tests.package.examples import small_batch, small_config, small_model
from transformer_ref import Transformer, TransformerConfig


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any attempt to reach out fails in a way that no code under test catches."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError(f"the network was asked for: {args} {kwargs}")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("getaddrinfo", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder with a small model."""
    small_model().save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def keys_of(folder: Path) -> list[str]:
    with safe_open(folder / "model.safetensors", framework="pt") as file:
        return list(file.keys())


class TestRoundTrip:
    """A loaded model is the saved one."""

    @pytest.mark.parametrize(
        "changes",
        [
            {"norm": "pre", "positions": "learned"},
            {"tie_weights": "target"},
            {"src_vocab_size": 19, "tie_weights": "all", "pad_id": 3, "dropout": 0.25},
        ],
        ids=["pre_learned", "target", "all"],
    )
    def test_same_outputs_and_config(
        self, device: torch.device, tmp_path: Path, changes: dict[str, object]
    ) -> None:
        model = small_model(device, **changes)
        model.save_pretrained(tmp_path)
        loaded = Transformer.from_pretrained(tmp_path, map_location=device)
        assert loaded.config == model.config == small_config(**changes)
        assert not loaded.training
        assert next(loaded.parameters()).device.type == device.type
        batch = small_batch(device, model.config)
        assert torch.equal(loaded(*batch), model(*batch))
        for name, tensor in model.state_dict().items():
            assert torch.equal(loaded.state_dict()[name], tensor), name

    def test_tied_weights_are_saved_once_and_tied_again(self, tmp_path: Path) -> None:
        sizes = {}
        for tie in ("none", "target", "all"):
            model = small_model(src_vocab_size=19, tie_weights=tie)
            model.save_pretrained(tmp_path / tie)
            wide = [key for key in keys_of(tmp_path / tie) if "embedding" in key or "output" in key]
            assert len(wide) == {"none": 3, "target": 2, "all": 1}[tie]
            sizes[tie] = (tmp_path / tie / "model.safetensors").stat().st_size
        assert sizes["none"] - sizes["all"] > 2 * 19 * 12 * 4
        loaded = Transformer.from_pretrained(tmp_path / "all")
        assert loaded.output_proj.weight is loaded.src_embedding.weight

    def test_position_tables_are_not_saved(self, saved: Path) -> None:
        assert not [key for key in keys_of(saved) if "position" in key]
        values = sum(parameter.numel() for parameter in small_model().parameters())
        assert (saved / "model.safetensors").stat().st_size < 4 * values + 20_000

    def test_learned_positions_are_saved(self, tmp_path: Path) -> None:
        small_model(positions="learned").save_pretrained(tmp_path)
        assert {"src_positions.weight", "tgt_positions.weight"} <= set(keys_of(tmp_path))

    def test_files_are_the_two_promised(self, saved: Path) -> None:
        assert sorted(contents(saved)) == ["config.json", "model.safetensors"]
        config = json.loads((saved / "config.json").read_text(encoding="utf-8"))
        assert TransformerConfig(**config) == small_config()

    def test_half_precision_weights_come_back_as_float32(self, tmp_path: Path) -> None:
        model = small_model().half()
        model.save_pretrained(tmp_path)
        loaded = Transformer.from_pretrained(tmp_path)
        for name, parameter in model.named_parameters():
            assert torch.equal(loaded.get_parameter(name), parameter.float())

    def test_saving_again_replaces(self, saved: Path) -> None:
        other = small_model(norm="pre")
        other.save_pretrained(saved)
        assert Transformer.from_pretrained(saved).config == other.config
        assert sorted(contents(saved)) == ["config.json", "model.safetensors"]

    @pytest.mark.parametrize("as_text", [False, True])
    def test_a_folder_may_be_text_and_nothing_is_printed(
        self, saved: Path, capfd: pytest.CaptureFixture[str], as_text: bool
    ) -> None:
        Transformer.from_pretrained(str(saved) if as_text else saved)
        assert capfd.readouterr() == ("", "")

    def test_a_pushed_model_is_named_after_its_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = []
        monkeypatch.setattr(
            Transformer, "push_to_hub", lambda self, repo_id, **kwargs: names.append(repo_id)
        )
        small_model().save_pretrained(tmp_path / "speller", push_to_hub=True)
        small_model().save_pretrained(tmp_path / "speller", push_to_hub=True, repo_id="me/other")
        assert names == ["speller", "me/other"]


class TestBrokenFolder:
    """Each kind of damage is an error that names the file."""

    @pytest.mark.parametrize("name", ["no/such-model", "bert-base-uncased", "/no/such/folder"])
    def test_missing_folder_never_asks_the_network(self, name: str) -> None:
        with pytest.raises(OSError, match=f"no checkpoint at {name}"):
            Transformer.from_pretrained(name)

    @pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
    def test_missing_file(self, saved: Path, name: str) -> None:
        (saved / name).unlink()
        with pytest.raises(OSError, match=rf"{name} does not exist"):
            Transformer.from_pretrained(saved)

    @pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
    def test_truncated_weights(self, saved: Path, share: float) -> None:
        path = saved / "model.safetensors"
        data = path.read_bytes()
        path.write_bytes(data[: int(share * len(data))])
        with pytest.raises(OSError, match=r"model\.safetensors is damaged"):
            Transformer.from_pretrained(saved)

    def test_weights_overwritten_with_something_else(self, saved: Path) -> None:
        (saved / "model.safetensors").write_bytes(b"<html>404</html>" * 100)
        with pytest.raises(OSError, match=r"model\.safetensors is damaged"):
            Transformer.from_pretrained(saved)

    @pytest.mark.parametrize(
        "text", ["", "{", '{"d_model": 12', "\x00\x01", '{"src_vocab_size": NaN, '], ids=repr
    )
    def test_config_that_is_not_json(self, saved: Path, text: str) -> None:
        (saved / "config.json").write_text(text, encoding="utf-8")
        with pytest.raises(OSError, match=r"config\.json is damaged"):
            Transformer.from_pretrained(saved)

    def test_config_that_is_not_text(self, saved: Path) -> None:
        (saved / "config.json").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(OSError, match=r"config\.json is damaged"):
            Transformer.from_pretrained(saved)

    @pytest.mark.parametrize("text", ["[1, 2]", "null", '"base"', "{}", '{"src_vocab_size": 5}'])
    def test_config_of_something_else(self, saved: Path, text: str) -> None:
        (saved / "config.json").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=r"config\.json is not the config of this model"):
            Transformer.from_pretrained(saved)

    def test_unknown_key(self, saved: Path) -> None:
        self.edit(saved, hidden_size=12)
        with pytest.raises(ValueError, match=r"config\.json .*'hidden_size'"):
            Transformer.from_pretrained(saved)

    @pytest.mark.parametrize(
        ("key", "value"),
        [("num_heads", 5), ("d_model", "12"), ("dropout", "0.1"), ("norm", "mid"), ("pad_id", 1.5)],
    )
    def test_value_that_no_model_can_have(self, saved: Path, key: str, value: object) -> None:
        self.edit(saved, **{key: value})
        with pytest.raises(OSError, match=rf"config\.json is damaged: {key}"):
            Transformer.from_pretrained(saved)

    @pytest.mark.parametrize(
        "changes",
        [
            {"d_model": 24},
            {"d_ff": 21},
            {"tgt_vocab_size": 18},
            {"num_encoder_layers": 3},
            {"num_encoder_layers": 1},
            {"norm": "pre"},
            {"positions": "learned"},
            {"tie_weights": "target"},
        ],
        ids=str,
    )
    def test_config_of_another_model(self, saved: Path, changes: dict[str, object]) -> None:
        """Missing and left-over weights too: a layer with random weights would pass unseen."""
        self.edit(saved, **changes)
        with pytest.raises(ValueError, match=r"the weights in .* do not fit its config\.json"):
            Transformer.from_pretrained(saved)

    def test_a_message_does_not_grow_with_the_model(self, saved: Path) -> None:
        self.edit(saved, num_encoder_layers=50)
        with pytest.raises(ValueError, match="do not fit") as error:
            Transformer.from_pretrained(saved)
        assert len(str(error.value)) < 600 + len(str(saved))

    @staticmethod
    def edit(folder: Path, **changes: object) -> None:
        config = dataclasses.asdict(small_config()) | changes
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


class TestFailingSave:
    """What was there before stays whole, and nothing is left lying about."""

    @pytest.mark.parametrize("step", ["weights", "replace"])
    def test_old_files_stay(self, saved: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
        before = contents(saved)

        def disk_full(*args: object) -> None:
            if step == "weights":
                (Path(args[1]) / "model.safetensors").write_bytes(b"half")
            raise OSError("No space left on device")

        if step == "weights":
            monkeypatch.setattr(Transformer, "_save_pretrained", disk_full)
        else:
            monkeypatch.setattr(os, "replace", disk_full)
        with pytest.raises(OSError, match="No space left"):
            small_model(norm="pre").save_pretrained(saved)
        assert contents(saved) == before

    def test_a_file_in_the_place_of_the_folder(self, tmp_path: Path) -> None:
        (tmp_path / "model").write_text("not a folder", encoding="utf-8")
        with pytest.raises(OSError, match="model"):
            small_model().save_pretrained(tmp_path / "model")
        assert (tmp_path / "model").read_text(encoding="utf-8") == "not a folder"


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077])
def test_files_have_the_mode_that_the_umask_gives(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        small_model().save_pretrained(tmp_path / "model")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "model").iterdir()}
    assert modes == dict.fromkeys(("config.json", "model.safetensors"), 0o666 & ~umask)
