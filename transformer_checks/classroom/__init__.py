"""Grades a class: student code runs in a sandbox, and is judged outside of it.

In the order of their use: `course` goes through the class; `submission` rebuilds what was handed
in, `sandbox` wraps the process (`processes`, `copies`) in which `student` executes it, and `judge`
puts the checks to that process; `results` keeps what came out, one file for each submission;
`transformer_checks.classroom.for_nbgrader` writes it into notebooks.
``python -m transformer_checks.classroom`` does all of it for a class.
"""
