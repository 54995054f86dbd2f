"""Nearest neighbours, in an order that does not depend on the number of threads.

Exact up to some thousand objects and in few dimensions; approximate above, with the recall
estimated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp

from soffit._compile import interrupts_held
from soffit._threads import each, n_threads, pieces
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.graph import row_numbers
from soffit.neighbors.approximate import NeighborIndex
from soffit.neighbors.mixed.mixed_distance import MixedDistance, MixedSearch, n_candidates
from soffit.neighbors.sparse import sparse_neighbors

# Below this many columns a k-d tree beats comparing all pairs.
_TREE_COLUMNS = 8
# Rows for which a thread searches the tree at a time.
_TREE_ROWS = 2**8
# Rows compared at once by brute force: large enough for BLAS, small enough for the cache.
_CHUNK = 64
# From so many columns on, products take most of the time: those of so many rows with as many others
# are used for both sides.
_WIDE, _TILE = 64, 2**10
# Rows per thread and task, and ranks that are compared as a group.
_TASK = 2**9
_GROUP = 16
# Pairs of a function's distances that are checked beforehand.
_PROBED = 16
# Rank in single precision if rounding is at most this share of the distance to the last neighbour,
# by a sample of this many rows, and if half the squared lengths are far from its limits.
_CLEAR = 0.02
_SAMPLE = 32
_SINGLE = (1e-10, 1e10)
# Up to so many new rows are compared with a table of at least so many values one by one; their
# squared distances differ by less than this share of them from those summed in another order.
_FEW_NEW, _MANY_VALUES, _ROUNDED = 4, 2**20, 1e-9
# Few rows are ranked in double precision: a loop for single precision need not be compiled.
_FEW_ROWS = 2_000

# Up to this size all pairs are compared; above, only in dimensions where a k-d tree is as fast.
_MOST_COMPARED = 20_000
_EXACT_TREE_COLUMNS = 3

Metric = str | Callable[..., float] | MixedDistance


class Search(Protocol):
    """Neighbours of the fitted objects, and of new ones among them."""

    recall: float

    def neighbors(self, count: int, rows: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Indices and distances for all fitted objects or some, nearest first, not themselves."""
        ...

    def query(self, X_new: Any, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        """Indices and distances of fitted objects for new ones, nearest first."""
        ...

    def rows(self, numbers: IntArray) -> Any:
        """Some of the fitted objects, as new ones would be given."""
        ...


def make_search(X: Any, n_neighbors: int, *, metric: Metric, n_jobs: int | None = None) -> Search:
    """The search that suits the number of objects, their dimension and the metric."""
    columns = X.shape[1]
    if isinstance(metric, MixedDistance) and X.shape[0] > _MOST_COMPARED:
        points = metric.embedded(X)
        index = ApproximateSearch(points, "euclidean", n_jobs, n_candidates(n_neighbors))
        return MixedSearch(X, metric, index, n_jobs)
    quick = isinstance(metric, str) and metric in ("euclidean", "l2", "cosine")
    few = X.shape[0] <= _MOST_COMPARED or columns <= _EXACT_TREE_COLUMNS
    if few or not quick:
        return ExactSearch(X, metric, n_jobs)
    if sp.issparse(X):
        return SparseSearch(X, metric, n_jobs, n_neighbors)
    return ApproximateSearch(X, metric, n_jobs, n_neighbors)


@dataclass(eq=False)
class ExactSearch:
    """All true neighbours."""

    X: Any
    metric: Metric
    n_jobs: int | None
    recall: float = 1.0
    _arrays: ClassVar[dict[str, str]] = {
        "X": "table?metric=precomputed n p",
        "metric": "metric",
        "n_jobs": "int?",
        "recall": "finite",
    }

    def neighbors(self, count: int, rows: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Indices and distances for the fitted objects."""
        return nearest_neighbors(self.X, count, metric=self.metric, n_jobs=self.n_jobs, rows=rows)

    def query(self, X_new: Any, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        """Indices and distances of fitted objects for new ones."""
        return neighbors_of(X_new, self.X, n_neighbors, metric=self.metric, n_jobs=self.n_jobs)

    def rows(self, numbers: IntArray) -> Any:
        """Some of the fitted objects."""
        return self.X[numbers]


class ApproximateSearch:
    """Most of the true neighbours of the rows of a dense table."""

    _arrays: ClassVar[dict[str, str]] = {
        "index": "part query() neighbors() n p",
        "metric": "text",
        "dtype": "precision",
        "recall": "finite",
    }

    def __init__(self, X: FloatArray, metric: Metric, n_jobs: int | None, n_neighbors: int) -> None:
        self.metric = metric
        self.dtype = X.dtype
        self.index = NeighborIndex.of(self._points(X), n_neighbors, n_jobs)
        self.recall = self.index.recall

    def neighbors(self, count: int, rows: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Indices and distances for the fitted objects."""
        return self._measured(*self.index.neighbors(count, rows))

    def query(self, X_new: FloatArray, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        """Indices and distances of fitted objects for new ones."""
        return self._measured(*self.index.query(self._points(X_new), n_neighbors))

    def nearby(self, X_new: FloatArray, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        """The same at a fraction of the cost, with objects that are near but rarely nearest."""
        return self._measured(*self.index.query(self._points(X_new), n_neighbors, quick=True))

    def rows(self, numbers: IntArray) -> FloatArray:
        """Some of the fitted objects; for the cosine metric, in the same direction."""
        return self.index.rows(numbers).astype(self.dtype)

    def _points(self, X: FloatArray) -> FloatArray:
        return X if self.metric != "cosine" else _on_sphere(X)

    def _measured(self, indices: IntArray, lengths: FloatArray) -> tuple[IntArray, FloatArray]:
        # On the sphere 1 - cosine is half the squared distance.
        lengths = lengths if self.metric != "cosine" else 0.5 * lengths**2
        return indices, lengths.astype(self.dtype, copy=False)


class SparseSearch(ExactSearch):
    """Most of the true neighbours of the rows of a sparse table; exact for new rows."""

    _arrays: ClassVar[dict[str, str]] = {
        "X": "matrix n p",
        "metric": "text",
        "n_jobs": "int?",
        "recall": "finite",
        "_found.0": "int n m -1<n",
        "_found.1": "nonnegative n m",
    }

    def __init__(
        self, X: sp.csr_array, metric: Metric, n_jobs: int | None, n_neighbors: int
    ) -> None:
        super().__init__(X, metric, n_jobs)
        points = X if metric != "cosine" else _on_sphere(X)
        indices, lengths, self.recall = sparse_neighbors(points, n_neighbors, n_jobs)
        lengths = lengths if metric != "cosine" else 0.5 * lengths**2
        self._found = indices, lengths.astype(X.dtype, copy=False)

    def neighbors(self, count: int, rows: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Indices and distances for the fitted objects."""
        chosen = slice(None) if rows is None else rows
        return self._found[0][chosen, :count], self._found[1][chosen, :count]


def _on_sphere(X: Any) -> Any:
    """Rows scaled to unit length; zero rows stay."""
    with interrupts_held():
        from sklearn.preprocessing import normalize

    return normalize(X)


def nearest_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    metric: Metric = "euclidean",
    n_jobs: int | None = None,
    rows: IntArray | None = None,
) -> tuple[IntArray, FloatArray]:
    """Indices and distances of each object's nearest neighbours among the others.

    `n_neighbors`: neighbours per object, without the object itself.
    `metric`: any metric of scikit-learn.
    `n_jobs`: number of threads.
    `rows` (m,): numbers of the objects whose neighbours are wanted; all by default.
    Returns (m, n_neighbors): sorted by distance, equal distances by index. If a sparse distance
        matrix stores too few neighbours of an object, indices are -1 and distances infinite.
    """
    n = X.shape[0]
    wanted, numbers = (X, np.arange(n)) if rows is None else (X[rows], rows)
    indices, distances = neighbors_of(
        wanted, X, min(n_neighbors + 1, n), metric=metric, n_jobs=n_jobs
    )
    own = indices == numbers[:, None]
    # With more copies of a point than neighbours requested, the point itself may not be listed.
    own[~own.any(axis=1), -1] = True
    keep = ~own
    shape = (len(numbers), indices.shape[1] - 1)
    return indices[keep].reshape(shape), distances[keep].reshape(shape)


def neighbors_of(
    X_new: Any, X: Any, n_neighbors: int, *, metric: Metric, n_jobs: int | None = None
) -> tuple[IntArray, FloatArray]:
    """Nearest objects of X for every row of X_new (which may be X itself)."""
    if isinstance(metric, MixedDistance):
        return metric.nearest(X_new, X, n_neighbors, n_jobs)
    if metric == "precomputed":
        return _from_distances(X_new, n_neighbors)
    if (
        metric == "cosine"
        and not sp.issparse(X)
        and X_new.any(axis=1).all()
        and X.any(axis=1).all()
    ):
        points = _on_sphere(X)
        wanted = points if X_new is X else _on_sphere(X_new)
        indices, lengths = neighbors_of(
            wanted, points, n_neighbors, metric="euclidean", n_jobs=n_jobs
        )
        return indices, 0.5 * lengths**2
    if metric in ("euclidean", "l2") and not sp.issparse(X):
        if X.shape[1] <= _TREE_COLUMNS:
            found = _by_tree(X_new, X, n_neighbors, n_jobs)
        elif X_new is X and X.shape[1] >= _WIDE:
            found = _among_themselves(X, n_neighbors, n_jobs)
        elif len(X_new) <= _FEW_NEW and X.size >= _MANY_VALUES:
            found = _one_by_one(X_new, X, n_neighbors, n_jobs)
        else:
            found = _by_products(X_new, X, n_neighbors, n_jobs)
    elif sp.issparse(X) and metric in ("euclidean", "l2", "cosine") and X.shape[0] >= _FEW_ROWS:
        found = _by_shared_columns(X_new, X, n_neighbors, metric, n_jobs)
    else:
        found = _by_scikit_learn(X_new, X, n_neighbors, metric, n_jobs)
    return _ordered(*found)


def _by_tree(
    X_new: FloatArray, X: FloatArray, n_neighbors: int, n_jobs: int | None
) -> tuple[IntArray, FloatArray]:
    from scipy.spatial import cKDTree

    tree, wanted = cKDTree(X), np.arange(1, n_neighbors + 1)
    indices = np.empty((len(X_new), n_neighbors), dtype=np.intp)
    distances = np.empty((len(X_new), n_neighbors), dtype=X.dtype)

    # In our own threads: those of SciPy go on after Ctrl-C, in memory that has been released.
    def search(part: range) -> None:
        rows = slice(part.start, part.stop)
        distances[rows], indices[rows] = tree.query(X_new[rows], k=wanted)

    each(search, pieces(len(X_new), _TREE_ROWS), n_jobs)
    # Where squares overflow, the tree names a row that does not exist.
    indices[indices >= len(X)] = -1
    return indices, distances


def _by_products(
    X_new: FloatArray, X: FloatArray, n_neighbors: int, n_jobs: int | None
) -> tuple[IntArray, FloatArray]:
    """Compare all pairs by matrix products; exact distances where rounding is ambiguous."""
    from soffit.neighbors.kernels import nearest_by_rank

    exact = np.ascontiguousarray(X, dtype=np.float64)
    center = exact.mean(axis=0)
    reference = exact - center
    half_norms = 0.5 * np.einsum("ij,ij->i", reference, reference)
    longest = float(half_norms.max())
    dtype = _dtype_of_ranks(reference, half_norms, n_neighbors)
    # (x, 1) times (-y, |y|^2 / 2) ranks all y for x. Transposed beforehand: BLAS is several times
    # slower when it reads a long thin matrix across.
    against = np.ascontiguousarray(np.column_stack([-reference, half_norms]).T, dtype=dtype)
    margin = min(n_neighbors + 8, len(X))
    n_groups = -(-len(X) // max(min(len(X) // (2 * margin), _GROUP), 1))
    rounding = _rounding(X.shape[1], dtype)
    indices = np.empty((len(X_new), n_neighbors), dtype=np.int64)
    squares = np.empty(indices.shape)

    def search(part: range) -> None:
        # Large arrays are used again: new pages of memory take longer than the products.
        ranks = np.empty((_CHUNK, len(X)), dtype=dtype)
        room = (
            *(np.empty(n_groups, dtype=dtype), np.empty(margin, dtype=dtype)),
            *(np.empty(margin, dtype=np.int64), np.empty(len(X), dtype=np.int64)),
        )
        for first in range(part.start, part.stop, _CHUNK):
            chunk = slice(first, min(first + _CHUNK, part.stop))
            given = np.ascontiguousarray(X_new[chunk], dtype=np.float64)
            rows = given - center
            found = ranks[: len(rows)]
            # If ranks overflow, exact distances decide. NumPy keeps this setting per thread.
            with np.errstate(over="ignore", invalid="ignore"):
                with_ones = np.column_stack([rows, np.ones(len(rows))])
                np.matmul(with_ones.astype(dtype, copy=False), against, out=found)
                half_own = 0.5 * np.einsum("ij,ij->i", rows, rows)
                reach = rounding * (half_own + longest) - half_own
            nearest_by_rank(found, reach, given, exact, *room, indices[chunk], squares[chunk])

    each(search, pieces(len(X_new), _TASK), n_jobs)
    return indices, np.sqrt(squares).astype(X.dtype, copy=False)


def _one_by_one(
    X_new: FloatArray, X: FloatArray, n_neighbors: int, n_jobs: int | None
) -> tuple[IntArray, FloatArray]:
    """The same for a few rows, without a copy of the table."""
    from scipy.spatial.distance import cdist

    from soffit.neighbors.kernels import nearest_listed

    wanted = np.ascontiguousarray(X_new, dtype=np.float64)
    squares = np.empty((len(wanted), len(X)))

    def compare(part: range) -> None:
        there = slice(part.start, part.stop)
        squares[:, there] = cdist(wanted, X[there].astype(np.float64), "sqeuclidean")

    each(compare, pieces(len(X), _TASK), n_jobs)
    indices = np.empty((len(wanted), n_neighbors), dtype=np.int64)
    nearest = np.empty(indices.shape)
    last = np.partition(squares, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
    for i, limit in enumerate(last):
        # The same sums as everywhere else decide among those that differ by rounding.
        close = np.flatnonzero(~(squares[i] > limit * (1 + _ROUNDED)))
        reference, row = X[close].astype(np.float64), slice(i, i + 1)
        listed = np.arange(len(close), dtype=np.int32)[None]
        nearest_listed(listed, wanted[row], reference, indices[row], nearest[row])
        indices[i] = close[indices[i]]
    return indices, np.sqrt(nearest).astype(X.dtype, copy=False)


def _among_themselves(
    X: FloatArray, n_neighbors: int, n_jobs: int | None
) -> tuple[IntArray, FloatArray]:
    """The same among all rows of one table: every pair is multiplied once, for both of its rows."""
    from soffit.neighbors.kernels import nearest_listed, take_ranks

    n = len(X)
    exact, rows = np.empty(X.shape), np.empty(X.shape, dtype=np.float32)
    half_norms, center = np.empty(n), X.mean(axis=0, dtype=np.float64)

    def prepare(part: range) -> None:
        # Block by block in all threads: the first use of memory takes longer than the arithmetic.
        chosen = slice(part.start, part.stop)
        exact[chosen] = X[chosen]
        centred = exact[chosen] - center
        half_norms[chosen] = 0.5 * np.einsum("ij,ij->i", centred, centred)
        # If squares overflow, these rows are not used.
        with np.errstate(over="ignore"):
            rows[chosen] = centred

    each(prepare, pieces(n, _TASK), n_jobs)
    if _dtype_of_ranks(rows, half_norms, n_neighbors) == np.float64:
        return _by_products(X, X, n_neighbors, n_jobs)
    reach = _rounding(X.shape[1], np.float32) * (half_norms + half_norms.max()) - half_norms
    half = half_norms.astype(np.float32)
    margin = min(n_neighbors + 8, n)
    lowest = np.full((n, margin), np.inf, dtype=np.float32)
    listed = np.zeros((n, margin), dtype=np.int32)
    indices = np.empty((n, n_neighbors), dtype=np.int64)
    squares = np.empty(indices.shape)
    is_clear = np.empty(n, dtype=np.bool_)
    tiles = pieces(n, _TILE)

    def compare(pair: tuple[range, range]) -> None:
        here, there = (slice(part.start, part.stop) for part in pair)
        product = rows[here] @ rows[there].T
        take_ranks(product, half, here.start, there.start, lowest, listed)

    def measure(part: range) -> None:
        chosen = slice(part.start, part.stop)
        nearest_listed(listed[chosen], exact[chosen], exact, indices[chosen], squares[chosen])
        is_clear[chosen] = lowest[chosen, -1] > 0.5 * squares[chosen, -1] + reach[chosen]

    for distinct in _rounds(tiles):
        each(compare, distinct, n_jobs)
    each(measure, pieces(n, _TASK), n_jobs)
    unclear = np.flatnonzero(~is_clear)
    distances = np.sqrt(squares).astype(X.dtype, copy=False)
    if len(unclear):
        indices[unclear], distances[unclear] = _by_products(X[unclear], X, n_neighbors, n_jobs)
    return indices, distances


def _rounds(parts: list[range]) -> Iterator[list[tuple[range, range]]]:
    """All pairs of parts, in rounds in which every part occurs once: threads share no rows."""
    yield [(part, part) for part in parts]
    seats: list[range | None] = [*parts, *([None] if len(parts) % 2 else [])]
    for _ in range(len(seats) - 1):
        half = len(seats) // 2
        pairs = zip(seats[:half], reversed(seats[half:]), strict=True)
        yield [(a, b) for a, b in pairs if a is not None and b is not None]
        seats.insert(1, seats.pop())


def _rounding(n_columns: int, dtype: Any) -> float:
    """Bound on the rounding error of a rank: d + 1 products and sums, and the centring."""
    return 2 * (n_columns + 5) * float(np.finfo(dtype).eps)


def _dtype_of_ranks(reference: FloatArray, half_norms: FloatArray, n_neighbors: int) -> Any:
    """Single precision if it decides nearly all pairs of many: half the time of double."""
    n, largest = len(reference), float(half_norms.max())
    if n < _FEW_ROWS or not _SINGLE[0] < largest < _SINGLE[1]:
        return np.float64
    sample = np.arange(0, n, max(n // _SAMPLE, 1))
    half_squares = half_norms[sample, None] + half_norms - reference[sample] @ reference.T
    last = np.median(np.partition(half_squares, n_neighbors - 1, axis=1)[:, n_neighbors - 1])
    unclear = 2 * _rounding(reference.shape[1], np.float32) * largest
    return np.float32 if unclear < _CLEAR * last else np.float64


def _by_shared_columns(
    X_new: Any, X: Any, n_neighbors: int, metric: Metric, n_jobs: int | None
) -> tuple[IntArray, FloatArray]:
    """Exact neighbours of sparse rows: products with the rows that have a column in common."""
    from soffit.neighbors.kernels import nearest_by_columns

    rows, reference = (sp.csr_array(table, dtype=np.float64) for table in (X_new, X))
    if metric == "cosine":
        rows, reference = _on_sphere(rows), _on_sphere(reference)
    columns, (m, n) = reference.tocsc(), (rows.shape[0], reference.shape[0])
    own, others = (0.5 * table.multiply(table).sum(axis=1) for table in (rows, reference))
    if metric == "cosine":
        # Ranks are then 1 - cosine, also of rows without entries.
        own, others = np.zeros(m), np.ones(n)
    indices = np.full((m, n_neighbors), -1, dtype=np.int64)
    ranks = np.full(indices.shape, np.inf)

    def search(part: range) -> None:
        wanted = slice(part.start, part.stop)
        chosen = rows[wanted]
        arrays = (chosen.indptr, chosen.indices, chosen.data)
        of_columns = (columns.indptr, columns.indices, columns.data)
        nearest_by_columns(*arrays, *of_columns, others, indices[wanted], ranks[wanted])

    each(search, pieces(m, _TREE_ROWS), n_jobs)
    ranks = np.maximum(ranks + own[:, None], 0.0)
    distances = ranks if metric == "cosine" else np.sqrt(2.0 * ranks)
    return indices, distances.astype(X.dtype, copy=False)


def _by_scikit_learn(
    X_new: Any, X: Any, n_neighbors: int, metric: Metric, n_jobs: int | None
) -> tuple[IntArray, FloatArray]:
    with interrupts_held():
        from sklearn.neighbors import NearestNeighbors

    from soffit.neighbors.distances import check_metric, check_values, metric_parameters

    check_metric(metric, sparse=sp.issparse(X))
    if callable(metric) and not sp.issparse(X):
        # The trees of scikit-learn take negative values for the distance of copies.
        pairs = itertools.pairwise(X[: _PROBED + 1])
        check_values(np.array([[0.0, *(float(metric(a, b)) for a, b in pairs)]]), metric)
    search = NearestNeighbors(
        n_neighbors=n_neighbors,
        metric=metric,
        metric_params=metric_parameters(X, metric) or None,
        n_jobs=n_threads(n_jobs),
    ).fit(X)
    distances, indices = search.kneighbors(X_new)
    check_values(distances, metric)
    return indices, np.asarray(distances, dtype=X.dtype)


def _from_distances(D: Matrix, n_neighbors: int) -> tuple[IntArray, FloatArray]:
    if sp.issparse(D):
        return _from_sparse_distances(sp.csr_array(D), n_neighbors)
    D = np.asarray(D)
    chosen = np.argsort(D, axis=1, kind="stable")[:, :n_neighbors]
    return chosen, np.take_along_axis(D, chosen, axis=1)


def _from_sparse_distances(D: sp.csr_array, n_neighbors: int) -> tuple[IntArray, FloatArray]:
    """The smallest stored distances of every row; the object itself counts as distance 0."""
    m = D.shape[0]
    rows = row_numbers(D)
    order = np.lexsort((D.indices, D.data, rows))
    place = np.arange(D.nnz) - D.indptr[rows]
    indices = np.full((m, n_neighbors), -1, dtype=np.intp)
    distances = np.full((m, n_neighbors), np.inf, dtype=D.dtype)
    wanted = place < n_neighbors
    indices[rows[wanted], place[wanted]] = D.indices[order][wanted]
    distances[rows[wanted], place[wanted]] = D.data[order][wanted]
    return indices, distances


def _ordered(indices: IntArray, distances: FloatArray) -> tuple[IntArray, FloatArray]:
    """Sort each row by distance, then by index, so that the order is unique."""
    order = np.lexsort((indices, distances), axis=1)
    return np.take_along_axis(indices, order, 1), np.take_along_axis(distances, order, 1)
