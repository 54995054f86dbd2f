"""The command `soffit`: soft clusters of a file, without any Python."""

from soffit.cli.app import main

__all__ = ["main"]
