"""The assignment "sequences": answers, cases, properties, mistakes, and its tasks."""
