"""What the chapter on blocks measures of tokens that run through layers, with sums and without."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from transformer_ref.applications.g2p import Speller
from transformer_ref.experiments import blocks
from transformer_ref.g2p import load_g2p


@pytest.fixture(scope="module")
def speller() -> Speller:
    return load_g2p(torch.device("cpu"))


@torch.inference_mode()
def test_an_encoder_with_its_sums_is_the_encoder(speller: Speller) -> None:
    model, source = speller.model, speller.source(["knighted"])
    x = model.src_positions(model.src_embedding(source))
    last = blocks.run_encoder(x, model.encoder, add=True)[-1]
    torch.testing.assert_close(model.encoder.norm(last), model.encode(source))


def test_the_mean_cosine_is_that_of_all_pairs() -> None:
    torch.manual_seed(0)
    x = torch.randn(5, 7)
    pairs = torch.combinations(torch.arange(5))
    expected = F.cosine_similarity(x[pairs[:, 0]], x[pairs[:, 1]], dim=-1).mean()
    assert blocks.mean_cosine(x) == pytest.approx(expected.item(), abs=1e-6)
    assert blocks.mean_cosine(x[:1].expand(4, 7)) == pytest.approx(1)


def test_the_streams_part_with_the_first_layer(speller: Speller) -> None:
    streams = blocks.residual_streams(speller, "attach", num_layers=2)
    assert streams["letters"] == list("attach")
    for name, layers in (("fresh", 2), ("trained", 3)):
        ways = streams[name]
        assert ways["with"]["points"][0] == ways["without"]["points"][0]
        for found in ways.values():
            assert torch.tensor(found["points"]).shape == (layers + 1, 6, 2)
            assert len(found["cosine"]) == layers + 1
        assert ways["without"]["cosine"][-1] > ways["with"]["cosine"][-1] + 0.5
