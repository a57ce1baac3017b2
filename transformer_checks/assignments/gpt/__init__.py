"""The assignment "gpt": answers, cases, properties, mistakes, and its tasks."""
