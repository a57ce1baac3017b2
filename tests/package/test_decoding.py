"""Greedy decoding: against a loop written out here, with and without the cache."""

from dataclasses import replace

import pytest
import torch

from transformer_ref import Transformer, TransformerConfig, greedy_decode, padding_mask
from transformer_ref.cache import KVCache

BOS, EOS = 1, 2
CONFIG = TransformerConfig(
    src_vocab_size=11,
    tgt_vocab_size=9,
    d_model=16,
    num_heads=2,
    num_encoder_layers=2,
    num_decoder_layers=2,
    d_ff=32,
    max_len=24,
)


def random_model(seed, device, **changes):
    """An untrained model with large weights, so that its answers vary."""
    torch.manual_seed(seed)
    model = Transformer(replace(CONFIG, **changes)).to(device).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
        model.output_proj.weight[EOS] *= 2.0
    return model


def padded_sources(device):
    return torch.tensor(
        [[3, 4, 5, 6, 7, 8], [9, 10, 3, 0, 0, 0], [5, 0, 0, 0, 0, 0], [7, 7, 8, 3, 4, 0]],
        device=device,
    )


@torch.no_grad()
def one_row_by_hand(model, source, max_len):
    """The definition: one sequence, the whole prefix again for every token, no padding anywhere."""
    ids = [BOS]
    memory = model.encode(source[None])
    while len(ids) < max_len and ids[-1] != EOS:
        logits = model.decode(torch.tensor([ids], device=source.device), memory)
        ids.append(int(logits[0, -1].argmax()))
    return ids


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_batched_greedy_is_the_loop_by_hand(device, use_cache, norm, positions):
    ended = 0
    for seed in range(10):
        model = random_model(seed, device, norm=norm, positions=positions)
        sources = padded_sources(device)
        decoded = greedy_decode(model, sources, BOS, EOS, max_len=12, use_cache=use_cache)
        for source, row in zip(sources, decoded.tolist(), strict=True):
            expected = one_row_by_hand(model, source[source != 0], 12)
            if 0 in expected:  # a model that says the padding token is compared up to there
                expected = expected[: expected.index(0)]
                assert row[: len(expected)] == expected
                continue
            ended += expected[-1] == EOS
            assert row[: len(expected)] == expected
            assert set(row[len(expected) :]) <= {0}
    assert ended > 3  # otherwise nothing was tested of stopping


def test_cache_changes_nothing_even_when_padding_is_said(device):
    said_padding = False
    for seed in range(20):
        model = random_model(seed, device)
        sources = padded_sources(device)
        cached = greedy_decode(model, sources, BOS, EOS, max_len=20)
        again = greedy_decode(model, sources, BOS, EOS, max_len=20, use_cache=False)
        assert torch.equal(cached, again)
        said_padding |= bool((cached == 0).any())
    assert said_padding


def test_cached_logits_equal_those_of_the_whole_prefix(device):
    model = random_model(0, device).double()
    sources = padded_sources(device)
    mask = padding_mask(sources, 0)
    torch.manual_seed(1)
    targets = torch.randint(0, 9, (4, 7), device=device)
    with torch.no_grad():
        memory = model.encode(sources, mask)
        whole = model.decode(targets, memory, memory_mask=mask)
        cache = KVCache(CONFIG.num_decoder_layers)
        parts = [  # one token, then three at once, then the rest
            model.decode(part, memory, memory_mask=mask, cache=cache)
            for part in targets.split([1, 3, 3], dim=1)
        ]
    assert cache.length == 7
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, rtol=0, atol=1e-12)


def test_answers_start_with_bos_and_stay_within_max_len(device):
    for max_len in (1, 2, 5):
        decoded = greedy_decode(random_model(0, device), padded_sources(device), BOS, EOS, max_len)
        assert decoded.dtype == torch.int64
        assert decoded.shape[1] <= max_len
        assert (decoded[:, 0] == BOS).all()


def test_decoding_stops_when_every_row_has_ended(device):
    model = random_model(0, device)
    with torch.no_grad():  # every next token is the end token
        model.output_proj.weight.zero_()
        model.decoder.layers[-1].norm3.weight.zero_()
        model.decoder.layers[-1].norm3.bias.fill_(1.0)
        model.output_proj.weight[EOS] = 1.0
    decoded = greedy_decode(model, padded_sources(device), BOS, EOS, max_len=20)
    assert decoded.tolist() == [[BOS, EOS]] * 4


def test_the_model_keeps_its_mode_and_dropout_does_not_act(device):
    model = random_model(0, device, dropout=0.5).train()
    first = greedy_decode(model, padded_sources(device), BOS, EOS, 12)
    assert torch.equal(first, greedy_decode(model, padded_sources(device), BOS, EOS, 12))
    assert model.training


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_len": 0}, r"max_len must lie in 1\.\.24, got 0"),
        ({"max_len": 25}, r"max_len must lie in 1\.\.24, got 25"),
        ({"bos_id": 9}, r"bos_id must lie in 0\.\.8, got 9"),
        ({"eos_id": -1}, r"eos_id must lie in 0\.\.8, got -1"),
        ({"src": torch.tensor([[11]])}, "src must lie in 0..10"),
        ({"src": torch.tensor([3, 4])}, r"src must have shape \(batch, length\), .*got \(2,\)"),
        ({"src": torch.tensor([[3.0]])}, "src must hold ids as int64"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    usual = {"src": torch.tensor([[3]]), "bos_id": BOS, "eos_id": EOS, "max_len": 5}
    with pytest.raises(ValueError, match=message):
        greedy_decode(random_model(0, "cpu"), **{**usual, **arguments})


def test_a_cache_of_another_batch_is_refused():
    model = random_model(0, "cpu")
    cache = KVCache(CONFIG.num_decoder_layers)
    memory = model.encode(padded_sources("cpu"))
    model.decode(torch.ones(4, 1, dtype=torch.int64), memory, cache=cache)
    with pytest.raises(ValueError, match=r"filled with a batch of 4, got tgt of shape \(2, 1\)"):
        model.decode(torch.ones(2, 1, dtype=torch.int64), memory[:2], cache=cache)
