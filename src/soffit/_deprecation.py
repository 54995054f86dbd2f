"""Deprecated locations of public names: they still work, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def moved_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__` for names that have moved.

    Parameters
    ----------
    package : str
        The package that had the names.
    homes : mapping
        From an old name to its new location, such as ``"soffit.save"``.
    """

    def resolve(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, new = homes[name].rpartition(".")
        warnings.warn(
            f"{package}.{name} is deprecated: use {homes[name]} instead.",
            FutureWarning,
            stacklevel=2,
        )
        return getattr(import_module(module), new)

    return resolve
