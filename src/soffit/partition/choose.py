"""A partition of a graph: the best of several spectral ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from soffit._threads import check_time
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.graph import Graph, Locality, inverse_order
from soffit.normalize import degree
from soffit.partition.candidates import (
    RANK_OF_CLEAN_CUTS,
    RankedPartition,
    best_partition,
    cluster_qr,
    n_fine_vectors,
    partition_rank,
    ranked_partitions,
    unit_rows,
)
from soffit.partition.compressive import many_clusters
from soffit.partition.eigenvectors import leading_eigenvectors, regularized_eigenvectors
from soffit.partition.kmeans import single_runs
from soffit.partition.label_sweeps import information, majority_sweeps
from soffit.partition.multilevel import (
    CoarseGraph,
    are_accurate,
    coarse_graph,
    multilevel_eigenvectors,
)

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
_KMEANS_STARTS = ((32, 3), (150, 1))

Correct = Callable[[IntArray, int], IntArray]


@dataclass(frozen=True, eq=False)
class GraphPartition:
    """Labels, the first eigenvalue after the clusters (None if there is none), and an order.

    `ranked` holds all candidates with as few splinters as the labels, the best first; it is empty
    if the graph was coarsened or has very many clusters.
    """

    labels: IntArray
    eigenvalue: float | None
    locality: Locality | None
    ranked: tuple[RankedPartition, ...] = ()


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
    """
    graph = Graph.of(A)
    if not graph.is_sparse or graph.n <= _MOST_NODES:
        return _partition(graph, N, n_clusters, correct, weights)
    coarse = _coarser(graph, n_clusters, _NODES_PER_CLUSTER)
    check_time()
    sizes: FloatArray = coarse.sizes
    if weights is not None:
        sizes = np.bincount(coarse.node, weights).astype(np.float64)
    found = _partition(Graph(coarse.matrix), degree(coarse.matrix).matrix, n_clusters, None, sizes)
    labels = _better(coarse.matrix, sizes, n_clusters, found.labels)
    locality = Locality(_order(coarse, labels))
    labels = labels[coarse.node]
    labels = labels if correct is None else correct(labels, n_clusters)
    return GraphPartition(labels, found.eigenvalue, locality)


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
        runs = next(runs for most, runs in _KMEANS_STARTS if n_clusters <= most)
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
    return GraphPartition(ranked[0].labels, after, None, comparable)


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
        if graph.n > _MOST_DIRECT or are_accurate(N, values[: k + 1], V[:, : k + 1]):
            return values, V
    return leading_eigenvectors(N, n_vectors, random_state=0)


def _better(A: sp.csr_array, sizes: FloatArray, k: int, labels: IntArray) -> IntArray:
    """The given partition, or one by regularized eigenvectors if that has a better rank.

    On very many objects the usual eigenvectors may describe small groups in sparse regions. A
    partition without such groups and with almost no cut weight is accepted as it is.
    """
    rank = partition_rank(A, labels, k, sizes=sizes)
    if rank < (False, RANK_OF_CLEAN_CUTS):
        return labels
    V = _regularized(A, sizes, k)
    if V is None:
        return labels
    other = best_partition(A, V, k, random_state=0, sizes=sizes)
    return other if partition_rank(A, other, k, sizes=sizes) < rank else labels


def _regularized(A: sp.csr_array, sizes: FloatArray, k: int) -> FloatArray | None:
    """Regularized eigenvectors; None if there are too many clusters, or they do not converge."""
    n_vectors = max(n_fine_vectors(A.shape[0], k), k)
    if k < 2 or k > _MOST_VECTORS or n_vectors >= A.shape[0] - 1:
        return None
    return regularized_eigenvectors(A, sizes, n_vectors)


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
