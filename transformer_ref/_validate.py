"""Argument checks that several modules share; each names the argument and what was expected.

Checks of shapes and dtypes cost nothing and are traced away by ``torch.compile``.
Checks of values (are all ids inside the vocabulary?) read the data, for which a GPU waits;
they are skipped where there are no values: while compiling or exporting, under ``vmap``,
on "meta" and in ``FakeTensorMode``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

# Below, types are told apart by tuples of them: torch.compile of torch 2.9 reads no `int | float`.
_ID_DTYPES = (torch.int64, torch.int32)  # those that F.embedding can look up


def require_at_least_one(**sizes: int) -> None:
    """Refuse a size below 1.

    Raises:
        ValueError: naming the first argument that is not a positive integer.
    """
    for name, size in sizes.items():
        # A SymInt is a length that torch.export leaves open.
        if not isinstance(size, (int, torch.SymInt)) or isinstance(size, bool) or size < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {size!r}")


def require_integer(**values: int) -> None:
    """Refuse what is no integer.

    Raises:
        ValueError: naming the first argument that is none.
    """
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"{name} must be an integer, got {value!r}")


def require_probability(**values: float) -> None:
    """Refuse a dropout rate or smoothing outside [0, 1).

    Raises:
        ValueError: naming the first argument that is out of range.
    """
    for name, value in values.items():
        if not isinstance(value, (int, float)) or not 0.0 <= value < 1.0:
            raise ValueError(f"{name} must be a number in [0, 1), got {value!r}")


def require_positive(**values: float) -> None:
    """Refuse a rate or limit that is not above 0; infinity is allowed.

    Raises:
        ValueError: naming the first argument that is out of range.
    """
    for name, value in values.items():
        if not isinstance(value, (int, float)) or not value > 0.0:
            raise ValueError(f"{name} must be a number above 0, got {value!r}")


def require_heads(d_model: int, num_heads: int) -> None:
    """Refuse a number of heads that does not divide D, and either below 1.

    Raises:
        ValueError: naming what does not fit.
    """
    require_at_least_one(d_model=d_model, num_heads=num_heads)
    if d_model % num_heads:
        raise ValueError(
            f"num_heads must divide d_model, got d_model={d_model}, num_heads={num_heads}"
        )


def require_model_config(config: Any) -> None:
    """Refuse what no model could be built from, whichever it is.

    Args:
        config: a dataclass with sizes as its only integers but ``pad_id``, a rate `dropout`, the
            choices `norm` and `positions`, `d_model` and `num_heads`.

    Raises:
        ValueError: naming the first field that does not fit.
    """
    # Where annotations are postponed, the type of a field is a string.
    sizes = [f.name for f in fields(config) if f.type in (int, "int") and f.name != "pad_id"]
    require_at_least_one(**{name: getattr(config, name) for name in sizes})
    require_probability(dropout=config.dropout)
    require_choice("norm", config.norm, ("post", "pre"))
    require_choice("positions", config.positions, ("sinusoidal", "learned"))
    require_heads(config.d_model, config.num_heads)


def require_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a word that is not one of those allowed.

    Raises:
        ValueError: naming the argument and the words.
    """
    if value not in allowed:
        words = ", ".join(f'"{word}"' for word in allowed)
        raise ValueError(f"{name} must be one of {words}, got {value!r}")


def require_several(**strings: Iterable[str]) -> None:
    """Refuse one string in place of several: its characters would pass for them.

    Raises:
        ValueError: naming the first argument that is a string.
    """
    for name, value in strings.items():
        if isinstance(value, str):
            raise ValueError(f"{name} must be several strings, got one: {value[:40]!r}")


def require_token_id(vocab_size: int, **ids: int) -> None:
    """Refuse a special token's id outside the vocabulary.

    Raises:
        ValueError: naming the first argument that is out of range.
    """
    for name, token_id in ids.items():
        if not isinstance(token_id, int) or not 0 <= token_id < vocab_size:
            raise ValueError(f"{name} must lie in 0..{vocab_size - 1}, got {token_id!r}")


def values_of(ids: Tensor, compute: Callable[[], Tensor]) -> Any:
    """Read what is computed from ids, all at once: a GPU waits once.

    Args:
        ids: what it is computed from.
        compute: gives a tensor.

    Returns:
        Its value as Python numbers, or None where there is none.
    """
    if torch.compiler.is_compiling() or ids.is_meta or ids.numel() == 0:
        return None
    try:
        return compute().tolist()
    except RuntimeError:  # vmap or fake; an error of the device comes again where ids are used
        return None


