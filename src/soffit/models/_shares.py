"""The rule for parameters that are shares of something."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any


@dataclass(frozen=True)
class ShareBelowOne:
    """A number from zero to below one."""

    def allows(self, value: Any) -> bool:
        """Whether the value may be used."""
        return isinstance(value, Real) and not isinstance(value, bool) and 0.0 <= float(value) < 1.0

    def __str__(self) -> str:
        return "a number of at least 0 and below 1"
