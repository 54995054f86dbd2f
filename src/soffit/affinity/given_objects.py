"""Objects as a user holds them: read, standardized, and related by an affinity."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.affinity.abstract import Affinity
from soffit.affinity.mixed_table import MixedPreparation
from soffit.affinity.neighbor_graph import NeighborGraph
from soffit.affinity.precomputed import CallableAffinity, Precomputed
from soffit.affinity.side_information import SideInformation
from soffit.affinity.similarity import Cosine, Gaussian, Laplacian, RelativeDistance
from soffit.graph import Graph
from soffit.inputs import read_input
from soffit.mixed_columns import Column, MixedTable
from soffit.neighbors.mixed.mixed_distance import MixedDistance
from soffit.neighbors.search import Metric

# Largest over median standard deviation beyond which "auto" standardizes. The median and not the
# smallest: nearly constant columns (the border of an image) must not trigger it.
_UNEVEN = 20.0
# The name of the metric of mixed tables.
GOWER = "gower"
# Rows summed per thread at a time.
_ROWS = 2**15


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Subtracts means and divides by standard deviations; None for both changes nothing."""

    center: FloatArray | None
    spread: FloatArray | None
    _arrays: ClassVar[dict[str, str]] = {"center": "float? p", "spread": "float? p"}

    @classmethod
    def of(cls, table: Any, how: Literal["auto"] | bool) -> Standardizer:
        """Decide by the rule `how` and store the columns' means and standard deviations."""
        if how is False or is_sparse(table):
            return cls(None, None)
        center, spread = _moments(table)
        varying = spread[spread > 0]
        uneven = len(varying) > 0 and varying.max() > _UNEVEN * np.median(varying)
        if how == "auto" and not uneven:
            return cls(None, None)
        return cls(center, np.where(spread > 0, spread, 1.0))

    def apply(self, table: Any) -> Any:
        """The table in the common unit, in its own precision."""
        if self.center is None or self.spread is None:
            return table
        return ((table - self.center) / self.spread).astype(table.dtype)


