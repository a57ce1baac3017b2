"""What must hold for any search, on models drawn from a seed: cache, batch, beam, true best."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.package.examples import PAD, small_config
from transformer_ref.decoding import beam_search, greedy_decode, sample
from transformer_ref.gpt import GPT, GPTConfig, generate
from transformer_ref.masks import padding_mask
from transformer_ref.model import Transformer

pytestmark = pytest.mark.usefixtures("default_device")

# No search for a smaller example: weights from a smaller seed are no simpler.
FEW = settings(
    max_examples=8, deadline=None, database=None, derandomize=True, phases=[Phase.generate]
)
SEEDS = st.integers(0, 2**31 - 1)
LENGTHS = st.integers(2, 6)
NORMS = st.sampled_from(["post", "pre"])
PENALTIES = st.sampled_from([0.0, 0.6, 1.0])
BOS, EOS, LONGEST, ROWS = 1, 2, 8, 4

Search = Callable[[nn.Module, Tensor, bool], tuple[Tensor, ...]]


def drawn(kind: type[nn.Module], norm: str, vocab_size: int = 7) -> nn.Module:
    """A model with so few tokens and so strong weights that ends come early and late."""
    if kind is Transformer:
        config = small_config(tgt_vocab_size=vocab_size, num_decoder_layers=2, norm=norm)
    else:
        sizes = {"d_model": 12, "num_heads": 3, "num_layers": 2, "d_ff": 20, "max_len": 16}
        config = GPTConfig(vocab_size, **sizes, norm=norm)
    model = kind(config).to(torch.get_default_device(), torch.float64).eval()
    for name, parameter in model.named_parameters():
        nn.init.normal_(parameter, mean=float("norm" in name and "weight" in name), std=0.5)
    return model


def starts(kind: type[nn.Module], length: int) -> Tensor:
    """Sources (B, S), two of them padded, or prompts of a GPT, which are not."""
    ids = torch.randint(3, 7, (ROWS, length))
    if kind is Transformer:
        ids[1::2, length // 2 + 1 :] = PAD
    return ids


def greedily(model: nn.Module, src: Tensor, use_cache: bool) -> tuple[Tensor, ...]:
    return (greedy_decode(model, src, BOS, EOS, LONGEST, use_cache=use_cache),)


def with_a_beam(model: nn.Module, src: Tensor, use_cache: bool) -> tuple[Tensor, ...]:
    search = {"beam_size": 3, "length_penalty": 0.7, "num_return": 2}
    return beam_search(model, src, BOS, EOS, max_len=LONGEST, **search, use_cache=use_cache)


def by_chance(model: nn.Module, src: Tensor, use_cache: bool) -> tuple[Tensor, ...]:
    choice = {"temperature": 1.3, "top_k": 5, "top_p": 0.95, "generator": seeded(src.device)}
    return (sample(model, src, BOS, EOS, LONGEST, **choice, use_cache=use_cache),)


def gpt_greedily(model: nn.Module, prompt: Tensor, use_cache: bool) -> tuple[Tensor, ...]:
    return (generate(model, prompt, LONGEST, eos_id=EOS, use_cache=use_cache),)


def gpt_by_chance(model: nn.Module, prompt: Tensor, use_cache: bool) -> tuple[Tensor, ...]:
    choice = {"temperature": 0.8, "top_k": 5, "generator": seeded(prompt.device)}
    return (generate(model, prompt, LONGEST, eos_id=EOS, **choice, use_cache=use_cache),)


def seeded(device: torch.device) -> torch.Generator:
    return torch.Generator(device).manual_seed(1)


KINDS: dict[Search, type[nn.Module]] = {
    greedily: Transformer,
    with_a_beam: Transformer,
    by_chance: Transformer,
    gpt_greedily: GPT,
    gpt_by_chance: GPT,
}


def assert_same(actual: tuple[Tensor, ...], expected: tuple[Tensor, ...], fill: int = PAD) -> None:
    """Compare ids, of which one side may be filled up further, and scores."""
    longest = max(actual[0].shape[-1], expected[0].shape[-1])
    ids = [
        nn.functional.pad(side[0], (0, longest - side[0].shape[-1]), value=fill)
        for side in (actual, expected)
    ]
    assert torch.equal(*ids)
    for score, expected_score in zip(actual[1:], expected[1:], strict=True):
        torch.testing.assert_close(score, expected_score, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("search", KINDS)
@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS)
def test_the_cache_changes_nothing(search: Search, seed: int, length: int, norm: str) -> None:
    torch.manual_seed(seed)
    model, start = drawn(KINDS[search], norm), starts(KINDS[search], length)
    with_cache, without = search(model, start, True), search(model, start, False)
    assert with_cache[0].shape == without[0].shape
    assert_same(with_cache, without)


@pytest.mark.parametrize("search", [greedily, with_a_beam, gpt_greedily])
@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS)
def test_a_row_alone_is_answered_as_in_the_batch(
    search: Search, seed: int, length: int, norm: str
) -> None:
    torch.manual_seed(seed)
    model, start = drawn(KINDS[search], norm), starts(KINDS[search], length)
    together = search(model, start, True)
    for row in range(ROWS):
        alone = search(model, start[row : row + 1], True)
        fill = EOS if KINDS[search] is GPT else PAD
        assert_same(alone, tuple(part[row : row + 1] for part in together), fill)


@pytest.mark.parametrize("search", [greedily, with_a_beam, by_chance])
@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS, extra=st.integers(1, 5))
def test_more_padding_changes_no_answer(
    search: Search, seed: int, length: int, norm: str, extra: int
) -> None:
    torch.manual_seed(seed)
    model, src = drawn(Transformer, norm), starts(Transformer, length)
    longer = nn.functional.pad(src, (0, extra), value=PAD)
    assert_same(search(model, longer, True), search(model, src, True))


@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS, penalty=PENALTIES)
def test_a_beam_of_one_is_greedy(seed: int, length: int, norm: str, penalty: float) -> None:
    torch.manual_seed(seed)
    model, src = drawn(Transformer, norm), starts(Transformer, length)
    ids, _ = beam_search(model, src, BOS, EOS, 1, LONGEST, length_penalty=penalty)
    assert_same((ids[:, 0],), greedily(model, src, True))


@FEW
@given(seed=SEEDS, length=LENGTHS, norm=NORMS)
def test_drawing_from_the_likeliest_alone_is_greedy(seed: int, length: int, norm: str) -> None:
    torch.manual_seed(seed)
    model, src = drawn(Transformer, norm), starts(Transformer, length)
    for cut in ({"top_k": 1}, {"top_p": 1e-9}, {"temperature": 1e-9}):
        assert_same((sample(model, src, BOS, EOS, LONGEST, **cut),), greedily(model, src, True))


@torch.no_grad()
def all_answers(
    model: nn.Module, src: Tensor, vocab_size: int, max_len: int, penalty: float
) -> list[tuple[float, list[int]]]:
    """Every answer to one source (1, S) with its score, best first, by teacher forcing.

    A sequence ends with its first end token or at max_len.
    """
    token_ids = torch.arange(vocab_size)
    tokens = torch.cartesian_prod(*[token_ids] * (max_len - 1)).view(-1, max_len - 1)
    ids = nn.functional.pad(tokens, (1, 0), value=BOS)
    seen = padding_mask(src, PAD)
    memory = model.encode(src, seen).expand(len(ids), -1, -1)
    log_probs = model.decode(ids[:, :-1], memory, memory_mask=seen).log_softmax(dim=-1)
    said = log_probs.gather(-1, tokens[:, :, None]).squeeze(-1)
    scores = {}
    for row, log_prob in zip(tokens.tolist(), said.tolist(), strict=True):
        n = row.index(EOS) + 1 if EOS in row else max_len - 1
        scores[(BOS, *row[:n])] = sum(log_prob[:n]) / n**penalty
    return sorted(((score, list(answer)) for answer, score in scores.items()), reverse=True)


@FEW
@given(
    seed=SEEDS,
    norm=NORMS,
    penalty=PENALTIES,
    size=st.sampled_from([(3, 7), (4, 5), (6, 4), (9, 3)]),
    num_return=st.sampled_from([1, 2, 6]),
)
def test_a_beam_as_wide_as_all_sequences_finds_the_best(
    seed: int, norm: str, penalty: float, size: tuple[int, int], num_return: int
) -> None:
    vocab_size, max_len = size
    torch.manual_seed(seed)
    model, src = drawn(Transformer, norm, vocab_size), starts(Transformer, 4)
    widest = vocab_size ** (max_len - 1)
    ids, scores = beam_search(model, src, BOS, EOS, widest, max_len, penalty, num_return)
    for row in range(ROWS):
        best = all_answers(model, src[row : row + 1], vocab_size, max_len, penalty)[:num_return]
        expected = [answer + [PAD] * (ids.shape[-1] - len(answer)) for _, answer in best]
        assert ids[row].tolist() == expected
        assert scores[row].tolist() == pytest.approx([score for score, _ in best], abs=1e-9)


@FEW
@given(seed=SEEDS, norm=NORMS, penalty=PENALTIES, beam_size=st.integers(1, 5))
def test_the_score_of_a_beam_is_that_of_the_answer(
    seed: int, norm: str, penalty: float, beam_size: int
) -> None:
    torch.manual_seed(seed)
    model, src = drawn(Transformer, norm, vocab_size=5), starts(Transformer, 4)
    ids, scores = beam_search(
        model, src, BOS, EOS, beam_size, 4, length_penalty=penalty, num_return=beam_size
    )
    for row in range(ROWS):
        true = {
            tuple(answer + [PAD] * (ids.shape[-1] - len(answer))): score
            for score, answer in all_answers(model, src[row : row + 1], 5, 4, penalty)
        }
        found = [tuple(answer) for answer in ids[row].tolist()]
        assert len(set(found)) == beam_size
        assert scores[row].tolist() == pytest.approx([true[answer] for answer in found], abs=1e-9)
        assert scores[row].tolist() == sorted(scores[row].tolist(), reverse=True)
