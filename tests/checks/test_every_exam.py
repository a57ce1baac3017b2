"""Every misconception with other seeds than the one that each `make test` grades with.

Run once a week, as it takes minutes: `make test-all STAGES=checks`.
"""

from __future__ import annotations

import pytest

from tests.checks.exams import assert_misconceptions_name_themselves, assert_misconceptions_show
from transformer_checks.judging.exam import make_exam
from transformer_checks.judging.words import PARTS_OF_CASES
from transformer_checks.registry import all_tasks

pytestmark = pytest.mark.weekly

SEEDS = range(100, 102)
# Of these the cases are made so that a random draw never makes two mistakes the same.
TOLD_APART = ("blocks", "embeddings")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("key", all_tasks())
def test_every_misconception_shows_in_every_exam(key, seed):
    if key.startswith(TOLD_APART):
        assert_misconceptions_name_themselves(key, seed)
    else:
        assert_misconceptions_show(key, seed)


def test_the_names_of_cases_have_all_parts_that_are_translated():
    names = [case.name for key in all_tasks() for case in make_exam(key, 0).cases]
    found = {part for name in names for part in name.partition("] ")[2].split(", ")}
    assert set(PARTS_OF_CASES) - found == set()
