"""The assignment "sequences": its answers against what is known without them, and what is told."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from tests.checks.material import sequences as material
from transformer_checks import grade
from transformer_checks import sequences as reference
from transformer_checks.assignments.sequences import cases
from transformer_checks.judging.exam import make_exam
from transformer_checks.judging.faults import find_fault
from transformer_checks.task import Outcome
from transformer_ref.experiments import sequences as experiment

STEP = "sequences.recurrent_step"
UNROLL = "sequences.unroll"
ADDITIVE = "sequences.additive_attention"
COST = "sequences.layer_cost"
SPAN = "sequences.memory_span"
BUG = "sequences.find_the_bug"

# Answers that are right, and not the reference's, which may not be called.
ANSWERS = {
    STEP: material.step_joined,
    UNROLL: material.unroll_ahead,
    ADDITIVE: material.additive_rows,
    COST: material.cost_loop,
    SPAN: material.span_from_the_end,
    BUG: material.both_step_by_step,
}
NAMES = {
    "weight_x": "weight_ih_l0",
    "weight_h": "weight_hh_l0",
    "bias": "bias_ih_l0",
}


def tensors(arguments):
    return {
        name: torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }


@torch.no_grad()
def torch_network(given, **options):
    """The same network as torch has it; its second bias is zero."""
    state, token = given["weight_x"].shape
    network = nn.RNN(token, state, batch_first=True, **options).to(given["weight_x"])
    for name, theirs in NAMES.items():
        getattr(network, theirs).copy_(given[name])
    network.bias_hh_l0.zero_()
    return network


# --- the answers -----------------------------------------------------------------------------


@pytest.mark.parametrize("task", ANSWERS)
def test_a_right_answer_is_right(task):
    result = grade(task, ANSWERS[task])
    assert result.score == 1.0, result.message


def test_the_code_as_found_fails_in_every_case():
    result = grade(BUG, material.bug_as_given, 1)
    assert (result.passed, result.misconception) == (0, "bug-is-in")


def test_a_step_and_its_unrolling_are_those_of_torch():
    for case in make_exam(UNROLL, 0).cases:
        if case.dtype == "float16":  # torch rounds elsewhere
            continue
        given = tensors(case.arguments)
        states, _ = torch_network(given)(given["x"], given["hidden"][None])
        torch.testing.assert_close(reference.unroll(**given), states)
        first = {**given, "x": given["x"][:, 0]}
        torch.testing.assert_close(reference.recurrent_step(**first), states[:, 0])


def test_both_ways_are_those_of_torch():
    torch.manual_seed(0)
    network = nn.RNN(3, 4, batch_first=True, bidirectional=True)
    forwards, backwards = nn.RNN(3, 4, batch_first=True), nn.RNN(3, 4, batch_first=True)
    for reader, suffix in ((forwards, ""), (backwards, "_reverse")):
        reader.load_state_dict(
            {name: getattr(network, name + suffix) for name in reader.state_dict()}
        )
    x = torch.randn(2, 5, 3)
    torch.testing.assert_close(reference.read_both_ways(forwards, backwards, x), network(x)[0])


def test_one_sequence_is_that_of_the_chapter():
    chapter = experiment.by_hand()
    states = reference.unroll(
        chapter["X"][None], torch.zeros(1, 2), chapter["W"].T, chapter["U"].T, chapter["b"]
    )
    torch.testing.assert_close(states[0], chapter["states"])
    context, weights = reference.additive_attention(
        chapter["s"][None],
        states,
        chapter["W_a"].T,
        chapter["U_a"].T,
        chapter["v_a"],
        torch.ones(1, 3, dtype=torch.bool),
    )
    torch.testing.assert_close(weights[0], chapter["weights"])
    torch.testing.assert_close(context[0], chapter["context"])


def test_what_is_hidden_might_as_well_not_be_there():
    for case in make_exam(ADDITIVE, 1).cases:
        given = tensors(case.arguments)
        context, weights = reference.additive_attention(**given)
        for row, seen in enumerate(given["mask"]):
            one = {name: given[name][row : row + 1] for name in ("query", "states", "mask")}
            one["states"], one["mask"] = one["states"][:, seen], one["mask"][:, seen]
            alone, shares = reference.additive_attention(**{**given, **one})
            torch.testing.assert_close(context[row], alone[0])
            torch.testing.assert_close(weights[row, seen], shares[0])


def counted(function, *inputs):
    """Multiplications of the matrix products, by torch's counter, which counts additions too."""
    with FlopCounterMode(display=False) as counter:
        function(*inputs)
    return counter.get_total_flops() // 2


def test_the_multiplications_are_those_that_torch_counts():
    batch, length, size, kernel = 3, 7, 5, 4
    x, square = torch.randn(batch, length, size), torch.randn(size, size)
    filters = torch.randn(size, size, kernel)
    layers = {
        "recurrent": lambda: reference.unroll(x, x[:, 0], square, square, square[0]),
        "attention": lambda: (x @ x.mT).softmax(dim=-1) @ x,
        "convolution": lambda: nn.functional.conv1d(
            nn.functional.pad(x.mT, (kernel - 1, 0)), filters
        ),
    }
    for layer, run in layers.items():
        assert reference.layer_cost(layer, batch, length, size, kernel)[0] == counted(run)


