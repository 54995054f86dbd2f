"""What a fit found, in numbers and words: the one source for all outputs."""
