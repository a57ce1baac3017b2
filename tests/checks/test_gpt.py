"""The assignment "gpt": its answers against torch and the package, and what its checks say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.checks.material import gpt as material
from transformer_checks import gpt as reference
from transformer_checks import grade
from transformer_checks.assignments.gpt import cases
from transformer_checks.judging.exam import make_exam
from transformer_checks.judging.faults import find_fault
from transformer_checks.judging.verdict import judge
from transformer_checks.running.asking import run_case
from transformer_checks.task import Outcome
from transformer_ref import gpt as package

BATCH = "gpt.lm_batch"
MODEL = "gpt.GPT"
GENERATE = "gpt.generate"
BUG = "gpt.find_the_bug"
ANOTHER = "gpt.find_another_bug"
CONTEXT = "gpt.context_used"
FUNCTIONS = (BATCH, GENERATE, BUG, ANOTHER, CONTEXT)

# Answers that are right, and not the reference's, which may not be called.
ANSWERS = {
    BATCH: material.batch_index,
    MODEL: material.NanoGPT,
    GENERATE: material.generate_cat,
    BUG: material.loss_gather,
    ANOTHER: material.long_start,
    CONTEXT: material.used_one_by_one,
}


# --- the answers -----------------------------------------------------------------------------


@pytest.mark.parametrize("task", ANSWERS)
def test_a_right_answer_is_right(task):
    result = grade(task, ANSWERS[task])
    assert result.score == 1.0, result.message


@pytest.mark.parametrize("seed", range(3))
def test_the_code_as_found_fails_in_every_case(seed):
    for task, answer in ((BUG, material.bug_as_given), (ANOTHER, material.another_as_given)):
        result = grade(task, answer, seed)
        assert (result.passed, result.misconception) == (0, "bug-is-in")


def test_the_package_generates_as_the_reference_does():
    torch.manual_seed(5)
    config = package.GPTConfig(13, d_model=16, num_heads=2, num_layers=2, d_ff=32, max_len=12)
    model = package.GPT(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4.0)  # surer of itself, so that no two tokens tie
    ids = torch.tensor([[3, 5, 7], [1, 2, 4]])
    assert torch.equal(reference.generate(model, ids, 6), package.generate(model, ids, 6))


# --- the cases -------------------------------------------------------------------------------


def test_an_untrained_gpt_of_any_kind_passes_with_many_seeds():
    for seed in (200, 201):
        exam = make_exam(MODEL, seed)
        for answer in (material.OfThePackage, material.ByHand):
            outcomes = [run_case(exam.task, answer, case) for case in exam.cases]
            assert not [f for n in range(len(outcomes)) if (f := find_fault(exam, n, outcomes))]


@pytest.mark.parametrize("seed", range(5))
def test_the_text_gets_longer_than_the_window(seed):
    for case in make_exam(ANOTHER, seed).cases:
        given = case.arguments
        assert given["ids"].shape[1] + given["max_new_tokens"] - 1 > given["max_len"]


def test_the_small_model_is_causal_and_reads_all():
    rng = np.random.default_rng(0)
    description = cases.tiny_model(rng, 11, 8)
    model = cases.TinyModel(description["weights"])
    for name, parameter in model.named_parameters():
        parameter.data = torch.from_numpy(description["weights"][name])
    ids = torch.arange(6)[None]
    for place in range(6):
        other = ids.clone()
        other[0, place] = 9
        moved = (model(ids) - model(other)).abs().amax(-1)[0] > 1e-4
        assert moved.tolist() == [False] * place + [True] * (6 - place)


@pytest.mark.parametrize("seed", range(20))
def test_how_far_back_a_model_reads_is_known_and_no_effect_is_near_the_limit(seed):
    exam = make_exam(CONTEXT, seed)
    for case, expected in zip(exam.cases, exam.expected, strict=True):
        assert expected.values["used"] == cases.known_context(case.arguments), case.name
        model = cases.READER.make("model", case, {}).value
        ids = torch.from_numpy(case.arguments["ids"])
        before = model(ids)[:, -1]
        for place in range(ids.shape[1]):
            rows = ids.repeat(before.shape[-1], 1)
            rows[:, place] = torch.arange(len(rows))
            move = (model(rows)[:, -1] - before).abs().max()
            assert move < 1e-5 or move > 3e-4


def test_the_formula_that_the_exercise_gives_for_windows():
    for width in (2, 3, 4):
        for layers in (1, 2, 3):
            window = dict.fromkeys(range(width), 1.0)
            description = {"layers": [window] * layers, "newest": 0, "noisy": False}
            arguments = {"model": description, "ids": np.zeros((1, 40))}
            assert cases.known_context(arguments) == layers * (width - 1) + 1


# --- what is told ----------------------------------------------------------------------------


@pytest.mark.weekly
@pytest.mark.parametrize(
    ("task", "answer", "said"),
    [
        (BATCH, material.w_batch_same, "the first row of `labels` should be ids["),
        (BATCH, material.m_batch_one, "expected (inputs, labels), received a tensor"),
        (MODEL, material.w_gpt_no_mask, "and that one lies in their future"),
        (MODEL, material.w_gpt_not_run, "they should depend on all tokens up to their own"),
        (MODEL, material.w_gpt_last, "should have the shape (B, T, V) = (2, 5, "),
        (MODEL, material.w_gpt_softmax, "these are probabilities, and no logits"),
        (MODEL, material.m_gpt_relu, "no logit is below 0"),
        (MODEL, material.m_gpt_float32, "the parameters are float64, and the logits float32"),
        (MODEL, material.m_gpt_pair, "should return the logits alone, received a tuple of 2"),
        (MODEL, material.m_gpt_dropout, "gave another result the second time"),
        (MODEL, material.m_gpt_nan, "NaN or infinite, at the places 0, 1"),
        (MODEL, material.m_gpt_other_arguments, "TypeError"),
        (MODEL, material.m_gpt_function, "gave a function, expected an nn.Module"),
        (MODEL, material.w_gpt_no_check, "expected a ValueError, because"),
        (MODEL, material.w_gpt_list, "model.parameters() must find them"),
        (MODEL, material.w_gpt_more, "num_layers=1 means one layer, and 2 means two"),
        (MODEL, material.w_gpt_early, "not all of them change the logits"),
        (MODEL, material.w_gpt_no_residual, "a residual sum should lead every token round"),
        (MODEL, material.w_gpt_strict_zeros, "each place may see itself"),
        (MODEL, material.w_gpt_one_head, "num_heads is not used"),
        (MODEL, material.w_gpt_no_grad, "no gradient reaches any parameter"),
        (MODEL, material.w_gpt_detached_residual, "some way through the model has no gradient"),
        (MODEL, material.w_gpt_batch_second, "rows must not touch each other"),
        (MODEL, material.w_gpt_no_positions, "does not know the order of its tokens"),
        (GENERATE, material.w_generate_new_only, "expected shape ("),
        (GENERATE, material.w_generate_front, "should begin with the prompts"),
        (GENERATE, material.m_generate_forever, "more than 200 times: does the loop end?"),
        (GENERATE, lambda model, ids, max_new_tokens: model(ids[0]), "model takes ids (B, T)"),
        (ANOTHER, material.w_long_none, "model takes 1 to "),
        (BUG, material.w_loss_item, "no gradient reaches"),
        (CONTEXT, lambda model, ids: ids.shape[1] + 1, "can be used; here it is 5"),
        (CONTEXT, material.w_used_distance, "`used`: expected 1, received 0"),
        (CONTEXT, lambda model, ids: model(ids[0]), "model takes ids (B, T)"),
    ],
)
def test_a_wrong_answer_is_told_in_words(task, answer, said):
    result = grade(task, answer)
    assert said in result.message, result.message
    assert result.score < 1.0


def test_the_first_lines_do_not_give_the_bugs_away():
    for task, answer, word in (
        (BUG, material.bug_as_given, "shift"),
        (ANOTHER, material.another_as_given, "window"),
    ):
        told = grade(task, answer).message.split("First failing case")[0]
        assert "still in it" in told
        assert word not in told


# --- what may and may not be called ----------------------------------------------------------


def of_torch(kind):
    class Holds(nn.Module):
        def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
            super().__init__()
            self.inner = kind(d_model, num_heads)

    return Holds


@pytest.mark.parametrize(
    ("task", "answer", "name"),
    [
        (BATCH, reference.lm_batch, "checks.gpt.lm_batch"),
        (MODEL, reference.GPT, "checks.gpt.GPT"),
        (MODEL, lambda *given: package.GPT(package.GPTConfig(20, 8, 2, 1)), "gpt.GPT"),
        (MODEL, of_torch(nn.MultiheadAttention), "nn.MultiheadAttention.__init__"),
        (MODEL, of_torch(nn.TransformerEncoderLayer), "nn.TransformerEncoderLayer.__init__"),
        (GENERATE, package.generate, "gpt.generate"),
        (GENERATE, reference.generate, "checks.gpt.generate"),
        (BUG, reference.lm_loss, "checks.gpt.lm_loss"),
        (ANOTHER, reference.generate_long, "checks.gpt.generate_long"),
        (CONTEXT, reference.context_used, "checks.gpt.context_used"),
    ],
)
def test_the_piece_itself_is_refused(task, answer, name):
    result = grade(task, answer)
    assert (result.score, result.misconception) == (0.0, None)
    assert f"{name}, which this task asks you to do without" in result.message


def test_the_fused_attention_is_right_inside():
    assert "scaled_dot_product_attention(q, k, v, is_causal=True)" in _source(material.Block)
    assert grade(MODEL, material.NanoGPT, seed=7).score == 1.0


def _source(kind):
    import inspect

    return inspect.getsource(kind)


# --- forged results --------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["refused", "returned", "built", "raised", "unsolved", "x"])
def test_a_forged_fault_is_worth_nothing(fault):
    for key in ANSWERS:
        exam = make_exam(key, 0)
        outcomes = [Outcome(fault=fault)] * len(exam.cases)
        assert all(find_fault(exam, number, outcomes) for number in range(len(outcomes)))


def test_findings_are_the_judges_own():
    """What an answer's process sends as findings is not taken for any."""
    exam = make_exam(MODEL, 0)
    right = exam.expected[0].values
    forged = [
        Outcome(values=dict(right)),
        Outcome(values={"logits": np.zeros(3)}, dtypes={"logits": "float32"}),
        Outcome(values={"logits": np.float64(1.0)}, dtypes={"logits": "x"}, devices={"logits": ""}),
        Outcome(),
    ]
    for outcome in forged:
        result = judge(exam, [replace(outcome) for _ in exam.cases], "done", 1.0)
        assert result.score == 0.0
        assert result.misconception is None


def test_logits_that_are_no_model_are_told():
    def answer(vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        class Constant(nn.Module):
            def forward(self, ids):
                if ids.shape[1] > max_len:
                    raise ValueError
                return F.one_hot(ids, vocab_size).double() - 0.5

        return Constant()

    result = grade(MODEL, answer)
    assert result.score < 0.5
