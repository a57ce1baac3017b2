"""The runs after pretraining: rewards, accent and losses on small inputs, and what is stored."""

from __future__ import annotations

import copy

import pytest
import torch

from transformer_ref.applications.g2p import Speller
from transformer_ref.experiments import tuning, tuning_runs
from transformer_ref.experiments.results import load_results
from transformer_ref.experiments.tuning_runs import (
    by_errors,
    draw,
    in_accent,
    labels_loss,
    log_probs_of,
    preference_loss,
    reward_loss,
    rewards_of,
    with_hole,
    without_r,
)
from transformer_ref.model import Transformer

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
