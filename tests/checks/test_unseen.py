"""The grader on wrong answers that were written before anyone had looked at its lists."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.checks.exams import run
from tests.checks.material import unseen
from transformer_checks.judging.exam import make_exam
from transformer_checks.judging.verdict import judge
from transformer_checks.registry import SLUGS

pytestmark = pytest.mark.weekly

for name in SLUGS:
    import_module(f"{unseen.__name__}.{name}")


@pytest.fixture(scope="module", params=sorted({entry.task for entry in unseen.BANK}))
def graded(request):
    """The wrong answers to each task in turn, with what is said about them."""
    exam = make_exam(request.param, 0)
    wrong = [entry for entry in unseen.BANK if entry.task == request.param]
    return [(entry, judge(exam, run(exam, entry.answer), "done", 10.0)) for entry in wrong]


def test_no_wrong_answer_is_accepted(graded):
    assert [entry.what for entry, result in graded if result.score == 1.0] == []


def test_what_has_a_name_is_called_by_it(graded):
    others = {
        entry.what: (result.misconception, entry.key)
        for entry, result in graded
        if entry.key and result.misconception != entry.key
    }
    assert others == {}


def test_what_has_no_name_is_told_its_relation(graded):
    others = {
        entry.what: (result.relation, entry.relation)
        for entry, result in graded
        if entry.key == "" and result.relation != entry.relation
    }
    assert others == {}
