"""What the chapter on blocks does by hand, its stacks with and without sums, and one hidden unit.

The example is one post-norm encoder layer on two tokens with four features; its drawings and the
page show the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer_ref.applications.g2p import Speller, make_examples
from transformer_ref.attention import MultiHeadAttention
from transformer_ref.batching import pad_batch
from transformer_ref.data import Entry
from transformer_ref.layers import EncoderLayer, FeedForward
from transformer_ref.model import Encoder, Transformer
from transformer_ref.training import split_target

# The example by hand: two words with four features each. Queries are zero, so that each word
# attends to both alike; values are the words' own vectors.
WORDS = ("cat", "it")
X = ((3.0, 0.0, 4.0, 1.0), (3.0, 4.0, 0.0, 1.0))
W_1 = (
    (1.0, 1.0, 0.0, 0.0, 0.0, 0.0),
    (1.0, 0.0, 1.0, -1.0, 1.0, 0.0),
    (0.0, 1.0, 0.0, 1.0, -1.0, 1.0),
    (0.0, 0.0, 1.0, 0.0, 0.0, 1.0),
)
W_2 = (
    (0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 0.0, 1.0),
    (0.0, 0.0, 0.0, 1.0),
    (1.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0),
    (1.0, 0.0, 0.0, 0.0),
)


def by_hand() -> dict[str, Tensor]:
    """Return each step of the example, as the drawings show them.

    Returns:
        X, found, first_sum, first_norm (2, 4); W_1 (4, 6), W_2 (6, 4); units, hidden (2, 6) before
        and after the ReLU; change, second_sum, output (2, 4).
    """
    x, w_1, w_2 = (torch.tensor(rows) for rows in (X, W_1, W_2))
    found = x.mean(dim=0, keepdim=True).expand_as(x)  # equal weights for both words
    first_sum = x + found
    first_norm = F.layer_norm(first_sum, (4,))
    units = first_norm @ w_1
    hidden = units.relu()
    change = hidden @ w_2
    second_sum = first_norm + change
    return {
        "X": x, "found": found, "first_sum": first_sum, "first_norm": first_norm,
        "W_1": w_1, "W_2": w_2, "units": units, "hidden": hidden, "change": change,
        "second_sum": second_sum, "output": F.layer_norm(second_sum, (4,)),
    }  # fmt: skip


def layer_by_hand() -> EncoderLayer:
    """Return the package's layer with the weights of the example."""
    layer = EncoderLayer(4, num_heads=1, d_ff=6)
    attention, network = layer.self_attention, layer.feed_forward
    with torch.no_grad():
        for parameter in (*attention.parameters(), *network.parameters()):
            parameter.zero_()
        nn.init.eye_(attention.v_proj.weight)
        nn.init.eye_(attention.out_proj.weight)
        network.linear1.weight.copy_(torch.tensor(W_1).T)
        network.linear2.weight.copy_(torch.tensor(W_2).T)
    return layer


def make_sublayers(d_model: int, num_layers: int, with_feed_forward: bool = True) -> nn.ModuleList:
    """Return fresh sublayers in float64, so that small differences are not lost in rounding."""
    torch.manual_seed(0)
    sublayers = nn.ModuleList()
    for _ in range(num_layers):
        sublayers.append(MultiHeadAttention(d_model, num_heads=4))
        if with_feed_forward:
            sublayers.append(FeedForward(d_model, 4 * d_model))
    return sublayers.double()


def run_stack(x: Tensor, sublayers: nn.ModuleList, *, add: bool, normalize: bool) -> list[Tensor]:
    """Run sublayers one after the other.

    Args:
        x: (B, T, D).
        sublayers: what runs.
        add: whether the input of each is added to its output.
        normalize: whether each reads its input normed.

    Returns:
        (B, T, D) each: the input of each sublayer, and the output of the last.
    """
    states = [x]
    for sublayer in sublayers:
        y = F.layer_norm(x, x.shape[-1:]) if normalize else x
        is_attention = isinstance(sublayer, MultiHeadAttention)
        change = sublayer(y, y, y) if is_attention else sublayer(y)
        x = x + change if add else change
        states.append(x)
    return states


