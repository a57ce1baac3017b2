"""The assignment "attention": answers, cases, properties, mistakes, and its tasks."""
