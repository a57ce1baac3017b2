"""Arguments that are no plain data: described by plain data, made beside the answer.

A case stays plain: it holds a description, which :func:`token_function`, :func:`model` or
:func:`optimizer` writes.
The task names the maker of that argument, and :mod:`transformer_checks.running.asking` calls it
in the process of the answer, for every call anew.
An answer may do what it likes with such an argument. What is judged is read from tensors that the
maker has kept for itself.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transformer_checks.running.asking import describe
from transformer_checks.task import SAID, Arrays, Case, Made, Maker, Property

MOST_CALLS = 1_000
MOST_IDS = 1_000
MOST_NOTED = 100


def _tensor(array: np.ndarray, case: Case) -> Tensor:
    return torch.from_numpy(array.copy()).to(case.device)


# --- functions of a prefix -------------------------------------------------------------------


def token_function(
    after: np.ndarray,
    table: Mapping[tuple[int, ...], np.ndarray] | None = None,
    said: str = "",
    most_calls: int = MOST_CALLS,
) -> dict[str, Any]:
    """Describe a function from ids to V numbers, such as next_logits.

    Args:
        after: (V, V), row i what follows a prefix that ends with token i.
        table: what follows exactly this prefix instead.
        said: in words for a student; "" = what there is to say in general.
        most_calls: more calls than these are an error, so that an endless loop shows at once.

    Returns:
        the description, for a task with the maker :data:`TOKEN_FUNCTION`, which notes the
        prefixes that were asked for, in order.
    """
    special = ""
    if table:
        special = ", 1 prefix by itself" if len(table) == 1 else f", {len(table)} by themselves"
    return {
        SAID: said or f"a function over {len(after)} tokens{special}",
        "after": after,
        "table": dict(table or {}),
        "most calls": most_calls,
    }


def _make_token_function(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    description = case.arguments[name]
    size, most = len(description["after"]), description["most calls"]
    calls: list[list[int]] = []
    count = 0

    def answered(ids: list[int]) -> Tensor:
        nonlocal count
        count += 1
        if count > most:
            raise RuntimeError(f"{name} was called more than {most:,} times: does the loop end?")
        prefix = _as_ids(name, ids, size)
        if len(calls) < MOST_NOTED:
            calls.append(prefix)
        row = description["table"].get(tuple(prefix))
        return _tensor(description["after"][prefix[-1]] if row is None else row, case)

    answered.__name__ = answered.__qualname__ = name
    return Made(answered, noted=lambda: [list(prefix) for prefix in calls])


def _as_ids(name: str, ids: Any, size: int) -> list[int]:
    """Return ids as a new list, or say what else was given."""
    if not isinstance(ids, list | tuple):
        raise TypeError(f"{name} takes a list of int, received {describe(ids)}")
    if not 0 < len(ids) <= MOST_IDS:
        raise ValueError(f"{name} takes 1 to {MOST_IDS:,} ids, received {len(ids):,}")
    try:
        prefix = [operator.index(each) for each in ids]
    except TypeError:
        wrong = next(each for each in ids if not hasattr(type(each), "__index__"))
        kind = describe(wrong)
        raise TypeError(f"{name} takes a list of int, received a list with {kind}") from None
    for each in prefix:
        if not 0 <= each < size:
            raise ValueError(f"{name} knows the ids 0 to {size - 1}, received {each}")
    return prefix


TOKEN_FUNCTION = Maker(_make_token_function, form=list[list[int]])


# --- models ----------------------------------------------------------------------------------


def model(
    said: str, weights: Arrays, gradients: Arrays | None = None, *, training: bool = True
) -> dict[str, Any]:
    """Describe a model.

    Args:
        said: in words for a student.
        weights: all of its parameters, by dotted name.
        gradients: what lies in their ``grad`` from before; None = none.
        training: whether it comes in training mode.

    Returns:
        the description, for a task with a maker from :func:`model_maker`.
    """
    return {SAID: said, "weights": weights, "gradients": gradients or {}, "training": training}


def model_maker(build: Callable[[Arrays], nn.Module]) -> Maker:
    """Return the maker of a model, whose parameters are judged after the call.

    Args:
        build: gives a model with the parameters that the arrays name, whatever their values are.

    Returns:
        the maker.
    """

    def make(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
        description = case.arguments[name]
        built = build(description["weights"]).train(description["training"])
        parameters = dict(built.named_parameters())
        for part, parameter in parameters.items():
            parameter.data = _tensor(description["weights"][part], case)
            if part in description["gradients"]:
                parameter.grad = _tensor(description["gradients"][part], case)
        return Made(built, left=lambda: parameters)

    return Maker(make)


def measured_model_maker(
    build: Callable[[Arrays], nn.Module], give: Callable[[Any], Any] = lambda model: model
) -> Maker:
    """Return the maker of a model that is measured, and must come back as it was.

    Args:
        build: as for :func:`model_maker`.
        give: makes of the model what the answer gets, such as the list of its layers.

    Returns:
        the maker; what is left are "weights", all parameters in the order of their names, one
        number behind the other, "hooks", how many there are, and "modes", 1 for each part that is
        in training mode.
    """

    def make(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
        measured = model_maker(build).make(name, case, earlier).value

        def left() -> dict[str, Tensor]:
            hooks = sum(
                len(part._forward_hooks) + len(part._forward_pre_hooks)
                for part in measured.modules()
            )
            by_name = sorted(measured.named_parameters())
            weights = torch.cat([parameter.detach().flatten() for _, parameter in by_name])
            modes = torch.tensor([float(part.training) for part in measured.modules()])
            return {"weights": weights, "hooks": torch.tensor(float(hooks)), "modes": modes}

        return Made(give(measured), left=left)

    return Maker(make)


# --- optimizers ------------------------------------------------------------------------------


class MomentumDescent(torch.optim.Optimizer):
    """Gradient descent with momentum, as torch.optim.SGD has it.

    torch's own would import its compiler when it is made, a second in each answer's process.

    Args:
        groups: dictionaries with "params", "lr" and "momentum".
    """

    def __init__(self, groups: list[dict[str, Any]]) -> None:
        self.param_groups = groups
        self.defaults = {"lr": 0.0, "momentum": 0.0}
        self.state = defaultdict(dict)
        self.steps = 0
        self.clearings = 0

    def __getstate__(self) -> dict[str, Any]:
        """Keep all of it in a copy: that of torch's optimizers leaves the counts out."""
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become the copy."""
        self.__dict__.update(state)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        self.clearings += 1
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad = torch.zeros_like(parameter.grad)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients.

        Args:
            closure: computes the loss and the gradients first.

        Returns:
            what the closure returns, or None.
        """
        loss = closure() if closure is not None else None
        self.steps += 1
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    self._change(parameter, group)
        return loss

    def _change(self, parameter: Tensor, group: Mapping[str, Any]) -> None:
        if parameter.grad is None:
            return
        state = self.state[parameter]
        old = state.get("momentum_buffer", torch.zeros_like(parameter))
        state["momentum_buffer"] = group["momentum"] * old + parameter.grad
        parameter -= group["lr"] * state["momentum_buffer"]


