"""Mistakes that have a name in every task: they show in the fault itself, whatever the task is.

A task's own misconceptions are looked for first, as they say more.
"""

from __future__ import annotations

from dataclasses import replace

from transformer_checks.task import Misconception

NUMPY = "ndarray|float16|float32|float64|int8|int16|int32|int64"
DETACHED = Misconception(
    "detached",
    "no gradient flows back through the result",
    "Training needs the path from the result to the inputs. Look for detach, .data, no_grad, "
    "numpy, .item() or a new torch.tensor.",
    (),
)

# They are told by the text of an error, or by the fault of a failing case. Title and hint may have
# {task}, the stub, the groups of the pattern, and {what} and {names} of the fault.
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
        fault="returned float|int|bool for tensor",
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
        r"Can't call numpy\(\)|takes .*, received an? (?:nd\w+|numpy\w*|float\d+|int\d+)\b",
        f"returned.one|returned.several|returned.part|told {NUMPY}",
    ),
    Misconception(
        "other-device",
        "the result, or a part of it, lies on another device than the inputs",
        "Look for .cpu(), and for a tensor that is made without `device=`; "
        "such as torch.arange(n, device=x.device) goes where x is.",
        (),
        r"tensors to be on the same device|not on the expected device"
        r"|Cannot copy out of meta tensor",
        "device",
    ),
    replace(
        DETACHED,
        title="no gradient flows back to {names}",
        fault="no-gradient",
    ),
)

# Not among them, as it is not told by a fault.
NAME_OF_THE_NOTEBOOK = Misconception(
    "name-of-the-notebook",
    "`{variable}` is a variable of the notebook, and the argument `{argument}` is never used",
    "The function is called with other inputs than those of the cell that you tried. Compute "
    "from the arguments alone.",
    (),
)
