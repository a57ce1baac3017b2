"""Wrong answers to the tasks of depth, as beginners write them."""

import math

import torch

from tests.checks.material.unseen import wrong

# depth.cnn_receptive_field


@wrong("depth.cnn_receptive_field", "kernel times layers", "kernels-added-up")
def _(kernel_size, num_layers, dilation=1):
    return kernel_size * num_layers * dilation


@wrong(
    "depth.cnn_receptive_field", "half kernels to each side: wrong for even kernels", "half-kernels"
)
def _(kernel_size, num_layers, dilation=1):
    return 1 + 2 * (kernel_size // 2) * num_layers * dilation


@wrong(
    "depth.cnn_receptive_field",
    "the dilation doubles in each layer, as in WaveNet",
    "dilation-doubles",
)
def _(kernel_size, num_layers, dilation=1):
    field = 1
    for i in range(num_layers):
        field += (kernel_size - 1) * dilation**i
    return field


@wrong("depth.cnn_receptive_field", "without the one at the start", "own-place-left-out")
def _(kernel_size, num_layers, dilation=1):
    return num_layers * (kernel_size - 1) * dilation


@wrong("depth.cnn_receptive_field", "dilation forgotten", "no-dilation")
def _(kernel_size, num_layers, dilation=1):
    r = 1
    for _ in range(num_layers):
        r = r + kernel_size - 1
    return r


# depth.previous_token_weights


@wrong("depth.previous_token_weights", "the matrix has its ones above the diagonal", "looks-ahead")
def _(places, sharpness):
    length, size = places.shape
    move = torch.diag(torch.ones(size - 1, dtype=places.dtype), 1)
    scores = sharpness * (places @ move) @ places.T / math.sqrt(size)
    return torch.softmax(scores.masked_fill(torch.ones(length, length).triu(1) > 0, -1e9), -1)


@wrong("depth.previous_token_weights", "no mask", "no-mask")
def _(places, sharpness):
    move = torch.diag(torch.ones(places.shape[1] - 1, dtype=places.dtype), -1)
    return torch.softmax(sharpness * places @ move @ places.T / math.sqrt(places.shape[1]), -1)


# depth.logit_lens


@wrong("depth.logit_lens", "after each layer only", "start-left-out")
def _(model, x):
    out = []
    for layer in model.layers:
        x = layer(x)
        out.append(model.output_proj(model.norm(x)))
    return torch.stack(out)


@wrong("depth.logit_lens", "the norm is forgotten", "no-norm")
def _(model, x):
    out = [model.output_proj(x)]
    for layer in model.layers:
        x = layer(x)
        out.append(model.output_proj(x))
    return torch.stack(out)


# depth.damage_by_key


@wrong("depth.damage_by_key", "the weight is zeroed behind the softmax", "weight-not-passed-on")
def _(query, key, value, mask):
    scores = (query @ key.T / math.sqrt(key.shape[1])).masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    out = []
    for s in range(len(key)):
        w = weights.clone()
        w[:, s] = 0
        out.append(((w @ value - weights @ value) ** 2).mean())
    return torch.stack(out)


@wrong("depth.damage_by_key", "the mask is not copied", "hidden-for-good")
def _(query, key, value, mask):
    scores = query @ key.T / math.sqrt(key.shape[1])
    first = scores.masked_fill(~mask, -math.inf).softmax(-1) @ value
    out = []
    for s in range(len(key)):
        mask[:, s] = False
        out.append(((scores.masked_fill(~mask, -math.inf).softmax(-1) @ value - first) ** 2).mean())
    return torch.stack(out)


# depth.needed_offset


@wrong("depth.needed_offset", "argmax without the one", "counted-from-zero")
def _(query, key, value, max_offset):
    past = torch.ones(len(query), len(query)).tril() > 0
    scores = query @ key.T / math.sqrt(key.shape[1])
    first = scores.masked_fill(~past, -math.inf).softmax(-1) @ value
    out = []
    for n in range(1, max_offset + 1):
        seen = past & ~torch.diag(torch.ones(len(query) - n), -n).bool()
        out.append(((scores.masked_fill(~seen, -math.inf).softmax(-1) @ value - first) ** 2).mean())
    return int(torch.stack(out).argmax())


# depth.find_the_bug


@wrong("depth.find_the_bug", "the key is put right, and the value left", "brings-the-letter-before")
def _(letters):
    length, size = letters.shape
    past = torch.ones(length, length).tril() > 0
    scores = 20 * torch.diag(torch.ones(length - 1, dtype=letters.dtype), -1) / math.sqrt(length)
    before = scores.masked_fill(~past, -math.inf).softmax(-1) @ letters
    scores = 20 * letters @ before.T / math.sqrt(size)
    return scores.masked_fill(~past, -math.inf).softmax(-1) @ before
