"""Find the most specific relation of a wrong answer, of all kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from transformer_checks.judging.exam import Exam, read_all
from transformer_checks.judging.facts import Faults, Relation, find
from transformer_checks.judging.faults import fault_of_result
from transformer_checks.judging.relations import errors, lists, numbers, shapes, values
from transformer_checks.judging.relations.asked_otherwise import right_for_another
from transformer_checks.judging.relations.evidence import (
    Look,
    Pair,
    in_common,
    make_pair,
    pairs_of,
    sizes_of,
)
from transformer_checks.judging.relations.gradients import gradient_relation, step_relation
from transformer_checks.judging.relations.which_cases import find_trait
from transformer_checks.running.comparing import same
from transformer_checks.task import UNSTEADY, Outcome, ProbeTask

Search = Callable[[Exam, list[Outcome], Faults], Relation | None]

STRONG = (*shapes.STRONG, *values.STRONG, numbers.constant, *lists.STRONG)
WEAK = (*shapes.WEAK, *values.WEAK, *lists.WEAK)


def find_relation(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Relation | None:
    """Find what the failing cases of an answer have in common.

    Args:
        exam: the cases with the right results.
        outcomes: the answer's.
        faults: what is wrong with each, None where it passes; at least one is wrong.

    Returns:
        the most specific relation that holds in all failing cases that gave a result, or None.
    """
    for kind in KINDS:
        try:
            with np.errstate(all="ignore"):
                found = kind(exam, read_all(exam, outcomes), faults)
        except Exception:  # the values may have been sent by an answer
            continue
        if found is not None:
            return found
    return None


def _of_steadiness(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Relation | None:
    """Say so if the same question got two answers."""
    places = {case.name: number for number, case in enumerate(exam.cases)}
    for number, case in enumerate(exam.cases):
        if case.same_as is None or case.same_because != UNSTEADY:
            continue
        one, other = outcomes[number], outcomes[places[case.same_as]]
        tolerance = exam.task.tolerances[case.dtype]
        if (
            not one.fault
            and not other.fault
            and not all(
                same(one.values.get(name), other.values.get(name), tolerance)
                for name in other.values
            )
        ):
            return Relation("unsteady")
    return None


def _of_dtypes(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Relation | None:
    """Say so if nothing is wrong but a dtype."""
    found = set()
    for number, fault in enumerate(faults):
        if not fault:
            continue
        if not find(fault, "dtype"):
            return None
        name, case = str(fault.name), exam.cases[number]
        mine, right = outcomes[number].values[name], exam.expected[number].values[name]
        tolerance = exam.task.tolerances[case.dtype]
        rounded = (max(tolerance[0], 0.02), max(tolerance[1], 0.02))
        if not same(mine.astype(np.float64), right.astype(np.float64), rounded):
            return None
        found.add(Relation("dtype", name=name, dtype=outcomes[number].dtypes[name]))
    return found.pop() if len(found) == 1 else None


def _of_changes(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Relation | None:
    """Say so if an argument is changed in all failing cases."""
    changed = {tuple(outcomes[number].changed) for number, fault in enumerate(faults) if fault}
    if len(changed) != 1 or not (names := changed.pop()):
        return None
    return Relation("changed", names=tuple(f"`{name}`" for name in names))


def _of_cases(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Relation | None:
    """Say what sets the failing cases apart."""
    return find_trait(exam, faults)


def _of_errors(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Relation | None:
    """Explain an error that most failing cases end with."""
    failing = [number for number, fault in enumerate(faults) if fault]
    raised = [number for number in failing if outcomes[number].fault == "raised"]
    if not raised or 2 * len(raised) < len(failing):
        return None
    texts = [
        (outcomes[each].error, sizes_of(exam.cases[each], exam.task.shapes)) for each in raised
    ]
    found = errors.explain(texts)
    if found is None:
        return None
    alone = find_trait(
        exam, [fault if each in raised else None for each, fault in enumerate(faults)]
    )
    if alone is None:
        return found
    return Relation("error.only-cases", error=found, cases=alone)


def _of_forms(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Relation | None:
    """Explain what came instead of a result."""
    failing = [fault for fault in faults if fault]
    answered = [
        fault for fault, case in zip(faults, exam.cases, strict=True) if fault and not case.refused
    ]
    return errors.explain_forms(answered or failing)


def _of_gradients(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Relation | None:
    failing = [number for number, fault in enumerate(faults) if fault]
    if any(fault_of_result(exam, number, outcomes) for number in failing):
        return None
    return gradient_relation(exam, outcomes, failing)


def _of_steps(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Relation | None:
    failing = [number for number, fault in enumerate(faults) if fault]
    return step_relation(exam, outcomes, failing)


def _main_pairs(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Iterator[list[Pair]]:
    """Give the pairs of each result that is wrong in all failing cases, the last result first."""
    if isinstance(exam.task, ProbeTask):
        return  # what is compared there was found by us, and has no name that students know
    failing = [
        number
        for number, fault in enumerate(faults)
        if fault
        and not outcomes[number].fault
        and not exam.cases[number].refused
        and fault_of_result(exam, number, outcomes)
    ]
    by_name = pairs_of(exam, outcomes, faults)
    for name in reversed(exam.task.returns):
        pairs = by_name.get(name, [])
        if pairs and {pair.number for pair in pairs} >= set(failing):
            yield pairs
            yield from _parts(pairs)


def _parts(pairs: list[Pair]) -> Iterator[list[Pair]]:
    """Take lists of as many numbers apart, such as two counts: one entry may be wrong alone."""
    lengths = set()
    for pair in pairs:
        for each in (pair.received, pair.expected):
            if type(each) not in (list, tuple) or not all(type(e) in (int, float) for e in each):
                return
            lengths.add(len(each))
    if len(lengths) != 1 or not 1 < next(iter(lengths)) < 5:
        return
    for place in range(lengths.pop()):
        part = [
            make_pair(
                pair.number,
                pair.case,
                f"{str(pair.name)[:-1]}[{place}]`",
                pair.received[place],
                pair.expected[place],
                pair.tolerance,
                pair.sizes,
            )
            for pair in pairs
        ]
        if all(each is not None and each.wrong for each in part):
            yield [each for each in part if each is not None]


def _of_results(looks: tuple[Look, ...]) -> Search:
    """Return the search for the relations of some looks."""

    def search(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Relation | None:
        for pairs in _main_pairs(exam, outcomes, faults):
            found = in_common(looks, pairs)
            if found:
                return found[0]
        return None

    return search


def _of_laws(exam: Exam, outcomes: list[Outcome], faults: Faults) -> Relation | None:
    """Say how the error of a number hangs on the arguments."""
    for pairs in _main_pairs(exam, outcomes, faults):
        found = numbers.laws(pairs)
        if found is not None:
            return found
    return None


# The kinds of relations, the most specific first.
KINDS: tuple[Search, ...] = (
    _of_errors,
    _of_steadiness,
    _of_dtypes,
    _of_gradients,
    _of_results(STRONG),
    right_for_another,
    _of_laws,
    _of_changes,
    _of_results(WEAK),
    _of_steps,
    _of_forms,
    _of_cases,
)
