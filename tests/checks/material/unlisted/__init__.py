"""Wrong answers that were written from the students' notebooks alone, for no list.

Whoever wrote them had seen neither the checks nor the names of mistakes, so they tell what a check
says to a mistake that nobody has thought of: 249 of the 300 got a name, 30 a relation. Some of the
others have got a name since. Each is wrong on ordinary inputs.
"""

from tests.checks.material.unseen import Unseen, into

BANK: list[Unseen] = []
wrong = into(BANK)
