"""Run the command line: ``python -m transformer_ref --help``."""

import sys

from transformer_ref.applications.command_line import main

if __name__ == "__main__":
    sys.exit(main())
