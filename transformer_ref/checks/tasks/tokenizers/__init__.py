"""The assignment "tokenizers": answers, cases, tasks and mistakes."""
