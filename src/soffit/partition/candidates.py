"""A good hard partition of a graph, chosen without labels: the start of a fit.

The spectral relaxation alone cuts elongated or uneven clusters in the wrong place. Several
candidate partitions are therefore made from the same eigenvectors, some of them by cutting too
finely and merging, and a size-aware cut selects among them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, log

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from soffit._kept import remembered
from soffit._threads import check_time, each, is_late
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.affinity.distinct import Codes, mixed
from soffit.graph import Graph, Locality, inverse_order, reciprocal
from soffit.normalize import degree
from soffit.partition.compressive import many_clusters
from soffit.partition.eigenvectors import leading_eigenvectors
from soffit.partition.label_sweeps import information, majority_sweeps
from soffit.partition.multilevel import (
    CoarseGraph,
    are_accurate,
    coarse_graph,
    has_accurate_span,
    multilevel_eigenvectors,
    regularized_eigenvectors,
)
from soffit.partition.rounding import cluster_kmeans, cluster_qr, single_runs, unit_rows

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
    cluster = np.arange(len(between))
    for left in range(len(between), n_clusters, -1):
        gain = rule(between, np.maximum(between.sum(axis=1), 1e-300))
        linked = between > 0
        linked.flat[:: left + 1] = False
        # Unlinked groups are merged only when no link is left.
        gain = np.where(linked, gain, -np.inf) if linked.any() else gain
        gain.flat[:: left + 1] = -np.inf
        a, b = divmod(int(gain.argmax()), left)
        keep, drop = min(a, b), max(a, b)
        others = np.arange(left) != drop
        merged = between[:, others]
        merged[:, keep] += between[:, drop]
        between = merged[others]
        between[keep] += merged[drop]
        cluster[cluster == drop] = keep
        cluster[cluster > drop] -= 1
    return cluster


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
    """Number of eigenvectors that the candidates need.

    Parameters
    ----------
    n_objects, n_clusters : int
        Their numbers.

    Returns
    -------
    int
        At least `n_clusters`.

    Examples
    --------
    >>> from soffit.factorize import n_fine_vectors
    >>> n_fine_vectors(1000, 5) >= 5
    True
    """
    return max(min(max(4 * n_clusters, 20), n_objects // 6, 150), n_clusters)


def rounded_partitions(V: FloatArray, *, random_state: int) -> list[IntArray]:
    """As many clusters as eigenvectors, by QR and by single runs of k-means."""
    seeds = [(random_state + start) % 2**31 for start in range(_KMEANS_STARTS)]
    return [cluster_qr(V), *single_runs(unit_rows(V), V.shape[1], seeds)]


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

    Parameters
    ----------
    A : array or CSR of shape (n, n)
        Affinities.
    V : array of shape (n, m)
        Leading eigenvectors; `n_fine_vectors` says how many.
    n_clusters : int
        Number of clusters.
    random_state : int
        Seeds k-means.
    correct : callable, optional
        Adapts labels to the constraints.
    sizes : array of shape (n,), optional
        Number of objects per node.

    Returns
    -------
    int array of shape (n,)
        A cluster for each object.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import best_partition, leading_eigenvectors
    >>> A = np.kron(np.eye(2), np.ones((3, 3)))
    >>> V = leading_eigenvectors(A / 3, 2)[1]
    >>> np.bincount(best_partition(A, V, 2, random_state=0))
    array([3, 3])
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


# Up to the first size eigenvectors come from Lanczos iterations, above the second from coarser
# graphs; in between from coarser graphs where these describe the clusters accurately.
_FEW_DIRECT, _MOST_DIRECT = 3_000, 20_000
# Larger graphs are coarsened before they are partitioned.
_MOST_NODES = 40_000
# For more clusters, eigenvectors would cost more than the fit.
_MOST_VECTORS = 150
# Minimum number of coarse nodes per cluster; more if labels are swept afterwards.
_NODES_PER_CLUSTER = 8
_NODES_PER_SWEPT_CLUSTER = 40
# Below this share of an even cluster, the smallest one may consist of outliers.
_SMALL_SHARE = 0.1
# Runs of k-means, for at most this many clusters.
_KMEANS_RUNS = ((32, 3), (150, 1))

Correct = Callable[[IntArray, int], IntArray]


@dataclass(frozen=True, eq=False)
class GraphPartition:
    """Labels, the first eigenvalue after the clusters (None if there is none), and an order.

    `ranked` holds all candidates with as few splinters as the labels, the best first; it is empty
    if the graph was coarsened or has very many clusters. `vectors` are the eigenvectors of a graph
    that was not coarsened.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import graph_partition
    >>> blocks = np.kron(np.eye(2), np.ones((3, 3)))
    >>> np.bincount(graph_partition(blocks, blocks / 3, 2).labels)
    array([3, 3])
    """

    labels: IntArray
    eigenvalue: float | None
    locality: Locality | None
    ranked: tuple[RankedPartition, ...] = ()
    vectors: FloatArray | None = None


def graph_partition(
    A: Matrix,
    N: Matrix,
    n_clusters: int,
    *,
    correct: Correct | None = None,
    weights: FloatArray | None = None,
) -> GraphPartition:
    """A good partition into k clusters, chosen without labels; no object may be isolated.

    Parameters
    ----------
    A, N : array or CSR of shape (n, n)
        Affinities, and the same normalized by degrees.
    n_clusters : int
        Number of clusters.
    correct : callable, optional
        Adapts labels to the constraints.
    weights : array of shape (n,), optional
        Weights of the objects, 1 on average.

    Returns
    -------
    GraphPartition
        Labels, and the eigenvectors from which they come.

    Examples
    --------
    >>> from soffit.affinity import NeighborGraph
    >>> from soffit.datasets import make_gaussians
    >>> from soffit.factorize import graph_partition
    >>> from soffit.metrics import adjusted_rand
    >>> from soffit.normalize import normalize
    >>> X, labels, _ = make_gaussians(90, n_clusters=3, separation=9.0, random_state=7)
    >>> A = NeighborGraph(10).fit(X).matrix_
    >>> found = graph_partition(A, normalize(A, "degree").matrix, 3)
    >>> adjusted_rand(labels, found.labels)
    1.0
    """
    graph = Graph.of(A)
    if not graph.is_sparse or graph.n <= _MOST_NODES:
        return _partition(graph, N, n_clusters, correct, weights)
    found = remembered(
        *("coarse partition", graph.n, (graph.csr, n_clusters, weights)),
        lambda: _coarse_partition(graph, n_clusters, weights),
    )
    labels = found.labels if correct is None else correct(found.labels.copy(), n_clusters)
    return replace(found, labels=labels)


def _coarse_partition(graph: Graph, n_clusters: int, weights: FloatArray | None) -> GraphPartition:
    """The partition of a large graph by a coarser one, before pairs correct it."""
    coarse = _coarser(graph, n_clusters, _NODES_PER_CLUSTER)
    check_time()
    sizes: FloatArray = coarse.sizes
    if weights is not None:
        sizes = np.bincount(coarse.node, weights).astype(np.float64)
    found = _partition(Graph(coarse.matrix), degree(coarse.matrix).matrix, n_clusters, None, sizes)
    labels = _better(coarse.matrix, sizes, n_clusters, found)
    locality = Locality(_order(coarse, labels))
    return GraphPartition(labels[coarse.node], found.eigenvalue, locality)


def informative_partition(A: Matrix, n_clusters: int) -> IntArray:
    """The most informative of some partitions of a coarser graph, refined on the graph itself.

    Labels of coarse nodes are often wrong for some of their objects; a few sweeps over the edges
    correct this. No object may be isolated.
    """
    graph = Graph.of(A)
    coarse = _coarser(graph, n_clusters, _NODES_PER_SWEPT_CLUSTER)
    if n_clusters > _MOST_VECTORS:
        N = degree(coarse.matrix).matrix
        found = [many_clusters(N, n_clusters, random_state=0)[0]]
    else:
        runs = next(runs for most, runs in _KMEANS_RUNS if n_clusters <= most)
        found = spectral_partitions(coarse.matrix, n_clusters, n_kmeans=runs)
    swept = [majority_sweeps(graph.csr, labels[coarse.node], n_clusters) for labels in found]
    scores = [information(graph.csr, labels, n_clusters) for labels in swept]
    return swept[int(np.argmax(scores))]


def _coarser(graph: Graph, n_clusters: int, per_cluster: int) -> CoarseGraph:
    """A graph with few enough nodes for eigenvectors, and enough of them per cluster."""
    return coarse_graph(graph.csr, max(_MOST_NODES, per_cluster * n_clusters))


def _partition(
    graph: Graph, N: Matrix, k: int, correct: Correct | None, sizes: FloatArray | None
) -> GraphPartition:
    A, n = graph.matrix, graph.n
    is_large = graph.is_sparse and n > _MOST_DIRECT
    if is_large and k > _MOST_VECTORS:
        labels, eigenvalue = many_clusters(N, k, random_state=0)
        return GraphPartition(labels if correct is None else correct(labels, k), eigenvalue, None)
    n_vectors = max(n_fine_vectors(n, k), min(k + 1, n))
    values, V = _eigenvectors(graph, N, n_vectors, k)
    check_time()
    ranked = ranked_partitions(A, V, k, random_state=0, correct=correct, sizes=sizes)
    if graph.is_sparse and _may_be_outliers(ranked[0], k, sizes):
        raised = _regularized(graph.csr, np.ones(n) if sizes is None else sizes, k)
        if raised is not None:
            more = ranked_partitions(A, raised, k, random_state=0, correct=correct, sizes=sizes)
            ranked = sorted([*ranked, *more], key=lambda one: one.rank)
    comparable = tuple(one for one in ranked if one.has_splinter == ranked[0].has_splinter)
    after = float(values[k]) if len(values) > k else None
    return GraphPartition(ranked[0].labels, after, None, comparable, V)


def _may_be_outliers(best: RankedPartition, k: int, sizes: FloatArray | None) -> bool:
    """Whether the smallest cluster is so small that the eigenvectors may describe outliers.

    Raised degrees make outliers less conspicuous. Clusters with almost no cut weight are accepted.
    """
    counts = np.bincount(best.labels, sizes, minlength=k)
    return bool(
        counts.min() * k < _SMALL_SHARE * counts.sum() and best.rank >= (False, RANK_OF_CLEAN_CUTS)
    )


def _eigenvectors(graph: Graph, N: Matrix, n_vectors: int, k: int) -> tuple[FloatArray, FloatArray]:
    if graph.is_sparse and graph.n > _FEW_DIRECT:
        values, V = multilevel_eigenvectors(graph.csr, n_vectors, random_state=0)
        # Elongated clusters have eigenvalues close to 1, which a coarser graph confuses.
        if (
            graph.n > _MOST_DIRECT
            or has_accurate_span(N, values, V, k)
            or are_accurate(N, values[: k + 1], V[:, : k + 1])
        ):
            return values, V
    return leading_eigenvectors(N, n_vectors, random_state=0)


def _better(A: sp.csr_array, sizes: FloatArray, k: int, found: GraphPartition) -> IntArray:
    """The given partition, or one by regularized eigenvectors if that has a better rank.

    On very many objects the usual eigenvectors may describe small groups in sparse regions. A
    partition without such groups and with almost no cut weight is accepted as it is.
    """
    labels = found.labels
    rank = partition_rank(A, labels, k, sizes=sizes)
    if rank < (False, RANK_OF_CLEAN_CUTS):
        return labels
    V = _regularized(A, sizes, k, near=found.vectors)
    if V is None:
        return labels
    other = best_partition(A, V, k, random_state=0, sizes=sizes)
    return other if partition_rank(A, other, k, sizes=sizes) < rank else labels


def _regularized(
    A: sp.csr_array, sizes: FloatArray, k: int, near: FloatArray | None = None
) -> FloatArray | None:
    """Regularized eigenvectors; None if there are too many clusters, or they do not converge."""
    n_vectors = max(n_fine_vectors(A.shape[0], k), k)
    if k < 2 or k > _MOST_VECTORS or n_vectors >= A.shape[0] - 1:
        return None
    return regularized_eigenvectors(A, sizes, n_vectors, near=near, n_clusters=k)


def _order(coarse: CoarseGraph, labels: IntArray) -> IntArray:
    """Objects by the cluster of their node, then by its position in a bandwidth-reducing order."""
    narrow = reverse_cuthill_mckee(sp.csr_matrix(coarse.matrix), symmetric_mode=True)
    narrow = narrow[np.argsort(labels[narrow], kind="stable")]
    place = inverse_order(narrow, np.int32)
    return np.argsort(place[coarse.node], kind="stable").astype(np.int32)


def partitions_of_linked(
    A: Matrix, n_clusters: int, find: Callable[[Matrix], list[IntArray]]
) -> list[IntArray]:
    """Apply `find` to the graph of linked objects; isolated ones are spread evenly.

    If there are not more linked objects than clusters, each gets its own cluster.
    """
    n = A.shape[0]
    graph = Graph.of(A)
    linked = graph.linked()
    assigned: IntArray = np.arange(n) % n_clusters
    if len(linked) <= n_clusters:
        assigned[linked] = np.arange(len(linked))
        return [assigned]
    if len(linked) == n:
        return find(A)
    partitions = []
    for labels in find(graph.subgraph(linked).matrix):
        everywhere = assigned.copy()
        everywhere[linked] = labels
        partitions.append(everywhere)
    return partitions


def spectral_partitions(A: Matrix, n_clusters: int, *, n_kmeans: int) -> list[IntArray]:
    """Labels from the eigenvectors by QR, and by `n_kmeans` single runs of k-means."""
    _, V = leading_eigenvectors(degree(A).matrix, n_clusters)
    # Fixed seeds: the spectral starts are the same for every random_state.
    return [cluster_qr(V), *single_runs(unit_rows(V), n_clusters, range(n_kmeans))]


# --- the order of the objects ---------------------------------------------------------------------

# Rounds, at most, in which an object's code takes up those of its neighbours.
_ROUNDS = 3
# Dense matrices of more objects keep their order: a copy in another order would take much memory.
_MOST_DENSE = 2_000


# Columns by which objects with the same links are told apart.
_MOST_COLUMNS = 32


def linked_objects(A: Matrix, table: FloatArray | None = None) -> IntArray:
    """Numbers of the objects with links, in an order that depends on the graph alone.

    What is drawn at random, and what is done in turn, follows this order: objects in another order
    have the same clusters. An object's code is the sum of the codes of its links modulo 2**64, so
    that their order does not matter; a link's code mixes its weight with the code of its other end
    in the last round. Objects that no round tells apart are in the order of the values in their
    rows of the table, or of their numbers without one. So are, by their numbers, the objects of
    graphs that are coarsened first and of large dense matrices.

    Parameters
    ----------
    A : array or CSR of shape (n, n)
        Symmetric affinities.
    table : array of shape (n, d), optional
        Features of the objects.
    """
    graph = Graph.of(A)
    linked = graph.linked()
    if len(linked) < 2 or graph.n > (_MOST_NODES if graph.is_sparse else _MOST_DENSE):
        return linked
    # One way for both storages: their codes are the same.
    links = graph.csr if graph.is_sparse else sp.csr_array(graph.matrix)
    codes = _codes(links)[linked]
    order = np.argsort(codes, kind="stable")
    same = np.zeros(len(order) + 1, dtype=bool)
    same[1:-1] = np.diff(codes[order]) == 0
    alike = np.flatnonzero(same[1:] | same[:-1])
    if table is not None and len(alike):
        among = order[alike]
        values = table[linked[among], :_MOST_COLUMNS]
        order[alike] = among[np.lexsort((*values.T[::-1], codes[among]))]
    return np.asarray(linked[order])


def ranked_objects(A: Matrix) -> IntArray:
    """The same, in an order that a change of the last digits of A hardly changes.

    Objects are ranked by their degrees, those of their neighbours and so on, rounded; objects of
    equal rank are in the order of their numbers. A fixed permutation follows, so that places say
    nothing about degrees.

    Parameters
    ----------
    A : array or CSR of shape (n, n)
        Symmetric affinities.
    """
    graph = Graph.of(A)
    linked = graph.linked()
    if len(linked) < 2 or graph.n > (_MOST_NODES if graph.is_sparse else _MOST_DENSE):
        return linked
    degrees = graph.degrees().astype(np.float64)
    inverse = reciprocal(degrees)
    value = degrees / degrees.max()
    for _ in range(_ROUNDS):
        around = np.asarray(graph.product((value**2)[:, None])).ravel()
        value = value + inverse * around
    order = np.argsort(np.round(value[linked] / value.max(), 9), kind="stable")
    return np.asarray(linked[order[np.random.RandomState(0).permutation(len(order))]])


def order_of_graph(A: Matrix) -> Locality | None:
    """The order of `ranked_objects`, then those without links; None if it is the given one."""
    return Locality.beginning_with(ranked_objects(A), A.shape[0])


def _codes(A: sp.csr_array) -> Codes:
    """Codes of all objects, in as few rounds as tell them apart."""
    links = np.where(A.data != 0, mixed(_rounded_bits(A.data)), np.uint64(0))
    codes = np.zeros(A.shape[0], dtype=np.uint64)
    for _ in range(_ROUNDS):
        sums = np.zeros(len(links) + 1, dtype=np.uint64)
        np.cumsum(links * mixed(codes + np.uint64(1))[A.indices], out=sums[1:])
        codes = mixed(codes + sums[A.indptr[1:]] - sums[A.indptr[:-1]])
        if len(np.unique(codes)) == len(codes):
            break
    return codes


def _rounded_bits(weights: NDArray[np.floating]) -> Codes:
    """The first digits of each weight over the largest: others depend on precision and sums."""
    bits = (weights / weights.max()).astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(1 << 11)) >> np.uint32(12)).astype(np.uint64)
