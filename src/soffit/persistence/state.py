"""Which attributes of an object are data, in both directions of saving."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

_ABSENT = object()


class ModelFileError(ValueError):
    """A model file cannot be read or written; the message says why, and what to do."""


def is_data_name(cls: type, name: str) -> bool:
    """Whether an object of the class may have this attribute without hiding a method."""
    if not name.isidentifier() or (name.startswith("__") and name.endswith("__")):
        return False
    if name in field_names(cls):
        return True
    inherited = inspect.getattr_static(cls, name, _ABSENT)
    return inherited is _ABSENT or not (callable(inherited) or hasattr(inherited, "__get__"))


def field_names(cls: type) -> list[str]:
    """Names of the class's dataclass fields; none if it is no dataclass."""
    if not dataclasses.is_dataclass(cls):
        return []
    return [field.name for field in dataclasses.fields(cls)]


def with_state(cls: type, state: dict[str, Any]) -> Any:
    """An object of the class with these attributes; nothing of the class is run.

    Fields that the file does not know yet have their defaults.
    """
    thing: Any = object.__new__(cls)
    vars(thing).update(_defaults(cls, state) | state)
    return thing


def _defaults(cls: type, state: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ():
        if field.name in state:
            continue
        if field.default is not dataclasses.MISSING:
            found[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
        else:
            raise ModelFileError(f"{cls.__name__} lacks its field {field.name}.")
    return found
