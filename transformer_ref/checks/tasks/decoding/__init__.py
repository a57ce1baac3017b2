"""The assignment "decoding": answers, cases, tasks and mistakes."""
