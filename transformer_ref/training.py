"""Training: teacher forcing, a loss without padding, warm-up, and a loop that survives a kill.

Source: Vaswani et al. 2017, section 5.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal, TextIO

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel
from tqdm.auto import tqdm

from transformer_ref._validate import (
    require_at_least_one,
    require_choice,
    require_ids,
    require_integer,
    require_positive,
    require_probability,
)
from transformer_ref.batching import Example as Example
from transformer_ref.batching import bucketed_batches as bucketed_batches
from transformer_ref.batching import pad_batch as pad_batch
from transformer_ref.batching import token_batches as token_batches
from transformer_ref.device import pick_device
from transformer_ref.files import whole_file, write_text
from transformer_ref.parallel import join_processes


def split_target(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Cut a target into what the decoder reads and what it must say (teacher forcing).

    Args:
        ids: (B, T+1) integer ids: begin token, tokens, end token, padding.

    Returns:
        inputs (B, T) without the last column and labels (B, T) without the first.

    Raises:
        ValueError: if `ids` is not a 2-D integer tensor with at least two columns.
    """
    require_ids("ids", ids)
    if ids.shape[1] < 2:
        raise ValueError(f"ids must have at least 2 columns, got shape {tuple(ids.shape)}")
    return ids[:, :-1], ids[:, 1:]


def sequence_loss(
    logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float = 0.0
) -> Tensor:
    """Cross-entropy averaged over all labels that are not padding.

    Smoothing by eps is that of ``F.cross_entropy``: the target gives every class eps / V, and
    the label 1 - eps more.
    The Annotated Transformer leaves label and pad out: 1 - eps, 0, and eps / (V - 2) for each
    other class. With l = -log p, that makes its cross-entropy smaller by
    eps / V * (l_label + l_pad - 2 * mean of the other l): little, where V is large.
    (It then reports the Kullback-Leibler divergence, which is smaller by another constant.)

    Args:
        logits: (B, T, V) floating.
        labels: (B, T) int64 or int32 ids, at least one of them not `pad_id`.
        pad_id: labels of this id are left out, in the sum and in the count; it may lie outside
            the vocabulary.
        label_smoothing: share of the target spread evenly over all V classes, in [0, 1).

    Returns:
        A scalar, in nats a token.

    Raises:
        ValueError: if shapes, dtypes or devices do not fit, a label is outside the vocabulary,
            all are padding, or the smoothing is out of range.

    Source: Vaswani et al. 2017, section 5.4; smoothing as in Szegedy et al. 2016, section 7.
    """
    require_integer(pad_id=pad_id)
    require_probability(label_smoothing=label_smoothing)
    _require_scores(logits, labels)
    real = labels != pad_id
    require_ids("labels", labels.where(real, 0), logits.shape[-1], logits.device)
    if not (torch.compiler.is_compiling() or real.any()):
        raise ValueError(f"labels must hold at least one that is not pad_id={pad_id}, got none")
    return _mean_surprise(logits, labels, pad_id, label_smoothing)


def _require_scores(logits: Tensor, labels: Tensor) -> None:
    """Refuse logits that are not (B, T, V) floating for labels (B, T); looks at no value."""
    if logits.ndim != 3 or logits.shape[:2] != labels.shape:
        raise ValueError(
            "logits must be (B, T, V) and labels (B, T), "
            f"got {tuple(logits.shape)} and {tuple(labels.shape)}"
        )
    if not logits.is_floating_point():
        raise ValueError(f"logits must be floating, got {logits.dtype}")


def _mean_surprise(logits: Tensor, labels: Tensor, pad_id: int, label_smoothing: float) -> Tensor:
    """:func:`sequence_loss` of what is known to fit."""
    return F.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten().long(),
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    )


