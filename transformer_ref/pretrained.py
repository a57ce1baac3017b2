"""Pretrained models: a model as a folder with config.json and model.safetensors."""

import contextlib
import io
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from textwrap import shorten
from typing import Any, ClassVar, Self

import torch
from huggingface_hub import PyTorchModelHubMixin
from safetensors import SafetensorError
from torch import nn

from transformer_ref.files import move_together


class PretrainedModel(nn.Module, PyTorchModelHubMixin):
    """A model made from one config, which it keeps as ``config``; base class of the models.

    A subclass annotates the argument of its ``__init__`` with the class of the config, and its
    module does not postpone annotations: the mixin reads this one to make the config.

    Attributes:
        config_class: the dataclass of the config.
    """

    config_class: ClassVar[type]
    config: Any

    def save_pretrained(self, save_directory: str | Path, **kwargs: Any) -> None:
        """Write config.json and model.safetensors (tied weights once), both or none.

        A kill in the middle leaves the old model, the new one, or a folder without config.json,
        which :meth:`from_pretrained` refuses.

        Args:
            save_directory: made if it does not exist.
            kwargs: as in ``PyTorchModelHubMixin.save_pretrained``.

        Raises:
            OSError: if the folder cannot be written; what was there before stays.
        """
        folder = Path(save_directory)
        folder.mkdir(parents=True, exist_ok=True)
        kwargs.setdefault("repo_id", folder.name)  # the mixin would take the temporary name
        with tempfile.TemporaryDirectory(dir=folder) as new:
            super().save_pretrained(new, config=asdict(self.config), **kwargs)
            (Path(new) / "README.md").unlink(missing_ok=True)  # the mixin's, without content
            # safetensors writes for the owner alone; Python writes as the umask says.
            mode = (Path(new) / "config.json").stat().st_mode
            (Path(new) / "model.safetensors").chmod(mode)
            move_together(Path(new), folder, last="config.json")

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls,
        folder: str | Path,
        *,
        map_location: str | torch.device = "cpu",
        dtype: torch.dtype | None = None,
        **kwargs: Any,
    ) -> Self:
        """Read what :meth:`save_pretrained` wrote.

        Args:
            folder: a local folder. For a model on the Hugging Face Hub pass its name
                and ``local_files_only=False``; nothing is ever fetched without that.
            map_location: the device of the loaded model.
            dtype: of its floating weights; None = float32, in which they are stored.
            kwargs: as in ``PyTorchModelHubMixin.from_pretrained``.

        Returns:
            The model, in eval mode.

        Raises:
            OSError: if a file is missing or damaged; the message names it.
            ValueError: if config.json and the weights do not fit each other,
                or `dtype` is not floating.
        """
        if dtype is not None and not dtype.is_floating_point:
            raise ValueError(f"dtype must be floating, got {dtype}")
        kwargs.setdefault("strict", True)  # the mixin would leave missing weights untrained
        if kwargs.setdefault("local_files_only", True):
            _require_checkpoint(Path(folder), cls.config_class)
        try:
            # The mixin prints where it loads from; a library should not.
            with contextlib.redirect_stdout(io.StringIO()):
                model = super().from_pretrained(folder, **kwargs)
        except SafetensorError as error:
            raise OSError(f"{Path(folder) / 'model.safetensors'} is damaged: {error}") from error
        except RuntimeError as error:
            raise ValueError(
                f"the weights in {folder} do not fit its config.json: {shorten(str(error), 500)}"
            ) from error
        return model.to(device=map_location, dtype=dtype)


def _require_checkpoint(folder: Path, config_class: type) -> None:
    """Refuse a folder without a readable config.json or without weights, by name."""
    file = folder / "config.json"
    for path in (folder, file, folder / "model.safetensors"):
        if not path.exists():
            raise OSError(f"no checkpoint at {folder}: {path} does not exist")
    try:
        config_class(**json.loads(file.read_text(encoding="utf-8")))
    except ValueError as error:
        raise OSError(f"{file} is damaged: {error}") from error
    except TypeError as error:
        raise ValueError(f"{file} is not the config of this model: {error}") from error
