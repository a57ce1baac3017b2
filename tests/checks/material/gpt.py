"""Answers to the assignment "gpt" on which the grader itself is measured.

CORRECT must be accepted, WRONG must be rejected with the misconception that stands beside it, and
MUTANTS, which have no name and are harder to notice than any generated mutant, without one.
They are written apart from the checks, in the ways in which people write language models.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import transformer_ref.layers as layers
import transformer_ref.masks as masks
from transformer_ref.model import Encoder, TransformerConfig
from transformer_ref.positions import sinusoidal_encoding

# =============================================================================================
# lm_batch
# =============================================================================================


def batch_stack(ids, block_size, starts):
    x = torch.stack([ids[i : i + block_size] for i in starts])
    y = torch.stack([ids[i + 1 : i + 1 + block_size] for i in starts])
    return x, y


def batch_index(ids, block_size, starts):
    starts = torch.as_tensor(starts)
    places = starts[:, None] + torch.arange(block_size)
    return ids[places], ids[places + 1]


def batch_unfold(ids, block_size, starts):
    windows = ids.unfold(0, block_size + 1, 1)
    chosen = windows[torch.tensor([int(i) for i in starts])]
    return [chosen[:, :-1], chosen[:, 1:]]


def batch_lists(ids, block_size, starts):
    text = ids.tolist()
    starts = starts.tolist() if hasattr(starts, "tolist") else starts
    x, y = [], []
    for start in starts:
        x.append(text[start : start + block_size])
        y.append(text[start + 1 : start + block_size + 1])
    return torch.tensor(x), torch.tensor(y)


def batch_numpy(ids, block_size, starts):
    text = ids.numpy()
    x = np.stack([text[int(i) : int(i) + block_size] for i in starts]).astype(np.int64)
    y = np.stack([text[int(i) + 1 : int(i) + 1 + block_size] for i in starts]).astype(np.int64)
    return torch.from_numpy(x), torch.from_numpy(y)


def batch_filled(ids, block_size, starts):
    warnings.warn("filling", UserWarning, stacklevel=1)
    x = torch.empty(len(starts), block_size, dtype=torch.long)
    y = torch.empty_like(x)
    for row in range(len(starts)):
        for place in range(block_size):
            x[row, place] = ids[int(starts[row]) + place]
            y[row, place] = ids[int(starts[row]) + place + 1]
    return x, y


def batch_take(ids, block_size, starts):
    grid = torch.as_tensor(starts).unsqueeze(-1).expand(-1, block_size) + torch.arange(block_size)
    return torch.take(ids, grid), torch.take(ids, grid.add(1))


def m_batch_by_token(ids, block_size, starts):
    """Each piece begins where its first token stands for the first time."""
    text = ids.tolist()
    return batch_index(ids, block_size, [text.index(text[int(i)]) for i in starts])


# =============================================================================================
# GPT
# =============================================================================================


class Block(nn.Module):
    """The kind of block that is written most: pre-norm, fused projections, GELU."""

    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.c_attn, self.c_proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))

    def heads_of(self, x):
        b, t, d = x.shape
        parts = self.c_attn(x).split(d, dim=2)
        return [p.view(b, t, self.heads, d // self.heads).transpose(1, 2) for p in parts]

    def attention(self, x):
        q, k, v = self.heads_of(x)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(x.shape))

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class NanoGPT(nn.Module):
    block = Block

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__()
        self.max_len = max_len
        self.wte = nn.Embedding(vocab_size, d_model)
        self.wpe = nn.Embedding(max_len, d_model)
        self.h = self.blocks(d_model, num_heads, d_ff, num_layers)
        self.ln_f = nn.LayerNorm(d_model)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)

    def blocks(self, d_model, num_heads, d_ff, num_layers):
        return nn.ModuleList([self.block(d_model, num_heads, d_ff) for _ in range(num_layers)])

    def check(self, ids):
        if ids.size(1) > self.max_len:
            raise ValueError(f"{ids.size(1)} tokens, max_len is {self.max_len}")
        return ids

    def embed(self, ids):
        return self.wte(ids) + self.wpe(torch.arange(ids.size(1), device=ids.device))

    def run(self, x):
        for block in self.h:
            x = block(x)
        return x

    def head(self, x):
        return self.lm_head(self.ln_f(x))

    def forward(self, ids):
        return self.head(self.run(self.embed(self.check(ids))))


class TiedGPT(NanoGPT):
    """As GPT-2: tied, small initial weights, positions that start at 0."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.lm_head.weight = self.wte.weight
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
        nn.init.zeros_(self.wpe.weight)
        self.dropout = nn.Dropout(0.0)

    def embed(self, ids):
        return self.dropout(super().embed(ids))


