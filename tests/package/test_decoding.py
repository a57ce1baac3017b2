"""Decoding: each strategy against its definition written out here, with and without the cache."""

from dataclasses import replace

import pytest
import torch

from tests.marks import weekly
from transformer_ref import Transformer, TransformerConfig, greedy_decode, padding_mask
from transformer_ref.cache import FixedCache, KVCache
from transformer_ref.decoding import (
    beam_search,
    copy_for_decoding,
    filter_logits,
    random_choice,
    sample,
)

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
@pytest.mark.parametrize(
    ("norm", "positions"),
    [
        ("pre", "learned"),
        *weekly(("pre", "sinusoidal"), ("post", "learned"), ("post", "sinusoidal")),
    ],
)
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


def test_a_cache_of_another_batch_is_refused():
    model = random_model(0, "cpu")
    cache = KVCache(CONFIG.num_decoder_layers)
    memory = model.encode(padded_sources("cpu"))
    model.decode(torch.ones(4, 1, dtype=torch.int64), memory, cache=cache)
    with pytest.raises(ValueError, match=r"filled with a batch of 4, got tgt of shape \(2, 1\)"):
        model.decode(torch.ones(2, 1, dtype=torch.int64), memory[:2], cache=cache)


# --- finished rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("use_cache", [True, False])
def test_rows_that_have_ended_are_not_computed_any_more(device, use_cache, monkeypatch):
    monkeypatch.setattr("transformer_ref.decoding.queues_work", lambda device: False)
    model = random_model(18, device)
    batches = []
    decode = model.decode
    monkeypatch.setattr(
        model, "decode", lambda tgt, *a, **k: batches.append(len(tgt)) or decode(tgt, *a, **k)
    )
    answer = greedy_decode(model, padded_sources(device), BOS, EOS, 12, use_cache=use_cache)
    ended = [row.index(EOS) if EOS in row else 99 for row in answer.tolist()]
    assert batches == [sum(end > step for end in ended) for step in range(answer.shape[1] - 1)]
    assert batches[-1] < batches[0]  # otherwise no row ended early


def tokens_read(monkeypatch, model):
    """Record how many tokens of the target each call of the decoder reads."""
    read = []
    decode = model.decode
    monkeypatch.setattr(
        model, "decode", lambda tgt, *a, **k: read.append(tgt.shape[1]) or decode(tgt, *a, **k)
    )
    return read


@pytest.mark.parametrize("search", [greedy_decode, sample, beam_search])
def test_the_cache_reads_each_token_once_and_is_the_default(device, search, monkeypatch):
    model = random_model(21, device)
    read = tokens_read(monkeypatch, model)
    beam = {"beam_size": 2} if search is beam_search else {}
    usual = (model, padded_sources(device), BOS, EOS)
    search(*usual, max_len=6, **beam)
    assert set(read) == {1}
    read.clear()
    search(*usual, max_len=6, use_cache=False, **beam)
    assert read == list(range(1, len(read) + 1))


def test_beams_of_one_source_do_not_copy_its_memory(device, monkeypatch):
    moved = []
    select = FixedCache.select
    monkeypatch.setattr(
        FixedCache, "select", lambda self, rows: moved.append(len(rows)) or select(self, rows)
    )
    model = random_model(0, device)
    source = padded_sources(device)[:1]
    ids, _ = beam_search(model, source, BOS, EOS, 3, 9)
    assert ids.shape[2] > 3
    layers = CONFIG.num_decoder_layers
    assert moved[:layers] == [3] * layers  # one row becomes three
    assert set(moved[layers:]) <= {0}  # and then none until the row is done


def test_the_longest_answer_may_be_as_long_as_the_model_allows(device):
    model = random_model(21, device)
    assert greedy_decode(model, padded_sources(device), BOS, EOS, CONFIG.max_len).shape == (4, 24)


# --- beam search --------------------------------------------------------------------------------


@torch.no_grad()
def log_probs_by_hand(model, source, ids):
    """One unpadded sequence: log-probabilities of the token after it."""
    memory = model.encode(source[None])
    tgt = torch.tensor([ids], device=source.device)
    # The model's own padding token may be said; its key is hidden afterwards, as in the package.
    return model.decode(tgt, memory)[0, -1].log_softmax(-1).tolist()


