"""Encoder, decoder, greedy and beam search give what JoeyNMT 2.3.0 gives with the same weights.

What differs between the two and is bridged here: its LayerNorms have eps 1e-6, torch's default
and ours is 1e-5; the angles of its positions are computed in float32.
Its weight of the residual branch, alpha, is 1 as in ours unless one asks for its DeepNet start.
It has one rule for its searches that ours lack: the begin token is never chosen, nor padding by
its beam search; the weights of peer.py see to it that neither would win anyway.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.joeynmt.conftest import install
from transformer_ref import Transformer, TransformerConfig, padding_mask, sinusoidal_encoding
from transformer_ref.decoding import beam_search, greedy_decode

PAD, BOS, EOS = 1, 2, 3
MAX_LEN = 14
BEAM_SIZES = (2, 3, 5)
TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-10}

Results = dict[str, dict[str, Tensor]]

# Their names, and ours: replaced one after the other.
NAMES = {
    r"^src_embed\.lut": "src_embedding.embedding",
    r"^trg_embed\.lut": "tgt_embedding.embedding",
    r"^decoder\.output_layer": "output_proj",
    r"^(encoder|decoder)\.layer_norm": r"\1.norm",
    r"(src_src|trg_trg)_att": "self_attention",
    r"src_trg_att": "cross_attention",
    r"([qkv])_layer\b": r"\1_proj",
    r"output_layer": "out_proj",
    r"^(encoder.*)feed_forward\.layer_norm": r"\1norm2",
    r"^(decoder.*)feed_forward\.layer_norm": r"\1norm3",
    r"dec_layer_norm": "norm2",
    r"(x_)?layer_norm": "norm1",
    r"pwff_layer\.0": "linear1",
    r"pwff_layer\.3": "linear2",
}


@pytest.fixture(params=["post", "pre"])
def norm(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def theirs(joeynmt: dict[str, Results], norm: str) -> Results:
    return joeynmt[norm]


def our_name(name: str) -> str:
    """JoeyNMT's name of a parameter, as ours."""
    for pattern, replacement in NAMES.items():
        name = re.sub(pattern, replacement, name)
    return name


def our_model(norm: str, weights: dict[str, Tensor], dtype: torch.dtype) -> Transformer:
    """Our model with JoeyNMT's weights; both sides must match to the last name."""
    config = TransformerConfig(
        src_vocab_size=23,
        tgt_vocab_size=19,
        d_model=12,
        num_heads=3,
        num_encoder_layers=2,
        num_decoder_layers=3,
        d_ff=20,
        dropout=0.0,
        max_len=MAX_LEN,
        norm=norm,
        pad_id=PAD,
    )
    model = Transformer(config).eval()
    model.load_state_dict(
        {our_name(name): value for name, value in weights.items() if ".pe." not in name}
    )
    model.src_positions.table = weights["encoder.pe.pe"][0, :MAX_LEN]
    model.tgt_positions.table = weights["decoder.pe.pe"][0, :MAX_LEN]
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = 1e-6
    return model.to(dtype)


def assert_same(ours: Tensor, theirs: Tensor) -> None:
    tolerance = TOLERANCES[ours.dtype]
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def with_begin(ids: Tensor) -> Tensor:
    """Make JoeyNMT's ids (..., T) like ours: begin token before, padding after the end token."""
    ids = torch.cat((torch.full_like(ids[..., :1], BOS), ids), dim=-1)
    ends = (ids == EOS).cumsum(dim=-1)
    return ids.masked_fill((ends > 1) | ((ends == 1) & (ids != EOS)), PAD)


def test_positions(theirs: Results) -> None:
    for name in ("encoder.pe.pe", "decoder.pe.pe"):
        ours = sinusoidal_encoding(MAX_LEN, 12)
        torch.testing.assert_close(theirs["weights"][name][0, :MAX_LEN], ours, rtol=0.0, atol=1e-5)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=["float32", "float64"])
def test_encoder_and_decoder(theirs: Results, norm: str, dtype: torch.dtype) -> None:
    model = our_model(norm, theirs["weights"], dtype)
    src, tgt = theirs["inputs"]["src"], theirs["inputs"]["tgt"]
    expected = theirs[str(dtype).removeprefix("torch.")]
    src_mask = padding_mask(src, PAD)
    memory = model.encode(src, src_mask)
    assert_same(memory, expected["memory"])
    assert_same(model.decode(tgt, memory, memory_mask=src_mask), expected["logits"])
    # Where the target is padded, there is no label; forward hides no padding from padding.
    real = tgt != PAD
    assert not real.all()
    assert_same(model(src, tgt)[real], expected["logits"][real])


def searching_model(norm: str, theirs: Results, part: str) -> Transformer:
    """The model that made one part of the results of searches."""
    model = our_model(norm, theirs["weights"], torch.float64)
    if part == "endless":
        with torch.no_grad():
            model.output_proj.weight[EOS, 0] = -100.0
    return model


@pytest.mark.parametrize("use_cache", [True, False], ids=["cache", "no_cache"])
@pytest.mark.parametrize("part", ["ending", "endless"])
def test_greedy_search(theirs: Results, norm: str, part: str, use_cache: bool) -> None:
    model = searching_model(norm, theirs, part)
    ids = greedy_decode(model, theirs["inputs"]["src"], BOS, EOS, MAX_LEN, use_cache)
    assert torch.equal(ids, with_begin(theirs[part]["greedy"]))
    assert ((ids == EOS).any(dim=1).unique().tolist() == [False, True]) == (part == "ending")


@pytest.mark.parametrize("beam_size", BEAM_SIZES)
def test_beam_search_where_nothing_ends(theirs: Results, norm: str, beam_size: int) -> None:
    """Both stop at the longest length; all of the beam is the same."""
    model, expected = searching_model(norm, theirs, "endless"), theirs["endless"]
    ids, scores = beam_search(
        model, theirs["inputs"]["src"], BOS, EOS, beam_size, MAX_LEN, num_return=beam_size
    )
    assert torch.equal(ids, with_begin(expected[f"beam_{beam_size}"]))
    torch.testing.assert_close(scores.float(), expected[f"scores_{beam_size}"])


@pytest.mark.parametrize("beam_size", BEAM_SIZES)
def test_beam_search_where_hypotheses_end(theirs: Results, norm: str, beam_size: int) -> None:
    """The best one is the same where the difference between the two does no harm, as here.

    Ours takes ended hypotheses out of the beam and stops once no live one can still win.
    JoeyNMT goes on extending them, at the cost of live ones, and stops once each place of the
    beam has held one; what else it returns may therefore be worse than what ours does.
    """
    model, expected = searching_model(norm, theirs, "ending"), theirs["ending"]
    ids, scores = beam_search(model, theirs["inputs"]["src"], BOS, EOS, beam_size, MAX_LEN)
    best = with_begin(expected[f"beam_{beam_size}"][:, :1])
    assert torch.equal(ids, best[..., : ids.shape[-1]])
    assert torch.all(best[..., ids.shape[-1] :] == PAD)
    torch.testing.assert_close(scores.float(), expected[f"scores_{beam_size}"][:, :1])
    lengths = set((ids != PAD).sum(dim=-1).flatten().tolist())
    assert {2, MAX_LEN} < lengths


def test_without_a_connection_the_reason_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text("joeynmt==2.3.0\n")
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    with pytest.raises(subprocess.CalledProcessError):
        install(lock, tmp_path / "folder")
    assert "127.0.0.1:9" in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == [lock]
