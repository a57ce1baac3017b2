"""What an error says, put in terms of the task's shapes, and what came instead of a result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from transformer_checks.judging.facts import Fault, Name, Relation, Term, find

# Patterns of the text of an error, most specific first, each with the key of what it means. A group
# whose name begins with "size" is a size, which gets the name of an axis; any other is quoted.
ERRORS: tuple[tuple[str, str], ...] = (
    (
        r"size of tensor a \((?P<size1>\d+)\) must match .* tensor b \((?P<size2>\d+)\)",
        "error.sizes-differ",
    ),
    (
        r"mat1 and mat2 shapes cannot be multiplied \(\d+x(?P<size1>\d+) and (?P<size2>\d+)x",
        "error.matrix-product",
    ),
    (r"Expected size for first two dimensions of batch2", "error.batch-product"),
    (r"shape '\[.*\]' is invalid for input of size", "error.reshape"),
    (
        r"Sizes of tensors must match except in dimension \d+\. Expected size (?P<size1>\d+) but "
        r"got size (?P<size2>\d+)",
        "error.cat-sizes",
    ),
    (
        r"Tensors must have same number of dimensions: got (?P<one>\d+) and (?P<other>\d+)",
        "error.cat-axes",
    ),
    (r"stack expects each tensor to be equal size", "error.stack"),
    (
        r"index -?\d+ is out of bounds for dimension \d+ with size (?P<size1>\d+)",
        "error.index-tensor",
    ),
    (r"index out of range in self", "error.embedding-row"),
    (r"(?P<what>list|string|tuple) index out of range", "error.index"),
    (r"view size is not compatible", "error.view-memory"),
    (
        r"The expanded size of the tensor \((?P<size1>\d+)\) must match the existing size "
        r"\((?P<size2>\d+)\)",
        "error.place-size",
    ),
    (
        r"expected scalar type \w+ but found \w+|to have the same dtype, but got: \w+ != \w+|"
        r"have the same dtype",
        "error.dtypes",
    ),
    (
        r"cross_entropy_loss\(\): argument|Expected target size|expected input batch_size|"
        r"Expected input batch_size",
        "error.cross-entropy",
    ),
    (r"'NoneType' object|and 'NoneType'|'NoneType' and|NoneType", "error.none"),
    (r"modified by an inplace operation|leaf [Vv]ariable that requires grad", "error.in-place"),
    (r"does not require grad and does not have a grad_fn", "error.no-graph"),
    (
        r"with a bool tensor is not supported|with two bool tensors|bitwise_not|not implemented "
        r"for 'Bool'",
        "error.truth-values",
    ),
    (
        r"not implemented for '(?:Long|Int)'|could not infer output dtype|can't be cast to the "
        r"desired output type",
        "error.whole-numbers",
    ),
    (
        r"tensors used as indices must be|slice indices must be integers|indices must be "
        r"integers|only integers, slices|cannot be interpreted as an integer|but got float",
        "error.not-whole",
    ),
    (
        r"iteration over a 0-d tensor|len\(\) of a 0-d tensor|invalid index of a 0-dim|too many "
        r"indices for tensor",
        "error.axis-lost",
    ),
    (r"selected index k out of range", "error.topk"),
    (
        r"(?:min|max)\(\) (?:arg|iterable argument) is (?:an empty|empty)|argmax\(\): Expected "
        r"reduction|pop from (?:an )?empty",
        "error.empty",
    ),
    (r"was called more than", "error.endless"),
    (r"takes .*, received", "error.wrong-call"),
    (
        r"size mismatch|inconsistent tensor size|einsum\(\)|input must have|must have the same "
        r"(?:number|size)|same size",
        "error.do-not-fit",
    ),
)

# What came back was no result: faults in the notation of facts.find, and keys of what they mean.
FORMS: tuple[tuple[str, str], ...] = (
    ("returned.nothing", "form.nothing"),
    ("returned.several|told * for (*)", "form.several"),
    ("returned.one", "form.one"),
    ("returned.part", "form.part"),
    ("told * for a pair*", "form.pair"),
    ("built.layer|built.weight", "form.names"),
    ("built.shape|built.exchanged", "form.sizes"),
    ("returned.number|returned.number-inside", "form.number"),
    ("returned.plain|returned.number", "form.type"),
    ("not-refused", "form.not-refused"),
    ("no-gradient|gradient", "form.gradient"),
)
# The words of these say what was received and what should be.
WITH_TYPES = ("form.one", "form.part", "form.pair", "form.type")


def explain_forms(faults: Sequence[Fault]) -> Relation | None:
    """Explain faults that are all of one kind, of what is no result.

    Args:
        faults: those of the failing cases.

    Returns:
        the relation, or None where they are of several kinds, or of another one.
    """
    for notation, key in FORMS:
        found = [each for fault in faults if (each := find(fault, notation))]
        types = {(each.received, each.expected) for each in found if key in WITH_TYPES}
        if len(found) == len(faults) and len(types) < 2:
            mine, wanted = types.pop() if types else ("", "")
            return Relation(key, mine=mine, wanted=wanted)
    return None


def explain(errors: Sequence[tuple[str, Mapping[Name, float]]]) -> Relation | None:
    """Explain errors that are all of one kind.

    Args:
        errors: the text of each, with the sizes of its case by name.

    Returns:
        the relation, or None where they are of several kinds, or of none that is known.
    """
    for pattern, key in ERRORS:
        matches = [re.search(pattern, text) for text, _ in errors]
        read = [
            list(_named(match.groupdict(), sizes))
            for match, (_, sizes) in zip(matches, errors, strict=True)
            if match is not None
        ]
        common = set.intersection(*map(set, read)) if len(read) == len(errors) else set()
        if common:
            # The first is the one with most names of sizes, if it holds in all cases.
            names = read[0][0] if read[0][0] in common else max(common, key=_letters)
            return Relation(key, **dict(names))
    return None


def _named(
    groups: Mapping[str, str | None], sizes: Mapping[Name, float]
) -> Iterator[tuple[tuple[str, Any], ...]]:
    """Give each size that was found each name that it has, and none."""
    choices = [
        [(group, choice) for choice in _choices(group, text or "", sizes)]
        for group, text in groups.items()
    ]
    return product(*choices)


def _choices(group: str, text: str, sizes: Mapping[Name, float]) -> Iterator[Name]:
    if not group.startswith("size"):
        yield text
        return
    yield from (Term("of-size", name=name) for name, size in sizes.items() if str(size) == text)
    yield Term("of-another-size" if group == "size2" else "of-one-size")


def _letters(names: tuple[tuple[str, Any], ...]) -> list[str]:
    """Order names: those that say a size are greater, whatever letter it has."""
    return [
        str(dict(term.parameters).get("name", "")) for _, term in names if isinstance(term, Term)
    ]
