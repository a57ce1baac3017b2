"""The assignment "masking": answers, cases, tasks and mistakes."""
