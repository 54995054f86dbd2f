"""Columns brought to one unit when their spreads show that they have different ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from soffit._typing import FloatArray, is_sparse

# Largest over median standard deviation beyond which "auto" standardizes. The median and not the
# smallest: nearly constant columns (the border of an image) must not trigger it.
_UNEVEN = 20.0


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Subtracts centers and divides by spreads; both None leaves a table as it is."""

    center: FloatArray | None
    spread: FloatArray | None

    @classmethod
    def of(cls, table: Any, how: Literal["auto"] | bool) -> Standardizer:
        """Decide by the rule `how` and remember the columns' centers and spreads."""
        if how is False or is_sparse(table):
            return cls(None, None)
        spread = table.std(axis=0, dtype=np.float64)
        varying = spread[spread > 0]
        uneven = len(varying) > 0 and varying.max() > _UNEVEN * np.median(varying)
        if how == "auto" and not uneven:
            return cls(None, None)
        center = table.mean(axis=0, dtype=np.float64)
        return cls(center, np.where(spread > 0, spread, 1.0))

    def apply(self, table: Any) -> Any:
        """The table in the common unit, in its own precision."""
        if self.center is None or self.spread is None:
            return table
        return ((table - self.center) / self.spread).astype(table.dtype)