def beam_by_hand(model, source, beam_size, max_len, alpha):
    """The definition, with lists and without any shortcut: all that is complete, best first."""
    live, complete = [(0.0, [BOS])], []
    while live and len(live[0][1]) < max_len:
        extensions = [
            (total + gain, [*ids, token])
            for total, ids in live
            for token, gain in enumerate(log_probs_by_hand(model, source, ids))
        ]
        live = []
        for total, ids in sorted(extensions, reverse=True)[:beam_size]:
            (complete if ids[-1] == EOS else live).append((total, ids))
    complete += live
    return sorted(((total / (len(ids) - 1) ** alpha, ids) for total, ids in complete), reverse=True)


@pytest.mark.parametrize("alpha", [0.6, *weekly(0.0, 1.0, 2.0)])
@pytest.mark.parametrize("use_cache", [True, False])
def test_beam_search_is_its_definition(device, use_cache, alpha):
    for seed, (beam_size, num_return) in enumerate([(2, 1), (3, 2), (5, 5), (4, 3)]):
        model = random_model(seed, device).double()
        sources = padded_sources(device)
        ids, scores = beam_search(
            model, sources, BOS, EOS, beam_size, 7, alpha, num_return, use_cache=use_cache
        )
        assert ids.shape[:2] == scores.shape == (4, num_return)
        longest = 1
        for source, rows, values in zip(sources, ids.tolist(), scores.tolist(), strict=True):
            expected = beam_by_hand(model, source[source != 0], beam_size, 7, alpha)[:num_return]
            assert values == pytest.approx([score for score, _ in expected], abs=1e-5)
            for row, (_, wanted) in zip(rows, expected, strict=True):
                assert row[: len(wanted)] == wanted
                assert set(row[len(wanted) :]) <= {0}
                longest = max(longest, len(wanted))
        assert ids.shape[2] == longest


class Scripted(Transformer):
    """A model whose next-token probabilities stand in a table, whatever the source."""

    def __init__(self, table):
        super().__init__(replace(CONFIG, tgt_vocab_size=6, num_decoder_layers=1))
        self.table = table
        self.dtype = torch.float32

    def decode(self, tgt, memory, memory_mask=None, cache=None, check_ids=True):
        if cache is not None:
            tgt = cache.begin(tgt, len(cache.layers))
            cache.keep(tgt)
        rows = [
            self.table.get(tuple(row[1:]), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]) for row in tgt.tolist()
        ]
        return torch.tensor(rows).log().to(self.dtype)[:, None]


