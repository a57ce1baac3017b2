"""The assignment "depth": answers, cases, properties, mistakes, and its tasks."""
