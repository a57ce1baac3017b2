"""The package loads nothing that comes with an extra."""

from __future__ import annotations

import subprocess
import sys


def test_the_package_loads_nothing_that_comes_with_an_extra() -> None:
    script = """
import sys, transformer_ref
print(*{"babel", "cloudpickle", "matplotlib", "regex", "sacrebleu"} & set(sys.modules))
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
