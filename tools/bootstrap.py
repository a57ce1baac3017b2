"""Make the virtual environment; called by the Makefile with whatever Python the machine has.

This file checks the version of Python and hands over to tools/environment.py.  It must parse on
every Python since 2.7, or the check could not speak; newer syntax belongs in the other file.
"""

import os
import sys

OLDEST = (3, 11)
NEWEST = (3, 14)


def version_problem(version):
    """Say what is wrong with a Python version (a tuple), or return None."""
    if OLDEST <= tuple(version[:2]) <= NEWEST:
        return None
    return (
        "This is Python {}.{} ({}), and the course needs Python {}.{} to {}.{}.\n"
        "Name another interpreter, for example: make PYTHON=python3.13 setup"
    ).format(version[0], version[1], sys.executable, *(OLDEST + NEWEST))


def main():
    """Check the version, then build the environment; return the exit status."""
    problem = version_problem(sys.version_info)
    if problem is not None:
        sys.stderr.write("\n" + problem + "\n")
        return 2
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from tools import environment

    return environment.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
