"""The assignment "decoding": its answers against the package, and what its checks say."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tests.checks.material import decoding as material
from transformer_checks import decoding as reference
from transformer_checks.assignments.decoding import cases
from transformer_checks.judging.exam import make_exam
from transformer_checks.judging.faults import find_fault
from transformer_checks.running.asking import run_case
from transformer_checks.task import Case
from transformer_ref import decoding as package
from transformer_ref.cache import GrowingCache

SAMPLE = "decoding.sample"
BEAM = "decoding.beam_search"
ANOTHER = "decoding.find_another_bug"
BLAME = "decoding.search_or_model"


# --- the answers -----------------------------------------------------------------------------


def test_the_package_decodes_as_the_references_do():
    """One Transformer, asked as a whole and as a function of the ids so far."""
    from transformer_ref.model import Transformer, TransformerConfig

    torch.manual_seed(3)
    config = TransformerConfig(9, 9, d_model=16, num_heads=2, num_encoder_layers=1,
                               num_decoder_layers=1, d_ff=32, max_len=12)  # fmt: skip
    model = Transformer(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)  # surer of itself, so that no two tokens tie
    src = torch.tensor([[3, 5, 7, 4]])

    @torch.no_grad()
    def logits(ids):
        return model.decode(torch.tensor([ids]), model.encode(src))[0, -1]

    def log_probs(ids):
        return logits(ids).log_softmax(-1)

    greedy = package.greedy_decode(model, src, 1, 2, 6)[0]
    assert reference.greedy_decode(logits, 1, 2, 6) == greedy[greedy != 0].tolist()
    for width, alpha in ((1, 0.0), (3, 0.0), (4, 1.0)):
        ids = package.beam_search(model, src, 1, 2, width, 6, alpha)[0][0, 0]
        found = reference.beam_search(log_probs, 1, 2, width, 6, alpha)
        assert found == ids[: len(found)].tolist()
        assert not ids[len(found) :].any()


# --- the cases -------------------------------------------------------------------------------


def next_tokens(case, name):
    """What the function of a case answers."""
    description = case.arguments[name]

    def answer(ids):
        return description["table"].get(tuple(ids), description["after"][ids[-1]])

    return answer


@pytest.mark.parametrize("seed", range(20))
def test_the_best_sequence_is_best_by_a_margin(seed):
    """In every case with a full beam all sequences are compared here, one by one."""
    full = 0
    for case in make_exam(BEAM, seed).cases:
        given = case.arguments
        size = len(given["next_log_probs"]["after"])
        if given["beam_size"] < size ** (given["max_len"] - 1) or given["max_len"] == 2:
            continue
        full += 1
        table = given["next_log_probs"]["table"]
        found = list(cases._sequences(table, given["bos_id"], given["eos_id"], given["max_len"]))
        alpha = given.get("length_penalty", 0.0)
        scores = sorted(total / (len(ids) - 1) ** alpha for total, ids, _ in found)
        assert scores[-1] - scores[-2] > cases.GAP
        chances = np.exp([total for total, _, _ in found])
        assert math.isclose(chances.sum(), 1.0, abs_tol=1e-4), "not all sequences, or some twice"
    assert full >= 10


@pytest.mark.filterwarnings("ignore:beam search")
@pytest.mark.parametrize("seed", range(20))
def test_readings_of_beam_search_agree(seed):
    """When it stops, and what an ended hypothesis does to the beam, makes no difference here."""
    exam = make_exam(BEAM, seed)
    for answer in (
        material.beam_ended_stay,
        material.beam_twice_as_wide,
        material.beam_stops_early,
        material.beam_named,
    ):
        outcomes = [run_case(exam.task, answer, case) for case in exam.cases]
        assert not any(find_fault(exam, n, outcomes) for n in range(len(outcomes)))


@pytest.mark.parametrize("seed", range(20))
def test_greedy_search_misses_the_garden_paths(seed):
    exam = make_exam(BEAM, seed)
    missed = 0
    for case, expected in zip(exam.cases, exam.expected, strict=True):
        answer, given = next_tokens(case, "next_log_probs"), case.arguments
        ids = [given["bos_id"]]
        while len(ids) < given["max_len"] and ids[-1] != given["eos_id"]:
            ids.append(int(answer(ids).argmax()))
        missed += ids != expected.values["ids"]
    assert missed >= 12


@pytest.mark.parametrize("seed", range(20))
def test_rows_end_at_different_steps(seed):
    exam = make_exam(ANOTHER, seed)
    for case, expected in zip(exam.cases, exam.expected, strict=True):
        rows = expected.values["rows"]
        ended = [len(row) for row in rows if row[-1] == case.arguments["eos_id"]]
        assert min(ended) < max(len(row) for row in rows)


@pytest.mark.parametrize("seed", range(10))
def test_a_row_is_cut_as_the_package_cuts_it(seed):
    exam = make_exam(SAMPLE, seed)
    for case, expected in zip(exam.cases, exam.expected, strict=True):
        tensors = {name: torch.from_numpy(array) for name, array in case.arguments.items()}
        for row, (logits, temperature, top_k, top_p, uniform) in enumerate(
            zip(*tensors.values(), strict=True)
        ):
            scaled = logits.double() / temperature.double()
            kept = package.filter_logits(scaled, int(top_k), float(top_p)).softmax(-1)
            found = torch.from_numpy(expected.values["probs"][row]).double()
            torch.testing.assert_close(found, kept, rtol=1e-2, atol=2e-3)
            token = expected.values["tokens"][row]
            assert kept[:token].sum() < uniform < kept[: token + 1].sum()


@pytest.mark.parametrize("seed", range(10))
def test_in_most_cases_the_order_of_the_steps_matters(seed):
    exam = make_exam(SAMPLE, seed)
    for key in ("temperature-last", "whole-distribution", "sorted-line"):
        entry = next(each for each in exam.task.misconceptions if each.key == key)
        outcomes = [run_case(exam.task, exam.task.wrong(entry, 0), case) for case in exam.cases]
        assert sum(find_fault(exam, n, outcomes) is not None for n in range(len(outcomes))) >= 7


@pytest.mark.parametrize("seed", range(20))
def test_the_verdict_of_each_case_is_the_one_it_was_drawn_for(seed):
    rng = np.random.default_rng(seed)
    for kind in ("search", "model", "right", "right, another likelier"):
        arguments, gap = cases.known_answers(rng, kind, (3, 4, 2))
        answer = next_tokens(Case("drawn", arguments), "next_log_probs")
        found = material.blame_loop(answer, arguments["said"], arguments["listed"])
        assert found[1] == kind.split(",")[0]
        assert math.isclose(found[0], gap, abs_tol=1e-5)
        assert (gap == 0.0) == (kind == "right")


@pytest.mark.parametrize("seed", range(20))
def test_no_verdict_hangs_on_rounding_and_all_of_them_come(seed):
    exam = make_exam(BLAME, seed)
    verdicts = []
    for case, expected in zip(exam.cases, exam.expected, strict=True):
        gap, verdict = expected.values["result"]
        verdicts.append(verdict)
        assert verdict == "right" or abs(gap) > cases.BLAME_GAP / 2
        said, listed = case.arguments["said"], case.arguments["listed"]
        assert (verdict == "right") == (said in listed)
    assert min(verdicts.count(each) for each in ("right", "search", "model")) >= 4


@pytest.mark.parametrize("seed", range(5))
def test_long_answers_have_a_probability_of_zero(seed):
    exam = make_exam(BLAME, seed)
    long = [case for case in exam.cases if 12 < len(case.arguments["said"]) < 60]
    assert len(long) == 2
    for case in long:
        answer, said = next_tokens(case, "next_log_probs"), case.arguments["said"]
        chances = [math.exp(answer(said[:place])[said[place]]) for place in range(1, len(said))]
        assert math.prod(chances) == 0.0
        assert min(chances) > 0.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_bytes_are_those_of_a_cache(dtype):
    config = {"layers": 3, "heads": 8, "kv_heads": 2, "d_head": 5, "bytes": dtype.itemsize}
    keys = torch.ones(1, 2, 7, 5, dtype=dtype)
    found = sum(half.nbytes for _ in range(3) for half in GrowingCache().append(keys, keys))
    assert reference.cache_bytes(config, 7, 0, 2 * found) == (found, 2)
    assert reference.cache_bytes({**config, "window": 4}, 9, 3, found - 1) == (found, 0)
