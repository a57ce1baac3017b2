"""Speed of the package as ratios against peers: `python -m benchmarks`, or `make bench`.

Both sides of a ratio run in one process, on one thread, by turns.
Times of other machines and other days are never compared.
"""
