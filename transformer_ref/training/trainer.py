"""The trainer: a loop over batches that survives a kill, in one process or in several."""

from __future__ import annotations

import contextlib
import hashlib
import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from textwrap import shorten
from typing import Any, TextIO

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel
from tqdm.auto import tqdm

from transformer_ref._validate import require_at_least_one, require_integer
from transformer_ref.batching import Example, bucketed_batches, pad_batch, token_batches
from transformer_ref.device import pick_device
from transformer_ref.parallel import join_processes
from transformer_ref.training.config import TrainingConfig
from transformer_ref.training.losses import (
    Batch,
    Loss,
    mean_surprise,
    require_scores,
    split_target,
)
from transformer_ref.training.optimizers import make_optimizers
from transformer_ref.training.run_state import (
    RunFolder,
    StepRecord,
    csv_line,
    history_as_tensor,
    history_of,
    random_states,
    set_random_states,
)


class Trainer:
    """Teacher-forced training of any model that maps (src, tgt_in) to logits, or has its own loss.

    With a `run_dir` the whole state is saved every ``config.save_every`` steps.
    A second call with the same arguments goes on from there, to the same result as an undisturbed
    run.

    Started by ``torchrun``, each process computes its share of every batch, and the result is that
    of one process with the whole batch (but for dropout, which every process draws for itself).
    Only the process with rank 0 writes files, shows progress and calls back.

    Args:
        model: maps (B, S) and (B, T) ids to (B, T, V) logits, if there is no `loss`; moved to
            `device`.
        examples: pairs of source ids and target ids, the target with begin and end token; with a
            `loss` a source may be empty.
        config: how to train.
        pad_id: fills batches, and is left out of the loss.
        run_dir: folder for the checkpoint ``last.pt`` and for ``metrics.csv`` with a row for
            each step (see :class:`StepRecord`); None = keep nothing.
        device: None = :py:func:`transformer_ref.device.pick_device`.
        loss: maps the model and a :class:`Batch` to a scalar, a mean over the labels that are not
            padding; None = :func:`sequence_loss` of ``model(batch.source, batch.inputs)``.
            The model comes as it is run here, with autocast, and returns float32 or wider.
            A checkpoint knows nothing of the loss: to go on with a run, hand in the same.

    Attributes:
        history: a record of every step since the start of the run.
        epoch_ends: the number of steps that are done after each pass.
        processes: those that train together; ``processes.rank`` is 0 in the one that writes.

    Raises:
        ValueError: if there are no examples, one is empty or has only padding to say, or `run_dir`
            holds a run of another config, other examples, another pad id, another model or another
            number of processes.
        OSError: if its checkpoint is damaged.
    """

    def __init__(
        self,
        model: nn.Module,
        examples: Sequence[Example],
        config: TrainingConfig,
        *,
        pad_id: int = 0,
        run_dir: str | Path | None = None,
        device: torch.device | None = None,
        loss: Loss | None = None,
    ) -> None:
        require_integer(pad_id=pad_id)
        _require_examples(examples, empty_sources=loss is not None)
        self.device = device or pick_device()
        self.processes = join_processes(self.device)
        self.model = model.to(self.device)
        self.examples = examples
        self.config = config
        self.pad_id = pad_id
        self.run_dir = Path(run_dir) if run_dir is not None else None
        self.optimizers = make_optimizers(model, config, self.device)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=config.precision == "float16")
        self.history: list[StepRecord] = []
        self._loss = loss or self._teacher_forced_loss
        self._label_counts, self._label_range = _look_at_labels(examples, pad_id)
        self._average = (
            AveragedModel(self.model, multi_avg_fn=self._average_weights) if config.ema else None
        )
        self._dealt: tuple[int, list[list[int]]] | None = None
        self.epoch_ends = self._count_steps()
        self._random_states: list[Tensor] | None = None
        self._folder = RunFolder(self.run_dir)
        if (state := self._folder.read(self._described)) is not None:
            self._resume(state)
        if len(set(self.processes.gather(self.step))) > 1:
            raise ValueError(f"run_dir must be one folder for all processes, got {self.run_dir}")
        self._shared = self.processes.share_gradients(self.model)
        self._forward = (
            torch.compile(self._shared, dynamic=True) if config.compile else self._shared
        )

    @property
    def step(self) -> int:
        """Steps done since the start of the run."""
        return len(self.history)

    @property
    def total_steps(self) -> int:
        """Steps of the whole schedule."""
        return self.epoch_ends[-1]

    @property
    def epoch(self) -> int:
        """Whole passes done."""
        return bisect_right(self.epoch_ends, self.step)

    @property
    def averaged_model(self) -> nn.Module:
        """The average of the weights, to evaluate and to keep; see ``config.ema``.

        Without that setting it is the model that is trained.
        """
        return self.model if self._average is None else self._average.module

    @property
    def steps_per_epoch(self) -> int:
        """Steps of the pass that was finished last, or of the first one before its end."""
        last = max(self.epoch, 1)
        return self.epoch_ends[last - 1] - (self.epoch_ends[last - 2] if last > 1 else 0)

    @property
    def losses(self) -> list[float]:
        """The loss of every step since the start of the run, in nats a token."""
        return [record.loss for record in self.history]

    def train(
        self,
        *,
        max_steps: int | None = None,
        on_epoch: Callable[[Trainer], None] | None = None,
        progress: bool = True,
    ) -> list[float]:
        """Train to the end of the schedule.

        Args:
            max_steps: stop after so many steps in all, with a checkpoint; None = the whole run.
            on_epoch: called with this trainer after each pass.
            progress: show a tqdm bar.

        Returns:
            The loss of every step since the start of the run, in nats a token.

        Raises:
            ValueError: if `max_steps` is below 1.
            FloatingPointError: if the loss or the gradient is not finite (in float16: and does not
                become so by scaling). The weights and the last checkpoint stay as they were.
        """
        if max_steps is not None:
            require_at_least_one(max_steps=max_steps)
        first = self.processes.rank == 0
        last = min(self.total_steps, max_steps or self.total_steps)
        started = time.perf_counter() - (self.history[-1].seconds if self.history else 0.0)
        show = progress and first
        self.model.train()
        with (
            tqdm(total=last, initial=self.step, disable=not show, unit="step") as bar,
            self._open_metrics() as metrics,
            self._own_random_numbers(),
        ):
            while self.step < last:
                record = self._train_step(self._next_batch(), started)
                self.history.append(record)
                metrics.write(csv_line(vars(record).values()))
                bar.update()
                bar.set_postfix(loss=f"{record.loss:.3f}", refresh=False)
                if self.step % self.config.save_every == 0 or self.step == last:
                    self._save()
                if self.step in self.epoch_ends and on_epoch is not None and first:
                    states = random_states(self.device)
                    on_epoch(self)
                    self.model.train()
                    set_random_states(states, self.device)
        return self.losses

    @contextlib.contextmanager
    def _own_random_numbers(self) -> Iterator[None]:
        """Draw what the run draws, whatever was drawn before or between two calls."""
        if self._random_states is None:
            torch.manual_seed(self.config.seed + self.processes.rank)
        else:
            set_random_states(self._random_states, self.device)
        try:
            yield
        finally:
            self._random_states = random_states(self.device)

    def _deal(self, epoch: int) -> list[list[int]]:
        """Return the batches of an epoch; each deals by its own seed, so a resume finds them."""
        seed = self.config.seed + epoch
        if self.config.batch_tokens is not None:
            return token_batches(self.examples, self.config.batch_tokens, seed)
        return bucketed_batches(self.examples, self.config.batch_size, seed)

    def _count_steps(self) -> list[int]:
        """Return how many steps are done after each epoch."""
        epochs = range(self.config.epochs)
        if self.config.batch_tokens is not None:  # the seed decides how many batches there are
            return list(accumulate(len(self._deal(epoch)) for epoch in epochs))
        steps = math.ceil(len(self.examples) / self.config.batch_size)
        return [steps * (epoch + 1) for epoch in epochs]

    def _next_batch(self) -> list[int]:
        if self._dealt is None or self._dealt[0] != self.epoch:
            self._dealt = (self.epoch, self._deal(self.epoch))
        return self._dealt[1][self.step - self.epoch_ends[self.epoch]]  # counted from the end

    def _train_step(self, batch: list[int], started: float) -> StepRecord:
        rate = self.config.learning_rate_at(self.step + 1, self.total_steps)
        for optimizer in self.optimizers:
            optimizer.zero_grad()
            for group in optimizer.param_groups:
                group["lr"] = rate * (group["peak"] / self.config.learning_rate)
        mean = self._add_gradients(batch)
        for optimizer in self.optimizers:
            self.scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip_norm)
        loss, gradient_norm = torch.stack([mean, norm]).tolist()  # the only wait for a GPU
        record = StepRecord(
            step=self.step + 1,
            epoch=self.epoch + 1,
            loss=loss,
            learning_rate=rate,
            gradient_norm=gradient_norm,
            tokens=(self.history[-1].tokens if self.history else 0) + self._count_labels(batch),
            seconds=time.perf_counter() - started,
        )
        self._require_finite(record)
        # Each optimizer for itself would only know of overflows in its own gradients.
        if math.isfinite(gradient_norm):
            for optimizer in self.optimizers:
                optimizer.step()
        self.scaler.update()
        if self._average is not None:
            self._average.update_parameters(self.model)
        return record

    def _average_weights(
        self, average: Sequence[Tensor], weights: Sequence[Tensor], _: object
    ) -> None:
        """Move the average towards the weights; the first weights soon count for little."""
        kept = min(self.config.ema, (self.step + 1) / (self.step + 10))
        torch._foreach_lerp_(list(average), list(weights), 1 - kept)

    def _add_gradients(self, batch: list[int]) -> Tensor:
        """Compute this process's share of a batch, part by part; return the loss of it all.

        The mean over all labels is the sum of the parts' means, each weighted by its share of
        the labels: a mean of means would give the labels of a short part more weight.
        """
        config, processes = self.config, self.processes
        all_labels = self._count_labels(batch)
        losses = []
        for index in range(config.accumulate):
            first = processes.rank * config.accumulate + index
            part = batch[first :: processes.size * config.accumulate]
            share = self._count_labels(part) / all_labels
            with self._exchange(when=index == config.accumulate - 1):
                # Where there are fewer rows than parts, a row without weight stands in:
                # all processes must take part in the exchange.
                loss = self._loss(self._run_model, self._pad(part or batch[:1])) * share
                # The exchange divides the sum by the number of processes.
                self.scaler.scale(loss * processes.size).backward()
            losses.append(loss.detach())
        return processes.sum(torch.stack(losses).sum())

    def _pad(self, places: list[int]) -> Batch:
        source, target = (
            pad_batch([self.examples[place][side] for place in places], self.pad_id)
            for side in (0, 1)
        )
        inputs, labels = split_target(target.to(self.device))
        return Batch(source.to(self.device), inputs, labels, places)

    def _run_model(self, *inputs: Tensor) -> Tensor:
        """Run the model in the precision asked for; what it returns is fit for a loss."""
        dtype = getattr(torch, self.config.precision)
        with torch.autocast(self.device.type, dtype=dtype, enabled=dtype != torch.float32):
            output: Tensor = self._forward(*inputs)
        return output.to(torch.promote_types(output.dtype, torch.float32))

    def _teacher_forced_loss(self, model: Callable[..., Tensor], batch: Batch) -> Tensor:
        logits = model(batch.source, batch.inputs)
        # What sequence_loss looks up in the labels, at each step, is known of them all.
        require_scores(logits, batch.labels)
        (lowest, highest), size = self._label_range, logits.shape[-1]
        if lowest < 0 or highest >= size:
            raise ValueError(
                f"examples must have targets in 0..{size - 1} (vocabulary of {size}), "
                f"got ids from {lowest} to {highest}"
            )
        return mean_surprise(logits, batch.labels, self.pad_id, self.config.label_smoothing)

    def _count_labels(self, rows: list[int]) -> int:
        return sum(self._label_counts[i] for i in rows)

    def _exchange(self, when: bool) -> contextlib.AbstractContextManager[None]:
        """Let ``backward`` exchange the gradients with the other processes, or only add them up."""
        if when or self.processes.size == 1:
            return contextlib.nullcontext()
        return self._shared.no_sync()  # type: ignore[operator]

    def _require_finite(self, record: StepRecord) -> None:
        if math.isfinite(record.loss) and math.isfinite(record.gradient_norm):
            return
        if self.scaler.is_enabled() and self.scaler.get_scale() > 1:
            return  # the scaler leaves this step out, and halves the scale
        raise FloatingPointError(
            f"step {record.step}: the loss is {record.loss} and the gradient's norm "
            f"{record.gradient_norm}, at learning rate {record.learning_rate:.3g} and "
            f"precision {self.config.precision}; the step was not made"
        )

    def _open_metrics(self) -> TextIO:
        folder = self._folder if self.processes.rank == 0 else RunFolder(None)
        return folder.open_metrics(self.history)

    def _save(self) -> None:
        everyone = self.processes.gather(random_states(self.device))
        if self.processes.rank == 0:
            self._folder.write(
                {
                    "history": history_as_tensor(self.history),
                    "run": self._described,
                    "model": self.model.state_dict(),
                    "average": None if self._average is None else self._average.state_dict(),
                    "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
                    "scaler": self.scaler.state_dict(),
                    "random_states": everyone,
                }
            )
        self.processes.gather("saved")  # no process looks for the file before it is there

    @cached_property
    def _described(self) -> dict[str, Any]:
        """All that the result of the run hangs on besides the model, to know the run again."""
        digest = hashlib.sha256()
        for source, target in self.examples:
            digest.update(repr((list(source), list(target))).encode())
        config = asdict(self.config)
        del config["save_every"]  # the result is the same
        return config | {
            "examples": f"{len(self.examples)} (sha256 {digest.hexdigest()})",
            "pad_id": self.pad_id,
            "processes": self.processes.size,
        }

    def _resume(self, state: dict[str, Any]) -> None:
        try:
            self.model.load_state_dict(state["model"])
        except RuntimeError as error:
            why = shorten(str(error), 200)
            raise ValueError(
                f"run_dir holds a run of another model: {self.run_dir}/last.pt: {why}"
            ) from error
        if self._average is not None:
            self._average.load_state_dict(state["average"])
        for optimizer, its_state in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(its_state)
        self.scaler.load_state_dict(state["scaler"])
        self.history = history_of(state["history"])
        self._random_states = state["random_states"][self.processes.rank]


def _require_examples(examples: Sequence[Example], empty_sources: bool) -> None:
    if not examples:
        raise ValueError("examples must hold at least one, got none")
    for index, (source, target) in enumerate(examples):
        if not (source or empty_sources) or len(target) < 2:
            raise ValueError(
                f"examples[{index}] must have a source of at least 1 and a target of at least 2 "
                f"ids (begin and end token), got {len(source)} and {len(target)}"
            )


def _look_at_labels(examples: Sequence[Example], pad_id: int) -> tuple[list[int], tuple[int, int]]:
    """Return how many labels each example has, and the lowest and the highest of all."""
    counts: list[int] = []
    found: set[int] = set()
    for index, (_, target) in enumerate(examples):
        labels = [label for label in target[1:] if label != pad_id]
        if not labels:
            raise ValueError(
                f"examples[{index}] must have a target with labels that are not pad_id={pad_id}, "
                "got none"
            )
        counts.append(len(labels))
        found.update(labels)
    return counts, (min(found), max(found))
