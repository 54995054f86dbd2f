"""Exact nearest neighbours, in an order that does not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._threads import each, n_threads
from soffit._typing import FloatArray, IntArray, Matrix

# Below this many columns a k-d tree beats comparing all pairs.
_TREE_COLUMNS = 8
# Rows compared at once by the brute-force search: large enough for BLAS, small enough for cache.
_CHUNK = 256

Metric = str | Callable[..., float]


def nearest_neighbors(
    X: Any, n_neighbors: int, *, metric: Metric = "euclidean", n_jobs: int | None = None
) -> tuple[IntArray, FloatArray]:
    """Indices and distances of each object's nearest neighbours among the others.

    Parameters
    ----------
    X : array, CSR features, or distances when ``metric="precomputed"``
        The objects.
    n_neighbors : int
        Neighbours per object, the object itself not counted.
    metric : str or callable
        Any metric that scikit-learn knows.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    indices, distances : arrays of shape (n, n_neighbors)
        Sorted by distance, equal distances by index. Where a sparse distance matrix stores too
        few neighbours of an object, indices are -1 and distances infinite.
    """
    n = X.shape[0]
    indices, distances = neighbors_of(X, X, min(n_neighbors + 1, n), metric=metric, n_jobs=n_jobs)
    own = indices == np.arange(n)[:, None]
    # With more copies of a point than neighbours asked for, the point itself may not be listed.
    own[~own.any(axis=1), -1] = True
    keep = ~own
    shape = (n, indices.shape[1] - 1)
    return indices[keep].reshape(shape), distances[keep].reshape(shape)


def neighbors_of(
    X_new: Any, X: Any, n_neighbors: int, *, metric: Metric, n_jobs: int | None = None
) -> tuple[IntArray, FloatArray]:
    """Nearest objects of X for every row of X_new (which may be X itself)."""
    if metric == "precomputed":
        return _from_distances(X_new, n_neighbors)
    if metric in ("euclidean", "l2") and not sp.issparse(X):
        if X.shape[1] <= _TREE_COLUMNS:
            found = _by_tree(X_new, X, n_neighbors, n_jobs)
        else:
            found = _by_products(X_new, X, n_neighbors, n_jobs)
    else:
        found = _by_scikit_learn(X_new, X, n_neighbors, metric, n_jobs)
    return _ordered(*found)


def _by_tree(
    X_new: FloatArray, X: FloatArray, n_neighbors: int, n_jobs: int | None
) -> tuple[IntArray, FloatArray]:
    from scipy.spatial import cKDTree

    distances, indices = cKDTree(X).query(
        X_new, k=np.arange(1, n_neighbors + 1), workers=n_threads(n_jobs)
    )
    return np.asarray(indices), np.asarray(distances, dtype=X.dtype)


def _by_products(
    X_new: FloatArray, X: FloatArray, n_neighbors: int, n_jobs: int | None
) -> tuple[IntArray, FloatArray]:
    """Compare all pairs through matrix products; what rounding leaves open, by exact distances."""
    from soffit.affinity._search_kernel import nearest_by_rank

    X, X_new = np.ascontiguousarray(X), np.ascontiguousarray(X_new)
    center = X.mean(axis=0)
    reference = X - center
    half_norms = 0.5 * np.einsum("ij,ij->i", reference, reference)
    # (x, 1) times (-y, |y|^2 / 2) ranks all y for x. Transposed beforehand: BLAS is several times
    # slower when it must read a long thin matrix across.
    against = np.ascontiguousarray(np.column_stack([-reference, half_norms]).T)
    margin = min(n_neighbors + 8, len(X))
    # Bounds the error of a rank by rounding: d + 1 products and sums, and the centring.
    rounding = 2 * (X.shape[1] + 5) * np.finfo(X.dtype).eps

    def search(first: int) -> tuple[IntArray, FloatArray]:
        given = X_new[first : first + _CHUNK]
        rows = given - center
        ranks = np.column_stack([rows, np.ones(len(rows), dtype=X.dtype)]) @ against
        half_own = 0.5 * np.einsum("ij,ij->i", rows, rows)
        reach = rounding * (half_own + half_norms.max()) - half_own
        found: tuple[IntArray, FloatArray] = nearest_by_rank(
            ranks, reach, given, X, n_neighbors, margin
        )
        return found

    parts = each(search, range(0, len(X_new), _CHUNK), n_jobs)
    return np.vstack([p[0] for p in parts]), np.vstack([p[1] for p in parts])


def _by_scikit_learn(
    X_new: Any, X: Any, n_neighbors: int, metric: Metric, n_jobs: int | None
) -> tuple[IntArray, FloatArray]:
    from sklearn.neighbors import NearestNeighbors

    from soffit.affinity._distances import metric_parameters

    search = NearestNeighbors(
        n_neighbors=n_neighbors,
        metric=metric,
        metric_params=metric_parameters(X, metric) or None,
        n_jobs=n_threads(n_jobs),
    ).fit(X)
    distances, indices = search.kneighbors(X_new)
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
    rows = np.repeat(np.arange(m), np.diff(D.indptr))
    order = np.lexsort((D.indices, D.data, rows))
    place = np.arange(D.nnz) - D.indptr[rows]
    indices = np.full((m, n_neighbors), -1, dtype=np.intp)
    distances = np.full((m, n_neighbors), np.inf, dtype=D.dtype)
    wanted = place < n_neighbors
    indices[rows[wanted], place[wanted]] = D.indices[order][wanted]
    distances[rows[wanted], place[wanted]] = D.data[order][wanted]
    return indices, distances


def _ordered(indices: IntArray, distances: FloatArray) -> tuple[IntArray, FloatArray]:
    """Sort each row by distance, then by index, so that ties have one answer."""
    order = np.lexsort((indices, distances), axis=1)
    return np.take_along_axis(indices, order, 1), np.take_along_axis(distances, order, 1)
