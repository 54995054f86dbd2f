"""Where objects lie on a map of two dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soffit._typing import FloatArray, Matrix, is_sparse
from soffit.figures._graph_map import graph_map
from soffit.figures._membership_map import membership_map
from soffit.figures._model import read_shown
from soffit.figures._principal import principal_components
from soffit.inputs import read_input

# The links of more objects than this take too long for a picture; their memberships do not.
_LARGEST_GRAPH = 20_000


@dataclass(frozen=True, eq=False)
class Placement:
    """Points of the objects and the names of the two axes, None where they mean nothing."""

    points: FloatArray
    axes: tuple[str, str] | None
    note: str


def embedding(model: Any, X: Any = None) -> FloatArray:
    """Place the objects on a map of two dimensions.

    A table of two columns is its own map. Of a table with more columns, the two directions of
    largest variance are taken, after the same standardization as the model's. Without a table,
    the objects are placed by the links of the model's graph, linked ones near each other; and
    where there is none, as for stored results, or more than 20,000 objects, by their memberships:
    clusters on a circle, objects between the clusters they share in.

    Parameters
    ----------
    model : fitted model, result or array of shape (n, k)
        Memberships of the objects.
    X : table of shape (n, p), optional
        Features of the objects. Not needed for graphs and precomputed matrices.

    Returns
    -------
    ndarray of shape (n, 2)
        Float64. The same for every call.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.figures import embedding
    >>> memberships = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> table = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]])
    >>> embedding(memberships, table).round(2).tolist()
    [[-3.74, 0.0], [0.0, 0.0], [3.74, 0.0]]
    """
    return place(model, X).points


def place(model: Any, X: Any = None) -> Placement:
    """Points, axes and how they came about."""
    shown = read_shown(model)
    table, columns = _table_of(model, X)
    if table is not None:
        if table.shape[0] != shown.n_objects:
            raise ValueError(
                f"X has {table.shape[0]} rows but the model has {shown.n_objects} objects; pass "
                "the table that the model was fitted to."
            )
        return _place_table(model, table, columns)
    A = getattr(model, "affinity_matrix_", None)
    if A is not None and A.shape[0] <= _LARGEST_GRAPH:
        return Placement(graph_map(A, shown.memberships), None, "placed by links")
    return Placement(membership_map(shown.memberships), None, "placed by memberships")


def _table_of(model: Any, X: Any) -> tuple[Matrix | None, list[str] | None]:
    """The features in X, if X holds any, and the names of its columns, if these have any."""
    if X is None:
        return None, None
    given = read_input(X)
    square = (
        len(getattr(given.data, "shape", ())) == 2 and given.data.shape[0] == given.data.shape[1]
    )
    precomputed = "precomputed" in (
        getattr(model, "affinity", None),
        getattr(model, "metric", None),
    )
    if given.kind == "graph" or (precomputed and square):
        return None, None
    columns = getattr(X, "columns", None)
    table = given.data if is_sparse(given.data) else np.asarray(given.data)
    if table.ndim != 2:
        raise ValueError(f"X must be a table with one row an object, got shape {table.shape}.")
    if not is_sparse(table):
        table = np.asarray(table, dtype=np.float64)
    if not np.isfinite(table.data if is_sparse(table) else table).all():
        raise ValueError("X has missing or infinite values; fill them as for the fit.")
    return table, None if columns is None else [str(name) for name in columns]


def _place_table(model: Any, table: Matrix, columns: list[str] | None) -> Placement:
    width = table.shape[1]
    names = columns if columns is not None else [f"column {i}" for i in range(width)]
    if width == 2:
        dense = table.toarray() if is_sparse(table) else table
        return Placement(np.array(dense, dtype=np.float64), (names[0], names[1]), "")
    if width == 1:
        # Points of one line are spread out evenly across it; the second axis has no meaning.
        dense = table.toarray() if is_sparse(table) else table
        spread = (np.arange(len(dense)) * 0.6180339887498949) % 1.0
        return Placement(np.column_stack([dense[:, 0], spread]), (names[0], "spread"), "")
    standardizer = getattr(model, "_standardizer", None)
    if standardizer is not None and len(np.atleast_1d(standardizer.center)) == width:
        table = standardizer.apply(table)
    points = principal_components(table)
    axes = ("first principal component", "second principal component")
    return Placement(points, axes, f"placed by {width:,} columns")