class OfThePackage(nn.Module):
    """The course's own layers, post-norm, sinusoidal positions and a mask."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.register_buffer("table", sinusoidal_encoding(max_len, d_model), persistent=False)
        self.layers = nn.ModuleList(
            layers.EncoderLayer(d_model, num_heads, d_ff, norm="post") for _ in range(num_layers)
        )
        self.output = nn.Linear(d_model, vocab_size)

    def forward(self, ids):
        length = ids.shape[1]
        if length > len(self.table):
            raise ValueError(f"at most {len(self.table)} tokens, got {length}")
        x = self.embedding(ids) * math.sqrt(self.d_model) + self.table[:length]
        mask = masks.causal_mask(length, ids.device)
        for layer in self.layers:
            x = layer(x, mask)
        return self.output(x)


class OfTheEncoder(nn.Module):
    """The course's encoder with the mask of a decoder."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__()
        config = TransformerConfig(
            vocab_size, vocab_size, d_model, num_heads, num_layers, 1, d_ff, 0.0, max_len, "pre"
        )
        self.encoder = Encoder(config)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.places = nn.Parameter(torch.zeros(1, max_len, d_model))
        self.output = nn.Linear(d_model, vocab_size)

    def forward(self, ids):
        length = ids.shape[-1]
        if length > self.places.shape[1]:
            raise ValueError("too long")
        x = self.embedding(ids) + self.places[:, :length]
        x = self.encoder(x, masks.causal_mask(length, ids.device))
        return F.log_softmax(self.output(x), dim=-1)


class HeadByHead(nn.Module):
    """Rotary positions, RMSNorm, SwiGLU, a module for each head, a stack of lists."""

    class Head(nn.Module):
        def __init__(self, dim, size):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(dim, size, bias=False) for _ in range(3))

        def turned(self, x):
            half = x.shape[-1] // 2
            speeds = 100.0 ** (-torch.arange(half, dtype=x.dtype, device=x.device) / half)
            places = torch.arange(x.shape[1], dtype=x.dtype, device=x.device)
            angles = places[:, None] * speeds
            one, two = x[..., :half], x[..., half:]
            sine, cosine = angles.sin(), angles.cos()
            return torch.cat([one * cosine - two * sine, one * sine + two * cosine], dim=-1)

        def forward(self, x):
            q, k = self.turned(self.q(x)), self.turned(self.k(x))
            scores = torch.einsum("bid,bjd->bij", q, k) * q.shape[-1] ** -0.5
            future = torch.ones_like(scores[0]).triu(1).bool()
            return scores.masked_fill(future, -1e9).softmax(-1) @ self.v(x)

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__()
        self.max_len = max_len
        size = d_model // num_heads
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.heads = nn.ModuleList(
            nn.ModuleList(self.Head(d_model, size) for _ in range(num_heads))
            for _ in range(num_layers)
        )
        self.outs, self.gates, self.ups, self.downs = (
            nn.ModuleList(nn.Linear(a, b, bias=False) for _ in range(num_layers))
            for a, b in ((d_model, d_model), (d_model, d_ff), (d_model, d_ff), (d_ff, d_model))
        )
        self.norms = nn.ParameterList(torch.ones(d_model) for _ in range(2 * num_layers + 1))

    def normed(self, x, number):
        return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * self.norms[number]

    def forward(self, ids):
        if ids.shape[1] > self.max_len:
            raise ValueError(self.max_len)
        x = self.embedding(ids)
        for n, heads in enumerate(self.heads):
            y = self.normed(x, 2 * n)
            x = x + self.outs[n](torch.cat([head(y) for head in heads], dim=-1))
            y = self.normed(x, 2 * n + 1)
            x = x + self.downs[n](F.silu(self.gates[n](y)) * self.ups[n](y))
        return F.linear(self.normed(x, -1), self.embedding.weight)


