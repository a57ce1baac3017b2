"""Wrong answers to the tasks on attention."""

import math

import torch
from torch import nn

from tests.checks.material.unlisted import wrong
from transformer_ref import attention as reference


@wrong("attention.scaled_dot_product_attention", "no / sqrt(K): the scores are not scaled")
def scaled_dot_product_attention_1(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@wrong("attention.scaled_dot_product_attention", "softmax(dim=-2): the columns sum to one")
def scaled_dot_product_attention_2(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-2)
    return weights @ value, weights


@wrong("attention.scaled_dot_product_attention", "masked_fill(mask, -inf): the mask is inverted")
def scaled_dot_product_attention_3(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@wrong("attention.scaled_dot_product_attention", "return weights, output: exchanged")
def scaled_dot_product_attention_4(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights, weights @ value


@wrong(
    "attention.scaled_dot_product_attention", "/ math.sqrt(value.shape[-1]): the size of a value"
)
def scaled_dot_product_attention_5(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(value.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@wrong("attention.scaled_dot_product_attention", "weights * mask after the softmax: rows below one")
def scaled_dot_product_attention_6(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ value, weights


@wrong("attention.scaled_dot_product_attention", "the second result is the scores, no weights")
def scaled_dot_product_attention_7(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(dim=-1) @ value, scores


@wrong("attention.scaled_dot_product_attention", "key.T: wrong as soon as there is a batch")
def scaled_dot_product_attention_8(query, key, value, mask=None):
    scores = query @ key.permute(*range(key.ndim - 1, -1, -1)) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@wrong("attention.scaled_dot_product_attention", "scores * mask: hidden scores are 0 and not low")
def scaled_dot_product_attention_9(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores * mask
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


@wrong("attention.scaled_dot_product_attention", "the mask is an argument and never used")
def scaled_dot_product_attention_10(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


@wrong("attention.split_heads", "reshape(B, H, T, K) without transpose: tokens are mixed")
def split_heads_1(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, num_heads, length, d_model // num_heads)


@wrong("attention.split_heads", "no transpose: the result is (B, T, H, K)")
def split_heads_2(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, length, num_heads, d_model // num_heads)


@wrong("attention.split_heads", "reshape(B, T, K, H): a head gets every H-th feature")
def split_heads_3(x, num_heads):
    batch, length, d_model = x.shape
    split = x.reshape(batch, length, d_model // num_heads, num_heads)
    return split.permute(0, 3, 1, 2)


@wrong("attention.split_heads", "d_model / num_heads: a float for a size; torch raises")
def split_heads_4(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, length, num_heads, d_model / num_heads).transpose(1, 2)


@wrong("attention.split_heads", "transpose(2, 3): the result is (B, T, K, H)")
def split_heads_5(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, length, num_heads, d_model // num_heads).transpose(2, 3)


@wrong("attention.split_heads", "reshape(B, T, num_heads, H): num_heads is taken for K")
def split_heads_6(x, num_heads):
    batch, length, d_model = x.shape
    return x.reshape(batch, length, d_model // num_heads, num_heads).transpose(1, 2)


@wrong("attention.split_heads", "torch.stack(x.chunk(H, -1)): the heads stand in front")
def split_heads_7(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1))


@wrong("attention.split_heads", "chunk(num_heads, dim=1): the tokens are cut, not the features")
def split_heads_8(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=1), dim=1)


@wrong("attention.split_heads", "x[0]: the first sequence only")
def split_heads_9(x, num_heads):
    _, length, d_model = x.shape
    return x[0].reshape(1, length, num_heads, d_model // num_heads).transpose(1, 2)


@wrong("attention.split_heads", "permute(2, 0, 1, 3): heads first and then the batch")
def split_heads_10(x, num_heads):
    batch, length, d_model = x.shape
    split = x.view(batch, length, num_heads, -1).permute(2, 0, 1, 3)
    return split.reshape(batch, num_heads, length, d_model // num_heads)


class Layers(nn.Module):
    """The four layers as they should be; the classes below go wrong in one place."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        """Give every head its features."""
        return reference.split_heads(x, self.num_heads)


@wrong("attention.MultiHeadAttention", "no out_proj in forward: the heads are not mixed")
class MultiHeadAttention1(Layers):
    def forward(self, query, key, value, mask=None):
        query, key = self.split(self.q_proj(query)), self.split(self.k_proj(key))
        value = self.split(self.v_proj(value))
        heads, _ = reference.scaled_dot_product_attention(query, key, value, mask)
        return heads.transpose(1, 2).flatten(2)


@wrong("attention.MultiHeadAttention", "self.v_proj(key): the values are made of the key")
class MultiHeadAttention2(Layers):
    def forward(self, query, key, value, mask=None):
        queries, keys = self.split(self.q_proj(query)), self.split(self.k_proj(key))
        values = self.split(self.v_proj(key))
        heads, _ = reference.scaled_dot_product_attention(queries, keys, values, mask)
        return self.out_proj(heads.transpose(1, 2).flatten(2))


@wrong("attention.MultiHeadAttention", "self.q_proj for the key too: k_proj is never used")
class MultiHeadAttention3(Layers):
    def forward(self, query, key, value, mask=None):
        query, key = self.split(self.q_proj(query)), self.split(self.q_proj(key))
        value = self.split(self.v_proj(value))
        heads, _ = reference.scaled_dot_product_attention(query, key, value, mask)
        return self.out_proj(heads.transpose(1, 2).flatten(2))


@wrong("attention.MultiHeadAttention", "the mask is not handed on to the attention")
class MultiHeadAttention4(Layers):
    def forward(self, query, key, value, mask=None):
        query, key = self.split(self.q_proj(query)), self.split(self.k_proj(key))
        value = self.split(self.v_proj(value))
        heads, _ = reference.scaled_dot_product_attention(query, key, value)
        return self.out_proj(heads.transpose(1, 2).flatten(2))


@wrong("attention.MultiHeadAttention", "bias=False in all layers")
class MultiHeadAttention5(Layers):
    def __init__(self, d_model, num_heads):
        nn.Module.__init__(self)
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, d_model, bias=False)
        self.v_proj = nn.Linear(d_model, d_model, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        query, key = self.split(self.q_proj(query)), self.split(self.k_proj(key))
        value = self.split(self.v_proj(value))
        heads, _ = reference.scaled_dot_product_attention(query, key, value, mask)
        return self.out_proj(heads.transpose(1, 2).flatten(2))


@wrong("attention.MultiHeadAttention", "/ math.sqrt(d_model): the root of D and not of K")
class MultiHeadAttention6(Layers):
    def forward(self, query, key, value, mask=None):
        query, key = self.split(self.q_proj(query)), self.split(self.k_proj(key))
        value = self.split(self.v_proj(value))
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.q_proj.out_features)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        return self.out_proj((scores.softmax(dim=-1) @ value).transpose(1, 2).flatten(2))


@wrong("attention.MultiHeadAttention", "heads.reshape(B, T, D) without transpose before merging")
class MultiHeadAttention7(Layers):
    def forward(self, query, key, value, mask=None):
        shape = query.shape
        query, key = self.split(self.q_proj(query)), self.split(self.k_proj(key))
        value = self.split(self.v_proj(value))
        heads, _ = reference.scaled_dot_product_attention(query, key, value, mask)
        return self.out_proj(heads.reshape(shape))


@wrong("attention.MultiHeadAttention", "key.view(B, T, ...): the keys have the queries' length")
class MultiHeadAttention8(Layers):
    def forward(self, query, key, value, mask=None):
        batch, length, d_model = query.shape
        shape = (batch, length, self.num_heads, d_model // self.num_heads)
        query = self.q_proj(query).view(shape).transpose(1, 2)
        key = self.k_proj(key).view(shape).transpose(1, 2)
        value = self.v_proj(value).view(shape).transpose(1, 2)
        heads, _ = reference.scaled_dot_product_attention(query, key, value, mask)
        return self.out_proj(heads.transpose(1, 2).reshape(batch, length, d_model))


@wrong("attention.MultiHeadAttention", "return the pair of scaled_dot_product_attention: a tuple")
class MultiHeadAttention9(Layers):
    def forward(self, query, key, value, mask=None):
        query, key = self.split(self.q_proj(query)), self.split(self.k_proj(key))
        value = self.split(self.v_proj(value))
        heads, weights = reference.scaled_dot_product_attention(query, key, value, mask)
        return self.out_proj(heads.transpose(1, 2).flatten(2)), weights


@wrong("attention.MultiHeadAttention", "no split: one head over all D features")
class MultiHeadAttention10(Layers):
    def forward(self, query, key, value, mask=None):
        query, key, value = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        if mask is not None and mask.ndim == 4:
            mask = mask[:, 0]
        output, _ = reference.scaled_dot_product_attention(query, key, value, mask)
        return self.out_proj(output)
