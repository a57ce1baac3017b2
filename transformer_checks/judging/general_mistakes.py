"""Mistakes that are named in every task: the fault itself shows them, whatever the task is.

A task's own misconceptions are checked first, because they say more.
"""

from __future__ import annotations

from dataclasses import replace

from transformer_checks.task import Misconception

NUMPY = "ndarray|float16|float32|float64|int8|int16|int32|int64"
DETACHED = Misconception(
    "detached",
    "no gradient flows back through the result",
    "Training needs an unbroken path from the result to the inputs. Look for detach, .data, "
    "no_grad, numpy, .item() or a new torch.tensor.",
    (),
)

# They are recognized by the text of an error, or by the fault of a failing case. Title and hint may
# use {task} (the stub), the groups of the pattern, and {what} and {names} of the fault.
GENERAL = (
    Misconception(
        "undefined-name",
        "`{name}` is not defined when your code is called",
        "None of the cells you ran defines it. Run the cell that does, or check the spelling; the "
        "task's own names are those in `{task}`.",
        (),
        r"NameError: name '(?P<name>\w+)' is not defined",
    ),
    Misconception(
        "whole-tensor-as-condition",
        "`and`, `or`, `not` or `if` is applied to a whole tensor",
        "These Python keywords need a single True or False. For each entry separately, use & for "
        "and, | for or, ~ for not, with parentheses around each comparison, and torch.where for "
        "if.",
        (),
        r"Boolean value of Tensor with more than one value is ambiguous",
    ),
    Misconception(
        "number-for-a-tensor",
        "{what} is returned instead of a tensor",
        "A plain Python number loses the device, the dtype and the path of the gradients. Look for "
        ".item(), float(), int(), len() or .tolist().",
        (),
        fault="returned float|int|bool for tensor",
    ),
    Misconception(
        "one-number-of-many",
        "a tensor of many numbers is converted to a single Python number",
        "Look for .item(), float() or int() of a tensor; compute with the tensor itself instead.",
        (),
        r"cannot be converted to Scalar|only one element tensors can be converted",
    ),
    Misconception(
        "numpy",
        "numpy is used where a tensor is expected",
        "numpy has neither gradients nor devices, and detach() only hides that. torch has the same "
        "functions, mostly under the same names.",
        (),
        r"Can't call numpy\(\)|takes .*, received an? (?:nd\w+|numpy\w*|float\d+|int\d+)\b",
        f"returned.one|returned.several|returned.part|told {NUMPY}",
    ),
    Misconception(
        "other-device",
        "the result, or a part of it, is not on the device of the inputs",
        "Look for .cpu(), and for a tensor created without `device=`; "
        "torch.arange(n, device=x.device), for example, puts it where x is.",
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

# Not in GENERAL, because neither an error nor a fault reveals it.
NAME_OF_THE_NOTEBOOK = Misconception(
    "name-of-the-notebook",
    "`{variable}` is a variable of the notebook, and the argument `{argument}` is never used",
    "The checks call the function with inputs that differ from those in your cell. Compute "
    "everything from the arguments.",
    (),
)
