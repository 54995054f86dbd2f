"""Describe what a file holds: format, columns, types and missing values."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from soffit._typing import is_sparse
from soffit._wording import Message, Parameter, count_of
from soffit.io.data_error import DataError
from soffit.io.file_options import FileOptions
from soffit.io.formats import LocalFile, recognise
from soffit.io.matrices.arrays import read_npy, read_npz, shapes
from soffit.io.read import check_options, open_rows, read
from soffit.io.source import Source
from soffit.io.tables.table import SAY_WHICH, looks_like_identifier
from soffit.io.tables.tabular import NO_VALUE, Rows, could_be_edges, has_edge_header

# Distinct values are counted up to this number.
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

    Examples
    --------
    >>> from soffit.io import ColumnSummary
    >>> ColumnSummary("age", "number", n_missing=2, smallest=18, largest=90).n_missing
    2
    """

    name: str
    kind: str
    n_missing: int = 0
    smallest: float | None = None
    largest: float | None = None
    values: dict[Any, None] = field(default_factory=dict)

    def add_values(self, column: Any) -> None:
        """Add the values of the next block, without missing ones."""
        if self.kind != "other" and len(self.values) <= _COUNTED:
            # The head of a long block is enough: values beyond the limit are not counted.
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
    """Add the next block of a table, all columns at once where that is faster."""
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
    """JSON has no infinity."""
    return None if value is None or math.isinf(value) else value


# A wider table is described by its first columns.
_MOST_LINES = 30


@dataclass(frozen=True)
class Description:
    r"""A file in words and numbers.

    Attributes
    ----------
    path, format : str
        The file and its format.
    n_rows : int
        Rows of a table, objects of a matrix or a graph.
    columns : tuple of ColumnSummary
        The columns of a table, with their types, missing and distinct values.
    looks_like : {"table", "square matrix", "edge list", "graph"}
        What it seems to hold.
    notes : tuple of str
        Remarks, such as what to pass to `read`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from soffit.io import describe
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.csv"
    ...     _ = path.write_text("size,colour\n1.5,red\n,blue\n2.5,red\n")
    ...     description = describe(path)
    >>> print("\n".join(description.lines()[1:]))
    Table, 3 rows, 2 columns
      size    number  1 missing  2 distinct  1.5 to 2.5
      colour  text    0 missing  2 distinct  red, blue
    1 value missing: pass impute="median", or leave columns out with drop.
    """

    path: str
    format: str
    n_rows: int
    columns: tuple[ColumnSummary, ...] = ()
    looks_like: str = "table"
    notes: tuple[str, ...] = field(default_factory=tuple)

    def lines(self) -> list[str]:
        """The description as lines of text."""
        head = [f"{self.path}: {self.format}"]
        objects = "rows" if self.columns else "objects"
        title = f"{self.looks_like.capitalize()}, {self.n_rows:,} {objects}"
        if self.columns:
            title += f", {count_of(len(self.columns), 'column')}"
        shown = self.columns[:_MOST_LINES]
        lines = [*head, title, *_aligned([column.cells() for column in shown])]
        rest = len(self.columns) - len(shown)
        if rest:
            lines.append(f"  and {count_of(rest, 'more column')}")
        return [*lines, *self.notes]

    def as_dict(self) -> dict[str, Any]:
        """The description as plain values, for JSON."""
        return {
            "path": self.path,
            "format": self.format,
            "n_rows": self.n_rows,
            "looks_like": self.looks_like,
            "columns": [column.as_dict() for column in self.columns],
            "notes": list(self.notes),
        }


def describe(path: str | os.PathLike[str], **options: Any) -> Description:
    r"""Describe a file: format, rows, columns, missing values, and whether it may be a matrix.

    Parameters
    ----------
    path : str or path
        Any file that `read` takes.
    **options : object
        How the file is written: `sep`, `decimal`, `thousands`, `na`, `sheet`, `skip_rows` and
        `encoding`, as for `read`.

    Returns
    -------
    Description
        With `lines` for people and `as_dict` for programs.

    Raises
    ------
    DataError
        If the file cannot be read at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from soffit import io
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.csv"
    ...     _ = path.write_text("size;colour\n1,5;red\n2,5;blue\n")
    ...     [column.name for column in io.describe(path).columns]
    ['size', 'colour']
    """
    local = LocalFile.of(Path(path))
    with local.named():
        found = _describe(local.path, FileOptions.checked(**options))
    return replace(found, path=str(path))


