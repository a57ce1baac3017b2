"""Schedules: the learning rate of each step."""

from __future__ import annotations

from transformer_ref._validate import (
    require_at_least_one,
    require_positive,
    require_probability,
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
