"""A tabular file as a square matrix over pairs of objects, with or without names."""

from __future__ import annotations

from typing import Any, Literal

import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import Matrix
from soffit.io.data_error import DataError, listed, shown
from soffit.io.source import Source, text_array
from soffit.io.square_matrix import checked_square
from soffit.io.table import Choice, check_choice, checked_ids, looks_like_identifier
from soffit.io.tabular import Rows, collect

MatrixKind = Literal["distances", "similarities", "graph"]


def read_matrix(rows: Rows, choice: Choice, kind: MatrixKind) -> Source:
    """A square table of numbers; names come from a column, from the header, or from both."""
    check_choice(rows, choice)
    if choice.columns is not None:
        raise DataError(
            f"{rows.path}: --columns chooses features, which {kind} do not have. Leave it out."
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
            f"{rows.path}: {kind} are numbers, but the columns {listed(map(shown, wrong))} hold "
            "something else. Leave them out with --drop, or pass --id for the column of names."
        )


def _agreed_names(
    rows: Rows, ids: NDArray[Any] | None, entries: list[str], n_rows: int, notes: list[str]
) -> NDArray[Any] | None:
    """Names down the side and across the top must not contradict one another."""
    if not rows.has_header or len(entries) != n_rows:
        return ids
    across = [name.strip() for name in entries]
    if ids is None:
        return text_array(across)
    down = [str(name) for name in ids]
    if down != across and sorted(down) == sorted(across):
        at = next(i for i, (a, b) in enumerate(zip(down, across, strict=True)) if a != b)
        raise DataError(
            f"{rows.path}: rows and columns come in different orders: number {at + 1} is "
            f"{shown(down[at])} down the side and {shown(across[at])} across the top. Sort one of "
            "them like the other."
        )
    if down != across:
        notes.append("Names across the top differ from those down the side, which were used.")
    return ids
