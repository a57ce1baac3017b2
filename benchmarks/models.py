"""Models and peers of the benchmarks, all with random weights."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from transformers import MarianConfig, MarianMTModel

from benchmarks.peers.huggingface import copy_model, marian_order
from transformer_ref import Transformer, TransformerConfig

PAD, BOS, EOS = 0, 1, 2
HEAD_SIZE = 64


def sizes(d_model: int, num_layers: int, vocab_size: int, **changes: Any) -> TransformerConfig:
    """The paper's shape at another width and depth: heads of 64, d_ff = 4 D, no dropout."""
    return TransformerConfig(
        vocab_size,
        vocab_size,
        d_model=d_model,
        num_heads=max(1, d_model // HEAD_SIZE),
        num_encoder_layers=num_layers,
        num_decoder_layers=num_layers,
        d_ff=4 * d_model,
        pad_id=PAD,
        **{"dropout": 0.0, **changes},
    )


def describe(config: TransformerConfig) -> str:
    """Say the sizes in a few words."""
    return (
        f"d={config.d_model}, {config.num_heads} heads, "
        f"{config.num_encoder_layers}+{config.num_decoder_layers} layers, "
        f"V={config.tgt_vocab_size}"
    )


def random_ids(config: TransformerConfig, batch: int, length: int, device: torch.device) -> Any:
    """Ids without specials: (B, T)."""
    return torch.randint(EOS + 1, config.src_vocab_size, (batch, length), device=device)


def never_ending(config: TransformerConfig, device: torch.device) -> Transformer:
    """A model that never says the end token: it scores 0, and some other token always more."""
    model = Transformer(config).eval()
    with torch.no_grad():
        model.output_proj.weight[[PAD, EOS]] = 0.0
    return model.to(device)


def with_marian(
    config: TransformerConfig, device: torch.device
) -> tuple[Transformer, MarianMTModel]:
    """Ours and Hugging Face's Marian with the same weights, which never say the end token."""
    transformers.utils.logging.set_verbosity_error()
    theirs = MarianMTModel(
        MarianConfig(
            vocab_size=config.tgt_vocab_size,
            max_position_embeddings=config.max_len,
            d_model=config.d_model,
            encoder_layers=config.num_encoder_layers,
            decoder_layers=config.num_decoder_layers,
            encoder_attention_heads=config.num_heads,
            decoder_attention_heads=config.num_heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            activation_function="relu",
            scale_embedding=True,
            dropout=0.0,
            pad_token_id=PAD,
            bos_token_id=BOS,
            decoder_start_token_id=BOS,
            eos_token_id=EOS,
            forced_eos_token_id=None,
            tie_word_embeddings=False,
            share_encoder_decoder_embeddings=False,
        )
    ).eval()
    with torch.no_grad():
        theirs.lm_head.weight[[PAD, EOS]] = 0.0
    ours = Transformer(config).eval()
    copy_model(ours, theirs, marian_order(config.d_model))
    return ours.to(device), theirs.to(device)
