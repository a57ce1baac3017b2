"""The assignment "tuning": answers, cases, properties, mistakes, and its tasks."""
