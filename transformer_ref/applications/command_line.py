"""Train models from files of settings, translate with them, and score them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

import torch

from transformer_ref.applications.g2p import CHECKPOINT, Speller, load_g2p, train_g2p
from transformer_ref.applications.settings import Settings, read_settings, ready_configs
from transformer_ref.applications.toys import date_pairs, reversal_pairs
from transformer_ref.applications.translation import (
    Pair,
    Translator,
    train_tokenizers,
    train_translator,
)
from transformer_ref.data import Multi30kSplit, Split, load_cmudict, load_multi30k
from transformer_ref.device import has_bfloat16, pick_device
from transformer_ref.training import TrainingConfig

EXAMPLES = """examples:
  python -m transformer_ref translate knight                the model that ships: N AY T
  python -m transformer_ref train --config reversal         half a minute, to see it work
  python -m transformer_ref translate --config reversal abc
  python -m transformer_ref train --config multi30k --data FOLDER
  echo "Zwei Hunde spielen." | python -m transformer_ref translate --config multi30k
  python -m transformer_ref evaluate --config multi30k --data FOLDER --beam-size 5
  torchrun --nproc-per-node 2 -m transformer_ref train --config mine.toml
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; see ``python -m transformer_ref --help``.

    Args:
        arguments: None = those of the process.

    Returns:
        0; 1 after an error, which is told on stderr; 130 after Ctrl-C.
        Wrong options end the process with 2, as is the custom of argparse.
    """
    options = _parser().parse_args(arguments)
    torch.set_num_threads(options.threads)
    try:
        options.run(_settings(options), options)
    except KeyboardInterrupt:
        print("interrupted" + _how_to_go_on(options), file=sys.stderr)
        return 130
    except (ValueError, OSError, FloatingPointError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def load_pairs(settings: Settings, split: Split) -> list[Pair]:
    """Load one split of a text-to-text task.

    Args:
        settings: names the task, its folder or its number of examples.
        split: "train", "dev" or "test"; of Multi30k: train, val or test_2016_flickr.

    Returns:
        Pairs of source and target text.

    Raises:
        OSError: if files of Multi30k are missing or damaged.
        ValueError: if no folder of Multi30k is named, or the task is another.
    """
    data, draw = settings.data, {"reversal": reversal_pairs, "dates": date_pairs}
    if settings.task == "multi30k":
        if data.folder is None:
            raise ValueError(
                "the task multi30k needs the folder of its files: "
                "--data FOLDER, or data.folder in the config"
            )
        names: dict[Split, Multi30kSplit] = {
            "train": "train",
            "dev": "val",
            "test": "test_2016_flickr",
        }
        pairs = load_multi30k(data.folder, names[split])
    elif settings.task in draw:
        pairs = draw[settings.task](split, data.examples if split == "train" else 1000)
    else:
        raise ValueError(f"settings must be of a text-to-text task, got {settings.task!r}")
    return pairs[: data.limit]


def _training(settings: Settings, options: argparse.Namespace) -> TrainingConfig:
    """The run's settings, in float32 where bfloat16 would take far longer."""
    device = options.device or pick_device()
    if settings.training.precision != "bfloat16" or has_bfloat16(device):
        return settings.training
    print(f"training in float32: {device.type} has no instructions for bfloat16")
    return replace(settings.training, precision="float32")


def _train(settings: Settings, options: argparse.Namespace) -> None:
    folder, training = _run_dir(options), _training(settings, options)
    if settings.task == "g2p":
        results = train_g2p(
            folder,
            settings.model,
            training,
            device=options.device,
            limit=settings.data.limit,
        )
    else:
        splits = {split: load_pairs(settings, split) for split in get_args(Split)}
        results = train_translator(
            folder,
            splits,
            train_tokenizers(splits["train"], **asdict(settings.tokenizer)),
            settings.model,
            training,
            device=options.device,
        )
    if results:  # under torchrun the first process speaks for all
        for split in ("dev", "test"):
            print(f"{split}: {_describe(settings, results[split])}")
        print(f"written: {folder}")


def _translate(settings: Settings, options: argparse.Namespace) -> None:
    texts = options.texts or [line.removesuffix("\n") for line in sys.stdin]
    if texts:
        texts[0] = texts[0].removeprefix("\ufeff")  # a byte order mark, as Windows writes it
    model = _load(settings, options)
    refused = {index: why for index, text in enumerate(texts) if (why := model.why_not(text))}
    taken = [text for index, text in enumerate(texts) if index not in refused]
    answers = iter(model.translate(taken, **asdict(settings.decoding)))
    for index in range(len(texts)):
        print(f"? {refused[index]}" if index in refused else next(answers))
    if refused:
        first, why = next(iter(refused.items()))
        raise ValueError(
            f"{len(refused)} of {len(texts)} texts have no answer; the first is number "
            f"{first + 1}, {texts[first][:40]!r}: {why}"
        )