def _describe(where: Path, options: FileOptions) -> Description:
    format_name = recognise(where)
    check_options(where, format_name, options)
    rows = open_rows(where, format_name, options)
    if rows is not None:
        return _describe_rows(where, format_name, rows)
    if format_name == "NumPy archive":
        return _describe_archive(where, format_name)
    if format_name == "NumPy array":
        array, notes = read_npy(where)
        return _describe_array(where, format_name, array, notes)
    kind: Any = "table" if format_name == "Matrix Market" else "auto"
    source = read(where, kind=kind)
    width = source.data.shape[1]
    square = format_name == "Matrix Market" and source.n_objects == width
    looks_like = "square matrix" if square else source.kind
    return Description(
        str(where), format_name, source.n_objects, (), looks_like, (*source.notes, _size(source))
    )


def _size(source: Source) -> str:
    """The size of a graph or a sparse table."""
    n, width = source.data.shape
    if source.kind == "graph" and is_sparse(source.data):
        loops = int(np.count_nonzero(source.data.diagonal()))
        edges = (source.data.nnz - loops) // 2
        said = f", {count_of(loops, 'loop')} among them" if loops else ""
        return f"{count_of(edges + loops, 'edge')}{said}."
    return f"{n:,} x {width:,}, {source.data.size:,} nonzero entries."


def _describe_rows(path: Path, format_name: str, rows: Rows) -> Description:
    kinds = {n: "text" if n in rows.problems else rows.kinds[n] for n in rows.names}
    summaries = [ColumnSummary(name, kinds[name]) for name in rows.names]
    n_rows = 0
    for block in rows.blocks(rows.names, list(rows.problems)):
        summarize(summaries, block)
        n_rows += block.height
    if n_rows == 0:
        raise DataError(f"{path}: it has no rows.", "Add one row per object.")
    notes = [*rows.notes, *(problem.message for problem in rows.problems.values())]
    looks_like = _guess(rows, n_rows)
    if looks_like != "table":
        notes.append(_QUESTIONS[looks_like])
    gaps = sum(summary.n_missing for summary in summaries)
    if gaps:
        notes.append(_impute_or_drop(gaps))
    return Description(str(path), format_name, n_rows, tuple(summaries), looks_like, tuple(notes))


_QUESTIONS = {
    "square matrix": Message("Its shape is that of a matrix over pairs of objects. ", SAY_WHICH),
    "edge list": Message(
        *("It looks like an edge list: pass ", Parameter("kind", "graph"), " if it is one, or "),
        *(Parameter("kind", "table"), " if its columns are features."),
    ),
}


def _impute_or_drop(gaps: int) -> Message:
    return Message(
        *(f"{count_of(gaps, 'value')} missing: pass ", Parameter("impute", "median")),
        *(", or leave columns out with ", Parameter("drop"), "."),
    )


def _guess(rows: Rows, n_rows: int) -> str:
    numbers = [name for name in rows.names if rows.kinds[name] == "number"]
    first = rows.names[0]
    with_names = len(numbers) == n_rows + 1 and looks_like_identifier(first)
    if n_rows >= 3 and (len(numbers) == n_rows or with_names):
        return "square matrix"
    named = has_edge_header(rows.names)
    return "edge list" if named or (not rows.has_header and could_be_edges(rows)) else "table"


def _describe_array(path: Path, name: str, array: Any, notes: Sequence[str]) -> Description:
    n, width = array.shape
    said = [*notes, f"{count_of(width, 'column')} of type {array.dtype}."]
    gaps = int(np.isnan(array).sum())
    if gaps:
        said.append(_impute_or_drop(gaps))
    square = n == width and n >= 3
    if square:
        said.append(_QUESTIONS["square matrix"])
    return Description(str(path), name, n, (), "square matrix" if square else "table", tuple(said))


def _describe_archive(path: Path, format_name: str) -> Description:
    arrays = read_npz(path)
    largest = max(arrays.values(), key=lambda array: array.size)
    n_rows = len(largest) if largest.ndim else 1
    looks_like = "graph" if "edges" in arrays else "table"
    if "n" in arrays and looks_like == "graph":
        n_rows = int(arrays["n"].ravel()[0])
    if "X" in arrays and arrays["X"].ndim:
        n_rows = len(arrays["X"])
    elif "shape" in arrays and "indptr" in arrays:
        n_rows = int(arrays["shape"].ravel()[0])
    notes = (f"Arrays: {shapes(arrays)}.",)
    return Description(str(path), format_name, n_rows, (), looks_like, notes)


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Cells padded to the width of their column."""
    if not table:
        return []
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    return [
        ("  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))).rstrip()
        for row in table
    ]
