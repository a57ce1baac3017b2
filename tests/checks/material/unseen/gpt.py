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


# gpt.load_gpt2


def _targets(layers):
    """Where each part of the file goes, as the table of the task says."""
    found = {"wte": "embedding.embedding", "wpe": "positions", "ln_f": "norm"}
    for n in range(layers):
        own = f"layers.{n}"
        found[f"h.{n}.ln_1"], found[f"h.{n}.ln_2"] = f"{own}.norm1", f"{own}.norm2"
        found[f"h.{n}.attn.c_attn"] = f"{own}.self_attention"
        found[f"h.{n}.attn.c_proj"] = f"{own}.self_attention.out_proj"
        found[f"h.{n}.mlp.c_fc"] = f"{own}.feed_forward.linear1"
        found[f"h.{n}.mlp.c_proj"] = f"{own}.feed_forward.linear2"
    return found


def _state(model, weights, turn, thirds):
    """Sort the file into a state dict and a list of what is left."""
    targets, state, unused = _targets(len(model.layers)), {}, []
    for name in sorted(weights):
        part, kind = name.rsplit(".", 1) if "." in name else (name, "")
        if part not in targets:
            unused.append(name)
        elif part.endswith("c_attn"):
            for letter, third in zip("qkv", thirds(weights[name]), strict=True):
                state[f"{targets[part]}.{letter}_proj.{kind}"] = third
        else:
            state[f"{targets[part]}.{kind}"] = turn(name, weights[name])
    return state, unused


def _turned(name, weight):
    return weight.t() if ".c_" in name else weight


def _thirds(weight):
    return weight.t().chunk(3)


@wrong("gpt.load_gpt2", "load_state_dict(weights, strict=False): nothing fits", "not-in-the-model")
def _(model, weights):
    model.load_state_dict(weights, strict=False)
    return []


@wrong("gpt.load_gpt2", "the state dict is made and strict, without the output", "output-asked-for")
def _(model, weights):
    state, unused = _state(model, weights, _turned, _thirds)
    model.load_state_dict(state)
    return unused


@wrong(
    "gpt.load_gpt2", "transposed where the shape does not fit otherwise", "square-not-transposed"
)
def _(model, weights):
    own = model.state_dict()
    targets = _targets(len(model.layers))

    def fit(name, weight):
        part, kind = name.rsplit(".", 1)
        same = own[f"{targets[part]}.{kind}"].shape == weight.shape
        return weight if same else weight.t()

    state, unused = _state(model, weights, fit, lambda weight: weight.chunk(3, dim=-1))
    model.load_state_dict(state, strict=False)
    return unused


@wrong("gpt.load_gpt2", "c_attn is viewed as (3, D, D)", "thirds-scrambled")
def _(model, weights):
    def thirds(weight):
        return weight.reshape(3, -1, len(weight)).mT if weight.ndim > 1 else weight.view(3, -1)

    state, unused = _state(model, weights, _turned, thirds)
    model.load_state_dict(state, strict=False)
    return unused


@wrong("gpt.load_gpt2", "p = tensor in a loop: only a name is bound", "not-in-the-model")
def _(model, weights):
    state, unused = _state(model, weights, _turned, _thirds)
    for name, parameter in model.named_parameters():
        if name in state:
            parameter = state[name]  # noqa: F841
    return unused


@wrong("gpt.load_gpt2", "new parameters with setattr", "parameters-replaced")
def _(model, weights):
    state, unused = _state(model, weights, _turned, _thirds)
    for name, tensor in state.items():
        place, kind = name.rsplit(".", 1)
        setattr(model.get_submodule(place), kind, nn.Parameter(tensor.float().clone()))
    return unused


@wrong("gpt.load_gpt2", "load_state_dict(assign=True)", "parameters-replaced")
def _(model, weights):
    state, unused = _state(model, weights, _turned, _thirds)
    model.load_state_dict(state, strict=False, assign=True)
    return unused


@wrong("gpt.load_gpt2", "only the matrices are loaded", "biases-left-out")
def _(model, weights):
    state, unused = _state(model, weights, _turned, _thirds)
    only = {name: tensor for name, tensor in state.items() if name.endswith("weight")}
    model.load_state_dict(only, strict=False)
    return unused


