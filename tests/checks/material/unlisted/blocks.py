"""Wrong answers to the tasks on blocks."""

import torch
from torch import nn

from tests.checks.material.unlisted import wrong
from transformer_ref import layers as reference
from transformer_ref.attention import MultiHeadAttention


@wrong("blocks.layer_norm", "x.var without correction=0: the divisor is D - 1")
def layer_norm_1(x, weight, bias, eps):
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


@wrong("blocks.layer_norm", "std + eps: eps stands outside the root")
def layer_norm_2(x, weight, bias, eps):
    mean = x.mean(dim=-1, keepdim=True)
    deviation = x.std(dim=-1, keepdim=True, correction=0)
    return (x - mean) / (deviation + eps) * weight + bias


class Layer(nn.Module):
    """The parts as they should be; the classes below go wrong in one place."""

    def __init__(self, d_model, num_heads, d_ff, norm="post"):
        super().__init__()
        self.norm = norm
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = reference.FeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)


@wrong("blocks.EncoderLayer", "return in the branch of pre only: post gives None")
class EncoderLayer10(Layer):
    def forward(self, x, mask=None):
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.self_attention(x, x, x, mask))
        x = self.norm2(x + self.feed_forward(x))
        return None
