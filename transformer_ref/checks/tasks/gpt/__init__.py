"""The assignment "gpt": answers, cases, tasks and mistakes."""
