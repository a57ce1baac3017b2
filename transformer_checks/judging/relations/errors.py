"""What an error says, put in terms of the task's shapes, and what came instead of a result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from transformer_checks.judging.facts import Fault, find
from transformer_checks.judging.relations.evidence import Relation
from transformer_checks.judging.words import what_in_words

# Patterns of the text of an error, most specific first, each with what it means. A group whose name
# begins with "size" is a size, which gets the name of an axis; any other group is quoted.
ERRORS: tuple[tuple[str, str], ...] = (
    (
        r"size of tensor a \((?P<size1>\d+)\) must match .* tensor b \((?P<size2>\d+)\)",
        "two tensors are combined number by number, and an axis {size1} of one meets an axis "
        "{size2} of the other: look at which axes stand at the same place, counted from the right",
    ),
    (
        r"mat1 and mat2 shapes cannot be multiplied \(\d+x(?P<size1>\d+) and (?P<size2>\d+)x",
        "in a matrix product the last axis of the first factor, {size1}, meets the first axis of "
        "the second, {size2}: a factor should be transposed, or is another one",
    ),
    (
        r"Expected size for first two dimensions of batch2",
        "in a product of matrices in a batch, the last axis of the first factor is not as long as "
        "the last but one of the second: a factor should be transposed, or is another one",
    ),
    (
        r"shape '\[.*\]' is invalid for input of size",
        "a view or reshape asks for more or fewer numbers than there are: the sizes, multiplied, "
        "must give what the tensor holds",
    ),
    (
        r"Sizes of tensors must match except in dimension \d+\. Expected size (?P<size1>\d+) but "
        r"got size (?P<size2>\d+)",
        "torch.cat joins along one axis, and all others must be alike: here one is {size1} and "
        "{size2}",
    ),
    (
        r"Tensors must have same number of dimensions: got (?P<one>\d+) and (?P<other>\d+)",
        "torch.cat joins a tensor of {one} axes with one of {other}: an axis has been lost on the "
        "way. keepdim=True keeps the axis over which something is taken, unsqueeze puts one in",
    ),
    (
        r"stack expects each tensor to be equal size",
        "torch.stack wants pieces of one size, and some are shorter: look at where they are cut",
    ),
    (
        r"index -?\d+ is out of bounds for dimension \d+ with size (?P<size1>\d+)",
        "an index goes beyond the end of an axis {size1}: places are counted from 0",
    ),
    (
        r"index out of range in self",
        "an embedding is asked for a row that it does not have: an id, or a place, is too large",
    ),
    (
        r"(?P<what>list|string|tuple) index out of range",
        "an index goes beyond the end of a {what}: the last place is its length minus 1",
    ),
    (
        r"view size is not compatible",
        "view wants the numbers in the order of the memory, which transpose or a slice has left: "
        "reshape copies where it must",
    ),
    (
        r"The expanded size of the tensor \((?P<size1>\d+)\) must match the existing size "
        r"\((?P<size2>\d+)\)",
        "what is put into a place, or expanded, does not fit there: an axis {size2} meets one "
        "{size1}",
    ),
    (
        r"expected scalar type (?P<one>\w+) but found (?P<other>\w+)|to have the same dtype, but "
        r"got: (?P<first>\w+) != (?P<second>\w+)|have the same dtype",
        "two tensors of different dtypes meet: something new is made without the input's dtype, "
        "or a number is turned into another kind",
    ),
    (
        r"cross_entropy_loss\(\): argument|Expected target size|expected input batch_size|"
        r"Expected input batch_size",
        "cross_entropy wants the classes on axis 1 of the logits, or one row of logits a label: "
        "flatten both in the same way",
    ),
    (
        r"'NoneType' object|and 'NoneType'|'NoneType' and|NoneType",
        "None is used like a value: an optional argument was left out, or a function of yours has "
        "no return",
    ),
    (
        r"modified by an inplace operation|leaf [Vv]ariable that requires grad",
        "a tensor that the gradient needs is changed in place: make a new one instead",
    ),
    (
        r"does not require grad and does not have a grad_fn",
        "backward is called for something that hangs on no parameter: the path was cut before",
    ),
    (
        r"with a bool tensor is not supported|with two bool tensors|bitwise_not|not implemented "
        r"for 'Bool'",
        "a tensor of truth values is used like numbers, or the reverse: ~, & and | are for masks, "
        "- and + for numbers",
    ),
    (
        r"not implemented for '(?P<what>Long|Int)'|could not infer output dtype|"
        r"can't be cast to the desired output type",
        "an operation for floating numbers gets whole numbers: ids are no logits, and a result of "
        "division does not fit into whole numbers",
    ),
    (
        r"tensors used as indices must be|slice indices must be integers|indices must be integers|"
        r"only integers, slices|cannot be interpreted as an integer|but got float",
        "what is used as a place or a count is no whole number: / gives a float, // a whole number",
    ),
    (
        r"iteration over a 0-d tensor|len\(\) of a 0-d tensor|invalid index of a 0-dim|too many "
        r"indices for tensor",
        "a tensor is taken for one with more axes than it has: an axis has been lost on the way",
    ),
    (
        r"selected index k out of range",
        "topk is asked for more entries than there are: take at most the size of the axis",
    ),
    (
        r"(?:min|max)\(\) (?:arg|iterable argument) is (?:an empty|empty)|argmax\(\): Expected "
        r"reduction|pop from (?:an )?empty",
        "the largest, smallest or last one is taken of something that is empty",
    ),
    (
        r"was called more than",
        "the model or function that you are given is asked again and again: nothing ends the loop",
    ),
    (
        r"takes .*, received",
        "the model or function that you are given is called with something that it does not take",
    ),
    (
        r"size mismatch|inconsistent tensor size|einsum\(\)|input must have|must have the same "
        r"(?:number|size)|same size",
        "a product or sum gets tensors whose axes do not fit: write the shape behind each line",
    ),
)

# What came back was no result: faults in the notation of facts.find, and what they mean.
FORMS: tuple[tuple[str, str], ...] = (
    (
        "returned.nothing",
        "some way through the function ends without `return`, or returns None; print only shows a "
        "value",
    ),
    (
        "returned.several|told * for (*)",
        "the results should come back side by side, as many as the task names, in its order",
    ),
    ("returned.one", "{what} comes where one tensor is asked for"),
    ("returned.part", "{what} comes where a tensor is asked for"),
    ("told * for a pair", "{what} comes where a pair is asked for"),
    (
        "built.layer|built.weight",
        "a layer has another name than the task asks for, or is not made in __init__",
    ),
    (
        "built.shape",
        "a layer is made with other sizes than the task asks for, or with the two sizes exchanged",
    ),
    (
        "returned.number|returned.number-inside",
        "a tensor comes where a plain number is asked for: int, float or .item() makes one of it",
    ),
    ("returned.plain|returned.number", "{what} comes where {wanted} is asked for"),
    (
        "not-refused",
        "everything is right, but what should be refused with a ValueError is not refused so",
    ),
    (
        "no-gradient|gradient",
        "the result itself is right, and its gradient is not",
    ),
)


def explain_forms(faults: Sequence[Fault]) -> Relation | None:
    """Explain faults that are all of one kind, of what is no result.

    Args:
        faults: those of the failing cases.

    Returns:
        the relation, or None where they are of several kinds, or of another one.
    """
    for notation, meaning in FORMS:
        found = {
            each and meaning.format(what=what_in_words(each), wanted=each.expected)
            for each in (find(fault, notation) for fault in faults)
        }
        if len(found) == 1 and (sentence := found.pop()):
            return Relation("form", sentence)
    return None


def explain(errors: Sequence[tuple[str, Mapping[str, float]]]) -> Relation | None:
    """Explain errors that are all of one kind.

    Args:
        errors: the text of each, with the sizes of its case by name.

    Returns:
        the relation, or None where they are of several kinds, or of none that is known.
    """
    for pattern, meaning in ERRORS:
        matches = [re.search(pattern, text) for text, _ in errors]
        if not all(matches):
            continue
        read = [
            set(_filled(meaning, match.groupdict(), sizes))
            for match, (_, sizes) in zip(matches, errors, strict=True)
            if match is not None
        ]
        common = set.intersection(*read)
        first = next(_filled(meaning, matches[0].groupdict(), errors[0][1]))  # type: ignore[union-attr]
        if common:
            # What says a size comes last in the alphabet.
            sentence = first if first in common else max(common)
            return Relation("error", sentence)
    return None


def _filled(
    meaning: str, groups: Mapping[str, str | None], sizes: Mapping[str, float]
) -> Iterator[str]:
    """Fill what was found into a sentence: with each name that a size has, and with none."""
    words: list[dict[str, str]] = [{}]
    for name, text in groups.items():
        choices = [text or ""]
        if name.startswith("size"):
            choices = [f"of size {each}" for each, size in sizes.items() if str(size) == text]
            choices.append("of another size" if name == "size2" else "of one size")
        words = [{**known, name: choice} for known in words for choice in choices]
    for known in words:
        yield re.sub(r"  +", " ", meaning.format(**known))
