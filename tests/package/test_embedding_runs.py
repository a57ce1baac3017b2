"""The example by hand of the chapter on embeddings, and what its pages train and count."""

from __future__ import annotations

import math

import pytest
import torch

from transformer_ref.experiments import embeddings as runs
from transformer_ref.experiments.embeddings import Text, by_hand
from transformer_ref.tokenizers import WordTokenizer


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_each_number_of_the_update_is_what_a_calculator_says() -> None:
    step = by_hand()
    errors = [sigmoid(1) - 1, sigmoid(0), sigmoid(2)]
    assert step["errors"].tolist() == pytest.approx(errors)
    v = [1 - 0.5 * (errors[0] - errors[1]), 1 - 0.5 * (errors[1] + 2 * errors[2])]
    assert step["v_after"].tolist() == pytest.approx(v)
    assert step["u_after"][2].tolist() == pytest.approx([-errors[2] / 2, 2 - errors[2] / 2])
    loss = -math.log(sigmoid(1)) - math.log(0.5) - math.log(1 - sigmoid(2))
    assert step["loss"].item() == pytest.approx(loss)
    assert step["loss_after"] < step["loss"]


def test_only_the_rows_of_the_example_that_are_read_move() -> None:
    step = by_hand()
    assert step["gradient"][:, 0].tolist() == [0, 0, 0, 2, 1]
    assert step["E_after"][:3].equal(step["E"][:3])
    assert step["row"].equal(step["E"][2])


def made_text(*lines: str) -> Text:
    """A text in which every word counts."""
    tokenizer = WordTokenizer.train(lines, pretokenized=True)
    sentences = [(line, 1970 + 20 * (number % 2)) for number, line in enumerate(lines)]
    return Text(sentences, [], tokenizer, [tokenizer.encode(line) for line in lines])


def test_pairs_are_those_of_a_loop() -> None:
    centers, contexts = runs.all_pairs([[5, 3, 8], [4, 9]], reach=1)
    pairs = list(zip(centers.tolist(), contexts.tolist(), strict=True))
    assert pairs == [(5, 3), (3, 5), (3, 8), (8, 3), (4, 9), (9, 4)]


def test_analogies_that_hold_exactly_are_all_counted() -> None:
    text = made_text(" ".join(runs.ANALOGIES.values()))
    directions = torch.eye(len(text.words) + len(runs.ANALOGIES))
    vectors = directions[: len(text.words)].clone()
    for family, line in enumerate(runs.ANALOGIES.values(), start=len(text.words)):
        ids = [text.id_of(word) for word in line.split()]
        vectors[ids[1::2]] = vectors[ids[::2]] + directions[family]
    counts = runs.count_analogies(vectors, text)
    assert [count.questions for count in counts.values()] == [156, 72, 56, 56, 40]
    del counts["woman"]  # "her" belongs to "his" and to "him"
    assert all(count.first == count.first_five == count.questions for count in counts.values())


def test_a_table_that_knows_the_groups_has_every_word_with_its_own() -> None:
    text = made_text(" ".join(runs.GROUPS.values()))
    chosen, group = runs.grouped(text)
    vectors = torch.zeros(len(text.words), 6)
    vectors[[text.id_of(word) for word in chosen], group] = 1
    assert runs.share_with_own(vectors, text) == 1
    assert 0 < runs.chance_of_own(text) < 0.2


def test_the_mean_cosine_leaves_out_special_tokens() -> None:
    rows = torch.tensor([[9.0, 9.0]] * 4 + [[2.0, 0.0], [0.0, 3.0], [-1.0, 0.0]])
    assert runs.mean_cosine(rows) == pytest.approx(-1 / 3)


def test_glove_fits_the_logarithms_of_counts() -> None:
    text = made_text(*["we keep the peace"] * 30, *["we cut the tax"] * 10)
    vectors, losses = runs.train_glove(text, d_model=4, epochs=200)
    assert vectors.shape == (len(text.words), 4)
    assert losses[-1] < losses[0] / 100


def test_a_sentence_is_about_the_one_subject_whose_key_word_is_cut_out_of_it() -> None:
    text = made_text(
        "our taxes are much too high today",
        "our schools are much too crowded today",
        "our schools need taxes and more taxes today",
    )
    ids, labels = runs.examples(text, "subject", text.training)
    assert labels.tolist() == [0, 2]
    assert not torch.isin(ids, torch.tensor([text.id_of("taxes"), text.id_of("schools")])).any()
    ids, labels = runs.examples(text, "period", text.training)
    assert labels.tolist() == [0, 1, 0]


def test_only_tuned_and_absent_vectors_move() -> None:
    torch.manual_seed(0)
    vectors = torch.randn(20, 3)
    data = torch.randint(1, 20, (40, 6)), torch.arange(40) % 2
    unit_std = vectors / vectors.std()
    frozen, tuned, absent = (
        runs.train_classifier(vectors, start, data, 30, seed=0).embedding.weight
        for start in ("frozen", "tuned", "absent")
    )
    assert frozen.equal(unit_std)
    assert not torch.allclose(tuned, unit_std)
    assert absent.shape == unit_std.shape
    rates = runs.accuracies(vectors, data, data, [10, 30], seeds=1)
    assert {rate.shape for rate in rates.values()} == {(2, 1)}


def test_a_reciter_learns_something_within_a_few_steps() -> None:
    losses = runs.recite(lambda: runs.Reciter(32**-0.5, d_model=32), steps=40)
    assert losses[-1] < losses[0]
