"""The assignment "blocks": answers, cases, tasks and mistakes."""
