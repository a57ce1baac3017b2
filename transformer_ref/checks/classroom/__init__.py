"""Grades a class: student code runs in a sandbox, and is judged outside of it.

In the order of their use: `submission` rebuilds what was handed in, `sandbox` wraps the process in
which `student` executes it, and `judge` puts the checks to that process; `results` keeps what came
out, one file for each submission; `transformer_ref.checks.for_nbgrader` writes it into notebooks.
``python -m transformer_ref.checks.classroom`` does all of it for a class.
"""
