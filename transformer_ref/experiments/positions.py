"""What the chapter on positions does by hand, and the small model of its closer look.

The drawings show the numbers of the example by hand.
The model copies the token before: the smallest task that needs order.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.attention import MultiHeadAttention, scaled_dot_product_attention
from transformer_ref.embeddings import TokenEmbedding
from transformer_ref.positions import (
    Positions,
    frequencies,
    make_positions,
    shift_matrix,
    sinusoidal_encoding,
)

# The example by hand: three words with four features each, which are not learned.
WORDS = ("dog", "bites", "man")
X = ((2.0, 0.0, 1.0, 0.0), (0.0, 1.0, 0.0, 2.0), (1.0, 0.0, 2.0, 0.0))
POSITIONS, D_MODEL = 4, 4
SHIFT = 2  # from position 1 to position 3

# The copying task: how many tokens there are, how long a sequence is, how long the table.
VOCABULARY, LENGTH, MAX_LEN = 10, 16, 64


def by_hand() -> dict[str, Tensor]:
    """Return each step of the example, as the drawings show them.

    Returns:
        X and X_backwards (3, 4), the words in both orders; attended and attended_backwards (3, 4),
        what attention makes of them; angles (4, 2); PE (4, 4); sum and sum_backwards (3, 4), the
        words at their positions; M (4, 4), the shift matrix.
    """
    x = torch.tensor(X)
    backwards, table = x.flip(0), sinusoidal_encoding(POSITIONS, D_MODEL)
    places = torch.arange(POSITIONS, dtype=torch.float64)
    return {
        "X": x, "X_backwards": backwards,
        "attended": scaled_dot_product_attention(x, x, x)[0],
        "attended_backwards": scaled_dot_product_attention(backwards, backwards, backwards)[0],
        "angles": torch.outer(places, frequencies(D_MODEL)), "PE": table,
        "sum": x + table[:3], "sum_backwards": backwards + table[:3],
        "M": shift_matrix(SHIFT, D_MODEL),
    }  # fmt: skip


class Copier(nn.Module):
    """One attention with one head that is to say, for each token, the token before.

    Args:
        kind: "sinusoidal" or "learned" positions.
        d_model: D.
        init_std: of the embedding; None = what a TokenEmbedding takes by itself.
        norm: makes a layer from D that stands before the attention.
    """

    def __init__(
        self,
        kind: Positions,
        d_model: int = 32,
        init_std: float | None = None,
        norm: Callable[[int], nn.Module] = nn.Identity,
    ) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(VOCABULARY, d_model, None, init_std)
        self.positions = make_positions(kind, d_model, max_len=MAX_LEN)
        self.norm = norm(d_model)
        self.attention = MultiHeadAttention(d_model, num_heads=1)
        self.output = nn.Linear(d_model, VOCABULARY)

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """Score the token before, for each token but the first.

        Args:
            ids: (B, T) int64.
            start: position of the first token.

        Returns:
            (B, T - 1, V) logits.
        """
        x = self.norm(self.positions(self.embedding(ids), start))
        logits: Tensor = self.output(self.attention(x, x, x))
        return logits[:, 1:]


def train_copier(model: Copier, steps: int = 300, random_start: bool = False) -> Copier:
    """Train on random tokens at positions 0 to 15, or at 16 positions that begin anywhere."""
    torch.manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        ids = torch.randint(VOCABULARY, (32, LENGTH))
        start = int(torch.randint(MAX_LEN - LENGTH + 1, ())) if random_start else 0
        logits = model(ids, start)
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, :-1].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


@torch.inference_mode()
def copy_accuracy(model: Copier, start: int = 0, length: int = LENGTH) -> Tensor:
    """Return the share of 200 random sequences that is right, (T - 1,), for each token but one."""
    ids = torch.randint(VOCABULARY, (200, length))
    hits = model(ids, start).argmax(dim=-1) == ids[:, :-1]
    return hits.float().mean(dim=0)
