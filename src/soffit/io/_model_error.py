"""The one error of model files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model file cannot be read or written; the message says why, and what to do."""
