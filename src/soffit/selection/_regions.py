"""What the answers so far say about the regions of a graph, and what is open between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.affinity import SideInformation
from soffit.factorize import leading_eigenvectors
from soffit.factorize._partition import (
    MergeRule,
    cluster_qr,
    conductance_gain,
    cut_gain,
    group_weights,
)
from soffit.normalize import normalize

_LEAST_REGIONS = 36
_MOST_REGIONS = 150
# An object asked about before stands for its region unless another is twice as central.
_PREFER_KNOWN = 2.0
# Numbers of clusters of the committee's partitions, as multiples of the model's.
_COMMITTEE = (0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
# How far the model's own memberships count against the committee.
_SHARE_OF_MODEL = 0.5


@dataclass(frozen=True, eq=False)
class Answers:
    """Known pairs with all that follows: components of must-links, and which are told apart."""

    component: IntArray
    apart: IntArray
    touched: IntArray

    @classmethod
    def of(cls, side: SideInformation | None, n: int) -> Answers:
        none = np.empty((0, 2), dtype=np.int64)
        must, cannot = (none, none) if side is None else (side.must, side.cannot)
        links = sp.csr_array((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(n, n))
        component = connected_components(links, directed=False)[1].astype(np.int64)
        rivals = component[cannot]
        # Answers may contradict each other; must-links then prevail here.
        rivals = rivals[rivals[:, 0] != rivals[:, 1]]
        touched = np.unique(np.concatenate([must, cannot]))
        return cls(component, np.unique(_key(rivals[:, 0], rivals[:, 1], n)), touched)

    def told_apart(self, a: IntArray, b: IntArray) -> Any:
        """Whether objects are known to be in different clusters."""
        n = len(self.component)
        return np.isin(_key(self.component[a], self.component[b], n), self.apart)

    def is_open(self, a: IntArray, b: IntArray) -> Any:
        """Whether the answer about objects is not known."""
        return (self.component[a] != self.component[b]) & ~self.told_apart(a, b)

    def n_open(self) -> int:
        """Number of pairs whose answer is not known."""
        n = len(self.component)
        size = np.bincount(self.component).astype(np.int64)
        apart = np.sum(size[self.apart // n] * size[self.apart % n])
        return int(n * (n - 1) // 2 - np.sum(size * (size - 1) // 2) - apart)


def _key(a: IntArray, b: IntArray, n: int) -> IntArray:
    return np.minimum(a, b).astype(np.int64) * n + np.maximum(a, b)


# --- regions, and what answers make of them ----------------------------------------------------


@dataclass(frozen=True, eq=False)
class Regions:
    """A fine partition of the graph; every region is represented by a central object."""

    region: IntArray
    size: FloatArray
    representative: IntArray
    between: FloatArray

    @classmethod
    def of(cls, A: Matrix, n_clusters: int, answers: Answers, *, seed: int) -> Regions:
        n_regions = _number_of_regions(A.shape[0], n_clusters)
        V = leading_eigenvectors(normalize(A, "degree").matrix, n_regions, random_state=seed)[1]
        region = np.unique(cluster_qr(V), return_inverse=True)[1]
        central = _weight_inside(A, region)
        central[answers.touched] *= _PREFER_KNOWN
        order = np.lexsort((-central, region))
        first = np.flatnonzero(np.diff(region[order], prepend=-1))
        # Objects without ties are in no region in earnest, and stand for nobody.
        tied = np.asarray(A.sum(axis=1)).ravel() > 0
        size = np.bincount(region, weights=tied).astype(np.float64)
        return cls(region, size, order[first], group_weights(A, region, len(size)))


def _number_of_regions(n: int, n_clusters: int) -> int:
    """Several a cluster, of six objects or more: as many as some dozens of answers can settle."""
    wanted = min(max(4 * n_clusters, _LEAST_REGIONS), n // 6, _MOST_REGIONS)
    return min(max(wanted, 2 * n_clusters), n)


def _weight_inside(A: Matrix, region: IntArray) -> FloatArray:
    """Sum of every object's affinities to its own region."""
    n = len(region)
    if is_sparse(A):
        rows = np.repeat(np.arange(n), np.diff(A.indptr))
        inside = region[rows] == region[A.indices]
        return np.bincount(rows[inside], A.data[inside], minlength=n).astype(np.float64)
    total = np.zeros(n)
    for number in range(int(region.max()) + 1):
        members = np.flatnonzero(region == number)
        total[members] = A[np.ix_(members, members)].sum(axis=1)
    return total


@dataclass(frozen=True, eq=False)
class Groups:
    """Regions, joined where their representatives are known to belong together."""

    group: IntArray
    size: FloatArray
    speaker: IntArray
    memberships: FloatArray
    between: FloatArray
    apart: Any

    @classmethod
    def of(cls, regions: Regions, memberships: FloatArray, answers: Answers) -> Groups:
        n, n_regions = len(memberships), len(regions.size)
        component = answers.component[regions.representative]
        group = np.unique(component, return_inverse=True)[1]
        size = np.bincount(group, weights=regions.size).astype(np.float64)
        # The largest region of a group speaks for it.
        order = np.lexsort((-regions.size, group))
        speaker = regions.representative[order[np.flatnonzero(np.diff(group[order], prepend=-1))]]
        joined = sp.csr_array(
            (np.ones(n_regions), (group, np.arange(n_regions))), shape=(len(size), n_regions)
        )
        inside = sp.csr_array((np.ones(n), (group[regions.region], np.arange(n))))
        mean = (inside @ memberships) / np.asarray(inside.sum(axis=1)).reshape(-1, 1)
        between = np.asarray(joined @ regions.between @ joined.T)
        apart = answers.told_apart(speaker[:, None], speaker[None, :])
        return cls(group, size, speaker, mean, between, apart)


def chance_together(groups: Groups, n_clusters: int) -> FloatArray:
    """Probability that two groups are in one cluster: the model's and the committee's."""
    by_model = groups.memberships @ groups.memberships.T
    levels = sorted({max(round(share * n_clusters), 2) for share in _COMMITTEE})
    levels = [level for level in levels if level < len(groups.size)]
    if not levels:
        return np.asarray(by_model)
    votes = np.zeros_like(by_model)
    for rule in (conductance_gain, cut_gain):
        for labels in _merged(groups.between, groups.apart, levels, rule):
            votes += labels[:, None] == labels[None, :]
    by_committee = votes / (2 * len(levels))
    return np.asarray(_SHARE_OF_MODEL * by_model + (1.0 - _SHARE_OF_MODEL) * by_committee)


def _merged(between: FloatArray, apart: Any, levels: list[int], rule: MergeRule) -> list[IntArray]:
    """Groups joined two at a time, but none that are told apart; labels at each level."""
    between, apart = between.copy(), apart.copy()
    cluster = np.arange(len(between))
    alive = np.arange(len(between))
    found: list[IntArray] = []
    for level in reversed(levels):
        while len(alive) > level:
            current = between[np.ix_(alive, alive)]
            allowed = (current > 0) & ~apart[np.ix_(alive, alive)]
            np.fill_diagonal(allowed, False)
            if not allowed.any():
                break
            gain = rule(current, np.maximum(current.sum(axis=1), 1e-300))
            best = int(np.where(allowed, gain, -np.inf).argmax())
            keep, drop = sorted(alive[list(divmod(best, len(alive)))])
            between[keep] += between[drop]
            between[:, keep] += between[:, drop]
            apart[keep] |= apart[drop]
            apart[:, keep] |= apart[:, drop]
            cluster[cluster == drop] = keep
            alive = alive[alive != drop]
        found.append(cluster.copy())
    return found