def require_ids(
    name: str, ids: Tensor, vocab_size: int | None = None, device: torch.device | None = None
) -> None:
    """Refuse token ids that are not a (B, T) integer tensor or fall outside the vocabulary.

    A batch of no rows is allowed, rows of no tokens are not: there is nothing to attend to.

    Raises:
        ValueError: naming the argument, what it holds and what is allowed.
    """
    if ids.ndim != 2 or ids.shape[1] == 0:
        raise ValueError(
            f"{name} must have shape (batch, length), length at least 1, got {tuple(ids.shape)}"
        )
    if ids.dtype not in _ID_DTYPES:
        raise ValueError(f"{name} must hold ids as int64 or int32, got {ids.dtype}")
    if device is not None and ids.device != device:
        raise ValueError(f"{name} must be on {device} like the weights, got {ids.device}")
    if vocab_size is not None and (
        found := values_of(ids, lambda: torch.stack(torch.aminmax(ids)))
    ):
        require_in_vocabulary(name, vocab_size, *found)


def require_in_vocabulary(name: str, vocab_size: int, lowest: int, highest: int) -> None:
    """Refuse ids of which the lowest or the highest is outside the vocabulary.

    Raises:
        ValueError: naming the argument, both ids and what is allowed.
    """
    if lowest < 0 or highest >= vocab_size:
        raise ValueError(
            f"{name} must lie in 0..{vocab_size - 1} (vocabulary of {vocab_size}), "
            f"got ids from {lowest} to {highest}"
        )


def require_hidden(name: str, x: Tensor, weight: Tensor, any_dtype: bool = False) -> None:
    """Refuse hidden states that are not a floating (B, T, D) tensor, T at least 1.

    D, the device and, if not `any_dtype`, the dtype are those of a weight (..., D).

    Raises:
        ValueError: naming the argument, what came and what was expected.
    """
    d_model = weight.shape[-1]
    if x.ndim != 3 or x.shape[1] == 0 or x.shape[-1] != d_model or not x.is_floating_point():
        raise ValueError(
            f"{name} must be floating with shape (batch, length, {d_model}), length at least 1, "
            f"got {x.dtype} of shape {tuple(x.shape)}"
        )
    require_alike(name, x, weight, any_dtype)


def require_alike(name: str, x: Tensor, weight: Tensor, any_dtype: bool = False) -> None:
    """Refuse a tensor on another device than a weight, or of another dtype outside autocast.

    Raises:
        ValueError: naming the argument, what came and what was expected.
    """
    if x.device != weight.device:
        raise ValueError(f"{name} must be on {weight.device} like the weights, got {x.device}")
    if not (any_dtype or x.dtype == weight.dtype or torch.is_autocast_enabled(x.device.type)):
        raise ValueError(f"{name} must be {weight.dtype} like the weights, got {x.dtype}")


def require_attention(query: Tensor, key: Tensor, value: Tensor | None = None) -> None:
    """Refuse queries (..., T, K), keys (..., S, K) and values (..., S, K_v) that do not fit.

    Raises:
        ValueError: naming the arguments and what came of each.
    """
    given = (query, key) if value is None else (query, key, value)
    if any(x.ndim < 2 or not x.is_floating_point() for x in given):
        problem = "be floating with at least 2 axes"
    elif query.shape[-1] != key.shape[-1]:
        problem = "agree in the last axis of query and key"
    elif value is not None and key.shape[-2] != value.shape[-2]:
        problem = "have one row of key and value for each source token"
    elif not all(_broadcast(query.shape[:-2], x.shape[:-2]) for x in given):
        problem = "share their leading axes"
    elif any(x.device != query.device for x in given):
        problem = "be on one device"
    elif any(x.dtype != query.dtype for x in given) and not torch.is_autocast_enabled(
        query.device.type
    ):
        problem = "be of one dtype"
    else:
        return
    got = ", ".join(
        f"{name} {tuple(x.shape)} {x.dtype} on {x.device}"
        for name, x in zip(("query", "key", "value"), given, strict=False)
    )
    raise ValueError(f"query, key and value must {problem}, got {got}")


def _broadcast(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return shape == other or all(
        size == another or 1 in (size, another)
        for size, another in zip(reversed(shape), reversed(other), strict=False)
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
