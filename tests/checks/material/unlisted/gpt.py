"""Wrong answers to the tasks on GPT."""

import torch
from torch import nn

from tests.checks.material.unlisted import wrong
from transformer_ref import layers as reference
from transformer_ref.masks import causal_mask


@wrong("gpt.lm_batch", "ids[s : s + T] twice: the labels are the inputs")
def lm_batch_1(ids, block_size, starts):
    inputs = torch.stack([ids[s : s + block_size] for s in starts])
    labels = torch.stack([ids[s : s + block_size] for s in starts])
    return inputs, labels


@wrong("gpt.lm_batch", "labels, inputs: the results are exchanged")
def lm_batch_2(ids, block_size, starts):
    inputs = torch.stack([ids[s : s + block_size] for s in starts])
    labels = torch.stack([ids[s + 1 : s + 1 + block_size] for s in starts])
    return labels, inputs


@wrong("gpt.lm_batch", "ids[s + T]: one label for a piece and not one for a token")
def lm_batch_3(ids, block_size, starts):
    inputs = torch.stack([ids[s : s + block_size] for s in starts])
    labels = torch.stack([ids[s + block_size] for s in starts])
    return inputs, labels


@wrong("gpt.lm_batch", "ids[s + 1 : s + T]: the labels are one token short")
def lm_batch_4(ids, block_size, starts):
    inputs = torch.stack([ids[s : s + block_size] for s in starts])
    labels = torch.stack([ids[s + 1 : s + block_size] for s in starts])
    return inputs, labels


@wrong("gpt.lm_batch", "s * block_size: the starts count pieces and not tokens")
def lm_batch_5(ids, block_size, starts):
    rows = [int(s) * block_size for s in starts]
    inputs = torch.stack([ids[s : s + block_size] for s in rows])
    labels = torch.stack([ids[s + 1 : s + 1 + block_size] for s in rows])
    return inputs, labels


@wrong("gpt.lm_batch", "torch.cat: all pieces in one row")
def lm_batch_6(ids, block_size, starts):
    inputs = torch.cat([ids[s : s + block_size] for s in starts])
    labels = torch.cat([ids[s + 1 : s + 1 + block_size] for s in starts])
    return inputs, labels


@wrong("gpt.lm_batch", "return inside the loop: the first piece only")
def lm_batch_7(ids, block_size, starts):
    for s in starts:
        inputs = ids[s : s + block_size].unsqueeze(0)
        labels = ids[s + 1 : s + 1 + block_size].unsqueeze(0)
        return inputs, labels
    return None


@wrong("gpt.lm_batch", "sorted(starts): the rows are in another order")
def lm_batch_8(ids, block_size, starts):
    inputs = torch.stack([ids[s : s + block_size] for s in sorted(starts)])
    labels = torch.stack([ids[s + 1 : s + 1 + block_size] for s in sorted(starts)])
    return inputs, labels


@wrong("gpt.lm_batch", "stack(dim=1): the results are (T, B)")
def lm_batch_9(ids, block_size, starts):
    inputs = torch.stack([ids[s : s + block_size] for s in starts], dim=1)
    labels = torch.stack([ids[s + 1 : s + 1 + block_size] for s in starts], dim=1)
    return inputs, labels


@wrong("gpt.lm_batch", "arange(len(starts)): the starts themselves are not used")
def lm_batch_10(ids, block_size, starts):
    places = torch.arange(len(starts)).unsqueeze(1) + torch.arange(block_size)
    return ids[places], ids[places + 1]


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


@wrong("gpt.GPT", "layer(x) without mask: each place sees the whole text")
class GPT1(Parts):
    def forward(self, ids):
        x = self.start(ids)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))


@wrong("gpt.GPT", "no positions: the order of the tokens is not seen")
class GPT2(Parts):
    def forward(self, ids):
        self.check(ids)
        x = self.tokens(ids)
        for layer in self.layers:
            x = layer(x, self.mask(ids))
        return self.output(self.norm(x))


@wrong("gpt.GPT", "[layer] * num_layers: all layers share their parameters")
class GPT3(Parts):
    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__(vocab_size, d_model, num_heads, d_ff, num_layers, max_len)
        layer = reference.EncoderLayer(d_model, num_heads, d_ff, norm="pre")
        self.layers = nn.ModuleList([layer] * num_layers)

    def forward(self, ids):
        x = self.start(ids)
        for layer in self.layers:
            x = layer(x, self.mask(ids))
        return self.output(self.norm(x))


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


@wrong("gpt.GPT", "output(x).softmax(-1): probabilities and not logits")
class GPT5(Parts):
    def forward(self, ids):
        x = self.start(ids)
        for layer in self.layers:
            x = layer(x, self.mask(ids))
        return self.output(self.norm(x)).softmax(dim=-1)


@wrong("gpt.GPT", "x[:, -1]: the logits of the last place only")
class GPT6(Parts):
    def forward(self, ids):
        x = self.start(ids)
        for layer in self.layers:
            x = layer(x, self.mask(ids))
        return self.output(self.norm(x)[:, -1])


@wrong("gpt.GPT", "y = layer(x, mask) in the loop: only the last layer is used")
class GPT7(Parts):
    def forward(self, ids):
        x = self.start(ids)
        for layer in self.layers:
            y = layer(x, self.mask(ids))
        return self.output(self.norm(y))


@wrong("gpt.GPT", ">= max_len: a text of max_len tokens is refused")
class GPT8(Parts):
    def forward(self, ids):
        if ids.shape[1] >= self.max_len:
            raise ValueError(f"{ids.shape[1]} tokens, and {self.max_len} is the limit")
        x = self.start(ids)
        for layer in self.layers:
            x = layer(x, self.mask(ids))
        return self.output(self.norm(x))


@wrong("gpt.GPT", "triu: each place sees itself and what is later")
class GPT9(Parts):
    def forward(self, ids):
        x = self.start(ids)
        for layer in self.layers:
            x = layer(x, self.mask(ids).transpose(-2, -1))
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
