"""What the chapter on blocks measures of tokens that run through layers, with sums and without."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from transformer_ref.applications.g2p import Speller, make_examples
from transformer_ref.data import load_cmudict
from transformer_ref.experiments import blocks, blocks_images
from transformer_ref.g2p import load_g2p
from transformer_ref.masks import causal_mask


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


def test_a_unit_is_on_where_torch_finds_it_on(speller: Speller) -> None:
    model, word = speller.model, "kicked"
    layers: Any = model.decoder.layers
    said = blocks.where_unit_is_on(speller, 145, word)
    tgt = torch.tensor([speller.phonemes.encode([p for p, _ in said[:-1]], bos=True)])
    with torch.inference_mode():
        memory = model.encode(speller.source([word]))
        x = model.tgt_positions(model.tgt_embedding(tgt))
        for layer in layers[:-1]:
            x = layer(x, memory, causal_mask(tgt.shape[1]))
        last = layers[-1]
        y = last.norm1(x)
        x = x + last.self_attention(y, y, y, causal_mask(tgt.shape[1]))
        x = x + last.cross_attention(last.norm2(x), memory, memory)
        linear = last.feed_forward.linear1
        expected = F.relu(F.linear(last.norm3(x), linear.weight[145:146], linear.bias[145:146]))
    assert [p for p, _ in said] == [*speller.pronounce(word), "<eos>"]
    assert [on for _, on in said] == pytest.approx(expected[0, :, 0].tolist(), abs=1e-3)


def test_what_a_unit_writes_is_what_the_logits_gain(speller: Speller) -> None:
    """A large multiple of the row outweighs any stream, so only its direction is left."""
    model, unit = speller.model, 145
    layer: Any = model.decoder.layers[-1]
    row = layer.feed_forward.linear2.weight[:, unit].detach()
    with torch.inference_mode():
        state = model.decoder.norm(1e6 * row)
        logits = model.output_proj(state) - model.output_proj(model.decoder.norm(torch.zeros(128)))
    expected = (logits - logits.mean()) * row.std(correction=0)
    written = torch.tensor(list(blocks.what_unit_writes(speller, unit).values()))
    torch.testing.assert_close(written, expected, atol=1e-3, rtol=1e-3)


@torch.inference_mode()
def test_without_a_unit_is_without_its_column(speller: Speller) -> None:
    """The unit is made to write against K, so that it is missed."""
    entries, unit = load_cmudict("dev")[:20], 145
    against, cut = copy.deepcopy(speller), copy.deepcopy(speller)
    for one, factor in ((against, -20), (cut, 0)):
        layer: Any = one.model.decoder.layers[-1]
        layer.feed_forward.linear2.weight[:, unit] *= factor
    shares = blocks.right_without_unit(against, unit, "K", entries)
    assert shares[0] < shares[1]
    wanted = speller.phonemes.encode(["K"])[0]
    for one, share in zip((against, cut), shares, strict=True):
        right = []
        for source, target in make_examples(entries):
            ids = torch.tensor([target])
            best = one.model(torch.tensor([source]), ids[:, :-1])[0].argmax(dim=-1)
            right += (best == wanted)[ids[0, 1:] == wanted].tolist()
        assert share == pytest.approx(sum(right) / len(right), abs=1e-6)


def test_a_patch_is_a_square_of_the_picture() -> None:
    pictures, _ = blocks_images.make_digits(3, seed=4)
    patches = blocks_images.cut_into_patches(pictures)
    for number in range(16):
        y, x = 2 * (number // 4), 2 * (number % 4)
        assert torch.equal(patches[:, number].view(3, 2, 2), pictures[:, y : y + 2, x : x + 2])


def test_the_digits_are_all_different_and_can_be_told_apart_through_the_noise() -> None:
    pictures, shown = blocks_images.make_digits(300, seed=4)
    places = [
        F.pad(blocks_images.glyphs(), (x, 3 - x, y, 1 - y)) for x in range(4) for y in range(2)
    ]
    nearest = torch.cdist(torch.cat(places).flatten(1), pictures.flatten(1)).argmin(dim=0) % 10
    assert (nearest == shown).float().mean() > 0.97


@torch.inference_mode()
def test_without_positions_the_order_of_the_patches_does_not_count() -> None:
    pictures, _ = blocks_images.make_digits(5, seed=4)
    turned = pictures.view(5, 4, 2, 8).flip(1).reshape(5, 8, 8)  # the rows of patches
    for with_positions in (False, True):
        torch.manual_seed(0)
        reader = blocks_images.DigitReader(with_positions=with_positions)
        same = torch.allclose(reader(turned), reader(pictures), atol=1e-5)
        assert same != with_positions
