"""The assignment "training": answers, cases, tasks and mistakes."""
