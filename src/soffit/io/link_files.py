"""Files of must-link and cannot-link pairs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit.io.data_error import DataError, shown
from soffit.io.formats import recognise
from soffit.io.tables.typed import OPENERS
from soffit.io.text.delimited import DelimitedRows


def read_pairs(
    path: str | os.PathLike[str], ids: Sequence[Any] | NDArray[Any] | None = None
) -> NDArray[np.int64]:
    r"""Read pairs of objects: a file of must-links or cannot-links.

    Parameters
    ----------
    path : str or path
        A table of two columns, with or without a header: ``.csv``, ``.tsv``, ``.txt`` or another
        tabular format.
    ids : sequence of str, optional
        Identifiers of the objects. The file names objects by identifier, or by number (from 0)
        if it holds none of the identifiers. Without `ids` it must hold numbers.

    Returns
    -------
    ndarray of shape (p, 2)
        Numbers of the objects of each pair.

    Raises
    ------
    DataError
        If there are not two columns, or an object is not known.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from soffit.io import read_pairs
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "together.csv"
    ...     _ = path.write_text("ann,bob\ncyd,ann\n")
    ...     read_pairs(path, ["ann", "bob", "cyd"]).tolist()
    [[0, 1], [2, 0]]
    """
    where = Path(path)
    entries, first_line = _entries(where)
    known = None if ids is None else {str(name): number for number, name in enumerate(ids)}
    names = known if known is not None and _uses_names(entries, known) else None
    n_objects = None if ids is None else len(ids)
    if len(entries) > 1 and _is_header(entries, names):
        entries, first_line = entries[1:], first_line + 1
    pairs = np.empty((len(entries), 2), dtype=np.int64)
    for row, pair in enumerate(entries):
        for side, entry in enumerate(pair):
            number = _number(entry, names, n_objects)
            if number is None:
                raise DataError(
                    f"{where}: line {row + first_line:,} names {shown(entry or '')}, which is not "
                    f"an {'identifier' if names is not None else 'object number'} of the data.",
                    "Correct or remove the pair.",
                )
            pairs[row, side] = number
    return pairs


def _entries(path: Path) -> tuple[list[tuple[str | None, str | None]], int]:
    """Both columns as text, and the line of the first pair."""
    format_name = recognise(path)
    rows: Any
    if format_name in OPENERS:
        rows = OPENERS[format_name](path)
    elif format_name in ("delimited text", "edge list"):
        rows = DelimitedRows.open(path, "never")
    else:
        raise DataError(
            f"{path}: pairs are read from tables with two columns.", "Save them as .csv."
        )
    if len(rows.names) != 2:
        raise DataError(
            f"{path}: a pair is two objects, but the file has {len(rows.names)} columns.",
            "Write two columns, one line per pair.",
        )
    first, second = rows.names
    found: list[tuple[str | None, str | None]] = []
    for block in rows.blocks(rows.names, rows.names):
        found += zip(
            block[first].str.strip_chars().to_list(),
            block[second].str.strip_chars().to_list(),
            strict=True,
        )
    start = rows.dialect.n_skipped + 1 if isinstance(rows, DelimitedRows) else 1
    return found, start


def _uses_names(entries: Sequence[tuple[str | None, ...]], known: dict[str, int]) -> bool:
    """Whether the file names objects by identifiers rather than by number."""
    present = {entry for pair in entries for entry in pair if entry}
    return bool(present & known.keys()) or not all(entry.isdecimal() for entry in present)


def _is_header(entries: Sequence[tuple[str | None, ...]], names: dict[str, int] | None) -> bool:
    """The first line names no object, but the second names two."""
    first, second = entries[0], entries[1]
    none_known = all(_number(entry, names, None) is None for entry in first)
    return none_known and all(_number(entry, names, None) is not None for entry in second)


def _number(entry: str | None, names: dict[str, int] | None, n: int | None) -> int | None:
    if not entry:
        return None
    if names is not None:
        return names.get(entry)
    if not entry.isdecimal() or len(entry) > 15:
        return None
    number = int(entry)
    return number if n is None or number < n else None