@wrong("gpt.load_gpt2", "the output gets a copy of the embedding", "untied")
def _(model, weights):
    state, unused = _state(model, weights, _turned, _thirds)
    model.load_state_dict(state, strict=False)
    model.output_proj.weight = nn.Parameter(weights["wte.weight"].to(model.norm.weight).clone())
    return unused


@wrong("gpt.load_gpt2", "returns the names of the model that got nothing", "nothing-reported")
def _(model, weights):
    state, _ = _state(model, weights, _turned, _thirds)
    missing = model.load_state_dict(state, strict=False).missing_keys
    return sorted(name for name in missing if name != "output_proj.weight")


# gpt.largest_batch


def _parameters(vocab_size, d_model, d_ff, num_layers, max_len):
    layer = 4 * (d_model * d_model + d_model) + 2 * d_model * d_ff + d_ff + d_model + 4 * d_model
    return vocab_size * d_model + max_len * d_model + num_layers * layer + 2 * d_model


@wrong("gpt.largest_batch", "bytes and numbers mixed: weights are not doubled", "bytes-of-a-number")
def _(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    free = memory - _parameters(vocab_size, d_model, d_ff, num_layers, max_len)
    return max(0, free // (2 * 2 * num_layers * max_len * d_model))


@wrong("gpt.largest_batch", "a key of D numbers for each head", "heads-counted")
def _(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    free = memory - 2 * _parameters(vocab_size, d_model, d_ff, num_layers, max_len)
    return max(0, free // (4 * num_heads * num_layers * max_len * d_model))


@wrong("gpt.largest_batch", "true division: a float", relation="form")
def _(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    free = memory - 2 * _parameters(vocab_size, d_model, d_ff, num_layers, max_len)
    return max(0, free / (4 * num_layers * max_len * d_model))


@wrong("gpt.largest_batch", "int() cuts towards zero, and stays below it", "below-zero")
def _(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    free = memory - 2 * _parameters(vocab_size, d_model, d_ff, num_layers, max_len)
    return int(free / (4 * num_layers * max_len * d_model))


@wrong("gpt.largest_batch", "the output has its own matrix", "output-counted-twice")
def _(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    numbers = _parameters(vocab_size, d_model, d_ff, num_layers, max_len) + vocab_size * d_model
    return max(0, (memory - 2 * numbers) // (4 * num_layers * max_len * d_model))


@wrong("gpt.largest_batch", "keys and values of all texts in one layer", "one-layer-kept")
def _(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    free = memory - 2 * _parameters(vocab_size, d_model, d_ff, num_layers, max_len)
    return max(0, free // (4 * max_len * d_model))


@wrong("gpt.largest_batch", "counts up, and stops at <: an exact fit is lost", "exact-fit-refused")
def _(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    used = 2 * _parameters(vocab_size, d_model, d_ff, num_layers, max_len)
    text, texts = 4 * num_layers * max_len * d_model, 0
    while used + (texts + 1) * text < memory:
        texts += 1
    return texts


@wrong("gpt.largest_batch", "norms without a bias", "small-parts-left-out")
def _(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    numbers = _parameters(vocab_size, d_model, d_ff, num_layers, max_len)
    numbers -= (2 * num_layers + 1) * d_model
    return max(0, (memory - 2 * numbers) // (4 * num_layers * max_len * d_model))


@wrong("gpt.largest_batch", "no table of tokens", relation="other-question")
def _(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    numbers = _parameters(vocab_size, d_model, d_ff, num_layers, max_len) - vocab_size * d_model
    return max(0, (memory - 2 * numbers) // (4 * num_layers * max_len * d_model))


@wrong("gpt.largest_batch", "the text keeps a vector of D, not a key and a value", "keys-only")
def _(vocab_size, d_model, num_heads, d_ff, num_layers, max_len, memory):
    free = memory - 2 * _parameters(vocab_size, d_model, d_ff, num_layers, max_len)
    return max(0, free // (2 * num_layers * max_len * d_model))
