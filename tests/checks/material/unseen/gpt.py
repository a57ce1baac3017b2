"""Wrong answers to the tasks of GPT, as beginners write them."""

import torch
from torch import nn

from tests.checks.material.unseen import wrong
from transformer_ref import layers as reference
from transformer_ref.masks import causal_mask

text = torch.arange(10, 20)


block_size = 3


def _parameters(vocab_size, d_model, d_ff, num_layers, max_len):
    layer = 4 * (d_model * d_model + d_model) + 2 * d_model * d_ff + d_ff + d_model + 4 * d_model
    return vocab_size * d_model + max_len * d_model + num_layers * layer + 2 * d_model


@wrong("gpt.largest_batch", "true division: a float", relation="form")
def _(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    free = memory - 2 * _parameters(vocab_size, d_model, d_ff, num_layers, max_len)
    return max(0, free / (4 * num_layers * max_len * d_model))


@wrong("gpt.largest_batch", "no table of tokens", relation="other-question")
def _(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    numbers = _parameters(vocab_size, d_model, d_ff, num_layers, max_len) - vocab_size * d_model
    return max(0, (memory - 2 * numbers) // (4 * num_layers * max_len * d_model))


@wrong("gpt.lm_batch", "pieces are one longer than asked", relation="length")
def _(ids, block_size, starts):
    x = torch.stack([ids[s : s + block_size + 1] for s in starts])
    return x[:, :-1], x


@wrong(
    "gpt.lm_batch",
    "len(starts) rows, cut one behind the other from the beginning",
    "starts-not-used",
)
def _(ids, block_size, starts):
    n = len(starts) * block_size
    return ids[:n].view(-1, block_size), ids[1 : n + 1].view(-1, block_size)


@wrong("gpt.lm_batch", "random starts of its own", relation="unsteady")
def _(ids, block_size, starts):
    starts = torch.randint(len(ids) - block_size, (len(starts),))
    x = torch.stack([ids[s : s + block_size] for s in starts])
    y = torch.stack([ids[s + 1 : s + block_size + 1] for s in starts])
    return x, y


@wrong("gpt.lm_batch", "ids[s + 1 : s + T]: the labels are one token short", None)
def lm_batch_4(ids, block_size, starts):
    inputs = torch.stack([ids[s : s + block_size] for s in starts])
    labels = torch.stack([ids[s + 1 : s + block_size] for s in starts])
    return inputs, labels


@wrong("gpt.lm_batch", "sorted(starts): the rows are in another order", None)
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


@wrong("gpt.GPT", "a Python list of layers: their parameters are not the model's", None)
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


@wrong("gpt.GPT", "arange(ids.shape[0]): the sequences of a batch get the positions", None)
class GPT10(Parts):
    def forward(self, ids):
        self.check(ids)
        rows = torch.arange(ids.shape[0], device=ids.device) % self.max_len
        x = self.tokens(ids) + self.places(rows).unsqueeze(1)
        for layer in self.layers:
            x = layer(x, self.mask(ids))
        return self.output(self.norm(x))
