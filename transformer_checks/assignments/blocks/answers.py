"""The answers to the tasks of the assignment "blocks": the text of the solution's cells.

A mistake is a change to one of them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from transformer_ref import layers as reference
from transformer_ref.attention import MultiHeadAttention


def layer_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    eps: float,
) -> Tensor:
    """Norm the features of each token.

    Args:
        x: (..., D), floating point, with any number of leading axes.
        weight: (D,), the scale of each feature.
        bias: (D,), the offset of each feature.
        eps: above 0, added to the variance.

    Returns:
        (..., D): (x - mean) / sqrt(variance + eps) * weight + bias, with
        mean and variance (divisor D) over the features of each token.
    """
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


def lookup_network(keys: Tensor, values: Tensor) -> reference.FeedForward:
    """Set the weights of a feed-forward network so that it looks tokens up.

    Args:
        keys: (N, D), float32: N different rows of 1 and -1.
        values: (N, D), float32, any numbers.

    Returns:
        a FeedForward that maps keys[i] to values[i], and every other token
        of 1 and -1 to zeros.
    """
    num_keys, d_model = keys.shape
    network = reference.FeedForward(d_model, num_keys)
    with torch.no_grad():
        network.linear1.weight.copy_(keys)
        network.linear1.bias.fill_(1 - d_model)  # 1 for a match, at most -1 for all others
        network.linear2.weight.copy_(values.T)
        network.linear2.bias.zero_()
    return network


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each inside a residual sum.

    Args:
        d_model: D.
        num_heads: H, a divisor of D.
        d_ff: size of the hidden layer of the feed-forward network.
        norm: "post" for norm(x + f(x)), "pre" for x + f(norm(x)).

    The parts are `self_attention`, `feed_forward`, `norm1` and `norm2`.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        norm: str = "post",
    ) -> None:
        super().__init__()
        self.norm = norm
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = reference.FeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Transform a sequence.

        Args:
            x: (B, S, D).
            mask: bool, broadcasts to (B, H, S, S); True means "may attend",
                None that all may be seen.

        Returns:
            (B, S, D).
        """
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.self_attention(x, x, x, mask))
        return self.norm2(x + self.feed_forward(x))


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention to the memory, feed-forward network.

    Args:
        d_model: D.
        num_heads: H, a divisor of D.
        d_ff: size of the hidden layer of the feed-forward network.
        norm: "post" for norm(x + f(x)), "pre" for x + f(norm(x)); the
            memory is not normed.

    The parts are `self_attention`, `cross_attention`, `feed_forward`,
    `norm1`, `norm2` and `norm3`.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        norm: str = "post",
    ) -> None:
        super().__init__()
        self.norm = norm
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = reference.FeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Transform the target so far, looking at the encoded source.

        Args:
            x: (B, T, D).
            memory: (B, S, D), what the encoder gave.
            tgt_mask: bool, broadcasts to (B, H, T, T); True means "may
                attend", None that all may be seen.
            memory_mask: bool, broadcasts to (B, H, T, S); the same.

        Returns:
            (B, T, D).
        """
        if self.norm == "pre":
            y = self.norm1(x)
            x = x + self.self_attention(y, y, y, tgt_mask)
            y = self.norm2(x)
            x = x + self.cross_attention(y, memory, memory, memory_mask)
            return x + self.feed_forward(self.norm3(x))
        x = self.norm1(x + self.self_attention(x, x, x, tgt_mask))
        x = self.norm2(x + self.cross_attention(x, memory, memory, memory_mask))
        return self.norm3(x + self.feed_forward(x))


def count_multiplications(
    d_model: int,
    d_ff: int,
    num_layers: int,
    vocab_size: int,
    src_len: int,
    tgt_len: int,
) -> int:
    """Count the multiplications of the paper's model for one sentence.

    Args:
        d_model: D.
        d_ff: size of the hidden layers of the feed-forward networks.
        num_layers: layers of the encoder, and of the decoder.
        vocab_size: V.
        src_len: S, the tokens that the encoder reads.
        tgt_len: T, the tokens that the decoder reads, all at once.

    Returns:
        The multiplications in all linear layers, in the scores and in the
        sums of the values, and in the output layer; nothing else is
        counted.
    """
    projection = d_model * d_model  # of one token
    network = 2 * d_model * d_ff  # for one token
    encoder_layer = src_len * (4 * projection + network) + 2 * src_len * src_len * d_model
    self_attention = tgt_len * 4 * projection + 2 * tgt_len * tgt_len * d_model
    cross_attention = 2 * (tgt_len + src_len) * projection + 2 * tgt_len * src_len * d_model
    decoder_layer = self_attention + cross_attention + tgt_len * network
    output = tgt_len * d_model * vocab_size
    return num_layers * (encoder_layer + decoder_layer) + output


def add_and_norm(
    x: Tensor,
    change: Tensor,
    weight: Tensor,
    bias: Tensor,
    eps: float,
) -> Tensor:
    """Add what a sublayer found, then norm: as above, without the bug.

    Args:
        x: (B, T, D), floating point, what the sublayer was given.
        change: (B, T, D), what it found.
        weight: (D,), the scale of each feature.
        bias: (D,), the offset of each feature.
        eps: above 0, added to the variance.

    Returns:
        (B, T, D): the LayerNorm of x + change.
    """
    total = x + change
    axes = (-1,)  # the features of one token
    mean = total.mean(axes, keepdim=True)
    variance = total.var(axes, correction=0, keepdim=True)
    return (total - mean) / torch.sqrt(variance + eps) * weight + bias


def damage_by_sublayer(
    layers: list[reference.EncoderLayer],
    x: Tensor,
) -> Tensor:
    """Measure how much the output changes when one sublayer is silenced.

    Args:
        layers: L pre-norm layers, left as they were.
        x: (B, S, D), floating point, the input of the first layer.

    Returns:
        (L, 2), floating point: for the self-attention (0) and the
        feed-forward network (1) of each layer, the mean of the squared
        change over all numbers of the last layer's output.
    """

    def run(silenced: tuple[int, int] | None = None) -> Tensor:
        y = x
        for number, layer in enumerate(layers):
            if silenced != (number, 0):
                read = layer.norm1(y)
                y = y + layer.self_attention(read, read, read)
            if silenced != (number, 1):
                y = y + layer.feed_forward(layer.norm2(y))
        return y

    whole = run()
    damage = []
    for number in range(len(layers)):
        for part in (0, 1):
            changed = run((number, part)) - whole
            damage.append(changed.square().mean())
    return torch.stack(damage).reshape(len(layers), 2)


def dead_units(feed_forward: reference.FeedForward, x: Tensor) -> list[int]:
    """List the hidden units that are above zero for no token.

    Args:
        feed_forward: any network with ReLU, left as it was.
        x: (B, T, D), floating point, what the network reads.

    Returns:
        their numbers, from 0 to d_ff - 1, in increasing order; [] if there
        are none.
    """
    hidden = torch.relu(feed_forward.linear1(x))
    fires = (hidden > 0).flatten(0, 1).any(dim=0)
    return [number for number, alive in enumerate(fires.tolist()) if not alive]
