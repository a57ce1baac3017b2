"""The assignment "positions": answers, cases, properties, mistakes, and its tasks."""
