r"""Whether the clusters of a partition are separate in the space of the variables.

A graph shows its valleys between neighbours only, which in many dimensions, or with few objects, is
little. Two clusters as a whole tell more: along the direction that discriminates between them best,
all of their objects count. If the partition cuts through one cluster, the density along this
direction is largest at the cut; between two clusters it has a dip.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soffit._typing import FloatArray, IntArray

# A sample represents many objects.
_MOST_POINTS = 1500
# Each cluster is compared with so many of the nearest others.
_NEAREST = 3
# Share of the mean variance that is added to the covariance of two clusters.
_SHRINKAGE = 0.1
# Densities are smoothed by this share of the distance between the centres, and estimated between
# the clusters and around their centres.
_BANDWIDTH = 0.12
_BETWEEN = np.array([0.3, 0.4, 0.5, 0.6, 0.7])
_AROUND = np.array([-0.1, 0.0, 0.1])
_MOST_RATIO = 2.0


def dips(Z: FloatArray, labels: Callable[[int], IntArray], most: int) -> FloatArray:
    """The shallowest dip of the partitions into 1, 2, ..., `most` clusters; 0 for one.

    The dip of two clusters is the ratio of the density between them and at their centres: about 0
    for a gap, 1 or more where one cluster was cut.

    `Z` (n, d): coordinates, few of them and about equally important.
    `labels`: the partition of these objects into a number of clusters.
    `most`: the largest number.
    """
    chosen = np.arange(len(Z))
    if len(Z) > _MOST_POINTS:
        chosen = np.sort(np.random.default_rng(0).permutation(len(Z))[:_MOST_POINTS])
    found = np.zeros(most)
    for k in range(2, most + 1):
        codes = np.unique(labels(k)[chosen], return_inverse=True)[1]
        found[k - 1] = worst_dip(Z[chosen], codes)
    return found


def worst_dip(Z: FloatArray, labels: IntArray) -> float:
    """The shallowest dip between neighbouring clusters; clusters of one object are left out."""
    sizes = np.bincount(labels)
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    rows = [Z[one] for one in members if len(one) > 1]
    if len(rows) < 2:
        return 1.0
    centers = np.array([one.mean(axis=0) for one in rows])
    scatter = np.array(
        [(one - center).T @ (one - center) for one, center in zip(rows, centers, strict=True)]
    )
    squares = np.sum((centers[:, None] - centers) ** 2, axis=2)
    np.fill_diagonal(squares, np.inf)
    nearest = np.argsort(squares, axis=1, kind="stable")[:, : min(_NEAREST, len(rows) - 1)]
    pairs = {(min(a, b), max(a, b)) for a, others in enumerate(nearest.tolist()) for b in others}
    first, second = np.array(sorted(pairs)).T
    counts = np.array([len(one) for one in rows])
    pooled = (scatter[first] + scatter[second]) / (counts[first] + counts[second])[:, None, None]
    d = Z.shape[1]
    spread = np.trace(pooled, axis1=1, axis2=2) / d
    pooled = pooled + (_SHRINKAGE * spread + 1e-9)[:, None, None] * np.eye(d)
    apart = centers[second] - centers[first]
    direction = np.linalg.solve(pooled, apart[:, :, None])[:, :, 0]
    return max(
        _dip(rows[a], rows[b], centers[a], w, float(w @ delta))
        for a, b, w, delta in zip(first, second, direction, apart, strict=True)
    )


def _dip(A: FloatArray, B: FloatArray, center: FloatArray, w: FloatArray, gap: float) -> float:
    """The ratio of two clusters along a direction in which their centres are `gap` apart."""
    if gap <= 0:
        return 1.0
    along = np.concatenate([A @ w, B @ w])
    along = (along - center @ w) / gap
    places = np.concatenate([_BETWEEN, _AROUND, 1.0 + _AROUND])
    density = np.exp(-0.5 * ((along[:, None] - places) / _BANDWIDTH) ** 2).sum(axis=0)
    n = len(_BETWEEN)
    at_centers = min(density[n : n + len(_AROUND)].max(), density[n + len(_AROUND) :].max())
    # One object more on both sides: few objects do not make a gap.
    return float(min((density[:n].min() + 1) / (at_centers + 1), _MOST_RATIO))
