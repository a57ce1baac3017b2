"""Experiments: what chapters measure and train, one module for each, run by a make target."""
