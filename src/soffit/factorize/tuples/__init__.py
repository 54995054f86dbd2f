"""Squared error on sampled tuples with a nonnegative factor."""
