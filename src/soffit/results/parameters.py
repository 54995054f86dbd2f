"""The parameters of a model, and which of them differ from their defaults."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Setting:
    """One parameter."""

    name: str
    value: str
    default: str
    is_changed: bool


def settings(model: Any) -> list[Setting]:
    """All parameters in the order of the constructor."""
    given = model.get_params(deep=False)
    known = inspect.signature(type(model)).parameters
    return [
        Setting(
            name=name,
            value=written(given[name]),
            default=written(parameter.default),
            is_changed=not _same(given[name], parameter.default),
        )
        for name, parameter in known.items()
        if name in given
    ]


def written(value: Any) -> str:
    """A value as one would write it in Python; functions and random states by their names."""
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}" if value.size > 20 else repr(value.tolist())
    if isinstance(value, np.generic):
        return repr(value.item())
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"{type(value).__name__} object"
    return repr(value)


def _same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    if type(value) is not type(default) and not _both_numbers(value, default):
        return False
    return bool(np.all(value == default))


def _both_numbers(a: Any, b: Any) -> bool:
    kinds = (int, float, np.integer, np.floating)
    return (
        isinstance(a, kinds) and isinstance(b, kinds) and isinstance(a, bool) == isinstance(b, bool)
    )
