"""Deprecated locations of public names: they still work, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


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


from_affinity = moved_names("soffit.affinity", {"random_walk": "soffit.affinity.walk_affinity"})
from_io = moved_names(
    "soffit.io",
    {
        "ModelFileError": "soffit.persistence.ModelFileError",
        "load": "soffit.load",
        "save": "soffit.save",
    },
)


def renamed_parameters(**renamed: str) -> Callable[[Function], Function]:
    """Let a function or a constructor accept parameters under their former names.

    Parameters
    ----------
    **renamed
        From a former name to the present one.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def accepting(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **current_names(kwargs, renamed, depth=2))

        return cast(Function, accepting)

    return decorate


def current_names(
    given: Mapping[str, Any], renamed: Mapping[str, str], *, depth: int
) -> dict[str, Any]:
    """Arguments under their present names; `depth` counts the calls down to the user's."""
    for old in renamed.keys() & given.keys():
        new = renamed[old]
        if new in given:
            raise TypeError(f"{old} is the former name of {new}: pass only {new}.")
        warn_of_former_name(old, new, depth=depth + 1)
    return {renamed.get(name, name): value for name, value in given.items()}


def warn_of_former_name(old: str, new: str, *, depth: int) -> None:
    """Say under which name a parameter or attribute is known now."""
    warnings.warn(
        f"{old} is deprecated: it is now called {new}.", FutureWarning, stacklevel=depth + 1
    )
