"""Partitions into every number of clusters, all from one graph and one set of eigenvectors."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray
from soffit.partition.candidates import (
    MergeRule,
    conductance_gain,
    cut_gain,
    group_weights,
    merge_groups,
    size_aware_cut_between,
)
from soffit.partition.rounding import cluster_qr, improved_labels, unit_rows

# Clusters below this share of an even cluster are splinters; such partitions are a last resort.
_SPLINTER_SHARE = 0.05
# Merging also finds slightly smaller cuts through touching clusters: it must be clearly better.
_MARGIN_OF_MERGING = 0.2
_FINER = 1.5
_KMEANS_STEPS = 10
# Up to this number of clusters, so many of the widest are split to get one more.
_MOST_SPLIT = 30
_SPLITS = 3


class _Grouping:
    """Groups of objects with the weights between them; merged groups keep track of the objects."""

    def __init__(
        self,
        objects: IntArray,
        between: FloatArray,
        sizes: IntArray,
        cluster: IntArray | None = None,
    ) -> None:
        self._objects, self.between, self.sizes = objects, between, sizes
        # The current group of each initial group.
        self._cluster = np.arange(len(sizes)) if cluster is None else cluster

    def labels(self) -> IntArray:
        """The group of every object."""
        return np.asarray(self._cluster[self._objects], dtype=np.int64)

    def least(self, k: int) -> float:
        """The size below which one of k clusters is a splinter."""
        return float(_SPLINTER_SHARE * self.sizes.sum() / k)

    def merged(self, k: int, rule: MergeRule) -> _Grouping:
        """Merged pairwise until k groups are left."""
        if len(self.sizes) == k:
            return self
        return self._joined(merge_groups(self.between, k, rule))

    def without_splinters(self, k: int) -> _Grouping:
        """Groups too small for one of k clusters are merged, smallest first, with their closest."""
        between, sizes = self.between.copy(), self.sizes.copy()
        cluster = np.arange(len(sizes))
        alive = np.ones(len(sizes), dtype=bool)
        while alive.sum() > 1:
            small = int(np.where(alive, sizes, np.inf).argmin())
            if sizes[small] >= self.least(k):
                break
            alive[small] = False
            into = int(np.where(alive, between[small], -1.0).argmax())
            between[into] += between[small]
            between[:, into] += between[:, small]
            sizes[into] += sizes[small]
            cluster[cluster == small] = into
        if alive.all():
            return self
        return self._joined(np.unique(cluster, return_inverse=True)[1])

    def _joined(self, number: IntArray) -> _Grouping:
        n_left = int(number.max()) + 1
        indicator = np.eye(n_left)[number]
        sizes = np.bincount(number, weights=self.sizes, minlength=n_left).astype(np.int64)
        between = indicator.T @ self.between @ indicator
        return _Grouping(self._objects, between, sizes, number[self._cluster])


class PartitionPath:
    """The best partition into 1, 2, ..., `most` clusters by the size-aware cut.

    Candidates are the roundings of the first k eigenvectors, and two finer partitions merged step
    by step by two rules, which gives all numbers at once: as they are, and with splinters merged
    into the groups they are linked to most. With sparse fringes all eigenvectors describe
    splinters. With `by_splits`, the best partition into one cluster less is also split: this finds
    even clusters that touch, but in networks groups of smaller modularity.
    """

    def __init__(
        self, A: sp.csr_array, V: FloatArray, most: int, *, by_splits: bool = False
    ) -> None:
        self._A = A
        self._best: dict[int, tuple[tuple[bool, float], IntArray]] = {}
        self.most = most
        self.fine = np.unique(cluster_qr(V), return_inverse=True)[1]
        self._merge(self.fine)
        n_groups = min(ceil(_FINER * most), V.shape[1])
        finer = _improved(V[:, :n_groups], cluster_qr(V[:, :n_groups]))
        self._merge(np.unique(finer, return_inverse=True)[1])
        self._best[1] = ((False, 0.0), np.zeros(len(V), dtype=np.int64))
        for k in range(2, most + 1):
            rounded = cluster_qr(V[:, :k])
            self._offer(rounded, k)
            self._offer(_improved(V[:, :k], rounded), k)
            if by_splits and k <= _MOST_SPLIT:
                for split in _splits(V[:, :k], self.labels(k - 1)):
                    self._offer(_improved(V[:, :k], split), k)

    def labels(self, n_clusters: int) -> IntArray:
        """The partition into this number of clusters."""
        return self._best[n_clusters][1]

    def _merge(self, groups: IntArray) -> None:
        n_groups = int(groups.max()) + 1
        fine = _Grouping(groups, group_weights(self._A, groups, n_groups), np.bincount(groups))
        for rule in (conductance_gain, cut_gain):
            merged = fine
            whole = merged_whole = fine
            for k in range(min(self.most, n_groups - 1), 1, -1):
                merged = merged.merged(k, rule)
                self._keep(k, merged, margin=_MARGIN_OF_MERGING)
                larger = whole.without_splinters(k)
                # Merging continues from the current state, unless more splinters were merged.
                merged_whole = merged_whole if larger is whole else larger
                whole = larger
                if len(whole.sizes) >= k:
                    merged_whole = merged_whole.merged(k, rule)
                    self._keep(k, merged_whole, margin=_MARGIN_OF_MERGING)

    def _offer(self, labels: IntArray, k: int) -> None:
        between = group_weights(self._A, labels, k)
        self._keep(k, _Grouping(labels, between, np.bincount(labels, minlength=k)), margin=0.0)

    def _keep(self, k: int, found: _Grouping, *, margin: float) -> None:
        has_splinter = bool(found.sizes.min() < found.least(k))
        rank = (has_splinter, size_aware_cut_between(found.between, found.sizes) + margin)
        if k not in self._best or rank < self._best[k][0]:
            self._best[k] = (rank, found.labels())


def _improved(V: FloatArray, labels: IntArray) -> IntArray:
    """Labels after a few steps of k-means on the rows of unit length."""
    return improved_labels(unit_rows(V), labels, n_steps=_KMEANS_STEPS)


def _splits(V: FloatArray, labels: IntArray) -> Iterator[IntArray]:
    """One cluster more: each of the widest clusters, cut across its longest axis."""
    k = V.shape[1]
    rows = unit_rows(V)
    sizes = np.maximum(np.bincount(labels, minlength=k - 1), 1)
    centers = np.array([rows[labels == one].sum(axis=0) for one in range(k - 1)]) / sizes[:, None]
    away = rows - centers[labels]
    widths = np.bincount(labels, weights=np.sum(away**2, axis=1), minlength=k - 1)
    for widest in np.argsort(-widths, kind="stable")[:_SPLITS]:
        members = np.flatnonzero(labels == widest)
        _, axes = np.linalg.eigh(away[members].T @ away[members])
        split = labels.copy()
        split[members[away[members] @ axes[:, -1] > 0]] = k - 1
        yield split
