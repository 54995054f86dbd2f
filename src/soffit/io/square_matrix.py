"""Square matrices: recognised, asked about, and checked once the user has said what they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._threads import row_blocks
from soffit._typing import FloatArray, Matrix, is_sparse
from soffit.io.data_error import DataError, shown

# Differences between the triangles below this share of the largest entry are rounding.
_ROUNDING = 1e-6

_ASK = (
    "It is not guessed what it holds: pass --kind distances, --kind similarities or --kind graph "
    "for pairs of objects, or --kind table if its columns are features."
)


def ask_if_square(path: Path, X: Matrix, names: Sequence[str], ids: NDArray[Any] | None) -> None:
    """Refuse a table that may well be a matrix over pairs of objects."""
    n, width = X.shape
    if n != width or n < 3:
        return
    labelled = ids is not None and list(ids) == list(names)
    if labelled or _is_symmetric(X):
        how = "symmetric" if not labelled else "the same names across and down"
        raise DataError(f"{path}: it is a square table, {n} x {n}, {how}. {_ASK}")


def _is_symmetric(X: Matrix) -> bool:
    if is_sparse(X):
        return abs(X - X.T).nnz == 0
    # Only what the first blocks show is needed to tell an ordinary table.
    return all(
        np.array_equal(X[rows], X[:, rows].T, equal_nan=True) for rows in row_blocks(X.shape)
    )


def checked_square(
    path: Path,
    A: Matrix,
    kind: Literal["distances", "similarities", "graph"],
    ids: Sequence[Any] | NDArray[Any] | None = None,
) -> Matrix:
    """Finite, nonnegative, symmetric entries; distances with a zero diagonal."""
    names = range(A.shape[0]) if ids is None else ids
    if A.shape[0] != A.shape[1]:
        raise DataError(
            f"{path}: {kind} need a square table, one row and one column an object, but this one "
            f"has {A.shape[0]:,} rows and {A.shape[1]:,} columns of numbers. Pass --kind table if "
            "its columns are features."
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
            raise DataError(f"{path}: the graph has no edge of positive weight. Add edges.")
    return A


def _check_values(path: Path, A: Matrix, kind: str, names: Any) -> None:
    for wrong, word, remedy in (
        (np.isnan, "missing", "Fill it in, or leave out the object."),
        (np.isinf, "infinite", "Give it a number, or leave out the object."),
        (_negative, "negative", f"{kind.capitalize()} must not be negative: correct the entry."),
    ):
        found = _first(A, wrong)
        if found is not None:
            row, column, value = found
            raise DataError(
                f"{path}: the entry of {_pair(names, row, column)} is {word} ({value:g}). {remedy}"
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
            "0. If large numbers mean alike, these are similarities: pass --kind similarities."
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
            f"{_pair(names, column, row)} has {A[column, row]:g}. If the difference carries no "
            "meaning, save the mean of the matrix and its transpose."
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
