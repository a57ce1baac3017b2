"""The reader of pronouns: what it is asked, how it reads, and what is stored of it."""

from __future__ import annotations

import re

import pytest
import torch
from torch.nn import functional as F

from transformer_ref.experiments import attention_pronouns as pronouns
from transformer_ref.experiments.results import load_results

KIND = {"she": "she", "her": "she", "he": "he", "him": "he", "it": "it"}


def test_each_pronoun_asks_for_the_noun_of_its_kind() -> None:
    made = pronouns.sentences()
    assert len({sentence.words for sentence in made}) == len(made)
    for words, answers, _ in made:
        assert set(answers) == {place for place, word in enumerate(words) if word in KIND}
        for place, noun in answers.items():
            assert noun in pronouns.NOUNS[KIND[words[place]]]
            assert noun in words
        assert re.fullmatch(r"(the )?\w+ \w+ (the )?\w+ because \w+ \w+ \w+", " ".join(words))


def test_no_pair_of_nouns_is_both_learned_and_held_out() -> None:
    pairs: dict[bool, set[frozenset[str]]] = {True: set(), False: set()}
    for sentence in pronouns.sentences():
        pairs[sentence.held_out].add(frozenset(sentence.answers.values()))
    assert not pairs[True] & pairs[False]
    assert len(pairs[True]) == 12
    assert len(pairs[False]) == 36
    assert {noun for pair in pairs[False] for noun in pair} == set(pronouns.ALL_NOUNS)


def test_what_attention_finds_is_added_to_the_word() -> None:
    torch.manual_seed(0)
    reader = pronouns.PronounReader()
    ids = torch.randint(1, len(pronouns.WORDS), (2, 5))
    logits, weights = reader(ids)
    x, layer = reader.embedding(ids), reader.attention
    found = F.scaled_dot_product_attention(layer.q_proj(x), layer.k_proj(x), layer.v_proj(x))
    torch.testing.assert_close(logits, reader.output(x + layer.out_proj(found)))
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 5))


def test_training_lowers_the_loss_on_pairs_that_were_held_out() -> None:
    ids, labels = pronouns.as_batch([s for s in pronouns.sentences() if s.held_out])

    def loss(steps: int) -> float:
        logits, _ = pronouns.train_reader(0, steps)(ids, (ids != 0)[:, None, None])
        return F.cross_entropy(logits.mT, labels, ignore_index=pronouns.NOT_ASKED).item()

    assert loss(60) < 0.8 * loss(0)


def test_the_stored_reader_is_the_first_of_the_stored_runs() -> None:
    stored = load_results("pronouns")
    assert [run["seed"] for run in stored["runs"]] == list(pronouns.SEEDS)
    first = {name: value for name, value in stored["runs"][0].items() if name != "seed"}
    measured = pronouns.measure(pronouns.load_reader())
    assert measured["right"] == pytest.approx(first["right"], abs=1e-3)
    assert measured["on_noun"] == pytest.approx(first["on_noun"], abs=2e-3)


def test_the_measured_weight_is_that_of_the_sentences_one_by_one() -> None:
    reader = pronouns.load_reader()
    found = []
    for words, answers, held_out in pronouns.sentences():
        if held_out and "Eva" in answers.values():
            named, weights = reader.read(" ".join(words))
            place = next(place for place, noun in answers.items() if noun == "Eva")
            assert named[place] == "Eva"
            found.append(weights[place, words.index("Eva")].item())
    mean = sum(found) / len(found)
    assert pronouns.measure(reader)["on_noun"]["Eva"] == pytest.approx(mean, abs=1e-3)
