"""Settings: what a training run is made from, read from a TOML file.

A file names its task and changes what it wants to change; the rest stays as the task has it::

    task = "reversal"

    [data]
    examples = 20000

    [training]
    epochs = 5
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from transformer_ref._validate import require_at_least_one
from transformer_ref.applications.g2p import MODEL_CONFIG as G2P_MODEL
from transformer_ref.applications.g2p import TRAINING_CONFIG as G2P_TRAINING
from transformer_ref.model import TransformerConfig
from transformer_ref.training import TrainingConfig

CONFIGS = Path(__file__).parents[1] / "assets" / "configs"
Task = Literal["g2p", "multi30k", "reversal", "dates"]
Section = TypeVar("Section")


@dataclass(frozen=True)
class DataSettings:
    """Where the examples come from.

    Attributes:
        folder: the files of Multi30k; for this task only.
        examples: pairs in the training split of a toy task.
        limit: use only so many pairs of each split, to try things out.
    """

    folder: str | None = None
    examples: int = 20_000
    limit: int | None = None

    def __post_init__(self) -> None:
        """Refuse splits without examples."""
        require_at_least_one(examples=self.examples)
        if self.limit is not None:
            require_at_least_one(limit=self.limit)


@dataclass(frozen=True)
class TokenizerSettings:
    """How text is cut; the grapheme-to-phoneme task has its own letters and phonemes.

    Attributes:
        kind: "word", "char" or "bpe".
        joint: one vocabulary for both sides, as tied source embeddings need it.
        num_merges: of byte-pair encoding.
        min_freq: rarer words or characters become the unknown token.
    """

    kind: Literal["word", "char", "bpe"] = "char"
    joint: bool = False
    num_merges: int = 4000
    min_freq: int = 1

    def __post_init__(self) -> None:
        """Refuse counts below 1."""
        require_at_least_one(num_merges=self.num_merges, min_freq=self.min_freq)


@dataclass(frozen=True)
class DecodingSettings:
    """How answers are searched.

    Attributes:
        beam_size: 1 = greedy.
        length_penalty: 0 ranks answers by their log-probability, 1 by its mean over the tokens.
        batch_size: sources decoded together.
    """

    beam_size: int = 1
    length_penalty: float = 1.0
    batch_size: int = 64

    def __post_init__(self) -> None:
        """Refuse sizes below 1 and penalties below 0."""
        require_at_least_one(beam_size=self.beam_size, batch_size=self.batch_size)
        if not self.length_penalty >= 0.0:
            raise ValueError(f"length_penalty must be at least 0, got {self.length_penalty!r}")


# Its vocabulary sizes stand in for those of the tokenizers, which are trained first.
_SMALL_MODEL = TransformerConfig(
    src_vocab_size=4, tgt_vocab_size=4, d_model=64, num_heads=4, num_encoder_layers=2,
    num_decoder_layers=2, d_ff=256, max_len=128, norm="pre",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """All of a run.

    Attributes:
        task: "g2p", "multi30k", "reversal" or "dates".
        data: where the examples come from.
        tokenizer: how text is cut.
        model: the Transformer; its vocabulary sizes are those of the tokenizers, whatever it says.
        training: the run.
        decoding: how answers are searched.

    Raises:
        ValueError: on a setting that would have no effect on this task.
    """

    task: Task
    data: DataSettings = field(default_factory=DataSettings)
    tokenizer: TokenizerSettings = field(default_factory=TokenizerSettings)
    model: TransformerConfig = _SMALL_MODEL
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: DecodingSettings = field(default_factory=DecodingSettings)

    def __post_init__(self) -> None:
        """Refuse what would have no effect."""
        if self.data.folder is not None and self.task != "multi30k":
            raise ValueError(
                f"data.folder must be left out of the task {self.task}, got {self.data.folder!r}"
            )
        if self.task == "g2p" and self.tokenizer != TokenizerSettings():
            raise ValueError(
                "tokenizer must be left out of the task g2p, which has its own letters and "
                f"phonemes, got {self.tokenizer}"
            )


def ready_configs() -> list[str]:
    """Return the names of the configs that ship with the package."""
    return sorted(path.stem for path in CONFIGS.glob("*.toml"))


def read_settings(config: str | Path) -> Settings:
    """Read a run's settings.

    Args:
        config: the name of a config that ships with the package, or the path of a TOML file.

    Returns:
        The settings; what the file leaves out is as the task has it.

    Raises:
        OSError: if there is no such file or name.
        ValueError: if the file is not TOML, or naming the file, the key, what came and what
            is allowed.
    """
    path = CONFIGS / f"{config}.toml" if str(config) in ready_configs() else Path(config)
    if not path.is_file():
        raise OSError(
            f"no config {str(config)!r}: neither a file nor one of {', '.join(ready_configs())}"
        )
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from error
    _require_known(content, [f.name for f in fields(Settings)], str(path))
    task = content.pop("task", None)
    if task not in get_args(Task):
        raise ValueError(f"{path}: task must be one of {_names(get_args(Task))}, got {task!r}")
    base = Settings(task)
    if task == "g2p":
        base = replace(base, model=G2P_MODEL, training=G2P_TRAINING)
    sections = {
        name: _read_section(getattr(base, name), table, f"{path}: {name}")
        for name, table in content.items()
    }
    try:
        return replace(base, **sections)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _read_section(base: Section, table: object, where: str) -> Section:
    """Return `base` with the values of a TOML table in place of its own."""
    if not isinstance(table, dict):
        raise ValueError(f"{where} must be a table, [section] in TOML, got {table!r}")
    hints = get_type_hints(type(base))
    if isinstance(base, TransformerConfig):
        for name in ("src_vocab_size", "tgt_vocab_size", "pad_id"):
            del hints[name]  # the tokenizers decide them
    _require_known(table, list(hints), where)
    for name, value in table.items():
        if not _fits(value, hints[name]):
            raise ValueError(f"{where}.{name} must be {_describe(hints[name])}, got {value!r}")
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in table.items()}
    try:
        return replace(base, **values)  # type: ignore[type-var]
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error


def _require_known(table: dict[str, Any], allowed: list[str], where: str) -> None:
    unknown = next((key for key in table if key not in allowed), None)
    if unknown is not None:
        raise ValueError(f"{where}: unknown key {unknown!r}; allowed are {_names(allowed)}")


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, option) for option in get_args(hint))
    if get_origin(hint) is tuple:
        options = get_args(hint)
        same_length = isinstance(value, list) and len(value) == len(options)
        return same_length and all(map(_fits, value, options))
    return type(value) in ((int, float) if hint is float else (hint,))


def _describe(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return f"one of {_names(get_args(hint))}"
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_describe(h) for h in get_args(hint) if h is not type(None))
    if get_origin(hint) is tuple:
        return f"a list of {len(get_args(hint))} numbers"
    return {int: "an integer", float: "a number", bool: "true or false", str: "a string"}[hint]


def _names(names: Any) -> str:
    return ", ".join(map(str, names))
