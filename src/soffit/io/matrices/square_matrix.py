"""Square matrices over pairs of objects: detected, read from tables, and checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._threads import row_blocks
from soffit._typing import FloatArray, Matrix, is_sparse
from soffit._wording import Message, Parameter, first_few
from soffit.io.data_error import DataError, shown
from soffit.io.source import Source, text_array
from soffit.io.tables.table import Choice, check_choice, checked_ids, looks_like_identifier
from soffit.io.tables.tabular import Rows, collect

# Relative to the largest entry: smaller differences between the triangles are rounding.
_ROUNDING = 1e-6

MatrixKind = Literal["distances", "similarities", "graph"]


def checked_square(
    path: Path,
    A: Matrix,
    kind: MatrixKind,
    ids: Sequence[Any] | NDArray[Any] | None = None,
) -> Matrix:
    """Finite, nonnegative, symmetric entries; distances with a zero diagonal."""
    names = range(A.shape[0]) if ids is None else ids
    if A.shape[0] != A.shape[1]:
        what = "a graph needs" if kind == "graph" else f"{kind} need"
        raise DataError(
            f"{path}: {what} a square table, one row and one column per object, but this one "
            f"has {A.shape[0]:,} rows and {A.shape[1]:,} columns of numbers.",
            Message("Pass ", Parameter("kind", "table"), " if its columns are features."),
        )
    _check_values(path, A, kind, names)
    if kind == "distances":
        _check_diagonal(path, A, names)
    if kind == "distances" and is_sparse(A):
        # Unknown distances are not stored, and one direction is as good as both.
        return A
    A = _averaged(path, A, names)
    if kind == "graph":
        A = sp.csr_array(A)
        A.eliminate_zeros()
        if A.nnz == 0:
            raise DataError(f"{path}: the graph has no edge of positive weight.", "Add edges.")
    return A


def _check_values(path: Path, A: Matrix, kind: str, names: Any) -> None:
    for wrong, word, remedy in (
        (np.isnan, "missing", "Fill it in, or remove the object."),
        (np.isinf, "infinite", "Replace it by a number, or remove the object."),
        (_negative, "negative", f"{kind.capitalize()} must not be negative: correct the entry."),
    ):
        found = _first(A, wrong)
        if found is not None:
            row, column, value = found
            raise DataError(
                f"{path}: the entry of {_pair(names, row, column)} is {word} ({value:g}).", remedy
            )


def _negative(values: Any) -> Any:
    return values < 0


def _first(A: Matrix, test: Any) -> tuple[int, int, float] | None:
    """Row, column and value of the first entry that passes the test."""
    if is_sparse(A):
        triplets = A.tocoo()
        at = np.flatnonzero(test(triplets.data))
        if not at.size:
            return None
        first = at[0]
        return int(triplets.row[first]), int(triplets.col[first]), float(triplets.data[first])
    for rows in row_blocks(A.shape):
        at = np.flatnonzero(test(A[rows]))
        if at.size:
            row, column = divmod(int(at[0]), A.shape[1])
            return rows.start + row, column, float(A[rows.start + row, column])
    return None


def _check_diagonal(path: Path, A: Matrix, names: Any) -> None:
    diagonal = np.abs(A.diagonal())
    largest = float(A.max()) if A.shape[0] else 0.0
    wrong = np.flatnonzero(diagonal > _ROUNDING * largest)
    if wrong.size:
        first = int(wrong[0])
        raise DataError(
            f"{path}: the distance of {shown(names[first])} to itself is {diagonal[first]:g}, not "
            "0.",
            Message(
                "If larger numbers mean more similar, these are similarities: pass ",
                *(Parameter("kind", "similarities"), "."),
            ),
        )


def _averaged(path: Path, A: Matrix, names: Any) -> Matrix:
    """Exactly symmetric; differences beyond rounding are refused."""
    gap = abs(A - A.T) if is_sparse(A) else None
    largest = float(A.max()) if A.shape[0] else 0.0
    worst = _worst_gap(A) if gap is None else _worst_sparse_gap(gap)
    if worst is None:
        return A
    row, column, size = worst
    if size > _ROUNDING * largest:
        raise DataError(
            f"{path}: it is not symmetric: {_pair(names, row, column)} has {A[row, column]:g}, but "
            f"{_pair(names, column, row)} has {A[column, row]:g}.",
            "If the difference is noise, save the mean of the matrix and its transpose.",
        )
    half = (A + A.T) * A.dtype.type(0.5)
    return sp.csr_array(half) if is_sparse(A) else half


def _worst_sparse_gap(gap: Any) -> tuple[int, int, float] | None:
    if gap.nnz == 0:
        return None
    triplets = gap.tocoo()
    at = int(triplets.data.argmax())
    size = float(triplets.data[at])
    return (int(triplets.row[at]), int(triplets.col[at]), size) if size > 0 else None


def _worst_gap(A: FloatArray) -> tuple[int, int, float] | None:
    worst = None
    for rows in row_blocks(A.shape):
        gap = np.abs(A[rows] - A[:, rows].T)
        at = int(gap.argmax())
        size = float(gap.flat[at])
        if size > (worst[2] if worst else 0.0):
            row, column = divmod(at, A.shape[1])
            worst = (rows.start + row, column, size)
    return worst


def _pair(names: Any, row: int, column: int) -> str:
    return f"({shown(names[row])}, {shown(names[column])})"


# --- tabular files --------------------------------------------------------------------------------


def read_matrix(rows: Rows, choice: Choice, kind: MatrixKind) -> Source:
    """A square table of numbers; names come from a column, from the header, or from both."""
    check_choice(rows, choice)
    if choice.columns is not None:
        raise DataError(
            Message(
                *(f"{rows.path}: ", Parameter("columns"), f" chooses features, but {kind} have "),
                "none.",
            ),
            Message("Leave out ", Parameter("columns"), "."),
        )
    taken = {choice.label, *(choice.drop or ())}
    names = [name for name in rows.names if name not in taken]
    id_name = choice.id or _name_column(rows, names)
    entries = [name for name in names if name != id_name]
    _check_numeric(rows, entries, kind)
    kept = [name for name in (id_name, choice.label) if name is not None]
    found = collect(rows, entries, kept, [], 0)
    notes = [*rows.notes, *found.notes]
    ids = None
    if id_name is not None:
        ids = checked_ids(rows.path, id_name, found.texts[id_name], rows)
    ids = _agreed_names(rows, ids, entries, found.n_rows, notes)
    A: Matrix = sp.csr_array(found.numbers) if kind == "graph" else found.numbers
    return Source(
        kind,
        checked_square(rows.path, A, kind, ids),
        ids=ids,
        id_name=id_name or "id",
        truth=None if choice.label is None else text_array(found.texts[choice.label]),
        notes=tuple(notes),
        path=str(rows.path),
    )


def _name_column(rows: Rows, names: list[str]) -> str | None:
    """The first column, if it holds text or is named like an identifier."""
    if not names or names[0] != rows.names[0]:
        return None
    first = names[0]
    named = rows.has_header and looks_like_identifier(first) and len(names) > rows.n_rows
    return first if rows.kinds[first] == "text" or named else None


def _check_numeric(rows: Rows, entries: list[str], kind: str) -> None:
    wrong = [name for name in entries if rows.kinds[name] != "number"]
    if wrong:
        raise DataError(
            f"{rows.path}: {kind} are numbers, but the columns {first_few(map(shown, wrong))} hold "
            "something else.",
            Message(
                *("Leave them out with ", Parameter("drop", wrong[:3]), ", or pass "),
                *(Parameter("id"), " for the column of names."),
            ),
        )


def _agreed_names(
    rows: Rows, ids: NDArray[Any] | None, entries: list[str], n_rows: int, notes: list[str]
) -> NDArray[Any] | None:
    """Names of the rows and of the columns must not contradict each other."""
    if not rows.has_header or len(entries) != n_rows:
        return ids
    across = [name.strip() for name in entries]
    if ids is None:
        return text_array(across)
    down = [str(name) for name in ids]
    if down != across and sorted(down) == sorted(across):
        at = next(i for i, (a, b) in enumerate(zip(down, across, strict=True)) if a != b)
        raise DataError(
            f"{rows.path}: rows and columns are in different orders: row {at + 1} is "
            f"{shown(down[at])}, but column {at + 1} is {shown(across[at])}.",
            "Bring both into the same order.",
        )
    if down != across:
        notes.append("Names of the columns differ from those of the rows; the latter are used.")
    return ids
