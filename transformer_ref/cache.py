"""Key/value cache: what attention has computed for earlier tokens, kept for the next one.

A cache is for generation: it writes in place, so no gradient goes through it.
Keys and values are kept without the graph that made them, and those that come back have none.
"""

from __future__ import annotations

import torch
from torch import Tensor

from transformer_ref._validate import require_at_least_one


class GrowingCache:
    """Keys and values of self-attention: each call appends those of the new tokens.

    They lie in a tensor with room for more, which doubles when it is full.
    So T tokens cost T copies of one token, not of all tokens so far.
    """

    def __init__(self) -> None:
        self._room: list[Tensor] = []  # keys and values, (B, H, at least length, K) each
        self._length = 0

    @property
    def length(self) -> int:
        """Tokens whose keys and values are here."""
        return self._length

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append the new tokens, and return all so far.

        Args:
            keys: (B, H, n, K), of the new tokens only.
            values: (B, H, n, K).

        Returns:
            Keys and values (B, H, earlier + n, K), views that the next call may move.
        """
        start, end = self._length, self._length + keys.shape[2]
        if not self._room or end > self._room[0].shape[2]:
            wider = [x.new_empty(*x.shape[:2], 2 * end, x.shape[3]) for x in (keys, values)]
            for new, old in zip(wider, self._room, strict=False):  # none yet in the first call
                new[:, :, :start] = old[:, :, :start]
            self._room = wider
        for room, new in zip(self._room, (keys, values), strict=True):
            room.narrow(2, start, end - start).copy_(new.detach())
        self._length = end
        return self._room[0].narrow(2, 0, end), self._room[1].narrow(2, 0, end)

    def shorten(self, length: int) -> None:
        """Forget the tokens after the first `length`, which a call that failed has left."""
        self._length = length

    def select(self, rows: Tensor) -> None:
        """Keep these rows (R,) of the batch, in this order; a row may come more than once."""
        self._room = [room.index_select(0, rows) for room in self._room]


class FixedCache:
    """Keys and values of cross-attention: the memory does not change, so once is enough.

    Attributes:
        stored: keys and values (B, H, S, K); None before the first call.
    """

    def __init__(self) -> None:
        self.stored: tuple[Tensor, Tensor] | None = None

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store the keys and values (B, H, S, K) of the whole memory, and return them."""
        self.stored = keys.detach(), values.detach()
        return self.stored

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, as :meth:`GrowingCache.select`."""
        if self.stored is not None:
            keys, values = self.stored
            self.stored = keys.index_select(0, rows), values.index_select(0, rows)


AttentionCache = GrowingCache | FixedCache


class LayerCache:
    """The caches of one layer; the second stays empty where there is no cross-attention."""

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

    def begin(self, ids: Tensor, num_layers: int, name: str = "ids") -> Tensor:
        """Begin a call that reads new tokens; only :meth:`keep` at its end makes them count.

        What a call that failed has left in the layers is forgotten here.

        Args:
            ids: (B, n) integer ids of the new tokens.
            num_layers: of the model that reads them.
            name: what a caller calls them, for the message of an error.

        Returns:
            (B, length + n) ids of all tokens so far.

        Raises:
            ValueError: if the model has another number of layers, or the batch another size than
                before.
        """
        if len(self.layers) != num_layers:
            raise ValueError(
                f"cache must have num_layers = {num_layers} like the model, got {len(self.layers)}"
            )
        if self._ids is None:
            self.layers = [LayerCache() for _ in self.layers]
            return ids
        if len(ids) != len(self._ids):
            raise ValueError(
                f"the cache was filled with a batch of {len(self._ids)}, "
                f"got {name} of shape {tuple(ids.shape)}"
            )
        for layer in self.layers:
            layer.self_attention.shorten(self.length)
        return torch.cat((self._ids, ids), dim=1)

    def keep(self, ids: Tensor) -> None:
        """End a call: all layers have read these tokens, which :meth:`begin` has returned."""
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
