"""Training: teacher forcing, a loss without padding, warm-up, and a loop that survives a kill.

Source: Vaswani et al. 2017, section 5.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm.auto import tqdm

from transformer_ref._validate import require_at_least_one, require_ids, require_probability
from transformer_ref.device import pick_device

Example = tuple[list[int], list[int]]


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

    Args:
        logits: (B, T, V) floating.
        labels: (B, T) int64 ids.
        pad_id: labels of this id are left out, in the sum and in the count.
        label_smoothing: share of the target spread evenly over all V classes, in [0, 1).

    Returns:
        A scalar, in nats a token.

    Raises:
        ValueError: if shapes do not fit or the smoothing is out of range.

    Source: Vaswani et al. 2017, section 5.4; smoothing as in Szegedy et al. 2016, section 7.
    """
    require_probability(label_smoothing=label_smoothing)
    if logits.ndim != 3 or logits.shape[:2] != labels.shape:
        raise ValueError(
            "logits must be (B, T, V) and labels (B, T), "
            f"got {tuple(logits.shape)} and {tuple(labels.shape)}"
        )
    return F.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten(),
        ignore_index=pad_id,
        label_smoothing=label_smoothing,
    )


def noam_learning_rate(step: int, d_model: int, warmup: int) -> float:
    """The paper's schedule: a straight rise, then a fall with the square root of the step.

    Args:
        step: counts from 1.
        d_model: D.
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
        ValueError: if a count is below 1, `step` above `total` or the share out of range.
    """
    require_at_least_one(step=step, warmup=warmup, total=total)
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
        batch_size: examples a step.
        learning_rate: the peak of the schedule.
        warmup: steps of the rise.
        decay_fraction: share of the steps in which the rate falls to zero.
        betas: AdamW's decay rates of the two moments.
        weight_decay: AdamW's.
        clip_norm: the gradient's norm is cut to this.
        label_smoothing: see :func:`sequence_loss`.
        precision: "float32", or "bfloat16" for autocast; the weights stay float32.
        seed: of the order of the examples and of dropout.
        save_every: steps between two checkpoints.
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
    precision: Literal["float32", "bfloat16"] = "float32"
    seed: int = 0
    save_every: int = 1000

    def __post_init__(self) -> None:
        """Refuse values that could not train."""
        require_at_least_one(
            epochs=self.epochs,
            batch_size=self.batch_size,
            warmup=self.warmup,
            save_every=self.save_every,
        )
        require_probability(
            decay_fraction=self.decay_fraction, label_smoothing=self.label_smoothing
        )
        if self.precision not in ("float32", "bfloat16"):
            raise ValueError(f'precision must be "float32" or "bfloat16", got {self.precision!r}')


