"""Scripts that print the measured figures of the documentation: `python -m benchmarks.quality`."""
