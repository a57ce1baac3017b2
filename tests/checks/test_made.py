"""Arguments that are no plain data: described in the case, made beside the answer, and read."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from transformer_checks.assignments import made_arguments
from transformer_checks.assignments.shared_cases import described
from transformer_checks.judging.exam import Exam
from transformer_checks.judging.verdict import judge
from transformer_checks.running import wire_format
from transformer_checks.running.asking import run_cases
from transformer_checks.task import Case, FunctionTask, Maker, Misconception, Outcome


class Line(nn.Module):
    """y = a x + b, with a parameter that is read by name and one inside of a layer."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(1, 1, bias=False)
        self.shift = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return self.inner(x) + self.shift


def step(model, x, optimizer):
    """One step on the mean of what the model says, and that mean."""
    optimizer.zero_grad()
    loss = model(x).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def no_step(model, x, optimizer):
    return model(x).mean().item()


WEIGHTS = {"inner.weight": np.array([[2.0]]), "shift": np.array([0.5])}
X = np.array([[1.0], [3.0]])


def step_case(dtype="float64", momentum=0.0):
    def cast(arrays):
        return {name: array.astype(dtype) for name, array in arrays.items()}

    arguments = {
        "model": made_arguments.model("a line", cast(WEIGHTS), cast({"shift": np.array([7.0])})),
        "x": X.astype(dtype),
        "optimizer": made_arguments.optimizer(
            {"inner.weight": 0.1, "shift": 0.2}, momentum, cast({"shift": np.array([1.0])})
        ),
    }
    return Case(", ".join(described(arguments)), arguments)


STEP = FunctionTask(
    key="made.step",
    stub="step(model, x, optimizer)",
    contract="returns the loss",
    returns=("loss",),
    reference=lambda model, x, optimizer: step(model, x, optimizer),
    cases=lambda rng: [step_case(), step_case("float32", 0.5)],
    load_misconceptions=lambda: (
        Misconception("no-step", "no step is made", "Make one.", (no_step,)),
    ),
    form=float,
    makers={
        "model": made_arguments.model_maker(lambda weights: Line()),
        "optimizer": made_arguments.OPTIMIZER,
    },
)

GREEDY_AFTER = np.array([[0.0, 2.0, 1.0], [0.0, 1.0, 2.0], [3.0, 1.0, 2.0]])


def likeliest(next_logits, ids):
    return int(next_logits(ids).argmax())


NEXT = FunctionTask(
    key="made.next",
    stub="likeliest(next_logits, ids)",
    contract="returns the likeliest next token",
    returns=("token",),
    reference=lambda next_logits, ids: likeliest(next_logits, ids),
    cases=lambda rng: [
        Case(
            "one",
            {
                "next_logits": made_arguments.token_function(
                    GREEDY_AFTER, {(1, 2): np.array([0.0, 9.0, 0.0])}, most_calls=5
                ),
                "ids": [1],
            },
        )
    ],
    properties=(lambda case, seen: "it asked twice" if len(seen["next_logits"]) == 2 else None,),
    form=int,
    makers={"next_logits": made_arguments.TOKEN_FUNCTION},
)


def judged(task, answer):
    """Grade without another process, but with the bytes that would pass between the two."""
    exam = Exam(task, task.cases(np.random.default_rng(0)))
    packed = wire_format.encode([vars(case) for case in exam.cases])
    cases = [Case(**each) for each in wire_format.decode(packed)]
    frames = [wire_format.encode(each.as_plain()) for each in run_cases(task, answer, cases)]
    outcomes = [Outcome(**wire_format.decode(frame)) for frame in frames]
    assert all(each.is_well_formed() for each in outcomes)
    return judge(exam, outcomes, "done", 1.0)


# --- cases -----------------------------------------------------------------------------------


def test_a_description_is_told_in_words_and_has_a_dtype():
    case = step_case("float32", 0.5)
    assert case.name == "model: a line, x (2, 1), optimizer: SGD, lr=0.1 or 0.2, momentum=0.5"
    assert case.dtype == "float32"
    only_a_function = {
        "next_logits": made_arguments.token_function(GREEDY_AFTER, {(1,): GREEDY_AFTER[0]})
    }
    assert described(only_a_function) == [
        "next_logits: a function over 3 tokens, 1 prefix by itself"
    ]
    case = Case("", {**only_a_function, "ids": [1]})
    assert case.has_tensors
    assert case.dtype == "float64"
    assert not Case("", {"words": {"a": np.ones(1)}, "n": 1}).has_tensors


