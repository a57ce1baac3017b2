"""The capstone: points for a file of pronunciations and for a report on an ablation.

Nothing of a student is run. The pronunciations are read (`predictions`), compared with the
dictionary (`scoring`), and get their points by their phoneme error rate; the report is computed
again from its rates (`ablation`). That happens in the notebook (`notebook`) or for a whole class at
once (`class_table`):

    python -m transformer_checks.capstone course/submitted > capstone.csv
"""

from transformer_checks.capstone.ablation import REPORT_FILE, REPORT_POINTS, write_ablation
from transformer_checks.capstone.class_table import Row, as_csv, find_files, judge_all, main
from transformer_checks.capstone.notebook import (
    check_ablation,
    check_predictions,
    load_gold,
    should_train,
)
from transformer_checks.capstone.predictions import write_predictions
from transformer_checks.capstone.scoring import (
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
    "REPORT_FILE",
    "REPORT_POINTS",
    "STEPS",
    "TOO_GOOD",
    "Answer",
    "Row",
    "Score",
    "Step",
    "align",
    "as_csv",
    "check_ablation",
    "check_predictions",
    "find_files",
    "judge_all",
    "load_gold",
    "main",
    "next_step",
    "report",
    "score_predictions",
    "should_train",
    "write_ablation",
    "write_predictions",
]
