"""Arrays and sparse matrices from files, given the meaning that the user names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import FloatArray, Matrix, is_sparse
from soffit.io._arrays import as_table, read_npy, read_npz, shapes, sparse_table, text_vector
from soffit.io._errors import DataError, check_names, listed, shown
from soffit.io._gaps import fill_gaps
from soffit.io._identifiers import check_unique
from soffit.io._limits import check_bytes
from soffit.io._source import Source, text_array
from soffit.io._square import ask_if_square, checked_square
from soffit.io._table import Choice

_TABLE_NAMES = ("X", "data", "table", "arr_0")
_ID_NAMES = ("ids", "id", "names")
_COLUMN_NAMES = ("columns", "feature_names", "features")


def source_from_npy(path: Path, kind: str, choice: Choice) -> Source:
    """A single array."""
    if choice.id is not None or choice.label is not None:
        raise DataError(
            f"{path}: an .npy file holds one array of numbers, so --id and --label have nothing to "
            "name. Save an .npz file with the arrays X, ids and the labels."
        )
    array, notes = read_npy(path)
    names = [f"column {number}" for number in range(1, array.shape[1] + 1)]
    return matrix_source(path, array, kind, choice, names, notes=notes)


def source_from_npz(path: Path, kind: str, choice: Choice) -> Source:
    """An archive: a table X, a matrix of pairs, a sparse matrix, or edges."""
    arrays = read_npz(path)
    if "edges" in arrays and kind in ("auto", "graph"):
        return _edge_source(path, arrays, choice)
    notes: list[str] = []
    data: Matrix
    if "indptr" in arrays or "format" in arrays:
        data = sparse_table(path, arrays)
    else:
        name, kind = _find_table(path, arrays, kind)
        data, notes = as_table(path, arrays[name], name)
    n, width = data.shape
    given = text_vector(path, arrays, _COLUMN_NAMES, width)
    names = given or [f"column {number}" for number in range(1, width + 1)]
    ids = text_vector(path, arrays, _ID_NAMES if choice.id is None else (choice.id,), n)
    if choice.id is not None:
        check_names(path, [choice.id], list(arrays), "--id")
    truth = None
    if choice.label is not None:
        check_names(path, [choice.label], list(arrays), "--label")
        truth = text_vector(path, arrays, (choice.label,), n)
    return matrix_source(path, data, kind, choice, names, ids=ids, truth=truth, notes=notes)


def matrix_source(
    path: Path,
    data: Matrix,
    kind: str,
    choice: Choice,
    names: list[str],
    *,
    ids: list[str] | None = None,
    truth: list[str] | None = None,
    notes: list[str] | None = None,
) -> Source:
    """A matrix of numbers as the kind that it is said to be."""
    known = None if ids is None else check_unique(path, "ids", ids)
    source = Source(
        "table",
        data,
        ids=known,
        truth=None if truth is None else text_array(truth),
        notes=tuple(notes or ()),
        path=str(path),
    )
    if kind in ("distances", "similarities", "graph"):
        stored = sp.csr_array(data) if kind == "graph" else data
        checked = checked_square(path, stored, kind, known)  # type: ignore[arg-type]
        return replace(source, kind=kind, data=checked)  # type: ignore[arg-type]
    if kind == "auto":
        ask_if_square(path, data, names, known)
    return _table(path, source, data, choice, names)


def _table(path: Path, source: Source, data: Matrix, choice: Choice, names: list[str]) -> Source:
    check_names(path, list(choice.columns or ()), names, "--columns")
    check_names(path, list(choice.drop or ()), names, "--drop")
    dropped = set(choice.drop or ())
    wanted = [name for name in choice.columns or names if name not in dropped]
    if not wanted:
        raise DataError(f"{path}: --drop leaves no column. Keep at least one.")
    if wanted != names:
        place = {name: position for position, name in enumerate(names)}
        data = data[:, [place[name] for name in wanted]]
    source = replace(source, data=data, columns=tuple(wanted))
    if is_sparse(data):
        return source
    filled, kept, said = fill_gaps(path, data, wanted, choice.impute)
    source = replace(source, data=filled, notes=(*source.notes, *said))
    if kept is None:
        return source
    ids = text_array(range(len(data))) if source.ids is None else source.ids
    truth = None if source.truth is None else source.truth[kept]
    return replace(source, ids=ids[kept], truth=truth)


def _find_table(path: Path, arrays: Mapping[str, NDArray[Any]], kind: str) -> tuple[str, str]:
    """Which array is meant; a name that says what it holds settles the kind."""
    if kind == "auto":
        for name in ("distances", "similarities"):
            if name in arrays and not any(other in arrays for other in _TABLE_NAMES):
                return name, name
    elif kind in arrays:
        return kind, kind
    preferred = next((name for name in _TABLE_NAMES if name in arrays), None)
    if preferred is not None:
        return preferred, kind
    tables = [key for key, value in arrays.items() if value.ndim == 2]
    if len(tables) != 1:
        what = "no table" if not tables else f"several tables ({listed(map(shown, tables))})"
        raise DataError(
            f"{path}: it holds {what}; its arrays are {shapes(arrays)}. Save the table under the "
            "name X."
        )
    return tables[0], kind


def _edge_source(path: Path, arrays: Mapping[str, NDArray[Any]], choice: Choice) -> Source:
    """Edges as pairs of node numbers, each undirected edge listed once."""
    edges = arrays["edges"]
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu" or not len(edges):
        raise DataError(
            f"{path}: edges must be pairs of whole numbers, but have the shape {edges.shape} and "
            f"the type {edges.dtype}."
        )
    weights = _edge_weights(path, arrays, len(edges))
    highest = int(edges.max())
    n = int(arrays["n"]) if arrays.get("n", np.zeros(2)).ndim == 0 else highest + 1
    if int(edges.min()) < 0 or highest >= n:
        raise DataError(f"{path}: edges name nodes outside 0 ... {n - 1}. Number them from 0.")
    names = _ID_NAMES if choice.id is None else (choice.id,)
    ids = text_vector(path, arrays, names, n)
    truth = None if choice.label is None else text_vector(path, arrays, (choice.label,), n)
    # Node numbers may be large although there are few: that many row pointers must fit.
    check_bytes(path, 16.0 * n, f"a graph of {n:,} nodes", "Number the nodes from 0 without gaps.")
    one_way = sp.csr_array((weights, (edges[:, 0], edges[:, 1])), shape=(n, n))
    loops = sp.diags_array(one_way.diagonal(), format="csr")
    both = sp.csr_array(one_way + one_way.T - loops)
    return matrix_source(path, both, "graph", choice, [], ids=ids, truth=truth)


def _edge_weights(path: Path, arrays: Mapping[str, NDArray[Any]], n_edges: int) -> FloatArray:
    weights = arrays.get("weights", np.ones(n_edges))
    if weights.shape != (n_edges,) or weights.dtype.kind not in "biuf":
        raise DataError(
            f"{path}: weights must be one number for each of {n_edges:,} edges, but have the shape "
            f"{weights.shape} and the type {weights.dtype}."
        )
    return weights.astype(np.float64)
