"""Argument checks that several modules share; each names the argument and what was expected.

Checks of shapes and dtypes cost nothing and are traced away by ``torch.compile``.
Checks of values (are all ids inside the vocabulary?) read the data:
they are skipped while compiling.
"""

from __future__ import annotations

import torch
from torch import Tensor

_INTEGER_DTYPES = frozenset({torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8})


def require_at_least_one(**sizes: int) -> None:
    """Refuse a size below 1.

    Raises:
        ValueError: naming the first argument that is not a positive integer.
    """
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {size!r}")


def require_probability(**values: float) -> None:
    """Refuse a dropout rate or smoothing outside [0, 1).

    Raises:
        ValueError: naming the first argument that is out of range.
    """
    for name, value in values.items():
        if not 0.0 <= value < 1.0:
            raise ValueError(f"{name} must lie in [0, 1), got {value!r}")


def require_ids(name: str, ids: Tensor, vocab_size: int | None = None) -> None:
    """Refuse token ids that are not a (B, T) integer tensor or fall outside the vocabulary.

    Raises:
        ValueError: naming the argument, what it holds and what is allowed.
    """
    if ids.ndim != 2:
        raise ValueError(f"{name} must have shape (batch, length), got {tuple(ids.shape)}")
    if ids.dtype not in _INTEGER_DTYPES:
        raise ValueError(f"{name} must hold integer ids (int64), got {ids.dtype}")
    if vocab_size is None or torch.compiler.is_compiling() or ids.is_meta or ids.numel() == 0:
        return
    lowest, highest = (int(bound) for bound in torch.aminmax(ids))
    if lowest < 0 or highest >= vocab_size:
        raise ValueError(
            f"{name} must lie in 0..{vocab_size - 1} (vocabulary of {vocab_size}), "
            f"got ids from {lowest} to {highest}"
        )


def require_mask(
    name: str, mask: Tensor, scores_shape: torch.Size | tuple[int, ...], device: torch.device
) -> None:
    """Refuse a mask that is not boolean, not on the scores' device or does not broadcast to them.

    Raises:
        ValueError: naming the argument, what came and what was expected.
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"{name} must be boolean (True = may attend), got {mask.dtype}")
    if mask.device != device:
        raise ValueError(f"{name} must be on {device} like the scores, got {mask.device}")
    fits = mask.ndim <= len(scores_shape) and all(
        have in (1, want)
        for have, want in zip(reversed(mask.shape), reversed(scores_shape), strict=False)
    )
    if not fits:
        raise ValueError(
            f"{name} must broadcast to the scores' shape {tuple(scores_shape)}, "
            f"got {tuple(mask.shape)}"
        )
