"""Outputs are those of Hugging Face's Marian (post-norm) and M2M100 (pre-norm), weights copied.

Both are written after other code than torch's own modules, and are built here from their config:
nothing is downloaded.  What differs is said where it is bridged, and only positions do.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers import M2M100Config, M2M100ForConditionalGeneration, MarianConfig, MarianMTModel
from transformers.models.marian import modeling_marian as marian

from benchmarks.peers.huggingface import copy_model, marian_order, randomise
from tests.package.examples import (
    D_FF,
    D_MODEL,
    HEADS,
    SOURCE,
    TOLERANCES,
    small_batch,
    small_config,
)
from transformer_ref import (
    Transformer,
    greedy_decode,
    padding_mask,
    sinusoidal_encoding,
)

DTYPES = pytest.mark.parametrize("dtype", TOLERANCES, ids=["float32", "float64"])
NORMS = pytest.mark.parametrize("norm", ["post", "pre"])
PAD, BOS, EOS, VOCAB, MAX_LEN = 0, 1, 2, 23, 16
SIZES = {
    "vocab_size": VOCAB,
    "max_position_embeddings": MAX_LEN,
    "d_model": D_MODEL,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": D_FF,
    "decoder_ffn_dim": D_FF,
    "activation_function": "relu",
    "scale_embedding": True,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "pad_token_id": PAD,
    "bos_token_id": BOS,
    "decoder_start_token_id": BOS,
    "eos_token_id": EOS,
    "attn_implementation": "eager",  # written out: another way than our fused path
}


def config_of(norm: str, tied: bool = True) -> MarianConfig | M2M100Config:
    if norm == "post":
        return MarianConfig(
            **SIZES,
            tie_word_embeddings=tied,
            share_encoder_decoder_embeddings=tied,
            forced_eos_token_id=None,
        )
    return M2M100Config(**SIZES, tie_word_embeddings=tied)


def assert_same(ours: Tensor, theirs: Tensor) -> None:
    tolerance = TOLERANCES[ours.dtype]
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def test_positions_of_marian_are_ours_in_another_order() -> None:
    table = marian.MarianSinusoidalPositionalEmbedding(MAX_LEN, D_MODEL).create_weight()
    ours = sinusoidal_encoding(MAX_LEN, D_MODEL)
    torch.testing.assert_close(table[:, marian_order(D_MODEL)], ours, rtol=0.0, atol=1e-6)


def whole_models(
    norm: str, tied: bool, dtype: torch.dtype, device: torch.device, seed: int = 0
) -> tuple[Transformer, MarianMTModel | M2M100ForConditionalGeneration]:
    """Both whole models with the same weights; tied: one matrix for embeddings and logits."""
    model = {"post": MarianMTModel, "pre": M2M100ForConditionalGeneration}[norm]
    theirs = model(config_of(norm, tied)).eval()
    randomise(theirs, seed)
    sizes = {"src_vocab_size": VOCAB, "tgt_vocab_size": VOCAB, "max_len": MAX_LEN}
    tie_weights = "all" if tied else "none"
    ours = Transformer(small_config(**sizes, norm=norm, tie_weights=tie_weights)).eval()
    copy_model(ours, theirs, marian_order(D_MODEL) if norm == "post" else torch.arange(D_MODEL))
    for stack, positions in (
        (theirs.model.encoder, ours.src_positions),
        (theirs.model.decoder, ours.tgt_positions),
    ):
        if norm == "post":  # the same numbers to the last bit, for the comparison in float64
            stack.embed_positions.weight[:, marian_order(D_MODEL)] = positions.table
        else:  # other frequencies than the paper's, and positions counted from pad_id + 1
            positions.table = stack.embed_positions.weights[PAD + 1 :][:MAX_LEN]
    return ours.to(device, dtype), theirs.to(device, dtype)


@DTYPES
@NORMS
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_whole_model(device: torch.device, dtype: torch.dtype, norm: str, tied: bool) -> None:
    ours, theirs = whole_models(norm, tied, dtype, device)
    src, tgt = small_batch(device, small_config())
    expected = theirs(
        input_ids=src,
        attention_mask=src != PAD,
        decoder_input_ids=tgt,
        decoder_attention_mask=tgt != PAD,
    )
    memory = ours.encode(src, padding_mask(src, PAD))
    order = (
        marian_order(D_MODEL).to(device) if norm == "post" else torch.arange(D_MODEL, device=device)
    )
    # What padding itself is turned into is nobody's business; M2M100 gives it no position.
    real = src != PAD
    assert_same(memory[real], expected.encoder_last_hidden_state[..., order][real])
    assert_same(ours(src, tgt)[tgt != PAD], expected.logits[tgt != PAD])


@pytest.mark.parametrize(("norm", "seed"), [("post", 3), ("pre", 0)])
def test_greedy_search(device: torch.device, norm: str, seed: int) -> None:
    """Rows that end early, late and not at all, each side with its own cache.

    Tied random weights repeat one token for ever, so these are not tied; the seeds are those
    of lively models.  Padding scores 0 and never wins: what follows it is no defined thing.
    """
    ours, theirs = whole_models(norm, False, torch.float64, device, seed)
    with torch.no_grad():
        ours.output_proj.weight[PAD] = theirs.lm_head.weight[PAD] = 0.0
    src = torch.randint(3, VOCAB, (32, SOURCE), generator=torch.Generator().manual_seed(1))
    src[::2, -3:] = PAD
    src = src.to(device)
    expected = theirs.generate(
        src, attention_mask=src != PAD, max_length=MAX_LEN, num_beams=1, do_sample=False
    )
    assert torch.equal(greedy_decode(ours, src, BOS, EOS, MAX_LEN), expected)
    assert (expected == PAD).sum(dim=1).unique().numel() > 4
