"""What the chapters measure, train, hook and sweep: a module for each chapter, by its slug.

A chapter imports what it needs; the longer runs are made by a target of the Makefile.
Their results ship with the package, where :func:`~transformer_ref.experiments.results.load_results`
finds them.
"""
