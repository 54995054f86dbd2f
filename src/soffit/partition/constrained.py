"""Labels corrected by side information: the start of a fit with must-link and cannot-link pairs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray, Matrix
from soffit.affinity import SideInformation
from soffit.graph import Graph, pair_components, reciprocal

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
    """

    def __init__(self, A: Matrix, side: SideInformation) -> None:
        n = side.n_objects
        self._graph = Graph.of(A)
        self._half = reciprocal(self._graph.degrees(), 0.5)[:, None]
        must, cannot = side.must, side.cannot
        component = pair_components(must[:, 0], must[:, 1], n)
        self._touched = np.unique(np.concatenate([must.ravel(), cannot.ravel()]))
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
