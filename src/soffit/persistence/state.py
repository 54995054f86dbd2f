"""Which attributes of an object are data, in both directions of saving."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from sklearn.base import BaseEstimator

_ABSENT = object()


class ModelFileError(ValueError):
    """A model file cannot be read or written; the message says why, and what to do."""


def is_data_name(cls: type, name: str) -> bool:
    """Whether an object of the class may have this attribute without hiding a part of the class."""
    if not name.isidentifier() or (name.startswith("__") and name.endswith("__")):
        return False
    if dataclasses.is_dataclass(cls) and name in {f.name for f in dataclasses.fields(cls)}:
        return True
    return inspect.getattr_static(cls, name, _ABSENT) is _ABSENT


def with_state(cls: type, state: dict[str, Any]) -> Any:
    """An object of the class with these attributes; nothing of the class is run.

    Fields and parameters that the file does not know yet have their defaults.
    """
    thing: Any = object.__new__(cls)
    vars(thing).update(_defaults(cls, state) | state)
    return thing


def _defaults(cls: type, state: dict[str, Any]) -> dict[str, Any]:
    if not dataclasses.is_dataclass(cls):
        return _parameter_defaults(cls, state)
    found: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        if field.name in state:
            continue
        if field.default is not dataclasses.MISSING:
            found[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
        else:
            raise ModelFileError(f"{cls.__name__} lacks its field {field.name}.")
    return found


def _parameter_defaults(cls: type, state: dict[str, Any]) -> dict[str, Any]:
    """Those of a scikit-learn estimator, whose parameters are attributes of the same names."""
    if not issubclass(cls, BaseEstimator):
        return {}
    parameters = inspect.signature(cls).parameters.values()
    missing = [given for given in parameters if given.name not in state]
    for given in missing:
        if given.default is given.empty:
            raise ModelFileError(f"{cls.__name__} lacks its parameter {given.name}.")
    return {given.name: given.default for given in missing}