def _evaluate(settings: Settings, options: argparse.Namespace) -> None:
    model = _load(settings, options)
    if isinstance(model, Speller):
        entries = load_cmudict(options.split)[: settings.data.limit]
        scores: Any = model.evaluate(entries, **asdict(settings.decoding))
    else:
        pairs = load_pairs(settings, options.split)
        scores = asdict(model.evaluate(pairs, **asdict(settings.decoding)))
    print(f"{options.split}: {_describe(settings, scores)}")


def _load(settings: Settings, options: argparse.Namespace) -> Speller | Translator:
    if settings.task == "g2p":
        return load_g2p(options.device, options.model or CHECKPOINT)
    return Translator.from_pretrained(options.model or _run_dir(options), options.device)


def _describe(settings: Settings, scores: dict[str, Any]) -> str:
    """Say what counts for the task, with signatures; rates in percent."""
    if settings.task == "g2p":
        return f"PER {scores['per']:.2%}, WER {scores['wer']:.2%}"
    if settings.task != "multi30k":
        return f"exact match {scores['exact_match']:.2%}"
    found = [scores[name] for name in ("bleu", "bleu_lowercase", "chrf")]
    return "".join(f"\n  {s['name']} {s['score']:.2f} ({s['signature']})" for s in found)


def _settings(options: argparse.Namespace) -> Settings:
    """Read the config, and let options of the command line go before it."""
    settings = read_settings(options.config)
    places = {
        "data": {"folder": "data", "limit": "limit"},
        "training": {"epochs": "epochs", "seed": "seed"},
        "decoding": {name: name for name in ("beam_size", "length_penalty", "batch_size")},
    }
    for section, names in places.items():
        given = {name: getattr(options, option, None) for name, option in names.items()}
        values = {name: value for name, value in given.items() if value is not None}
        changed = replace(getattr(settings, section), **values)
        settings = replace(settings, **{section: changed})
    return settings


def _run_dir(options: argparse.Namespace) -> Path:
    return getattr(options, "run_dir", None) or Path("runs") / Path(options.config).stem


def _how_to_go_on(options: argparse.Namespace) -> str:
    if options.run is not _train:
        return ""
    return (
        f"; the last checkpoint is in {_run_dir(options)}, and the same command goes on from there"
    )


def _device(name: str) -> torch.device:
    """Refuse a device that is unknown or not here, before anything is loaded.

    "cuda" stays that, and nothing is put there: of several processes each gets a GPU of its own.
    """
    try:
        device = torch.device(name)
        if device.type != "cuda":
            torch.empty(0, device=device)
        elif (device.index or 0) >= torch.cuda.device_count():
            raise RuntimeError(f"torch finds {torch.cuda.device_count()} CUDA devices here")
        return device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise argparse.ArgumentTypeError(f"cannot compute on {name!r}: {reason}") from error


def _threads(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, got {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m transformer_ref", description=__doc__, epilog=EXAMPLES, formatter_class=form
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--config",
        default="g2p",
        metavar="FILE",
        help=f"a TOML file, or one of {', '.join(ready_configs())}; default: g2p",
    )
    common.add_argument("--device", type=_device, help="default: cuda, mps or cpu, what there is")
    common.add_argument(
        "--threads",
        type=_threads,
        default=1,
        help="on a CPU; default: 1, as on a busy machine the threads of a small model wait for "
        "each other, and a step takes seconds",
    )
    data = argparse.ArgumentParser(add_help=False)
    data.add_argument("--data", metavar="FOLDER", help="the files of Multi30k: train.de, train.en")
    data.add_argument("--limit", type=int, help="use only so many examples of each split")
    search = argparse.ArgumentParser(add_help=False)
    search.add_argument(
        "--model", type=Path, metavar="FOLDER", help="default: that of --config; g2p is shipped"
    )
    search.add_argument("--beam-size", type=int, help="1 = greedy")
    search.add_argument("--length-penalty", type=float, help="larger = longer answers")
    search.add_argument("--batch-size", type=int, help="texts decoded together")

    train = commands.add_parser(
        "train", parents=[common, data], help="train, or go on with an interrupted run"
    )
    train.set_defaults(run=_train)
    train.add_argument("--run-dir", type=Path, help="where the run lies; default: runs/CONFIG")
    train.add_argument("--epochs", type=int, help="instead of the config's")
    train.add_argument("--seed", type=int, help="instead of the config's")

    translate = commands.add_parser(
        "translate", parents=[common, search], help="answer texts, one a line"
    )
    translate.set_defaults(run=_translate)
    translate.add_argument("texts", nargs="*", metavar="TEXT", help="none = lines from stdin")

    evaluate = commands.add_parser(
        "evaluate", parents=[common, data, search], help="score a model on a split"
    )
    evaluate.set_defaults(run=_evaluate)
    evaluate.add_argument("--split", choices=get_args(Split), default="test")
    return parser
