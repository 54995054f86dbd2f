"""K-means on the rows of a few eigenvectors: many short runs, side by side.

The same method, draws and rules of stopping as scikit-learn's, whose single runs spend more time
on checks and on handing work to threads than on tables as small as these.
"""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray, IntArray

_MOST_STEPS = 300
_TOL = 1e-4


def kmeans(Y: FloatArray, n_clusters: int, *, random_state: int, n_init: int = 1) -> IntArray:
    """Labels by k-means, the best of `n_init` runs; clusters may be empty if rows are equal.

    Safe to run in several threads at once.
    """
    from soffit.partition.kernels import lloyd

    Y = Y - Y.mean(axis=0)
    columns = np.ascontiguousarray(Y.T)
    lengths = np.einsum("ij,ij->i", Y, Y)
    least_shift = _TOL * float(np.var(Y, axis=0).mean())
    random = np.random.RandomState(random_state)
    runs = []
    for _ in range(n_init):
        centers = Y[_seeds(columns, n_clusters, random)]
        labels, inertia = lloyd(columns, lengths, centers, least_shift, _MOST_STEPS)
        runs.append((float(inertia), labels))
    best: IntArray = min(runs, key=lambda run: run[0])[1]
    return best


def _seeds(columns: FloatArray, n_clusters: int, random: np.random.RandomState) -> IntArray:
    """Rows far from one another (k-means++): of some drawn at a time, the one that helps most."""
    from soffit.partition.kernels import squares_with

    n = columns.shape[1]
    n_drawn = 2 + int(np.log(n_clusters))
    seeds = np.empty(n_clusters, dtype=np.int64)
    closest = np.full(n, np.inf, dtype=columns.dtype)
    squares = np.empty((n_drawn, n), dtype=columns.dtype)
    drawn = np.array([random.choice(n, p=np.full(n, 1.0 / n))])
    for c in range(n_clusters):
        sums = [squares_with(columns, i, closest, squares[t]) for t, i in enumerate(drawn)]
        best = int(np.argmin(sums))
        seeds[c], closest = drawn[best], squares[best].copy()
        if c + 1 == n_clusters:
            break
        places = random.uniform(size=n_drawn) * sums[best]
        drawn = np.searchsorted(np.cumsum(closest, dtype=np.float64), places)
        drawn = np.minimum(drawn, n - 1)
    return seeds
