"""Measure the package against peers (`make bench`), and the checks (`make grader-report`).

Speed is a ratio: both sides run in one process, on one thread, by turns.
Times of other machines and other days are never compared.
"""
