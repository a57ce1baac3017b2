"""The assignment "positions": answers, cases, tasks and mistakes."""
