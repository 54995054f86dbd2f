"""Columns scaled to a common unit if their standard deviations suggest different ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from soffit._threads import each, pieces
from soffit._typing import FloatArray, is_sparse

# Largest over median standard deviation beyond which "auto" standardizes. The median and not the
# smallest: nearly constant columns (the border of an image) must not trigger it.
_UNEVEN = 20.0
# Rows summed per thread at a time.
_ROWS = 2**15


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Subtracts means and divides by standard deviations; None for both changes nothing."""

    center: FloatArray | None
    spread: FloatArray | None
    _arrays: ClassVar[dict[str, str]] = {"center": "float? p", "spread": "float? p"}

    @classmethod
    def of(cls, table: Any, how: Literal["auto"] | bool) -> Standardizer:
        """Decide by the rule `how` and store the columns' means and standard deviations."""
        if how is False or is_sparse(table):
            return cls(None, None)
        center, spread = _moments(table)
        varying = spread[spread > 0]
        uneven = len(varying) > 0 and varying.max() > _UNEVEN * np.median(varying)
        if how == "auto" and not uneven:
            return cls(None, None)
        return cls(center, np.where(spread > 0, spread, 1.0))

    def apply(self, table: Any) -> Any:
        """The table in the common unit, in its own precision."""
        if self.center is None or self.spread is None:
            return table
        return ((table - self.center) / self.spread).astype(table.dtype)


def _moments(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and standard deviations of the columns; sums in double precision, piece by piece."""
    parts = [table[part.start : part.stop] for part in pieces(len(table), _ROWS)]
    sums = each(lambda part: part.sum(axis=0, dtype=np.float64), parts)
    center = np.sum(sums, axis=0) / len(table)
    squares = each(lambda part: ((part - center) ** 2).sum(axis=0), parts)
    return center, np.sqrt(np.sum(squares, axis=0) / len(table))
