"""The state of a run: what is kept of each step, and a folder from which to go on after a kill."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TextIO

import torch
from torch import Tensor

from transformer_ref.files import whole_file, write_text

FORMAT = 1  # of last.pt; another number for each change that makes old files unreadable
_WAY_OUT = "use another folder, or delete that one to start again"


@dataclass(frozen=True)
class StepRecord:
    """What is known of one step; a row of metrics.csv.

    Attributes:
        step: from 1.
        epoch: the pass that it belongs to, from 1.
        loss: mean over the labels of the batch, in nats a token, from before the step.
        learning_rate: of this step.
        gradient_norm: over all parameters, before it is cut.
        tokens: labels since the start of the run, padding left out.
        seconds: spent in :meth:`Trainer.train` since the start of the run.
    """

    step: int
    epoch: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens: int
    seconds: float


class RunFolder:
    """The files of a run: ``last.pt``, with the whole state, and ``metrics.csv``.

    Args:
        path: the folder; made when something is written. None = keep nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def read(self, described: Mapping[str, Any]) -> dict[str, Any] | None:
        """Read the state that :meth:`write` has left.

        Args:
            described: all that the result of the run hangs on besides the model.

        Returns:
            The state, or None where there is none.

        Raises:
            ValueError: if it is that of another run, or in another format.
            OSError: if it is damaged.
        """
        if self.path is None or not (self.path / "last.pt").exists():
            return None
        state = _load_state(self.path / "last.pt")
        _require_same_run(state["run"], described, self.path / "last.pt")
        return state

    def write(self, state: Mapping[str, Any]) -> None:
        """Write the state, whole or not at all, into the folder that open_metrics has made."""
        if self.path is not None:
            with whole_file(self.path / "last.pt") as file:
                torch.save({"format": FORMAT, **state}, file)

    def open_metrics(self, history: Sequence[StepRecord]) -> TextIO:
        """Open metrics.csv with a row for every step done so far, and none that was undone."""
        if self.path is None:
            return open(os.devnull, "w", encoding="utf-8")
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / "metrics.csv"
        header = [field.name for field in fields(StepRecord)]
        rows = [vars(record).values() for record in history]
        write_text(path, "".join(map(csv_line, [header, *rows])))
        return path.open("a", encoding="utf-8", buffering=1)  # each row at once, to look on


def history_as_tensor(history: Sequence[StepRecord]) -> Tensor:
    """Put the records of steps into one (steps, fields) float64 tensor."""
    return torch.tensor([[*vars(record).values()] for record in history], dtype=torch.float64)


def history_of(rows: Tensor) -> list[StepRecord]:
    """Undo :func:`history_as_tensor`."""
    return [
        StepRecord(int(step), int(epoch), loss, rate, norm, int(tokens), seconds)
        for step, epoch, loss, rate, norm, tokens, seconds in rows.tolist()
    ]


def csv_line(values: Iterable[object]) -> str:
    """Write one row of metrics.csv; none of its values needs quotes."""
    return ",".join(map(str, values)) + "\n"


def random_states(device: torch.device) -> list[Tensor]:
    """Return the states of all generators that dropout on this device draws from."""
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    return states


def set_random_states(states: list[Tensor], device: torch.device) -> None:
    """Undo :func:`random_states`; a run that comes from the CPU has no state for a GPU."""
    cpu, *gpu = states
    torch.set_rng_state(cpu)
    if gpu and device.type == "cuda":
        torch.cuda.set_rng_state(gpu[0], device)


def _require_same_run(made: Mapping[str, Any], own: Mapping[str, Any], path: Path) -> None:
    """Refuse a checkpoint from which this run would go on to another result."""
    names = [name for name in own if own[name] != made.get(name)]
    if names:
        theirs, ours = (
            ", ".join(f"{name}={run.get(name)}" for name in names) for run in (made, own)
        )
        raise ValueError(
            f"run_dir holds another run: {path} was made with {theirs}, got {ours}; {_WAY_OUT}"
        )


def _load_state(path: Path) -> dict[str, Any]:
    """Read a checkpoint without running code from it; a damaged one is an OSError that names it."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(state, dict) or "history" not in state:
            raise ValueError("it is not a training checkpoint")
    except PermissionError:
        raise
    except Exception as error:  # torch.load meets damage with almost any exception
        raise OSError(f"{path} is damaged: {error}; delete it to start the run again") from error
    if state.get("format") != FORMAT:
        raise ValueError(
            f"run_dir holds a run in another format: {path} was written by another version of "
            f"this package, in format {state.get('format')}, got {FORMAT}; {_WAY_OUT}"
        )
    return state