def noam_learning_rate(step: int, d_model: int, warmup: int) -> float:
    """The paper's schedule: a straight rise, then a fall with the square root of the step.

    Args:
        step: counts from 1.
        d_model: D, the features of a vector.
        warmup: steps of the rise; the peak stands at this step.

    Returns:
        D^-0.5 * min(step^-0.5, step * warmup^-1.5).

    Raises:
        ValueError: if an argument is below 1.

    Source: Vaswani et al. 2017, equation 3.
    """
    require_at_least_one(step=step, d_model=d_model, warmup=warmup)
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def trapezoid_learning_rate(
    step: int, peak: float, warmup: int, total: int, decay_fraction: float
) -> float:
    """Rise in a straight line, stay, and fall in a straight line to zero at the end.

    Args:
        step: counts from 1 to `total`.
        peak: the rate between rise and fall.
        warmup: steps of the rise.
        total: steps in all.
        decay_fraction: share of the steps that the fall takes, in [0, 1).

    Returns:
        The learning rate of this step.

    Raises:
        ValueError: if a count is below 1, the peak not above 0, `step` above `total` or the share
            out of range.
    """
    require_at_least_one(step=step, warmup=warmup, total=total)
    require_positive(peak=peak)
    require_probability(decay_fraction=decay_fraction)
    if step > total:
        raise ValueError(f"step must be at most total, got step={step}, total={total}")
    fall = (total - step + 1) / (decay_fraction * total) if decay_fraction else 1.0
    return peak * min(1.0, step / warmup, fall)


@dataclass(frozen=True)
class TrainingConfig:
    """How to train; everything that the result depends on besides model and data.

    Attributes:
        epochs: passes over the examples.
        batch_size: examples a step, over all processes and micro-batches.
        learning_rate: the peak of the schedule.
        warmup: steps of the rise.
        decay_fraction: share of the steps in which the rate falls to zero; for "trapezoid".
        betas: AdamW's decay rates of the two moments.
        weight_decay: of matrices; vectors, such as biases and the weights of LayerNorm, have none.
        clip_norm: the gradient's norm is cut to this.
        label_smoothing: see :func:`sequence_loss`.
        precision: "float32", or "bfloat16" or "float16" for autocast; the weights stay float32.
            With "float16" the loss is scaled up, so that small gradients do not vanish.
            A step whose gradient overflows leaves the weights alone and lowers the scale;
            it counts as a step, so that the schedule and the order of the batches stay the same.
        seed: of the order of the examples and of dropout; :meth:`Trainer.train` sets torch's
            global generator to it, or to where the run left it.
        save_every: steps between two checkpoints.
        batch_tokens: the most tokens a step, instead of `batch_size` examples; see
            :func:`~transformer_ref.batching.token_batches`.
        accumulate: micro-batches that a process computes one after the other for a step, to
            save memory; the gradient is that of the whole batch.
        schedule: "trapezoid", see :func:`trapezoid_learning_rate`, or "noam", see
            :func:`noam_learning_rate`, times a factor that makes `learning_rate` its peak;
            the paper's own peak is ``(d_model * warmup) ** -0.5``.
        compile: run the model through ``torch.compile``.
        optimizer: "adamw" for all weights; or "muon" for the matrices of linear layers and AdamW
            for the rest: embeddings, the layer called ``output_proj``, norms and biases.
        muon_learning_rate: Muon's peak; its schedule has the shape of the other.
        ema: if above 0, :attr:`Trainer.averaged_model` is kept: after each step it takes
            1 - ema of the new weights, and ema of its own; while the run is short, more of the
            new ones, as ema is at most t / (t + 9) in step t.
    """

    epochs: int = 30
    batch_size: int = 96
    learning_rate: float = 1e-3
    warmup: int = 200
    decay_fraction: float = 0.3
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    label_smoothing: float = 0.05
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    seed: int = 0
    save_every: int = 1000
    batch_tokens: int | None = None
    accumulate: int = 1
    schedule: Literal["trapezoid", "noam"] = "trapezoid"
    compile: bool = False
    optimizer: Literal["adamw", "muon"] = "adamw"
    muon_learning_rate: float = 0.02
    ema: float = 0.0

    def __post_init__(self) -> None:
        """Refuse values that could not train."""
        require_at_least_one(
            epochs=self.epochs,
            batch_size=self.batch_size,
            warmup=self.warmup,
            save_every=self.save_every,
            accumulate=self.accumulate,
        )
        if self.batch_tokens is not None:
            require_at_least_one(batch_tokens=self.batch_tokens)
        require_positive(
            learning_rate=self.learning_rate,
            clip_norm=self.clip_norm,
            muon_learning_rate=self.muon_learning_rate,
        )
        require_probability(
            ema=self.ema,
            decay_fraction=self.decay_fraction,
            label_smoothing=self.label_smoothing,
            **{f"betas[{index}]": beta for index, beta in enumerate(self.betas)},
        )
        if len(self.betas) != 2:
            raise ValueError(f"betas must be 2 numbers, got {self.betas!r}")
        if not self.weight_decay >= 0:
            raise ValueError(f"weight_decay must be at least 0, got {self.weight_decay!r}")
        require_choice("precision", self.precision, ("float32", "bfloat16", "float16"))
        require_choice("schedule", self.schedule, ("trapezoid", "noam"))
        require_choice("optimizer", self.optimizer, ("adamw", "muon"))

    def learning_rate_at(self, step: int, total: int) -> float:
        """Return the learning rate of a step that counts from 1 to `total`."""
        if self.schedule == "noam":
            peak = noam_learning_rate(self.warmup, 1, self.warmup)
            return self.learning_rate * noam_learning_rate(step, 1, self.warmup) / peak
        return trapezoid_learning_rate(
            step, self.learning_rate, self.warmup, total, self.decay_fraction
        )


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


