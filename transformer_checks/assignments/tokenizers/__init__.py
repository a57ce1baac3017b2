"""The assignment "tokenizers": answers, cases, properties, mistakes, and its tasks."""
