"""K-means on the rows of a few eigenvectors: many short runs in parallel.

The same method, draws and stopping rules as scikit-learn's, whose single runs spend more time on
checks and thread management than on tables as small as these.
"""

from __future__ import annotations

import numpy as np

from soffit._threads import each
from soffit._typing import FloatArray, IntArray

_MOST_STEPS = 300
_TOL = 1e-4


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
    from soffit.partition.kernels import lloyd

    Y = Y - Y.mean(axis=0)
    columns = np.ascontiguousarray(Y.T)
    lengths = np.einsum("ij,ij->i", Y, Y)
    importance = np.ones(len(Y), Y.dtype) if weights is None else weights.astype(Y.dtype)
    least_shift = _TOL * float(np.var(Y, axis=0).mean())
    random = np.random.RandomState(random_state)
    starts = [Y[_seeds(columns, importance, n_clusters, random)] for _ in range(n_init)]

    def run(centers: FloatArray) -> tuple[IntArray, float]:
        labels, inertia = lloyd(columns, lengths, importance, centers, least_shift, _MOST_STEPS)
        return labels, float(inertia)

    best, least = run(starts[0])
    for labels, inertia in each(run, starts[1:]):
        # By rounding, the inertia of a clustering depends on the order of its clusters.
        if inertia < least and not _same_clustering(labels, best, n_clusters):
            best, least = labels, inertia
    return best


def improved_labels(Y: FloatArray, labels: IntArray, *, n_steps: int) -> IntArray:
    """Labels after a few steps of k-means on the rows, from the given ones."""
    from soffit.partition.kernels import lloyd

    used, place = np.unique(labels, return_inverse=True)
    columns = np.ascontiguousarray(Y.T)
    sums = np.stack([np.bincount(place, column) for column in columns], axis=1)
    centers = (sums / np.bincount(place)[:, None]).astype(Y.dtype)
    lengths, ones = np.einsum("ij,ij->i", Y, Y), np.ones(len(Y), Y.dtype)
    # The final step assigns every row to its nearest centre.
    found: IntArray = lloyd(columns, lengths, ones, centers, 0.0, n_steps - 1)[0]
    return np.asarray(used[found])


def _same_clustering(first: IntArray, second: IntArray, n_clusters: int) -> bool:
    """Whether two runs give the same partition, up to the numbering of the clusters."""
    pairs = np.unique(first * n_clusters + second)
    return len(pairs) == len(np.unique(first)) == len(np.unique(second))


def _seeds(
    columns: FloatArray, weights: FloatArray, n_clusters: int, random: np.random.RandomState
) -> IntArray:
    """Rows far from one another (k-means++): of several draws at a time, the best one."""
    from soffit.partition.kernels import squares_with

    n = columns.shape[1]
    n_drawn = 2 + int(np.log(n_clusters))
    seeds = np.empty(n_clusters, dtype=np.int64)
    closest = np.full(n, np.inf, dtype=columns.dtype)
    squares = np.empty((n_drawn, n), dtype=columns.dtype)
    chances = np.asarray(weights, dtype=np.float64)
    drawn = np.array([random.choice(n, p=chances / chances.sum())])
    for c in range(n_clusters):
        sums = [squares_with(columns, weights, i, closest, squares[t]) for t, i in enumerate(drawn)]
        best = int(np.argmin(sums))
        seeds[c], closest = drawn[best], squares[best].copy()
        if c + 1 == n_clusters:
            break
        places = random.uniform(size=n_drawn) * sums[best]
        drawn = np.searchsorted(np.cumsum(weights * closest, dtype=np.float64), places)
        drawn = np.minimum(drawn, n - 1)
    return seeds
