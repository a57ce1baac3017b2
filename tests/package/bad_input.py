"""For every public function and class: arguments in order, and what each must refuse.

Names are those of the package without ``transformer_ref.``; ``test_bad_input.py`` tries each bad
value in place of the good one, alone, and fails where the package has an argument that is missing
here.  What needs no case is listed at the end, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from tests.package.examples import small_model
from transformer_ref import (
    attention,
    batching,
    data,
    decoding,
    embeddings,
    gpt,
    layers,
    masks,
    metrics,
    model,
    modern,
    plotting,
    positions,
    tokenizers,
    training,
    tuning,
    vocabulary,
    word2vec,
)
from transformer_ref.applications import g2p, settings, toys, translation
from transformer_ref.cache import KVCache

NAN = float("nan")
SIZES = (0, -1, 2.5, "8", True, None)  # no size
SIZES_OR_NONE = SIZES[:-1]
PENALTIES = (-0.1, NAN, float("inf"), "1", None)  # no penalty for a length
RATES = (-0.1, 1.0, NAN, "0.1", None)  # no dropout rate


class Bad(NamedTuple):
    """A bad value, where what the message must say does not follow from it.

    Attributes:
        value: what is passed.
        words: stand in the message.
        name: what the message calls the argument; None = by its name.
    """

    value: Any
    words: str
    name: str | None = None


class Entry(NamedTuple):
    """A public function or class.

    Attributes:
        call: it, or a function that makes what it is a method of and calls that.
        good: arguments that are in order.
        bad: for each argument values that are not.
        runs: whether to try the good arguments: they may need a file, or long.
    """

    call: Callable[..., Any]
    good: Mapping[str, Any]
    bad: Mapping[str, tuple[Any, ...]]
    runs: bool = True


def x(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.zeros(*shape, dtype=dtype)


def ids(*shape: int) -> Tensor:
    return torch.ones(*shape, dtype=torch.int64)


def mask(*shape: int) -> Tensor:
    return torch.ones(*shape, dtype=torch.bool)


def no_hidden(length: int) -> tuple[Any, ...]:
    """What is no (2, length, 12) hidden state for float32 weights on the CPU."""
    return (
        x(2, length, 8),
        x(2, length, 1),
        x(length, 12),
        x(2, 0, 12),
        ids(2, length, 12),
        x(2, length, 12, dtype=torch.float64),
        x(2, length, 12).to("meta"),
    )


def no_ids(vocab_size: int | None = None) -> tuple[Any, ...]:
    """What is no batch of ids; with a vocabulary, what is not in it or where the weights are."""
    wrong = (ids(3), ids(2, 3, 1), ids(2, 0), x(2, 3), mask(2, 3))
    if vocab_size is None:
        return wrong
    outside = (torch.tensor([[1, vocab_size]]), torch.tensor([[-1, 1]]))
    return (*wrong, *outside, ids(2, 3).to("meta"))


def no_mask(rows: int, columns: int) -> tuple[Any, ...]:
    """What is no mask for scores (..., rows, columns)."""
    return (
        x(rows, columns),
        mask(rows + 1, columns),
        mask(rows, columns - 1),
        mask(3, 1, rows, columns),
        mask(1, 2, 3, rows, columns),
        mask(rows, columns).to("meta"),
    )


QUERY = (x(5), ids(2, 3, 5, 4), x(2, 3, 5, 6), x(2, 4, 5, 4), x(2, 3, 5, 4).to("meta"))
KEY = (x(7), ids(2, 3, 7, 4), x(2, 3, 7, 6), x(2, 4, 7, 4), x(2, 3, 7, 4).double())
VALUE = (x(7), ids(2, 3, 7, 4), x(2, 3, 6, 4), x(2, 4, 7, 4), x(2, 3, 7, 4).to("meta"))
Q_K_V = {"query": x(2, 3, 5, 4), "key": x(2, 3, 7, 4), "value": x(2, 3, 7, 4)}
NO_Q_K_V = {"query": QUERY, "key": KEY, "value": VALUE}

ATTENTION = {
    "attention.attention_scores": Entry(
        attention.attention_scores,
        {"query": x(2, 3, 5, 4), "key": x(2, 3, 7, 4)},
        {"query": QUERY, "key": KEY},
    ),
    "attention.scaled_dot_product_attention": Entry(
        attention.scaled_dot_product_attention,
        Q_K_V,
        {**NO_Q_K_V, "mask": no_mask(5, 7), "dropout_p": RATES},
    ),
    "attention.fused_attention": Entry(
        attention.fused_attention,
        Q_K_V,
        {
            **NO_Q_K_V,
            "mask": no_mask(5, 7),
            "dropout_p": RATES,
            "is_causal": (Bad(True, "T=5, S=7"),),
        },
    ),
    "attention.MultiHeadAttention.__init__": Entry(
        attention.MultiHeadAttention,
        {"d_model": 12, "num_heads": 3},
        {"d_model": (*SIZES, 10), "num_heads": (*SIZES, 5), "dropout": RATES},
    ),
    "attention.MultiHeadAttention.forward": Entry(
        attention.MultiHeadAttention(12, 3),
        {"query": x(2, 5, 12), "key": x(2, 7, 12), "value": x(2, 7, 12)},
        {
            "query": (x(1, 5, 12),),
            "key": (x(2, 6, 12),),
            "value": (x(2, 6, 12),),
            "mask": no_mask(5, 7),
            "is_causal": (Bad(True, "T=5, S=7"),),
        },
    ),
}

MASKS = {
    **{
        f"masks.{make.__name__}": Entry(
            make,
            {"ids": ids(2, 3), "pad_id": 0},
            {"ids": no_ids(), "pad_id": (None, 0.5, "0")},
        )
        for make in (masks.padding_mask, masks.padding_mask_or_none, masks.target_mask)
    },
    "masks.causal_mask": Entry(masks.causal_mask, {"length": 3}, {"length": SIZES}),
    "masks.masked_softmax": Entry(
        masks.masked_softmax,
        {"scores": x(2, 3, 5, 7), "mask": None},
        {"scores": (ids(2, 3, 5, 7),), "mask": no_mask(5, 7)},
    ),
}

FAR = Bad(x(2, 6, 12), "positions 4..9, but max_len = 9", "input")
NO_OFFSET = (
    Bad(5, "positions 5..9, but max_len = 9", "positions"),
    Bad(-1, "positions -1..3", "positions"),
)
POSITIONS = {
    "positions.frequencies": Entry(
        positions.frequencies, {"d_model": 12}, {"d_model": (*SIZES, 7)}
    ),
    "positions.sinusoidal_encoding": Entry(
        positions.sinusoidal_encoding,
        {"num_positions": 9, "d_model": 12},
        {"num_positions": SIZES, "d_model": (*SIZES, 7)},
    ),
    "positions.shift_matrix": Entry(
        positions.shift_matrix,
        {"offset": -2, "d_model": 12},
        {"offset": (0.5, "1", None), "d_model": (*SIZES, 7)},
    ),
    "positions.make_positions": Entry(
        positions.make_positions,
        {"kind": "learned", "d_model": 12, "max_len": 9, "dropout": 0.1},
        {
            "kind": (Bad("rotary", "got 'rotary'", "positions"),),
            "d_model": SIZES,
            "max_len": SIZES,
            "dropout": RATES,
        },
    ),
    **{
        f"positions.{kind.__name__}.__init__": Entry(
            kind,
            {"d_model": 12, "max_len": 9},
            {"d_model": SIZES, "max_len": SIZES, "dropout": RATES},
        )
        for kind in (positions.SinusoidalPositions, positions.LearnedPositions)
    },
    "positions.SinusoidalPositions.forward": Entry(
        positions.SinusoidalPositions(12, 9),
        {"x": x(2, 5, 12), "offset": 4},
        {
            "x": (*(bad for bad in no_hidden(5) if bad.dtype != torch.float64), FAR),
            "offset": NO_OFFSET,
        },
    ),
    "positions.LearnedPositions.forward": Entry(
        positions.LearnedPositions(12, 9),
        {"x": x(2, 5, 12), "offset": 4},
        {"x": (*no_hidden(5), FAR), "offset": NO_OFFSET},
    ),
}

EMBEDDINGS = {
    "embeddings.TokenEmbedding.__init__": Entry(
        embeddings.TokenEmbedding,
        {"vocab_size": 11, "d_model": 12},
        {"vocab_size": SIZES, "d_model": SIZES, "pad_id": (-1, 11, 0.5, "0")},
    ),
    "embeddings.TokenEmbedding.forward": Entry(
        embeddings.TokenEmbedding(11, 12), {"ids": ids(2, 3)}, {"ids": no_ids(11)}
    ),
    "embeddings.tied_logits": Entry(
        embeddings.tied_logits,
        {"hidden": x(2, 3, 12), "weight": x(11, 12)},
        {
            "hidden": (x(2, 3, 8), ids(2, 3, 12), x(2, 3, 12).double(), x(2, 3, 12).to("meta")),
            "weight": (
                x(11, 8),
                x(12),
                Bad(x(11, 12).double(), "must be torch.float64", "weights"),
            ),
        },
    ),
    "embeddings.embedding_from_pretrained": Entry(
        embeddings.embedding_from_pretrained,
        {"vectors": x(11, 12), "trainable": True},
        {"vectors": (x(12), ids(11, 12)), "pad_id": (-1, 11)},
    ),
}

SIZES_OF_LAYER = {"d_model": (*SIZES, 10), "num_heads": (*SIZES, 5)}
LAYERS = {
    "layers.EncoderLayer.__init__": Entry(
        layers.EncoderLayer,
        {"d_model": 12, "num_heads": 3, "d_ff": 20},
        {
            **SIZES_OF_LAYER,
            "dropout": RATES,
            "norm": ("middle", None),
            "activation": ("swish", None),
        },
    ),
    "layers.DecoderLayer.__init__": Entry(
        layers.DecoderLayer,
        {"d_model": 12, "num_heads": 3, "d_ff": 20},
        {**SIZES_OF_LAYER, "dropout": RATES, "norm": ("middle", None)},
    ),
}

MODEL_SIZES = (
    "src_vocab_size",
    "tgt_vocab_size",
    "d_model",
    "num_heads",
    "num_encoder_layers",
    "num_decoder_layers",
    "d_ff",
    "max_len",
)
MODEL = {
    "model.TransformerConfig.__init__": Entry(
        model.TransformerConfig,
        {"src_vocab_size": 23, "tgt_vocab_size": 19},
        {
            **dict.fromkeys(MODEL_SIZES, SIZES),
            "num_heads": (*SIZES, 5),
            "dropout": RATES,
            "norm": ("middle", None),
            "positions": ("rotary", None),
            "tie_weights": ("both", None, True, Bad("all", "src_vocab_size=23")),
            "pad_id": (-1, 19, 0.5, None),
        },
    ),
    "model.Transformer.encode": Entry(
        small_model().encode,
        {"src": ids(2, 7)},
        {
            "src": (*no_ids(23), Bad(ids(2, 17), "positions 0..16, but max_len = 16", "input")),
            "src_mask": no_mask(7, 7),
        },
    ),
    "model.Transformer.decode": Entry(
        small_model().decode,
        {"tgt": ids(2, 5), "memory": x(2, 7, 12)},
        {
            "tgt": (*no_ids(19), Bad(ids(2, 17), "positions 0..16, but max_len = 16", "input")),
            "memory": (*no_hidden(7), x(3, 7, 12)),
            "tgt_mask": no_mask(5, 5),
            "memory_mask": no_mask(5, 7),
            "cache": (Bad(KVCache(1), "num_layers = 3 like the model, got 1"),),
        },
    ),
    "model.Transformer.forward": Entry(
        small_model(),
        {"src": ids(2, 7), "tgt_in": ids(2, 5)},
        {
            "src": (*no_ids(23), ids(3, 7), Bad(ids(2, 17), "positions 0..16", "input")),
            "tgt_in": (*no_ids(19), ids(1, 5)),
        },
    ),
    "cache.KVCache.__init__": Entry(KVCache, {"num_layers": 2}, {"num_layers": SIZES}),
}


def filled_cache() -> KVCache:
    cache = KVCache(3)
    cache.keep(ids(2, 1))
    return cache


SEARCH = {"model": small_model(), "src": ids(2, 7), "bos_id": 1, "eos_id": 2, "max_len": 6}
NO_SEARCH = {
    "src": no_ids(23),
    "bos_id": (-1, 19, 0.5, None),
    "eos_id": (-1, 19, 0.5, None),
    "max_len": (0, -1, 17, 2.5, "8", None),
}
CUT = {"top_k": SIZES_OR_NONE, "top_p": (0.0, -0.1, 1.5, NAN, "0.5")}
DECODING = {
    "cache.KVCache.begin": Entry(
        lambda **given: filled_cache().begin(**given),
        {"ids": ids(2, 1), "num_layers": 3},
        {"ids": (ids(3, 1),), "num_layers": (Bad(2, "= 2 .. got 3"),)},
    ),
    "decoding.greedy_decode": Entry(decoding.greedy_decode, SEARCH, NO_SEARCH),
    "decoding.sample": Entry(
        decoding.sample,
        SEARCH,
        {**NO_SEARCH, **CUT, "temperature": (0.0, -1.0, NAN, "1", None)},
    ),
    "decoding.filter_logits": Entry(
        decoding.filter_logits,
        {"logits": x(2, 19)},
        {**CUT, "logits": (ids(2, 19), torch.tensor(0.0))},
    ),
    "decoding.beam_search": Entry(
        decoding.beam_search,
        {**SEARCH, "beam_size": 3},
        {
            **NO_SEARCH,
            "beam_size": SIZES,
            "num_return": (*SIZES, 4),
            "length_penalty": PENALTIES,
        },
    ),
}

GPT_SIZES = ("vocab_size", "d_model", "num_heads", "num_layers", "d_ff", "max_len")
SMALL_GPT = gpt.GPT(gpt.GPTConfig(19, 12, 3, 2, 20, 16)).eval()
GPT = {
    "gpt.GPTConfig.__init__": Entry(
        gpt.GPTConfig,
        {"vocab_size": 19},
        {
            **dict.fromkeys(GPT_SIZES, SIZES),
            "num_heads": (*SIZES, 5),
            "dropout": RATES,
            "norm": ("middle", None),
            "positions": ("rotary", None),
            "activation": ("swish", None),
        },
    ),
    "gpt.GPT.forward": Entry(
        SMALL_GPT,
        {"ids": ids(2, 5)},
        {
            "ids": (*no_ids(19), Bad(ids(2, 17), "positions 0..16, but max_len = 16", "input")),
            "cache": (Bad(KVCache(1), "num_layers = 2 like the model, got 1"),),
        },
    ),
    "gpt.GPT.from_gpt2": Entry(
        gpt.GPT.from_gpt2, {}, {"model": (Bad(SMALL_GPT, "got GPT"),)}, runs=False
    ),
    "gpt.generate": Entry(
        gpt.generate,
        {"model": SMALL_GPT, "ids": ids(2, 5), "max_new_tokens": 3, "temperature": 1.0},
        {
            "ids": no_ids(19),
            "max_new_tokens": (*SIZES, Bad(12, "max_len = 16, got 5 + 12")),
            "temperature": (-1.0, NAN, "1"),
            **CUT,
            "eos_id": (-1, 19, 0.5),
        },
    ),
}

MODERN = {
    "modern.rotate": Entry(
        modern.rotate,
        {"x": x(3, 4), "positions": torch.arange(3)},
        {"x": (Bad(x(3, 5), "must be even", "d_model"),), "pairing": ("half", None)},
    ),
    "modern.ModernConfig.__init__": Entry(
        modern.ModernConfig,
        {"vocab_size": 19},
        {
            **GPT["gpt.GPTConfig.__init__"].bad,
            "d_model": (*SIZES, Bad(12, "got d_model / num_heads = 1", "rotary")),
            "norm": ("post", None),
            "num_sets": (*SIZES_OR_NONE, 5),
        },
    ),
}

EXAMPLES = [([3, 4], [1, 5, 2]), ([5], [1, 2])]
LABELS = torch.tensor([[3, 4, 2], [5, 2, 0]])
COUNTS = ("epochs", "batch_size", "warmup", "save_every", "accumulate")
TRAINING = {
    "batching.pad_batch": Entry(
        batching.pad_batch,
        {"rows": [[1, 2], [3]], "pad_id": 0},
        {"rows": (Bad([], "got none"),), "pad_id": (None, 0.5, "0")},
    ),
    "batching.bucketed_batches": Entry(
        batching.bucketed_batches,
        {"examples": EXAMPLES, "batch_size": 2, "seed": 0},
        {"examples": (Bad([], "got none"),), "batch_size": SIZES, "pool": SIZES},
    ),
    "batching.token_batches": Entry(
        batching.token_batches,
        {"examples": EXAMPLES, "batch_tokens": 9, "seed": 0},
        {
            "examples": (Bad([], "got none"),),
            "batch_tokens": (*SIZES, Bad(4, "got 4, but examples[0] has 5")),
            "pool": SIZES,
        },
    ),
    "training.split_target": Entry(
        training.split_target, {"ids": ids(2, 3)}, {"ids": (*no_ids(), ids(2, 1))}
    ),
    "training.sequence_loss": Entry(
        training.sequence_loss,
        {"logits": x(2, 3, 7), "labels": LABELS, "pad_id": 0},
        {
            "logits": (x(2, 3), x(2, 4, 7), ids(2, 3, 7)),
            "labels": (
                ids(2, 4),
                ids(3),
                LABELS.float(),
                LABELS + 3,
                LABELS - 1,
                LABELS.to("meta"),
                Bad(LABELS * 0, "got none"),
            ),
            "pad_id": (None, 0.5, "0"),
            "label_smoothing": RATES,
        },
    ),
    "training.noam_learning_rate": Entry(
        training.noam_learning_rate,
        {"step": 3, "d_model": 12, "warmup": 5},
        {"step": SIZES, "d_model": SIZES, "warmup": SIZES},
    ),
    "training.trapezoid_learning_rate": Entry(
        training.trapezoid_learning_rate,
        {"step": 3, "peak": 0.1, "warmup": 5, "total": 9, "decay_fraction": 0.3},
        {
            "step": (*SIZES, Bad(10, "step=10, total=9")),
            "peak": (0.0, -1.0, NAN, "1", None),
            "warmup": SIZES,
            "total": SIZES,
            "decay_fraction": RATES,
        },
    ),
    "training.TrainingConfig.__init__": Entry(
        training.TrainingConfig,
        {},
        {
            **dict.fromkeys(COUNTS, SIZES),
            "batch_tokens": SIZES_OR_NONE,
            "learning_rate": (0.0, -1.0, NAN, "1", None),
            "clip_norm": (0.0, -1.0, NAN, "1", None),
            "decay_fraction": RATES,
            "label_smoothing": RATES,
            "weight_decay": (-0.1, NAN),
            "betas": (Bad((0.9,), "got (0.9,)"), Bad((0.9, 1.0), "got 1.0")),
            "precision": ("float8", None),
            "schedule": ("cosine", None),
            "optimizer": ("sgd", None),
            "muon_learning_rate": (0.0, -1.0, NAN, "1", None),
            "ema": RATES,
        },
    ),
    "training.TrainingConfig.learning_rate_at": Entry(
        training.TrainingConfig().learning_rate_at,
        {"step": 3, "total": 9},
        {"step": (*SIZES, Bad(10, "step=10, total=9")), "total": SIZES},
    ),
    "training.Trainer.__init__": Entry(
        training.Trainer,
        {
            "model": small_model(),
            "examples": EXAMPLES,
            "config": training.TrainingConfig(epochs=1),
            "device": torch.device("cpu"),
        },
        {
            "examples": (
                Bad([], "got none"),
                Bad([([], [1, 2])], "examples[0] must .. got 0 and 2"),
                Bad([([3], [1])], "examples[0] must .. got 1 and 1"),
                Bad([([3], [1, 0])], "pad_id=0, got none"),
            ),
            "pad_id": (None, 0.5, "0"),
        },
    ),
    "training.Trainer.train": Entry(
        lambda **given: training.Trainer(
            small_model(), EXAMPLES, training.TrainingConfig(epochs=1), device=torch.device("cpu")
        ).train(**given, progress=False),
        {"max_steps": 1},
        {"max_steps": SIZES_OR_NONE},
    ),
}

NOWHERE = "/nowhere/at/all"
NO_FOLDER = {"folder": (Bad(NOWHERE, NOWHERE, ""),)}
NO_TEXTS = (
    Bad("one text", "got one: 'one text'"),
    Bad([], "got none"),
    Bad([""], "got none"),
    Bad(["a", None], "must be a string, got None", ""),
    Bad(["a", "\udfff"], "lone surrogate at position 0", ""),
)
NO_SPECIALS = (
    Bad("<mask>", "got one: '<mask>'"),
    Bad(["<pad>"], "got twice: ['<pad>']", "tokens"),
    Bad(["<s>", ""], "got ''", "tokens"),
)
TWO_ROWS = Bad(torch.tensor([[4, 5]]), "got tensor([4, 5]) in it")
WORDS = tokenizers.WordTokenizer(["a", "b"])
TOKENIZERS: dict[str, Entry] = {
    "vocabulary.Vocabulary.__init__": Entry(
        vocabulary.Vocabulary,
        {"tokens": ["a", "b"]},
        {
            "tokens": (Bad(["a", "a"], "got twice: ['a']"), Bad([""], "got ''"), Bad([3], "got 3")),
            "specials": NO_SPECIALS,
        },
    ),
    "vocabulary.Vocabulary.encode": Entry(
        vocabulary.Vocabulary("ab").encode,
        {"tokens": ["a"]},
        {"tokens": (Bad(["z"], "token 'z' is not in", "token"), Bad([None], "None", "token"))},
    ),
    "vocabulary.Vocabulary.decode": Entry(
        vocabulary.Vocabulary("ab").decode,
        {"ids": [3, 4]},
        {"ids": (Bad([5], "got 5"), Bad([-1], "got -1"), Bad([0.5], "got 0.5"), TWO_ROWS)},
    ),
    "tokenizers.WordTokenizer.__init__": Entry(
        tokenizers.WordTokenizer,
        {"tokens": ["a"]},
        {
            "tokens": (Bad(["a", "a"], "got twice: ['a']"), Bad([""], "got ''")),
            "specials": NO_SPECIALS,
            "lowercase": (1, None),
            "pretokenized": ("yes", None),
        },
    ),
    "tokenizers.BPETokenizer.__init__": Entry(
        tokenizers.BPETokenizer,
        {"merges": [("a", "b")]},
        {
            "merges": (
                Bad([("a",)], "got ('a',)"),
                Bad([("ab", "c")], "got ('ab', 'c')"),
                Bad([("é", "\u4e00")], "got"),
            ),
            "specials": NO_SPECIALS,
        },
    ),
    **{
        f"tokenizers.{kind.__name__}.train": Entry(
            kind.train,
            {"texts": ["a b"]},
            {
                "texts": NO_TEXTS,
                "min_freq": SIZES,
                "vocab_size": (3, -1, 2.5, "8", True),
                "specials": NO_SPECIALS,
            },
        )
        for kind in (tokenizers.WordTokenizer, tokenizers.CharTokenizer)
    },
    "tokenizers.BPETokenizer.train": Entry(
        tokenizers.BPETokenizer.train,
        {"texts": ["a b"]},
        {
            "texts": NO_TEXTS,
            "num_merges": (-1, 2.5, "8", True),
            "vocab_size": (259, -1, 2.5, "8", True),
            "specials": NO_SPECIALS,
            "ties": ("ids", None),
        },
    ),
    "tokenizers.Tokenizer.tokenize": Entry(
        WORDS.tokenize, {"text": "a b"}, {"text": (3, None, Bad("a\ud800", "at position 1"))}
    ),
    "tokenizers.Tokenizer.encode": Entry(
        WORDS.encode, {"text": "a b"}, {"text": (3, None, Bad("a\ud800", "at position 1"))}
    ),
    "tokenizers.Tokenizer.convert_tokens_to_ids": Entry(
        WORDS.convert_tokens_to_ids, {"tokens": ["a"]}, {"tokens": ("a", [3])}
    ),
    "tokenizers.Tokenizer.decode": Entry(
        WORDS.decode,
        {"ids": [4, 5]},
        {"ids": (Bad([6], "got 6"), Bad([-1], "got -1"), Bad([0.5], "got 0.5"), TWO_ROWS)},
    ),
    "tokenizers.Tokenizer.from_pretrained": Entry(
        tokenizers.WordTokenizer.from_pretrained, {}, NO_FOLDER, runs=False
    ),
    "tokenizers.load_tokenizer": Entry(tokenizers.load_tokenizer, {}, NO_FOLDER, runs=False),
    "tokenizers.learn_merges": Entry(
        tokenizers.learn_merges,
        {"word_counts": {"ab": 2}, "num_merges": 1},
        {
            "word_counts": (Bad({"ab": 0}, "['ab'] must .. got 0"), Bad({"ab": 0.5}, "got 0.5")),
            "num_merges": (-1, 2.5, "8", True, None),
            "ties": ("ids", None),
            "excluded": ("user",),
        },
    ),
}

PRONUNCIATIONS = {"hypotheses": [["A", "B"]], "references": [[["A"], ["A", "B"]]]}
NO_PRONUNCIATIONS = {
    "hypotheses": (Bad([], "got 0 and 1"), Bad(["AB"], "hypotheses[0] must .. got 'AB'")),
    "references": (
        Bad([], "got 1 and 0"),
        Bad([[]], "references[0] must .. got []"),
        Bad([["A", "B"]], "references[0] must .. got ['A', 'B']"),
        Bad(["AB"], "references[0] must .. got 'AB'"),
    ),
}
SENTENCES = {"hypotheses": ["a cat"], "references": ["a hat"]}
NO_SENTENCES = {
    "hypotheses": (Bad([], "got 0 and 1"), Bad("a", "got one string"), Bad([["a"]], "got ['a']")),
    "references": (Bad([], "got 1 and 0"), Bad("a", "got one string"), Bad([None], "got None")),
}
DATA = {
    "metrics.phoneme_error_rate": Entry(
        metrics.phoneme_error_rate, PRONUNCIATIONS, NO_PRONUNCIATIONS
    ),
    "metrics.word_error_rate": Entry(metrics.word_error_rate, PRONUNCIATIONS, NO_PRONUNCIATIONS),
    "metrics.corpus_bleu": Entry(
        metrics.corpus_bleu, SENTENCES, {**NO_SENTENCES, "tokenize": ("spaces", None)}
    ),
    "metrics.corpus_chrf": Entry(metrics.corpus_chrf, SENTENCES, NO_SENTENCES),
    "metrics.exact_match": Entry(metrics.exact_match, SENTENCES, NO_SENTENCES),
    "data.load_cmudict": Entry(
        data.load_cmudict, {"split": "dev"}, {"split": ("val", None)}, runs=False
    ),
    "data.load_multi30k": Entry(
        data.load_multi30k,
        {"folder": NOWHERE, "split": "val"},
        {**NO_FOLDER, "split": ("dev", None)},
        runs=False,
    ),
    "applications.toys.reversal_pairs": Entry(
        toys.reversal_pairs,
        {"split": "dev", "count": 2},
        {"split": ("val", None), "count": SIZES, "max_length": SIZES},
    ),
    "applications.toys.date_pairs": Entry(
        toys.date_pairs,
        {"split": "dev", "count": 2},
        {"split": ("val", None), "count": SIZES},
    ),
    "applications.settings.DataSettings.__init__": Entry(
        settings.DataSettings, {}, {"examples": SIZES, "limit": SIZES_OR_NONE}
    ),
    "applications.settings.TokenizerSettings.__init__": Entry(
        settings.TokenizerSettings, {}, {"num_merges": SIZES, "min_freq": SIZES}
    ),
    "applications.settings.DecodingSettings.__init__": Entry(
        settings.DecodingSettings, {}, {"beam_size": SIZES, "batch_size": SIZES}
    ),
    "applications.settings.read_settings": Entry(
        settings.read_settings, {"config": "dates"}, {"config": (Bad("mine", "no config 'mine'"),)}
    ),
}


VECTORS = x(5, 4) + torch.arange(5.0)[:, None]
WORD = ids(3)
CONTEXTS = {"contexts": ids(3, 2), "center": WORD, "negatives": ids(3, 4)}
NO_ROW = (ids(2), ids(3, 1), x(3), WORD * 5, WORD.to("meta"))
NO_ROWS = (ids(2, 4), ids(3), ids(3, 0), x(3, 4), ids(3, 4) * 5, ids(3, 4).to("meta"))
NO_COUNTS = (
    Bad(ids(2, 1), "got [[1], [1]]"),
    Bad(ids(2) - 2, "got [-1, -1]"),
    Bad(ids(2) - 1, "got [0, 0]"),
    Bad(ids(0), "got []"),
    Bad(-ids(9999), "-1, ...]"),
)
OTHER_BATCH = Bad(ids(2, 4), "that of negatives, 2, got (3")
WORD2VEC = {
    **{
        f"word2vec.{kind.__name__}.__init__": Entry(
            kind, {"vocab_size": 5, "d_model": 4}, {"vocab_size": SIZES, "d_model": SIZES}
        )
        for kind in (word2vec.SkipGram, word2vec.CBOW)
    },
    "word2vec.negative_sampling_loss": Entry(
        word2vec.negative_sampling_loss,
        {"center": x(3, 4), "positive": x(3, 4), "negatives": x(3, 2, 4)},
        {
            "center": (x(3, 5), x(2, 4), x(4), x(3, 4).double(), x(3, 4).to("meta")),
            "positive": (x(3, 5), x(2, 4), x(4)),
            "negatives": (x(3, 2, 5), x(2, 2, 4), x(3, 4), x(3, 0, 4)),
        },
    ),
    "word2vec.SkipGram.forward": Entry(
        word2vec.SkipGram(5, 4),
        {"center": WORD, "context": WORD, "negatives": ids(3, 4)},
        {"center": NO_ROW, "context": NO_ROW, "negatives": (OTHER_BATCH, *NO_ROWS[1:])},
    ),
    "word2vec.CBOW.forward": Entry(
        word2vec.CBOW(5, 4),
        CONTEXTS,
        {
            "contexts": NO_ROWS,
            "center": NO_ROW,
            "negatives": (OTHER_BATCH, *NO_ROWS[1:]),
            "mask": (
                mask(3, 4),
                mask(3),
                x(3, 2),
                mask(3, 2).to("meta"),
                Bad(~mask(3, 2), "a neighbour .. got 3 empty"),
            ),
        },
    ),
    "word2vec.keep_probability": Entry(
        word2vec.keep_probability,
        {"counts": ids(2), "sample": 0.1},
        {"counts": NO_COUNTS, "sample": (-1.0, NAN, "1", None)},
    ),
    "word2vec.noise_distribution": Entry(
        word2vec.noise_distribution, {"counts": ids(2)}, {"counts": NO_COUNTS}
    ),
    "word2vec.context_windows": Entry(
        word2vec.context_windows,
        {"ids": ids(2), "sentence": ids(2), "reach": ids(2)},
        {
            "ids": (ids(2, 1), x(2)),
            "sentence": (ids(3), x(2), ids(2).to("meta")),
            "reach": (ids(3), x(2), ids(2).to("meta")),
        },
    ),
    "word2vec.train_word2vec": Entry(
        word2vec.train_word2vec,
        {"model": word2vec.SkipGram(5, 4), "sentences": [[1, 2, 3]], "sample": 0.0, "epochs": 1},
        {
            "sentences": (
                Bad([], "got none"),
                Bad([[1]], "got none"),
                Bad([["a", "b"]], "got 'a'"),
                Bad([[0.5, 1]], "got 0.5"),
                Bad([[1, 5]], "from 1 to 5"),
                Bad([[-1, 2]], "from -1 to 2"),
                Bad([1, 2], "something else"),
            ),
            **dict.fromkeys(("window", "negatives", "epochs", "noise_size"), SIZES),
            "batch_size": SIZES_OR_NONE,
            "sample": (-1.0, NAN, "1", None, Bad(1e-12, "left no two words together")),
            "learning_rate": (-1.0, NAN, float("inf"), "1"),
            "min_learning_rate": (-1.0, NAN, "1", None, Bad(9.0, "9.0, got 0.025")),
        },
    ),
    "word2vec.nearest_neighbours": Entry(
        word2vec.nearest_neighbours,
        {"weight": VECTORS, "token_id": 1, "k": 2},
        {"weight": (x(5), ids(5, 4)), "token_id": (-1, 5), "k": (0, -1, 5)},
    ),
    "word2vec.analogy": Entry(
        word2vec.analogy,
        {"weight": VECTORS, "a": 1, "b": 2, "c": 3},
        {"weight": (x(5), ids(5, 4)), "a": (-1, 5), "b": (-1, 5), "c": (-1, 5), "k": (0, -1, 3)},
    ),
    "word2vec.save_vectors": Entry(
        word2vec.save_vectors,
        {"path": NOWHERE, "tokens": ["a", "b"], "weight": x(2, 4)},
        {
            "path": (Bad(NOWHERE, NOWHERE, ""),),
            "tokens": (
                Bad(["a b", "c"], "got 'a b'"),
                Bad(["a\n", "c"], "got 'a\\n'"),
                Bad(["", "c"], "got ''"),
                Bad(["a", "a"], "got 1 in 2"),
                Bad(["a"], "(1, D) .. (2, 4)", "token"),
            ),
            "weight": (x(3, 4), x(2), ids(2, 4), Bad(x(2, 4) * NAN, "NaN")),
        },
        runs=False,
    ),
    "word2vec.load_vectors": Entry(
        word2vec.load_vectors, {}, {"path": (Bad(NOWHERE, NOWHERE, ""),)}, runs=False
    ),
}

PAIRS = [("ab", "ba")]
TRANSLATOR = translation.Translator(
    small_model(src_vocab_size=6, tgt_vocab_size=6),
    *translation.train_tokenizers(PAIRS, "char"),
    torch.device("cpu"),
)
HOW = {"beam_size": SIZES, "batch_size": SIZES, "length_penalty": PENALTIES}
TRANSLATION = {
    "applications.translation.decode_all": Entry(
        translation.decode_all,
        {
            "model": small_model(),
            "sources": [[3, 4], [5]],
            "bos_id": 1,
            "eos_id": 2,
            "beam_size": 2,
        },
        {
            "sources": (
                Bad([[]], "got 0"),
                Bad([[3] * 17], "got 17"),
                Bad([[23]], "from 23 to 23", "src"),
            ),
            "bos_id": (-1, 19, 0.5, None),
            "eos_id": (-1, 19, 0.5, None),
            "max_len": (-1, 17, 2.5, "8"),
            **HOW,
        },
    ),
    "applications.translation.Translator.__init__": Entry(
        translation.Translator,
        {"model": small_model(), "source": WORDS, "target": WORDS, "device": torch.device("cpu")},
        {"source": (Bad(WORDS, "must have 23 tokens .. got 6 tokens"),)},
        runs=False,
    ),
    "applications.translation.Translator.translate": Entry(
        TRANSLATOR.translate,
        {"texts": ["ab", ""], "beam_size": 2},
        {
            "texts": ("ab", Bad(["a" * 17], "texts[0] must .. got 18"), Bad([3], "got 3")),
            **HOW,
        },
    ),
    "applications.translation.Translator.examples": Entry(
        TRANSLATOR.examples,
        {"pairs": PAIRS},
        {
            "pairs": (
                Bad([("a" * 17, "b")], "pairs[0][0] must .. got 18"),
                Bad([("a", "b" * 17)], "pairs[0][1] must .. got 18"),
            )
        },
    ),
    "applications.translation.Translator.evaluate": Entry(
        TRANSLATOR.evaluate,
        {"pairs": PAIRS, "beam_size": 2},
        {"pairs": (Bad([], "got", "references"),), **HOW},
    ),
    "applications.translation.Translator.from_pretrained": Entry(
        translation.Translator.from_pretrained, {}, NO_FOLDER, runs=False
    ),
    "applications.translation.train_tokenizers": Entry(
        translation.train_tokenizers,
        {"pairs": PAIRS},
        {"pairs": (Bad([], "got none", "texts"),), "kind": ("byte", None), "num_merges": (-1, 2.5)},
    ),
    "pretrained.PretrainedModel.from_pretrained": Entry(
        model.Transformer.from_pretrained,
        {"folder": NOWHERE},
        {**NO_FOLDER, "dtype": (Bad(torch.int64, "got torch.int64"),)},
        runs=False,
    ),
}

SPELLER = g2p.load_g2p(torch.device("cpu"))
PROMPTS = torch.tensor([2, 1])
NO_PROMPTS = (Bad(torch.tensor([2, 0]), "got [2, 0]"), Bad(torch.tensor([2]), "got [2]"))
TOKENS = {"log_probs": x(2, 3), "mask": mask(2, 3)}
NO_TOKENS = {
    "log_probs": (x(2, 4), x(3), x(2, 3, 1)),
    "mask": (mask(2, 2), x(2, 3), Bad(mask(3), "bool of shape (3,)")),
}
TUNING = {
    "tuning.answer_mask": Entry(
        tuning.answer_mask,
        {"ids": ids(2, 4), "prompt_lengths": PROMPTS, "pad_id": 0},
        {"ids": (x(2, 4), ids(4)), "prompt_lengths": NO_PROMPTS},
    ),
    "tuning.answer_loss": Entry(
        tuning.answer_loss,
        {"logits": x(2, 3, 5), "ids": ids(2, 4), "prompt_lengths": PROMPTS, "pad_id": 0},
        {
            "logits": (x(2, 3), x(2, 4, 5), ids(2, 3, 5)),
            "ids": (x(2, 4), ids(4), Bad(0 * ids(2, 4), "got only prompts")),
            "prompt_lengths": (*NO_PROMPTS, Bad(PROMPTS + 3, "got only prompts", "ids")),
        },
    ),
    "tuning.token_log_probs": Entry(
        tuning.token_log_probs,
        {"logits": x(2, 3, 5), "labels": ids(2, 3)},
        {"logits": (x(2, 3), ids(2, 3, 5)), "labels": (ids(2, 4), ids(3))},
    ),
    "tuning.LoRALinear.__init__": Entry(
        tuning.LoRALinear,
        {"linear": torch.nn.Linear(2, 3), "rank": 1, "alpha": 1.0},
        {"rank": SIZES, "alpha": (0, -1.0, NAN, "1")},
    ),
    "tuning.add_lora": Entry(
        lambda names, rank, alpha: tuning.add_lora(small_model(), names, rank, alpha),
        {"names": ("q_proj",), "rank": 1, "alpha": 1.0},
        {
            "names": (Bad(["query"], "names ['query'], found none"),),
            "rank": SIZES,
            "alpha": (0, -1.0, NAN, "1"),
        },
    ),
    "tuning.dpo_loss": Entry(
        tuning.dpo_loss,
        {"better": x(2), "worse": x(2), "start_better": x(2), "start_worse": x(2), "beta": 0.1},
        {
            **{
                name: (x(3), x(2, 2)) for name in ("better", "worse", "start_better", "start_worse")
            },
            "beta": (0, -1.0, NAN, "1"),
        },
    ),
    "tuning.group_advantages": Entry(
        tuning.group_advantages, {"rewards": x(2, 3)}, {"rewards": (x(3), ids(2, 3))}
    ),
    "tuning.policy_gradient_loss": Entry(
        tuning.policy_gradient_loss,
        {**TOKENS, "advantages": x(2)},
        {**NO_TOKENS, "advantages": (x(3), x(2, 3))},
    ),
    "tuning.kl_penalty": Entry(
        tuning.kl_penalty,
        {**TOKENS, "start_log_probs": x(2, 3)},
        {
            **NO_TOKENS,
            "start_log_probs": (x(2, 4), x(3)),
            "mask": (*NO_TOKENS["mask"], Bad(~mask(2, 3), "got only False")),
        },
    ),
}

ENTRIES = [("cat", [["K", "AE", "T"]])]
NO_WORDS = (
    Bad("cat", "got one: 'cat'"),
    Bad(["cat", ""], "empty"),
    Bad(["Cat"], "token 'C' is not in the vocabulary", ""),
)
NO_WORD = (Bad("", "empty", "words"), Bad("Cat", "token 'C' is not in the vocabulary", ""))
G2P = {
    "applications.g2p.Speller.__init__": Entry(
        g2p.Speller, {}, {"model": (Bad(small_model(), "got 23 and 19"),)}, runs=False
    ),
    "applications.g2p.Speller.source": Entry(
        SPELLER.source, {"words": ["cat"]}, {"words": (*NO_WORDS, Bad([], "got none", "rows"))}
    ),
    "applications.g2p.Speller.pronounce_all": Entry(
        SPELLER.pronounce_all,
        {"words": ["cat"], "beam_size": 2},
        {"words": (*NO_WORDS, Bad(["a" * 65], "got 65", "sources")), **HOW},
    ),
    "applications.g2p.Speller.translate": Entry(
        SPELLER.translate,
        {"texts": ["cat"], "beam_size": 2},
        {"texts": (NO_WORDS[0], Bad(["cat", "c4t"], "token '4' is not in", "")), **HOW},
    ),
    "applications.g2p.Speller.pronounce": Entry(
        SPELLER.pronounce, {"word": "cat"}, {"word": NO_WORD}
    ),
    "applications.g2p.Speller.attention": Entry(
        SPELLER.attention, {"word": "cat"}, {"word": NO_WORD}
    ),
    "applications.g2p.Speller.evaluate": Entry(
        SPELLER.evaluate,
        {"entries": ENTRIES, "beam_size": 2},
        {
            "entries": (
                Bad([], "got 0 and 0", "references"),
                Bad([("cat", [])], "references[0] must .. got []", "references"),
            ),
            **HOW,
        },
    ),
    "applications.g2p.load_g2p": Entry(g2p.load_g2p, {}, NO_FOLDER),
    "applications.g2p.make_examples": Entry(
        g2p.make_examples,
        {"entries": ENTRIES},
        {"entries": (Bad([("c4t", [["K"]])], "token '4' is not", ""),)},
    ),
}

WEIGHTS = torch.eye(2)
LABELLED = {"queries": "ab", "keys": "cd"}
PLOTTING = {
    "plotting.plot_attention": Entry(
        plotting.plot_attention,
        {"weights": WEIGHTS, **LABELLED},
        {
            "weights": (
                x(2),
                x(2, 3),
                x(0, 2),
                Bad(-WEIGHTS, "from -1.0 to"),
                Bad(2 * WEIGHTS, "to 2.0"),
                Bad(WEIGHTS / 0, "NaN"),
            ),
            "queries": (Bad("abc", "3 queries"),),
            "keys": (Bad("c", "1 keys"),),
        },
    ),
    "plotting.plot_attention_grid": Entry(
        plotting.plot_attention_grid,
        {"weights": WEIGHTS.expand(2, 3, 2, 2), **LABELLED},
        {
            "weights": (
                Bad([], "got []"),
                Bad([x(2, 2)], "got [(2, 2)]"),
                Bad([x(2, 2, 2), x(1, 2, 2)], "got [(2, 2, 2), (1, 2, 2)]"),
            ),
            "queries": (Bad("abc", "3 queries"),),
            "keys": (Bad("c", "1 keys"),),
            "axes": (Bad(np.empty((2, 3)), "got (2, 3)"),),
        },
    ),
    "plotting.plot_head_values": Entry(
        plotting.plot_head_values,
        {"values": WEIGHTS},
        {"values": (x(2), Bad(WEIGHTS / 0, "NaN"))},
    ),
    "plotting.plot_curves": Entry(
        plotting.plot_curves,
        {"x": [1, 2], "curves": {"a": [3, 4]}},
        {
            "x": (Bad([1], "got shapes (1,) and (2,)"), Bad(x(2, 2), "got shapes (2, 2) and")),
            "curves": (Bad({}, "got none"), Bad({"a": [3]}, "got shapes (2,) and (1,)")),
            "log": ("z", None),
        },
    ),
    "plotting.plot_encodings": Entry(
        plotting.plot_encodings,
        {"table": WEIGHTS},
        {"table": (x(2), Bad(WEIGHTS / 0, "NaN"))},
    ),
}

# Arguments without a case, and why.  A star stands for any name.
WITHOUT_A_CASE = {
    "*.name": "what a caller calls the argument, for the message of an error",
    "*.seed": "any integer seeds; others are refused by the generators",
    "*.device": "torch names a device that it does not know",
    "*.map_location": "torch names a device that it does not know",
    "*.save_directory": "written to: an OSError of the system",
    "*.run_dir": "written to: an OSError of the system; what it must not hold, test_training says",
    "files.*": "written to: an OSError of the system",
    "*.save_pretrained.folder": "written to: an OSError of the system",
    "attention.split_heads.*": "called by the models, which check",
    "attention.merge_heads.*": "called by the models, which check",
    "cache.*.append.*": "called by the models, which check",
    "cache.*.shorten.*": "called by KVCache.begin with a length of its own",
    "cache.KVCache.keep.*": "what begin has returned",
    "cache.*.select.*": "called by searches with rows of their own",
    "decoding.Scorer.*": "a protocol",
    "decoding.have_a_largest.*": "part of the searches, which check",
    "decoding.require_finite.*": "part of the searches, which check",
    "decoding.likeliest.*": "part of the searches, which check",
    "decoding.random_choice.*": "part of sample, whose cases are its",
    "decoding.extend.*": "part of the searches, which check",
    "embeddings.TokenEmbedding.__init__.init_std": "refused by torch.nn.init",
    "embeddings.TokenEmbedding.__init__.scale": "any number",
    "applications.command_line.*": "told as errors of the command line, see test_cli",
    "gpt2.renamed.*": "part of GPT.from_gpt2, which checks",
    "applications.g2p.train_g2p.*": "handed to Trainer and to slices",
    "data.Address.*": "a result",
    "*.why_not.text": "any text",
    "data.split_bucket.word": "any text",
    "layers.FeedForward.*": "made and called by the models, which check",
    "layers.last_norm.*": "called by the models, which check",
    "layers.Block.*": "made and called by the models, which check",
    "layers.*.__init__.d_ff": "checked by the configs of the models",
    "layers.*.forward.*": "called by the models, which check",
    "model.Encoder.forward.*": "called by the models, which check",
    "model.Decoder.forward.*": "called by the models, which check",
    "modern.rotate.positions": "any number is an angle",
    "modern.GroupedAttention.*": "made and called by the models, which check",
    "modern.SwiGLU.*": "made and called by the models, which check",
    "modern.ModernLayer.forward.*": "called by the models, which check",
    "modern.NoPositions.*": "called by the models, which check",
    "masks.later_rows.*": "part of the models, which check",
    "masks.PreparedMask.*": "part of attention, which checks",
    "training.optimizers.*": "made by the Trainer, from a config that checks",
    "tuning.*.pad_id": "compared with ids, whatever it is",
    "tuning.LoRALinear.forward.*": "called by the models, which check",
    "metrics.edit_distance.*": "any two sequences",
    "metrics.CorpusScore.*": "a result",
    "parallel.Processes.*": "made by join_processes",
    "plotting.*.title": "any text",
    "plotting.*.label": "any text",
    "plotting.*.xlabel": "any text",
    "plotting.*.ylabel": "any text",
    "plotting.*.digits": "handed to str.format",
    "applications.settings.DataSettings.__init__.folder": "looked for by load_multi30k",
    "applications.settings.Settings.__init__.task": "checked by read_settings",
    "applications.settings.TokenizerSettings.__init__.kind": "checked by read_settings",
    "applications.settings.DecodingSettings.__init__.length_penalty": "checked by beam_search",
    "tokenizers.Tokenizer.__init__.*": "an abstract class; see those made from it",
    "training.losses.mean_surprise.*": "part of sequence_loss and Trainer, which check",
    "training.losses.require_scores.*": "part of sequence_loss and Trainer, which check",
    "training.run_state.RunFolder.*": "made by Trainer",
    "training.run_state.history_of.*": "what history_as_tensor has returned",
    "training.run_state.history_as_tensor.*": "part of Trainer",
    "training.run_state.csv_line.*": "part of Trainer",
    "training.run_state.*random_states.*": "part of Trainer",
    "training.Batch.*": "made by Trainer",
    "training.StepRecord.*": "a result",
    "applications.translation.TranslationScores.*": "a result",
    "applications.translation.fixed_sample.*": "part of the training commands",
    "applications.translation.train_tokenizers.min_freq": "handed to the tokenizers' own train",
    "applications.translation.train_translator.*": "handed to Translator and Trainer",
}
