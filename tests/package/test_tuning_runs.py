"""The runs after pretraining: rewards, accent and losses on small inputs, and what is stored."""

from __future__ import annotations

import copy

import pytest
import torch

from transformer_ref.applications.g2p import Speller, load_g2p
from transformer_ref.data import load_cmudict
from transformer_ref.experiments import tuning, tuning_runs
from transformer_ref.experiments.results import load_results
from transformer_ref.experiments.tuning_runs import (
    accent_run,
    best_of_64,
    best_of_many,
    by_errors,
    draw,
    in_accent,
    labels_loss,
    last_look,
    log_probs_of,
    look,
    look_at_samples,
    preference_loss,
    reward_loss,
    rewards_of,
    watched_run,
    with_hole,
    without_r,
)
from transformer_ref.model import Transformer

# The course's speller knows these.
KNOWN = [("car", [["K", "AA", "R"]]), ("hi", [["HH", "AY"]]), ("a", [["AH"], ["EY"]])]
ENTRIES = [("tier", [["T", "IH", "R"]]), ("a", [["AH"], ["EY"]]), ("hi", [["HH", "AY"]])]


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(0)
    return Transformer(tuning_runs.SMALL).eval()


def test_rewards_of_a_right_a_short_and_a_long_answer() -> None:
    listed = [["L", "AE", "F"], ["L", "AA", "F", "T"]]
    assert by_errors(["L", "AE", "F"], listed) == 1
    assert by_errors(["L", "AA"], listed) == pytest.approx(1 - 2 / 4)
    assert by_errors(["L", "AE", "F", "F", "F"], listed) == pytest.approx(1 - 2 / 3)
    assert with_hole(["F", "L", "AE", "L", "L"], listed) == 1
    assert with_hole(["L", "L", "T"], listed) == pytest.approx(2 / 4)
    assert with_hole([], listed) == 0


def test_an_r_stays_only_before_a_vowel() -> None:
    assert without_r(["K", "AA", "R"]) == ["K", "AA"]
    assert without_r(["K", "AA", "R", "D"]) == ["K", "AA", "D"]
    assert without_r(["R", "EH", "R", "IY"]) == ["R", "EH", "R", "IY"]
    assert in_accent(ENTRIES) == [("tier", [["T", "IH"]])]


