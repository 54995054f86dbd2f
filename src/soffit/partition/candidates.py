"""A good hard partition of a graph, chosen without labels: the start of the flagship's fit.

The spectral relaxation alone cuts elongated or uneven clusters in the wrong place. Several
candidate partitions are therefore made from the same eigenvectors, some of them by cutting too
finely and merging, and a size-aware cut selects among them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log

import numpy as np
from scipy.linalg import qr, svd

from soffit._threads import each, is_late
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.graph import Graph
from soffit.partition.kmeans import kmeans

# score = log(mean conductance + _LEAST_CUT) - log(smallest cluster k/n + _LEAST_SHARE) / 3
_LEAST_CUT = 0.002
_LEAST_SHARE = 0.01
_SIZE_WEIGHT = 1.0 / 3.0
# The score of even clusters at the smallest mean conductance that counts.
RANK_OF_CLEAN_CUTS = log(2 * _LEAST_CUT)
# Single k-means runs end in different optima, and the best one is not the one with the lowest
# inertia: each is a separate candidate.
_KMEANS_STARTS = 6
# Finer cuts by k-means: groups as a multiple of the clusters, and the seed's offset.
_KMEANS_FINER = ((1.5, 0), (1.5, 1), (2.0, 0))
# A cluster below this share of an even one is a splinter, unless it has as many objects as a
# neighbourhood, as much weight per object as the rest, not a chain, and hardly any of it leaves:
# such a group is far away, but does not consist of outliers.
_SPLINTER_SHARE = 0.05
_FEWEST_OBJECTS = 15
_MOST_LEAVING = 0.01
# Merging also finds slightly smaller cuts through touching clusters: it must be clearly better.
_MARGIN_OF_MERGING = 0.2

MergeRule = Callable[[FloatArray, FloatArray], FloatArray]


def cluster_qr(V: FloatArray) -> IntArray:
    """Labels from eigenvectors by pivoted QR: no seed, no iteration."""
    k = V.shape[1]
    _, _, pivots = qr(V.T, mode="economic", pivoting=True)
    left, _, right = svd(V[pivots[:k]].T)
    return np.abs(V @ (left @ right)).argmax(axis=1)


def cluster_kmeans(V: FloatArray, *, random_state: int, n_init: int = 3) -> IntArray:
    """Labels by k-means on the rows of the eigenvectors, scaled to unit length."""
    return kmeans(unit_rows(V), V.shape[1], random_state=random_state, n_init=n_init)


def unit_rows(V: FloatArray) -> FloatArray:
    """Rows divided by their lengths; zero rows stay zero."""
    length = np.linalg.norm(V, axis=1, keepdims=True)
    return np.asarray(V / np.where(length > 0, length, 1.0), dtype=V.dtype)


def group_weights(A: Matrix, labels: IntArray, n_groups: int) -> FloatArray:
    """Total weight between every two groups."""
    return Graph.of(A).between(labels, n_groups)


def conductance_gain(between: FloatArray, volume: FloatArray) -> FloatArray:
    """Merge where the link is strong for the smaller of the two groups."""
    return np.asarray(between / np.minimum.outer(volume, volume))


def cut_gain(between: FloatArray, volume: FloatArray) -> FloatArray:
    """Merge where the sum of associations over volumes loses least."""
    inside = np.diag(between)
    joined = (inside[:, None] + inside[None, :] + 2 * between) / np.add.outer(volume, volume)
    share = inside / volume
    return np.asarray(joined - share[:, None] - share[None, :])


def merge_groups(between: FloatArray, n_clusters: int, rule: MergeRule) -> IntArray:
    """Merge groups pairwise by `rule` until `n_clusters` are left; returns group -> cluster."""
    between = between.copy()
    cluster = np.arange(len(between))
    alive = list(range(len(between)))
    while len(alive) > n_clusters:
        current = between[np.ix_(alive, alive)]
        gain = rule(current, np.maximum(current.sum(axis=1), 1e-300))
        linked = current > 0
        np.fill_diagonal(linked, False)
        # Unlinked groups are merged only when no link is left.
        gain = np.where(linked, gain, -np.inf) if linked.any() else gain
        np.fill_diagonal(gain, -np.inf)
        a, b = divmod(int(gain.argmax()), len(alive))
        keep, drop = alive[min(a, b)], alive[max(a, b)]
        between[keep] += between[drop]
        between[:, keep] += between[:, drop]
        cluster[cluster == drop] = keep
        alive.remove(drop)
    return np.searchsorted(np.array(alive), cluster)


def size_aware_cut(
    A: Matrix, labels: IntArray, n_clusters: int, *, sizes: FloatArray | None = None
) -> float:
    """Small if clusters are well separated and none of them is a splinter.

    A node may represent several objects, as given by `sizes`.
    """
    between = group_weights(A, labels, n_clusters)
    return size_aware_cut_between(between, np.bincount(labels, sizes, minlength=n_clusters))


def size_aware_cut_between(between: FloatArray, sizes: FloatArray | IntArray) -> float:
    """The same from the weights between clusters and their numbers of objects."""
    k = len(sizes)
    inside = share_inside(between)
    share = sizes.min() * k / sizes.sum()
    cut = float(np.mean(1.0 - inside))
    return float(np.log(cut + _LEAST_CUT) - _SIZE_WEIGHT * np.log(share + _LEAST_SHARE))


def share_inside(between: FloatArray) -> FloatArray:
    """The part of each group's weight that stays inside it; 0 for a group without any weight."""
    volume = between.sum(axis=1)
    return np.divide(np.diag(between), volume, out=np.zeros(len(between)), where=volume > 0)


