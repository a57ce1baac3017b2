"""The config of a run: everything that its result depends on besides model and data."""

from dataclasses import dataclass
from typing import Literal

from transformer_ref._validate import (
    require_at_least_one,
    require_choice,
    require_positive,
    require_probability,
)
from transformer_ref.training.schedules import noam_learning_rate, trapezoid_learning_rate


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
