"""Judge the files of a class: ``python -m transformer_checks.capstone course/submitted``."""

import sys

from transformer_checks.capstone.class_table import main

if __name__ == "__main__":
    sys.exit(main())
