"""What a graded task is made of, in plain data wherever an answer could reach it.

A task holds its contract, its reference answer, a maker of cases, properties that explain a wrong
result, the calls it refuses, and its list of misconceptions.
``assignments/<slug>/tasks.toml`` lists the tasks of an assignment; README.md beside this file
explains its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from transformer_checks.judging.changes import Change, ChangeError, changed
from transformer_checks.limits import OUTCOME_TEXT
from transformer_checks.translation import later

Arrays = dict[str, np.ndarray]

# Key of the words for people in the description of an argument that is made beside the answer.
SAID = "described as"
# Why a case that asks the same as an earlier one must have the same results.
UNSTEADY = later(
    "the same call gave another result the second time: is something random, as dropout, or "
    "remembered from call to call?"
)


@dataclass(frozen=True)
class Case:
    """One question to the answer, all of it plain data and arrays.

    Attributes:
        name: how a message describes it, e.g. "query (2, 3, 4), float32, no mask".
        arguments: by the stub's names, in the stub's order; what is absent is left out of the call.
            Arrays become tensors. Where the task has a maker for one, this is its description.
        settings: constructor arguments of a class, numbers or texts, by the stub's names; empty for
            a function.
        weights: what is copied into a built module, by dotted name.
        layout: "contiguous", or "strided" for float tensors whose memory order is another one.
        device: where the tensors lie: "cpu", "cuda", or "meta", where a tensor has a shape and no
            numbers, and cannot meet one that was made on the default device.
        default_device: where the answer's new tensors lie unless it says otherwise, "" = as usual.
            "meta" shows whether they follow the inputs, whose numbers an answer may still read.
        cotangent: the gradient of the loss with respect to the first returned tensor, when
            gradients are judged.
        same_as: name of an earlier case whose results this one must repeat.
        same_because: what it means if the results are not the same.
        refused: why the answer must raise a ValueError, or "" where it must not.
        says: what the text of that error must contain.
        training: whether a module is in training mode, and not in that of evaluation.
        precision: floating dtype of the tensors where it is not that of the arrays, "bfloat16".
    """

    name: str
    arguments: dict[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    weights: Arrays = field(default_factory=dict)
    layout: str = "contiguous"
    device: str = "cpu"
    default_device: str = ""
    cotangent: np.ndarray | None = None
    same_as: str | None = None
    same_because: str = ""
    refused: str = ""
    says: tuple[str, ...] = ()
    training: bool = False
    precision: str = ""

    @property
    def dtype(self) -> str:
        """Name of the floating dtype of the arguments, such as "float32"."""
        if self.precision:
            return self.precision
        floats = (each for each in _arrays(self.arguments) if each.dtype.kind == "f")
        return next((str(each.dtype) for each in floats), "float32")

    @property
    def has_tensors(self) -> bool:
        """Whether any argument is a tensor, so that the device matters."""
        return any(True for _ in _arrays(self.arguments))


def _arrays(values: Mapping[Any, Any]) -> Iterator[np.ndarray]:
    """Go through the arrays of arguments and of their descriptions."""
    for value in values.values():
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, dict) and (SAID in value or SAID in values):
            yield from _arrays(value)


@dataclass
class Outcome:
    """What an answer did with one case, in plain data.

    Attributes:
        values: what was returned, by the contract's names: tensors as arrays, or plain data.
        dtypes: the dtypes of tensors, as torch names them.
        devices: their devices.
        gradients: by argument or weight; one that got none is absent.
        changed: arguments that hold other values after the call.
        trainable: parameters of a module that training would change, those of the case left out.
        left: what the call left in arguments that were made, such as "model.weight".
        noted: how those arguments were used, by argument; it explains and is not compared.
        fault: "" or what kept the result from being read: "raised", "returned", "built",
            "unsolved", or "refused" where it is the ValueError that the case asks for.
        error: the text of an error.
        about: any other fault as data, the fields of a
            :class:`transformer_checks.judging.facts.Fault`.
        forbidden: the refused call that was made, or "".
        instead: an argument that the answer's code never reads, and a variable of the notebook
            that it reads; empty where there are not both.
        printed: the first characters of what the answer printed.
    """

    values: dict[str, Any] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)
    gradients: Arrays = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    trainable: list[str] = field(default_factory=list)
    left: Arrays = field(default_factory=dict)
    noted: dict[str, Any] = field(default_factory=dict)
    fault: str = ""
    error: str = ""
    about: dict[str, str] = field(default_factory=dict)
    forbidden: str = ""
    instead: list[str] = field(default_factory=list)
    printed: str = ""

    def as_plain(self) -> dict[str, Any]:
        """Return the outcome as a dictionary, for the wire format."""
        return dict(vars(self))

    def is_well_formed(self) -> bool:
        """Say whether the fields hold what they should: the sender may have been an answer."""
        lists = (self.changed, self.trainable, self.instead)
        if not all(type(each) is list for each in lists):
            return False
        by_name = (self.values, self.dtypes, self.devices, self.gradients, self.left, self.noted)
        if not all(type(each) is dict for each in (*by_name, self.about)):
            return False
        names = (*self.changed, *self.trainable, *self.instead, *self.about.values())
        texts = (self.fault, self.error, self.forbidden, self.printed, *names)
        if not all(type(each) is str and len(each) <= OUTCOME_TEXT for each in texts):
            return False
        numbers = {name: each for name, each in self.values.items() if isinstance(each, np.ndarray)}
        if not numbers.keys() <= self.dtypes.keys() & self.devices.keys():
            return False
        return all(
            isinstance(each, np.ndarray) and each.dtype.kind in "biuf"
            for each in [*numbers.values(), *self.gradients.values(), *self.left.values()]
        )


@dataclass(frozen=True)
class Made:
    """An argument that is no plain data, such as a model, made from a description.

    Attributes:
        value: what the answer gets.
        left: gives the tensors that the call leaves in it, by name; they are judged.
        noted: gives in plain data how it was used; a property may speak of it.
    """

    value: Any
    left: Callable[[], Mapping[str, Any]] = dict
    noted: Callable[[], Any] = list


@dataclass(frozen=True)
class Maker:
    """Makes an argument beside the answer, in its process.

    Attributes:
        make: from the argument's name, the case, which holds its description, and the arguments
            that stand before this one, made.
        form: type of what it notes.
    """

    make: Callable[[str, Case, Mapping[str, Any]], Made]
    form: Any = list


@dataclass(frozen=True)
class Misconception:
    """A named mistake.

    Attributes:
        key: its name for programs, e.g. "softmax-over-queries".
        title: one line that names the mistake to the student.
        hint: one line on what is wrong and what to look at, without the line of code.
        wrong: how to make it: a change to the task's right answer, or a function of its own where
            the mistake is another algorithm; more than one where the same idea gives other numbers.
        error: a regular expression that the error's text matches, where the mistake shows as one.
        fault: the fault it shows as, in the notation of `judging/facts.py`, such as
            "returned float for int".
    """

    key: str
    title: str
    hint: str
    wrong: tuple[Change | Callable[..., Any], ...]
    error: str = ""
    fault: str = ""


# Relative and absolute, by dtype, where a task says nothing else.
TOLERANCES = {"float16": (1e-2, 1e-2), "float32": (2e-5, 2e-5), "float64": (1e-5, 1e-5)}

# By the name of an argument or result, the names of its axes; "..." for any number in front.
Shapes = Mapping[str, tuple[str, ...]]
# Of the case, and by name what was returned, what is left in made arguments, and what they note.
Property = Callable[[Case, Mapping[str, Any]], str | None]


@dataclass(frozen=True, kw_only=True)
class Task:
    """One graded task: what all kinds have.

    Attributes:
        key: "<slug>.<name>".
        stub: the signature that students see.
        contract: what is asked, in words, with what is not tried.
        returns: names of the returned tensors, in order, or the one of the plain data.
        reference: the right answer.
        cases: makes the cases from a random generator.
        properties: each says in words what is wrong with the values, or None.
        forbidden: dotted names that may not be called.
        shapes: the names of the axes of arguments and results; "returns" stands for each result
            that is not listed.
        demands: what the text promises besides the numbers, such as "dtype"; README.md lists them.
        load_misconceptions: gives the misconceptions, when they are first needed.
        tolerances: relative and absolute tolerance by dtype.
        form: the type of the result where it is plain data, such as list[str], in which a tuple
            passes for a list; None where the result is tensors.
        makers: of arguments that are no plain data, by name; see
            :mod:`transformer_checks.assignments.made_arguments`.
        answer: what changes of the misconceptions are made to, where the reference is another one,
            of more digits; None where it is the reference.
    """

    key: str
    stub: str
    contract: str
    returns: tuple[str, ...]
    reference: Callable[..., Any]
    cases: Callable[[np.random.Generator], list[Case]]
    properties: tuple[Property, ...] = ()
    forbidden: tuple[str, ...] = ()
    shapes: Shapes = field(default_factory=dict)
    demands: tuple[str, ...] = ()
    load_misconceptions: Callable[[], tuple[Misconception, ...]] = tuple
    tolerances: Mapping[str, tuple[float, float]] = field(default_factory=lambda: TOLERANCES)
    form: Any = None
    makers: Mapping[str, Maker] = field(default_factory=dict)
    answer: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        """The name of the function or class that a student writes."""
        return self.stub.removeprefix("class ").partition("(")[0]

    @cached_property
    def misconceptions(self) -> tuple[Misconception, ...]:
        """The named mistakes, most specific first."""
        return self.load_misconceptions()

    def wrong(self, entry: Misconception, variant: int) -> Callable[..., Any]:
        """Return an implementation of a misconception.

        Args:
            entry: one of this task's.
            variant: which of its implementations.

        Returns:
            a function or class, as the reference is.

        Raises:
            ChangeError: if it is a change that does not fit the reference; the message names both.
        """
        way = entry.wrong[variant]
        if not isinstance(way, Change):
            return way
        try:
            return changed(self.answer or self.reference, way)
        except ChangeError as error:
            raise ChangeError(f"{self.key}, {entry.key}, number {variant}: {error}") from error


@dataclass(frozen=True, kw_only=True)
class FunctionTask(Task):
    """The answer is a function, which is called.

    Attributes:
        any_float: whether the result may have any floating dtype.
        observe: turns what was returned, such as a module, into what is judged. It runs beside the
            answer and may raise ReturnedError; None where the result is judged as it is.
    """

    any_float: bool = False
    observe: Callable[[Any], Any] | None = None


@dataclass(frozen=True, kw_only=True)
class ModuleTask(Task):
    """The answer is a class of modules: it is built, gets the case's weights, and is called.

    Attributes:
        nothing_to_learn: whether it may have no parameter that training would change.
    """

    nothing_to_learn: bool = False


@dataclass(frozen=True, kw_only=True)
class ProbeTask(ModuleTask):
    """The answer is a class whose weights have no names that are known: one call shows too little.

    Attributes:
        ask: from the answer, the case and the arguments, made, to tensors by name. It runs beside
            the answer.
        find: says in plain data, of the type `form`, what these tensors show; this is what is
            compared. It runs with the judge, where no answer can reach it.
    """

    ask: Callable[[Any, Case, Mapping[str, Any]], Mapping[str, Tensor]]
    find: Callable[[Case, Outcome], Any]
