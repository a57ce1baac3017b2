"""Put the cases to an answer and note what it does: the middle one of the three steps.

This is the only module that touches an answer.
It knows the questions but not the right results: :mod:`transformer_checks.judging.exam` keeps
those, and a copy of the process has none of them.
"""

from __future__ import annotations

import builtins
import inspect
import io
import linecache
import os
import sys
import sysconfig
import traceback
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer_checks.running import wire_format
from transformer_checks.running.comparing import same
from transformer_checks.running.forbidden_calls import watch, watch_operators
from transformer_checks.running.unread_arguments import used_instead
from transformer_checks.task import (
    Arrays,
    Case,
    FunctionTask,
    Made,
    ModuleTask,
    Outcome,
    ProbeTask,
    Task,
)
from transformer_checks.translation import say

MAX_ELEMENTS = 1_000_000
MAX_TEXT = 400

_NOT_STUDENTS = ("torch", "transformer_checks", "transformer_ref")
# Asked once, as it takes a millisecond, and for every error of an answer it would be needed.
_LIBRARY = sysconfig.get_path("stdlib")
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class NoResultError(Exception):
    """The answer gave no result that can be read.

    Args:
        said: why, in words of a task's own, marked as `later`; places such as {name} stand for the
            fields of the fault, and {what} for the type and size of what was received.
        about: why, as data: the fields of a fault, all of them texts.
    """

    def __init__(self, said: str = "", /, **about: str) -> None:
        super().__init__(said)
        self.about = {"kind": "told", "text": said, **about} if said else about


class ReturnedError(NoResultError):
    """The answer returned something else than the task asks for."""


class BuildError(NoResultError):
    """The answer's class cannot be built or has not the weights that the stub lists."""


def why_no_answer(task: Task, answer: Any) -> str:
    """Say why something cannot be an answer to a task; nothing of it is run.

    Args:
        task: the task.
        answer: what stands under the name that the task asks for, None where nothing does.

    Returns:
        a part of a sentence, or "".
    """
    if answer is None:
        return say(
            "there is no `{name}`: run the cell that defines it, under this name", name=task.name
        )
    kind = described(type(answer).__name__)
    wants_class = isinstance(task, ModuleTask)
    # type() cannot be deceived and runs no code of the answer.
    if wants_class and not issubclass(type(answer), type) and not callable(answer):
        return say("expected the class itself, received {kind}", kind=kind)
    if not callable(answer):
        return say("expected a function, received {kind}", kind=kind)
    if wants_class and issubclass(type(answer), nn.Module):
        return say("expected the class itself, received {kind} object", kind=kind)
    return ""


def run_cases(task: Task, answer: Any, cases: list[Case]) -> Iterator[Outcome]:
    """Put all cases to an answer, refusing what may not be called.

    Args:
        task: the task.
        answer: the function or class.
        cases: the questions.

    Yields:
        one outcome a case, in order.
    """
    instead = _used_instead(answer)
    with watch(task.forbidden) as calls:
        for case in cases:
            printed = Printed()
            with redirect_stdout(printed), redirect_stderr(printed):
                # SystemExit and KeyboardInterrupt are answers, too.
                outcome = run_case(task, answer, case, catch=BaseException)
            outcome.forbidden = calls[0] if calls else ""
            _close_figures()
            outcome.instead = instead
            outcome.printed = printed.getvalue()
            yield outcome


def _used_instead(answer: Any) -> list[str]:
    try:
        return used_instead(answer)
    except Exception:  # an answer need not be willing to be looked at
        return []


def run_case(
    task: Task, answer: Any, case: Case, catch: type[BaseException] = Exception
) -> Outcome:
    """Put one case to an answer.

    Args:
        task: the task.
        answer: the function or class.
        case: the question.
        catch: exceptions that count as something the answer did.

    Returns:
        what the answer did; an exception is part of it.
    """
    outcome = Outcome()
    try:
        with torch.inference_mode(False), torch.enable_grad():
            # Another seed for each case, so that what is random shows itself.
            torch.default_generator.manual_seed(zlib.crc32(case.name.encode()))
            _ask(task, answer, case, outcome)
    except NoResultError as error:
        outcome.fault = "built" if isinstance(error, BuildError) else "returned"
        outcome.error, outcome.about = str(error), error.about
    except catch as error:
        outcome.fault, outcome.error = _fault(error, case), describe_error(error)
    return outcome


