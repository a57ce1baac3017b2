"""Grade a class: ``python -m transformer_checks.classroom attention``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from transformer_checks.classroom.sandbox import (
    SANDBOXES,
    Bubblewrap,
    NoSandbox,
    Sandbox,
    SandboxError,
    find_sandbox,
    warm_process,
)
from transformer_checks.judging.texts import printable
from transformer_ref.files import write_text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 if everybody has a result."""
    if not hasattr(os, "fork"):
        sys.exit("Grading a class needs Linux, which may be WSL 2 or a virtual machine.")
    parser = argparse.ArgumentParser(
        prog="python -m transformer_checks.classroom", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("assignment", help="like attention")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="graded at once")
    parser.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="grade on the workers of this Dask scheduler, like tcp://10.0.0.1:8786",
    )
    parser.add_argument(
        "--sandbox",
        choices=[*SANDBOXES],
        default="bubblewrap",
        help="what student code is executed in",
    )
    parser.add_argument(
        "--unsafe-no-sandbox",
        action="store_true",
        help="execute student code with all rights that you have",
    )
    options = parser.parse_args(arguments)
    if options.unsafe_no_sandbox:
        print("WITHOUT A SANDBOX: student code is executed with your rights.", file=sys.stderr)
    try:
        sandbox = _sandbox(options)
    except SandboxError as error:
        parser.exit(2, f"{error}\n")
    if isinstance(sandbox, Bubblewrap) and not options.scheduler:
        warm_process().start()  # it loads torch, while this process loads nbgrader
    from nbgrader.apps.baseapp import NbGrader

    from transformer_checks.classroom.course import Classroom, table, table_as_csv

    app = NbGrader()
    app.initialize([])
    classroom = Classroom(options.assignment, sandbox, app)
    rows = classroom.rows()
    classroom.grade(rows, max(1, options.jobs), options.scheduler)
    write_text(classroom.results / f"{options.assignment}.csv", table_as_csv(rows))
    print(table(rows))
    for name in classroom.strangers:
        print(f"{printable(name)} handed in and is not in the roster: not graded.")
    return 0 if all(row.graded and row.points[1] for row in rows) else 1


def _sandbox(options: argparse.Namespace) -> Sandbox:
    """Choose the sandbox; on a cluster each worker looks for its own."""
    if options.unsafe_no_sandbox:
        return NoSandbox()
    return SANDBOXES[options.sandbox]() if options.scheduler else find_sandbox(options.sandbox)


if __name__ == "__main__":
    sys.exit(main())
