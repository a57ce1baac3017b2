"""Write the sentences that students read, out of what was found out about an answer.

All our sentences about faults stand here, and nothing else reads them; a
translation replaces this module.
"""

from __future__ import annotations

import string
from typing import Any

from transformer_checks.judging.facts import Fault, Term
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


# Of terms, by key: relations, what errors mean, parts of sentences, what sets cases apart, and what
# was changed in a question. {...:list}, {...:and} and {...:product} write several values.
TERMS = {
    "axes-swapped.alone": "the axes of {name} stand in the order ({mine:list}), and should in "
    "({right:list}); the numbers are right",
    "axes-swapped": "the axes of {name} stand in the order ({mine:list}), and should in "
    "({right:list})",
    "length.end": "{name}, along {axis}: the {end} {count} {way}, and the rest is right",
    "length.off": "{name}, along {axis}, is {count} too {way}",
    "length.one-entry": "{name}, along {axis}, has only one entry: is a sum or mean taken over it, "
    "or one of it alone",
    "length.twice": "{name}, along {axis}, is twice as long as it should be",
    "length.half": "{name}, along {axis}, is half as long as it should be",
    "length.size-of": "{name}, along {axis}, has the size of {other}",
    "length.alone": "{name}, along {axis}, is too {way}; all other axes have the right sizes",
    "lengths": "{name} has other sizes than it should along {axes:and}",
    "axis-missing.size-1": "{name} lacks the axis of size 1 at place {place}; {rest}",
    "axis-missing.reduced": "{name} has no axis {axis}: it is {what} of the right one over it",
    "axis-missing": "{name} has no axis {axis}, and should have one",
    "axes-merged": "in {name} axes are merged into one; {rest}",
    "axis-too-many.size-1": "{name} has an axis of size 1 too many; {rest}",
    "axis-too-many.reduced": "the right {name} is {what} of yours over {axis}",
    "axis-too-many.size-of": "{name} has an axis of the size of {other} too many",
    "axis-too-many": "{name} has an axis too many",
    "axes-not-merged": "in {name} axes should be merged into one; {rest}",
    "number-of-axes": "{name} has {mine} axes, and should have {right}",
    "negative": "{name} is the negative of the right one: turn a sign",
    "factor": "{name} is the right one {factor}",
    "factor.changing": "{name} is the right one times one number, which is another one in other "
    "cases: look for a factor that should not be there, or is missing",
    "factor-of-row": "{name} is right along {axis} but for a factor, which is another one "
    "elsewhere: look at what it is divided by, or normed to",
    "offset.each": "each number of {name} is {offset}",
    "offset": "{name} is {offset}",
    "offset.constant": "{name} is the right one plus one and the same number",
    "offset.entry": "each entry of {name} is {by} too {way}",
    "offset.value": "each value of {name} is {by} too {way}",
    "offset-of-row": "{name} is right along {axis} but for one number that is added, another one "
    "elsewhere",
    "function": "{name} is {what}",
    "function.along": "{name} is {what}, over {axis}",
    "function-missing": "the right {name} is {what}, as if this step were missing",
    "function-missing.along": "the right {name} is {what}, over {axis}, as if this step were "
    "missing",
    "inverted": "in {name} True and False are exchanged",
    "constant.true": "{name} is True everywhere",
    "constant.false": "{name} is False everywhere",
    "constant.zeros": "{name} is all zeros",
    "constant.ones": "{name} is all ones",
    "constant.number": "{name} is all one number",
    "constant.value": "{name} is {value} whatever the arguments are",
    "too-much": "{name} is True at places where it should be False, and never the reverse",
    "too-little": "{name} is False at places where it should be True, and never the reverse",
    "transposed": "in {name} the axes {one} and {other} are exchanged",
    "reversed": "{name} is the right one in reverse order along {axis}",
    "reversed.list": "{name} is the right one in reverse order",
    "sorted": "{name} is the right one, sorted along {axis}",
    "sorted.falling": "{name} is the right one, sorted along {axis}, falling",
    "sorted.list": "{name} has the right entries, sorted",
    "sorted.list-falling": "{name} has the right entries, sorted, the largest first",
    "order": "{name} has the right parts, but along {axis} they stand in another order",
    "order.places": "{name} holds the right numbers, but at other places",
    "order.list": "{name} has the right entries, in another order",
    "reshaped": "{name} has its numbers in the order of the axes ({mine:list}), reshaped to "
    "({right:list}): reshape and view move no number, transpose and permute exchange axes",
    "shifted": "{name} comes one place too {way} along {axis}",
    "input": "{name} is the argument `{argument}`, unchanged",
    "input.size": "{name} is {size} itself",
    "independent": "{name} is the same all along {axis}: it should depend on the place",
    "only-first": "only the first place along {axis} is wrong in {name}",
    "only-first.entry": "only the first entry of {name} is wrong",
    "only-last": "only the last place along {axis} is wrong in {name}",
    "only-last.entry": "only the last entry of {name} is wrong",
    "all-but-first": "the first place along {axis} is right in {name}, and all others are wrong",
    "all-but-first.entry": "all entries of {name} but the first are wrong",
    "all-but-last": "the last place along {axis} is right in {name}, and all others are wrong",
    "only-every-other": "only the {which} places along {axis}, counted from 0, are wrong in {name}",
    "only-half": "only the {which} half along {axis} is wrong in {name}",
    "diagonal": "{name} is wrong only {side} the diagonal of {one} and {other}",
    "only-where": "{name} is wrong only where {where}, and right everywhere else",
    "not-infinite": "{name} is right but for a large negative number in the place of -inf",
    "not-finite.all": "{name} holds nothing but {what}",
    "not-finite": "{name} is right but for the places where it is {what}",
    "nearly": "{name} is nearly right, off by less than {share} of its largest number: look for a "
    "small number that is added or left out, for rounding, or a coarser dtype",
    "sum.without": "{name} is the right one without `{argument}` in the sum",
    "sum.one-more": "{name} is the right one with one more `{argument}` in the sum",
    "law.difference": "{name} is too {way} by {factors:product} in every failing case",
    "law.quotient": "{name} is the right one times {factors:product} in every failing case",
    "empty": "{name} is empty",
    "one-too-many.end": "{name} has one entry too many at the end",
    "one-too-many.start": "{name} has one entry too many at the start",
    "one-missing.last": "{name} lacks its last entry, and the others are right",
    "one-missing.first": "{name} lacks its first entry, and the others are right",
    "stops-early": "{name} is right as far as it goes, and ends too early",
    "goes-on": "{name} begins as it should, and then goes on too long",
    "repeated": "in {name} an entry stands twice, or more often, side by side",
    "once-each": "{name} has each entry once, though it may come again",
    "once-each.set": "{name} has each entry once, as if it had been a set, which forgets how often "
    "an entry comes, and in which order",
    "missing": "{name} lacks {few}; what is there is right, and in the right order",
    "missing.keys": "{name} lacks keys; what is there is right",
    "too-many": "{name} has all that it should, in order, and {few} too many",
    "too-many.keys": "{name} has keys too many; all others are right",
    "entries-reversed": "in each entry of {name} the parts are exchanged",
    "part-of-entries": "in the entries of {name} only the {part} part is wrong",
    "case": "{name} differs only in small and capital letters",
    "empty-entries": "{name} is right but for entries that are empty or blank",
    "characters": "{name} holds single characters, as list() and tuple() make them of a text",
    "cut.many": "{name} spell the right text, but are cut at too many places",
    "cut.few": "{name} spell the right text, but are cut at too few places",
    "cut": "{name} spell the right text, but are cut at other places",
    "values": "{name} has the right keys, and wrong values",
    "keys": "{name} has the right values under other keys",
    "too-large": "in {name} the wrong values are too large, none too small",
    "too-small": "in {name} the wrong values are too small, none too large",
    "unsteady": "the same call gives another result the second time: something is drawn at random, "
    "or kept from call to call",
    "dtype": "`{name}` holds the right numbers in another dtype, {dtype}",
    "changed": "the code changes the caller's {names:and} on the way: what is read from there "
    "later is not what was given",
    "gradient": "only the gradient of `{name}` is wrong, and all others are right",
    "only-cases": "it fails only where {where}, and there always",
    "other-question": "your results are right for other arguments: {change}",
    "error.only-cases": "{error}; {cases}",
    "error.sizes-differ": "two tensors are combined number by number, and an axis {size1} of one "
    "meets an axis {size2} of the other: look at which axes stand at the same place, counted from "
    "the right",
    "error.matrix-product": "in a matrix product the last axis of the first factor, {size1}, meets "
    "the first axis of the second, {size2}: a factor should be transposed, or is another one",
    "error.batch-product": "in a product of matrices in a batch, the last axis of the first factor "
    "is not as long as the last but one of the second: a factor should be transposed, or is "
    "another one",
    "error.reshape": "a view or reshape asks for more or fewer numbers than there are: the sizes, "
    "multiplied, must give what the tensor holds",
    "error.cat-sizes": "torch.cat joins along one axis, and all others must be alike: here one is "
    "{size1} and {size2}",
    "error.cat-axes": "torch.cat joins a tensor of {one} axes with one of {other}: an axis has "
    "been lost on the way. keepdim=True keeps the axis over which something is taken, unsqueeze "
    "puts one in",
    "error.stack": "torch.stack wants pieces of one size, and some are shorter: look at where they "
    "are cut",
    "error.index-tensor": "an index goes beyond the end of an axis {size1}: places are counted "
    "from 0",
    "error.embedding-row": "an embedding is asked for a row that it does not have: an id, or a "
    "place, is too large",
    "error.index": "an index goes beyond the end of a {what}: the last place is its length minus 1",
    "error.view-memory": "view wants the numbers in the order of the memory, which transpose or a "
    "slice has left: reshape copies where it must",
    "error.place-size": "what is put into a place, or expanded, does not fit there: an axis "
    "{size2} meets one {size1}",
    "error.dtypes": "two tensors of different dtypes meet: something new is made without the "
    "input's dtype, or a number is turned into another kind",
    "error.cross-entropy": "cross_entropy wants the classes on axis 1 of the logits, or one row of "
    "logits a label: flatten both in the same way",
    "error.none": "None is used like a value: an optional argument was left out, or a function of "
    "yours has no return",
    "error.in-place": "a tensor that the gradient needs is changed in place: make a new "
    "one instead",
    "error.no-graph": "backward is called for something that hangs on no parameter: the path was "
    "cut before",
    "error.truth-values": "a tensor of truth values is used like numbers, or the reverse: ~, & and "
    "| are for masks, - and + for numbers",
    "error.whole-numbers": "an operation for floating numbers gets whole numbers: ids are no "
    "logits, and a result of division does not fit into whole numbers",
    "error.not-whole": "what is used as a place or a count is no whole number: / gives a float, // "
    "a whole number",
    "error.axis-lost": "a tensor is taken for one with more axes than it has: an axis has been "
    "lost on the way",
    "error.topk": "topk is asked for more entries than there are: take at most the size "
    "of the axis",
    "error.empty": "the largest, smallest or last one is taken of something that is empty",
    "error.endless": "the model or function that you are given is asked again and again: nothing "
    "ends the loop",
    "error.wrong-call": "the model or function that you are given is called with something that it "
    "does not take",
    "error.do-not-fit": "a product or sum gets tensors whose axes do not fit: write the shape "
    "behind each line",
    "form.nothing": "some way through the function ends without `return`, or returns None; print "
    "only shows a value",
    "form.several": "the results should come back side by side, as many as the task names, in its "
    "order",
    "form.one": "{mine:type} comes where one tensor is asked for",
    "form.part": "{mine:type} comes where a tensor is asked for",
    "form.pair": "{mine:type} comes where a pair is asked for",
    "form.names": "a layer has another name than the task asks for, or is not made in __init__",
    "form.sizes": "a layer is made with other sizes than the task asks for, or with the two sizes "
    "exchanged",
    "form.number": "a tensor comes where a plain number is asked for: int, float or .item() makes "
    "one of it",
    "form.type": "{mine:type} comes where {wanted} is asked for",
    "form.not-refused": "everything is right, but what should be refused with a ValueError is not "
    "refused so",
    "form.gradient": "the result itself is right, and its gradient is not",
    # parts of sentences
    "first": "first",
    "second": "second",
    "third": "third",
    "fourth": "fourth",
    "last": "last",
    "one": "one",
    "two": "two",
    "long": "long",
    "short": "short",
    "large": "large",
    "small": "small",
    "larger": "larger",
    "smaller": "smaller",
    "late": "late",
    "early": "early",
    "even": "even",
    "odd": "odd",
    "on": "on",
    "above": "above",
    "below": "below",
    "entries": "entries",
    "one-is": "one is",
    "two-are": "two are",
    "is-extra": "too much",
    "is-missing": "missing",
    "one-entry": "one entry",
    "numbers-right": "the numbers are right",
    "order-wrong": "the numbers are not in the right order, too",
    "numbers-wrong": "and the numbers are others",
    "the-sum": "the sum",
    "the-mean": "the mean",
    "the-first": "the first",
    "the-last": "the last",
    "the-largest": "the largest",
    "the-right-one": "the right one",
    "yours": "yours",
    "nan": "NaN",
    "infinite": "an infinite number",
    "axis": "axis {place}",
    "gradient-of": "the gradient of `{name}`",
    "step": "the step of the parameters",
    "part-of-entry": "the {part} part of an entry of {of}",
    "not-padding": "the number of `{name}` that are not padding",
    "length-of": "the length of `{name}`",
    "root": "the root of {of}",
    "half": "half of {of}",
    "times": "times {by}",
    "divided": "divided by {by}",
    "times-minus-1": "times -1 and {rest}",
    "too-large-by": "too large by {by}",
    "too-small-by": "too small by {by}",
    "of-size": "of size {name}",
    "of-one-size": "of one size",
    "of-another-size": "of another size",
    "of.exponential": "the exponential of {of}",
    "of.logarithm": "the natural logarithm of {of}",
    "of.square": "the square of {of}",
    "of.square-root": "the square root of {of}",
    "of.inverse": "1 divided by {of}",
    "of.one-minus": "1 minus {of}",
    "of.tanh": "the tanh of {of}",
    "of.relu": "the ReLU of {of}",
    "of.rounded": "{of} rounded to whole numbers",
    "of.softmax": "the softmax of {of}",
    "of.log-softmax": "the logarithm of the softmax of {of}",
    "of.running-sum": "the running sum of {of}",
    "of.by-sum": "{of} divided by its sum",
    "of.by-norm": "{of} divided by its norm",
    "of.less-mean": "{of} less its mean",
    "of.standardised": "{of} normed to mean 0 and deviation 1",
    # what sets cases, or places, apart
    "is-false": "`{name}` is False",
    "is-true": "`{name}` is True",
    "is-padding": "`{name}` is padding",
    "is-no-padding": "`{name}` is no padding",
    "hides-every-key": "`{name}` hides every key from a query",
    "in-float64": "the input is float64",
    "in-half": "the input is float16 or bfloat16",
    "not-in-float32": "the dtype of the input is not float32",
    "not-contiguous": "the memory of the inputs is not contiguous",
    "asked-again": "the same is asked a second time",
    "gradients-asked": "gradients are asked for",
    "not-on-cpu": "the device is not the CPU",
    "error-asked": "an error is asked for",
    "in-training": "the module is in training mode",
    "has-padding": "there is padding in `{name}`",
    "is-given": "{name} is given",
    "is-none": "{name} is None",
    "hides-something": "{name} hides something",
    "hides-every-key-once": "{name} hides every key from some query",
    "one-axis": "{name} has one axis",
    "above-two-axes": "{name} has more than two axes",
    "above-three-axes": "{name} has more than three axes",
    "large-numbers": "{name} holds numbers of a size above 20",
    "is": "{name} is {value}",
    "is-not": "{name} is not {value}",
    "below-0": "{name} is below 0",
    "above-1": "{name} is above 1",
    "is-empty": "{name} is empty",
    "has-one-entry": "{name} has one entry",
    "more-than-one-entry": "{name} has more than one entry",
    "has-capitals": "{name} has capital letters",
    "beyond-ascii": "{name} has characters beyond ASCII",
    "entry-again": "an entry of {name} comes more than once",
    "differs": "{one} is not {other}",
    "equals": "{one} is {other}",
    "is-above": "{one} is above {other}",
    "is-below": "{one} is below {other}",
    "is-odd": "{name} is odd",
    "is-even": "{name} is even",
    # what was changed in a question
    "one-of-batch": "only the {end} sequence of the batch is used",
    "instead": "{one} stands in the place of {other}",
    "exchanged": "{one} and {other} are exchanged",
    "left-out": "{name} is left out",
    "off-by": "{name} is {by} {way}",
    "always": "{name} is always {value}",
    "doubled": "{name} is doubled",
    "halved": "{name} is halved",
    "squared": "{name} is squared",
    "its-root": "{name} is replaced by its root",
    "one-minus-it": "{name} is replaced by 1 minus it",
    "from-its-end": "{name} is read from its end",
    "lacks-first": "{name} lacks its first entry",
    "lacks-last": "{name} lacks its last entry",
    "only-first-used": "only the first entry of {name} is used",
    "only-last-used": "only the last entry of {name} is used",
    "each-once": "{name} has each entry only once",
    "is-sorted": "{name} is sorted",
    "values-are-1": "each value of {name} is 1",
    "hides-nothing": "{name} hides nothing",
    "left-out-or-0": "{name} is left out, or 0",
    "other-sign": "{name} has the other sign",
    "is-1-everywhere": "{name} is 1 everywhere",
    "by-root-of-size": "{name} is divided by the root of its last size",
    "is-transposed": "{name} is transposed",
    "first-for-all": "the first of {name} along {axis} serves for all",
    "is-reversed": "{name} is reversed along {axis}",
    "moved-on": "{name} is moved on by one along {axis}",
    "moved-back": "{name} is moved back by one along {axis}",
    "no-biases": "all biases are left out",
    "no-transposes": "no weight gets the transpose of a linear layer",
    "no-transpose": "{name} is used without the transpose of a linear layer",
}
BETWEEN = {"list": ", ", "and": " and ", "product": " * "}


def in_words(part: Any) -> str:
    """Write a term, or what is in one: a name, a number, or a formula.

    Args:
        part: the term.

    Returns:
        a sentence without the full stop, or a part of one.
    """
    if isinstance(part, tuple):
        return "".join(map(in_words, part))
    if not isinstance(part, Term):
        return str(part)
    return _WRITER.format(TERMS[part.key], **dict(part.parameters))


class _Writer(string.Formatter):
    """Fills the parameters of a term into its words."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "type":
            return described(value)
        if format_spec:
            return BETWEEN[format_spec].join(map(in_words, value))
        return in_words(value)


_WRITER = _Writer()


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