def _ask(task: Task, answer: Any, case: Case, outcome: Outcome) -> None:
    arguments, made = _make_arguments(task, case)
    if isinstance(task, ProbeTask):
        with watch_operators():
            _ask_at_length(task, answer, case, arguments, outcome)
        return
    before = {name: _kept(value) for name, value in arguments.items() if name not in made}
    sources = {
        name: value
        for name, value in arguments.items()
        if isinstance(value, Tensor) and value.requires_grad
    }
    for name, each in made.items():
        left = {f"{name}.{part}": tensor for part, tensor in each.left().items()}
        sources.update({part: tensor for part, tensor in left.items() if tensor.requires_grad})
    function = answer
    if isinstance(task, ModuleTask):
        module = build(answer, case)
        sources.update({name: find_weight(module, name) for name in case.weights})
        outcome.trainable = [
            name
            for name, parameter in module.named_parameters()
            if parameter.requires_grad and name not in case.weights
        ]
        function = module
    with watch_operators():
        try:
            returned = _call_elsewhere(function, arguments, case.default_device)
        finally:
            outcome.changed = [name for name in before if not _same(before[name], arguments[name])]
            outcome.noted = {name: wire_format.copied(each.noted()) for name, each in made.items()}
        for name, each in made.items():
            for part, tensor in each.left().items():
                outcome.left[f"{name}.{part}"] = _array(f"{name}.{part}", tensor)
        _note_returned(task, returned, case, sources, outcome)


def _call_elsewhere(function: Any, arguments: dict[str, Any], device: str) -> Any:
    """Call with another default device, "meta", unless that is "".

    To read numbers of a tensor there, or to copy it to where the inputs are, fails on "meta" only:
    such an answer is called as usual.
    """
    if not device:
        return call(function, arguments)
    try:
        with torch.device(device):
            return call(function, arguments)
    except (NotImplementedError, RuntimeError, TypeError) as error:
        if not any(words in str(error) for words in ("meta tensor", "meta device")):
            raise
        return call(function, arguments)


def _note_returned(
    task: Task, returned: Any, case: Case, sources: dict[str, Tensor], outcome: Outcome
) -> None:
    """Note what a call has returned, and the gradients of it where the case asks for them."""
    if isinstance(task, FunctionTask) and task.observe is not None and returned is not None:
        returned = task.observe(returned)
    if task.form is not None:
        outcome.values = {task.returns[0]: _plain(task.returns[0], returned, task.form)}
        return
    for name, tensor in _unpack(task.returns, returned).items():
        _note(outcome, name, tensor)
    if case.cotangent is not None:
        result = _unpack(task.returns, returned)[task.returns[0]]
        outcome.gradients = _gradients(result, sources, case.cotangent)


def _ask_at_length(
    task: ProbeTask, answer: Any, case: Case, arguments: dict[str, Any], outcome: Outcome
) -> None:
    """Note what a task's own way to ask brings back."""
    before = {name: _kept(value) for name, value in arguments.items()}
    try:
        found = task.ask(answer, case, arguments)
    finally:
        outcome.changed = [name for name, old in before.items() if not _same(old, arguments[name])]
    for name, tensor in found.items():
        _note(outcome, name, tensor)


def _note(outcome: Outcome, name: str, tensor: Tensor) -> None:
    outcome.values[name] = _array(name, tensor)
    outcome.dtypes[name] = str(tensor.dtype).removeprefix("torch.")
    outcome.devices[name] = str(tensor.device.type)


