"""The assignment "embeddings": answers, cases, tasks and mistakes."""
