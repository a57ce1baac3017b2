"""Batches: examples of similar length together, so that little is computed for padding."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from transformer_ref._validate import require_at_least_one, require_integer

Example = tuple[list[int], list[int]]  # source ids and target ids


def pad_batch(rows: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """Stack rows of ids, filled up at the end to the longest.

    Args:
        rows: B lists of ids, at least one.
        pad_id: the id to fill with.

    Returns:
        (B, longest) int64.

    Raises:
        ValueError: if there is no row, or `pad_id` is no integer.
    """
    if not rows:
        raise ValueError("rows must hold at least one row, got none")
    require_integer(pad_id=pad_id)
    longest = max(map(len, rows))
    # One tensor of them all: a tensor for each row takes six times as long.
    full = [[*row, *[pad_id] * (longest - len(row))] for row in rows]
    return torch.tensor(full, dtype=torch.int64)


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

    def cut(near: list[int]) -> list[list[int]]:
        return [near[i : i + batch_size] for i in range(0, len(near), batch_size)]

    return _deal(examples, batch_size * pool, seed, cut)


def token_batches(
    examples: Sequence[Example], batch_tokens: int, seed: int, pool: int = 100
) -> list[list[int]]:
    """Deal the examples into batches of similar length and of a bounded number of tokens.

    Every step then takes about the same time and memory, whether its sentences are long or short.

    Args:
        examples: pairs of source and target ids.
        batch_tokens: the most tokens a batch may have, source and target together, padding
            counted: rows * (longest source + longest target).
        seed: one a pass.
        pool: about so many batches are sorted together.

    Returns:
        Lists of indices into `examples`; every example comes once.

    Raises:
        ValueError: if a size is below 1, there are no examples, or one is larger than a batch.

    Source: Vaswani et al. 2017, section 5.1, batches sentences by length and number of tokens.
    """
    require_at_least_one(batch_tokens=batch_tokens, pool=pool)
    sizes = [len(source) + len(target) for source, target in examples]
    for index, size in enumerate(sizes):
        if size > batch_tokens:
            raise ValueError(
                f"batch_tokens must hold the longest example, got {batch_tokens}, "
                f"but examples[{index}] has {size} tokens of source and target"
            )

    def cut(near: list[int]) -> list[list[int]]:
        batches: list[list[int]] = [[]]
        longest_source = longest_target = 0
        for index in near:
            source, target = examples[index]
            longest_source = max(longest_source, len(source))
            longest_target = max(longest_target, len(target))
            if (len(batches[-1]) + 1) * (longest_source + longest_target) > batch_tokens:
                batches.append([])
                longest_source, longest_target = len(source), len(target)
            batches[-1].append(index)
        return batches

    return _deal(examples, pool * batch_tokens * len(sizes) // max(1, sum(sizes)), seed, cut)


def _deal(
    examples: Sequence[Example],
    pool_size: int,
    seed: int,
    cut: Callable[[list[int]], list[list[int]]],
) -> list[list[int]]:
    """Shuffle, sort by length inside each pool, `cut` the pools into batches, and shuffle those."""
    if not examples:
        raise ValueError("examples must hold at least one example, got none")
    shuffler = random.Random(seed)
    order = list(range(len(examples)))
    shuffler.shuffle(order)
    batches: list[list[int]] = []
    for start in range(0, len(order), pool_size):
        near = sorted(
            order[start : start + pool_size],
            key=lambda index: (len(examples[index][0]), len(examples[index][1])),
        )
        batches += cut(near)
    shuffler.shuffle(batches)
    return batches
