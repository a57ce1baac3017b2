"""The assignment "blocks": answers, cases, properties, mistakes, and its tasks."""
