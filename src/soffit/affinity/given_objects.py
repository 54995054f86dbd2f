"""Objects as a user holds them: read, standardized, and related by an affinity."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_array

from soffit._kept import remembered
from soffit._matrix_checks import check_magnitude, checked_csr
from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.affinity.abstract import Affinity
from soffit.affinity.distinct import DistinctColumns, copies_of_rows, first_rows
from soffit.affinity.mixed_table import MixedPreparation
from soffit.affinity.neighbor_graph import NeighborGraph
from soffit.affinity.precomputed import CallableAffinity, Precomputed
from soffit.affinity.side_information import SideInformation
from soffit.affinity.similarity import Cosine, Gaussian, Laplacian, RelativeDistance
from soffit.graph import Graph
from soffit.inputs import read_input
from soffit.mixed_columns import Column, MixedTable
from soffit.neighbors.search import Metric

# A column whose spread is this many times that of a usual other column has another unit: it alone
# would decide which objects are neighbours.
_UNEVEN = 10.0
# So does one of three or more columns whose squared range is this many times that of all others
# together: more than nine tenths of the squared distances are its own.
_ALONE = 10.0
# Columns around a common origin, such as principal components, may differ more.
_UNEVEN_AROUND_ZERO = 100.0
# The spread of a column, as far as the rule is concerned, is the range of the values between these
# quantiles: neither outliers nor the few bright pixels at the border of an image count.
_BETWEEN = (0.05, 0.95)
# Rows like texts have at least so many columns, and entries in less than this share of them.
_MANY_COLUMNS = 200
_FEW_ENTRIES = 0.1
# Other sparse tables are stored densely up to this size, half a gigabyte in double precision.
_MOST_CELLS = 2**26
# Lengths of rows, over 5 % to 95 % of them, that differ so much change Euclidean neighbours.
_DIFFERENT_LENGTHS = 2.0
# The name of the metric of mixed tables.
GOWER = "gower"
# Rows summed per thread at a time.
_ROWS = 2**15
# Up to this many entries, quantiles of all columns are computed at once, in one thread.
_SMALL_TABLE = 2**18

# Values of a table that stands for weighted objects, unless they have more themselves; and its rows
# per object, where weights are no ratios of whole numbers.
_MOST_VALUES = 2**24
_COPIES_PER_OBJECT = 32
# From here on numbers in double precision are whole because of rounding.
_NOT_EXACT = 2.0**53

Standardize = Literal["auto"] | bool


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Subtracts means and divides by spreads; None for both changes nothing.

    The spread of a column is its standard deviation, or the range of the middle 90 % of its values
    if a few outliers make the standard deviation larger than that.

    The rule "auto" asks whether columns have different units. It standardizes if the largest of
    these ranges is more than 10 times the median range of the other columns, or if its square is
    more than 10 times the sum of the squares of two or more others. If all of these ranges include
    zero, as those of principal components do, only 100 times the median range counts. Columns with
    a range of zero are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import Standardizer
    >>> metres, kilograms = np.linspace(1.5, 2.0, 50), np.linspace(50.0, 110.0, 50)
    >>> Standardizer.of(np.column_stack([metres, kilograms]), "auto").is_active
    True
    >>> Standardizer.of(np.column_stack([100 * metres, kilograms]), "auto").is_active
    False
    """

    center: FloatArray | None = None
    spread: FloatArray | None = None
    _arrays: ClassVar[dict[str, str]] = {"center": "finite?spread p", "spread": "positive? p"}

    @classmethod
    def of(cls, table: Any, how: Standardize) -> Standardizer:
        """Decide by the rule `how` and store the columns' means and spreads."""
        if how is False or is_sparse(table):
            return cls()
        low, high = _quantiles(table)
        if how == "auto" and not _have_different_units(low, high):
            return cls()
        center, deviation = _moments(table)
        spread = np.where(high > low, np.minimum(deviation, high - low), deviation)
        return cls(center, np.where(spread > 0, spread, 1.0))

    @property
    def is_active(self) -> bool:
        """Whether tables are changed at all."""
        return self.center is not None

    def apply(self, table: Any) -> Any:
        """The table in the common unit, in its own precision."""
        if self.center is None or self.spread is None:
            return table
        if is_sparse(table):
            table = table.toarray()
        return ((table - self.center) / self.spread).astype(table.dtype)


