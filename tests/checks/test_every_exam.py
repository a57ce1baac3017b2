"""Every misconception with other seeds than the one that each `make test` grades with.

Run once a week, as it takes minutes: `make test-all STAGES=checks`.
"""

from __future__ import annotations

import pytest

from tests.checks.exams import assert_misconceptions_name_themselves, assert_misconceptions_show
from transformer_checks.registry import all_tasks

pytestmark = pytest.mark.weekly

SEEDS = range(100, 104)
# Of these the cases are made so that a random draw never makes two mistakes the same.
TOLD_APART = ("blocks", "embeddings")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("key", all_tasks())
def test_every_misconception_shows_in_every_exam(key, seed):
    if key.startswith(TOLD_APART):
        assert_misconceptions_name_themselves(key, seed)
    else:
        assert_misconceptions_show(key, seed)