def _make_arguments(task: Task, case: Case) -> tuple[dict[str, Any], dict[str, Made]]:
    """Make what the answer gets; also, by name, what is no plain data."""
    arguments: dict[str, Any] = {}
    made: dict[str, Made] = {}
    for name, value in case.arguments.items():
        maker = task.makers.get(name)
        if maker is None:
            arguments[name] = _argument(value, case)
        else:
            made[name] = maker.make(name, case, arguments)
            arguments[name] = made[name].value
    return arguments, made


def _argument(value: Any, case: Case) -> Any:
    """Make the tensor that a case describes, or a copy of other values."""
    if not isinstance(value, np.ndarray):
        return wire_format.copied(value)
    tensor = torch.from_numpy(value.copy()).to(case.device)
    if value.dtype.kind != "f":
        return tensor
    tensor = tensor.to(getattr(torch, case.precision or str(value.dtype)))
    if case.layout == "strided" and tensor.ndim >= 2:
        axes = (-3, -2) if tensor.ndim > 2 else (-2, -1)
        tensor = tensor.transpose(*axes).contiguous().transpose(*axes)
    return tensor.requires_grad_(case.cotangent is not None)


def build(answer: Any, case: Case) -> nn.Module:
    """Build a class with a case's settings, copy the weights in, set the mode.

    Args:
        answer: the class.
        case: settings and weights.

    Returns:
        the module, with the case's dtype, on the case's device.

    Raises:
        BuildError: if it is no module, or a weight is missing or has another shape.
    """
    module = call(answer, dict(case.settings))
    if not isinstance(module, nn.Module):
        raise BuildError(kind="built.type", expected="nn.Module", **type_and_size(module))
    module = module.to(device=case.device, dtype=getattr(torch, case.dtype)).train(case.training)
    for name, array in case.weights.items():
        weight = find_weight(module, name)
        shape = tuple(weight.shape)
        if shape != array.shape:
            raise BuildError(
                kind="built.exchanged" if shape == array.shape[::-1] else "built.shape",
                name=name,
                expected=str(array.shape),
                received=str(shape),
                text=_as_call(case.settings),
            )
        with torch.no_grad():
            weight.copy_(torch.from_numpy(array))
    return module


def find_weight(module: nn.Module, name: str) -> Tensor:
    """Find a weight of a module by its dotted name.

    Args:
        module: the module.
        name: like "q_proj.weight".

    Returns:
        the tensor.

    Raises:
        BuildError: if the name leads nowhere.
    """
    path, _, leaf = name.rpartition(".")
    target: Any = module
    for part in path.split("."):
        target = getattr(target, part, None)
        if target is None:
            raise BuildError(kind="built.layer", name=path)
    weight = getattr(target, leaf, None)
    if not isinstance(weight, Tensor):
        raise BuildError(kind="built.weight", name=path, expected=leaf)
    return weight


