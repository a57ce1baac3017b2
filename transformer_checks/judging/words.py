"""Write the sentences that students read, out of what was found out about an answer.

All our sentences about faults stand here, and nothing else reads them; a
translation replaces this module.
"""

from __future__ import annotations

from transformer_checks.judging.facts import Fault
from transformer_checks.running import wire_format
from transformer_checks.running.asking import described
from transformer_checks.running.comparing import difference

# By kind. {place} is the name, with its brackets, as a student writes it, {names} several names,
# {what} what was received, {values} where two results differ, and {inside} the fault inside.
FAULTS = {
    "raised": "it raised {text}",
    "told": "{text}",
    "silent": "it gave no result, and no reason",
    "unreadable": "what came back cannot be read",
    "returned.nothing": "it returned None: is a `return` missing?",
    "returned.one": "expected one tensor, received {what}",
    "returned.several": "expected {expected}, received {what}",
    "returned.part": "{place} should be a tensor, received {what}",
    "returned.plain": "{place} is {what}, expected {expected}",
    "returned.inside": "{place} is {what}",
    "returned.number": "{place} is {what}, expected {expected}; .item() makes a number of it",
    "returned.number-inside": "{place} is {what}; .item() makes a number of it",
    "returned.limit": "{place} {text}, expected {expected}",
    "returned.large": "{place} is far too large: its shape is {size}",
    "returned.complex": "{place} holds complex numbers",
    "built.type": "the class gave {what}, expected an {expected}",
    "built.shape": "{name} has shape {received}, expected {expected} for {text}",
    "built.layer": "the module has no layer {place}; the stub asks for that name",
    "built.weight": "{place} has no {expected}; the layers here have a weight and a bias",
    "not-refused": "expected a ValueError, because {text}; {inside}",
    "no-error": "no error was raised",
    "always-refused": "it raises in every case, not only where it should",
    "missing": "{place} is missing",
    "shape": "{place}: expected shape {expected}, received {received}",
    "dtype.floating": "{place}: expected a floating dtype, received {received}",
    "dtype.kept": "{place}: expected dtype {expected} as in the input, received {received}",
    "dtype": "{place}: expected dtype {expected}, received {received}",
    "device": "{place}: expected it on {expected}, received it on {received}",
    "nan": "{place} holds NaN",
    "nan.all-see": "{place} holds NaN, though every query may see at least one key",
    "unknown-use": "it is not known any more how the arguments were used",
    "left.missing": "{place} is missing after the call",
    "left.shape": "{place} has another shape after the call: expected {expected}, received "
    "{received}",
    "left.extra": "{place} should not be there after the call",
    "left": "after the call {values}",
    "trainable": "training would change {place}, which is a parameter of the module",
    "property": "{text}",
    "not-repeated": "{text}",
    "values": "{values}",
    "no-gradient": "no gradient reaches {names}: training would not learn through this. Look for "
    "detach, .data, no_grad, .item(), numpy or a new torch.tensor",
    "gradient": "the gradient of {values}",
    "changed.tensor": "the caller's {both} holds other values after the call. Look for an "
    "operation in place (a name that ends in _, +=, *=, or x[...] = ...) on an argument",
    "changed.plain": "the caller's {both} holds other values after the call. Look for append, "
    "extend, pop, sort, del or an assignment to an entry on an argument",
}


def fault_in_words(fault: Fault | None) -> str:
    """Write a fault.

    Args:
        fault: the fault, or None.

    Returns:
        a sentence or more without the last full stop; "" for None.
    """
    if fault is None:
        return ""
    return FAULTS[fault.kind].format(
        **{**vars(fault), "inside": fault_in_words(fault.inside)},
        place="" if isinstance(fault.name, tuple) else place_in_words(fault.name),
        names=names_in_words(fault),
        both=names_in_words(fault, " and "),
        what=described(str(fault.received), fault.size),
        values=_values(fault) if fault.kind in ("values", "left", "gradient") else "",
    )


def what_in_words(fault: Fault) -> str:
    """Write what was received where something of another type should be, such as "a list"."""
    return described(str(fault.received))


def names_in_words(fault: Fault, between: str = ", ") -> str:
    """Write the names that a fault is about."""
    names = fault.name if isinstance(fault.name, tuple) else ()
    return between.join(f"`{name}`" for name in names)


def place_in_words(name: str) -> str:
    """Write a name with brackets as a student does, such as "`tokens[2]`"."""
    before, key, _ = name.partition(wire_format.KEY)
    return f"a key of `{before}`" if key else f"`{name}`"


def _values(fault: Fault) -> str:
    """Write where two results differ."""
    return difference(str(fault.name), fault.received, fault.expected, fault.tolerance)
