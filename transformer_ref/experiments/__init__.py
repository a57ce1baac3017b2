"""What the chapters measure, train, hook and sweep: by its slug, for each chapter that needs it.

A chapter imports what it needs; the longer runs are made by a target of the Makefile.
Their results ship with the package, where :func:`~transformer_ref.experiments.results.load_results`
finds them.
"""
