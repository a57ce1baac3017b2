"""Embeddings: a row of numbers for each token, and back from a row to a score for each token."""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref._validate import (
    require_alike,
    require_at_least_one,
    require_ids,
    require_token_id,
)


class TokenEmbedding(nn.Module):
    """Look up a row for each id and multiply it by sqrt(D).

    Args:
        vocab_size: V, the number of tokens.
        d_model: D, the features of a vector.
        pad_id: the row of this id is zero and the look-up gives it no gradient; None for no such
            row.
        init_std: standard deviation of the first rows; None = 1/D.
            With 1/sqrt(D) the scaled rows have unit variance, which learns faster.
            But when the same matrix also makes the logits (weight tying) an untrained model then
            copies its input, and the first loss is far above ln V; 1/D avoids that.
        scale: what the rows are multiplied by; None = sqrt(D). GPT-2 takes them as they are: 1.

    Raises:
        ValueError: if a size is below 1 or `pad_id` is outside the vocabulary.

    Source: Vaswani et al. 2017, section 3.4 (sqrt(d_model) and the shared matrix).
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        pad_id: int | None = 0,
        init_std: float | None = None,
        scale: float | None = None,
    ) -> None:
        super().__init__()
        require_at_least_one(vocab_size=vocab_size, d_model=d_model)
        if pad_id is not None:
            require_token_id(vocab_size, pad_id=pad_id)
        self.scale = math.sqrt(d_model) if scale is None else scale
        self.init_std = 1.0 / d_model if init_std is None else init_std
        self.embedding = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)
        self.reset_parameters()

    @property
    def weight(self) -> Tensor:
        """The (V, D) matrix."""
        return self.embedding.weight

    def reset_parameters(self) -> None:
        """Draw the rows anew, and put the padding row back to zero."""
        nn.init.normal_(self.weight, std=self.init_std)
        if self.embedding.padding_idx is not None:
            nn.init.zeros_(self.weight.data[self.embedding.padding_idx])

    def forward(self, ids: Tensor, name: str = "ids", check_ids: bool = True) -> Tensor:
        """Embed token ids.

        Args:
            ids: (B, T) integer ids.
            name: what a caller calls them, for the message of an error.
            check_ids: look whether they are in the vocabulary, for which a GPU waits.

        Returns:
            (B, T, D) in the dtype of the weight.

        Raises:
            ValueError: if `ids` has another rank, dtype or device than the weight,
                or an id is outside the vocabulary.
        """
        vocab_size = self.embedding.num_embeddings if check_ids else None
        require_ids(name, ids, vocab_size, self.weight.device)
        return self.embedding(ids) * self.scale


def tied_logits(hidden: Tensor, weight: Tensor) -> Tensor:
    """Score every token of the vocabulary with the embedding matrix itself.

    Args:
        hidden: (B, T, D) floating.
        weight: (V, D), the same dtype.

    Returns:
        (B, T, V): hidden @ weight^T, without the sqrt(D) of the input side.

    Raises:
        ValueError: if the last axes, the dtypes or the devices differ.

    Source: Press and Wolf 2017; Vaswani et al. 2017, section 3.4.
    """
    if weight.ndim != 2 or hidden.shape[-1:] != weight.shape[-1:]:
        raise ValueError(
            f"hidden and weight must share their last axis and weight be a matrix, "
            f"got {tuple(hidden.shape)} and {tuple(weight.shape)}"
        )
    require_alike("hidden", hidden, weight)
    return F.linear(hidden, weight)


def embedding_from_pretrained(
    vectors: Tensor, trainable: bool, pad_id: int | None = None
) -> nn.Embedding:
    """Put vectors that were learned elsewhere, by word2vec say, into an embedding of one's own.

    Args:
        vectors: (V, D) floating, one row a token; copied.
        trainable: True to tune the rows with the rest of a model, False to freeze them.
        pad_id: the row of this id stays as it came, as the look-up gives it no gradient;
            None for no such row.

    Returns:
        The embedding, with the dtype and device of `vectors`; it does not multiply by sqrt(D).

    Raises:
        ValueError: if `vectors` is no floating matrix or has no row `pad_id`.
    """
    if vectors.ndim != 2 or not vectors.is_floating_point():
        raise ValueError(
            f"vectors must be floating with shape (V, D), "
            f"got {vectors.dtype} of shape {tuple(vectors.shape)}"
        )
    if pad_id is not None:
        require_token_id(len(vectors), pad_id=pad_id)
    return nn.Embedding.from_pretrained(
        vectors.detach().clone(), freeze=not trainable, padding_idx=pad_id
    )