class ByHand(nn.Module):
    """Attention written out with loops, distances in the scores instead of positions (ALiBi)."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len, dropout=0.0):
        super().__init__()
        self.max_len, self.num_heads = max_len, num_heads
        self.embedding = nn.Parameter(torch.randn(vocab_size, d_model))
        self.matrices = nn.ParameterDict()
        for n in range(num_layers):
            for name in "qkvo":
                self.matrices[f"{name}{n}"] = nn.Parameter(torch.randn(d_model, d_model) * 0.3)
            self.matrices[f"up{n}"] = nn.Parameter(torch.randn(d_model, d_ff) * 0.3)
            self.matrices[f"down{n}"] = nn.Parameter(torch.randn(d_ff, d_model) * 0.3)
        self.num_layers = num_layers
        self.dropout = dropout

    def attend(self, x, n):
        q, k, v = (x @ self.matrices[f"{name}{n}"] for name in "qkv")
        size = x.shape[-1] // self.num_heads
        found = []
        for head in range(self.num_heads):
            part = slice(head * size, (head + 1) * size)
            rows = []
            for t in range(x.shape[1]):
                scores = (k[:, : t + 1, part] @ q[:, t, part].unsqueeze(-1)).squeeze(-1)
                distance = torch.arange(t, -1, -1, device=x.device).to(x.dtype)
                scores = scores / size**0.5 - distance / 2 ** (head + 1)
                weights = torch.softmax(scores, dim=-1)
                rows.append((weights.unsqueeze(-1) * v[:, : t + 1, part]).sum(1))
            found.append(torch.stack(rows, dim=1))
        return torch.cat(found, dim=-1) @ self.matrices[f"o{n}"]

    def forward(self, ids):
        if ids.shape[1] > self.max_len:
            raise ValueError(f"longer than {self.max_len}")
        x = self.embedding[ids]
        x = F.dropout(x, self.dropout, self.training)
        for n in range(self.num_layers):
            x = F.layer_norm(x + self.attend(x, n), x.shape[-1:])
            y = torch.tanh(x @ self.matrices[f"up{n}"]) @ self.matrices[f"down{n}"]
            x = F.layer_norm(x + y, x.shape[-1:])
        return x @ self.embedding.t()


class ParallelMultiQuery(NanoGPT):
    """One key and value for all heads, attention and network side by side, norm of the sum."""

    class block(nn.Module):  # noqa: N801
        def __init__(self, dim, heads, hidden):
            super().__init__()
            self.heads, self.size = heads, dim // heads
            self.ln = nn.LayerNorm(dim)
            self.q, self.kv = nn.Linear(dim, dim), nn.Linear(dim, 2 * self.size)
            self.o = nn.Linear(dim, dim)
            self.up, self.down = nn.Linear(dim, hidden), nn.Linear(hidden, dim)
            self.scale = nn.Parameter(torch.zeros(dim))

        def forward(self, x):
            b, t, _ = x.shape
            y = self.ln(x)
            q = self.q(y).view(b, t, self.heads, self.size).permute(0, 2, 1, 3)
            k, v = self.kv(y).unsqueeze(1).chunk(2, -1)
            bias = torch.full((t, t), float("-inf"), dtype=x.dtype, device=x.device).triu(1)
            weights = (q @ k.mT / math.sqrt(self.size) + bias).softmax(-1)
            attended = self.o((weights @ v).permute(0, 2, 1, 3).flatten(2))
            return x + (1 + self.scale) * (attended + self.down(torch.relu(self.up(y))))


# --- wrong ones ------------------------------------------------------------------------------


def variant(name, base=NanoGPT, **methods):
    """Make a class with methods replaced."""
    return type(name, (base,), methods)


def block_with(**methods):
    return type("OtherBlock", (Block,), methods)


def attend_with(weights):
    def attention(self, x):
        q, k, v = self.heads_of(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        return self.c_proj((weights(scores) @ v).transpose(1, 2).reshape(x.shape))

    return attention


def _ones(scores, diagonal):
    return torch.tril(torch.ones_like(scores, dtype=torch.bool), diagonal)


def gpt_blocks(name, **methods):
    return variant(name, block=block_with(**methods))


w_gpt_length_position = variant(
    "w_gpt_length_position",
    embed=lambda self, ids: self.wte(ids) + self.wpe(torch.tensor(ids.size(1) - 1)),
)


def headed(name, function):
    return variant(name, head=lambda self, x: function(NanoGPT.head(self, x)))


m_gpt_window = gpt_blocks(
    "m_gpt_window",
    attention=attend_with(
        lambda s: s.masked_fill(~_ones(s, 0) | _ones(s, -2), -1e9).softmax(-1),
    ),
)
m_gpt_float32 = headed("m_gpt_float32", lambda x: x.float())


m_gpt_from_the_end = variant(
    "m_gpt_from_the_end",
    embed=lambda self, ids: self.wte(ids) + self.wpe.weight[: ids.size(1)].flip(0),
)
m_gpt_positions_by_vocabulary = variant(
    "m_gpt_positions_by_vocabulary",
    __init__=lambda self, v, d, h, f, n, m: (
        NanoGPT.__init__(self, v, d, h, f, n, m),
        setattr(self, "wpe", nn.Embedding(v, d)),
    )[0],
)
m_gpt_positions_by_features = variant(
    "m_gpt_positions_by_features",
    __init__=lambda self, v, d, h, f, n, m: (
        NanoGPT.__init__(self, v, d, h, f, n, m),
        setattr(self, "wpe", nn.Embedding(d, d)),
    )[0],
)
m_gpt_share_of_the_text = variant(
    "m_gpt_share_of_the_text",
    embed=lambda self, ids: (
        self.wte(ids) + torch.linspace(0, 1, ids.size(1))[:, None] * self.wpe.weight[0]
    ),
)


class m_gpt_remembers(NanoGPT):  # noqa: N801
    """A cache that is never cleared."""

    seen = None

    def run(self, x):
        if self.seen is not None:
            x = x + self.seen[:1, :1]
        self.seen = x.detach()
        return super().run(x)


# =============================================================================================
# find_the_bug: lm_loss
# =============================================================================================


def loss_flat(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.reshape(-1, logits.size(-1)), ids[:, 1:].reshape(-1))


def loss_inside(model, ids):
    logits = model(ids)[:, :-1]
    return nn.CrossEntropyLoss()(logits.transpose(1, 2), ids[:, 1:])


def loss_gather(model, ids):
    scores = model(ids[:, :-1]).log_softmax(dim=-1)
    return -scores.gather(-1, ids[:, 1:].unsqueeze(-1)).mean()


def loss_by_place(model, ids):
    logits = model(ids[:, :-1])
    losses = [F.cross_entropy(logits[:, t], ids[:, t + 1]) for t in range(logits.shape[1])]
    print(len(losses), "places")
    return torch.stack(losses).mean()


def loss_by_row(model, ids):
    total = 0.0
    for row in ids:
        total = total + F.cross_entropy(model(row[None, :-1])[0], row[1:])
    return total / len(ids)


def loss_logsumexp(model, ids):
    logits, labels = model(ids[:, :-1]), ids[:, 1:]
    picked = torch.take_along_dim(logits, labels[..., None], dim=-1).squeeze(-1)
    return (logits.logsumexp(-1) - picked).sum() / labels.numel()


def loss_one_hot(model, ids):
    logits, labels = model(ids[:, :-1]), ids[:, 1:]
    wanted = F.one_hot(labels, logits.shape[-1]).to(logits.dtype)
    warnings.warn("one-hot labels", UserWarning, stacklevel=1)
    return -(wanted * F.log_softmax(logits, -1)).sum(-1).mean()


# =============================================================================================
# load_gpt2
# =============================================================================================

RENAMED = {
    "wte.": "embedding.embedding.",
    "wpe.": "positions.",
    "ln_f.": "norm.",
    "ln_1.": "norm1.",
    "ln_2.": "norm2.",
    "attn.c_proj.": "self_attention.out_proj.",
    "mlp.c_fc.": "feed_forward.linear1.",
    "mlp.c_proj.": "feed_forward.linear2.",
}


def load_state(model, weights):
    state = {"output_proj.weight": weights["wte.weight"]}
    unused = []
    for name in sorted(weights):
        tensor = weights[name]
        new = "layers" + name[1:] if name.startswith("h.") else name
        if "attn.c_attn" in name:
            for number, letter in enumerate("qkv"):
                part = tensor.chunk(3, dim=-1)[number]
                new_name = new.replace("attn.c_attn", f"self_attention.{letter}_proj")
                state[new_name] = part.T if part.ndim == 2 else part
            continue
        for old, own in RENAMED.items():
            new = new.replace(old, own)
        if new in model.state_dict():
            state[new] = tensor.T if ".c_" in name and tensor.ndim == 2 else tensor
        else:
            unused.append(name)
    print(model.load_state_dict(state))
    return unused


def load_by_module(model, weights):
    weights, size = dict(weights), weights["ln_f.weight"].numel()
    with torch.no_grad():
        model.embedding.embedding.weight.copy_(weights.pop("wte.weight"))
        model.positions.weight[:] = weights.pop("wpe.weight")
        pairs = [(model.norm, "ln_f")]
        for n, layer in enumerate(model.layers):
            pairs += [(layer.norm1, f"h.{n}.ln_1"), (layer.norm2, f"h.{n}.ln_2")]
            pairs.append((layer.self_attention.out_proj, f"h.{n}.attn.c_proj"))
            pairs.append((layer.feed_forward.linear1, f"h.{n}.mlp.c_fc"))
            pairs.append((layer.feed_forward.linear2, f"h.{n}.mlp.c_proj"))
            matrix = weights.pop(f"h.{n}.attn.c_attn.weight")
            bias = weights.pop(f"h.{n}.attn.c_attn.bias")
            for place, letter in enumerate("qkv"):
                columns = slice(place * size, (place + 1) * size)
                projection = getattr(layer.self_attention, f"{letter}_proj")
                projection.weight.copy_(matrix[:, columns].mT)
                projection.bias.copy_(bias[columns])
        for module, name in pairs:
            matrix = weights.pop(f"{name}.weight")
            module.weight.copy_(matrix.t() if "c_" in name else matrix)
            module.bias.copy_(weights.pop(f"{name}.bias"))
    return sorted(weights)


def load_from_the_model(model, weights):
    """Ask for each parameter where its numbers are."""
    back = {own: old for old, own in RENAMED.items()}
    left = set(weights)
    for name, parameter in model.named_parameters():
        theirs = "h" + name[6:] if name.startswith("layers.") else name
        letter = next((each for each in "qkv" if f".{each}_proj." in name), None)
        if letter:
            theirs = theirs.replace(f"self_attention.{letter}_proj", "attn.c_attn")
        for own in sorted(back, key=len, reverse=True):
            theirs = theirs.replace(own, back[own])
        left.discard(theirs)
        numbers = weights[theirs].numpy()
        if letter:
            numbers = np.split(numbers, 3, axis=-1)["qkv".index(letter)]
        if ".c_" in theirs:
            numbers = numbers.T
        parameter.data.copy_(torch.tensor(numbers))
    return sorted(left)


def load_not_strict(model, weights):
    warnings.warn("loading", UserWarning, stacklevel=1)
    state = {}
    for name, tensor in weights.items():
        turned = tensor.permute(*reversed(range(tensor.ndim))) if ".c_" in name else tensor
        keys = [name.replace("h.", "layers.", 1) if name[:2] == "h." else name]
        for old, own in RENAMED.items():
            keys = [key.replace(old, own) for key in keys]
        if "c_attn" in name:
            keys = [keys[0].replace("attn.c_attn", f"self_attention.{x}_proj") for x in "qkv"]
        parts = turned.clone().chunk(len(keys)) if turned.ndim else [turned]
        state |= dict(zip(keys, parts, strict=True))
    unexpected = model.load_state_dict(state, strict=False).unexpected_keys
    return sorted(key.replace("layers.", "h.", 1) for key in unexpected)


def m_load_one_digit(model, weights):
    """The layers from 10 on keep their first numbers."""
    kept = {name: each.clone() for name, each in model.state_dict().items()}
    unused = load_by_module(model, weights)
    late = {
        name: each for name, each in kept.items() if name.startswith(("layers.10", "layers.11"))
    }
    model.load_state_dict(late, strict=False)
    return unused


# =============================================================================================
# largest_batch
# =============================================================================================


def batch_on_meta(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    def numbers(*modules):
        return sum(each.numel() for module in modules for each in module.parameters())

    with torch.device("meta"):
        norm, square = nn.LayerNorm(d_model), nn.Linear(d_model, d_model)
        network = nn.Sequential(nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model))
        tables = nn.Embedding(vocab_size, d_model), nn.Embedding(max_len, d_model)
    layer = 4 * numbers(square) + numbers(network) + 2 * numbers(norm)
    free = memory // 2 - numbers(*tables, norm) - num_layers * layer
    return max(free // (num_layers * max_len * 2 * d_model), 0)


def batch_counted_up(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    linear = [(d_model, d_model)] * 4 + [(d_model, d_ff), (d_ff, d_model)]
    layer = sum(a * b + b for a, b in linear) + 2 * (d_model + d_model)
    free = memory - 2 * (vocab_size * d_model + max_len * d_model + num_layers * layer)
    free -= 2 * 2 * d_model
    texts = 0
    while free >= 4 * d_model * max_len * num_layers:
        free -= 4 * d_model * max_len * num_layers
        texts += 1
    return texts


def batch_floor(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    head = d_model // num_heads
    cache = sum(2 * head * max_len * 2 for _ in range(num_layers) for _ in range(num_heads))
    layer = 4 * d_model * d_model + 2 * d_model * d_ff + 9 * d_model + d_ff
    weights = 2 * (d_model * (vocab_size + max_len + 2) + num_layers * layer)
    print(weights, cache)
    return 0 if memory < weights + cache else math.floor((memory - weights) / cache)


def batch_divmod(
    vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory, bytes_per_number=2
):
    total = (vocab_size + max_len) * d_model + 2 * d_model
    for _ in range(num_layers):
        total += 4 * d_model * (d_model + 1)
        total += d_model * d_ff + d_ff + d_ff * d_model + d_model
        total += 2 * d_model + 2 * d_model
    texts, _ = divmod(memory - bytes_per_number * total, 4 * num_layers * max_len * d_model)
    return texts if texts > 0 else 0


def m_batch_of_32_bits(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    """Sizes are counted in 32 bits, which real models do not fit into."""
    short = (memory + 2**31) % 2**32 - 2**31
    return batch_divmod(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, short)


# =============================================================================================
# context_used
# =============================================================================================


def used_one_by_one(model, ids):
    base = model(ids)[0, -1]
    longest = 0
    for place in range(ids.shape[1]):
        for token in range(len(base)):
            other = ids.clone()
            other[0, place] = token
            if torch.any(torch.abs(model(other)[0, -1] - base) > 1e-4):
                longest = max(longest, ids.shape[1] - place)
    return longest


def used_all_in_one_batch(model, ids):
    length = ids.size(1)
    vocab = model(ids).size(-1)
    rows = ids.expand(length * vocab, length).clone()
    for place in range(length):
        rows[place * vocab : (place + 1) * vocab, place] = torch.arange(vocab)
    last = model(torch.cat([ids, rows]))[:, -1, :]
    moved = (last[1:] - last[:1]).abs().amax(dim=-1).view(length, vocab).amax(dim=-1) > 1e-4
    print(moved)
    return int((moved * torch.arange(length, 0, -1)).max())


def used_from_a_list(model, ids):
    text = ids[0].tolist()
    with torch.no_grad():
        said = model(ids)[0][-1]
        matters = []
        for place in range(len(text)):
            for token in range(said.numel()):
                changed = [*text[:place], token, *text[place + 1 :]]
                logits = model(torch.tensor([changed]))[0][-1]
                if (logits - said).norm(p=math.inf).item() > 0.0001:
                    matters.append(place)
                    break
    return len(text) - min(matters) if matters else 0


def used_newest_first(model, ids):
    base = model(ids)[:, -1]
    total = ids.shape[1]
    used = 0
    for back in range(1, total + 1):
        tries = ids.repeat(base.shape[-1], 1)
        tries[:, total - back] = torch.arange(base.shape[-1])
        if not torch.allclose(
            model(tries)[:, -1], base.expand(len(tries), -1), rtol=0.0, atol=1e-4
        ):
            used = back
    return used


def used_puts_back(model, ids):
    text = ids.clone()
    base = model(text)[0, -1].detach().numpy().copy()
    for place in range(text.shape[1]):
        was = int(text[0, place])
        for token in range(base.size):
            text[0, place] = token
            if np.abs(model(text)[0, -1].detach().numpy() - base).max() > 1e-4:
                return text.shape[1] - place
        text[0, place] = was
    return 0


def used_recursive(model, ids, skip=0):
    if skip == ids.shape[1]:
        return 0
    logits = model(ids)[:, -1]
    ways = ids.repeat_interleave(logits.shape[-1], dim=0)
    ways[:, skip] = torch.arange(len(ways))
    farthest = (model(ways)[:, -1] - logits).abs().max()
    return ids.shape[1] - skip if farthest > 1e-4 else used_recursive(model, ids, skip + 1)


def moves_at(model, ids, place, tokens=None, limit=1e-4):
    """Say whether a token at this place moves the last logits, all of them or some tried."""
    base = model(ids)[0, -1]
    for token in range(len(base)) if tokens is None else tokens(int(ids[0, place]), len(base)):
        other = ids.clone()
        other[0, place] = token
        if (model(other)[0, -1] - base).abs().max() > limit:
            return True
    return False


def places_that_move(model, ids, **options):
    return [place for place in range(ids.shape[1]) if moves_at(model, ids, place, **options)]


def oldest(model, ids, **options):
    moving = places_that_move(model, ids, **options)
    return ids.shape[1] - moving[0] if moving else 0


def _used_where(moved):
    def used(model, ids):
        base, length = model(ids)[:, -1], ids.shape[1]
        for place in range(length):
            tries = ids.repeat(base.shape[-1], 1)
            tries[:, place] = torch.arange(base.shape[-1])
            if moved(model(tries)[:, -1], base):
                return length - place
        return 0

    return used


m_used_relative = _used_where(lambda now, base: not torch.allclose(now, base, atol=1e-4, rtol=1e-5))
m_used_thousandth = _used_where(lambda now, base: bool((now - base).abs().max() > 1e-3))


def m_used_but_the_last_token(model, ids):
    """The vocabulary is one too short, and so in the two below."""
    return oldest(model, ids, tokens=lambda token, size: range(size - 1))


def m_used_but_the_first_token(model, ids):
    return oldest(model, ids, tokens=lambda token, size: range(1, size))


def m_used_a_dozen_tokens(model, ids):
    return oldest(model, ids, tokens=lambda token, size: range(min(size, 12)))


# =============================================================================================
# The lists
# =============================================================================================

CORRECT = {
    "gpt.lm_batch": [
        batch_stack,
        batch_index,
        batch_unfold,
        batch_lists,
        batch_numpy,
        batch_filled,
        batch_take,
    ],
    "gpt.GPT": [
        NanoGPT,
        TiedGPT,
        OfThePackage,
        OfTheEncoder,
        HeadByHead,
        ByHand,
        ParallelMultiQuery,
    ],
    "gpt.find_the_bug": [
        loss_flat,
        loss_inside,
        loss_gather,
        loss_by_place,
        loss_by_row,
        loss_logsumexp,
        loss_one_hot,
    ],
    "gpt.load_gpt2": [load_state, load_by_module, load_from_the_model, load_not_strict],
    "gpt.largest_batch": [batch_on_meta, batch_counted_up, batch_floor, batch_divmod],
    "gpt.context_used": [
        used_one_by_one,
        used_all_in_one_batch,
        used_from_a_list,
        used_newest_first,
        used_puts_back,
        used_recursive,
    ],
}

WRONG = {
    "gpt.GPT": [
        ("no-positions", w_gpt_length_position),
    ],
}

MUTANTS = {
    "gpt.lm_batch": [m_batch_by_token],
    "gpt.GPT": [
        m_gpt_window,
        m_gpt_float32,
        m_gpt_from_the_end,
        m_gpt_share_of_the_text,
        m_gpt_remembers,
        m_gpt_positions_by_vocabulary,
        m_gpt_positions_by_features,
    ],
    "gpt.load_gpt2": [m_load_one_digit],
    "gpt.largest_batch": [m_batch_of_32_bits],
    "gpt.context_used": [
        m_used_but_the_last_token,
        m_used_but_the_first_token,
        m_used_a_dozen_tokens,
        m_used_relative,
        m_used_thousandth,
    ],
}
