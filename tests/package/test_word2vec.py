"""word2vec: the loss and its hand-written gradient, what is drawn, neighbours, files, training."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
from gensim.models import KeyedVectors, Word2Vec
from torch import Tensor

from transformer_ref import word2vec
from transformer_ref.data import load_addresses
from transformer_ref.word2vec import (
    CBOW,
    SkipGram,
    _descend,
    _Predictions,
    analogy,
    context_windows,
    keep_probability,
    load_vectors,
    nearest_neighbours,
    negative_sampling_loss,
    noise_distribution,
    save_vectors,
    train_word2vec,
)

MODELS = pytest.mark.parametrize("kind", [SkipGram, CBOW])


def spread(model: SkipGram | CBOW) -> SkipGram | CBOW:
    """The model with weights large enough that no sigmoid is near 1/2."""
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model


# --- the loss ---------------------------------------------------------------------------------


def test_loss_is_the_papers_formula(device: torch.device) -> None:
    center, positive = torch.randn(2, 4, 6, dtype=torch.float64, device=device)
    negatives = torch.randn(4, 3, 6, dtype=torch.float64, device=device)
    expected = 0.0
    for b in range(4):
        expected -= math.log(1 / (1 + math.exp(-float(center[b] @ positive[b]))))
        for n in range(3):
            expected -= math.log(1 / (1 + math.exp(float(center[b] @ negatives[b, n]))))
    loss = negative_sampling_loss(center, positive, negatives)
    assert loss.item() == pytest.approx(expected / 4, rel=1e-12)


@pytest.mark.parametrize("product", [-200.0, 200.0])
def test_loss_and_gradient_are_finite_far_out(device: torch.device, product: float) -> None:
    center = torch.full((1, 1), product, device=device, requires_grad=True)
    one = torch.ones(1, 1, device=device)
    loss = negative_sampling_loss(center, one, one.unsqueeze(1))
    loss.backward()
    assert loss.item() == pytest.approx(200.0)
    assert center.grad.item() == pytest.approx(math.copysign(1.0, product))


def test_skip_gram_scores_input_rows_against_output_rows(device: torch.device) -> None:
    model = spread(SkipGram(7, 5)).to(device)
    center, context = torch.tensor([[1, 1, 6], [2, 0, 1]], device=device)
    negatives = torch.tensor([[3, 3], [0, 5], [6, 2]], device=device)
    inputs, outputs = model.weight, model.output_embedding.weight
    expected = negative_sampling_loss(inputs[center], outputs[context], outputs[negatives])
    assert torch.equal(model(center, context, negatives), expected)


def test_cbow_takes_the_mean_of_the_neighbours_that_are_there(device: torch.device) -> None:
    model = spread(CBOW(7, 5)).to(device)
    contexts = torch.tensor([[1, 4, 6], [2, 0, 1]], device=device)
    mask = torch.tensor([[True, True, False], [False, True, False]], device=device)
    center, negatives = (
        torch.tensor([5, 3], device=device),
        torch.tensor([[3], [6]], device=device),
    )
    inputs, outputs = model.weight, model.output_embedding.weight
    means = torch.stack([(inputs[1] + inputs[4]) / 2, inputs[0]])
    expected = negative_sampling_loss(means, outputs[center], outputs[negatives])
    torch.testing.assert_close(model(contexts, center, negatives, mask), expected)

    means = torch.stack([inputs[[1, 4, 6]].mean(0), inputs[[2, 0, 1]].mean(0)])
    expected = negative_sampling_loss(means, outputs[center], outputs[negatives])
    torch.testing.assert_close(model(contexts, center, negatives), expected)


@MODELS
def test_first_weights_are_those_of_word2vec(kind: type[SkipGram | CBOW]) -> None:
    model = kind(300, 50)
    assert 0.0099 < model.weight.abs().max() <= 0.01  # uniform in +-0.5/D
    assert model.weight.std().item() == pytest.approx(0.01 / math.sqrt(3), rel=0.02)
    assert not model.output_embedding.weight.any()
    before = model.weight.detach().clone()
    model.reset_parameters()
    assert not torch.equal(model.weight, before)


# --- the hand-written step --------------------------------------------------------------------


def stepped_by_autograd(model: SkipGram | CBOW, loss: Tensor, learning_rate: float) -> list[Tensor]:
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    steps = zip(model.parameters(), gradients, strict=True)
    return [(x - learning_rate * gradient).detach() for x, gradient in steps]


def test_step_is_that_of_autograd_on_the_loss_of_skip_gram(device: torch.device) -> None:
    model = spread(SkipGram(7, 5)).double().to(device)
    # Rows that come more than once, and a drawn word that is also the one to predict.
    center, context = torch.tensor([[1, 1, 6, 1], [2, 0, 1, 2]], device=device)
    noise = torch.tensor([3, 3, 2], device=device)
    loss = model(center, context, noise.expand(4, 3))
    expected = stepped_by_autograd(model, 4 * loss, 0.3)
    shares = torch.ones(4, 1, dtype=torch.float64, device=device)
    total = _descend(model, _Predictions(center.unsqueeze(1), shares, context), noise, 3, 0.3)
    assert total.item() == pytest.approx(4 * loss.item(), rel=1e-12)
    torch.testing.assert_close(list(model.parameters()), expected, rtol=0, atol=1e-12)


def test_step_is_that_of_autograd_on_the_loss_of_cbow(device: torch.device) -> None:
    model = spread(CBOW(7, 5)).double().to(device)
    contexts = torch.tensor([[1, 4, 1], [2, 0, 6], [1, 1, 3]], device=device)
    mask = torch.tensor(
        [[True, True, False], [True, True, True], [False, True, True]], device=device
    )
    center, noise = torch.tensor([5, 3, 5], device=device), torch.tensor([3, 0], device=device)
    loss = model(contexts, center, noise.expand(3, 2), mask)
    expected = stepped_by_autograd(model, 3 * loss, 0.3)
    shares = mask.double() / mask.sum(1, keepdim=True)
    total = _descend(model, _Predictions(contexts, shares, center), noise, 2, 0.3)
    assert total.item() == pytest.approx(3 * loss.item(), rel=1e-12)
    torch.testing.assert_close(list(model.parameters()), expected, rtol=0, atol=1e-12)


def test_shared_noise_counts_for_as_many_words_as_are_asked(device: torch.device) -> None:
    """The step on S shared words is the mean of the steps on each N of them."""
    model = spread(SkipGram(7, 5)).double().to(device)
    center, context = torch.tensor([[1, 4], [2, 0]], device=device)
    noise = torch.tensor([3, 5, 2, 6], device=device)
    pairs = torch.combinations(noise, 2)
    losses = [2 * model(center, context, pair.expand(2, 2)) for pair in pairs]
    loss = torch.stack(losses).mean()
    expected = stepped_by_autograd(model, loss, 0.3)
    shares = torch.ones(2, 1, dtype=torch.float64, device=device)
    total = _descend(model, _Predictions(center.unsqueeze(1), shares, context), noise, 2, 0.3)
    assert total.item() == pytest.approx(loss.item(), rel=1e-12)
    torch.testing.assert_close(list(model.parameters()), expected, rtol=0, atol=1e-12)


# --- what is drawn ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def zipf() -> tuple[Tensor, Word2Vec]:
    """Counts that fall like those of words, and gensim's tables for them."""
    counts = torch.tensor([9000 // rank for rank in range(1, 60)])
    model = Word2Vec(vector_size=4, sample=1e-3, ns_exponent=0.75, min_count=1)
    model.build_vocab_from_freq({str(word): int(count) for word, count in enumerate(counts)})
    return counts, model


def test_subsampling_keeps_words_as_gensim_does(zipf: tuple[Tensor, Word2Vec]) -> None:
    counts, gensim = zipf
    theirs = [gensim.wv.get_vecattr(str(word), "sample_int") for word in range(len(counts))]
    ours = keep_probability(counts, 1e-3)
    np.testing.assert_allclose(ours, np.array(theirs) / 2**32, rtol=1e-5)
    assert ours[0] < 0.1
    assert ours[-1] < 1


def test_rare_words_are_always_kept_and_zero_keeps_all() -> None:
    counts = torch.tensor([1_000_000, 100, 0])
    assert keep_probability(counts, 1e-3)[1:].tolist() == [1.0, 1.0]
    assert keep_probability(counts, 0.0).tolist() == [1.0, 1.0, 1.0]


def test_noise_follows_the_counts_to_three_quarters_as_in_gensim(
    zipf: tuple[Tensor, Word2Vec],
) -> None:
    counts, gensim = zipf
    order = [gensim.wv.key_to_index[str(word)] for word in range(len(counts))]
    theirs = np.diff(gensim.cum_table, prepend=0)[order] / gensim.cum_table[-1]
    ours = noise_distribution(counts)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert noise_distribution(torch.tensor([16, 0, 81])).tolist() == pytest.approx(
        [8 / 35, 0, 27 / 35]
    )


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[_Predictions, Tensor, int, float]]:
    """What training hands to each step, which is still taken."""
    taken: list[tuple[_Predictions, Tensor, int, float]] = []

    def spy(model: Any, *arguments: Any) -> Tensor:
        taken.append(arguments)
        return _descend(model, *arguments)

    monkeypatch.setattr(word2vec, "_descend", spy)
    return taken


def test_near_neighbours_are_used_more_often_than_far_ones(device: torch.device, steps) -> None:
    words = 20_000
    train_word2vec(
        SkipGram(words, 1).to(device), [range(words)], window=4, sample=0, epochs=1, batch_size=5000
    )
    distances = torch.cat([batch.predicted - batch.words[:, 0] for batch, *_ in steps])
    counts = Counter(distances.tolist())
    assert set(counts) == {-4, -3, -2, -1, 1, 2, 3, 4}
    # A reach is drawn from 1 to 4: distance d is inside with the chance (5 - d) / 4.
    expected = {d: (words - abs(d)) * (5 - abs(d)) / 4 for d in counts}
    assert counts[1] == pytest.approx(words, abs=words / 100)
    observed = np.array([counts[d] for d in expected])
    scaled = np.array(list(expected.values())) * observed.sum() / sum(expected.values())
    assert scipy.stats.chisquare(observed, scaled).pvalue > 0.001


def test_noise_words_come_as_their_distribution_says(device: torch.device, steps) -> None:
    counts = torch.tensor([400, 200, 100, 50, 10, 0])
    sentence = [word for word, count in enumerate(counts.tolist()) for _ in range(count)]
    train_word2vec(SkipGram(6, 2).to(device), [sentence], sample=0, epochs=8, noise_size=100)
    drawn = torch.cat([noise for _, noise, *_ in steps])
    assert all(noise.shape == (100,) for _, noise, *_ in steps)
    observed = torch.bincount(drawn.cpu(), minlength=6)
    assert observed[5] == 0
    expected = noise_distribution(counts)[:5].double() * len(drawn)
    expected *= observed.sum() / expected.sum()
    assert len(drawn) > 5000
    assert scipy.stats.chisquare(observed[:5], expected).pvalue > 0.001


def test_frequent_words_are_thinned_out_before_the_windows_are_laid(steps) -> None:
    """Word 0 is every second word; where it is left out, words at its sides become neighbours."""
    words = 4000
    sentence = [x for word in range(1, words + 1) for x in (0, word)]
    keep = keep_probability(torch.bincount(torch.tensor(sentence)), 1e-3)
    train_word2vec(SkipGram(words + 1, 2), [sentence], window=1, sample=1e-3, epochs=1)
    centers = torch.cat([batch.words[:, 0] for batch, *_ in steps])
    predicted = torch.cat([batch.predicted for batch, *_ in steps])
    # Each of the kept words but the two at the ends has two neighbours.
    kept = (centers == 0).sum().item() / 2
    assert kept == pytest.approx(keep[0].item() * words, abs=4 * math.sqrt(keep[0] * words))
    assert ((predicted - centers).abs() == 1).sum() > words
    assert (centers != 0).sum() >= 2 * words - 2


def test_each_epoch_draws_anew_and_learns_from_every_prediction_once(steps) -> None:
    train_word2vec(SkipGram(50, 2), [range(50)], window=3, sample=0, epochs=2, batch_size=16)
    sizes = [len(batch.predicted) for batch, *_ in steps]
    ends = [i + 1 for i, size in enumerate(sizes) if size < 16]
    epochs = [steps[: ends[0]], steps[ends[0] :]]
    pairs = [
        [
            (int(c), int(p))
            for batch, *_ in epoch
            for c, p in zip(batch.words, batch.predicted, strict=True)
        ]
        for epoch in epochs
    ]
    for epoch in pairs:
        assert len(set(epoch)) == len(epoch)
        assert epoch != sorted(epoch)
        assert {(w, w + 1) for w in range(49)} | {(w + 1, w) for w in range(49)} <= set(epoch)
    assert set(pairs[0]) != set(pairs[1])


def test_no_word_predicts_one_of_another_sentence(steps) -> None:
    train_word2vec(SkipGram(5, 2), [[0, 1, 2], [], [3, 4]], window=9, sample=0, epochs=20)
    pairs = {
        (word, other)
        for batch, *_ in steps
        for word, other in zip(batch.words[:, 0].tolist(), batch.predicted.tolist(), strict=True)
    }
    assert pairs == {(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (3, 4), (4, 3)}


@pytest.mark.parametrize(("kind", "first"), [(SkipGram, 0.025), (CBOW, 0.1)])
def test_learning_rate_falls_linearly(steps, kind: type[SkipGram | CBOW], first: float) -> None:
    train_word2vec(kind(50, 2), [range(50)], sample=0, epochs=4, batch_size=7)
    rates = torch.tensor([rate for *_, rate in steps], dtype=torch.float64)
    assert rates[0] == first
    falls = -rates.diff()
    assert len(rates) > 25
    assert falls.min() > 0
    # Epochs differ a little in length, as windows are drawn.
    assert falls.max() < 1.5 * falls.min()
    assert rates[-1].item() == pytest.approx(1e-4 + falls[-1].item(), rel=1e-6)


def test_rates_and_negatives_that_are_asked_for_are_used(steps) -> None:
    train_word2vec(
        SkipGram(9, 2),
        [range(9)],
        sample=0,
        epochs=1,
        negatives=3,
        learning_rate=0.5,
        min_learning_rate=0.5,
    )
    assert {(negatives, rate) for *_, negatives, rate in steps} == {(3, 0.5)}


@pytest.mark.parametrize(("vocab_size", "size"), [(9, 16), (400, 100), (5000, 512)])
def test_small_vocabularies_get_small_batches(steps, vocab_size: int, size: int) -> None:
    train_word2vec(SkipGram(vocab_size, 1), [[1, 2] * 300], sample=0, epochs=1, window=1)
    assert len(steps[0][0].predicted) == size


# --- windows ----------------------------------------------------------------------------------


def neighbours_by_loops(sentences: list[list[int]], reach: list[int]) -> Iterator[list[int]]:
    place = 0
    for words in sentences:
        for here in range(len(words)):
            near = range(here - reach[place], here + reach[place] + 1)
            yield [words[there] for there in near if there != here and 0 <= there < len(words)]
            place += 1


def test_windows_hold_what_loops_find(device: torch.device) -> None:
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        lengths = torch.randint(1, 9, (12,), generator=generator)
        ids = torch.randint(0, 30, (int(lengths.sum()),), generator=generator)
        reach = torch.randint(1, 5, ids.shape, generator=generator)
        sentences = [part.tolist() for part in ids.split(lengths.tolist())]
        sentence = torch.repeat_interleave(lengths)
        contexts, mask = context_windows(*(x.to(device) for x in (ids, sentence, reach)))
        found = [row[seen].tolist() for row, seen in zip(contexts, mask, strict=True)]
        assert found == list(neighbours_by_loops(sentences, reach.tolist()))


def test_no_words_have_no_windows() -> None:
    nothing = torch.zeros(0, dtype=torch.int64)
    contexts, mask = context_windows(nothing, nothing, nothing)
    assert contexts.shape == mask.shape == (0, 0)


WINDOWS = (
    torch.tensor([7, 8, 9]),
    torch.tensor([[0, 8], [7, 9], [8, 0]]),
    torch.tensor([[False, True], [True, True], [False, False]]),
)


def test_skip_gram_predicts_each_neighbour_from_the_word() -> None:
    words, shares, predicted = SkipGram(10, 2).double()._predictions(*WINDOWS)
    assert words.tolist() == [[7], [8], [8]]
    assert predicted.tolist() == [8, 7, 9]
    assert shares.dtype == torch.float64
    assert shares.tolist() == [[1.0]] * 3


def test_cbow_predicts_the_word_from_its_neighbours() -> None:
    words, shares, predicted = CBOW(10, 2).double()._predictions(*WINDOWS)
    assert words.tolist() == [[0, 8], [7, 9]]
    assert shares.dtype == torch.float64
    assert shares.tolist() == [[0.0, 1.0], [0.5, 0.5]]
    assert predicted.tolist() == [7, 8]


# --- training ---------------------------------------------------------------------------------


def planted(seed: int = 0, sentences: int = 300) -> list[list[int]]:
    """Sentences about one of three topics (of five words each) with words that any may have."""
    draw = np.random.default_rng(seed)
    return [
        [
            int(5 * topic + draw.integers(5)) if draw.random() < 0.7 else int(15 + draw.integers(5))
            for _ in range(8)
        ]
        for topic in draw.integers(3, size=sentences)
    ]


@MODELS
def test_words_of_a_topic_become_neighbours(
    device: torch.device, kind: type[SkipGram | CBOW]
) -> None:
    model = kind(20, 8).to(device)
    losses = train_word2vec(model, planted(), sample=0, epochs=10)
    assert model.weight.device.type == device.type
    assert losses[-1] < losses[0] - 0.1
    for word in range(15):
        topic = set(range(word // 5 * 5, word // 5 * 5 + 5))
        assert set(nearest_neighbours(model.weight, word, 4)) == topic - {word}


@MODELS
def test_untrained_loss_is_one_bit_a_word(kind: type[SkipGram | CBOW]) -> None:
    """All scores are 0 at first, and a rate of 0 leaves them so."""
    model = kind(20, 8)
    losses = train_word2vec(
        model, planted(), epochs=2, negatives=3, learning_rate=0.0, min_learning_rate=0.0, sample=0
    )
    assert losses == pytest.approx([4 * math.log(2)] * 2, rel=1e-5)


@MODELS
def test_training_follows_the_seed_and_leaves_torchs_own_alone(kind: type[SkipGram | CBOW]) -> None:
    def train(seed: int) -> tuple[list[float], Tensor]:
        torch.manual_seed(0)
        model = kind(20, 8)
        before = torch.get_rng_state()
        losses = train_word2vec(model, planted(sentences=100), sample=0.1, epochs=2, seed=seed)
        assert torch.equal(torch.get_rng_state(), before)
        return losses, model.weight.detach()

    (first, weight), (again, same), (other, different) = train(1), train(1), train(2)
    assert first == again
    assert torch.equal(weight, same)
    assert first != other
    assert not torch.equal(weight, different)


def test_a_model_in_float64_stays_so() -> None:
    model = CBOW(20, 8).double()
    train_word2vec(model, planted(sentences=50), sample=0, epochs=1)
    assert model.weight.dtype == model.output_embedding.weight.dtype == torch.float64
    assert model.output_embedding.weight.any()


def test_sentences_may_come_one_at_a_time() -> None:
    models = SkipGram(20, 8), SkipGram(20, 8)
    models[1].load_state_dict(models[0].state_dict())
    text = planted(sentences=50)
    as_list = train_word2vec(models[0], text, sample=0, epochs=1)
    assert (
        train_word2vec(models[1], (tuple(words) for words in text), sample=0, epochs=1) == as_list
    )


@pytest.mark.weekly
def test_skip_gram_learns_the_text_that_ships() -> None:
    texts = [address.text.lower() for address in load_addresses() if address.year >= 1985]
    sentences = [re.findall("[a-z']+", line) for text in texts for line in re.split("[.?!]", text)]
    counts = Counter(word for words in sentences for word in words).most_common()
    ids = {word: number for number, (word, count) in enumerate(counts) if count >= 5}
    model = SkipGram(len(ids), 32)
    losses = train_word2vec(
        model,
        [[ids[word] for word in words if word in ids] for words in sentences],
        learning_rate=0.05,
    )
    assert losses == sorted(losses, reverse=True)
    assert losses[0] < 6 * math.log(2)
    assert losses[-1] < 2.6
    words = list(ids)
    for word, neighbour in (("school", "high"), ("women", "men"), ("crime", "violent")):
        near = nearest_neighbours(model.weight, ids[word], 10)
        assert neighbour in [words[number] for number in near]


# --- neighbours -------------------------------------------------------------------------------


def test_neighbours_are_those_of_brute_force_and_of_gensim(device: torch.device) -> None:
    weight = torch.randn(40, 6, dtype=torch.float64)
    gensim = KeyedVectors(6)
    gensim.add_vectors([str(word) for word in range(40)], weight.numpy())
    for word in (0, 17, 39):
        cosines = {
            other: float(weight[word] @ row / (weight[word].norm() * row.norm()))
            for other, row in enumerate(weight)
            if other != word
        }
        expected = sorted(cosines, key=cosines.__getitem__, reverse=True)
        assert nearest_neighbours(weight.to(device), word, 39) == expected
        assert nearest_neighbours(weight.to(device), word, 3) == expected[:3]
        theirs = gensim.most_similar(str(word), topn=5)
        assert [int(other) for other, _ in theirs] == expected[:5]


def test_analogies_are_those_of_gensim(device: torch.device) -> None:
    weight = torch.randn(40, 6) * torch.rand(40, 1)
    gensim = KeyedVectors(6)
    gensim.add_vectors([str(word) for word in range(40)], weight.numpy())
    for a, b, c in ((0, 1, 2), (5, 9, 30), (39, 2, 7)):
        theirs = gensim.most_similar(positive=[str(b), str(c)], negative=[str(a)], topn=6)
        assert analogy(weight.to(device), a, b, c, k=6) == [int(word) for word, _ in theirs]
        assert analogy(weight.to(device), a, b, c) == [int(theirs[0][0])]


def test_neighbours_take_weights_that_learn_and_leave_them_alone() -> None:
    model = spread(SkipGram(9, 4)).bfloat16()
    before = model.weight.detach().clone()
    assert len(nearest_neighbours(model.weight, 3, 8)) == 8
    assert len(set(analogy(model.weight, 3, 4, 5, k=6)) - {3, 4, 5}) == 6
    assert torch.equal(model.weight, before)


# --- files ------------------------------------------------------------------------------------

TOKENS = ["the", "naïve", "猫", "a,b", "'s"]


def test_gensim_reads_what_is_saved(tmp_path: Path) -> None:
    weight = torch.randn(5, 3, requires_grad=True)
    save_vectors(tmp_path / "v.txt", TOKENS, weight)
    theirs = KeyedVectors.load_word2vec_format(str(tmp_path / "v.txt"))
    assert theirs.index_to_key == TOKENS
    assert np.array_equal(theirs.vectors, weight.detach().numpy())


def test_what_gensim_saves_is_read(tmp_path: Path) -> None:
    gensim = KeyedVectors(3)
    vectors = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    gensim.add_vectors(TOKENS, vectors)
    gensim.save_word2vec_format(str(tmp_path / "v.txt"))
    tokens, weight = load_vectors(str(tmp_path / "v.txt"))
    assert tokens == TOKENS
    assert weight.dtype == torch.float32
    assert np.array_equal(weight.numpy(), vectors)


def test_what_is_saved_is_read_to_the_last_bit(tmp_path: Path) -> None:
    weight = torch.randn(200, 7) * 10.0 ** torch.randint(-30, 30, (200, 1))
    tokens = [f"w{number}" for number in range(200)]
    save_vectors(tmp_path / "v.txt", tokens, weight)
    read, same = load_vectors(tmp_path / "v.txt")
    assert read == tokens
    assert torch.equal(same, weight)
    assert [path.name for path in tmp_path.iterdir()] == ["v.txt"]


def test_lines_of_the_first_tool_are_read(tmp_path: Path) -> None:
    """It ends each line with a space; and a token may hold white space that is not a plain one."""
    (tmp_path / "v.txt").write_bytes("2 2\r\na 1 -2e-3 \r\nb\u00a0\u2028c 0.5 4 \r\n".encode())
    tokens, weight = load_vectors(tmp_path / "v.txt")
    assert tokens == ["a", "b\u00a0\u2028c"]
    torch.testing.assert_close(weight, torch.tensor([[1.0, -2e-3], [0.5, 4.0]]))


DAMAGED = {
    "empty": (b"", "line 1: must be two numbers, V and D, got ''"),
    "no header": (b"a 1 2 3\nb 4 5 6\n", "line 1: must be two numbers, V and D, got 'a 1 2 3'"),
    "half a header": (b"2 x\n", "line 1: must be two numbers, V and D, got '2 x'"),
    "cut off": (b"2 3\na 1 2 3\n", "line 1: says 2 words, but 1 lines follow"),
    "too long": (b"1 3\na 1 2 3\nb 4 5 6\n", "line 1: says 1 words, but 2 lines follow"),
    "too few numbers": (b"2 3\na 1 2 3\nb 4 5\n", "line 3: must be a token and 3 numbers"),
    "too many numbers": (b"2 3\na 1 2 3 4\nb 4 5 6\n", "and 3 numbers, got 'a 1 2 3 4'"),
    "no number": (b"2 3\na 1 two 3\nb 4 5 6\n", "line 2: must be a token and 3 numbers"),
    "not a number": (b"2 3\na 1 nan 3\nb 4 5 6\n", "line 2: must be a token and 3 numbers"),
    "too large a number": (b"2 3\na 1 1e99 3\nb 4 5 6\n", "line 2: must be a token and 3"),
    "two spaces": (b"2 3\na  1 2 3\nb 4 5 6\n", "line 2: must be a token and 3 numbers"),
    "no token": (b"2 3\n 1 2 3\nb 4 5 6\n", "must be a token and 3 numbers, got ' 1 2 3'"),
    "no line": (b"2 3\na 1 2 3\n\n", "line 3: must be a token and 3 numbers, got ''"),
    "twice": (b"2 3\na 1 2 3\na 4 5 6\n", "line 3: 'a' stands on line 2 too"),
    "not utf-8": (b"2 3\na 1 2 3\n\xff 4 5 6\n", "damaged"),
}


@pytest.mark.parametrize(("content", "words"), DAMAGED.values(), ids=DAMAGED)
@pytest.mark.filterwarnings("error")
def test_a_damaged_file_is_refused_by_name_and_line(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    with pytest.raises(OSError, match=re.escape(words)) as caught:
        load_vectors(path)
    assert str(path) in str(caught.value)


# --- bad input: see bad_input.py for all the others -------------------------------------------


@pytest.mark.parametrize(("rows", "dtype"), [(2, torch.int64), (0, torch.float32)])
def test_the_loss_needs_rows_of_numbers(rows: int, dtype: torch.dtype) -> None:
    vectors, negatives = torch.ones(rows, 3, dtype=dtype), torch.ones(rows, 5, 3, dtype=dtype)
    with pytest.raises(ValueError, match=rf"got \({rows}, 3\) {dtype}"):
        negative_sampling_loss(vectors, vectors, negatives)


def test_training_that_diverges_is_an_error_of_numbers_as_in_the_trainer() -> None:
    message = r"\Alearning_rate=1000000\.0 with batch_size=16 made the training diverge in epoch"
    with pytest.raises(FloatingPointError, match=message):
        train_word2vec(SkipGram(5, 2), [[1, 2, 3, 4]] * 50, sample=0, epochs=9, learning_rate=1e6)


def test_a_file_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no such folder"):
        save_vectors(tmp_path / "no such folder" / "v.txt", ["a"], torch.ones(1, 3))