@dataclass(frozen=True)
class Batch:
    """Some examples, padded, as a loss sees them.

    Attributes:
        source: (B, S) int64 ids.
        inputs: (B, T) int64 ids that the decoder reads: the target without its last token.
        labels: (B, T) int64 ids that it must say: the target without its first token.
        places: B places in the trainer's examples, to find what is kept of each, such as the
            answers of a teacher.
    """

    source: Tensor
    inputs: Tensor
    labels: Tensor
    places: list[int]


Loss = Callable[[Callable[..., Tensor], Batch], Tensor]

FORMAT = 1  # of last.pt; another number for each change that makes old files unreadable
_WAY_OUT = "use another folder, or delete that one to start again"


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
        self.optimizers = _make_optimizers(model, config, self.device)
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
        if self.run_dir is not None and (self.run_dir / "last.pt").exists():
            self._resume(self.run_dir / "last.pt")
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
        """The model to evaluate and to keep: the average of its weights, see ``config.ema``.

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
                metrics.write(_csv_line(vars(record).values()))
                bar.update()
                bar.set_postfix(loss=f"{record.loss:.3f}", refresh=False)
                if self.step % self.config.save_every == 0 or self.step == last:
                    self._save()
                if self.step in self.epoch_ends and on_epoch is not None and first:
                    states = _random_states(self.device)
                    on_epoch(self)
                    self.model.train()
                    _set_random_states(states, self.device)
        return self.losses

    @contextlib.contextmanager
    def _own_random_numbers(self) -> Iterator[None]:
        """Draw what the run draws, whatever was drawn before or between two calls."""
        if self._random_states is None:
            torch.manual_seed(self.config.seed + self.processes.rank)
        else:
            _set_random_states(self._random_states, self.device)
        try:
            yield
        finally:
            self._random_states = _random_states(self.device)

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
        _require_scores(logits, batch.labels)
        (lowest, highest), size = self._label_range, logits.shape[-1]
        if lowest < 0 or highest >= size:
            raise ValueError(
                f"examples must have targets in 0..{size - 1} (vocabulary of {size}), "
                f"got ids from {lowest} to {highest}"
            )
        return _mean_surprise(logits, batch.labels, self.pad_id, self.config.label_smoothing)

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
        """Open metrics.csv with a row for every step done so far, and none that was undone."""
        if self.run_dir is None or self.processes.rank > 0:
            return open(os.devnull, "w", encoding="utf-8")
        self.run_dir.mkdir(parents=True, exist_ok=True)
        path = self.run_dir / "metrics.csv"
        header = [field.name for field in fields(StepRecord)]
        rows = [vars(record).values() for record in self.history]
        write_text(path, "".join(map(_csv_line, [header, *rows])))
        return path.open("a", encoding="utf-8", buffering=1)  # each row at once, to look on

    def _save(self) -> None:
        random_states = self.processes.gather(_random_states(self.device))
        if self.run_dir is not None and self.processes.rank == 0:
            self._write_checkpoint(self.run_dir, random_states)
        self.processes.gather("saved")  # no process looks for the file before it is there

    def _write_checkpoint(self, run_dir: Path, random_states: list[list[Tensor]]) -> None:
        state = {
            "format": FORMAT,
            "history": torch.tensor(
                [[*vars(record).values()] for record in self.history], dtype=torch.float64
            ),
            "run": self._described,
            "model": self.model.state_dict(),
            "average": None if self._average is None else self._average.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "scaler": self.scaler.state_dict(),
            "random_states": random_states,
        }
        run_dir.mkdir(parents=True, exist_ok=True)
        with whole_file(run_dir / "last.pt") as file:
            torch.save(state, file)

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

    def _require_same_run(self, made: dict[str, Any], path: Path) -> None:
        """Refuse a checkpoint from which this run would go on to another result."""
        own = self._described
        names = [name for name in own if own[name] != made.get(name)]
        if names:
            theirs, ours = (
                ", ".join(f"{name}={run.get(name)}" for name in names) for run in (made, own)
            )
            raise ValueError(
                f"run_dir holds another run: {path} was made with {theirs}, got {ours}; {_WAY_OUT}"
            )

    def _resume(self, path: Path) -> None:
        state = _load_state(path)
        self._require_same_run(state["run"], path)
        try:
            self.model.load_state_dict(state["model"])
        except RuntimeError as error:
            why = shorten(str(error), 200)
            raise ValueError(f"run_dir holds a run of another model: {path}: {why}") from error
        if self._average is not None:
            self._average.load_state_dict(state["average"])
        for optimizer, its_state in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(its_state)
        self.scaler.load_state_dict(state["scaler"])
        self.history = [
            StepRecord(int(step), int(epoch), loss, rate, norm, int(tokens), seconds)
            for step, epoch, loss, rate, norm, tokens, seconds in state["history"].tolist()
        ]
        self._random_states = state["random_states"][self.processes.rank]


def _make_optimizers(
    model: nn.Module, config: TrainingConfig, device: torch.device
) -> list[torch.optim.Optimizer]:
    """AdamW for all weights, or Muon for the hidden matrices and AdamW for the rest.

    Source: Loshchilov and Hutter 2019 (AdamW); Jordan et al. 2024, "Muon: An optimizer for hidden
    layers in neural networks".
    """
    hidden = _hidden_matrices(model) if config.optimizer == "muon" else []
    taken = set(map(id, hidden))
    rest = [weight for weight in model.parameters() if id(weight) not in taken]
    # Decay pulls towards zero, which keeps matrices small. The weight of a LayerNorm belongs near
    # one, and a bias is needed as large as it is, so vectors are left alone, as BERT's are.
    groups: list[dict[str, Any]] = [
        {"params": [weight for weight in rest if weight.ndim >= 2]},
        {"params": [weight for weight in rest if weight.ndim < 2], "weight_decay": 0.0},
    ]
    optimizers: list[torch.optim.Optimizer] = [
        torch.optim.AdamW(
            groups,
            lr=config.learning_rate,
            betas=config.betas,
            weight_decay=config.weight_decay,
            fused=device.type == "cuda" or None,  # one kernel for all weights
        )
    ]
    if hidden:
        optimizers.append(
            torch.optim.Muon(hidden, lr=config.muon_learning_rate, weight_decay=config.weight_decay)
        )
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["peak"] = group["lr"]
    return optimizers


def _hidden_matrices(model: nn.Module) -> list[Tensor]:
    """The matrices between the embeddings and the output: those of all linear layers but it."""
    modules = dict(model.named_modules())
    embeddings = {id(m.weight) for m in modules.values() if isinstance(m, nn.Embedding)}
    matrices = {
        id(module.weight): module.weight
        for name, module in modules.items()
        if isinstance(module, nn.Linear) and name.rpartition(".")[2] != "output_proj"
    }
    return [matrix for key, matrix in matrices.items() if key not in embeddings]


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


def _csv_line(values: Iterable[object]) -> str:
    return ",".join(map(str, values)) + "\n"


def _random_states(device: torch.device) -> list[Tensor]:
    """Return the states of all generators that dropout on this device draws from."""
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    return states


def _set_random_states(states: list[Tensor], device: torch.device) -> None:
    """Undo :func:`_random_states`; a run that comes from the CPU has no state for a GPU."""
    cpu, *gpu = states
    torch.set_rng_state(cpu)
    if gpu and device.type == "cuda":
        torch.cuda.set_rng_state(gpu[0], device)


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
