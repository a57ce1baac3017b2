"""The assignment "decoding": answers, cases, properties, mistakes, and its tasks."""
