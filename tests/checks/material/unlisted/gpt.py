"""Wrong answers to the tasks on GPT."""

import torch
from torch import nn

from tests.checks.material.unlisted import wrong
from transformer_ref import layers as reference
from transformer_ref.masks import causal_mask


@wrong("gpt.lm_batch", "ids[s + 1 : s + T]: the labels are one token short")
def lm_batch_4(ids, block_size, starts):
    inputs = torch.stack([ids[s : s + block_size] for s in starts])
    labels = torch.stack([ids[s + 1 : s + block_size] for s in starts])
    return inputs, labels


@wrong("gpt.lm_batch", "sorted(starts): the rows are in another order")
def lm_batch_8(ids, block_size, starts):
    inputs = torch.stack([ids[s : s + block_size] for s in sorted(starts)])
    labels = torch.stack([ids[s + 1 : s + 1 + block_size] for s in sorted(starts)])
    return inputs, labels


class Parts(nn.Module):
    """The parts as they should be; the classes below go wrong in one place."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__()
        self.max_len = max_len
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.places = nn.Embedding(max_len, d_model)
        self.layers = nn.ModuleList(
            reference.EncoderLayer(d_model, num_heads, d_ff, norm="pre") for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, vocab_size, bias=False)

    def check(self, ids):
        """Refuse what is too long."""
        if ids.shape[1] > self.max_len:
            raise ValueError(f"{ids.shape[1]} tokens, and {self.max_len} is the limit")

    def start(self, ids):
        """Return the vectors before the first layer."""
        self.check(ids)
        return self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))

    def mask(self, ids):
        """Return the causal mask."""
        return causal_mask(ids.shape[1], device=ids.device)


@wrong("gpt.GPT", "a Python list of layers: their parameters are not the model's")
class GPT4(Parts):
    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__(vocab_size, d_model, num_heads, d_ff, 0, max_len)
        self.stack = [
            reference.EncoderLayer(d_model, num_heads, d_ff, norm="pre") for _ in range(num_layers)
        ]

    def forward(self, ids):
        x = self.start(ids)
        for layer in self.stack:
            x = layer(x, self.mask(ids))
        return self.output(self.norm(x))


@wrong("gpt.GPT", "arange(ids.shape[0]): the sequences of a batch get the positions")
class GPT10(Parts):
    def forward(self, ids):
        self.check(ids)
        rows = torch.arange(ids.shape[0], device=ids.device) % self.max_len
        x = self.tokens(ids) + self.places(rows).unsqueeze(1)
        for layer in self.layers:
            x = layer(x, self.mask(ids))
        return self.output(self.norm(x))