def n_fine_vectors(n_objects: int, n_clusters: int) -> int:
    """Number of eigenvectors that the candidates need."""
    return max(min(max(4 * n_clusters, 20), n_objects // 6, 150), n_clusters)


def rounded_partitions(V: FloatArray, *, random_state: int) -> list[IntArray]:
    """As many clusters as eigenvectors, by QR and by single runs of k-means."""
    seeds = [(random_state + start) % 2**31 for start in range(_KMEANS_STARTS)]
    by_kmeans = each(lambda seed: cluster_kmeans(V, random_state=seed, n_init=1), seeds)
    return [cluster_qr(V), *by_kmeans]


def merged_partitions(
    A: Matrix, V: FloatArray, n_clusters: int, *, random_state: int
) -> list[IntArray]:
    """Finer cuts, merged down to k clusters by two rules."""
    merged = []
    for fine in _finer_cuts(V, n_clusters, random_state):
        _, group = np.unique(fine, return_inverse=True)
        n_groups = int(group.max()) + 1
        if n_groups > n_clusters:
            between = group_weights(A, group, n_groups)
            for rule in (conductance_gain, cut_gain):
                merged.append(merge_groups(between, n_clusters, rule)[group])
    return merged


def _finer_cuts(V: FloatArray, n_clusters: int, random_state: int) -> list[IntArray]:
    """Cuts into more groups than clusters: QR on all vectors, k-means on 1.5 k and 2 k of them."""
    finer = [(ceil(share * n_clusters), start) for share, start in _KMEANS_FINER]

    def cut(which: tuple[int, int]) -> IntArray:
        n_groups, start = which
        seed = (random_state + start) % 2**31
        return cluster_kmeans(V[:, :n_groups], random_state=seed, n_init=1)

    possible = [which for which in finer if n_clusters < which[0] <= V.shape[1]]
    return [cluster_qr(V), *each(cut, possible)]


@dataclass(frozen=True, eq=False)
class RankedPartition:
    """A partition, whether it has a splinter, and its size-aware cut; smaller is better."""

    labels: IntArray
    has_splinter: bool
    score: float

    @property
    def rank(self) -> tuple[bool, float]:
        """Partitions with a splinter come last."""
        return self.has_splinter, self.score


def best_partition(
    A: Matrix,
    V: FloatArray,
    n_clusters: int,
    *,
    random_state: int,
    correct: Callable[[IntArray, int], IntArray] | None = None,
    sizes: FloatArray | None = None,
) -> IntArray:
    """The candidate with the smallest size-aware cut; one with a splinter only as a last resort.

    On data with far outliers the smallest cuts separate a few outliers. With constraints, `correct`
    first adapts every candidate to them: a candidate that needs many changes has a large cut
    afterwards. `sizes` is the number of objects per node; one by default.
    """
    ranked = ranked_partitions(
        A, V, n_clusters, random_state=random_state, correct=correct, sizes=sizes
    )
    return ranked[0].labels


def ranked_partitions(
    A: Matrix,
    V: FloatArray,
    n_clusters: int,
    *,
    random_state: int,
    correct: Callable[[IntArray, int], IntArray] | None = None,
    sizes: FloatArray | None = None,
) -> list[RankedPartition]:
    """All different candidates, the best first; see `best_partition`."""
    if is_late():
        rounded, merged = [cluster_qr(V[:, :n_clusters])], []
    else:
        rounded = rounded_partitions(V[:, :n_clusters], random_state=random_state)
        merged = merged_partitions(A, V, n_clusters, random_state=random_state)
    if correct is not None:
        rounded = [correct(labels, n_clusters) for labels in rounded]
        merged = [correct(labels, n_clusters) for labels in merged]
    margins = [0.0] * len(rounded) + [_MARGIN_OF_MERGING] * len(merged)
    # The same partition may come from several rules; the first has the smallest margin.
    different: dict[bytes, tuple[IntArray, float]] = {}
    for labels, margin in zip([*rounded, *merged], margins, strict=True):
        different.setdefault(_in_order(labels).tobytes(), (labels, margin))

    def ranked(candidate: tuple[IntArray, float]) -> RankedPartition:
        labels, margin = candidate
        has_splinter, score = partition_rank(A, labels, n_clusters, sizes=sizes)
        return RankedPartition(labels, has_splinter, score + margin)

    return sorted(each(ranked, list(different.values())), key=lambda one: one.rank)


def _in_order(labels: IntArray) -> IntArray:
    """Clusters numbered by their first objects: equal for equal partitions."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[codes], dtype=np.int32)


def partition_rank(
    A: Matrix, labels: IntArray, n_clusters: int, *, sizes: FloatArray | None = None
) -> tuple[bool, float]:
    """Whether a partition has a splinter, and its size-aware cut; smaller is better."""
    counts = np.bincount(labels, sizes, minlength=n_clusters)
    between = group_weights(A, labels, n_clusters)
    small = counts < _SPLINTER_SHARE * counts.sum() / n_clusters
    apart = (counts >= _FEWEST_OBJECTS) & (1.0 - share_inside(between) <= _MOST_LEAVING)
    apart &= np.diag(between) >= 0.5 * counts * between.sum() / counts.sum()
    return bool(np.any(small & ~apart)), size_aware_cut_between(between, counts)
