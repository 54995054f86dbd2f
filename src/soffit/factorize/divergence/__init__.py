"""Divergence with columns on the simplex: expectation-maximisation over the edges."""