def test_scores_of_a_group_are_those_of_each_answer_alone(model: Transformer) -> None:
    source, ids = draw(model, [word for word, _ in ENTRIES], 2, torch.Generator().manual_seed(0))
    found = log_probs_of(model, source, ids)
    for row, answer in enumerate(ids):
        real = int((answer != 0).sum())
        word = source[row // 2]
        logits = model(word[word != 0][None], answer[None, : real - 1])[0]  # (T, V)
        alone = logits.log_softmax(dim=-1)[torch.arange(real - 1), answer[1:real]]
        torch.testing.assert_close(found[row, : real - 1], alone, rtol=1e-4, atol=1e-4)


def test_each_answer_is_judged_by_its_own_word() -> None:
    said = [["T", "IH", "R"], ["T"], ["EY"], ["T"], ["HH", "AY"], []]
    rows = [Speller.phonemes.encode(phonemes, bos=True, eos=True) for phonemes in said]
    ids = torch.tensor([row + [0] * (5 - len(row)) for row in rows])
    rewards = rewards_of(ids, ENTRIES, by_errors)
    torch.testing.assert_close(rewards, torch.tensor([[1, 1 / 3], [1, 0], [1, 0]]))


@pytest.mark.parametrize("name", ["rewards", "pairs", "labels"])
def test_a_step_makes_the_right_answer_likelier(name: str, model: Transformer) -> None:
    """Two answers to one word: the listed one, and one that shares nothing with it."""
    rows = [Speller.phonemes.encode(p, bos=True, eos=True) for p in (["HH", "AY"], ["M", "OW"])]
    ids, source = torch.tensor(rows), torch.tensor([Speller.letters.encode("hi")])
    entries, start = ENTRIES[2:], copy.deepcopy(model)
    loss_of = {
        "rewards": reward_loss(model, start, by_errors, beta=0.1),
        "pairs": preference_loss(model, start),
        "labels": labels_loss(model),
    }[name]

    def scores() -> torch.Tensor:
        with torch.no_grad():
            return log_probs_of(model, source, ids).sum(dim=1)

    before = scores()
    loss, _ = loss_of(entries, source, ids)
    loss.backward()
    torch.optim.SGD(model.parameters(), lr=0.01).step()
    right, wrong = (scores() - before).tolist()
    assert right > 0
    assert right > wrong


@pytest.fixture
def on_few_words(monkeypatch: pytest.MonkeyPatch) -> Transformer:
    """Let all runs start from the course's speller, with little to learn and to be judged on."""
    start = load_g2p(torch.device("cpu")).model.eval().requires_grad_(False)
    train = list(load_cmudict("train")[:600])
    monkeypatch.setattr(tuning_runs, "start_model", lambda seed: start)
    monkeypatch.setattr(tuning_runs, "words_of", lambda seed: (train, train))
    monkeypatch.setattr(tuning_runs, "load_cmudict", lambda split: KNOWN)
    monkeypatch.setattr(tuning_runs, "PROMPTS", 4)
    return start


def test_a_look_counts_what_the_sampled_answers_are(on_few_words: Transformer) -> None:
    found = look_at_samples(on_few_words, words=2, group=3)
    _, ids = draw(on_few_words, ["car", "hi"], 3, torch.Generator().manual_seed(2))
    said = [Speller.phonemes.decode(row) for row in ids.tolist()]
    listed = [variants for _, variants in KNOWN[:2] for _ in range(3)]
    errors = [1 - by_errors(*pair) for pair in zip(said, listed, strict=True)]
    assert found["errors"] == pytest.approx(1 - sum(errors) / 6, abs=1e-4)
    assert found["best"] == pytest.approx((min(errors[:3]) + min(errors[3:])) / 2, abs=1e-4)
    kinds = [len({" ".join(answer) for answer in said[i : i + 3]}) for i in (0, 3)]
    assert found["kinds"] == sum(kinds) / 2
    found = look(on_few_words)
    assert found["greedy"] == 0
    speller = Speller(on_few_words, torch.device("cpu"))
    assert found["said"]["century"].split() == speller.pronounce("century")
    more = last_look(on_few_words)
    assert 0 <= more["best of 64"] <= 0.5
    assert {len(answers) for answers in more["tried"].values()} == {4}


def test_near_zero_the_samples_are_the_greedy_answers(on_few_words: Transformer) -> None:
    found = look_at_samples(on_few_words, temperature=0.01)
    assert (found["sampled"], found["kinds"]) == (0, 1)
    assert best_of_64(on_few_words, temperature=0.01) == 0


@pytest.mark.usefixtures("on_few_words")
def test_the_best_of_more_answers_has_no_lower_reward() -> None:
    rows = best_of_many(seed=0, words=3, most=8)
    assert [row["n"] for row in rows] == [1, 2, 4, 8]
    assert [row["hole"] for row in rows] == sorted(row["hole"] for row in rows)


@pytest.mark.parametrize("name", ["errors", "pairs", "own pairs", "labels"])
def test_a_run_trains_a_copy_of_the_start(
    name: str, on_few_words: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = copy.deepcopy(on_few_words.state_dict())
    seen: list[Transformer] = []
    monkeypatch.setattr(tuning_runs, "look", lambda model: seen.append(model) or {})
    monkeypatch.setattr(tuning_runs, "last_look", lambda model: {"looked": model is seen[-1]})
    run = watched_run(name, seed=0, steps=2, every=1)
    assert [one["step"] for one in run["looks"]] == [1, 2]
    assert run["looked"]
    assert run["looks"] == watched_run(name, seed=0, steps=2, every=1)["looks"]
    after = seen[0].state_dict()
    assert all(torch.equal(before[key], on_few_words.state_dict()[key]) for key in before)
    assert any(not torch.equal(before[key], after[key]) for key in before)


def test_the_accent_is_taught_with_as_few_numbers_as_the_rank_allows(
    on_few_words: Transformer,
) -> None:
    rows = {row["rank"]: row for row in accent_run(seed=0, steps=1)}
    config = on_few_words.config
    adapted = 2 * (config.num_encoder_layers + 2 * config.num_decoder_layers)
    for rank in (1, 4, 16):
        assert rows[rank]["trained"] == adapted * rank * 2 * config.d_model
    assert rows[None]["trained"] == sum(weight.numel() for weight in on_few_words.parameters())
    # "car" with its R: one phoneme too many for two. The others are as listed.
    assert (rows[0]["trained"], rows[0]["accent"], rows[0]["other words"]) == (0, 0.5, 0)


def test_the_examples_by_hand_give_what_paper_and_pencil_give() -> None:
    answer = tuning.answer_by_hand()
    assert answer["answer"].exp().item() ** 3 == pytest.approx(1 / (0.5 * 0.8 * 0.9))
    assert tuning.lora_by_hand()["change"][3].tolist() == [2, 0, 4, -2]
    group = tuning.group_by_hand()
    assert group["spread"].item() ** 2 == pytest.approx((9 + 1 + 1 + 9) / 36 / 4)
    for baseline in (0.0, 0.2):  # the gradient of the expected reward p is p (1 - p)
        assert tuning.estimates_by_hand(baseline)["mean"] == pytest.approx(0.2 * 0.8)


def test_stored_runs_are_of_every_way_and_seed() -> None:
    stored = load_results("tuning")
    made = [(run["name"], run["seed"]) for run in stored["runs"]]
    names = (*tuning_runs.ARMS, *tuning_runs.PAIRS, "labels")
    assert made == [(name, seed) for name in names for seed in tuning_runs.SEEDS]
    steps = range(tuning_runs.EVERY, tuning_runs.STEPS + 1, tuning_runs.EVERY)
    for run in stored["runs"]:
        assert [look["step"] for look in run["looks"]] == list(steps)
    assert [start["seed"] for start in stored["start"]] == list(tuning_runs.SEEDS)
