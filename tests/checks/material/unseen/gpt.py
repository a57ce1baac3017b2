"""Wrong answers to the tasks of gpt, as beginners write them."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.checks.material.unseen import wrong
from transformer_ref import layers
from transformer_ref.masks import causal_mask

text = torch.arange(10, 20)
block_size = 3


# gpt.lm_batch


@wrong("gpt.lm_batch", "labels are the inputs themselves", "no-shift")
def _(ids, block_size, starts):
    x = torch.stack([ids[s : s + block_size] for s in starts])
    return x, x


@wrong(
    "gpt.lm_batch",
    "one piece of block_size, cut into inputs and labels: a column short",
    "one-too-short",
)
def _(ids, block_size, starts):
    chunks = torch.stack([ids[s : s + block_size] for s in starts])
    return chunks[:, :-1], chunks[:, 1:]


@wrong("gpt.lm_batch", "the label is only the one token behind the piece", "one-label-a-row")
def _(ids, block_size, starts):
    x = torch.stack([ids[s : s + block_size] for s in starts])
    y = torch.stack([ids[s + block_size] for s in starts])
    return x, y


@wrong("gpt.lm_batch", "the labels are the block behind the block", "next-block")
def _(ids, block_size, starts):
    x = torch.stack([ids[s : s + block_size] for s in starts])
    y = torch.stack([ids[s + block_size : s + 2 * block_size] for s in starts])
    return x, y


@wrong("gpt.lm_batch", "return inside the loop: only the first row", "one-row")
def _(ids, block_size, starts):
    for s in starts:
        x = ids[s : s + block_size]
        y = ids[s + 1 : s + block_size + 1]
        return x.unsqueeze(0), y.unsqueeze(0)


@wrong(
    "gpt.lm_batch", "each turn of the loop overwrites the row before: only the last row", "one-row"
)
def _(ids, block_size, starts):
    for s in starts:
        x = ids[s : s + block_size]
        y = ids[s + 1 : s + block_size + 1]
    return x.unsqueeze(0), y.unsqueeze(0)


@wrong("gpt.lm_batch", "starts are taken for block numbers", "starts-count-blocks")
def _(ids, block_size, starts):
    x = torch.stack([ids[s * block_size : (s + 1) * block_size] for s in starts])
    y = torch.stack([ids[s * block_size + 1 : (s + 1) * block_size + 1] for s in starts])
    return x, y


@wrong("gpt.lm_batch", "reads the notebook's text instead of the argument", "name-of-the-notebook")
def _(ids, block_size, starts):
    x = torch.stack([text[s : s + block_size] for s in starts])
    y = torch.stack([text[s + 1 : s + block_size + 1] for s in starts])
    return x, y


@wrong("gpt.lm_batch", "lists of tensors are returned, not stacked", "no-pair-of-tensors")
def _(ids, block_size, starts):
    x = [ids[s : s + block_size] for s in starts]
    y = [ids[s + 1 : s + block_size + 1] for s in starts]
    return x, y


@wrong("gpt.lm_batch", "concatenated end to end instead of stacked", "flat")
def _(ids, block_size, starts):
    x = torch.cat([ids[s : s + block_size] for s in starts])
    y = torch.cat([ids[s + 1 : s + block_size + 1] for s in starts])
    return x, y


@wrong("gpt.lm_batch", "stacked along the second axis: (T, B)", "axes-swapped")
def _(ids, block_size, starts):
    x = torch.stack([ids[s : s + block_size] for s in starts], dim=1)
    y = torch.stack([ids[s + 1 : s + block_size + 1] for s in starts], dim=1)
    return x, y


@wrong("gpt.lm_batch", "labels are one to the left", "backwards")
def _(ids, block_size, starts):
    x = torch.stack([ids[s + 1 : s + block_size + 1] for s in starts])
    y = torch.stack([ids[s : s + block_size] for s in starts])
    return x, y


# gpt.generate


@wrong("gpt.generate", "samples from the softmax instead of taking the likeliest", "sampled")
def _(model, ids, max_new_tokens):
    for _ in range(max_new_tokens):
        probs = F.softmax(model(ids)[:, -1].float(), dim=-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1)], dim=1)
    return ids


@wrong("gpt.generate", "returns only the new tokens", "prompt-left-out")
def _(model, ids, max_new_tokens):
    start = ids.shape[1]
    for _ in range(max_new_tokens):
        nxt = model(ids)[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, nxt], dim=1)
    return ids[:, start:]


@wrong("gpt.generate", "return inside the loop: one new token", "returns-in-the-loop")
def _(model, ids, max_new_tokens):
    for _ in range(max_new_tokens):
        nxt = model(ids)[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, nxt], dim=1)
        return ids


@wrong("gpt.generate", "max instead of argmax: the logit is appended", "max-not-argmax")
def _(model, ids, max_new_tokens):
    for _ in range(max_new_tokens):
        nxt = model(ids)[:, -1].max(dim=-1, keepdim=True).values
        ids = torch.cat([ids, nxt.long()], dim=1)
    return ids


@wrong("gpt.generate", "the model is asked once, before the loop", "prompt-again")
def _(model, ids, max_new_tokens):
    logits = model(ids)
    for _ in range(max_new_tokens):
        nxt = logits[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, nxt], dim=1)
    return ids


@wrong("gpt.generate", "only the newest token is shown to the model", "last-token-only")
def _(model, ids, max_new_tokens):
    out = ids
    cur = ids
    for _ in range(max_new_tokens):
        cur = model(cur)[:, -1:].argmax(-1)
        out = torch.cat([out, cur], dim=1)
    return out


@wrong("gpt.generate", "argmax over the whole batch: one token for all rows", "one-token-for-all")
def _(model, ids, max_new_tokens):
    for _ in range(max_new_tokens):
        logits = model(ids)[:, -1]
        nxt = logits.argmax() % logits.shape[-1]
        ids = torch.cat([ids, nxt.expand(ids.shape[0], 1)], dim=1)
    return ids


@wrong("gpt.generate", "max_new_tokens is taken for the total length", "counts-the-prompt")
def _(model, ids, max_new_tokens):
    while ids.shape[1] < max_new_tokens:
        nxt = model(ids)[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, nxt], dim=1)
    return ids


@wrong("gpt.generate", "the new token is put in front", "put-in-front")
def _(model, ids, max_new_tokens):
    for _ in range(max_new_tokens):
        nxt = model(ids)[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([nxt, ids], dim=1)
    return ids


@wrong("gpt.generate", "reads the logits of the first place", "first-place")
def _(model, ids, max_new_tokens):
    for _ in range(max_new_tokens):
        nxt = model(ids)[:, 0].argmax(-1, keepdim=True)
        ids = torch.cat([ids, nxt], dim=1)
    return ids


@wrong("gpt.generate", "only the first row goes on: the batch is lost", "first-row-only")
def _(model, ids, max_new_tokens):
    out = ids[0].tolist()
    for _ in range(max_new_tokens):
        out.append(int(model(torch.tensor([out]))[0, -1].argmax()))
    return torch.tensor([out])


@wrong("gpt.generate", "one step too many", "one-too-many")
def _(model, ids, max_new_tokens):
    for _ in range(max_new_tokens + 1):
        nxt = model(ids)[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, nxt], dim=1)
    return ids


# gpt.GPT


class _Base(nn.Module):
    """What the wrong models share."""

    norm = "pre"

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__()
        self.max_len = max_len
        self.tok = nn.Embedding(vocab_size, d_model)
        self.pos = nn.Embedding(max_len, d_model)
        self.blocks = nn.ModuleList(
            [
                layers.EncoderLayer(d_model, num_heads, d_ff, norm=self.norm)
                for _ in range(num_layers)
            ]
        )
        self.ln = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size)

    def embed(self, ids):
        if ids.shape[1] > self.max_len:
            raise ValueError(f"{ids.shape[1]} tokens, at most {self.max_len}")
        return self.tok(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device))


@wrong("gpt.GPT", "no mask at all", "no-causal-mask")
class _(_Base):
    def forward(self, ids):
        x = self.embed(ids)
        for b in self.blocks:
            x = b(x)
        return self.head(self.ln(x))


@wrong("gpt.GPT", "the mask is upside down: triu", "mask-turned-round")
class _(_Base):
    def forward(self, ids):
        x = self.embed(ids)
        t = ids.shape[1]
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool))[None, None]
        for b in self.blocks:
            x = b(x, mask)
        return self.head(self.ln(x))


@wrong("gpt.GPT", "no positions", "no-positions")
class _(_Base):
    def forward(self, ids):
        if ids.shape[1] > self.max_len:
            raise ValueError("too long")
        x = self.tok(ids)
        mask = causal_mask(ids.shape[1], ids.device)
        for b in self.blocks:
            x = b(x, mask)
        return self.head(self.ln(x))


@wrong("gpt.GPT", "one layer, used num_layers times", "one-layer-shared")
class _(_Base):
    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__(vocab_size, d_model, num_heads, d_ff, 1, max_len)
        self.n = num_layers

    def forward(self, ids):
        x = self.embed(ids)
        mask = causal_mask(ids.shape[1], ids.device)
        for _ in range(self.n):
            x = self.blocks[0](x, mask)
        return self.head(self.ln(x))


@wrong("gpt.GPT", "softmax at the end", "probabilities")
class _(_Base):
    def forward(self, ids):
        x = self.embed(ids)
        mask = causal_mask(ids.shape[1], ids.device)
        for b in self.blocks:
            x = b(x, mask)
        return torch.softmax(self.head(self.ln(x)), dim=-1)


# gpt.find_the_bug


@wrong("gpt.find_the_bug", "no shift at all", "no-shift")
def _(model, ids):
    logits = model(ids)
    return F.cross_entropy(logits.flatten(0, 1), ids.flatten())


@wrong(
    "gpt.find_the_bug",
    "one of the two cuts left: labels shifted, logits cut at the front",
    "one-label-lost",
)
def _(model, ids):
    inputs, labels = ids[:, :-1], ids[:, 1:]
    logits = model(inputs)
    return F.cross_entropy(logits[:, 1:].flatten(0, 1), labels[:, 1:].flatten())


@wrong("gpt.find_the_bug", "the last place is left out on both sides", "one-label-lost")
def _(model, ids):
    inputs, labels = ids[:, :-1], ids[:, 1:]
    logits = model(inputs)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, :-1].flatten())


@wrong(
    "gpt.find_the_bug",
    "the classes stand on the wrong axis: reshaped, not transposed",
    "classes-scrambled",
)
def _(model, ids):
    inputs, labels = ids[:, :-1], ids[:, 1:]
    logits = model(inputs)
    b, t, v = logits.shape
    return F.cross_entropy(logits.reshape(b, v, t), labels)


@wrong("gpt.find_the_bug", "summed, not averaged", "summed")
def _(model, ids):
    inputs, labels = ids[:, :-1], ids[:, 1:]
    logits = model(inputs)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")


# gpt.find_another_bug


@wrong("gpt.find_another_bug", "the text itself is cut: the prompt is lost", "text-cut-off")
def _(model, ids, max_new_tokens, max_len):
    for _ in range(max_new_tokens):
        ids = ids[:, -max_len:]
        best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        ids = torch.cat([ids, best], dim=1)
    return ids


@wrong("gpt.find_another_bug", "the window is one short", "window-too-small")
def _(model, ids, max_new_tokens, max_len):
    for _ in range(max_new_tokens):
        window = ids[:, -max_len + 1 :]
        best = model(window)[:, -1].argmax(dim=-1, keepdim=True)
        ids = torch.cat([ids, best], dim=1)
    return ids


@wrong("gpt.find_another_bug", "the window is cut once, before the loop", "prompt-again")
def _(model, ids, max_new_tokens, max_len):
    window = ids[:, -max_len:]
    for _ in range(max_new_tokens):
        best = model(window)[:, -1].argmax(dim=-1, keepdim=True)
        ids = torch.cat([ids, best], dim=1)
    return ids


@wrong("gpt.find_another_bug", "stops when max_len is reached", "stops-when-full")
def _(model, ids, max_new_tokens, max_len):
    for _ in range(max_new_tokens):
        if ids.shape[1] >= max_len:
            break
        best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        ids = torch.cat([ids, best], dim=1)
    return ids


@wrong("gpt.find_another_bug", "slides over rows instead of columns", "no-window")
def _(model, ids, max_new_tokens, max_len):
    for _ in range(max_new_tokens):
        window = ids[-max_len:]
        best = model(window)[:, -1].argmax(dim=-1, keepdim=True)
        ids = torch.cat([ids, best], dim=1)
    return ids
