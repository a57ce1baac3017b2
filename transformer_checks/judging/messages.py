"""Write what a student reads: why there are no points, or the mistake and the first failing case.

What is wrong with a case is found in :mod:`transformer_checks.judging.faults` and said in
:mod:`transformer_checks.judging.words`; where two results differ, in
:mod:`transformer_checks.running.comparing`.
Both quote what a student's process sent: whatever is quoted here stays on its line, without hidden
characters, so that it cannot look like a line of ours.
"""

from __future__ import annotations

from transformer_checks.judging.exam import Exam
from transformer_checks.judging.facts import Faults, Relation
from transformer_checks.judging.faults import fault_of_result
from transformer_checks.judging.texts import marked_as_printed, printable
from transformer_checks.judging.words import MESSAGES, case_in_words, fault_in_words, in_words
from transformer_checks.task import Misconception, Outcome
from transformer_checks.translation import say, translate


def why_nothing(exam: Exam, outcomes: list[Outcome], how: str, seconds: float) -> str:
    """Say why an answer gets nothing at all.

    Args:
        exam: the cases.
        outcomes: the answer's, one for each case that it came to.
        how: "done", or how the process ended.
        seconds: the time limit.

    Returns:
        one or two sentences, or "".
    """
    for outcome in outcomes:
        if outcome.forbidden:
            return MESSAGES["forbidden"].format(name=printable(outcome.forbidden))
    if outcomes and all(outcome.fault == "unsolved" for outcome in outcomes):
        return MESSAGES["unsolved"]
    if how == "done" and len(outcomes) == len(exam.cases):
        return ""
    words = MESSAGES["timeout" if how == "timeout" else "no-result"]
    why = words.format(seconds=seconds, how=printable(translate(how)))
    if len(outcomes) == len(exam.cases):
        return why
    return MESSAGES["at-case"].format(why=why, case=case_in_words(exam.cases[len(outcomes)].name))


def write_message(
    exam: Exam,
    outcomes: list[Outcome],
    faults: Faults,
    mistake: Misconception | None,
    relation: Relation | None = None,
) -> str:
    """Write the message on an answer that does not pass.

    Args:
        exam: the cases.
        outcomes: the answer's.
        faults: what is wrong with each, None where it passes.
        mistake: the misconception that was found, or None.
        relation: what the wrong results have to do with the right ones, or None.

    Returns:
        a few lines.
    """
    number = next(index for index, fault in enumerate(faults) if fault)
    passed, total = faults.count(None), len(faults)
    lines = [MESSAGES["some-pass"].format(task=exam.task.key, passed=passed, total=total)]
    if mistake is not None:
        title, hint = translate(mistake.title), translate(mistake.hint)
        lines += [MESSAGES["mistake"].format(title=title), f"  {hint}"]
    if relation is not None:
        said = printable(in_words(relation))  # which may quote an error
        lines.append(MESSAGES["relation"].format(relation=said))
    said = printable(fault_in_words(faults[number]))
    wrong = any(fault_of_result(exam, each, outcomes) for each in range(len(outcomes)))
    if not wrong:  # in every case, not only in this one
        said = MESSAGES["result-right"].format(fault=said)
    if not said.endswith(tuple("?!.\uff1f\uff01\u3002")):
        said = say("{sentence}.", sentence=said)
    case = case_in_words(exam.cases[number].name)
    lines += [MESSAGES["first-case"].format(case=case), f"  {said}"]
    if outcomes[number].printed.strip():
        lines += marked_as_printed(outcomes[number].printed)
    return "\n".join(lines)