def _moments(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and standard deviations of the columns; sums in double precision, piece by piece."""
    parts = [table[part.start : part.stop] for part in pieces(len(table), _ROWS)]
    sums = each(lambda part: part.sum(axis=0, dtype=np.float64), parts)
    center = np.sum(sums, axis=0) / len(table)
    squares = each(lambda part: ((part - center) ** 2).sum(axis=0), parts)
    return center, np.sqrt(np.sum(squares, axis=0) / len(table))


Preparation = Standardizer | MixedPreparation


@dataclass(frozen=True)
class Settings:
    """The constructor parameters of a model that concern affinities."""

    metric: Metric = "euclidean"
    n_neighbors: int = 15
    keep: Literal["mutual", "union"] = "mutual"
    weights: Literal["overlap", "local", "binary"] = "overlap"
    c: float = 1.0
    relative_neighbor: int = 10
    n_jobs: int | None = None


AFFINITIES: dict[str, Callable[[Settings], Affinity]] = {
    "nearest_neighbors": lambda s: NeighborGraph(
        n_neighbors=s.n_neighbors,
        metric=s.metric,
        keep=s.keep,
        weights=s.weights,
        n_jobs=s.n_jobs,
    ),
    "relative": lambda s: RelativeDistance(
        metric=s.metric, c=s.c, neighbor=s.relative_neighbor, n_jobs=s.n_jobs
    ),
    "rbf": lambda s: Gaussian(metric=s.metric, neighbor=s.n_neighbors, n_jobs=s.n_jobs),
    "laplacian": lambda s: Laplacian(metric=s.metric, neighbor=s.n_neighbors, n_jobs=s.n_jobs),
    "cosine": lambda s: Cosine(),
    "precomputed": lambda s: Precomputed(),
}


def make_affinity(affinity: Any, settings: Settings) -> Affinity:
    """An unfitted affinity: by name, from a function of two tables, or a clone."""
    if isinstance(affinity, Affinity):
        fresh: Affinity = clone(affinity)
        return fresh
    if callable(affinity):
        return CallableAffinity(affinity)
    if not isinstance(affinity, str) or affinity not in AFFINITIES:
        raise ValueError(
            f"affinity={affinity!r} is unknown. Choose one of {sorted(AFFINITIES)}, pass a "
            "function of two tables that returns their similarities, or an object of "
            "soffit.affinity."
        )
    return AFFINITIES[affinity](settings)


Check = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Objects:
    """Checked objects to cluster, with the affinity to compute from them.

    Parameters
    ----------
    table : ndarray or csr_array
        Features, or the affinities or distances between all objects if `is_matrix`.
    is_matrix : bool
        Whether the rows hold affinities or distances to all objects rather than features.
    builder : Affinity or None
        The affinity, not fitted; None if a model does not measure pairs.
    names : ndarray of shape (n,) or None
        Names of the objects, if the input has any.
    columns : ndarray of shape (d,) or None
        Names of the columns, if the input has them apart from the table.
    kinds : tuple of Column or None
        What the columns hold, for ``metric="gower"``: the table then has codes and gaps.
    whole : ndarray or csr_array, optional
        The table of all objects, if these are the distinct ones: their columns are standardized by
        its moments.
    """

    table: Any
    is_matrix: bool
    builder: Affinity | None
    names: NDArray[Any] | None = None
    columns: NDArray[Any] | None = None
    kinds: tuple[Column, ...] | None = None
    whole: Any = None

    @property
    def n_objects(self) -> int:
        """Number of rows of the table."""
        return int(self.table.shape[0])

    def inside(self, kept: IntArray) -> Objects:
        """Some of the objects, as if there were no others."""
        table = self.table[kept]
        table = table[:, kept] if self.is_matrix else table
        return Objects(table, self.is_matrix, self.builder, kinds=self.kinds)

    def outside(self, left: IntArray, kept: IntArray) -> Any:
        """The rows of the objects left out, as new objects for a fit to those kept."""
        table = self.table[left]
        return table[:, kept] if self.is_matrix else table

    def affinities(
        self,
        standardize: Literal["auto"] | bool,
        n_clusters: int | None = None,
        weights: FloatArray | None = None,
    ) -> Affinities:
        """The affinities of all pairs, of standardized columns if requested.

        Matrices are left unchanged; mixed tables are always scaled. The builder is copied, because
        it may be used several times.

        Parameters
        ----------
        standardize : {"auto", True, False}
            Whether to scale the columns of a table to a common unit.
        n_clusters : int, optional
            The number of clusters, if it is known.
        weights : array of shape (n,), optional
            Weights of the objects, 1 on average.
        """
        assert self.builder is not None
        builder: Any = copy(self.builder)
        whole = self.table if self.whole is None else self.whole
        preparation: Preparation
        if self.kinds is not None:
            preparation = MixedPreparation.of(whole, self.kinds)
            builder.metric = preparation.distance
        else:
            is_prepared = isinstance(getattr(builder, "metric", None), MixedDistance)
            as_it_is = self.is_matrix or is_prepared
            preparation = Standardizer.of(whole, False if as_it_is else standardize)
        table = preparation.apply(self.table)
        affinity = builder.fit_for(table, n_clusters)
        if weights is None:
            return Affinities(affinity, preparation, table, affinity.matrix_)
        masses = affinity.masses(weights)
        A = Graph.of(affinity.matrix_).scaled(masses, masses).matrix
        return Affinities(affinity, preparation, table, A, weights=weights, masses=masses)


@dataclass(frozen=True, eq=False)
class Affinities:
    """Affinities of all pairs of objects, with constraints on pairs.

    Parameters
    ----------
    affinity : Affinity
        Fitted.
    preparation : Standardizer or MixedPreparation
        Preprocessing of the table.
    table : ndarray or csr_array
        The table after preprocessing.
    A : ndarray or csr_array of shape (n, n)
        The affinities of the objects with their weights.
    side : SideInformation, optional
        Pairs known to belong together or apart.
    pair_weight : ndarray or csr_array, optional
        Pair weights.
    weights : array of shape (n,), optional
        Weights of the objects, 1 on average; None if all are equal.
    masses : array of shape (n,), optional
        What the weights multiply affinities by; see `Affinity.masses`.
    """

    affinity: Affinity
    preparation: Preparation
    table: Any
    A: Matrix
    side: SideInformation | None = None
    pair_weight: Matrix | None = None
    weights: FloatArray | None = None
    masses: FloatArray | None = None


def read_objects(
    X: Any, *, affinity: Any, settings: Settings, check: Check | None = None
) -> Objects:
    """Read a table, a matrix or a graph.

    Parameters
    ----------
    X : table, matrix or graph
        As for the `fit` of the models.
    affinity : str, callable or Affinity
        The affinity of tables and matrices; a graph is its own affinity.
    settings : Settings
        Parameters of affinities selected by name.
    check : callable, optional
        Turns the data into a checked array or CSR matrix; by default scikit-learn's `check_array`.
        With `gaps=True` it accepts missing values.
    """
    builder = make_affinity(affinity, settings)
    if is_gower(builder):
        mixed = MixedTable.of(X)
        table = (check or _checked)(mixed.values, gaps=True)
        columns = column_names(mixed)
        return Objects(table, False, builder, mixed.names, columns, mixed.columns)
    given = read_input(X)
    if given.kind == "graph":
        builder = Precomputed()
    table = as_table(given.data, check or _checked)
    is_matrix = takes_matrix(builder, settings.metric)
    return Objects(table, is_matrix, builder, given.names, given.columns)


def is_gower(builder: Affinity) -> bool:
    """Whether an affinity compares rows of numbers, categories and gaps."""
    metric = getattr(builder, "metric", None)
    return isinstance(metric, str) and metric == GOWER


def column_names(mixed: MixedTable) -> NDArray[Any] | None:
    """The names of the columns, if they have any."""
    if not mixed.has_names:
        return None
    return np.array([column.name for column in mixed.columns], dtype=object)


def takes_matrix(builder: Affinity, metric: Any) -> bool:
    """Whether an affinity reads similarities or distances between all objects, not features."""
    return isinstance(builder, Precomputed) or (isinstance(metric, str) and metric == "precomputed")


def is_matrix_affinity(affinity: Affinity) -> bool:
    """Whether the objects of a fitted affinity are rows of similarities or distances."""
    return takes_matrix(affinity, getattr(affinity, "metric", None))


def as_table(data: Any, check: Check) -> Any:
    """Checked data as an array or a `csr_array`."""
    table = check(data)
    return sp.csr_array(table) if sp.issparse(table) else table


def _checked(data: Any, *, gaps: bool = False) -> Any:
    return check_array(
        data,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan" if gaps else True,
    )
