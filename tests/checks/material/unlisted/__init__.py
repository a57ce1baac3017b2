"""Wrong answers that were written from the students' notebooks alone, and are in no list.

Whoever wrote them had seen neither the checks nor the names of mistakes, so they tell what a check
says to a mistake that nobody has thought of. Each is wrong on ordinary inputs.
"""

from tests.checks.material.unseen import Unseen, into

BANK: list[Unseen] = []
wrong = into(BANK)
