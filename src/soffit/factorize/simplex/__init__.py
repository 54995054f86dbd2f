"""Squared error with rows on the simplex: row blocks, gradient, penalty and growth."""
