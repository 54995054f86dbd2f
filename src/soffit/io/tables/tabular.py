"""The rows of a tabular file, read block by block, and what its columns hold."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray
from soffit._wording import Message, Parameter
from soffit.io.data_error import DataError, shown, table_dtype
from soffit.io.text.dialect import EDGE_ENDS
from soffit.io.text.numbers import MISSING, TRUTH_VALUES, ColumnKind


class Rows(Protocol):
    """A table that is read block by block: as text it may be larger than the memory.

    `names`: unique names of the columns.
    `kinds`: "number", "boolean", "text", "date" or "other" for each column.
    `n_rows`: the number of rows; an upper bound for text files.
    `has_header`: whether the names come from the file.
    `single`: whether all numbers are stored in single precision.
    `notes`: how the file was interpreted, as sentences.
    `problems`: columns that look like numbers but cannot be read: the error if one of them is used.
    """

    path: Path
    names: Sequence[str]
    n_rows: int
    has_header: bool
    single: bool
    notes: list[str]

    @property
    def kinds(self) -> Mapping[str, ColumnKind]:
        """What each column holds."""
        ...

    @property
    def problems(self) -> Mapping[str, DataError]:
        """Errors about columns, for those who use them."""
        ...

    def blocks(self, names: Sequence[str], as_text: Collection[str]) -> Iterator[Any]:
        """Polars frames of consecutive rows with the columns `names`, some of them as text."""
        ...

    def raw_blocks(self) -> Iterator[Any]:
        """Polars frames with all columns as the file has them: text files as text."""
        ...

    def place(self, row: int) -> str:
        """Where to find a row, counted from 0, in the file."""
        ...

    def as_numbers(self, name: str, texts: Any) -> Any:
        """The numbers of a column that was read as text, all of it; a polars series."""
        ...


def unique_names(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Unique names, and a note about those that had to change."""
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
    note = f"Some column names occur more than once ({shown}); their position is appended."
    return names, [note]


NO_VALUE = ["", *MISSING]


@dataclass
class Category:
    """A column of text: its distinct values and which one each row has (-1: none).

    A column with more than `limit` distinct values is not followed further: `codes` is then None.
    """

    limit: int
    values: dict[str, int] = field(default_factory=dict)
    parts: list[NDArray[np.int32]] | None = field(default_factory=list)

    def add(self, column: Any) -> None:
        """Append the values of one block."""
        import polars as pl

        if self.parts is None:
            return
        texts = column.str.strip_chars()
        texts = texts.set(texts.is_in(NO_VALUE), None)
        for value in texts.unique(maintain_order=True).drop_nulls().to_list():
            self.values.setdefault(value, len(self.values))
            if len(self.values) > self.limit:
                self.parts = None
                return
        if not self.values:
            self.parts.append(np.full(len(texts), -1, dtype=np.int32))
            return
        codes = texts.replace_strict(
            list(self.values), list(self.values.values()), default=None, return_dtype=pl.Int32
        )
        self.parts.append(codes.fill_null(-1).to_numpy())

    @property
    def codes(self) -> NDArray[np.int32] | None:
        """For each row the number of its value."""
        return None if self.parts is None else np.concatenate(self.parts)


@dataclass
class Collected:
    """What the columns of a table hold."""

    n_rows: int
    numbers: FloatArray
    texts: dict[str, list[str | None]]
    categories: dict[str, Category]
    notes: list[str]


def correct_or_drop(name: str) -> Message:
    """The remedy for an entry that does not belong into its column."""
    return Message(
        "Correct the entry, leave it empty if the value is unknown, or pass ",
        *(Parameter("drop", [name]), "."),
    )


def collect(
    rows: Rows, numbers: Sequence[str], texts: Sequence[str], categories: Sequence[str], limit: int
) -> Collected:
    """Read the named columns of all rows."""
    for name in (*numbers, *categories):
        if name in rows.problems:
            raise rows.problems[name]
    dtype, notes = table_dtype(rows.path, rows.n_rows, len(numbers))
    if rows.single:
        dtype = np.float32
    values = np.empty((rows.n_rows, len(numbers)), dtype=dtype)
    words: dict[str, list[str | None]] = {name: [] for name in texts}
    found = {name: Category(limit) for name in categories}
    names = list(dict.fromkeys([*numbers, *texts, *categories]))
    row = 0
    for block in rows.blocks(names, [*texts, *categories]):
        stop = row + block.height
        if numbers:
            values[row:stop] = _as_numbers(rows, block.select(numbers), row)
        for name in texts:
            words[name].extend(block[name].str.strip_chars().to_list())
        for name in categories:
            found[name].add(block[name])
        row = stop
    if row == 0:
        raise DataError(f"{rows.path}: it has no rows.", "Add one row per object.")
    return Collected(row, values[:row], words, found, notes)


def _as_numbers(rows: Rows, block: Any, row: int) -> FloatArray:
    """Numbers of a block; missing values are NaN, truth values 0 and 1."""
    import polars as pl

    words = [name for name, dtype in block.schema.items() if dtype == pl.String]
    if not words:
        return block.to_numpy()
    lower = pl.col(words).str.strip_chars().str.to_lowercase()
    mapped = block.with_columns(
        lower.replace_strict(
            list(TRUTH_VALUES), list(TRUTH_VALUES.values()), default=None, return_dtype=pl.Float64
        )
    )
    for name in words:
        left = block[name].str.strip_chars()
        wrong = (mapped[name].is_null() & left.is_not_null() & ~left.is_in(NO_VALUE)).arg_true()
        if len(wrong):
            at = int(wrong[0])
            raise DataError(
                f"{rows.path}: column {shown(name)} holds true and false, but "
                f"{rows.place(row + at)} has {shown(left[at])}.",
                correct_or_drop(name),
            )
    return mapped.to_numpy()


# --- tables of edges ------------------------------------------------------------------------------


def has_edge_header(names: Sequence[str]) -> bool:
    """Whether the first columns are called source and target, or the like."""
    lower = [name.strip().lower() for name in names]
    return len(lower) in (2, 3) and (lower[0], lower[1]) in EDGE_ENDS[:6]


def could_be_edges(rows: Rows) -> bool:
    """Whether two columns hold nodes: whole numbers or text, not measurements."""
    if len(rows.names) not in (2, 3):
        return False
    if len(rows.names) == 3 and rows.kinds[rows.names[2]] != "number":
        return False
    block = next(iter(rows.blocks(rows.names[:2], rows.names[:2])))
    ends = [block[name].drop_nulls().str.strip_chars() for name in rows.names[:2]]
    if all(rows.kinds[name] == "text" for name in rows.names[:2]):
        return True
    return all(bool(end.str.contains(r"^\d+$").all()) for end in ends)


def is_edge_list(rows: Rows) -> bool:
    """Not a small square matrix: two or three columns, or columns named source and target."""
    lower = {name.strip().lower() for name in rows.names}
    return len(rows.names) in (2, 3) or {"source", "target"} <= lower or {"from", "to"} <= lower