def optimizer(
    rates: Mapping[str, float], momentum: float = 0.0, buffers: Arrays | None = None, of: str = ""
) -> dict[str, Any]:
    """Describe an optimizer: gradient descent with momentum.

    Args:
        rates: learning rate of each parameter, by its name in the model.
        momentum: share of the last change that is kept.
        buffers: the last changes, by parameter; None = there was no step before.
        of: name of the argument that is the model; "" = "model".

    Returns:
        the description, for a task with the maker :data:`OPTIMIZER`, which notes the number of
        "steps" and of "clearings", those of ``zero_grad``.
    """
    said = f"SGD, lr={' or '.join(f'{rate:g}' for rate in sorted(set(rates.values())))}"
    if momentum:
        said += f", momentum={momentum:g}"
    return {
        SAID: said,
        "rates": dict(rates),
        "momentum": momentum,
        "buffers": buffers or {},
        "of": of or "model",
    }


def _make_optimizer(name: str, case: Case, earlier: Mapping[str, Any]) -> Made:
    description = case.arguments[name]
    parameters = dict(earlier[description["of"]].named_parameters())
    momentum = description["momentum"]
    groups = [
        {"params": [parameters[part]], "lr": rate, "momentum": momentum}
        for part, rate in description["rates"].items()
    ]
    made = MomentumDescent(groups)
    for part, buffer in description["buffers"].items():
        made.state[parameters[part]]["momentum_buffer"] = _tensor(buffer, case)
    return Made(made, noted=lambda: {"steps": made.steps, "clearings": made.clearings})


OPTIMIZER = Maker(_make_optimizer, form=dict[str, int])


def is_left_alone(argument: str) -> Property:
    """Return a property: a measurement leaves no marks on the argument that it measured."""

    def said(case: Case, values: Mapping[str, np.ndarray]) -> str | None:
        if values[f"{argument}.hooks"] > 0:
            return (
                f"a hook is still on `{argument}` after the call: the next who uses it is "
                "silenced too"
            )
        if np.any(values[f"{argument}.modes"] != case.arguments[argument]["training"]):
            return f"the call leaves `{argument}` in another mode than it was in (train or eval)"
        by_name = sorted(case.arguments[argument]["weights"].items())
        before = [array.ravel() for name, array in by_name if name != "num_heads"]
        if not np.allclose(values[f"{argument}.weights"], np.concatenate(before)):
            return f"the weights of `{argument}` hold other numbers after the call"
        return None

    return said