# --- functions of a prefix -------------------------------------------------------------------


def make(maker: Maker, name, **arguments):
    return maker.make(name, Case("", arguments), {})


@pytest.fixture
def next_logits():
    table = {(1, 2): np.array([0.0, 9.0, 0.0])}
    described = made_arguments.token_function(GREEDY_AFTER, table, most_calls=8)
    return make(made_arguments.TOKEN_FUNCTION, "next_logits", next_logits=described)


def test_a_function_of_a_prefix_takes_the_table_and_else_the_last_token(next_logits):
    assert next_logits.value([1, 2]).tolist() == [0.0, 9.0, 0.0]
    assert next_logits.value([0, 1, 2]).tolist() == [3.0, 1.0, 2.0]
    assert next_logits.value((np.int64(0), torch.tensor(1))).tolist() == [0.0, 1.0, 2.0]
    assert next_logits.value.__name__ == "next_logits"
    assert next_logits.noted() == [[1, 2], [0, 1, 2], [0, 1]]


def test_what_an_answer_does_to_the_numbers_and_the_ids_stays_with_it(next_logits):
    ids = [1, 2]
    next_logits.value(ids).fill_(7)
    ids.append(0)
    next_logits.noted()[0].append(0)
    assert next_logits.value([1, 2]).tolist() == [0.0, 9.0, 0.0]
    assert next_logits.noted() == [[1, 2], [1, 2]]


@pytest.mark.parametrize(
    ("ids", "error", "said"),
    [
        (torch.tensor([[1]]), TypeError, "takes a list of int, received a tensor of shape (1, 1)"),
        (np.array([1]), TypeError, "takes a list of int, received a ndarray"),
        (1, TypeError, "takes a list of int, received an int"),
        ({1: 2}, TypeError, "takes a list of int, received a dict"),
        ([1.0], TypeError, "takes a list of int, received a list with a float"),
        ([[1]], TypeError, "received a list with a list"),
        ([], ValueError, "takes 1 to 1,000 ids, received 0"),
        ([1] * 1001, ValueError, "takes 1 to 1,000 ids, received 1,001"),
        ([1, 3], ValueError, "knows the ids 0 to 2, received 3"),
        ([-1], ValueError, "knows the ids 0 to 2, received -1"),
    ],
    ids=repr,
)
def test_other_ids_are_an_error_in_words(next_logits, ids, error, said):
    with pytest.raises(error) as caught:
        next_logits.value(ids)
    assert str(caught.value).startswith("next_logits ")
    assert said in str(caught.value)
    assert next_logits.noted() == []


def test_an_endless_loop_ends_with_an_error(next_logits):
    for _ in range(8):
        next_logits.value([1])
    with pytest.raises(RuntimeError, match="more than 8 times: does the loop end"):
        next_logits.value([1])


def test_an_answer_with_a_function_is_judged_and_its_calls_are_seen():
    assert judged(NEXT, likeliest).score == 1.0
    twice = judged(NEXT, lambda next_logits, ids: likeliest(next_logits, ids or next_logits(ids)))
    assert twice.score == 1.0

    def asks_twice(next_logits, ids):
        next_logits(ids)
        return likeliest(next_logits, ids)

    assert "it asked twice" in judged(NEXT, asks_twice).message

    def loops(next_logits, ids):
        while True:
            likeliest(next_logits, ids)

    message = judged(NEXT, loops).message
    assert "it raised RuntimeError: next_logits was called more than 5 times" in message
    assert "(in `likeliest(next_logits, ids)`)" in message or "int(next_logits(ids)" in message


# --- models and optimizers -------------------------------------------------------------------


def square(model, x):
    return model(x).square().mean()


SQUARE = FunctionTask(
    key="made.square",
    stub="square(model, x)",
    contract="returns a scalar",
    returns=("square",),
    reference=lambda model, x: square(model, x),
    cases=lambda rng: [
        Case(
            "one",
            {"model": made_arguments.model("a line", WEIGHTS), "x": X},
            cotangent=np.array(2.0),
        )
    ],
    makers={"model": made_arguments.model_maker(lambda weights: Line())},
)


def test_gradients_are_judged_at_the_parameters_of_a_model():
    assert judged(SQUARE, square).score == 1.0
    detached = judged(SQUARE, lambda model, x: square(model, x).detach()).message
    assert "no gradient reaches `x`, `model.shift`, `model.inner.weight`" in detached

    def through_half(model, x):
        return (model.inner(x) + model.shift.detach()).square().mean()

    assert "no gradient reaches `model.shift`:" in judged(SQUARE, through_half).message


