"""The command of each experiment stores what its chapter reads, with where it was measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from transformer_ref.experiments import (
    attention,
    attention_pronouns,
    blocks,
    depth,
    gpt,
    results,
    sequences,
    training,
    tuning_runs,
    where_next_runs,
)
from transformer_ref.experiments.attention_pronouns import PronounReader
from transformer_ref.experiments.capstone import ablations, five_minutes
from transformer_ref.experiments.results import load_results

Pretended = dict[str, Callable[..., Any]]

SCORES = {"seed": 0, "parameters": 1, "seconds": 2, "dev": {}, "test": {}, "losses": [1.0]}
LOSSES = {"first": 1.0, "losses": [0.5], "per": 0.1}
TRAINING: Pretended = {
    "broken_run": lambda fault: LOSSES,
    "warm_up_run": lambda *arguments: LOSSES,
    "observed_run": lambda: {
        **LOSSES, "every": 1, "wer": 0.5, "listed": {}, "checkpoints": [],
    },
}  # fmt: skip
RUNS: dict[str, tuple[ModuleType, Pretended]] = {
    "one_core": (attention, {"milliseconds": lambda: {"LSTM": [1.0]}}),
    "pronouns": (attention_pronouns, {"train_reader": lambda seed: PronounReader()}),
    "sequences": (sequences, {"run": lambda plan, seed: {"right": [[0.5]], "seconds": 1}}),
    "five_minutes": (five_minutes, {"run": lambda: {"seconds": 1, "dev": SCORES, "test": SCORES}}),
    "training": (training, TRAINING),
    "checkpoints": (training, TRAINING),
    "depth": (
        depth,
        {
            "seeds_run": lambda layers: {"layers": layers},
            "two_step_run": lambda *arguments, first_too=True: [1.0, 1.0][not first_too :],
            "width_run": lambda d_model: {"d_model": d_model},
        },
    ),
    "gpt": (
        gpt,
        {
            "load_corpus": lambda: None,
            "long_run": lambda corpus: {"curve": []},
            "tuning_run": lambda seed, corpus: {"seed": seed},
            "speller_run": lambda both_ways, seed: {**SCORES, "seed": seed},
        },
    ),
    "tuning": (
        tuning_runs,
        {
            "start_run": lambda seed: {"seed": seed},
            "accent_run": lambda seed: [],
            "best_of_many": lambda seed: [],
            "watched_run": lambda name, seed: {"name": name, "seed": seed},
        },
    ),
    "where_next": (
        where_next_runs,
        {
            "load_corpus": lambda: None,
            "pilot_run": lambda name, corpus: dict.fromkeys(map(str, where_next_runs.PEAKS), 1.0),
            "layer_run": lambda name, seed, peak, corpus: {"seed": seed, "bits": 1.0},
        },
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_is_written_has_the_parts_of_what_is_stored(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    stored = load_results(name)
    module, pretended = RUNS[name]
    for function, stand_in in pretended.items():
        monkeypatch.setattr(module, function, stand_in)
    monkeypatch.setattr(results, "ASSETS", tmp_path)
    monkeypatch.setattr(results, "RUNS", tmp_path / "runs")
    module.main()
    written = load_results(name)
    assert written.keys() == stored.keys()
    assert {part: type(value) for part, value in written.items()} == {
        part: type(value) for part, value in stored.items()
    }
    assert {"date", "processor", "threads", "python", "torch"} <= written["conditions"].keys()
    assert f"written: {tmp_path / name / 'results.json'}" in capsys.readouterr().out.splitlines()


def test_every_system_of_the_capstone_is_run_with_every_seed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The processes of the real command would not see what is pretended here."""
    stored = load_results("capstone")
    monkeypatch.setattr(results, "ASSETS", tmp_path)
    monkeypatch.setattr(results, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(ablations, "SYSTEMS", ablations.SYSTEMS[:2])
    monkeypatch.setattr(
        ablations, "run", lambda system, seed: {**SCORES, "name": system.name, "seed": seed}
    )
    monkeypatch.setattr(ablations, "by_table", lambda: [{"reach": 0}])
    monkeypatch.setattr(ablations, "ProcessPoolExecutor", lambda *arguments: InThisProcess())
    assert ablations.main([]) == 0
    written = load_results("capstone")
    assert written.keys() == stored.keys()
    names = [system.name for system in ablations.SYSTEMS]
    assert [(run["seed"], run["name"]) for run in written["runs"]] == [
        (seed, name) for seed in ablations.SEEDS for name in names
    ]


class InThisProcess:
    """Stands in for the pool of processes."""

    def __enter__(self) -> InThisProcess:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    map = staticmethod(map)


def test_no_results_of_an_unknown_name() -> None:
    with pytest.raises(OSError, match=r"nothing.results\.json"):
        load_results("nothing")


def test_a_package_that_is_not_there_has_no_version() -> None:
    found = results.conditions(("pytest", "no-such-package"))
    assert found["pytest"] == pytest.__version__
    assert "no-such-package" not in found


def test_the_block_by_hand_is_what_the_layer_computes() -> None:
    step = blocks.by_hand()
    torch.testing.assert_close(blocks.layer_by_hand()(step["X"][None])[0], step["output"])


def test_only_with_the_sum_does_a_gradient_differ_from_token_to_token() -> None:
    with_sum, without = (
        blocks.own_part_norms(blocks.gradients(add=add, normalize=True, d_model=8))[24]
        for add in (True, False)
    )
    assert with_sum > 1e-2
    assert without < 1e-9
