"""Fits to Dask collections: sampled, placed by blocks, and never gathered in one place."""
