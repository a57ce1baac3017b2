"""The assignment "training": answers, cases, properties, mistakes, and its tasks."""
