"""The capstone: points for a file of pronunciations, by their phoneme error rate.

Nothing of a student is run: the file is read (`predictions`), compared with the dictionary
(`scoring`), and gets its points, in the notebook (`notebook`) or for a whole class at once
(`class_table`):

    python -m transformer_ref.checks.capstone course/submitted > capstone.csv
"""

from transformer_ref.checks.capstone.class_table import Row, as_csv, find_files, judge_all, main
from transformer_ref.checks.capstone.notebook import check_predictions, load_gold, should_train
from transformer_ref.checks.capstone.predictions import write_predictions
from transformer_ref.checks.capstone.scoring import (
    FILE,
    NOTHING,
    POINTS,
    STEPS,
    TOO_GOOD,
    Answer,
    Score,
    Step,
    align,
    next_step,
    report,
    score_predictions,
)

__all__ = [
    "FILE",
    "NOTHING",
    "POINTS",
    "STEPS",
    "TOO_GOOD",
    "Answer",
    "Row",
    "Score",
    "Step",
    "align",
    "as_csv",
    "check_predictions",
    "find_files",
    "judge_all",
    "load_gold",
    "main",
    "next_step",
    "report",
    "score_predictions",
    "should_train",
    "write_predictions",
]
