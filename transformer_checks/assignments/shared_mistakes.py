"""Misconceptions that answers with tensors share, whatever the task is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from transformer_checks.judging.changes import Change, change
from transformer_checks.task import Misconception

FLOAT32_ONLY = Misconception(
    "float32-only",
    "the result is float32 whatever the input is",
    "Compute in the dtype that comes in. Look for .float(), dtype=torch.float32, or a tensor that "
    "is made new inside without the input's dtype.",
    (),
    r"same dtype|expected scalar type",
)
CHANGES_INPUT = Misconception(
    "changes-its-input",
    "the function changes the caller's tensor",
    "An operation in place (+=, /=, a name that ends in _) on an argument reaches out of the "
    "function. Make a new tensor instead.",
    (),
    r"leaf [Vv]ariable that requires grad",
)


TOO_MILD = Misconception(
    "fill-too-mild",
    "hidden scores are low, but not low enough",
    "Real scores may be lower than the fill, and then what is hidden wins. There is a value "
    "that no score can fall below.",
    (),
)
TENSOR_FOR_NUMBER = Misconception(
    "tensor-for-a-number",
    "the result is a tensor, or holds tensors, where plain numbers are asked for",
    "Whoever reads the result may not know torch. .item(), .tolist() and int() make numbers of it.",
    (),
    r"is a tensor of shape \(.*\)(, expected (float|int|list)|; \.item)",
)
NUMBER_FOR_TENSOR = Misconception(
    "number-for-a-tensor",
    "the loss is a plain number: no gradient flows through it",
    "Training needs the tensor, which knows the way back. Leave out .item() or float().",
    (),
    r"expected one tensor, received a float",
)
FIRST_ROUND = Misconception(
    "returns-in-the-loop",
    "only the first round of the loop has an effect",
    "A return ends the function, also in the middle of a loop. It belongs behind the loop, as far "
    "to the left as the `for`.",
    (),
)
SAMPLED = Misconception(
    "sampled",
    "the token is drawn at random",
    "Here the likeliest token is taken, each time the same one: argmax.",
    (),
)
LARGEST_LOGIT = Misconception(
    "max-not-argmax",
    "the largest logit itself is taken for the token",
    "max says how large the largest logit is, argmax where it stands. Its place is the token.",
    (),
    r"\] is a float",
)
NOTEBOOK = Misconception(
    "name-of-the-notebook",
    "the function uses a name of the notebook in the place of its own argument",
    "It works for the example, and for nothing else. Look at which arguments the function never "
    "reads.",
    (),
)


def with_wrong(entry: Misconception, *wrong: Change | Callable[..., Any]) -> Misconception:
    """Give an entry that several tasks share its implementations in one of them."""
    return replace(entry, wrong=wrong)


def no_gradients(name: str) -> Change:
    """Return the change that cuts the function or method of this name off from the gradients."""
    indent = "    " if name == "forward" else ""
    return change(f"def {name}(", f"@torch.no_grad()\n{indent}def {name}(")


def after(first: Change, *entries: Misconception) -> tuple[Misconception, ...]:
    """Make the changes of some entries after another change, such as one that writes out a call."""
    return tuple(
        replace(entry, wrong=tuple(first + way for way in entry.wrong if isinstance(way, Change)))
        for entry in entries
    )
