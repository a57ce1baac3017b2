"""What the chapter on GPT does by hand: a text's probability, and three temperatures.

The drawings and the page show the same numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor

# A text of three words, and what a model says of each, given the words before it.
TEXT = ("the", "cat", "sat")
GUESSES = (0.5, 0.25, 0.5)

# Four words that may come next, their logits, and three temperatures.
NEXT = ("people", "world", "way", "tree")
LOGITS = (2.0, 1.0, 0.0, -1.0)
TEMPERATURES = (0.5, 1.0, 2.0)

# A text as words, and where two pieces of `PIECE` words begin.
LINE = ("to", "be", "or", "not", "to", "be", "that", "is")
PIECE, STARTS = 3, (0, 4)


def chain_by_hand() -> dict[str, Tensor]:
    """Return the price of the text of three words.

    Returns:
        guesses, bits (3,); and scalars: product, total_bits, loss (mean, in nats), perplexity.
    """
    guesses = torch.tensor(GUESSES)
    loss = -guesses.log().mean()
    return {
        "guesses": guesses, "bits": -guesses.log2(), "product": guesses.prod(),
        "total_bits": -guesses.log2().sum(), "loss": loss, "perplexity": loss.exp(),
    }  # fmt: skip


def probabilities_by_hand() -> Tensor:
    """Return the probabilities (3, 4) of the four words, a row for each temperature."""
    return (torch.tensor(LOGITS) / torch.tensor(TEMPERATURES)[:, None]).softmax(dim=-1)
