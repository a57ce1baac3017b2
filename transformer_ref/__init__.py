"""The reference Transformer of the course: one module an idea.

Conventions, everywhere in this package (the book's conventions page explains them):

- Batch first. B batch, T target length, S source length, H heads, D d_model, K = D/H head size,
  V vocabulary size.
- Token ids are int64; the pad id is an argument, never a global.
- A mask is boolean, True means "may attend", and it broadcasts to (B, H, T, S).
- ``norm="post"`` is the paper's order, ``norm="pre"`` the one that trains without care;
  dropout stands before the residual sum.
- Rates are fractions in code and percent in prose.
- A module computes where its inputs and weights are;
  :func:`~transformer_ref.device.pick_device` says where that could be.
- Wrong arguments raise a ValueError, missing or damaged files an OSError, each naming what came
  and what was expected.
"""

from transformer_ref.applications.translation import Translator
from transformer_ref.attention import (
    MultiHeadAttention,
    attention_scores,
    fused_attention,
    merge_heads,
    record_attention,
    scaled_dot_product_attention,
    split_heads,
)
from transformer_ref.cache import KVCache
from transformer_ref.data import load_addresses, load_cmudict, load_multi30k
from transformer_ref.decoding import beam_search, filter_logits, greedy_decode, sample
from transformer_ref.device import pick_device
from transformer_ref.embeddings import TokenEmbedding, embedding_from_pretrained, tied_logits
from transformer_ref.gpt import GPT, GPTConfig, generate
from transformer_ref.layers import DecoderLayer, EncoderLayer, FeedForward
from transformer_ref.masks import causal_mask, masked_softmax, padding_mask, target_mask
from transformer_ref.metrics import corpus_bleu, corpus_chrf, phoneme_error_rate, word_error_rate
from transformer_ref.model import Decoder, Encoder, Transformer, TransformerConfig
from transformer_ref.positions import (
    LearnedPositions,
    SinusoidalPositions,
    frequencies,
    shift_matrix,
    sinusoidal_encoding,
)
from transformer_ref.tokenizers import BPETokenizer, CharTokenizer, WordTokenizer, load_tokenizer
from transformer_ref.training import (
    Trainer,
    TrainingConfig,
    noam_learning_rate,
    sequence_loss,
    split_target,
)
from transformer_ref.vocabulary import Vocabulary

__all__ = [
    "GPT",
    "BPETokenizer",
    "CharTokenizer",
    "Decoder",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "GPTConfig",
    "KVCache",
    "LearnedPositions",
    "MultiHeadAttention",
    "SinusoidalPositions",
    "TokenEmbedding",
    "Trainer",
    "TrainingConfig",
    "Transformer",
    "TransformerConfig",
    "Translator",
    "Vocabulary",
    "WordTokenizer",
    "attention_scores",
    "beam_search",
    "causal_mask",
    "corpus_bleu",
    "corpus_chrf",
    "embedding_from_pretrained",
    "filter_logits",
    "frequencies",
    "fused_attention",
    "generate",
    "greedy_decode",
    "load_addresses",
    "load_cmudict",
    "load_multi30k",
    "load_tokenizer",
    "masked_softmax",
    "merge_heads",
    "noam_learning_rate",
    "padding_mask",
    "phoneme_error_rate",
    "pick_device",
    "record_attention",
    "sample",
    "scaled_dot_product_attention",
    "sequence_loss",
    "shift_matrix",
    "sinusoidal_encoding",
    "split_heads",
    "split_target",
    "target_mask",
    "tied_logits",
    "word_error_rate",
]
