"""Bad arguments: each message names the argument, what was received and what was expected."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.package.bad_input import MODEL_SIZES
from tests.package.examples import small_config, small_model
from transformer_ref import (
    GPT,
    DecoderLayer,
    EncoderLayer,
    GPTConfig,
    LearnedPositions,
    MultiHeadAttention,
    SinusoidalPositions,
    TokenEmbedding,
    TransformerConfig,
    attention_scores,
    beam_search,
    causal_mask,
    frequencies,
    fused_attention,
    generate,
    greedy_decode,
    masked_softmax,
    padding_mask,
    sample,
    scaled_dot_product_attention,
    shift_matrix,
    sinusoidal_encoding,
    target_mask,
    tied_logits,
)

# What is called, and the words that its message must hold, in this order.
Case = tuple[Callable[[], Any], str]


def x(*shape: int, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Tensor:
    return torch.zeros(*shape, dtype=dtype, device=device)


def ids(*shape: int) -> Tensor:
    return torch.ones(*shape, dtype=torch.int64)


def mask(*shape: int) -> Tensor:
    return torch.ones(*shape, dtype=torch.bool)


def refused(cases: dict[str, Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("call", "words"), cases.values(), ids=cases.keys())


def assert_refused(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=".*".join(map(re.escape, words.split(" .. ")))):
        call()


SIZES: dict[str, Case] = {
    f"{name}_{bad!r}": (lambda make=make, bad=bad: make(bad), f"{name} must be .. {bad!r}")
    for name, make in {
        "d_model": lambda bad: MultiHeadAttention(bad, 1),
        "num_heads": lambda bad: MultiHeadAttention(8, bad),
        "vocab_size": lambda bad: TokenEmbedding(bad, 8),
        "max_len": lambda bad: LearnedPositions(8, bad),
        "num_positions": lambda bad: sinusoidal_encoding(bad, 8),
        "length": causal_mask,
    }.items()
    for bad in (0, -1, 2.5, "8", True)
}

RATES: dict[str, Case] = {
    f"{make.__name__}_{bad!r}": (
        lambda make=make, sizes=sizes, bad=bad: make(*sizes, dropout=bad),
        f"dropout must be a number in [0, 1), got {bad!r}",
    )
    for make, sizes in (
        (MultiHeadAttention, (8, 2)),
        (EncoderLayer, (8, 2, 16)),
        (DecoderLayer, (8, 2, 16)),
        (SinusoidalPositions, (8, 10)),
        (LearnedPositions, (8, 10)),
    )
    for bad in (-0.1, 1.0, float("nan"), "0.1", None)
}

CONSTRUCTORS: dict[str, Case] = {
    "heads_that_do_not_divide": (
        lambda: MultiHeadAttention(10, 3),
        "num_heads must divide d_model .. d_model=10, num_heads=3",
    ),
    "layer_heads": (lambda: EncoderLayer(10, 3, 16), "num_heads must divide .. num_heads=3"),
    "encoder_norm": (
        lambda: EncoderLayer(8, 2, 16, norm="middle"),
        'norm must be one of "post", "pre", got \'middle\'',
    ),
    "decoder_norm": (lambda: DecoderLayer(8, 2, 16, norm=None), "norm must be .. got None"),
    "odd_frequencies": (lambda: frequencies(7), "d_model must be even .. got 7"),
    "odd_table": (lambda: sinusoidal_encoding(5, 7), "d_model must be even .. got 7"),
    "odd_shift": (lambda: shift_matrix(1, 7), "d_model must be even .. got 7"),
    "odd_positions": (lambda: SinusoidalPositions(7, 5), "d_model must be even .. got 7"),
    "pad_id_above": (lambda: TokenEmbedding(5, 8, pad_id=5), "pad_id must lie in 0..4, got 5"),
    "pad_id_below": (lambda: TokenEmbedding(5, 8, pad_id=-1), "pad_id must lie in 0..4, got -1"),
}

CONFIGS: dict[str, Case] = {
    f"{name}_{bad!r}": (
        lambda name=name, bad=bad: small_config(**{name: bad}),
        f"{name} must be .. {bad!r}",
    )
    for name, bads in {
        **dict.fromkeys(MODEL_SIZES, (0, 1.5)),
        "dropout": (1.0, -0.5),
        "norm": ("middle",),
        "positions": ("rotary",),
        "tie_weights": ("source", True),
        "pad_id": (-1, 19, 0.5),
    }.items()
    for bad in bads
} | {
    "heads_that_do_not_divide": (
        lambda: small_config(num_heads=5),
        "num_heads must divide d_model .. d_model=12, num_heads=5",
    ),
    "two_vocabularies_cannot_be_one": (
        lambda: small_config(tie_weights="all"),
        'tie_weights="all" needs one vocabulary .. src_vocab_size=23, tgt_vocab_size=19',
    ),
}

FUNCTIONS: dict[str, Case] = {
    "scores_last_axis": (
        lambda: attention_scores(x(2, 3, 4), x(2, 5, 6)),
        "last axis of query and key, got query (2, 3, 4) .. key (2, 5, 6)",
    ),
    "scores_leading_axes": (
        lambda: attention_scores(x(2, 3, 4), x(3, 5, 4)),
        "leading axes, got query (2, 3, 4) .. key (3, 5, 4)",
    ),
    "scores_of_a_vector": (
        lambda: attention_scores(x(4), x(5, 4)),
        "query, key .. at least 2 axes, got query (4,)",
    ),
    "scores_of_ids": (
        lambda: attention_scores(ids(3, 4), ids(5, 4)),
        "query, key .. floating .. torch.int64",
    ),
    "attention_rows": (
        lambda: scaled_dot_product_attention(x(1, 3, 4), x(1, 5, 4), x(1, 6, 4)),
        "one row of key and value .. key (1, 5, 4) .. value (1, 6, 4)",
    ),
    "attention_devices": (
        lambda: scaled_dot_product_attention(
            x(1, 3, 4), x(1, 5, 4, device="meta"), x(1, 5, 4, device="meta")
        ),
        "be on one device .. on cpu .. on meta",
    ),
    "fused_last_axis": (
        lambda: fused_attention(x(1, 2, 3, 4), x(1, 2, 5, 6), x(1, 2, 5, 6)),
        "last axis of query and key, got query (1, 2, 3, 4) .. key (1, 2, 5, 6)",
    ),
    "causal_with_a_mask": (
        lambda: fused_attention(*[x(1, 2, 3, 4)] * 3, mask(3, 3), is_causal=True),
        "is_causal needs T == S and mask=None .. T=3, S=3, mask=(3, 3)",
    ),
    "causal_not_square": (
        lambda: fused_attention(x(1, 2, 3, 4), *[x(1, 2, 5, 4)] * 2, is_causal=True),
        "is_causal needs T == S .. T=3, S=5, mask=None",
    ),
    "softmax_dtype": (
        lambda: masked_softmax(ids(3, 5), mask(3, 5)),
        "scores must be floating, got torch.int64",
    ),
    "tied_logits": (
        lambda: tied_logits(x(2, 3, 8), x(5, 6)),
        "hidden and weight must share their last axis .. (2, 3, 8) and (5, 6)",
    ),
}

MASKS: dict[str, Case] = {
    f"{name}_{kind}": (
        lambda attend=attend, bad=bad: attend(x(2, 3, 5, 4), x(2, 3, 7, 4), x(2, 3, 7, 4), bad),
        f"mask must {words}",
    )
    for name, attend in (
        ("explicit", scaled_dot_product_attention),
        ("fused", fused_attention),
        ("softmax", lambda q, k, v, bad: masked_softmax(q @ k.mT, bad)),
    )
    for kind, bad, words in (
        ("float", x(5, 7), "be boolean .. torch.float32"),
        ("integer", ids(5, 7), "be boolean .. torch.int64"),
        ("transposed", mask(7, 5), "broadcast .. (2, 3, 5, 7), got (7, 5)"),
        ("batch", mask(3, 1, 5, 7), "broadcast .. (2, 3, 5, 7), got (3, 1, 5, 7)"),
        ("too_deep", mask(1, 2, 3, 5, 7), "broadcast .. (2, 3, 5, 7), got (1, 2, 3, 5, 7)"),
        ("elsewhere", mask(5, 7).to("meta"), "be on cpu .. got meta"),
    )
}

IDS: dict[str, Case] = {
    f"{name}_{kind}": (lambda call=call, bad=bad: call(bad), f"ids must {words}")
    for name, call in (
        ("embedding", TokenEmbedding(11, 8)),
        ("padding_mask", lambda bad: padding_mask(bad, 0)),
        ("target_mask", lambda bad: target_mask(bad, 0)),
    )
    for kind, bad, words in (
        ("vector", ids(3), "have shape (batch, length) .. got (3,)"),
        ("three_axes", ids(2, 3, 1), "have shape (batch, length) .. got (2, 3, 1)"),
        ("empty_rows", ids(2, 0), "have shape (batch, length), length at least 1, got (2, 0)"),
        ("float", x(2, 3), "hold ids as int64 or int32, got torch.float32"),
        ("bool", mask(2, 3), "hold ids as int64 or int32, got torch.bool"),
    )
}


def model_call(**given: Tensor) -> Callable[[], Any]:
    """Decode for most arguments, encode for those of the source; the rest is in order."""

    def call() -> Any:
        model = small_model()
        if "src" in given or "src_mask" in given:
            return model.encode(given.get("src", ids(2, 7)), given.get("src_mask"))
        return model.decode(**{"tgt": ids(2, 5), "memory": x(2, 7, 12), **given})

    return call


MODEL: dict[str, Case] = {
    "src_above": (
        model_call(src=torch.tensor([[1, 23]])),
        "src must lie in 0..22 (vocabulary of 23), got ids from 1 to 23",
    ),
    "src_below": (
        model_call(src=torch.tensor([[-1, 3]])),
        "src must lie in 0..22 .. got ids from -1 to 3",
    ),
    "tgt_above": (
        model_call(tgt=torch.tensor([[1, 19], [1, 2]])),
        "tgt must lie in 0..18 (vocabulary of 19), got ids from 1 to 19",
    ),
    "src_shape": (model_call(src=ids(7)), "src must have shape (batch, length) .. got (7,)"),
    "tgt_shape": (model_call(tgt=ids(5)), "tgt must have shape (batch, length) .. got (5,)"),
    "src_empty": (model_call(src=ids(2, 0)), "src must have shape .. got (2, 0)"),
    "src_dtype": (model_call(src=x(2, 7)), "src must hold ids .. torch.float32"),
    "tgt_dtype": (model_call(tgt=x(2, 5)), "tgt must hold ids .. torch.float32"),
    "src_device": (
        model_call(src=ids(2, 7).to("meta")),
        "src must be on cpu like the weights, got meta",
    ),
    "tgt_device": (
        model_call(tgt=ids(2, 5).to("meta")),
        "tgt must be on cpu like the weights, got meta",
    ),
    "src_too_long": (model_call(src=ids(2, 17)), "positions 0..16, .. max_len = 16"),
    "tgt_too_long": (model_call(tgt=ids(2, 17)), "positions 0..16, .. max_len = 16"),
    "src_mask_shape": (
        model_call(src_mask=mask(2, 5)),
        "src_mask must broadcast .. (2, 3, 7, 7), got (2, 5)",
    ),
    "src_mask_dtype": (model_call(src_mask=x(7, 7)), "src_mask must be boolean .. torch.float32"),
    "tgt_mask_shape": (
        model_call(tgt_mask=mask(7, 7)),
        "tgt_mask must broadcast .. (2, 3, 5, 5), got (7, 7)",
    ),
    "tgt_mask_dtype": (model_call(tgt_mask=x(5, 5)), "tgt_mask must be boolean .. torch.float32"),
    "memory_mask_shape": (
        model_call(memory_mask=mask(5, 5)),
        "memory_mask must broadcast .. (2, 3, 5, 7), got (5, 5)",
    ),
    "memory_mask_device": (
        model_call(memory_mask=mask(5, 7).to("meta")),
        "memory_mask must be on cpu .. got meta",
    ),
    "memory_width": (
        model_call(memory=x(2, 7, 8)),
        "memory must be floating with shape (batch, length, 12) .. (2, 7, 8)",
    ),
    "memory_dtype": (model_call(memory=ids(2, 7, 12)), "memory must be floating .. torch.int64"),
    "memory_batch": (
        model_call(memory=x(3, 7, 12)),
        "memory must have the batch of tgt, got (3, 7, 12) for (2, 5)",
    ),
}

HIDDEN: dict[str, Case] = {
    f"{name}_{kind}": (
        lambda call=call, bad=bad: call(bad),
        f"{argument} must be floating with shape (batch, length, 12) .. {words}",
    )
    for name, argument, call in (
        ("sinusoidal", "x", SinusoidalPositions(12, 10)),
        ("learned", "x", LearnedPositions(12, 10)),
        ("memory", "memory", lambda bad: small_model().decode(ids(2, 5), bad)),
    )
    for kind, bad, words in (
        ("width", x(2, 5, 8), "torch.float32 of shape (2, 5, 8)"),
        ("one_wide", x(2, 5, 1), "torch.float32 of shape (2, 5, 1)"),
        ("rank", x(5, 12), "torch.float32 of shape (5, 12)"),
        ("dtype", ids(2, 5, 12), "torch.int64 of shape (2, 5, 12)"),
    )
} | {
    "key_and_value_lengths": (
        lambda: MultiHeadAttention(12, 3)(x(2, 5, 12), x(2, 7, 12), x(2, 6, 12)),
        "query, key and value .. (2, 5, 12), (2, 7, 12) and (2, 6, 12)",
    ),
    "query_batch": (
        lambda: MultiHeadAttention(12, 3)(x(1, 5, 12), x(2, 7, 12), x(2, 7, 12)),
        "query, key and value .. (1, 5, 12), (2, 7, 12) and (2, 7, 12)",
    ),
    "mask_of_one_layer": (
        lambda: EncoderLayer(12, 3, 16)(x(2, 5, 12), x(5, 5)),
        "mask must be boolean .. torch.float32",
    ),
    "causal_with_weights_not_square": (
        lambda: MultiHeadAttention(12, 3)(
            x(2, 5, 12), x(2, 7, 12), x(2, 7, 12), is_causal=True, need_weights=True
        ),
        "is_causal needs T == S .. T=5, S=7",
    ),
}


@refused(SIZES)
def test_sizes(call: Callable[[], Any], words: str) -> None:
    assert_refused(call, words)


@refused(RATES)
def test_rates(call: Callable[[], Any], words: str) -> None:
    assert_refused(call, words)


@refused(CONSTRUCTORS)
def test_constructors(call: Callable[[], Any], words: str) -> None:
    assert_refused(call, words)


@refused(CONFIGS)
def test_config(call: Callable[[], Any], words: str) -> None:
    assert_refused(call, words)


@refused(FUNCTIONS)
def test_functions(call: Callable[[], Any], words: str) -> None:
    assert_refused(call, words)


@refused(MASKS)
def test_masks(call: Callable[[], Any], words: str) -> None:
    assert_refused(call, words)


@refused(IDS)
def test_ids(call: Callable[[], Any], words: str) -> None:
    assert_refused(call, words)


@refused(MODEL)
def test_model(call: Callable[[], Any], words: str) -> None:
    assert_refused(call, words)


@refused(HIDDEN)
def test_hidden_states(call: Callable[[], Any], words: str) -> None:
    assert_refused(call, words)


def test_the_smallest_legal_sizes_are_taken() -> None:
    config = TransformerConfig(
        2, 2, d_model=2, num_heads=1, num_encoder_layers=1, num_decoder_layers=1, d_ff=1, max_len=1
    )
    assert small_model(**vars(config))(ids(1, 1), ids(1, 1)).shape == (1, 1, 2)


def test_ids_at_both_ends_of_the_vocabulary_are_taken() -> None:
    small_model()(torch.tensor([[0, 22]]), torch.tensor([[0, 18]]))


def test_a_batch_of_no_rows_gives_no_rows() -> None:
    model, gpt = small_model(), GPT(GPTConfig(19, 12, 3, 2, 20, 16))
    src = ids(0, 7)
    assert model(src, ids(0, 5)).shape == (0, 5, 19)
    assert gpt(ids(0, 5)).shape == (0, 5, 19)
    for max_len in (1, 8):
        assert len(greedy_decode(model, src, 1, 2, max_len)) == 0
        assert len(sample(model, src, 1, 2, max_len)) == 0
        found, scores = beam_search(model, src, 1, 2, 3, max_len, num_return=2)
        assert found.shape[:2] == scores.shape == (0, 2)
    assert len(generate(gpt, src, 3)) == 0


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_batch_left_on_the_cpu_is_named() -> None:
    assert_refused(
        lambda: small_model("cuda")(ids(2, 7), ids(2, 5)),
        "src must be on cuda:0 like the weights, got cpu",
    )


@pytest.mark.parametrize("config", [TransformerConfig, GPTConfig])
def test_sizes_are_checked_where_annotations_are_postponed(config: type) -> None:
    """As they are once a file begins with ``from __future__ import annotations``."""
    source = Path(inspect.getfile(config)).read_text(encoding="utf-8")
    flags = annotations.compiler_flag
    module = types.ModuleType(f"{config.__module__}_postponed")
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, config.__module__, "exec", flags), vars(module))
        postponed = getattr(module, config.__name__)
    finally:
        del sys.modules[module.__name__]
    sizes = [field.name for field in dataclasses.fields(config) if field.type is int]
    assert len(sizes) > 5
    good = {name: 4 for name in sizes if name.endswith("vocab_size")} | {"num_heads": 1}
    for name in sizes:
        if name != "pad_id":  # which may be 0
            with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, got 0"):
                postponed(**(good | {name: 0}))