def pad_batch(rows: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """Stack rows of ids, filled up at the end to the longest.

    Args:
        rows: B lists of ids, at least one.
        pad_id: the id to fill with.

    Returns:
        (B, longest) int64.

    Raises:
        ValueError: if there is no row.
    """
    if not rows:
        raise ValueError("rows must hold at least one row, got none")
    return nn.utils.rnn.pad_sequence(
        [torch.tensor(row, dtype=torch.int64) for row in rows],
        batch_first=True,
        padding_value=pad_id,
    )


def bucketed_batches(
    examples: Sequence[Example], batch_size: int, seed: int, pool: int = 100
) -> list[list[int]]:
    """Deal the examples into batches of similar length, in an order that `seed` decides.

    The shuffled examples are sorted by length inside pools of `pool` batches:
    little padding, and still another mixture in every epoch.

    Args:
        examples: pairs of source and target ids.
        batch_size: examples a batch; the last batch of all may be smaller.
        seed: one a pass.
        pool: batches that are sorted together.

    Returns:
        Lists of indices into `examples`; every example comes once.

    Raises:
        ValueError: if a size is below 1 or there are no examples.
    """
    require_at_least_one(batch_size=batch_size, pool=pool)
    if not examples:
        raise ValueError("examples must hold at least one example, got none")
    shuffler = random.Random(seed)
    order = list(range(len(examples)))
    shuffler.shuffle(order)
    batches: list[list[int]] = []
    for start in range(0, len(order), batch_size * pool):
        near = sorted(
            order[start : start + batch_size * pool],
            key=lambda index: (len(examples[index][0]), len(examples[index][1])),
        )
        batches += [near[i : i + batch_size] for i in range(0, len(near), batch_size)]
    shuffler.shuffle(batches)
    return batches


class Trainer:
    """Teacher-forced training of any model that maps (src, tgt_in) to logits.

    With a `run_dir` the whole state is saved every ``config.save_every`` steps.
    A second call with the same arguments goes on from there, to the same result as an undisturbed
    run.

    Args:
        model: maps (B, S) and (B, T) ids to (B, T, V) logits; moved to `device`.
        examples: pairs of source ids and target ids, the target with begin and end token.
        config: how to train.
        pad_id: fills batches, and is left out of the loss.
        run_dir: folder for the checkpoint ``last.pt``; None = keep nothing.
        device: None = :py:func:`transformer_ref.device.pick_device`.

    Raises:
        ValueError: if there are no examples, or `run_dir` holds a run of another config or model.
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
    ) -> None:
        self.device = device or pick_device()
        self.model = model.to(self.device)
        self.examples = examples
        self.config = config
        self.pad_id = pad_id
        self.checkpoint = Path(run_dir) / "last.pt" if run_dir is not None else None
        self.optimizer = torch.optim.AdamW(
            model.parameters(),
            lr=config.learning_rate,
            betas=config.betas,
            weight_decay=config.weight_decay,
        )
        self.step = 0
        self.losses: list[float] = []
        if not examples:
            raise ValueError("examples must hold at least one, got none")
        self.steps_per_epoch = math.ceil(len(examples) / config.batch_size)
        self.total_steps = config.epochs * self.steps_per_epoch
        self._batches: list[list[int]] | None = None
        torch.manual_seed(config.seed)
        if self.checkpoint is not None and self.checkpoint.exists():
            self._resume(self.checkpoint)

    @property
    def epoch(self) -> int:
        """Whole passes done."""
        return self.step // self.steps_per_epoch

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
        """
        last = min(self.total_steps, max_steps or self.total_steps)
        bar = tqdm(total=last, initial=self.step, disable=not progress, unit="step")
        self.model.train()
        while self.step < last:
            self.losses.append(self._train_step(self._next_batch()))
            self.step += 1
            bar.update()
            bar.set_postfix(loss=f"{self.losses[-1]:.3f}", refresh=False)
            if self.step % self.config.save_every == 0 or self.step == last:
                self._save()
            if self.step % self.steps_per_epoch == 0 and on_epoch is not None:
                on_epoch(self)
                self.model.train()
        bar.close()
        return self.losses

    def _next_batch(self) -> list[int]:
        """Return the batch of this step; each epoch deals by its own seed, so a resume finds it."""
        epoch, index = divmod(self.step, self.steps_per_epoch)
        if self._batches is None or index == 0:
            seed = self.config.seed + epoch
            self._batches = bucketed_batches(self.examples, self.config.batch_size, seed)
        return self._batches[index]

    def _train_step(self, batch: list[int]) -> float:
        src = pad_batch([self.examples[i][0] for i in batch], self.pad_id).to(self.device)
        tgt = pad_batch([self.examples[i][1] for i in batch], self.pad_id).to(self.device)
        inputs, labels = split_target(tgt)
        rate = trapezoid_learning_rate(
            self.step + 1,
            self.config.learning_rate,
            self.config.warmup,
            self.total_steps,
            self.config.decay_fraction,
        )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        half = self.config.precision == "bfloat16"
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=half):
            logits = self.model(src, inputs)
        loss = sequence_loss(logits.float(), labels, self.pad_id, self.config.label_smoothing)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip_norm)
        self.optimizer.step()
        return loss.item()

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        state = {
            "step": self.step,
            "losses": self.losses,
            "config": asdict(self.config),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "random_state": torch.get_rng_state(),
            "cuda_random_states": torch.cuda.get_rng_state_all(),
        }
        self.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.checkpoint.with_suffix(".tmp")
        torch.save(state, unfinished)
        os.replace(unfinished, self.checkpoint)

    def _resume(self, path: Path) -> None:
        state = _load_state(path)
        if state["config"] != asdict(self.config):
            raise ValueError(
                f"run_dir holds a run with another config: {path} was made with {state['config']}, "
                f"got {asdict(self.config)}; use another folder, or delete that one to start again"
            )
        self.step, self.losses = state["step"], state["losses"]
        try:
            self.model.load_state_dict(state["model"])
        except RuntimeError as error:
            raise ValueError(f"run_dir holds a run of another model: {path}: {error}") from error
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random_state"])
        if state["cuda_random_states"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(state["cuda_random_states"])


def _load_state(path: Path) -> dict[str, Any]:
    """Read a checkpoint without running code from it; a damaged one is an OSError that names it."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(state, dict) or "optimizer" not in state:
            raise ValueError("it is not a training checkpoint")
    except PermissionError:
        raise
    except Exception as error:  # torch.load meets damage with almost any exception
        raise OSError(f"{path} is damaged: {error}; delete it to start the run again") from error
    return state