# Greedy goes to 3 (0.6), after which everything is even; 4 (0.4) is followed by 5 for certain.
GARDEN_PATH = {
    (): [0.0, 0.0, 0.0, 0.6, 0.4, 0.0],
    (3,): [0.0, 0.0, 0.25, 0.25, 0.25, 0.25],
    (4,): [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
}


def test_beam_search_finds_what_greedy_misses():
    model, source = Scripted(GARDEN_PATH), torch.tensor([[3]])
    assert greedy_decode(model, source, BOS, EOS, 5)[0].tolist()[:2] == [BOS, 3]
    ids, scores = beam_search(model, source, BOS, EOS, 2, 5)
    assert ids[0, 0].tolist() == [BOS, 4, 5, EOS]
    assert scores[0, 0].exp().item() == pytest.approx(0.4)


def test_the_length_penalty_lets_the_longer_one_win():
    # The end at once: 0.35. Three tokens and the end: 0.4 * 0.7 * 0.7 * 1 = 0.196.
    table = {
        (): [0.0, 0.0, 0.35, 0.25, 0.4, 0.0],
        (4,): [0.0, 0.0, 0.0, 0.3, 0.0, 0.7],
        (4, 5): [0.0, 0.0, 0.0, 0.3, 0.0, 0.7],
    }
    model, source = Scripted(table), torch.tensor([[3]])
    short, total = beam_search(model, source, BOS, EOS, 3, 6)
    assert short[0, 0].tolist() == [BOS, EOS]
    assert total.exp().item() == pytest.approx(0.35)
    long, mean = beam_search(model, source, BOS, EOS, 3, 6, length_penalty=1.0)
    assert long[0, 0].tolist() == [BOS, 4, 5, 5, EOS]
    assert mean.item() == pytest.approx(torch.tensor(0.4 * 0.7 * 0.7).log().item() / 4)


def test_a_row_stops_as_soon_as_nothing_can_change_its_answer(monkeypatch):
    steps = []
    model = Scripted({(): [0.0, 0.0, 0.9, 0.05, 0.05, 0.0]})
    decode = model.decode
    monkeypatch.setattr(
        model, "decode", lambda tgt, *a, **k: steps.append(len(tgt)) or decode(tgt, *a, **k)
    )
    beam_search(model, torch.tensor([[3]]), BOS, EOS, 3, 20)
    assert steps == [1]  # the end has 0.9, and what is left has less already
    beam_search(model, torch.tensor([[3]]), BOS, EOS, 3, 20, num_return=3)
    assert steps == [1, 1, 3]  # the second and the third best take another step


def test_what_a_longer_answer_could_still_score_is_bounded_exactly(monkeypatch):
    # The end at once has the mean log 0.5 = -0.693; one token and another for certain, over two:
    # log 0.26 / 2 = -0.674, which is better, or log 0.24 / 2 = -0.714, which is worse.
    for other, steps in ((0.26, [1, 1]), (0.24, [1])):
        rest = (0.5 - other) / 4
        first = [rest, rest, 0.5, rest, other, rest]
        model = Scripted({(): first, (4,): [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]})
        read = tokens_read(monkeypatch, model)
        ids, _ = beam_search(model, torch.tensor([[3]]), BOS, EOS, 2, 3, length_penalty=1.0)
        assert ids[0, 0].tolist() == ([BOS, 4, 5] if other == 0.26 else [BOS, EOS])
        assert read == steps


def test_a_hypothesis_may_gain_up_to_the_longest_length():
    # The end at once: mean log 0.4 = -0.92. One token of 0.15 and six for certain: -0.27, though
    # over two tokens it would be -0.95.
    table = {(): [0.15, 0.15, 0.4, 0.0, 0.15, 0.15]}
    table |= {(4, *[5] * n): [0.0, 0.0, 0.0, 0.0, 0.0, 1.0] for n in range(6)}
    ids, scores = beam_search(
        Scripted(table), torch.tensor([[3]]), BOS, EOS, 5, 8, length_penalty=1.0
    )
    assert ids[0, 0].tolist() == [BOS, 4, 5, 5, 5, 5, 5, 5]
    assert scores.item() == pytest.approx(torch.tensor(0.15).log().item() / 7)


def test_scores_are_summed_in_float32_at_least():
    table = {(): [0.1, 0.2, 0.3, 0.1, 0.2, 0.1], (4,): [0.1, 0.2, 0.3, 0.15, 0.05, 0.2]}
    model = Scripted(table)
    model.dtype = torch.bfloat16
    ids, scores = beam_search(model, torch.tensor([[3]]), BOS, EOS, 6, 3, num_return=6)
    logits = {key: torch.tensor(row).log().bfloat16().float() for key, row in table.items()}
    gains = {key: row.log_softmax(-1) for key, row in logits.items()}
    best = {
        tuple(row[1:]): score
        for row, score in zip(ids[0].tolist(), scores[0].tolist(), strict=True)
    }
    assert scores.dtype == torch.float32
    assert best[2, 0] == pytest.approx(gains[()][2].item(), abs=1e-6)
    assert best[4, 2] == pytest.approx((gains[()][4] + gains[(4,)][2]).item(), abs=1e-6)


def test_impossible_hypotheses_are_padding():
    model = Scripted({})  # the end token, for certain
    ids, scores = beam_search(model, torch.tensor([[3]]), BOS, EOS, 3, 5, num_return=3)
    assert ids.tolist() == [[[BOS, EOS], [0, 0], [0, 0]]]
    assert scores.tolist() == [[0.0, -torch.inf, -torch.inf]]


def test_fewer_hypotheses_than_asked_for_are_padding(device):
    model = random_model(0, device)
    ids, scores = beam_search(model, padded_sources(device), BOS, EOS, 3, 1, num_return=2)
    assert ids.tolist() == [[[BOS], [0]]] * 4
    assert scores.tolist() == [[0.0, -torch.inf]] * 4


def test_beam_search_keeps_the_mode_of_the_model(device):
    model = random_model(0, device, dropout=0.5).train()
    first, _ = beam_search(model, padded_sources(device), BOS, EOS, 3, 8)
    assert torch.equal(first, beam_search(model, padded_sources(device), BOS, EOS, 3, 8)[0])
    assert model.training


# --- sampling -----------------------------------------------------------------------------------


def seeded(device, seed=0):
    return torch.Generator(device).manual_seed(seed)


@pytest.mark.parametrize("choice", [{}, {"top_k": 3}, {"top_p": 0.7}, {"top_k": 4, "top_p": 0.8}])
def test_samples_follow_the_filtered_distribution(device, choice):
    model = random_model(1, device)
    source = padded_sources(device)[:1]
    with torch.no_grad():
        memory = model.encode(source, padding_mask(source, 0))
        logits = model.decode(
            torch.tensor([[BOS]], device=device), memory, memory_mask=padding_mask(source, 0)
        )[0, -1]
    expected = filter_logits(logits / 2.5, **choice).softmax(-1).cpu()
    draws = 4000
    ids = sample(
        model, source.expand(draws, -1), BOS, EOS, 2, 2.5, generator=seeded(device), **choice
    )
    counts = ids[:, 1].cpu().bincount(minlength=9)
    assert (counts[expected == 0] == 0).all()
    allowed = expected > 0
    surprise = (counts - draws * expected)[allowed].square() / (draws * expected[allowed])
    assert surprise.sum() < 26.1  # chi-square, 8 degrees of freedom: passed by 99.9%
    assert allowed.sum() > 1


def test_samples_are_the_same_with_the_cache_and_by_seed(device):
    model = random_model(0, device).double()
    sources = padded_sources(device)
    usual = {"temperature": 3.0, "top_k": 7, "top_p": 0.95}
    first = sample(model, sources, BOS, EOS, 15, **usual, generator=seeded(device))
    again = sample(model, sources, BOS, EOS, 15, **usual, generator=seeded(device), use_cache=False)
    assert torch.equal(first, again)
    other = sample(model, sources, BOS, EOS, 15, **usual, generator=seeded(device, 1))
    assert first.shape != other.shape or not torch.equal(first, other)


def test_the_temperature_is_one_unless_said(device):
    model, sources = random_model(0, device), padded_sources(device)
    first = sample(model, sources, BOS, EOS, 12, generator=seeded(device))
    again = sample(model, sources, BOS, EOS, 12, temperature=1.0, generator=seeded(device))
    other = sample(model, sources, BOS, EOS, 12, temperature=2.0, generator=seeded(device))
    assert torch.equal(first, again)
    assert first.shape != other.shape or not torch.equal(first, other)


def test_a_low_temperature_does_not_overflow_in_float16():
    model = random_model(2, "cpu").half()
    expected = greedy_decode(model, padded_sources("cpu"), BOS, EOS, 12)
    assert torch.equal(sample(model, padded_sources("cpu"), BOS, EOS, 12, 1e-5), expected)


@pytest.mark.parametrize("choice", [{"top_k": 0}, {"top_p": 0.0}])
def test_bad_choices_are_refused_before_any_work_is_done(choice, monkeypatch):
    model = random_model(0, "cpu")
    monkeypatch.setattr(model, "encode", lambda *a: pytest.fail("the source was encoded"))
    with pytest.raises(ValueError, match="top_"):
        sample(model, padded_sources("cpu"), BOS, EOS, 12, **choice)


def kept(logits, **choice):
    return filter_logits(torch.tensor(logits), **choice).isfinite().tolist()


def test_filter_logits_by_hand():
    probabilities = torch.tensor([0.1, 0.4, 0.05, 0.3, 0.15]).log().tolist()
    assert kept(probabilities, top_k=2) == [False, True, False, True, False]
    assert kept(probabilities, top_k=9) == [True] * 5
    # 0.4 and 0.3 are not yet 0.75, so the token that crosses the line stays.
    assert kept(probabilities, top_p=0.75) == [False, True, False, True, True]
    assert kept(probabilities, top_p=0.65) == [False, True, False, True, False]
    assert kept(probabilities, top_p=0.1) == [False, True, False, False, False]
    # After top-k the two that stay have 4/7 and 3/7 of the probability.
    assert kept(probabilities, top_k=2, top_p=0.55) == [False, True, False, False, False]
    assert kept(probabilities, top_p=0.55) == [False, True, False, True, False]
    assert kept(probabilities, top_p=1.0) == [True] * 5
    assert kept(probabilities, top_p=1e-30) == [False, True, False, False, False]
    # Exact powers of two: 0.5 is reached by the first token alone.
    assert kept(torch.tensor([0.5, 0.25, 0.25]).log().tolist(), top_p=0.5) == [True, False, False]
    assert kept([1.0, 1.0, 1.0], top_k=2) != [True] * 3  # of equals too, only two stay
    assert kept([2.0, 1.0, 1.0]) == [True] * 3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_filter_logits_keeps_values_dtype_and_input(device, dtype):
    logits = torch.randn(2, 3, 11, device=device).to(dtype)
    before = logits.clone()
    result = filter_logits(logits, top_k=6, top_p=0.8)
    assert result.dtype == dtype
    assert torch.equal(logits, before)
    stay = result.isfinite()
    assert torch.equal(result[stay], logits[stay])
    assert (stay.sum(-1) >= 1).all()
    assert (stay.sum(-1) <= 6).all()


USUAL = {"src": torch.tensor([[3]]), "bos_id": BOS, "eos_id": EOS, "max_len": 5}


def test_a_generator_of_another_device_is_named():
    class Elsewhere:
        device = torch.device("meta")

    with pytest.raises(ValueError, match="generator must be on cpu like the ids, got meta"):
        sample(random_model(0, "cpu"), **USUAL, generator=Elsewhere())


@pytest.mark.parametrize("tie_weights", ["none", "target", "all"])
def test_a_copy_for_decoding_computes_the_same_from_weights_that_lie_otherwise(
    device, tie_weights, tmp_path
):
    model = random_model(3, device, tie_weights=tie_weights, tgt_vocab_size=11).train()
    copied = copy_for_decoding(model)
    assert model.training
    assert not copied.training
    for (name, weight), ours in zip(copied.named_parameters(), model.parameters(), strict=True):
        assert ours.is_contiguous()
        assert torch.equal(weight, ours)
        lies_by_inputs = weight.ndim == 2 and "embedding" not in name
        assert weight.is_contiguous() != lies_by_inputs
    sources = padded_sources(device)
    memory = model.eval().encode(sources)
    tgt = torch.tensor([[BOS, 3, 4]] * len(sources), device=device)
    torch.testing.assert_close(copied.decode(tgt, memory), model.decode(tgt, memory))
    answers = [greedy_decode(each, sources, BOS, EOS, 12) for each in (model, copied)]
    assert torch.equal(*answers)
    copied.save_pretrained(tmp_path)
    loaded = Transformer.from_pretrained(tmp_path)
    assert all(
        torch.equal(a.cpu(), b.cpu())
        for a, b in zip(loaded.parameters(), copied.parameters(), strict=True)
    )


# ---- what a large vocabulary, half precision and broken weights do -------------------------------

GPT2_VOCABULARY = 50_257


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_top_p_of_one_keeps_every_token(dtype):
    logits = 3 * torch.randn(4, GPT2_VOCABULARY, generator=seeded("cpu"))
    assert torch.equal(filter_logits(logits.to(dtype), top_p=1.0), logits.to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("top_p", [0.1, 0.9, 0.999])
def test_what_is_kept_has_top_p_and_no_token_too_many(dtype, top_p):
    logits = torch.randn(4, GPT2_VOCABULARY, generator=seeded("cpu")).to(dtype)
    result = filter_logits(logits, top_p=top_p)
    assert result.dtype == dtype
    probabilities = logits.double().softmax(dim=-1)
    kept = probabilities.masked_fill(result.isinf(), 0.0)
    least = kept.masked_fill(result.isinf(), 2.0).amin(dim=-1)
    assert (kept.sum(dim=-1) >= top_p - 1e-5).all()
    assert (kept.sum(dim=-1) - least < top_p + 1e-5).all()


@pytest.mark.parametrize("temperature", [1e-320, 1e-38, 1e38, 1e300, 10**400, float("inf")])
def test_any_temperature_above_zero_can_be_drawn_from(temperature):
    logits = torch.tensor([[1.0, 5.0, -torch.inf, 3.0]]).expand(200, -1)
    choose = random_choice(temperature, None, None, seeded("cpu"), torch.device("cpu"))
    drawn = set(choose(logits).tolist())
    assert drawn == ({1} if temperature < 1 else {0, 1, 3})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    "decode",
    [
        lambda model, src: greedy_decode(model, src, BOS, EOS, 8),
        lambda model, src: sample(model, src, BOS, EOS, 8),
        lambda model, src: beam_search(model, src, BOS, EOS, 3, 8),
    ],
    ids=["greedy", "sample", "beam"],
)
def test_a_model_that_computes_no_numbers_is_an_error(decode, value, device):
    model = random_model(0, device)
    with torch.no_grad():
        model.output_proj.weight[3] = value
    src = torch.tensor([[4, 5, 6]], device=device)
    with pytest.raises(ValueError, match="model must give finite logits, got NaN"):
        decode(model, src)
