"""Run notebooks as on other processors: `python -m tools.elsewhere [notebook or folder ...]`.

Sums come out otherwise in their last digits where a processor has narrower registers.
nbval runs each notebook as on a processor without AVX, and again as on one with AVX2 and no
AVX-512, and compares what it prints with what the repository holds.
Without a path: all of book/ and solutions/.  With `--drawn` the commit draws half of the notebooks,
and for each of these one of the two processors.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.draw_sample import rank
from tools.notebooks import EXECUTION_ENVIRONMENT, find
from tools.run_tests import BY_FILE, NBVAL, PASSED, PYTEST, Stage, run_stage, summary

# By which instructions ATen, MKL and oneDNN do their sums.
PROCESSORS = {
    "no AVX": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "DNNL_MAX_CPU_ISA": "SSE41",
    },
    "AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2"},
}


def main(arguments: Sequence[str]) -> int:
    """Run the notebooks as on each processor; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.elsewhere")
    parser.add_argument("paths", nargs="*", type=Path, default=[Path("book"), Path("solutions")])
    parser.add_argument("--drawn", action="store_true", help="half of them, on one processor each")
    options = parser.parse_args(arguments)
    start = time.monotonic()
    outcomes = []
    for number, (name, settings) in enumerate(PROCESSORS.items()):
        paths = [
            str(path)
            for path in find(options.paths)
            if not options.drawn or rank(f"elsewhere {path}") % (2 * len(PROCESSORS)) == number
        ]
        if not paths:  # without a path, pytest would run everything
            continue
        command = (*PYTEST, *BY_FILE, *NBVAL, *paths)
        outcomes.append(run_stage(Stage(name, (command,), {**EXECUTION_ENVIRONMENT, **settings})))
    print(summary(outcomes, time.monotonic() - start))
    return 0 if all(outcome.word == PASSED for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
