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
from transformer_ref import gpt2

MODEL = "gpt.GPT"
CONTEXT = "gpt.context_used"


# --- the cases -------------------------------------------------------------------------------


def test_an_untrained_gpt_of_any_kind_passes_with_many_seeds():
    for seed in (200, 201):
        exam = make_exam(MODEL, seed)
        for answer in (material.OfThePackage, material.ByHand):
            outcomes = [run_case(exam.task, answer, case) for case in exam.cases]
            assert not [f for n in range(len(outcomes)) if (f := find_fault(exam, n, outcomes))]


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


# --- against the package and the library that the file is from ---------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_loaded_file_gives_what_the_package_makes_of_it(seed):
    for case in make_exam("gpt.load_gpt2", seed).cases:
        model = cases.GPT_MODEL.make("model", case, {}).value
        file = cases.GPT2_FILE.make("weights", case, {"model": model}).value
        unused = reference.load_gpt2(model, file)
        theirs = {f"transformer.{name}": file[name] for name in file.keys() - set(unused)}
        renamed = gpt2.renamed({**theirs, "lm_head.weight": file["wte.weight"]})
        for name, loaded in model.state_dict().items():
            assert torch.equal(loaded, renamed[name].to(loaded.dtype)), name


@pytest.mark.parametrize("seed", range(3))
def test_the_largest_batch_is_what_the_package_counts(seed):
    for case in make_exam("gpt.largest_batch", seed).cases[:15]:
        sizes = {name: n for name, n in case.arguments.items() if name != "memory"}
        with torch.device("meta"):
            model = package.GPT(package.GPTConfig(**sizes))
        weights = sum(each.numel() for each in model.parameters())
        text = 2 * sizes["num_layers"] * sizes["max_len"] * sizes["d_model"]
        texts = reference.largest_batch(**case.arguments)
        assert not texts or 2 * (weights + texts * text) <= case.arguments["memory"]
        assert 2 * (weights + (texts + 1) * text) > case.arguments["memory"]


# --- forged results --------------------------------------------------------------------------


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
