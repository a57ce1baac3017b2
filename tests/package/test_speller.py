"""The speller's recipe: made-up words, the teachers' probabilities, the student, and a run."""

import json
import re
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from transformer_ref.applications.g2p import (
    LETTER_VOCABULARY,
    PHONEME_VOCABULARY,
    load_g2p,
    make_examples,
)
from transformer_ref.batching import pad_batch
from transformer_ref.data import load_cmudict
from transformer_ref.experiments import speller
from transformer_ref.experiments.speller import (
    RECIPE,
    SoftTargets,
    made_up_words,
    pronounce_made_up,
    soft_targets,
    train_speller,
)
from transformer_ref.model import Transformer
from transformer_ref.training import Batch

TINY = replace(RECIPE.student, d_model=16, d_ff=16, num_heads=2, num_encoder_layers=1)
# In float32, as a processor without bfloat16 would take minutes.
SHORT = replace(
    RECIPE.teaching, epochs=1, batch_size=64, warmup=1, save_every=1, precision="float32"
)
SMALL = replace(RECIPE, teacher=TINY, teaching=SHORT, made_up=5, student=TINY, learning=SHORT)


def some_teachers(count=2):
    torch.manual_seed(0)
    return [Transformer(replace(TINY, dropout=0.0)).eval() for _ in range(count)]


def pieces(words, size):
    marked = [f"^{word}$" for word in words]
    return {word[i : i + size] for word in marked for i in range(len(word) - size + 1)}


def test_every_piece_of_a_made_up_word_stands_in_a_real_one():
    words = [word for word, _ in load_cmudict("train")[:3000]]
    made = made_up_words(words, 200, words, order=3)
    assert len(set(made)) == 200
    assert not set(made) & set(words)
    assert pieces(made, 4) <= pieces(words, 4)
    assert not pieces(made, 7) <= pieces(words, 7)
    assert {len(word) for word in made} <= set(range(3, 19))
    assert made == made_up_words(words, 200, words, order=3)
    assert made != made_up_words(words, 200, words, order=3, seed=1)


def test_a_chain_of_one_letter_in_full():
    # After a comes b or the end, after b comes a: every word is ab, ba in turn and ends in a.
    words = {"aba", "ababa", "a"}
    made = made_up_words(sorted(words), 3, words, order=1)
    assert all(re.fullmatch("a(ba)+", word) for word in made)


def test_words_that_allow_no_new_one_are_refused():
    with pytest.raises(ValueError, match="words must allow 1 new ones, got 1, which allow too few"):
        made_up_words(["abc"], 1, ["abc"])


def test_soft_targets_are_the_mean_of_the_teachers_one_example_at_a_time():
    teachers, examples = some_teachers(), make_examples(load_cmudict("train")[:40])
    lessons = soft_targets(teachers, examples, batch_size=7)
    assert lessons.examples == examples
    for place, (source, target) in enumerate(examples):
        with torch.inference_mode():
            logits = [t(torch.tensor([source]), torch.tensor([target[:-1]]))[0] for t in teachers]
        expected = sum(F.softmax(part, dim=-1) for part in logits) / 2
        start = lessons.starts[place]
        got = lessons.probabilities[start : start + len(target) - 1].float()
        torch.testing.assert_close(got, expected, rtol=0.05, atol=2e-3)  # bfloat16
    assert len(lessons.probabilities) == sum(len(target) - 1 for _, target in examples)


def test_the_loss_is_least_for_the_teachers_own_probabilities():
    (teacher,), examples = some_teachers(1), make_examples(load_cmudict("train")[:9])
    rows = [F.one_hot(torch.tensor(target[1:]), 42) for _, target in examples]
    starts = [sum(map(len, rows[:place])) for place in range(len(rows))]
    sure = SoftTargets(examples, torch.cat(rows).half(), starts)
    places = [8, 2, 5]
    source, target = (pad_batch([examples[i][side] for i in places], 0) for side in (0, 1))
    batch = Batch(source, target[:, :-1], target[:, 1:], places)
    logits = teacher(batch.source, batch.inputs)
    expected = F.cross_entropy(logits.flatten(0, 1), batch.labels.flatten(), ignore_index=0)
    torch.testing.assert_close(sure.loss(teacher, batch), expected)
    soft = soft_targets([teacher], examples)
    entropy = torch.distributions.Categorical(logits=logits).entropy()[batch.labels != 0].mean()
    torch.testing.assert_close(soft.loss(teacher, batch), entropy, rtol=1e-2, atol=0)
    logits.retain_grad()
    soft.loss(lambda *_: logits, batch).backward()
    assert logits.grad.abs().max() < 1e-3  # a minimum, up to the rounding of float16


def test_made_up_words_are_pronounced_by_the_teachers_in_turn(monkeypatch):
    words = ["abba", "cedric", "dodo", "effigy"]
    answers = {0: [["AA"], ["B", "AH"]], 1: [["K"], None]}
    begin, end = PHONEME_VOCABULARY.bos_id, PHONEME_VOCABULARY.eos_id
    asked = []

    def answer(teacher, sources, *args, **kwargs):
        asked.append([LETTER_VOCABULARY.decode(source) for source in sources])
        return [
            [begin, 3, 4]
            if said is None
            else [*PHONEME_VOCABULARY.encode(said, bos=True, eos=True), 0]
            for said in answers[teacher]
        ]

    monkeypatch.setattr(speller, "decode_all", answer)
    examples = pronounce_made_up([0, 1], words)
    assert asked == [[list("abba"), list("dodo")], [list("cedric"), list("effigy")]]
    assert [PHONEME_VOCABULARY.decode(target) for _, target in examples] == [
        ["AA"], ["B", "AH"], ["K"],
    ]  # fmt: skip
    assert all(target[-1] == end for _, target in examples)


@pytest.mark.weekly
def test_a_run_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    train_speller(tmp_path / "whole", SMALL, limit=200)
    stopped = tmp_path / "stopped"
    with monkeypatch.context() as patch:
        patch.setattr(speller, "soft_targets", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train_speller(stopped, SMALL, limit=200)
    assert not (stopped / "lessons.pt").exists()
    train_speller(stopped, SMALL, limit=200)
    for name in ("whole", "stopped"):
        assert load_g2p(folder=tmp_path / name).model.config == TINY
    first, second = (
        (tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "stopped")
    )
    assert first == second
    results = json.loads((stopped / "results.json").read_text())
    assert [teacher["training"]["seed"] for teacher in results["teachers"]] == [1, 2]
    hours = results["core_hours"], sum(part["core_hours"] for part in results["teachers"])
    assert hours[0] >= hours[1] >= 0
