"""What a report is about: a fitted model, or a result read from a file, in one form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.affinity import Precomputed
from soffit.inputs import read_input
from soffit.memberships import entropy

# A membership from here on is a clear one; below the second number an object lies between clusters.
CLEAR = 0.8
BETWEEN = 0.6


@dataclass(frozen=True, eq=False)
class Subject:
    """Memberships with all that is known about their objects, columns and origin."""

    model: Any  # the fitted estimator; None for a result read from a file
    source: Any  # the io.Source; None if the data were not read by soffit
    kind: str | None  # "table", "graph", "distances", "similarities", or None if not known
    memberships: FloatArray
    entropy: FloatArray
    overlap: FloatArray | None
    instability: FloatArray | None
    noun: str  # what a column of the memberships is called
    names: tuple[str, ...]  # the columns of the memberships
    ids: tuple[str, ...] | None
    id_name: str
    truth: NDArray[np.str_] | None  # empty where an object's label is not known
    table: Matrix | None
    columns: tuple[str, ...]

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return len(self.memberships)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.memberships.shape[1]

    @property
    def labels(self) -> IntArray:
        """The likeliest cluster of each object."""
        return self.memberships.argmax(axis=1)

    @property
    def certainty(self) -> FloatArray:
        """The membership in that cluster."""
        return np.asarray(self.memberships.max(axis=1))

    @property
    def sizes(self) -> IntArray:
        """Number of objects whose likeliest cluster is each one."""
        return np.bincount(self.labels, minlength=self.n_clusters)

    @property
    def affinities(self) -> Matrix | None:
        """The similarities that were clustered, where the model has kept them."""
        A: Matrix | None = getattr(self.model, "affinity_matrix_", None)
        return A if A is not None and A.shape[0] == self.n_objects else None

    @property
    def has_given_links(self) -> bool:
        """Whether the similarities came with the data, rather than from distances."""
        return isinstance(getattr(self.model, "_affinity", None), Precomputed)

    @property
    def plural(self) -> str:
        """What several columns of the memberships are called."""
        return self.noun + ("es" if self.noun.endswith("s") else "s")

    def id_of(self, position: int) -> str:
        """What to call an object."""
        return str(position) if self.ids is None else self.ids[position]

    def cluster(self, position: int) -> str:
        """What to call a cluster inside a sentence."""
        return f"{self.noun} {self.names[position]}"


def read_subject(
    model: Any,
    *,
    source: Any = None,
    X: Any = None,
    columns: Any = None,
    ids: Any = None,
    truth: Any = None,
) -> Subject:
    """Bring together what was given; nearer knowledge wins over what a file or model says."""
    memberships = _memberships(model)
    n = len(memberships)
    is_estimator = isinstance(model, BaseEstimator)
    classes = getattr(model, "classes_", None) if is_estimator else None
    given = None if X is None else read_input(X)
    table, found_columns = _table(model, source, given)
    if table is not None and table.shape[0] != n:
        raise ValueError(
            f"X has {table.shape[0]} rows, but the model was fitted to {n} objects. Pass the "
            "table that it was fitted to."
        )
    found_ids = _first(
        ids,
        getattr(source, "ids", None),
        getattr(model, "ids", None),
        getattr(model, "object_names_", None),
        None if given is None else given.names,
    )
    found_truth = _first(truth, getattr(source, "truth", None), getattr(model, "truth", None))
    return Subject(
        model=model if is_estimator else None,
        source=source,
        kind=_kind(model, source, given, table),
        memberships=memberships,
        entropy=np.asarray(entropy(memberships), dtype=np.float64),
        overlap=_part(model, "overlap", n),
        instability=_part(model, "instability", n),
        noun="cluster" if classes is None else "class",
        names=tuple(map(str, range(memberships.shape[1]) if classes is None else classes)),
        ids=_ids(found_ids, n),
        id_name=str(
            _first(getattr(source, "id_name", None), getattr(model, "id_name", None), "id")
        ),
        truth=_truth(found_truth, n),
        table=table,
        columns=_column_names(columns, found_columns, table),
    )


def _memberships(model: Any) -> FloatArray:
    for attribute in ("memberships_", "label_distributions_", "memberships"):
        found = getattr(model, attribute, None)
        if found is not None:
            return np.asarray(found, dtype=np.float64)
    if isinstance(model, BaseEstimator):
        raise NotFittedError(
            f"This {type(model).__name__} is not fitted yet. Call fit before writing a report."
        )
    raise TypeError(
        f"model must be a fitted model or a result with memberships, got {type(model).__name__}. "
        "Pass the model, or what soffit.io.read_result returns."
    )


def _part(model: Any, what: str, n: int) -> FloatArray | None:
    found = _first(getattr(model, what + "_", None), getattr(model, what, None))
    values = None if found is None else np.asarray(found, dtype=np.float64)
    return values if values is not None and values.shape == (n,) else None


def _first(*candidates: Any) -> Any:
    return next((candidate for candidate in candidates if candidate is not None), None)


# --- objects --------------------------------------------------------------------------------------


def _ids(ids: Any, n: int) -> tuple[str, ...] | None:
    if ids is None:
        return None
    found = tuple(str(item) for item in ids)
    if len(found) != n:
        raise ValueError(f"ids has {len(found)} entries for {n} objects. Pass one for each object.")
    # Numbers that only count the objects are no names.
    return None if all(item == str(number) for number, item in enumerate(found)) else found


def _truth(truth: Any, n: int) -> NDArray[np.str_] | None:
    if truth is None:
        return None
    found = np.array(["" if _is_missing(value) else str(value) for value in truth], dtype=np.str_)
    if len(found) != n:
        raise ValueError(
            f"truth has {len(found)} labels for {n} objects. Pass one for each object."
        )
    return found if (found != "").any() else None


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


# --- columns --------------------------------------------------------------------------------------


def _table(model: Any, source: Any, given: Any) -> tuple[Matrix | None, Sequence[str] | None]:
    """The features, if there are any, and their names as far as they are known."""
    if given is not None:
        if given.kind != "table" or _takes_matrix(model):
            return None, None
        named = getattr(given.data, "columns", None)
        if named is None:
            named = getattr(model, "feature_names_in_", None)
        return _as_numbers(given.data), None if named is None else [str(item) for item in named]
    if getattr(source, "kind", None) == "table" and source.data is not None:
        return _as_numbers(source.data), source.columns
    return None, None


def _kind(model: Any, source: Any, given: Any, table: Matrix | None) -> str | None:
    if source is not None:
        return str(source.kind)
    if table is not None:
        return "table"
    is_graph = isinstance(getattr(model, "_affinity", None), Precomputed) and not _takes_matrix(
        model
    )
    return "graph" if is_graph or (given is not None and given.kind == "graph") else None


def _takes_matrix(model: Any) -> bool:
    parameters = (getattr(model, "affinity", None), getattr(model, "metric", None))
    return any(isinstance(value, str) and value == "precomputed" for value in parameters)


def _as_numbers(data: Any) -> Matrix:
    table = sp.csr_array(data) if is_sparse(data) else np.asarray(data, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"X must be a table with rows and columns, got shape {table.shape}.")
    values = table.data if is_sparse(table) else table
    if not np.isfinite(np.asarray(values)).all():
        raise ValueError(
            "X has missing or infinite values. Pass the table the model was fitted to."
        )
    return table


def _column_names(given: Any, found: Sequence[str] | None, table: Matrix | None) -> tuple[str, ...]:
    if table is None:
        return ()
    width = table.shape[1]
    if given is not None:
        names = tuple(str(item) for item in given)
        if len(names) != width:
            raise ValueError(
                f"columns has {len(names)} names for {width} columns of X. Pass one for each."
            )
        return names
    if found is not None and len(found) == width:
        return tuple(found)
    return tuple(f"column {number}" for number in range(width))
