"""Partitions into every number of clusters, all from one graph and one set of eigenvectors."""

from __future__ import annotations

from math import ceil

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray
from soffit.factorize._partition import (
    MergeRule,
    cluster_qr,
    conductance_gain,
    cut_gain,
    merge_groups,
    size_aware_cut_between,
    unit_rows,
)

# Below this share of an even one a cluster is a splinter, and its partition only a last resort.
_SPLINTER_SHARE = 0.05
# Merging finds slightly smaller cuts through touching clusters, too: it must be clearly better.
_MARGIN_OF_MERGING = 0.2
_FINER = 1.5
_KMEANS_STEPS = 10


class Links:
    """The links of a graph as a list, for sums over them by cluster."""

    def __init__(self, A: sp.csr_array) -> None:
        self._rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        self._columns, self._weight = A.indices, A.data

    def between(self, labels: IntArray, k: int) -> FloatArray:
        """Total weight between every two clusters."""
        pair = labels[self._rows] * k + labels[self._columns]
        total = np.bincount(pair, weights=self._weight, minlength=k * k)
        return np.asarray(total.reshape(k, k), dtype=np.float64)


class PartitionPath:
    """The best partition into 1, 2, ..., `most` clusters by the size-aware cut.

    Candidates are the roundings of the first k eigenvectors, and two finer cuts merged step by
    step by two rules, which gives all numbers at once.
    """

    def __init__(self, A: sp.csr_array, V: FloatArray, most: int) -> None:
        self._links = Links(A)
        self._best: dict[int, tuple[tuple[bool, float], IntArray]] = {}
        self.most = most
        self.fine = np.unique(cluster_qr(V), return_inverse=True)[1]
        self._merge(self.fine)
        n_groups = min(ceil(_FINER * most), V.shape[1])
        finer = _kmeans(V[:, :n_groups], cluster_qr(V[:, :n_groups]))
        self._merge(np.unique(finer, return_inverse=True)[1])
        for k in range(2, most + 1):
            rounded = cluster_qr(V[:, :k])
            self._offer(rounded, k)
            self._offer(_kmeans(V[:, :k], rounded), k)
        self._best[1] = ((False, 0.0), np.zeros(len(V), dtype=np.int64))

    def labels(self, n_clusters: int) -> IntArray:
        """The partition into this number of clusters."""
        return self._best[n_clusters][1]

    def _merge(self, groups: IntArray) -> None:
        n_groups = int(groups.max()) + 1
        between = self._links.between(groups, n_groups)
        sizes = np.bincount(groups)
        for rule in (conductance_gain, cut_gain):
            self._merge_by(rule, groups, between, sizes, min(self.most, n_groups - 1))

    def _merge_by(
        self, rule: MergeRule, groups: IntArray, between: FloatArray, sizes: IntArray, most: int
    ) -> None:
        for k in range(most, 1, -1):
            cluster = merge_groups(between, k, rule)
            indicator = np.eye(k)[cluster]
            between = indicator.T @ between @ indicator
            sizes = np.bincount(cluster, weights=sizes, minlength=k).astype(np.int64)
            groups = cluster[groups]
            self._keep(k, between, sizes, groups, margin=_MARGIN_OF_MERGING)

    def _offer(self, labels: IntArray, k: int) -> None:
        between = self._links.between(labels, k)
        self._keep(k, between, np.bincount(labels, minlength=k), labels, margin=0.0)

    def _keep(
        self, k: int, between: FloatArray, sizes: IntArray, labels: IntArray, *, margin: float
    ) -> None:
        has_splinter = bool(sizes.min() * k < _SPLINTER_SHARE * sizes.sum())
        rank = (has_splinter, size_aware_cut_between(between, sizes) + margin)
        if k not in self._best or rank < self._best[k][0]:
            self._best[k] = (rank, np.asarray(labels, dtype=np.int64))


def _kmeans(V: FloatArray, labels: IntArray) -> IntArray:
    """Labels made better by a few steps of k-means on the rows, made unit length."""
    points = unit_rows(V)
    k = V.shape[1]
    for _ in range(_KMEANS_STEPS):
        sizes = np.bincount(labels, minlength=k)
        indicator = sp.csr_array(
            (np.ones(len(labels), dtype=V.dtype), (labels, np.arange(len(labels)))),
            shape=(k, len(labels)),
        )
        centers = (indicator @ points) / np.maximum(sizes, 1)[:, None]
        # The squared length of a point is the same for all centers.
        distance = np.sum(centers**2, axis=1) - 2.0 * points @ centers.T
        distance[:, sizes == 0] = np.inf
        moved = distance.argmin(axis=1)
        if np.array_equal(moved, labels):
            break
        labels = moved
    return labels
