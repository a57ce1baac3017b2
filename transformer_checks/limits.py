"""Every limit on the time and the memory of a check, in one place: each must leave room for others.

A right answer gets no points if the copy that runs it is given up too soon, or if the cell around
the check is stopped while the check still has time. So what waits for something else is given the
sum of what that may take.

nbgrader's settings and the tools read this module too, so it must not load torch.
"""

from __future__ import annotations

import os

MEMORY_BYTES = 4 << 30
OUTPUT_BYTES = 256 << 20
# Of what an answer says besides numbers: structure takes fifty times its bytes when it is read.
STRUCTURE_BYTES = 4 << 20
# What a cell printed, and other short replies.
REPLY_BYTES = 256 << 10
OUTCOME_TEXT = 10_000  # characters of an error, or of a name

# A copy of a process that is stuck is given up soon, and another one made; the last has more time,
# as the machine may only be busy.
READY_SECONDS = (0.5, 0.5, 1.0, 1.0, 2.0, 10.0)
# Of the processor, for all cases of a task; most right answers need less than one second.
ANSWER_SECONDS = 10.0
# The clock may run so many times as long: other processes want the processor, too.
CLOCK_FACTOR = 6.0
# For the modules that an answer is the first to import, beside its own time: an optimizer of torch
# loads the compiler with it, 800 modules. They take 1 s, and 8 s where no bytecode is kept.
LIBRARY_SECONDS = 15.0
TIME_LIMIT_VARIABLE = "TRANSFORMER_REF_CHECK_SECONDS"
# To load torch in a new process: 2 s, and many times that from a cold disk on a busy machine.
WORKER_START_SECONDS = 60.0
# To load torch in the kernel, to make the cases, and to compare with the reference and with every
# misconception: 10 s on an idle core for the largest task.
JUDGE_SECONDS = 60.0
# A cell without a check, in which a student's loop may have no end.
FREE_CELL_SECONDS = 60.0
# Where a class is graded: all that one student's processes may use together, in their sandbox.
SUBMISSION_SECONDS = 600.0
SUBMISSION_MEMORY_BYTES = 6 << 30
# Of one process, by the system; more, so that it is ended for it, and not left without any memory.
PROCESS_MEMORY_BYTES = 8 << 30
PROCESS_DESCRIPTORS = 1024
# Of a process that judges, outside.
JUDGE_MEMORY_BYTES = 4 << 30
SUBMISSION_TASKS = 128  # processes and threads, as the system counts them
SUBMISSION_FILE_BYTES = 256 << 20
SUBMISSION_NOTEBOOK_BYTES = 20 << 20
SUBMISSION_OTHER_BYTES = 64 << 20  # of the files beside the notebook, together
SUBMISSION_PRINTED = 4_000  # characters of a cell
# A cell that does not react to being interrupted is ended with its process this much later.
INTERRUPT_SECONDS = 5.0
# A cell of a chapter or a solution while we execute it.
NOTEBOOK_CELL_SECONDS = 300.0


def time_limit() -> float:
    """Return the seconds that an answer has for a task, from the environment if set there.

    Returns:
        the limit.

    Raises:
        ValueError: if the environment variable is not a positive number.
    """
    text = os.environ.get(TIME_LIMIT_VARIABLE, "")
    try:
        seconds = float(text) if text else ANSWER_SECONDS
    except ValueError:
        seconds = -1.0
    if not seconds > 0:
        raise ValueError(f"{TIME_LIMIT_VARIABLE} must be a number above 0, got {text!r}")
    return seconds


def copy_seconds(seconds: float) -> float:
    """Return how long a forked copy may take that gives an answer so many seconds."""
    return sum(READY_SECONDS) + CLOCK_FACTOR * seconds + LIBRARY_SECONDS


def worker_seconds(seconds: float) -> float:
    """Return how long the clean process may take that gives an answer so many seconds."""
    return WORKER_START_SECONDS + copy_seconds(seconds)


def check_cell_seconds(seconds: float) -> float:
    """Return how long a cell with a check may take that gives an answer so many seconds.

    The answer may be tried in a copy of the kernel and in the clean process; each only once.
    """
    return copy_seconds(seconds) + worker_seconds(seconds) + JUDGE_SECONDS
