"""The assignment "masking": answers, cases, properties, mistakes, and its tasks."""
