"""Rounding: k-means on the rows of a few eigenvectors, and labels that leave no cluster empty.

The same method, draws and stopping rules as scikit-learn's, whose single runs spend more time on
checks and thread management than on tables as small as these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, svd

from soffit._threads import check_time, each, is_late, pieces
from soffit._typing import FloatArray, IntArray

_MOST_STEPS = 300
_TOL = 1e-4
# Below this number of products, a step is as fast without a compiled loop.
_FEW = 2**15
# Rows whose products with all centres are computed at once: these stay in the cache.
_BLOCK = 2**10
# Runs between two looks at the clock.
_AT_ONCE = 8


def kmeans(
    Y: FloatArray,
    n_clusters: int,
    *,
    random_state: int,
    n_init: int = 1,
    weights: FloatArray | None = None,
) -> IntArray:
    """Labels by k-means, the best of `n_init` runs; clusters may be empty if rows are equal.

    Rows may have weights. Safe to run in several threads at once.
    """
    rows, least_shift = _prepared(Y, weights)
    random = np.random.RandomState(random_state)

    def run(centers: FloatArray) -> tuple[IntArray, float]:
        return _lloyd(rows, centers, least_shift, _MOST_STEPS)

    best: IntArray = np.zeros(len(Y), dtype=np.int64)
    least = np.inf
    for part in pieces(n_init, _AT_ONCE):
        if part.start and is_late():
            break
        starts = [rows.columns[:, _seeds(rows, n_clusters, random)].T for _ in part]
        for labels, inertia in each(run, starts):
            # By rounding, the inertia of a clustering depends on the order of its clusters.
            is_better = inertia < least and not _same_clustering(labels, best, n_clusters)
            if is_better or np.isinf(least):
                best, least = labels, inertia
    return best


def single_runs(Y: FloatArray, n_clusters: int, seeds: Sequence[int]) -> list[IntArray]:
    """Labels by one run of k-means per seed."""
    rows, least_shift = _prepared(Y, None)

    def run(seed: int) -> IntArray:
        chosen = _seeds(rows, n_clusters, np.random.RandomState(seed))
        return _lloyd(rows, rows.columns[:, chosen].T, least_shift, _MOST_STEPS)[0]

    return each(run, seeds)


def _prepared(Y: FloatArray, weights: FloatArray | None) -> tuple[_Rows, float]:
    """The centred rows, and the shift of the centres at which runs have converged."""
    centred = np.asarray(Y - Y.mean(axis=0), dtype=np.float64)
    rows = _Rows.of(centred, np.ones(len(Y)) if weights is None else weights)
    return rows, _TOL * float(np.var(centred, axis=0).mean())


def improved_labels(Y: FloatArray, labels: IntArray, *, n_steps: int) -> IntArray:
    """Labels after a few steps of k-means on the rows, from the given ones."""
    used, place = np.unique(labels, return_inverse=True)
    rows = _Rows.of(np.asarray(Y, dtype=np.float64), np.ones(len(Y)))
    sums = np.stack([np.bincount(place, column) for column in rows.columns], axis=1)
    centers = sums / np.bincount(place)[:, None]
    # The final step assigns every row to its nearest centre.
    return np.asarray(used[_lloyd(rows, centers, 0.0, n_steps - 1)[0]])


class _Rows(NamedTuple):
    """The rows in double precision, column by column, with their weights and squared lengths."""

    columns: FloatArray
    weights: FloatArray
    lengths: FloatArray

    @classmethod
    def of(cls, Y: FloatArray, weights: FloatArray) -> _Rows:
        lengths = np.einsum("ij,ij->i", Y, Y)
        return cls(np.ascontiguousarray(Y.T), np.asarray(weights, dtype=np.float64), lengths)

    def nearest(self, centers: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """The nearest centre of each row, its rank, and the weighted sum of the rows of a centre.

        A rank is half the squared distance without the length of the row. The last column of the
        sums is for the weights.
        """
        d, n = self.columns.shape
        k = len(centers)
        halves = 0.5 * np.einsum("ij,ij->i", centers, centers)
        if n * d * k < _FEW:
            all_ranks = (halves[:, None] - centers @ self.columns).T
            labels = all_ranks.argmin(axis=1)
            members = (labels == np.arange(k)[:, None]) * self.weights
            totals = members.sum(axis=1, keepdims=True)
            sums = np.hstack([members @ self.columns.T, totals])
            return labels, all_ranks[np.arange(n), labels], sums
        from soffit.partition.kernels import assign_rows

        labels, ranks, sums = np.zeros(n, np.int64), np.full(n, np.inf), np.zeros((k, d + 1))
        products = np.empty((k, min(n, _BLOCK)))
        for first in range(0, n, _BLOCK):
            rows = self.columns[:, first : first + _BLOCK]
            if rows.shape[1] < products.shape[1]:
                products = np.empty((k, rows.shape[1]))
            np.matmul(centers, rows, out=products)
            assign_rows(products, halves, self.columns, self.weights, first, labels, ranks, sums)
        return labels, ranks, sums

    def inertia(self, ranks: FloatArray) -> float:
        """Weighted sum of the squared distances with these ranks."""
        return float(self.weights @ (self.lengths + 2.0 * ranks))


def _lloyd(
    rows: _Rows, centers: FloatArray, least_shift: float, most_steps: int
) -> tuple[IntArray, float]:
    """Labels after alternating updates of labels and centres, and the inertia.

    Stops when no label changes, when all centres together move by at most `least_shift` (squared),
    or when the time of the fit is over.
    """
    earlier: IntArray | None = None
    for _ in range(most_steps):
        labels, ranks, sums = rows.nearest(centers)
        if earlier is not None and np.array_equal(labels, earlier):
            return labels, rows.inertia(ranks)
        moved = _means(rows, centers, labels, ranks, sums)
        shift = float(np.square(moved - centers).sum())
        centers, earlier = moved, labels
        check_time()
        if shift <= least_shift or is_late():
            break
    labels, ranks, _ = rows.nearest(centers)
    return labels, rows.inertia(ranks)


def _means(
    rows: _Rows, centers: FloatArray, labels: IntArray, ranks: FloatArray, sums: FloatArray
) -> FloatArray:
    """Weighted means of the rows of each centre; an empty one gets the farthest row."""
    empty = np.flatnonzero(sums[:, -1] == 0)
    if len(empty):
        squares = rows.lengths + 2.0 * ranks
        for c in empty:
            far = int(squares.argmax())
            squares[far] = -np.inf
            one = rows.weights[far] * np.append(rows.columns[:, far], 1.0)
            sums[labels[far]] -= one
            sums[c] = one
    filled = sums[:, -1:] > 0
    return np.divide(sums[:, :-1], sums[:, -1:], out=centers.copy(), where=filled)


def _same_clustering(first: IntArray, second: IntArray, n_clusters: int) -> bool:
    """Whether two runs give the same partition, up to the numbering of the clusters."""
    pairs = np.unique(first * n_clusters + second)
    return len(pairs) == len(np.unique(first)) == len(np.unique(second))


def _seeds(rows: _Rows, n_clusters: int, random: np.random.RandomState) -> IntArray:
    """Rows far from one another (k-means++): of several draws at a time, the best one."""
    columns, weights, lengths = rows
    n = columns.shape[1]
    n_drawn = 2 + int(np.log(n_clusters))
    seeds = np.empty(n_clusters, dtype=np.int64)
    closest = np.full(n, np.inf)
    # The same draw as random.choice, without its checks.
    shares = np.cumsum(weights / weights.sum())
    drawn = np.searchsorted(shares / shares[-1], random.random_sample(1), side="right")
    for c in range(n_clusters):
        squares = columns[:, drawn].T @ columns
        squares *= -2.0
        squares += lengths
        squares += lengths[drawn][:, None]
        np.clip(squares, 0.0, closest, out=squares)
        # By rounding, a row need not have distance zero to its copies.
        squares[np.arange(len(drawn)), drawn] = 0.0
        sums = squares @ weights
        best = int(np.argmin(sums))
        seeds[c], closest = drawn[best], squares[best].copy()
        if c + 1 == n_clusters:
            break
        places = random.uniform(size=n_drawn) * sums[best]
        drawn = np.minimum(np.searchsorted(np.cumsum(weights * closest), places), n - 1)
    return seeds


def fill_empty_clusters(labels: IntArray, Y: FloatArray) -> IntArray:
    """Move the object that fits its own cluster least into each empty cluster."""
    k = Y.shape[1]
    labels = np.array(labels, dtype=np.int64)
    for c in np.flatnonzero(np.bincount(labels, minlength=k) == 0):
        sizes = np.bincount(labels, minlength=k)
        centers = np.zeros((k, k))
        np.add.at(centers, labels, Y)
        misfit = np.sum((Y - (centers / np.maximum(sizes, 1)[:, None])[labels]) ** 2, axis=1)
        labels[np.where(sizes[labels] > 1, misfit, -1.0).argmax()] = c
    return labels


def distribute_components(component: IntArray, volume: FloatArray, n_clusters: int) -> IntArray:
    """Assign whole components to clusters, heaviest first, each to the lightest cluster so far."""
    weight = np.bincount(component, weights=volume)
    filled = np.zeros(n_clusters)
    cluster = np.empty(len(weight), dtype=np.int64)
    for c in np.argsort(-weight, kind="stable"):
        cluster[c] = filled.argmin()
        filled[cluster[c]] += weight[c]
    return cluster[component]


def fill_empty_by_size(labels: IntArray, n_clusters: int) -> IntArray:
    """Split the largest cluster for each empty one, if it has more than one object."""
    labels = np.array(labels, dtype=np.int64)
    sizes = np.bincount(labels, minlength=n_clusters)
    for c in np.flatnonzero(sizes == 0):
        members = np.flatnonzero(labels == sizes.argmax())
        if len(members) < 2:
            break
        labels[members[: len(members) // 2]] = c
        sizes = np.bincount(labels, minlength=n_clusters)
    return labels


def cluster_qr(V: FloatArray) -> IntArray:
    """Labels from eigenvectors by pivoted QR: no seed, no iteration."""
    k = V.shape[1]
    _, _, pivots = qr(V.T, mode="economic", pivoting=True)
    chosen = V[pivots[:k]].T
    try:
        left, _, right = svd(chosen)
    except np.linalg.LinAlgError:
        # Dividing fails now and then where all singular values are equal; iterating does not.
        left, _, right = svd(chosen, lapack_driver="gesvd")
    return np.abs(V @ (left @ right)).argmax(axis=1)


def cluster_kmeans(V: FloatArray, *, random_state: int, n_init: int = 3) -> IntArray:
    """Labels by k-means on the rows of the eigenvectors, scaled to unit length."""
    return kmeans(unit_rows(V), V.shape[1], random_state=random_state, n_init=n_init)


def unit_rows(V: FloatArray) -> FloatArray:
    """Rows divided by their lengths; zero rows stay zero."""
    length = np.linalg.norm(V, axis=1, keepdims=True)
    return np.asarray(V / np.where(length > 0, length, 1.0), dtype=V.dtype)
