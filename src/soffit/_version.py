"""The version of the package, read by the build and by `soffit.__version__`."""

from __future__ import annotations

__version__ = "0.2.0"
