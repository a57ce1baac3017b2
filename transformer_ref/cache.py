"""Key/value cache: what attention has computed for earlier tokens, kept for the next one.

A cache is for generation: it writes in place, so no gradient goes through it.
Keys and values are kept without the graph that made them, and those that come back have none.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from transformer_ref._validate import require_at_least_one

Projection = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class GrowingCache:
    """Keys and values of self-attention: each call appends those of the new tokens.

    They lie in a tensor with room for more, which doubles when it is full.
    So T tokens cost T copies of one token, not of all tokens so far.
    """

    def __init__(self) -> None:
        self._room: tuple[Tensor, Tensor] | None = None
        self._length = 0

    def update(self, project: Projection, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Project the new tokens, append them, and return all so far.

        Args:
            project: maps key and value (B, n, D) to their heads (B, H, n, K).
            key: (B, n, D), the new tokens only.
            value: (B, n, D).

        Returns:
            Keys and values (B, H, earlier + n, K), views that the next call may move.
        """
        new = project(key, value)
        start, end = self._length, self._length + new[0].shape[-2]
        if self._room is None or end > self._room[0].shape[-2]:
            self._room = self._more_room(new, 2 * end)
        for room, part in zip(self._room, new, strict=True):
            room.narrow(2, start, end - start).copy_(part.detach())
        self._length = end
        keys, values = self._room
        return keys.narrow(2, 0, end), values.narrow(2, 0, end)

    def shorten(self, length: int) -> None:
        """Forget the tokens after the first `length`, which a call that failed has left."""
        self._length = length

    def _more_room(self, new: tuple[Tensor, Tensor], size: int) -> tuple[Tensor, Tensor]:
        keys, values = (x.new_empty(*x.shape[:2], size, x.shape[-1]) for x in new)
        if self._room is not None:
            for wider, room in zip((keys, values), self._room, strict=True):
                wider[:, :, : self._length] = room[:, :, : self._length]
        return keys, values

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order; a row may come more than once.

        Args:
            rows: (R,) int64 indices into the batch.
        """
        if self._room is not None:
            keys, values = (room.index_select(0, rows) for room in self._room)
            self._room = keys, values


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
            keys, values = project(key, value)
            self._stored = keys.detach(), values.detach()
        return self._stored

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, as :meth:`GrowingCache.select`."""
        if self._stored is not None:
            keys, values = (stored.index_select(0, rows) for stored in self._stored)
            self._stored = keys, values


class LayerCache:
    """The two caches of one decoder layer; a decoder-only model uses the first alone."""

    def __init__(self) -> None:
        self.self_attention = GrowingCache()
        self.cross_attention = FixedCache()


class KVCache:
    """What a model keeps between calls while it generates, for one batch of sequences.

    Args:
        num_layers: of the decoder.

    Raises:
        ValueError: if `num_layers` is below 1.
    """

    def __init__(self, num_layers: int) -> None:
        require_at_least_one(num_layers=num_layers)
        self.layers = [LayerCache() for _ in range(num_layers)]
        self._ids: Tensor | None = None

    @property
    def length(self) -> int:
        """Tokens decoded so far."""
        return 0 if self._ids is None else self._ids.shape[1]

    def require_layers(self, num_layers: int) -> None:
        """Refuse to serve a model with another number of layers.

        Raises:
            ValueError: naming both numbers.
        """
        if len(self.layers) != num_layers:
            raise ValueError(
                f"cache must have num_layers = {num_layers} like the model, got {len(self.layers)}"
            )

    def begin(self, ids: Tensor, name: str = "ids") -> Tensor:
        """Begin a call that reads new tokens; only :meth:`keep` at its end makes them count.

        What a call that failed has left in the layers is forgotten here.

        Args:
            ids: (B, n) integer ids of the new tokens.
            name: what a caller calls them, for the message of an error.

        Returns:
            (B, length + n) ids of all tokens so far.

        Raises:
            ValueError: if the batch has another size than before.
        """
        if self._ids is not None and len(ids) != len(self._ids):
            raise ValueError(
                f"the cache was filled with a batch of {len(self._ids)}, "
                f"got {name} of shape {tuple(ids.shape)}"
            )
        if self._ids is None:
            self.layers = [LayerCache() for _ in self.layers]
            return ids
        for layer in self.layers:
            layer.self_attention.shorten(self.length)
        return torch.cat((self._ids, ids), dim=1)

    def keep(self, ids: Tensor) -> None:
        """End a call: all layers have read these tokens.

        Args:
            ids: what :meth:`begin` has returned.
        """
        self._ids = ids

    def select(self, rows: Tensor, same_source: bool = False) -> None:
        """Keep these rows of the batch, in this order; a row may come more than once.

        Args:
            rows: (R,) int64 indices into the batch.
            same_source: each place goes to a row of the source that it had before, as in a beam:
                the keys and values of the memory then stay as they are.
        """
        if self._ids is not None:
            self._ids = self._ids.index_select(0, rows)
        for layer in self.layers:
            layer.self_attention.select(rows)
            if not same_source:
                layer.cross_attention.select(rows)
