"""Key/value cache: what attention has computed for earlier tokens, kept for the next one."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Projection = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class GrowingCache:
    """Keys and values of self-attention: each call appends those of the new tokens."""

    def __init__(self) -> None:
        self._stored: tuple[Tensor, Tensor] | None = None

    def update(self, project: Projection, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Project the new tokens, append them, and return all so far.

        Args:
            project: maps key and value (B, n, D) to their heads (B, H, n, K).
            key: (B, n, D), the new tokens only.
            value: (B, n, D).

        Returns:
            Keys and values (B, H, earlier + n, K).
        """
        new = project(key, value)
        if self._stored is not None:
            new = (
                torch.cat((self._stored[0], new[0]), dim=-2),
                torch.cat((self._stored[1], new[1]), dim=-2),
            )
        self._stored = new
        return new


class FixedCache:
    """Keys and values of cross-attention: the memory does not change, so once is enough."""

    def __init__(self) -> None:
        self._stored: tuple[Tensor, Tensor] | None = None

    def update(self, project: Projection, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Project the memory on the first call, and return the same ever after.

        Args:
            project: maps key and value (B, S, D) to their heads (B, H, S, K).
            key: (B, S, D), the memory.
            value: (B, S, D), the memory.

        Returns:
            Keys and values (B, H, S, K).
        """
        if self._stored is None:
            self._stored = project(key, value)
        return self._stored


class LayerCache:
    """The two caches of one decoder layer."""

    def __init__(self) -> None:
        self.self_attention = GrowingCache()
        self.cross_attention = FixedCache()


class KVCache:
    """What ``Transformer.decode`` keeps between calls while it generates, for one batch of sources.

    Args:
        num_layers: of the decoder.
    """

    def __init__(self, num_layers: int) -> None:
        self.layers = [LayerCache() for _ in range(num_layers)]
        self._ids: Tensor | None = None

    @property
    def length(self) -> int:
        """Target tokens decoded so far."""
        return 0 if self._ids is None else self._ids.shape[1]

    def extend(self, ids: Tensor) -> Tensor:
        """Note the ids of the new tokens.

        Args:
            ids: (B, n) integer ids.

        Returns:
            (B, length) ids of all tokens so far.

        Raises:
            ValueError: if the batch has another size than before.
        """
        if self._ids is not None and len(ids) != len(self._ids):
            raise ValueError(
                f"the cache was filled with a batch of {len(self._ids)}, "
                f"got tgt of shape {tuple(ids.shape)}"
            )
        self._ids = ids if self._ids is None else torch.cat((self._ids, ids), dim=1)
        return self._ids
