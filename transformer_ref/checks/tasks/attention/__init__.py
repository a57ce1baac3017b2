"""The assignment "attention": answers, cases, tasks and mistakes."""
