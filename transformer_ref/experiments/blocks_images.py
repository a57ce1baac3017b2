"""Images as tokens: small pictures of digits, cut into patches, through the encoder layers.

The digits are made here: a font of 7 by 5 dots, somewhere in a picture of 8 by 8, with noise.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.layers import EncoderLayer

# A digit each; a hexadecimal number for each of its seven rows of five dots.
FONT = (
    "0e 11 13 15 19 11 0e", "04 0c 04 04 04 04 0e", "0e 11 01 02 04 08 1f",
    "1f 02 04 02 01 11 0e", "02 06 0a 12 1f 02 02", "1f 10 1e 01 01 11 0e",
    "06 08 10 1e 11 11 0e", "1f 01 02 04 08 08 08", "0e 11 11 0e 11 11 0e",
    "0e 11 11 0f 01 02 0c",
)  # fmt: skip
SIZE, PATCH = 8, 2
TOKENS = (SIZE // PATCH) ** 2


def glyphs() -> Tensor:
    """Return the ten digits without place and noise, (10, 7, 5), ones and zeros."""
    rows = [[int(row, 16) for row in digit.split()] for digit in FONT]
    return torch.tensor(
        [[[row >> (4 - x) & 1 for x in range(5)] for row in one] for one in rows]
    ).float()


def make_digits(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return random pictures (count, 8, 8) and what they show (count,)."""
    generator = torch.Generator().manual_seed(seed)
    shown = torch.randint(10, (count,), generator=generator)
    down = torch.randint(SIZE - 7 + 1, (count,), generator=generator)
    across = torch.randint(SIZE - 5 + 1, (count,), generator=generator)
    pictures = 0.3 * torch.randn(count, SIZE, SIZE, generator=generator)
    for picture, digit, y, x in zip(pictures, glyphs()[shown], down, across, strict=True):
        picture[y : y + 7, x : x + 5] += digit
    return pictures, shown


def cut_into_patches(pictures: Tensor) -> Tensor:
    """Return the patches of 2 by 2 dots, row by row: (B, 8, 8) -> (B, 16, 4)."""
    blocks = pictures.unfold(1, PATCH, PATCH).unfold(2, PATCH, PATCH)  # (B, 4, 4, 2, 2)
    return blocks.flatten(1, 2).flatten(2)  # (B, 16, 4)


class DigitReader(nn.Module):
    """Patches through a linear layer, learned positions and two encoder layers; then the mean."""

    def __init__(self, d_model: int = 32, *, with_positions: bool = True) -> None:
        super().__init__()
        self.embedding = nn.Linear(PATCH * PATCH, d_model)
        self.positions = nn.Parameter(torch.randn(TOKENS, d_model) * with_positions)
        self.positions.requires_grad_(with_positions)
        layers = (EncoderLayer(d_model, 4, 2 * d_model, norm="pre") for _ in range(2))
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, 10)

    def forward(self, pictures: Tensor) -> Tensor:
        """Return the logits of the ten digits: (B, 8, 8) -> (B, 10)."""
        x = self.embedding(cut_into_patches(pictures)) + self.positions  # (B, 16, D)
        for layer in self.layers:
            x = layer(x)
        logits: Tensor = self.output(self.norm(x).mean(dim=1))  # (B, 10)
        return logits


def train_reader(*, with_positions: bool, steps: int = 400) -> DigitReader:
    """Train a reader on 4,000 pictures."""
    pictures, shown = make_digits(4000, seed=0)
    torch.manual_seed(0)
    reader = DigitReader(with_positions=with_positions)
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.003)
    for _ in range(steps):
        chosen = torch.randint(len(pictures), (64,))
        loss = F.cross_entropy(reader(pictures[chosen]), shown[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return reader.eval()
