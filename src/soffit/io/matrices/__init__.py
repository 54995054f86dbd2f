"""Matrices: square tables over pairs of objects, NumPy arrays, and Matrix Market files."""
