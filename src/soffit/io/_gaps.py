"""Missing and infinite values of a table: counted by column, refused or filled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from soffit._threads import row_blocks
from soffit._typing import FloatArray
from soffit.io._errors import DataError, counted, listed, shown

Impute = Literal["median", "mean", "drop"]


def empty_columns(X: FloatArray) -> NDArray[np.bool_]:
    """Which columns have no value at all."""
    empty = np.ones(X.shape[1], dtype=bool)
    for rows in row_blocks(X.shape):
        empty &= np.isnan(X[rows]).all(axis=0)
        if not empty.any():
            break
    return empty


def constant_columns(X: FloatArray) -> NDArray[np.bool_]:
    """Which columns have the same value in every row."""
    constant = np.ones(X.shape[1], dtype=bool)
    for rows in row_blocks(X.shape):
        constant &= (X[rows] == X[0]).all(axis=0)
        if not constant.any():
            break
    return constant


def fill_gaps(
    path: Path, X: FloatArray, names: Sequence[str], impute: Impute | None
) -> tuple[FloatArray, NDArray[np.intp] | None, list[str]]:
    """A table without gaps, the rows kept if some were dropped, and what to say about it.

    Columns that come from one column of the file have its name. X itself is filled where values are
    missing: it was made for this table.
    """
    missing, infinite = _counts(X)
    if not (missing.any() or infinite.any()):
        return X, None, []
    if impute is None:
        raise DataError(_refusal(path, len(X), names, missing, infinite))
    _blank_infinities(X)
    notes = []
    if infinite.any():
        notes.append(f"Infinite values count as missing, in {_by_column(names, infinite)}.")
    gaps = missing + infinite
    if impute == "drop":
        kept = np.concatenate(
            [np.flatnonzero(np.isfinite(X[r]).all(axis=1)) + r.start for r in row_blocks(X.shape)]
        )
        if not len(kept):
            raise DataError(
                f"{path}: every row has a missing value. Fill the gaps (--impute median), or leave "
                f"out the columns that cause them: {_by_column(names, gaps)}."
            )
        dropped = counted(len(X) - len(kept), "row")
        notes.append(f"Left out {dropped} with missing values, in {_by_column(names, gaps)}.")
        return X[kept], kept, notes
    middle = np.nanmedian if impute == "median" else np.nanmean
    for position in np.flatnonzero(gaps):
        column = X[:, position]
        column[np.isnan(column)] = middle(column)
    notes.append(f"Missing values were set to the {impute} in {_by_column(names, gaps)}.")
    return X, None, notes


def _counts(X: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    missing = np.zeros(X.shape[1], dtype=np.intp)
    infinite = np.zeros(X.shape[1], dtype=np.intp)
    for rows in row_blocks(X.shape):
        # One pass in the usual case: a sum is finite only if all of its terms are.
        with np.errstate(invalid="ignore", over="ignore"):
            if np.isfinite(X[rows].sum()):
                continue
        missing += np.isnan(X[rows]).sum(axis=0)
        infinite += np.isinf(X[rows]).sum(axis=0)
    return missing, infinite


def _blank_infinities(X: FloatArray) -> None:
    for rows in row_blocks(X.shape):
        block = X[rows]
        block[np.isinf(block)] = np.nan


def _refusal(
    path: Path,
    n_rows: int,
    names: Sequence[str],
    missing: NDArray[np.intp],
    infinite: NDArray[np.intp],
) -> str:
    parts = []
    if missing.any():
        parts.append(f"values are missing in {_by_column(names, missing)}")
    if infinite.any():
        parts.append(f"values are infinite in {_by_column(names, infinite)}")
    worst = names[int(np.argmax(missing + infinite))]
    return (
        f"{path}: {' and '.join(parts)}, of {counted(n_rows, 'row')}. Fill the gaps with --impute "
        f"median (or mean), leave out these rows with --impute drop, or the column with --drop "
        f"{worst!r}."
    )


def _by_column(names: Sequence[str], counts: NDArray[np.intp]) -> str:
    by_name = {names[position]: counts[position] for position in np.flatnonzero(counts).tolist()}
    return listed(f"{shown(name)} ({count:,})" for name, count in by_name.items())