def call(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call an answer by the stub's names where it has them, and by position where not.

    Args:
        function: what to call.
        arguments: by the stub's names, in order.

    Returns:
        what the function returns.
    """
    # type() runs no code of the answer, isinstance might.
    target: Any = function
    if issubclass(type(function), nn.Module):
        target = target.forward
    try:
        kinds = {name: each.kind for name, each in inspect.signature(target).parameters.items()}
    except Exception:
        kinds = {}  # written in C, or unwilling to be looked at
    if all(kinds.get(name) in _BY_NAME for name in arguments):
        return function(**arguments)
    only = _only_by_name(kinds, arguments)
    return function(
        *(value for name, value in arguments.items() if name not in only),
        **{name: arguments[name] for name in only},
    )


def _only_by_name(kinds: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    """List what cannot be handed over by position.

    These are what the signature takes by name only, and the last arguments where it has them
    further behind, as a `norm` behind a dropout that the stub has not.
    """
    only = [name for name in arguments if kinds.get(name) is inspect.Parameter.KEYWORD_ONLY]
    places = {name: place for place, name in enumerate(kinds)}
    for place, name in reversed(list(enumerate(arguments))):
        if kinds.get(name) not in _BY_NAME or (name not in only and places[name] <= place):
            break
        only += [name] * (name not in only)
    return only


def _unpack(names: tuple[str, ...], returned: Any) -> dict[str, Tensor]:
    """Give the returned tensors their names.

    Raises:
        ReturnedError: if there are not that many tensors.
    """
    if returned is None:
        raise ReturnedError(kind="returned.nothing", received="None")
    if len(names) == 1:
        if not isinstance(returned, Tensor):
            received = type_and_size(returned)
            raise ReturnedError(kind="returned.one", expected="tensor", **received)
        return {names[0]: returned}
    if not isinstance(returned, list | tuple) or len(returned) != len(names):
        expected = f"({', '.join(names)})"
        raise ReturnedError(kind="returned.several", expected=expected, **type_and_size(returned))
    for name, each in zip(names, returned, strict=True):
        if not isinstance(each, Tensor):
            received = type_and_size(each)
            raise ReturnedError(kind="returned.part", name=name, expected="tensor", **received)
    return dict(zip(names, returned, strict=True))


def _plain(name: str, returned: Any, form: Any) -> Any:
    """Copy what was returned, without anything that pretends to be plain data."""
    if returned is None:
        raise ReturnedError(kind="returned.nothing", received="None")
    try:
        return wire_format.copied(returned, form)
    except wire_format.NotPlainError as error:
        about = type_and_size(error.value)
        single = isinstance(error.value, Tensor) and error.value.numel() == 1
        kind = "limit" if error.why else "number" if single else "plain"
        if error.path:  # the form that is wanted in there is not known
            kind = "number-inside" if single else "inside"
        else:
            about["expected"] = wire_format.written(form)
        place = f"{name}{error.path}"
        raise ReturnedError(kind=f"returned.{kind}", name=place, text=error.why, **about) from None


def describe(value: Any) -> str:
    """Say what a value is, without calling anything of its own.

    Args:
        value: anything.

    Returns:
        e.g. "a list of 3", "a tensor of shape (2, 3)", "an int"; in English, as error messages are.
    """
    return described(**type_and_size(value), say=str.format)


def type_and_size(value: Any) -> dict[str, Any]:
    """Return the name of a value's type, and its size where it has one, as a fault has them.

    Args:
        value: anything; nothing of its own is called.

    Returns:
        such as ``{"received": "list", "size": "3"}``.
    """
    if isinstance(value, Tensor):
        return {"received": "tensor", "size": str(tuple(value.shape))}
    size = str(len(value)) if type(value) in (list, tuple, dict) else ""
    return {"received": type(value).__name__, "size": size}


def described(received: str, size: str = "", say: Callable[..., str] = say) -> str:
    """Write what :func:`type_and_size` found, such as "a list of 3"."""
    vowel = received[:1].lower() in "aeiou"
    said = say("an {type}", type=received) if vowel else say("a {type}", type=received)
    if not size:
        return said
    if received == "tensor":
        return say("{what} of shape {size}", what=said, size=size)
    return say("{what} of {size}", what=said, size=size)


def _array(name: str, tensor: Tensor) -> np.ndarray:
    with torch._C.DisableTorchFunctionSubclass():
        tensor = tensor.as_subclass(Tensor)  # a subclass may answer as it likes
    if tensor.numel() > MAX_ELEMENTS:
        raise ReturnedError(kind="returned.large", name=name, **type_and_size(tensor))
    if tensor.is_meta:
        tensor = torch.zeros(tensor.shape, dtype=tensor.dtype)
    detached = tensor.detach().cpu()
    if detached.dtype in (torch.bfloat16, torch.float16):
        detached = detached.float()
    if detached.is_complex():
        raise ReturnedError(kind="returned.complex", name=name)
    return detached.contiguous().numpy().copy()


def _gradients(result: Tensor, sources: dict[str, Tensor], cotangent: np.ndarray) -> Arrays:
    """Return the gradients that exist; none if the result hangs on nothing or has another shape."""
    if not result.requires_grad or tuple(result.shape) != cotangent.shape:
        return {}
    weight = torch.from_numpy(cotangent).to(result.device, result.dtype)
    # A scalar loss: torch imports sympy to check the shape of given gradients, a second each time.
    loss = (result * weight).sum()
    found = torch.autograd.grad(loss, list(sources.values()), allow_unused=True)
    return {
        name: _array(name, gradient)
        for name, gradient in zip(sources, found, strict=True)
        if gradient is not None
    }


def _kept(value: Any) -> Any:
    """Copy an argument, to see later whether the answer changed it."""
    return value.detach().clone() if isinstance(value, Tensor) else wire_format.copied(value)


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, Tensor):
        alike = old.shape == new.shape and old.dtype == new.dtype
        return alike and (old.is_meta or bool(torch.equal(old, new)))
    try:
        return same(old, wire_format.copied(new), (0.0, 0.0))
    except wire_format.NotPlainError:
        return False


def describe_error(error: BaseException) -> str:
    """Name an exception, its text and the student's own line that it came from."""
    text, where = _text(error), _own_line(error)
    name = type(error).__name__[:MAX_TEXT]
    return f"{name}: {text}{where}" if text else f"{name}{where}"


def _text(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())[:MAX_TEXT]
    except BaseException:
        return "(its text cannot be read)"


def _fault(error: BaseException, case: Case) -> str:
    if _is_stub(error):
        return "unsolved"
    if not case.refused or not issubclass(type(error), ValueError):
        return "raised"
    return "refused" if all(text in _text(error) for text in case.says) else "raised"


def _is_stub(error: BaseException) -> bool:
    """Tell the stub's own error from torch's, which uses the same class and says more."""
    if not issubclass(type(error), NotImplementedError):
        return False
    return not error.args or "your code" in str(error).lower()


def _own_line(error: BaseException) -> str:
    """Say which line of the answer failed, leaving out Python's own, torch's and ours."""
    try:
        for frame, number in reversed(list(traceback.walk_tb(error.__traceback__))):
            file = frame.f_code.co_filename
            module = frame.f_globals.get("__name__", "")
            if str(module).split(".")[0] in _NOT_STUDENTS or "site-packages" in file:
                continue
            if file.startswith((_LIBRARY, "<frozen")):
                continue
            line = linecache.getline(file, number).strip()
            return f" (in `{line}`)" if line else f" (line {number} of your code)"
    except Exception:
        return ""
    return ""


def _as_call(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


class Printed(io.TextIOBase):
    """Keeps the first characters that are printed and drops the rest."""

    def __init__(self, most: int = MAX_TEXT) -> None:
        self.most = most
        self.text = ""

    def write(self, text: str) -> int:
        """Keep a text, as far as there is room; return its length, as a file does."""
        if len(self.text) < self.most:
            self.text += str(text)[: self.most - len(self.text)]
        return len(text)

    def getvalue(self) -> str:
        """Return what was kept."""
        return self.text


def without_input() -> None:
    """Make a question to the keyboard an error; for a child process, which has no keyboard."""

    def refuse(*_: Any) -> str:
        raise EOFError("an answer cannot ask for input")

    sys.stdin = io.StringIO()
    builtins.input = refuse


def without_display() -> None:
    """Make words of what is shown in a notebook; for a child process, which has no page.

    Otherwise each figure would come as the numbers of its picture, with every case.
    """
    os.environ["MPLBACKEND"] = "agg"  # draws nothing by itself; for an answer that imports it
    if "matplotlib" in sys.modules:
        sys.modules["matplotlib"].use("agg")
    _close_figures()
    if "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        if shell is not None:
            shell.display_pub.publish = _print_in_words
            shell.display_formatter.active_types = ["text/plain"]


def _print_in_words(data: Mapping[str, Any], *_: Any, **__: Any) -> None:
    """Stand in for the method that sends what is shown to the page."""
    print(data.get("text/plain", ""))


def _close_figures() -> None:
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
