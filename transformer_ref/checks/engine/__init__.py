"""Runs an answer and judges what it did; knows no task.

In the order of their use: `isolation` chooses a process (`child_process` or `clean_process`), in
which `asking` puts the cases to the answer, under `forbidden_calls` and `limits`; plain data comes
back by the `wire_format`. `verdict` judges it: `exam` holds what is right, `faults` says what is
wrong with a case, by `comparing`, `diagnosis` names the mistake, and `messages` writes it down.
"""
