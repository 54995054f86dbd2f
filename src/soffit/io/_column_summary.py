"""One column of a table in a few numbers, gathered block by block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from soffit.io._collect import NO_VALUE

# Distinct values are counted up to here; beyond, only that there are more.
_COUNTED = 1000
_LONGEST_NAME = 40
_SHOWN_VALUES = 3


@dataclass
class ColumnSummary:
    """Type, missing and distinct values, and the range or some values of a column.

    Attributes
    ----------
    name, kind : str
        The column's name, and "number", "boolean", "text", "date" or "other".
    n_missing : int
        Rows without a value.
    smallest, largest : float or None
        The range of numbers.
    """

    name: str
    kind: str
    n_missing: int = 0
    smallest: float | None = None
    largest: float | None = None
    values: dict[Any, None] = field(default_factory=dict)

    def add_values(self, column: Any) -> None:
        """Take in the values of the next block, gaps left out."""
        if self.kind != "other" and len(self.values) <= _COUNTED:
            # The head of a long block tells enough once it is clear that there are many.
            new = column.head(20 * _COUNTED).unique(maintain_order=True).head(_COUNTED + 2)
            self.values.update(dict.fromkeys(value for value in new.to_list() if value is not None))

    def widen(self, low: float | None, high: float | None) -> None:
        """Extend the range to that of the next block."""
        if low is not None and high is not None:
            self.smallest = low if self.smallest is None else min(low, self.smallest)
            self.largest = high if self.largest is None else max(high, self.largest)

    @property
    def n_distinct(self) -> int | None:
        """Distinct values; None if there are more than a thousand."""
        return len(self.values) if len(self.values) <= _COUNTED else None

    def cells(self) -> list[str]:
        """The summary as words: name, type, missing, distinct, examples."""
        name = self.name if len(self.name) <= _LONGEST_NAME else f"{self.name[:37]}..."
        distinct = f"more than {_COUNTED:,}" if self.n_distinct is None else f"{self.n_distinct:,}"
        return [
            " ".join(name.split()) or "(no name)",
            self.kind,
            f"{self.n_missing:,} missing",
            f"{distinct} distinct" if self.kind != "other" else "",
            self._examples(),
        ]

    def as_dict(self) -> dict[str, Any]:
        """The summary as plain values, for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "n_missing": self.n_missing,
            "n_distinct": self.n_distinct,
            "smallest": _for_json(self.smallest),
            "largest": _for_json(self.largest),
        }

    def _examples(self) -> str:
        if self.smallest is not None:
            return f"{self.smallest:g} to {self.largest:g}"
        some = [" ".join(str(value).split())[:20] for value in list(self.values)[:_SHOWN_VALUES]]
        return ", ".join(some) + (", ..." if len(self.values) > _SHOWN_VALUES else "")


def summarize(summaries: Sequence[ColumnSummary], block: Any) -> None:
    """Take in the next block of a table, all columns at once where that is quicker."""
    import polars.selectors as cs

    words = cs.string().str.strip_chars().replace(NO_VALUE, [None] * len(NO_VALUE))
    tidy = block.with_columns(cs.float().fill_nan(None), words)
    gaps = tidy.null_count().row(0, named=True)
    numbers = tidy.select(cs.numeric())
    low = numbers.min().row(0, named=True) if numbers.width else {}
    high = numbers.max().row(0, named=True) if numbers.width else {}
    for summary in summaries:
        summary.n_missing += gaps[summary.name]
        summary.add_values(tidy[summary.name])
        if summary.kind == "number":
            summary.widen(low.get(summary.name), high.get(summary.name))


def _for_json(value: float | None) -> float | None:
    """JSON knows no infinity."""
    return None if value is None or math.isinf(value) else value
