"""Labels and edges: weights to clusters, and sweeps that improve labels."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray

_MOST_SWEEPS = 10
# Sweeps continue while they raise the weight inside clusters by this share.
_GAIN = 1e-3
_ROWS = 2**13


def majority_sweeps(A: sp.csr_array, labels: IntArray, n_clusters: int) -> IntArray:
    """Give every object the label with the largest edge weight, while the weight inside grows.

    This separates objects that a coarser graph merged by mistake. No cluster becomes empty.
    """
    best = labels = np.asarray(labels, dtype=np.int32)
    before, alive = 0.0, len(np.unique(labels))
    for _ in range(_MOST_SWEEPS):
        moved, inside = _sweep(A, labels, n_clusters)
        if inside <= before * (1 + _GAIN):
            break
        best, before = labels, inside
        if len(np.unique(moved)) < alive:
            break
        labels = moved
    return best


def _sweep(A: sp.csr_array, labels: IntArray, n_clusters: int) -> tuple[IntArray, float]:
    """New labels, and the weight inside the given ones."""
    from soffit.partition.kernels import majority

    moved = np.empty_like(labels)

    def sweep(rows: range) -> float:
        graph = (A.indptr, A.indices, A.data)
        return float(majority(*graph, labels, n_clusters, rows.start, rows.stop, moved))

    return moved, sum(each(sweep, pieces(A.shape[0], _ROWS)))


def weights_to_clusters(A: sp.csr_array, labels: IntArray, n_clusters: int) -> sp.csr_array:
    """Total edge weight of each object to each cluster.

    The object's own cluster is always stored, even with zero weight.
    """
    from soffit.partition.kernels import weights_to_labels

    n = A.shape[0]
    labels = np.asarray(labels, dtype=np.int32)

    def count(rows: range) -> tuple[IntArray, IntArray, FloatArray]:
        graph = (A.indptr, A.indices, A.data)
        counted: tuple[IntArray, IntArray, FloatArray] = weights_to_labels(
            *graph, labels, n_clusters, rows.start, rows.stop
        )
        return counted

    parts = each(count, pieces(n, _ROWS))
    lengths, clusters, weights = (np.concatenate([part[a] for part in parts]) for a in range(3))
    places = np.concatenate([[0], np.cumsum(lengths)])
    return sp.csr_array((weights, clusters, places), shape=(n, n_clusters))


def information(A: sp.csr_array, labels: IntArray, n_clusters: int) -> float:
    r"""Mutual information between the clusters of the two ends of an edge, in nats.

    .. math:: \sum_{rs} m_{rs} \log \frac{m_{rs}}{m_r m_s}

    with m the weights between clusters as shares of the total. It is the likelihood of a
    degree-corrected block model, and ranks partitions nearly as the fits that start at them end.
    """
    weights = weights_to_clusters(A, labels, n_clusters)
    pairs = np.repeat(np.asarray(labels, dtype=np.int64) * n_clusters, np.diff(weights.indptr))
    pairs += weights.indices
    between = np.bincount(pairs, weights.data, minlength=n_clusters**2).reshape(n_clusters, -1)
    shares = between / max(between.sum(), 1e-300)
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    there = shares > 0
    return float((shares[there] * np.log(shares[there] / expected[there])).sum())