@pytest.mark.parametrize("kernel", [2, 3, 4, 7])
def test_the_path_is_the_number_of_layers_that_a_gradient_takes(kernel):
    for length in range(2, 12):
        first = torch.zeros(1, 1, length)
        first[..., 0] = 1.0
        layers = 0
        while first[0, 0, -1] == 0:
            padded = nn.functional.pad(first, (kernel - 1, 0))
            first = nn.functional.conv1d(padded, torch.ones(1, 1, kernel))
            layers += 1
        assert reference.layer_cost("convolution", 1, length, 1, kernel)[2] == layers


# --- the cases: their answers are known from how they are made -------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_spans_are_those_of_the_closed_form(seed):
    exam = make_exam(SPAN, seed)
    for case, outcome in zip(exam.cases, exam.expected, strict=True):
        assert cases.is_clear(case.arguments)
        assert outcome.values["span"] == cases.known_span(case.arguments)


@pytest.mark.parametrize(
    ("kind", "share", "span"),
    [("adding", 0.8, 8), ("looking", 0.05, 8), ("backwards", 0.2, 0), ("spread", 0.4, 4)],
)
def test_some_spans_need_no_calculation(kind, share, span):
    case = cases.span_case(np.random.default_rng(0), kind, 9, share)
    assert cases.known_span(case.arguments) == span


def test_exams_have_gaps_and_models_that_are_no_chains():
    exam = make_exam(SPAN, 2)
    with_gaps = 0
    for case in exam.cases:
        distances = cases.distances(case.arguments)
        kept = distances >= case.arguments["share"] * distances[0]
        with_gaps += (~kept[: cases.known_span(case.arguments)]).any()
    assert with_gaps >= 3


# --- what is told ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "answer", "said"),
    [
        (STEP, material.w_step_no_tanh, "a tanh gives numbers from -1 to 1; here `new_hidden`"),
        (STEP, material.w_step_detached, "no gradient reaches `x`"),
        (STEP, material.w_step_square, "weight_h is square"),
        (UNROLL, material.w_unroll_last, "expected shape ("),
        (UNROLL, material.w_unroll_list, "expected one tensor, received a list"),
        (UNROLL, material.w_unroll_no_tanh, "here `states` holds one of size"),
        (ADDITIVE, material.w_additive_no_mask, "a state that the mask hides (False) has weight"),
        (ADDITIVE, material.w_additive_late_mask, "should sum to 1; here they sum to"),
        (ADDITIVE, material.w_additive_mean, "is not what the returned weights make"),
        (COST, material.m_cost_two_numbers, "three numbers are asked for, received 2"),
        (COST, lambda layer, batch_size, length, size, kernel_size=3: (0, 1, 1), "is below 1"),
        (COST, material.w_cost_fraction, "is a float, expected int"),
        (SPAN, material.m_span_negative, "a place from 0 to"),
        (SPAN, material.w_span_tensor, ".item() makes a number of it"),
    ],
)
def test_a_wrong_answer_is_told_in_words(task, answer, said):
    result = grade(task, answer)
    assert said in result.message, result.message
    assert result.score < 1.0


def test_a_model_that_is_changed_is_told():
    def changes(model, x, other, share):
        span = material.span_loop(model, x, other, share)
        with torch.no_grad():
            next(iter(model.parameters())).zero_()
        return span

    def leaves_a_hook(model, x, other, share):
        model.register_forward_hook(lambda *_: None)
        return material.span_loop(model, x, other, share)

    assert "the weights of `model` hold other numbers" in grade(SPAN, changes).message
    assert "a hook is still on `model`" in grade(SPAN, leaves_a_hook).message


def test_the_first_lines_do_not_give_the_bug_away():
    told = grade(BUG, material.bug_as_given).message.split("First failing case")[0]
    assert "still in it" in told
    assert "flip" not in told


# --- what may and may not be called ----------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "name"),
    [
        (STEP, "recurrent_step"),
        (UNROLL, "unroll"),
        (ADDITIVE, "additive_attention"),
        (COST, "layer_cost"),
        (SPAN, "memory_span"),
        (BUG, "read_both_ways"),
    ],
)
def test_the_answer_itself_is_refused(task, name):
    result = grade(task, getattr(reference, name))
    assert (result.score, result.misconception) == (0.0, None)
    assert f"checks.sequences.{name}, which this task asks you to do without" in result.message


def by_network(x, hidden, weight_x, weight_h, bias):
    given = {"weight_x": weight_x, "weight_h": weight_h, "bias": bias}
    return torch_network(given)(x, hidden[None])[0]


def by_cell(x, hidden, weight_x, weight_h, bias):
    cell = nn.RNNCell(x.shape[-1], len(bias)).to(x)
    return cell(x, hidden)


def by_operator(x, hidden, weight_x, weight_h, bias):
    return torch.rnn_tanh_cell(x, hidden, weight_x, weight_h, bias, torch.zeros_like(bias))


@pytest.mark.parametrize(
    ("task", "answer", "name"),
    [
        (UNROLL, by_network, "torch.nn.RNN"),
        (STEP, by_cell, "torch.nn.RNNCell"),
        (STEP, by_operator, "torch.nn.RNN"),
    ],
)
def test_torchs_own_networks_are_refused(task, answer, name):
    result = grade(task, answer)
    assert result.score == 0.0
    assert name in result.message


# --- forged results --------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["refused", "returned", "built", "raised", "unsolved", "x"])
def test_a_forged_fault_is_worth_nothing(fault):
    for key in ANSWERS:
        exam = make_exam(key, 0)
        outcomes = [Outcome(fault=fault)] * len(exam.cases)
        assert all(find_fault(exam, number, outcomes) for number in range(len(outcomes)))
