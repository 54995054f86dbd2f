"""A partition of a graph: the best of several spectral ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from soffit._threads import each
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.graph import Locality
from soffit.normalize import degree, normalize
from soffit.partition.candidates import (
    RANK_OF_CLEAN_CUTS,
    best_partition,
    cluster_kmeans,
    cluster_qr,
    n_fine_vectors,
    partition_rank,
)
from soffit.partition.compressive import many_clusters
from soffit.partition.eigenvectors import leading_eigenvectors, regularized_eigenvectors
from soffit.partition.multilevel import coarse_graph, multilevel_eigenvectors

# Up to here eigenvectors come from Lanczos iterations, above by way of coarser graphs.
_MOST_DIRECT = 20_000
# Larger graphs are made coarser before they are partitioned.
_MOST_NODES = 40_000
# Eigenvectors of more clusters than these would cost more than the fit.
_MOST_VECTORS = 150

Correct = Callable[[IntArray, int], IntArray]


@dataclass(frozen=True, eq=False)
class GraphPartition:
    """Labels, the first eigenvalue behind the clusters (None if there is none), and an order."""

    labels: IntArray
    eigenvalue: float | None
    locality: Locality | None


def graph_partition(
    A: Matrix, N: Matrix, n_clusters: int, *, correct: Correct | None = None
) -> GraphPartition:
    """A good partition into k clusters, chosen without labels; every object has a tie.

    Parameters
    ----------
    A, N : array or CSR of shape (n, n)
        Affinities, and the same normalized by degrees.
    n_clusters : int
        Clusters.
    correct : callable, optional
        Brings labels into line with what is known about the clusters.
    """
    n = A.shape[0]
    if not is_sparse(A) or n <= _MOST_NODES:
        labels, eigenvalue = _partition(A, N, n_clusters, correct, None)
        return GraphPartition(labels, eigenvalue, None)
    coarse, node = coarse_graph(A, max(_MOST_NODES, 8 * n_clusters))
    sizes = np.bincount(node).astype(np.float64)
    coarse_labels, eigenvalue = _partition(
        coarse, normalize(coarse, "degree").matrix, n_clusters, None, sizes
    )
    coarse_labels = _better(coarse, sizes, n_clusters, coarse_labels)
    labels = coarse_labels[node]
    labels = labels if correct is None else correct(labels, n_clusters)
    return GraphPartition(labels, eigenvalue, Locality(_order(coarse, coarse_labels, node)))


def _partition(
    A: Matrix, N: Matrix, k: int, correct: Correct | None, sizes: FloatArray | None
) -> tuple[IntArray, float | None]:
    n = A.shape[0]
    if is_sparse(A) and k > _MOST_VECTORS and n > _MOST_DIRECT:
        labels, eigenvalue = many_clusters(N, k, random_state=0)
        return (labels if correct is None else correct(labels, k)), eigenvalue
    n_vectors = max(n_fine_vectors(n, k), min(k + 1, n))
    if is_sparse(A) and n > _MOST_DIRECT:
        values, V = multilevel_eigenvectors(A, n_vectors, random_state=0)
    else:
        values, V = leading_eigenvectors(N, n_vectors, random_state=0)
    labels = best_partition(A, V, k, random_state=0, correct=correct, sizes=sizes)
    return labels, float(values[k]) if len(values) > k else None


def _better(A: sp.csr_array, sizes: FloatArray, k: int, labels: IntArray) -> IntArray:
    """The given partition, or one by regularized eigenvectors if that has the better rank.

    On very many objects the usual eigenvectors may describe small groups in sparse regions. A
    partition without such groups that cuts next to nothing is not questioned.
    """
    rank = partition_rank(A, labels, k, sizes=sizes)
    if rank < (False, RANK_OF_CLEAN_CUTS):
        return labels
    n_vectors = max(n_fine_vectors(A.shape[0], k), k)
    if k < 2 or k > _MOST_VECTORS or n_vectors >= A.shape[0] - 1:
        return labels
    V = regularized_eigenvectors(A, sizes, n_vectors)
    if V is None:
        return labels
    other = best_partition(A, V, k, random_state=0, sizes=sizes)
    return other if partition_rank(A, other, k, sizes=sizes) < rank else labels


def _order(coarse: sp.csr_array, labels: IntArray, node: IntArray) -> IntArray:
    """Objects by the cluster of their node, then by its place in a narrow order of the nodes."""
    narrow = reverse_cuthill_mckee(sp.csr_matrix(coarse), symmetric_mode=True)
    narrow = narrow[np.argsort(labels[narrow], kind="stable")]
    place = np.empty(len(narrow), dtype=np.int32)
    place[narrow] = np.arange(len(narrow))
    return np.argsort(place[node], kind="stable").astype(np.int32)


def partitions_of_tied(
    A: Matrix, n_clusters: int, find: Callable[[Matrix], list[IntArray]]
) -> list[IntArray]:
    """What `find` makes of the graph of tied objects; the others are dealt out evenly.

    Where there are not more tied objects than clusters, each has one of its own.
    """
    n = A.shape[0]
    tied = np.flatnonzero(np.asarray(A.sum(axis=1)).ravel() > 0)
    dealt: IntArray = np.arange(n) % n_clusters
    if len(tied) <= n_clusters:
        dealt[tied] = np.arange(len(tied))
        return [dealt]
    if len(tied) == n:
        return find(A)
    partitions = []
    for labels in find(A[tied][:, tied]):
        everywhere = dealt.copy()
        everywhere[tied] = labels
        partitions.append(everywhere)
    return partitions


def spectral_partitions(A: Matrix, n_clusters: int, *, n_kmeans: int) -> list[IntArray]:
    """Labels from the eigenvectors by QR, and by so many single runs of k-means."""
    _, V = leading_eigenvectors(degree(A).matrix, n_clusters)
    # Fixed seeds: the spectral starts are the same for every random_state.
    by_kmeans = each(lambda seed: cluster_kmeans(V, random_state=seed, n_init=1), range(n_kmeans))
    return [cluster_qr(V), *by_kmeans]