def gradients(
    *, add: bool, normalize: bool, d_model: int = 64, num_layers: int = 24
) -> tuple[Tensor, ...]:
    """Return the gradient at each sublayer's input, from a random one at the output.

    The stack has fresh weights, and reads 4 sequences of 10 random vectors.

    Returns:
        (4, 10, D) each: at the input of each sublayer, and at the output of the last.
    """
    torch.manual_seed(1)
    x = torch.randn(4, 10, d_model, dtype=torch.float64).requires_grad_()
    states = run_stack(x, make_sublayers(d_model, num_layers), add=add, normalize=normalize)
    output = F.layer_norm(states[-1], (d_model,)) if normalize else states[-1]
    torch.manual_seed(2)
    return torch.autograd.grad(output, states, torch.randn_like(output))


def own_part(x: Tensor) -> Tensor:
    """Return what a token does not share with the others: (..., T, D) less its mean over T."""
    return x - x.mean(dim=-2, keepdim=True)


def spread(x: Tensor) -> float:
    """Say how different the tokens of (..., T, D) are: 0 for all alike, near 1 for random ones."""
    return (own_part(x).norm() / x.norm()).item()


def own_part_norms(states: Sequence[Tensor]) -> list[float]:
    """Return the norm of the own part of each state, or of each gradient."""
    return [own_part(x).norm().item() for x in states]


def mean_cosine(x: Tensor) -> float:
    """Say how alike the tokens of (T, D) are: the mean cosine of two of them, at most 1."""
    directions = F.normalize(x, dim=-1)
    cosines = directions @ directions.T
    pairs = len(x) * (len(x) - 1)
    return ((cosines.sum() - cosines.diagonal().sum()) / pairs).item()


def run_encoder(x: Tensor, encoder: Encoder, *, add: bool) -> list[Tensor]:
    """Run a pre-norm encoder with or without its residual sums, its last norm left out.

    Args:
        x: (B, S, D).
        encoder: whose weights are used, without dropout.
        add: whether the input of each sublayer is added to its output.

    Returns:
        (B, S, D) each: the input of each layer, and the output of the last.
    """
    states = [x]
    layers: Any = encoder.layers  # of EncoderLayer, which a ModuleList does not say
    for layer in layers:
        y = layer.norm1(x)
        change = layer.self_attention(y, y, y)
        x = x + change if add else change
        change = layer.feed_forward(layer.norm2(x))
        x = x + change if add else change
        states.append(x)
    return states


