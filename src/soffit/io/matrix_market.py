"""Matrix Market files, read without SciPy, whose reader can crash on files that are cut short."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, Matrix
from soffit.io.arrays import matrix_source
from soffit.io.data_error import DataError, counted
from soffit.io.limits import check_bytes
from soffit.io.source import Source
from soffit.io.table import Choice

_HEADER = "Its first line must read: %%MatrixMarket matrix coordinate real general (or the like)."
_LAYOUTS = ("coordinate", "array")
_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
# The sign of the entry on the other side of the diagonal.
_MIRROR = {"general": 0, "symmetric": 1, "skew-symmetric": -1}


@dataclass(frozen=True)
class _Header:
    layout: str
    field: str
    symmetry: str
    n_rows: int
    n_columns: int
    n_entries: int
    n_lines: int


def read_matrix_market(path: Path, kind: str, choice: Choice) -> Source:
    """A sparse or dense matrix; a square one is never taken for a table unless told so."""
    data = _load(path)
    n, width = data.shape
    if kind == "auto" and n == width:
        raise DataError(
            f"{path}: it is a square matrix, {n} x {n}. It is not guessed what it holds: pass "
            "--kind graph, --kind similarities or --kind distances for pairs of objects, or --kind "
            "table if its columns are features."
        )
    names = [f"column {number}" for number in range(1, width + 1)]
    return matrix_source(path, data, kind, choice, names)


def _load(path: Path) -> Matrix:
    with path.open("rb") as file:
        header = _read_header(path, file)
        size = path.stat().st_size
        # The shortest entry, "1 1" or "0", and its newline.
        if header.n_entries * (4 if header.layout == "coordinate" else 2) > size + 2:
            raise DataError(
                f"{path}: it declares {header.n_entries:,} entries, but a file of {size:,} bytes "
                "cannot hold them: it is damaged or was cut short. Save it again."
            )
        needed = 8.0 * header.n_rows + 40.0 * header.n_entries + 3.0 * size
        check_bytes(path, needed, "its matrix", "Save a part of it.")
        body = file.read()
    load = _sparse if header.layout == "coordinate" else _dense
    matrix = load(path, header, body)
    values = matrix.data if sp.issparse(matrix) else matrix
    if not np.isfinite(values).all():
        raise DataError(f"{path}: it has missing or infinite entries. Remove or replace them.")
    return matrix


def _read_header(path: Path, file: Any) -> _Header:
    """What the file says it is, checked before any room is made for it."""
    banner = file.readline(1000).decode("latin-1").lower().split()
    line, n_lines = file.readline(10_000), 2
    while line.startswith(b"%") or (line and not line.strip()):
        line, n_lines = file.readline(10_000), n_lines + 1
    if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"] or banner[2] not in _LAYOUTS:
        raise DataError(f"{path}: it is not a Matrix Market file. {_HEADER}")
    layout, field, symmetry = banner[2:]
    if field == "complex" or symmetry == "hermitian":
        raise DataError(f"{path}: it holds complex numbers. Only real ones can be clustered.")
    if field not in _FIELDS or symmetry not in _MIRROR or (layout, field) == ("array", "pattern"):
        raise DataError(f"{path}: it is a Matrix Market file of an unknown kind. {_HEADER}")
    words = line.split()
    if len(words) != (3 if layout == "coordinate" else 2) or not all(map(_is_size, words)):
        start = line[:60].decode("latin-1").strip()
        raise DataError(f"{path}: the line of sizes is not sound: {start!r}. {_HEADER}")
    sides = [int(word) for word in words]
    if 0 in sides:
        raise DataError(f"{path}: the matrix is empty.")
    if symmetry != "general" and sides[0] != sides[1]:
        raise DataError(f"{path}: it claims to be {symmetry}, but is not square. {_HEADER}")
    n_entries = sides[2] if layout == "coordinate" else _n_listed(sides[0], sides[1], symmetry)
    return _Header(layout, field, symmetry, sides[0], sides[1], n_entries, n_lines)


def _is_size(word: bytes) -> bool:
    return re.fullmatch(rb"\d{1,18}", word) is not None


def _n_listed(n_rows: int, n_columns: int, symmetry: str) -> int:
    """Entries of a dense matrix that are written down: one triangle if the other follows."""
    if symmetry == "general":
        return n_rows * n_columns
    return n_rows * (n_rows + (1 if symmetry == "symmetric" else -1)) // 2


def _sparse(path: Path, header: _Header, body: bytes) -> sp.csr_array:
    n_columns = 2 if header.field == "pattern" else 3
    entries = _entries(path, header, body, n_columns)
    rows, columns = entries[:, 0], entries[:, 1]
    inside = (rows >= 1) & (rows <= header.n_rows) & (columns >= 1) & (columns <= header.n_columns)
    wrong = np.flatnonzero(~(inside & (rows % 1 == 0) & (columns % 1 == 0)))
    if wrong.size:
        at = int(wrong[0])
        raise DataError(
            f"{path}: entry {at + 1:,} is in row {rows[at]:g} and column {columns[at]:g}, outside "
            f"a matrix of {header.n_rows:,} x {header.n_columns:,}. Correct it or save it again."
        )
    values = entries[:, 2].copy() if n_columns == 3 else np.ones(len(entries))
    at_row, at_column = rows.astype(np.int64) - 1, columns.astype(np.int64) - 1
    sign = _MIRROR[header.symmetry]
    if sign:
        between = at_row != at_column
        values = np.concatenate([values, sign * values[between]])
        at_row, at_column = (
            np.concatenate([at_row, at_column[between]]),
            np.concatenate([at_column, at_row[between]]),
        )
    matrix = sp.csr_array((values, (at_row, at_column)), shape=(header.n_rows, header.n_columns))
    matrix.sum_duplicates()
    return matrix


def _dense(path: Path, header: _Header, body: bytes) -> FloatArray:
    listed = _entries(path, header, body, 1)[:, 0]
    sign = _MIRROR[header.symmetry]
    if not sign:
        return np.ascontiguousarray(listed.reshape(header.n_columns, header.n_rows).T)
    matrix = np.zeros((header.n_rows, header.n_rows))
    # Column by column below the diagonal is row by row above it.
    above = np.triu_indices(header.n_rows, 0 if sign > 0 else 1)
    matrix.T[above] = listed
    return matrix + sign * np.tril(matrix, -1).T


def _entries(path: Path, header: _Header, body: bytes, n_columns: int) -> FloatArray:
    """All entries as numbers, one a row; indices below 2 ** 53 are exact."""
    import polars as pl

    tidy = re.sub(rb"[ \t]+", b" ", body.replace(b"\r", b""))
    tidy = re.sub(rb"(?m)^ | $|^ ?\n", b"", tidy)
    schema = {f"c{position}": pl.Float64 for position in range(n_columns)}
    try:
        frame = pl.read_csv(tidy, has_header=False, separator=" ", quote_char=None, schema=schema)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{path}: its entries, which start in line {header.n_lines + 1:,}, must be "
            f"{counted(n_columns, 'number')} a line ({str(error).splitlines()[0]}). Correct them "
            "or save it again."
        ) from error
    if frame.height != header.n_entries or any(frame.null_count().row(0)):
        complete = frame.drop_nulls().height
        raise DataError(
            f"{path}: it declares {counted(header.n_entries, 'entry', 'entries')}, but holds "
            f"{complete:,} complete ones: it is damaged or was cut short. Save it again."
        )
    return frame.to_numpy()