def test_a_step_is_judged_by_the_parameters_that_it_leaves():
    assert judged(STEP, step).score == 1.0
    result = judged(STEP, no_step)
    assert result.misconception == "no-step"
    assert result.score == 0.0
    assert (
        "the result is right, but after the call `model.shift`[0:1]: expected [0.3], received [0.5]"
    ) in result.message


def test_old_gradients_and_momentum_count():
    def keeps(model, x, optimizer):
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    assert "`model.shift`" in judged(STEP, keeps).message

    def by_hand(model, x, optimizer):
        loss = model(x).mean()
        loss.backward()
        with torch.no_grad():
            model.inner.weight -= 0.1 * model.inner.weight.grad
            model.shift -= 0.2 * model.shift.grad
        return loss.item()

    assert judged(STEP, by_hand).passed == 0  # old gradients, and then a momentum
    assert judged(STEP, lambda model, x, optimizer: optimizer.step(lambda: 0)).score == 0.0


def test_the_optimizer_is_that_of_torch():
    ours, theirs = Line(), Line()
    theirs.load_state_dict(ours.state_dict())
    groups = [{"params": [each], "lr": 0.1, "momentum": 0.5} for each in ours.parameters()]
    optimizers = (
        made_arguments.MomentumDescent(groups),
        torch.optim.SGD(theirs.parameters(), lr=0.1, momentum=0.5),
    )
    for model, optimizer in zip((ours, theirs), optimizers, strict=True):
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(2, 1)).square().sum().backward()
            optimizer.step()
    for mine, right in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, right)
    optimizers[0].zero_grad(set_to_none=False)
    assert [parameter.grad.abs().sum() for parameter in ours.parameters()] == [0.0, 0.0]
    assert isinstance(optimizers[0], torch.optim.Optimizer)
    assert "MomentumDescent" in repr(optimizers[0])


def replaces_the_parameters(model, x, optimizer):
    model.shift = nn.Parameter(torch.full((3,), 9.0))
    return 0.0


def changes_their_shape(model, x, optimizer):
    loss = no_step(model, x, optimizer)
    model.shift.data = torch.zeros(2)
    return loss


def makes_them_huge(model, x, optimizer):
    model.shift.data = torch.zeros(1).expand(10**9)
    return 0.0


def removes_them(model, x, optimizer):
    loss = step(model, x, optimizer)
    del model.shift
    model.forward = model.named_parameters = None
    return loss


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (replaces_the_parameters, "`loss`: expected"),
        (changes_their_shape, "`model.shift` has a different shape after the call"),
        (makes_them_huge, "`model.shift` is far too large"),
        (removes_them, "all 2 cases pass"),
        (lambda model, x, optimizer: model, "`loss` is a Line, expected float"),
    ],
)
def test_whatever_happens_to_a_model_is_a_result(answer, said):
    assert said in judged(STEP, answer).message


def test_a_forged_note_is_a_fault_and_no_error_of_the_judge():
    exam = Exam(STEP, STEP.cases(np.random.default_rng(0)))
    right = {"model": [], "optimizer": {"steps": 1}}
    forged = ({}, {**right, "optimizer": {"steps": "many"}}, {"model": 3}, {**right, "loss": "x"})
    for noted in forged:
        outcomes = list(run_cases(STEP, step, exam.cases))
        outcomes[0].noted = noted
        assert "no longer tell how" in judge(exam, outcomes, "done", 1.0).message
    outcomes = list(run_cases(STEP, step, exam.cases))
    outcomes[0].left = {}
    assert "`model.shift` is missing" in judge(exam, outcomes, "done", 1.0).message
    outcomes = list(run_cases(STEP, step, exam.cases))
    outcomes[0].left["loss"] = np.zeros(1)
    assert "`loss` should not be there" in judge(exam, outcomes, "done", 1.0).message
    outcomes[0].left = {"model.shift": np.array(["a"])}
    assert not outcomes[0].is_well_formed()
    outcomes[0].left = []
    assert not outcomes[0].is_well_formed()


def test_a_model_comes_in_its_mode():
    description = made_arguments.model("a line", WEIGHTS, training=False)
    found = make(STEP.makers["model"], "model", model=description)
    assert not found.value.training
    assert all(parameter.grad is None for parameter in found.value.parameters())