def _have_different_units(low: FloatArray, high: FloatArray) -> bool:
    """Whether one column outweighs a usual other one, given the quantiles of all."""
    varies = high > low
    ranges = (high - low)[varies]
    if len(ranges) < 2:
        return False
    around_zero = np.all((low < 0) & (high > 0) | ~varies)
    largest, usual = outweighing(ranges)
    if around_zero:
        return bool(ranges[largest] > _UNEVEN_AROUND_ZERO * ranges[usual])
    others = np.delete(ranges, largest) / ranges[largest]
    decides_alone = len(others) > 1 and bool(_ALONE * np.sum(others**2) < 1.0)
    return decides_alone or bool(ranges[largest] > _UNEVEN * ranges[usual])


def outweighing(spreads: FloatArray) -> tuple[int, int]:
    """The column of the largest spread, and that of the median spread among the others."""
    order = np.argsort(spreads, kind="stable")
    # Of two middle columns the lower one counts: two in one unit may outweigh a third.
    return int(order[-1]), int(order[(len(order) - 2) // 2])


def _quantiles(table: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The quantiles of the columns between which their ranges are taken, in double precision."""
    if table.size <= _SMALL_TABLE:
        low, high = np.quantile(table.astype(np.float64), _BETWEEN, axis=0)
        return low, high
    columns = range(table.shape[1])
    found = each(lambda j: np.quantile(table[:, j].astype(np.float64), _BETWEEN), columns)
    low, high = np.array(found).reshape(-1, 2).T
    return low, high


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
    """The constructor parameters of a model that concern affinities.

    Examples
    --------
    >>> from soffit.affinity import Settings
    >>> Settings(n_neighbors=5).keep
    'mutual'
    """

    metric: Metric = "euclidean"
    n_neighbors: int = 15
    keep: Literal["mutual", "union"] = "mutual"
    weights: Literal["overlap", "local", "binary"] = "overlap"
    c: float = 1.0
    relative_neighbor: int = 10
    standardize: Standardize = "auto"
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
    """An unfitted affinity: by name, from a function of two tables, or a clone.

    Parameters
    ----------
    affinity : str, callable or Affinity
        One of `AFFINITIES`, a function of two tables, or an affinity.
    settings : Settings
        What the named ones take from the model.

    Returns
    -------
    Affinity
        Not fitted.

    Examples
    --------
    >>> from soffit.affinity import Settings, make_affinity
    >>> make_affinity("nearest_neighbors", Settings(n_neighbors=5)).n_neighbors
    5
    """
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
    """Checked objects to cluster, with the affinity to compute from them."""

    table: Any  # Features, or the affinities or distances between all objects if `is_matrix`.
    # Whether the rows hold affinities or distances to all objects rather than features.
    is_matrix: bool
    builder: Affinity | None  # The affinity, not fitted; None if a model does not measure pairs.
    names: NDArray[Any] | None = None  # (n,): names of the objects, if the input has any.
    # (d,): names of the columns, if the input has them apart from the table.
    columns: NDArray[Any] | None = None
    # What the columns hold, for ``metric="gower"``: the table then has codes and gaps.
    kinds: tuple[Column, ...] | None = None
    # The table of all objects, if these are the distinct ones: their columns are scaled like its.
    whole: Any = None
    weights: FloatArray | None = None  # Of the rows by which the columns are scaled; None if equal.
    standardize: Standardize = False  # Whether to scale the columns of the table to a common unit.

    @property
    def n_objects(self) -> int:
        """Number of rows of the table."""
        return int(self.table.shape[0])

    @cached_property
    def preparation(self) -> Preparation:
        """How the table is scaled: mixed tables always, matrices never."""
        how = self.standardize
        is_mixed = self.kinds is not None
        ignored = how == "auto" and not _subtracts_columns(self.builder)
        if not is_mixed and (self.is_matrix or ignored or how is False or is_sparse(self.table)):
            return Standardizer()
        table = self.table if self.whole is None else self.whole
        if self.weights is not None:
            table = table[_as_copies(self.weights, table.shape[1])]
        if self.kinds is not None:
            return MixedPreparation.of(table, self.kinds)
        return Standardizer.of(table, how)

    def copies(self) -> IntArray | None:
        """The number of the distinct object that each one equals; None if all differ.

        Equal rows are equal objects only if affinities are computed from them.
        """
        if self.builder is None or not self.builder._of_rows:
            return None
        # Sparse distances are known for some pairs only. A matrix that is none is refused later.
        if self.is_matrix and (is_sparse(self.table) or self.table.shape[0] != self.table.shape[1]):
            return None
        return copies_of_rows(self.table)

    def distinct(self, copies: IntArray) -> Objects:
        """The first object of each kind of copies; the units stay those of all objects."""
        return replace(self.inside(first_rows(copies)), whole=self.table, weights=self.weights)

    def inside(self, kept: IntArray) -> Objects:
        """Some of the objects, as if there were no others; their columns have the same units."""
        table, whole = self.table[kept], self.preparation
        return Objects(
            table[:, kept] if self.is_matrix else table,
            self.is_matrix,
            self.builder,
            kinds=self.kinds,
            standardize=isinstance(whole, Standardizer) and whole.is_active,
        )

    def outside(self, left: IntArray, kept: IntArray) -> Any:
        """The rows of the objects left out, as new objects for a fit to those kept."""
        table = self.table[left]
        return table[:, kept] if self.is_matrix else table

    def affinities(
        self, n_clusters: int | None = None, weights: FloatArray | None = None
    ) -> Affinities:
        """The affinities of all pairs, of standardized columns if requested.

        The builder is copied, because it may be used several times.

        `n_clusters`: the number of clusters, if it is known.
        `weights` (n,): weights of the objects, 1 on average.
        """
        builder = self.builder
        assert builder is not None
        inputs = (
            *(self.table, self.whole, self.weights, self.kinds, self.is_matrix, self.standardize),
            *(type(builder), builder.get_params(), n_clusters, weights),
        )
        return remembered(
            "affinities", self.n_objects, inputs, lambda: self._affinities(n_clusters, weights)
        )

    def _affinities(self, n_clusters: int | None, weights: FloatArray | None) -> Affinities:
        builder: Any = copy(self.builder)
        if isinstance(self.preparation, MixedPreparation):
            builder.metric = self.preparation.distance
        table = self.preparation.apply(self.table)
        affinity = builder.fit_for(table, n_clusters)
        if weights is None:
            return Affinities(affinity, self.preparation, table, affinity.matrix_)
        masses = affinity.masses(weights)
        A = Graph.of(affinity.matrix_).scaled(masses, masses).matrix
        return Affinities(affinity, self.preparation, table, A, weights=weights, masses=masses)


def _as_copies(weights: FloatArray, n_columns: int) -> IntArray:
    """Rows of a table in which each object occurs as often as it weighs, or nearly so."""
    n = len(weights)
    most = max(n, _MOST_VALUES // n_columns)
    if weights.max() < _NOT_EXACT and np.array_equal(np.rint(weights), weights):
        counts = weights.astype(np.int64)
        counts //= np.gcd.reduce(counts)
        if counts.sum(dtype=np.float64) <= most:
            return np.repeat(np.arange(n), counts)
    # Evenly spaced along the sum of the weights; by the largest first, because it may overflow.
    ends = np.cumsum(weights / weights.max())
    total = min(_COPIES_PER_OBJECT * n, most)
    return np.searchsorted(ends, (np.arange(total) + 0.5) * (ends[-1] / total))


# Distances made of the differences of columns, in which a column of large numbers outweighs others.
_OF_DIFFERENCES = frozenset(
    ("euclidean", "sqeuclidean", "l2", "manhattan", "cityblock", "l1", "chebyshev", "minkowski")
)


def _subtracts_columns(builder: Affinity | None) -> bool:
    """Whether units matter: not to cosines, nor to what a function of the user's measures."""
    metric = getattr(builder, "metric", None)
    return builder is None or (isinstance(metric, str) and metric in _OF_DIFFERENCES)


@dataclass(frozen=True, eq=False)
class Affinities:
    """Affinities of all pairs of objects, with constraints on pairs."""

    affinity: Affinity  # Fitted.
    preparation: Preparation | DistinctColumns  # Preprocessing of the table.
    table: Any  # The table after preprocessing.
    A: Matrix  # (n, n): the affinities of the objects with their weights.
    side: SideInformation | None = None  # Pairs known to belong together or apart.
    pair_weight: Matrix | None = None  # Pair weights.
    # (n,): weights of the objects, 1 on average; None if all are equal.
    weights: FloatArray | None = None
    # (n,): what the weights multiply affinities by; see `Affinity.masses`.
    masses: FloatArray | None = None


def read_objects(
    X: Any, *, affinity: Any, settings: Settings, check: Check | None = None
) -> Objects:
    """Read a table, a matrix or a graph.

    `X`: as for the `fit` of the models.
    `affinity`: the affinity of tables and matrices; a graph is its own affinity.
    `settings`: parameters of affinities selected by name.
    `check`: turns the data into a checked array or CSR matrix; by default scikit-learn's
        `check_array`. With `gaps=True` it accepts missing values.
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
    if isinstance(builder, NeighborGraph) and not is_matrix and is_like_text(table):
        builder = _for_texts(affinity, builder, table)
    elif not is_matrix and not isinstance(builder, CallableAffinity):
        table = _stored_densely(table)
    how = settings.standardize
    return Objects(table, is_matrix, builder, given.names, given.columns, standardize=how)


def is_like_text(table: Any) -> bool:
    """Whether the rows of a sparse table are like texts: many columns, of which each has few."""
    if not is_sparse(table):
        return False
    n, p = table.shape
    return bool(p >= _MANY_COLUMNS and table.count_nonzero() < _FEW_ENTRIES * n * p)


def _stored_densely(table: Any) -> Any:
    """A sparse table as an array, so that its storage does not change what is found.

    Texts and very large tables stay sparse.
    """
    is_kept = not is_sparse(table) or is_like_text(table)
    return table if is_kept or table.shape[0] * table.shape[1] > _MOST_CELLS else table.toarray()


def _for_texts(affinity: Any, builder: NeighborGraph, table: Any) -> NeighborGraph:
    """A neighbour graph for texts; one that the user has made stays as it is.

    Few texts list most of the others as neighbours, so that lists are seldom mutual: a graph of
    mutual neighbours falls apart.
    """
    if isinstance(affinity, Affinity):
        return builder
    if builder.metric in ("euclidean", "l2") and _lengths_differ(table):
        warnings.warn(
            "X is like counts of words: each row has few of the many columns, and the lengths of "
            "the rows differ, so that long and short rows are far apart whatever they hold. Pass "
            "metric='cosine', or weighted rows of equal length "
            "(sklearn.feature_extraction.text.TfidfTransformer).",
            UserWarning,
            stacklevel=7,
        )
    builder.keep = "union"
    return builder


def _lengths_differ(table: Any) -> bool:
    squares = np.asarray(table.multiply(table).sum(axis=1), dtype=np.float64)
    lengths = np.sqrt(squares.ravel())
    lengths = lengths[lengths > 0]
    if len(lengths) < 2:
        return False
    low, high = np.quantile(lengths, _BETWEEN)
    return bool(high > _DIFFERENT_LENGTHS * low)


def is_gower(builder: Affinity) -> bool:
    """Whether an affinity compares rows of numbers, categories and gaps."""
    metric = getattr(builder, "metric", None)
    return isinstance(metric, str) and metric == GOWER


def column_names(mixed: MixedTable) -> NDArray[Any] | None:
    """The names of the columns, if they have any."""
    if not mixed.has_names:
        return None
    return np.array([column.name for column in mixed.columns], dtype=object)


def takes_matrix(affinity: Any, metric: Any) -> bool:
    """Whether these parameters declare the input a matrix of similarities or distances."""
    if isinstance(affinity, Precomputed):
        return True
    return any(isinstance(value, str) and value == "precomputed" for value in (affinity, metric))


def is_matrix_affinity(affinity: Affinity) -> bool:
    """Whether the objects of a fitted affinity are rows of similarities or distances."""
    return takes_matrix(affinity, getattr(affinity, "metric", None))


def as_table(data: Any, check: Check, *, new: bool = False) -> Any:
    """Data as an array or a `csr_array`: the one door of features, matrices and graphs.

    `data`: from `read_input`.
    `check`: turns the data into a finite array or sparse matrix in single or double precision.
    `new`: whether these are new objects, which need not differ from each other.
    """
    if sp.issparse(data):
        data = checked_csr(data, what="X")
    table = check(data)
    table = sp.csr_array(table) if sp.issparse(table) else table
    check_magnitude(table, what="X", differences=not new)
    return table


def _checked(data: Any, *, gaps: bool = False) -> Any:
    return check_array(
        data,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan" if gaps else True,
    )
