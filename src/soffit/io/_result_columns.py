"""A result as columns of a file, and back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit.io._errors import DataError, listed, shown
from soffit.io._result import Result

_SCORES = ("cluster", "certainty", "entropy", "overlap", "instability", "truth")
# Rows of a file that was rounded by another program still count as memberships.
_ROUNDED = 0.02


def to_columns(result: Result) -> dict[str, NDArray[Any]]:
    """Columns in the order in which they are written."""
    ids = np.arange(len(result.memberships)) if result.ids is None else np.asarray(result.ids)
    columns: dict[str, NDArray[Any]] = {_free_name(result): ids}
    columns["cluster"] = result.labels
    columns["certainty"] = result.certainty
    columns["entropy"] = result.entropy
    for name in ("overlap", "instability", "truth"):
        values = getattr(result, name)
        if values is not None:
            columns[name] = np.asarray(values)
    for number in range(result.n_clusters):
        columns[f"p{number}"] = result.memberships[:, number]
    return columns


def _free_name(result: Result) -> str:
    """The name of the identifiers, unless another column has it."""
    taken = result.id_name in _SCORES or re.fullmatch(r"p\d+", result.id_name)
    return "id" if taken or not result.id_name.strip() else result.id_name


def from_columns(path: Path, columns: Mapping[str, Sequence[Any]]) -> Result:
    """A result from the columns of a file; `path` is for messages."""
    names = sorted(
        (name for name in columns if re.fullmatch(r"p\d+", name)), key=lambda name: int(name[1:])
    )
    if not names or names != [f"p{number}" for number in range(len(names))]:
        raise DataError(
            f"{path}: it is no result of soffit: the memberships p0, p1, ... are missing or "
            f"incomplete. Its columns are {listed(map(shown, columns), 12)}."
        )
    memberships = np.column_stack([_numbers(path, name, columns[name]) for name in names])
    _check_memberships(path, memberships)
    optional = {
        name: _numbers(path, name, columns[name])
        for name in ("overlap", "instability")
        if name in columns
    }
    id_name = next((n for n in columns if n not in _SCORES and n not in names), None)
    truth = columns.get("truth")
    return Result.from_memberships(
        memberships,
        ids=None if id_name is None else _identifiers(columns[id_name]),
        id_name=id_name or "id",
        truth=None if truth is None else _texts(truth),
        **optional,
    )


def _numbers(path: Path, name: str, values: Sequence[Any]) -> NDArray[Any]:
    try:
        array = np.asarray(values)
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}: the column {shown(name)} must hold numbers ({error}).") from error


def _check_memberships(path: Path, memberships: NDArray[Any]) -> None:
    if not len(memberships):
        raise DataError(f"{path}: it has no rows.")
    sums = memberships.sum(axis=1)
    # Written so that NaN fails too.
    wrong = np.flatnonzero(
        ~((np.abs(sums - 1) <= _ROUNDED) & (memberships >= 0).all(axis=1) & np.isfinite(sums))
    )
    if wrong.size:
        row = int(wrong[0])
        raise DataError(
            f"{path}: the memberships of row {row + 1:,} are not probabilities that sum to 1 "
            f"(their sum is {sums[row]:g}). Write the result again."
        )


def _identifiers(values: Sequence[Any]) -> NDArray[Any]:
    """Text, or the numbers from 0 if that is all they are."""
    texts = _texts(values)
    n = len(texts)
    numbered = n and texts[0] == "0" and texts[-1] == str(n - 1)
    return np.arange(n) if numbered and texts.tolist() == list(map(str, range(n))) else texts


def _texts(values: Sequence[Any]) -> NDArray[Any]:
    return np.array(["" if value is None else str(value) for value in values], dtype=np.str_)
