"""What must hold for any sizes and any input: order, padding, future, batch, cache.

The same properties are asked of every part that should have them, from one attention to a whole
model.  Weights and inputs are drawn from a seed, in float64, so that only mistakes differ.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.package.examples import PAD, small_config
from transformer_ref.attention import MultiHeadAttention
from transformer_ref.cache import KVCache
from transformer_ref.gpt import GPT, GPTConfig
from transformer_ref.layers import EncoderLayer
from transformer_ref.masks import causal_mask, padding_mask
from transformer_ref.model import Decoder, Encoder, Transformer

pytestmark = pytest.mark.usefixtures("default_device")

# No search for a smaller example: weights from a smaller seed are no simpler.
FEW = settings(
    max_examples=8, deadline=None, database=None, derandomize=True, phases=[Phase.generate]
)
SEEDS = st.integers(0, 2**31 - 1)
LENGTHS = st.integers(2, 9)
EXTRA = st.integers(1, 5)
NORMS = st.sampled_from(["post", "pre"])
POSITIONS = st.sampled_from(["sinusoidal", "learned"])

BATCH, D_MODEL, HEADS, D_FF, SOURCE = 3, 12, 3, 20, 6
VOCAB = 19
ALL = slice(None)

ModuleT = TypeVar("ModuleT", bound=nn.Module)
# Inputs (b, T, ...) of these rows of the batch to outputs (b, T, ...).
Run = Callable[[Tensor, slice], Tensor]


def drawn(module: ModuleT, std: float = 0.3) -> ModuleT:
    """The module in float64 with each parameter drawn anew, biases and norms too."""
    module = module.to(torch.get_default_device(), torch.float64).eval()
    for name, parameter in module.named_parameters():
        nn.init.normal_(parameter, mean=float("norm" in name and "weight" in name), std=std)
    return module


def hidden(length: int) -> Tensor:
    return torch.randn(BATCH, length, D_MODEL, dtype=torch.float64)


def ids(length: int, vocab_size: int = VOCAB) -> Tensor:
    return torch.randint(1, vocab_size, (BATCH, length))


def padded(rows: Tensor) -> Tensor:
    """Rows (B, T) of which the last one ends in padding."""
    rows[-1, rows.shape[1] // 2 + 1 :] = PAD
    return rows


def assert_equal(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)


# --- parts in which no position may see a later one ---------------------------------------------


def causal_attention(length: int, norm: str, positions: str) -> tuple[Run, Tensor]:
    attention = drawn(MultiHeadAttention(D_MODEL, HEADS))
    return lambda x, _: attention(x, x, x, is_causal=True), hidden(length)


def causal_layer(length: int, norm: str, positions: str) -> tuple[Run, Tensor]:
    layer = drawn(EncoderLayer(D_MODEL, HEADS, D_FF, norm=norm))
    return lambda x, _: layer(x, is_causal=True), hidden(length)


def decoder(length: int, norm: str, positions: str) -> tuple[Run, Tensor]:
    stack, memory = drawn(Decoder(small_config(norm=norm))), hidden(SOURCE)
    seen = padding_mask(padded(ids(SOURCE)), PAD)
    return (
        lambda x, rows: stack(x, memory[rows], causal_mask(x.shape[1], x.device), seen[rows]),
        hidden(length),
    )


def transformer(length: int, norm: str, positions: str) -> tuple[Run, Tensor]:
    model = drawn(Transformer(small_config(norm=norm, positions=positions)))
    src = padded(ids(SOURCE))
    return lambda tgt, rows: model(src[rows], tgt), ids(length)


def gpt(length: int, norm: str, positions: str) -> tuple[Run, Tensor]:
    sizes = {"d_model": D_MODEL, "num_heads": HEADS, "num_layers": 2, "d_ff": D_FF, "max_len": 16}
    model = drawn(GPT(GPTConfig(VOCAB, **sizes, norm=norm, positions=positions)))
    return lambda x, _: model(x), ids(length)


CAUSAL = pytest.mark.parametrize(
    "part", [causal_attention, causal_layer, decoder, transformer, gpt]
)


@CAUSAL
@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS, positions=POSITIONS, data=st.data())
def test_a_prefix_gives_a_prefix(
    part: Callable[..., tuple[Run, Tensor]],
    seed: int,
    length: int,
    norm: str,
    positions: str,
    data: st.DataObject,
) -> None:
    torch.manual_seed(seed)
    run, x = part(length, norm, positions)
    cut = data.draw(st.integers(1, length))
    assert_equal(run(x[:, :cut], ALL), run(x, ALL)[:, :cut])


# --- parts in which padding must not show -------------------------------------------------------


def attention(length: int, norm: str, positions: str) -> tuple[Run, Tensor]:
    module, query, memory = drawn(MultiHeadAttention(D_MODEL, HEADS)), hidden(4), hidden(32)

    def run(keys: Tensor, rows: slice) -> Tensor:
        lookup = memory[rows, : keys.shape[1]]
        return module(query[rows], lookup, lookup, padding_mask(keys, PAD))

    return run, ids(length)


def encoder(length: int, norm: str, positions: str) -> tuple[Run, Tensor]:
    stack, table = drawn(Encoder(small_config(norm=norm))), hidden(32)

    def run(src: Tensor, rows: slice) -> Tensor:
        return stack(table[rows, : src.shape[1]], padding_mask(src, PAD))

    return run, ids(length)


def memory_of_decoder(length: int, norm: str, positions: str) -> tuple[Run, Tensor]:
    stack, x, memory = drawn(Decoder(small_config(norm=norm))), hidden(4), hidden(32)

    def run(src: Tensor, rows: slice) -> Tensor:
        mask = padding_mask(src, PAD)
        return stack(x[rows], memory[rows, : src.shape[1]], memory_mask=mask)

    return run, ids(length)


def source_of_transformer(length: int, norm: str, positions: str) -> tuple[Run, Tensor]:
    model = drawn(Transformer(small_config(norm=norm, positions=positions)))
    tgt = ids(4)
    return lambda src, rows: model(src, tgt[rows]), ids(length)


PADDED = [attention, encoder, memory_of_decoder, source_of_transformer, transformer]


@pytest.mark.parametrize("part", PADDED)
@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS, positions=POSITIONS, extra=EXTRA)
def test_more_padding_changes_nothing(
    part: Callable[..., tuple[Run, Tensor]],
    seed: int,
    length: int,
    norm: str,
    positions: str,
    extra: int,
) -> None:
    torch.manual_seed(seed)
    run, x = part(length, norm, positions)
    x = padded(x)
    expected = run(x, ALL)
    longer = run(nn.functional.pad(x, (0, extra), value=PAD), ALL)
    assert_equal(longer[:, : expected.shape[1]], expected)


@pytest.mark.parametrize("part", [causal_attention, causal_layer, decoder, gpt, *PADDED])
@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS, positions=POSITIONS)
def test_a_row_does_not_depend_on_the_rest_of_the_batch(
    part: Callable[..., tuple[Run, Tensor]], seed: int, length: int, norm: str, positions: str
) -> None:
    torch.manual_seed(seed)
    run, x = part(length, norm, positions)
    if part in PADDED:
        x = padded(x)
    together = run(x, ALL)
    for row in range(BATCH):
        one = slice(row, row + 1)
        assert_equal(run(x[one], one), together[one])


# --- order --------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["attention", "layer", "stack"])
@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS)
def test_without_positions_order_does_not_matter(
    part: str, seed: int, length: int, norm: str
) -> None:
    torch.manual_seed(seed)
    module = {
        "attention": lambda: MultiHeadAttention(D_MODEL, HEADS),
        "layer": lambda: EncoderLayer(D_MODEL, HEADS, D_FF, norm=norm),
        "stack": lambda: Encoder(small_config(norm=norm)),
    }[part]()
    run = drawn(module)
    x, order = hidden(length), torch.randperm(length)
    arguments = 3 if part == "attention" else 1
    assert_equal(run(*[x[:, order]] * arguments), run(*[x] * arguments)[:, order])


@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS, positions=POSITIONS)
def test_with_positions_order_matters(seed: int, length: int, norm: str, positions: str) -> None:
    torch.manual_seed(seed)
    model = drawn(Transformer(small_config(norm=norm, positions=positions)))
    src = ids(length)
    src[:, 0], src[:, 1] = 1, 2
    order = torch.arange(length)
    order[:2] = torch.tensor([1, 0])
    assert not torch.allclose(
        model.encode(src[:, order]), model.encode(src)[:, order], rtol=1e-6, atol=1e-6
    )


@FEW
@given(seed=SEEDS, keys=LENGTHS)
def test_attention_does_not_depend_on_the_order_of_the_keys(seed: int, keys: int) -> None:
    torch.manual_seed(seed)
    module, query, memory = drawn(MultiHeadAttention(D_MODEL, HEADS)), hidden(4), hidden(keys)
    mask = torch.rand(BATCH, 1, 4, keys) < 0.6
    order = torch.randperm(keys)
    shuffled = memory[:, order]
    assert_equal(
        module(query, shuffled, shuffled, mask[..., order]), module(query, memory, memory, mask)
    )


@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS, positions=POSITIONS)
def test_every_source_token_can_reach_every_target_position(
    seed: int, length: int, norm: str, positions: str
) -> None:
    torch.manual_seed(seed)
    model = drawn(Transformer(small_config(norm=norm, positions=positions)))
    memory = model.encode(ids(length)).detach().requires_grad_()
    logits = model.decode(ids(length), memory)
    for position in (0, length - 1):
        (gradient,) = torch.autograd.grad(
            logits[:, position].square().sum(), memory, retain_graph=True
        )
        assert torch.all(gradient.abs().sum(dim=-1) > 0)


# --- the cache ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["transformer", "gpt"])
@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS, positions=POSITIONS, data=st.data())
@torch.no_grad()
def test_tokens_may_come_in_pieces(
    kind: str, seed: int, length: int, norm: str, positions: str, data: st.DataObject
) -> None:
    torch.manual_seed(seed)
    tgt = ids(length)
    if kind == "transformer":
        model = drawn(Transformer(small_config(norm=norm, positions=positions)))
        tgt, src = padded(tgt), padded(ids(SOURCE))
        mask = padding_mask(src, PAD)
        memory = model.encode(src, mask)
        cache = KVCache(model.config.num_decoder_layers)

        def step(piece: Tensor, cache: KVCache | None = None) -> Tensor:
            return model.decode(piece, memory, memory_mask=mask, cache=cache)
    else:
        sizes = {"d_model": D_MODEL, "num_heads": HEADS, "num_layers": 2, "d_ff": D_FF}
        step = drawn(GPT(GPTConfig(VOCAB, **sizes, max_len=16, norm=norm, positions=positions)))
        cache = KVCache(2)
    cuts = data.draw(st.sets(st.integers(1, length - 1)))
    bounds = [0, *sorted(cuts), length]
    pieces = [step(tgt[:, a:b], cache=cache) for a, b in pairwise(bounds)]
    assert_equal(torch.cat(pieces, dim=1), step(tgt))
