"""Rows of numbers, categories and gaps: their distance, and the search for neighbours."""
