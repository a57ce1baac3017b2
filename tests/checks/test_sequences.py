"""The assignment "sequences": its answers against what is known without them, and what is told."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from transformer_checks import sequences as reference
from transformer_checks.assignments.sequences import cases
from transformer_checks.judging.exam import make_exam
from transformer_ref.experiments import sequences as experiment

UNROLL = "sequences.unroll"
ADDITIVE = "sequences.additive_attention"
SPAN = "sequences.memory_span"

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
