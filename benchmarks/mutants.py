"""Wrong answers that are made from the right ones, by one change to the source or to a value.

mutmut's operators change numbers, operators, comparisons and keywords in the source. Those here
leave out a call or an operand, exchange arguments, take a related function, and change what goes
into an answer or comes out of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial, wraps
from typing import Any

import libcst as cst
import numpy as np
import torch
from mutmut.mutation import mutators
from torch import Tensor

from transformer_checks.judging.changes import Change, ChangeError, changed
from transformer_checks.judging.exam import make_exam
from transformer_checks.registry import find_task

# Each one of a pair is replaced by the other.
RELATED = "min max, amin amax, argmin argmax, any all, sum mean, triu tril, ones zeros, sin cos"
PAIRS = [pair.split() for pair in RELATED.split(", ")]
SWAPPED = dict(PAIRS) | {two: one for one, two in PAIRS}
# What these make raises an error at once.
TOO_LOUD = {"operator_assignment", "operator_arg_removal", "operator_dict_arguments"}


def without_call(node: cst.Call) -> Iterator[cst.CSTNode]:
    """Leave a call out: `x.f(a)` is `x`, and `f(x, a)` is `x`."""
    if isinstance(node.func, cst.Attribute):
        yield node.func.value
    if node.args and not node.args[0].star:
        yield node.args[0].value


def other_arguments(node: cst.Call) -> Iterator[cst.CSTNode]:
    """Exchange neighboring arguments, or leave the last one out."""
    for number, (one, other) in enumerate(zip(node.args, node.args[1:], strict=False)):
        args = list(node.args)
        args[number] = one.with_changes(value=other.value)
        args[number + 1] = other.with_changes(value=one.value)
        yield node.with_changes(args=args)
    if len(node.args) > 1:
        yield node.with_changes(args=node.args[:-1])


def one_operand(node: cst.BinaryOperation | cst.BooleanOperation) -> Iterator[cst.CSTNode]:
    """Leave an operand out."""
    yield from (node.left, node.right)


def one_less(node: cst.Integer) -> Iterator[cst.CSTNode]:
    """Subtract one; mutmut adds it."""
    if node.evaluated_value:
        yield node.with_changes(value=str(node.evaluated_value - 1))


def related(node: cst.Name) -> Iterator[cst.CSTNode]:
    """Take a related function."""
    if node.value in SWAPPED:
        yield node.with_changes(value=SWAPPED[node.value])


def negated(node: cst.If | cst.While | cst.IfExp) -> Iterator[cst.CSTNode]:
    """Negate a condition."""
    test = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    yield node.with_changes(test=cst.UnaryOperation(cst.Not(), test))


def without_statement(node: cst.SimpleStatementLine) -> Iterator[cst.CSTNode]:
    """Leave a statement out."""
    text = isinstance(node.body[0], cst.Expr) and isinstance(node.body[0].value, cst.SimpleString)
    if isinstance(node.body[0], cst.Expr | cst.Assign | cst.AugAssign) and not text:
        yield node.with_changes(body=[cst.Pass()])


OPERATORS: list[tuple[Any, Callable[[Any], Iterable[cst.CSTNode]]]] = [
    *(pair for pair in mutators.mutation_operators if pair[1].__name__ not in TOO_LOUD),
    (cst.Call, without_call),
    (cst.Call, other_arguments),
    (cst.BinaryOperation | cst.BooleanOperation, one_operand),
    (cst.Integer, one_less),
    (cst.Name, related),
    (cst.If | cst.While | cst.IfExp, negated),
    (cst.SimpleStatementLine, without_statement),
]
# By the type that they change; if one raises, the value stays unchanged.
CHANGES: dict[type, dict[str, Callable[[Any], Any]]] = {
    Tensor: {
        "flip(0)": lambda x: x.flip(0),
        "roll(1, -1)": lambda x: x.roll(1, -1),
        "[:, :1]": lambda x: x[:, :1].expand_as(x) if x.ndim == 4 else x,
        "squeeze()": lambda x: x.squeeze(),
        "first one": lambda x: x.index_fill(-1, torch.tensor([0], device=x.device), 1),
        "triu(-2)": lambda x: x.triu(-2),
    },
    int: {"at most 3": lambda x: min(x, 3), "+ 1": lambda x: x + 1},
    str: {"lower()": str.lower, "[:3]": lambda x: x[:3], "strip()": str.strip},
    list: {"[:3]": lambda x: x[:3], "once each": lambda x: list(dict.fromkeys(x))},
    tuple: {"[:3]": lambda x: x[:3]},
}


class _Places(cst.CSTVisitor):
    """Collects what each operator makes of each node."""

    def __init__(self) -> None:
        self.found: list[tuple[cst.CSTNode, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        for kind, operator in OPERATORS:
            if isinstance(node, kind):
                self.found += [(node, new) for new in operator(node)]
        return not isinstance(node, cst.Annotation)


def kinds_in(value: Any) -> set[type]:
    """Return the types that occur in a value of a case or an outcome."""
    inner = value.items() if isinstance(value, dict) else value
    mine = Tensor if isinstance(value, np.ndarray) else type(value)
    return {mine}.union(*map(kinds_in, inner if isinstance(value, dict | list | tuple) else ()))


def applied(kind: type, operator: Callable[[Any], Any], value: Any) -> Any:
    """Apply an operator to what is of a type in a value."""
    if type(value) is kind or (kind is Tensor and isinstance(value, Tensor)):
        try:
            return operator(value)
        except (TypeError, ValueError, RuntimeError, IndexError):
            return value
    change = partial(applied, kind, operator)
    if isinstance(value, dict):
        return {change(name): change(each) for name, each in value.items()}
    return type(value)(map(change, value)) if type(value) in (list, tuple) else value


def altered(answer: Any, place: str, operator: Callable[[Any], Any]) -> Any:
    """Change one argument, or what is "returned", at each call of a right answer."""
    call = getattr(answer, "forward", answer)
    signature = inspect.signature(call)

    @wraps(call)
    def wrong(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        if place in given.arguments:
            given.arguments[place] = operator(given.arguments[place])
        returned = call(*given.args, **given.kwargs)
        return operator(returned) if place == "returned" else returned

    return wrong if call is answer else type(answer.__name__, (answer,), {"forward": wrong})


def altered_answers(key: str) -> Iterator[Any]:
    """Make the mutants in which a value is changed."""
    exam = make_exam(key, 0)
    answer = changed(exam.task.answer or exam.task.reference, Change(()))
    places: dict[str, set[type]] = {}
    for case, outcome in zip(exam.cases, exam.expected, strict=True):
        plain = {n: each for n, each in case.arguments.items() if n not in exam.task.makers}
        returned = [("returned", each) for each in outcome.values.values()]
        for name, value in (*plain.items(), *returned):
            places.setdefault(name, set()).update(kinds_in(value))
    for place, kinds in places.items():
        for kind, operators in CHANGES.items():
            for said, operator in operators.items() if kind in kinds else ():
                wrong = altered(answer, place, partial(applied, kind, operator))
                wrong.__name__ = f"{place}: {kind.__name__} {said}"
                yield wrong


@cache
def mutants(key: str) -> list[Callable[..., Any]]:
    """Make the mutants of a task's right answer.

    Args:
        key: of the task.

    Returns:
        functions or classes; the name of each says what was changed.
    """
    task = find_task(key)
    answer = task.answer or task.reference
    source = inspect.getsource(answer)
    tree, places = cst.parse_module(source), _Places()
    tree.visit(places)
    made: dict[str, Callable[..., Any]] = {}
    for old, new in places.found:
        code = cst.ensure_type(tree.deep_replace(old, new), cst.Module).code
        if code in made:
            continue
        try:
            made[code] = changed(answer, Change(((source, code),)))
        except ChangeError:  # no Python
            continue
        said = [" ".join(tree.code_for_node(node).split()) for node in (old, new)]
        made[code].__name__ = " -> ".join(each[:60] for each in said)
    return [*made.values(), *altered_answers(key)]
