"""Files are written whole or not at all, and those that belong together together."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.package.examples import small_model
from transformer_ref import Transformer
from transformer_ref.applications.translation import Translator
from transformer_ref.files import whole_file, write_json, write_text
from transformer_ref.tokenizers import CharTokenizer


class Kill(BaseException):
    """What no code under test catches, as it could not catch a kill."""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_content_is_on_the_disk_before_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    replace, fsync = os.replace, os.fsync

    def synced(file: int) -> None:
        calls.append(("fsync", os.fstat(file).st_size))
        fsync(file)

    def replaced(source: Path, target: Path) -> None:
        assert Path(source).parent == Path(target).parent
        calls.append(("replace", Path(source).stat().st_size))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write_text(tmp_path / "a.txt", "f\u00fcnf")
    assert calls == [("fsync", 5), ("replace", 5)]
    assert contents(tmp_path) == {"a.txt": "f\u00fcnf".encode()}


def test_two_who_write_one_file_do_not_meet(tmp_path: Path) -> None:
    with whole_file(tmp_path / "a") as first:
        first.write(b"first, ")
        with whole_file(tmp_path / "a") as second:
            second.write(b"second")
        assert (tmp_path / "a").read_bytes() == b"second"
        first.write(b"to the end")
    assert contents(tmp_path) == {"a": b"first, to the end"}


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_what_fails_leaves_what_was_there(tmp_path: Path, error: type[BaseException]) -> None:
    write_text(tmp_path / "a", "old")
    for name in ("a", "b"):
        with pytest.raises(error), whole_file(tmp_path / name) as file:  # noqa: PT012
            file.write(b"half")
            raise error
    with pytest.raises(TypeError):
        write_json(tmp_path / "a", {1, 2})
    assert contents(tmp_path) == {"a": b"old"}


def test_permissions_are_those_of_the_old_file_or_the_usual_ones(tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("")
    (tmp_path / "script").write_text("")
    (tmp_path / "script").chmod(0o750)
    for name in ("new", "script"):
        write_text(tmp_path / name, "x")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes["new"] == modes["usual"]
    assert modes["script"] == 0o750


def killed_saves(save: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> Iterator[int | None]:
    """Call `save` and kill it before each of its renames in turn; at the end let it finish."""
    replace = os.replace
    for limit in range(100):
        done = 0

        def stop(*paths: Any, limit: int = limit) -> None:
            nonlocal done
            if done == limit:
                raise Kill
            done += 1
            replace(*paths)

        with monkeypatch.context() as patch, contextlib.suppress(Kill):
            patch.setattr(os, "replace", stop)
            save()
            break
        yield limit
    yield None


def test_a_kill_never_leaves_new_weights_beside_an_old_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have the same shapes, so that nothing else would tell."""
    ids = torch.tensor([[3, 4]])
    models = {heads: small_model(num_heads=heads) for heads in (2, 3)}
    expected = {heads: model(ids, ids) for heads, model in models.items()}
    seen = []
    models[2].save_pretrained(tmp_path)
    for killed in killed_saves(lambda: models[3].save_pretrained(tmp_path), monkeypatch):
        if not (tmp_path / "config.json").exists():
            with pytest.raises(OSError, match=r"config\.json does not exist"):
                Transformer.from_pretrained(tmp_path)
            seen.append("refused")
        else:
            found = Transformer.from_pretrained(tmp_path)
            heads = found.config.num_heads
            assert torch.equal(found(ids, ids), expected[heads])
            seen.append("old" if heads == 2 else "new")
        if killed is not None:
            models[2].save_pretrained(tmp_path)
    assert seen == ["old", "refused", "refused", "new"]
    assert {"config.json", "model.safetensors"} == {path.name for path in tmp_path.iterdir()}


def test_weights_alone_are_replaced_in_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_model().save_pretrained(tmp_path)
    other = small_model()
    torch.nn.init.normal_(other.output_proj.weight)
    for killed in killed_saves(lambda: other.save_pretrained(tmp_path), monkeypatch):
        found = Transformer.from_pretrained(tmp_path).output_proj.weight
        assert torch.equal(found, other.output_proj.weight) == (killed is None)
    assert killed is None


def test_a_kill_never_leaves_a_new_model_beside_old_tokenizers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def translator(letters: str, heads: int) -> Translator:
        tokenizer = CharTokenizer.train([letters])
        size = len(tokenizer)
        model = small_model(num_heads=heads, src_vocab_size=size, tgt_vocab_size=size)
        return Translator(model, tokenizer, tokenizer, torch.device("cpu"))

    old, new = translator("abc", 2), translator("xyz", 3)
    old.save_pretrained(tmp_path)
    seen = set()
    for _ in killed_saves(lambda: new.save_pretrained(tmp_path), monkeypatch):
        try:
            found = Translator.from_pretrained(tmp_path, torch.device("cpu"))
        except OSError:
            seen.add("refused")
            continue
        letters = {side.decode(range(3, len(side)))[-1] for side in (found.source, found.target)}
        heads = found.model.config.num_heads
        assert (letters, heads) in (({"c"}, 2), ({"z"}, 3))
        seen.add("old" if heads == 2 else "new")
    assert seen == {"old", "refused", "new"}
