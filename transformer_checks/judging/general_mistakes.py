"""Mistakes that have a name in every task: they show in the fault itself, whatever the task is.

A task's own misconceptions are looked for first, as they say more.
"""

from __future__ import annotations

from dataclasses import replace

from transformer_checks.task import Misconception

DETACHED = Misconception(
    "detached",
    "no gradient flows back through the result",
    "Training needs the path from the result to the inputs. Look for detach, .data, no_grad, "
    "numpy, .item() or a new torch.tensor.",
    (),
)

# What they are told by is searched in what is said of each failing case. A group that the pattern
# names, and `task`, the stub, may stand in the title and the hint.
GENERAL = (
    Misconception(
        "undefined-name",
        "`{name}` is not defined when your code is called",
        "No cell that was run defines it. Run the cell that does, or look at the spelling; the "
        "task's own names are those of `{task}`.",
        (),
        r"NameError: name '(?P<name>\w+)' is not defined",
    ),
    Misconception(
        "whole-tensor-as-condition",
        "`and`, `or`, `not` or `if` is asked of a whole tensor",
        "These words of Python want a single True or False. Entry by entry it is & for and, "
        "| for or, ~ for not, with brackets around each comparison, and torch.where for if.",
        (),
        r"Boolean value of Tensor with more than one value is ambiguous",
    ),
    Misconception(
        "number-for-a-tensor",
        "{what} of Python comes where a tensor is asked for",
        "A tensor keeps its device, its dtype and the path of the gradients. Look for .item(), "
        "float(), int(), len() or .tolist().",
        (),
        r"(?:expected one tensor|should be a tensor), received (?P<what>a float|an int|a bool)\b",
    ),
    Misconception(
        "one-number-of-many",
        "a tensor of many numbers is turned into a single one of Python",
        "Look for .item(), float() or int() of a tensor; go on computing with the tensor itself.",
        (),
        r"cannot be converted to Scalar|only one element tensors can be converted",
    ),
    Misconception(
        "numpy",
        "numpy is used where a tensor is asked for",
        "numpy knows no gradients and no devices, and detach() only hides that. torch has the same "
        "functions, mostly under the same names.",
        (),
        r"Can't call numpy\(\)|received an? (?:nd\w+|numpy\w*|float\d+|int\d+)\b",
    ),
    Misconception(
        "other-device",
        "the result, or a part of it, lies on another device than the inputs",
        "Look for .cpu(), and for a tensor that is made without `device=`; "
        "such as torch.arange(n, device=x.device) goes where x is.",
        (),
        r"expected it on \w+, received it on|tensors to be on the same device"
        r"|not on the expected device|Cannot copy out of meta tensor",
    ),
    replace(
        DETACHED,
        title="no gradient flows back to {names}",
        error=r"no gradient reaches (?P<names>[^:]{1,200}):",
    ),
)
