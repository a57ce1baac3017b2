"""The assignment "embeddings": answers, cases, properties, mistakes, and its tasks."""