def plane_of(states: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the mean (D,) and the first two principal directions (D, 2) of all tokens (T, D)."""
    tokens = torch.cat(list(states))
    mean = tokens.mean(dim=0)
    directions = torch.linalg.svd(tokens - mean, full_matrices=False).Vh[:2]
    largest = directions.gather(1, directions.abs().argmax(dim=1, keepdim=True))
    return mean, (directions * largest.sign()).T  # a direction has no sign of its own


@torch.inference_mode()
def residual_streams(speller: Speller, word: str, num_layers: int = 8) -> dict[str, Any]:
    """Follow the letters of a word through two encoders, each with its sums and without them.

    One has fresh weights, the other those of the speller; both begin with the speller's
    embedding and positions.
    The plane of each encoder is that of all its layers with the sums, each vector brought to
    mean 0 and variance 1, as the next sublayer reads it.

    Args:
        speller: the trained model.
        word: of S letters.
        num_layers: of the encoder with fresh weights.

    Returns:
        The letters under "letters", and for each encoder ("fresh", "trained") and each way
        ("with", "without") under "points" (layers + 1, S, 2) and under "cosine" (layers + 1,).
    """
    model = speller.model
    x = model.src_positions(model.src_embedding(speller.source([word])))
    sublayers = make_sublayers(x.shape[-1], num_layers)
    ways = {"with": True, "without": False}
    runs: dict[str, dict[str, list[Tensor]]] = {"fresh": {}, "trained": {}}
    for way, add in ways.items():
        runs["fresh"][way] = run_stack(x.double(), sublayers, add=add, normalize=True)[::2]
        runs["trained"][way] = run_encoder(x, model.encoder, add=add)
    found: dict[str, Any] = {"letters": list(word)}
    for name, run in runs.items():
        normed = {way: [F.layer_norm(y[0], y.shape[-1:]) for y in run[way]] for way in ways}
        mean, directions = plane_of(normed["with"])
        found[name] = {
            way: {
                "points": [((y - mean) @ directions).tolist() for y in normed[way]],
                "cosine": [mean_cosine(y[0]) for y in run[way]],
            }
            for way in ways
        }
    return found


def last_hidden(model: Transformer, src: Tensor, tgt: Tensor) -> tuple[Tensor, Tensor]:
    """Run a pre-norm model and look into its last decoder layer.

    Returns:
        (B, T, d_ff) its hidden units after the ReLU, and (B, T, D) what the final norm reads.
    """
    kept: dict[str, Tensor] = {}
    layer: Any = model.decoder.layers[-1]
    handles = [
        layer.feed_forward.linear1.register_forward_hook(
            lambda module, args, output: kept.update(hidden=output.relu())
        ),
        model.decoder.norm.register_forward_pre_hook(
            lambda module, args: kept.update(stream=args[0])
        ),
    ]
    model(src, tgt)
    for handle in handles:
        handle.remove()
    return kept["hidden"], kept["stream"]


@torch.inference_mode()
def where_unit_is_on(speller: Speller, unit: int, word: str) -> list[tuple[str, float]]:
    """Say for each step of a word what the speller says there, and how far the unit is on.

    Args:
        speller: the trained model.
        unit: of the feed-forward network in its last decoder layer.
        word: which it says.
    """
    said = speller.pronounce(word)
    tgt = torch.tensor([speller.phonemes.encode(said, bos=True)])
    hidden, _ = last_hidden(speller.model, speller.source([word]), tgt)
    return list(zip([*said, "<eos>"], hidden[0, :, unit].tolist(), strict=True))


@torch.inference_mode()
def what_unit_writes(speller: Speller, unit: int) -> dict[str, float]:
    """Return what a unit's row of W_2 adds to the score of each phoneme, for an activation of 1.

    The row goes through the scale of the final norm and the output layer, without the division by
    the size of the stream, which depends on the token; the mean over the phonemes is subtracted.
    """
    model, phonemes = speller.model, speller.phonemes
    layer: Any = model.decoder.layers[-1]
    row = layer.feed_forward.linear2.weight[:, unit]  # (D,)
    scores = model.output_proj.weight @ (model.decoder.norm.weight * (row - row.mean()))  # (V,)
    scores = scores - scores.mean()
    return dict(zip(phonemes.tokens, scores.tolist(), strict=True))


@torch.inference_mode()
def right_without_unit(
    speller: Speller, unit: int, phoneme: str, entries: Sequence[Entry]
) -> tuple[float, float]:
    """Measure how often a phoneme is said where it should be, with a unit and without it.

    Args:
        speller: the trained model; it is given the true phonemes before.
        unit: of the last decoder layer, whose output is taken off.
        phoneme: that is counted.
        entries: words and their pronunciations.

    Returns:
        Two shares: with the unit, and without it.
    """
    model = speller.model
    examples = make_examples(entries)
    src, target = (pad_batch(list(ids), pad_id=0) for ids in zip(*examples, strict=True))
    tgt, labels = split_target(target)
    hidden, stream = last_hidden(model, src, tgt)
    layer: Any = model.decoder.layers[-1]
    written = hidden[..., unit, None] * layer.feed_forward.linear2.weight[:, unit]  # (B, T, D)
    wanted = labels == speller.phonemes.encode([phoneme])[0]
    shares = []
    for state in (stream, stream - written):
        best = model.output_proj(model.decoder.norm(state)).argmax(dim=-1)
        shares.append((best == labels)[wanted].float().mean().item())
    return shares[0], shares[1]
