"""Nearest neighbours: exact and approximate search, and the recall of the latter."""
