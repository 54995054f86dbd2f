"""What every tabular file offers: named columns of known kinds, and rows in blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from soffit.io._dialect import ColumnKind


class Rows(Protocol):
    """A table that is read block by block, so that it need not fit into memory as text.

    Attributes
    ----------
    names : sequence of str
        Unique names of the columns.
    kinds : mapping of str to str
        "number", "boolean", "text", "date" or "other" for each column.
    n_rows : int
        How many rows there are; for text files an upper bound.
    has_header : bool
        Whether the names come from the file.
    single : bool
        Whether all numbers are stored in single precision.
    notes : list of str
        What a person should know about how the file was understood.
    """

    path: Path
    names: Sequence[str]
    kinds: Mapping[str, ColumnKind]
    n_rows: int
    has_header: bool
    single: bool
    notes: list[str]

    def blocks(self, names: Sequence[str], as_text: Collection[str]) -> Iterator[Any]:
        """Polars frames of consecutive rows with the columns `names`, some of them as text."""
        ...

    def place(self, row: int) -> str:
        """Where a row, counted from 0, is found in the file."""
        ...


def unique_names(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names that are neither empty nor repeated, and notes about those that had to change."""
    taken = set(given)
    names: list[str] = []
    repeated: list[str] = []
    seen: set[str] = set()
    for position, name in enumerate(given, start=1):
        if name not in seen:
            seen.add(name)
            names.append(name)
            continue
        repeated.append(name)
        fresh = f"{name} ({position})"
        while fresh in taken:
            fresh += "'"
        taken.add(fresh)
        names.append(fresh)
    if not repeated:
        return names, []
    shown = ", ".join(repr(name) for name in dict.fromkeys(repeated[:5]))
    note = f"Column names come up more than once ({shown}); the position is added to later ones."
    return names, [note]
