"""Labels and edges: sweeps that improve labels, and corrections by must-link and cannot-link."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.affinity import SideInformation
from soffit.graph import Graph, pair_components, reciprocal

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


# A violated cannot-link outweighs this many members that have to move.
_PRICE = 10.0
# Lazy steps by which corrected objects influence the others.
_STEPS = 10


class Correction:
    """Corrects partitions of one graph by the same pairs.

    Objects joined by must-links move together. Each such group takes the cluster of most of its
    members among those that violate no cannot-link, large groups first. Then the labels of objects
    without pairs take a few random-walk steps on the graph, with the corrected ones fixed, so that
    the neighbourhood of a corrected object follows it.

    Parameters
    ----------
    A : array or CSR of shape (n, n)
        Affinities.
    side : SideInformation
        The pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import SideInformation
    >>> from soffit.factorize import Correction
    >>> blocks = np.kron(np.eye(2), np.ones((3, 3)))
    >>> side = SideInformation.of([(0, 2)], [(2, 3)], 6)
    >>> Correction(blocks, side)(np.array([0, 0, 1, 1, 1, 1]), 2)
    array([0, 0, 0, 1, 1, 1])
    """

    def __init__(self, A: Matrix, side: SideInformation) -> None:
        n = side.n_objects
        self._graph = Graph.of(A)
        self._half = reciprocal(self._graph.degrees(), 0.5)[:, None]
        must, cannot = side.must, side.cannot
        component = pair_components(must[:, 0], must[:, 1], n)
        self._touched = side.touched()
        numbers, self._group = np.unique(component[self._touched], return_inverse=True)
        self._n_groups = len(numbers)
        self._order = np.argsort(-np.bincount(self._group), kind="stable")
        place = np.searchsorted(numbers, component[cannot])
        shape = (self._n_groups, self._n_groups)
        apart = sp.csr_array((np.ones(len(cannot)), (place[:, 0], place[:, 1])), shape=shape)
        self._apart = sp.csr_array(apart + apart.T)
        self._apart.sort_indices()

    def __call__(self, labels: IntArray, n_clusters: int) -> IntArray:
        """The corrected labels."""
        from soffit.partition.kernels import assign_groups

        wish = np.zeros((self._n_groups, n_clusters))
        np.add.at(wish, (self._group, labels[self._touched]), 1.0)
        cluster = np.empty(self._n_groups, dtype=np.int64)
        C = self._apart
        assign_groups(self._order, C.indptr, C.indices, C.data, wish, _PRICE, cluster)
        corrected = np.array(labels)
        corrected[self._touched] = cluster[self._group]
        return self._carried_along(corrected, n_clusters)

    def _carried_along(self, labels: IntArray, n_clusters: int) -> IntArray:
        fixed: FloatArray = np.eye(n_clusters, dtype=self._graph.dtype)[labels]
        W = fixed.copy()
        stay = np.where(self._half > 0, 0.5, 1.0).astype(W.dtype)
        for _ in range(_STEPS):
            W = stay * W + (self._half * self._graph.product(W)).astype(W.dtype)
            W[self._touched] = fixed[self._touched]
        return W.argmax(axis=1)
