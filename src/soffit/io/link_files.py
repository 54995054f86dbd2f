"""Files of must-link and cannot-link pairs."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit.io.data_error import DataError, shown
from soffit.io.file_options import FileOptions
from soffit.io.formats import recognise
from soffit.io.tables.typed import OPENERS
from soffit.io.text.delimited import DelimitedRows


def read_pairs(
    path: str | os.PathLike[str], ids: Sequence[Any] | NDArray[Any] | None = None
) -> NDArray[np.int64] | list[list[int]]:
    r"""Read pairs or groups of objects: a file of must-links or cannot-links.

    Parameters
    ----------
    path : str or path
        A table of two columns, with or without a header: ``.csv``, ``.tsv``, ``.txt`` or another
        tabular format. A line of more than two entries is a group: all of them belong together,
        or all of them differ. Lines may differ in length.
    ids : sequence of str, optional
        Identifiers of the objects. The file names objects by identifier, or by number (from 0)
        if it holds none of the identifiers. Without `ids` it must hold numbers.

    Returns
    -------
    ndarray of shape (p, 2), or list of list
        Numbers of the objects of each pair; a list of groups if any has more than two.

    Raises
    ------
    DataError
        If a line names fewer than two objects, or an object is not known.

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
    groups = []
    for row, group in enumerate(entries):
        line = f"{where}: line {row + first_line:,}"
        if not group:
            continue
        numbers = [_number(entry, names, n_objects) for entry in group]
        if None in numbers:
            entry = group[numbers.index(None)]
            raise DataError(
                f"{line} names {shown(entry)}, which is not an "
                f"{'identifier' if names is not None else 'object number'} of the data.",
                "Correct or remove the pair.",
            )
        if len(numbers) < 2:
            raise DataError(
                f"{line} names a single object, {shown(group[0])}; a pair is two.",
                "Write two or more objects per line, separated by commas or tabs.",
            )
        groups.append([number for number in numbers if number is not None])
    if all(len(group) == 2 for group in groups):
        return np.array(groups, dtype=np.int64).reshape(-1, 2)
    return groups


def _entries(path: Path) -> tuple[list[tuple[str, ...]], int]:
    """The entries of all lines as text, empty ones left out, and the number of the first line."""
    format_name = recognise(path)
    if format_name in OPENERS:
        rows: Any = OPENERS[format_name](path, FileOptions())
        found: list[tuple[str, ...]] = []
        for block in rows.blocks(rows.names, rows.names):
            found += [_stripped(row) for row in block.rows()]
        return found, 1
    if format_name not in ("delimited text", "edge list"):
        raise DataError(
            f"{path}: pairs are read from tables with one pair or group per line.",
            "Save them as .csv.",
        )
    text = DelimitedRows.open(path, "never")
    dialect = text.dialect
    lines = "".join(str(block, "utf-8") for block in text.row_blocks()).splitlines()
    parsed = csv.reader(
        lines,
        delimiter=dialect.separator or ",",
        quotechar=dialect.quote or '"',
        skipinitialspace=True,
    )
    return [_stripped(row) for row in parsed], dialect.n_skipped + 1


def _stripped(row: Sequence[Any]) -> tuple[str, ...]:
    entries = ("" if entry is None else str(entry).strip() for entry in row)
    return tuple(entry for entry in entries if entry)


def _uses_names(entries: Sequence[tuple[str, ...]], known: dict[str, int]) -> bool:
    """Whether the file names objects by identifiers rather than by number."""
    present = {entry for group in entries for entry in group}
    return bool(present & known.keys()) or not all(entry.isdecimal() for entry in present)


def _is_header(entries: Sequence[tuple[str, ...]], names: dict[str, int] | None) -> bool:
    """The first line names no object, but the second names some."""
    first, second = entries[0], entries[1]
    none_known = all(_number(entry, names, None) is None for entry in first)
    return none_known and all(_number(entry, names, None) is not None for entry in second)


def _number(entry: str, names: dict[str, int] | None, n: int | None) -> int | None:
    if names is not None:
        return names.get(entry)
    if not entry.isdecimal() or len(entry) > 15:
        return None
    number = int(entry)
    return number if n is None or number < n else None
