"""The assignment "where_next": answers, cases, properties, mistakes, and its tasks."""
