"""Squared error with a nonnegative factor: coordinate descent and multiplicative sweeps."""
