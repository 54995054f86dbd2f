"""Starting points: rows on the simplex from random numbers, labels, eigenvectors or walks."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from soffit._typing import FloatArray, IntArray, Matrix
from soffit.affinity.side_information import without_negative
from soffit.graph import Graph, reciprocal, without_diagonal
from soffit.normalize import degree
from soffit.partition.candidates import graph_partition, order_of_graph, partitions_of_linked
from soffit.partition.eigenvectors import leading_eigenvectors
from soffit.partition.rounding import cluster_kmeans, cluster_qr


def project_rows(V: FloatArray) -> FloatArray:
    """The nearest matrix whose rows are nonnegative and sum to one."""
    k = V.shape[1]
    ordered = -np.sort(-V, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1.0
    positive = ordered * np.arange(1, k + 1, dtype=V.dtype) > excess
    last = k - 1 - np.argmax(positive[:, ::-1], axis=1)
    shift = excess[np.arange(len(V)), last] / (last + 1).astype(V.dtype)
    return make_rows_sum_to_one(np.maximum(V - shift[:, None], 0.0))


def make_rows_sum_to_one(W: FloatArray) -> FloatArray:
    """Divide nonnegative rows by their sums; an all-zero row becomes uniform."""
    sums = W.sum(axis=1, keepdims=True)
    safe = np.where(sums > 0, sums, 1.0)
    uniform = np.asarray(1.0 / W.shape[1], dtype=W.dtype)
    return np.asarray(np.where(sums > 0, W / safe, uniform), dtype=W.dtype)


# Share that a start from labels spreads over all clusters, so that no zero is locked in.
_SPREAD = 0.1
# With more clusters, every share would be tiny and cost as much as a large one: starts, factors
# and memberships of `SoftClustering` are then sparse.
MANY_CLUSTERS = 150


def random_start(
    n_objects: int, n_clusters: int, random_state: np.random.RandomState
) -> FloatArray:
    """Rows drawn uniformly from the simplex (a flat Dirichlet distribution).

    Parameters
    ----------
    n_objects, n_clusters : int
        Shape of the start.
    random_state : numpy.random.RandomState
        The generator.

    Returns
    -------
    array of shape (n_objects, n_clusters)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import random_start
    >>> random_start(4, 3, np.random.RandomState(0)).sum(axis=1)
    array([1., 1., 1., 1.])
    """
    return make_rows_sum_to_one(random_state.standard_exponential((n_objects, n_clusters)))


def labels_start(
    labels: IntArray,
    n_clusters: int,
    *,
    spread: float | None = None,
    dtype: DTypeLike = np.float64,
) -> FloatArray:
    """Rows close to the given labels: 1 - spread on the label, the rest spread evenly.

    Parameters
    ----------
    labels : int array of shape (n,)
        A cluster for each object.
    n_clusters : int
        Number of clusters.
    spread : float, optional
        What is spread evenly over all clusters.
    dtype : dtype
        Precision of the start.

    Returns
    -------
    array of shape (n, n_clusters)
        Rows on the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import labels_start
    >>> labels_start(np.array([0, 1]), 2, spread=0.2)
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """
    if spread is None:
        spread = _SPREAD if n_clusters <= MANY_CLUSTERS else 0.0
    W = np.full((len(labels), n_clusters), spread / n_clusters, dtype=dtype)
    W[np.arange(len(labels)), labels] += 1.0 - spread
    return W


def sparse_labels_start(
    labels: IntArray, n_clusters: int, *, dtype: DTypeLike = np.float64
) -> sp.csr_array:
    """The same without a spread, in CSR form."""
    n = len(labels)
    parts = np.ones(n, dtype=dtype), labels.astype(np.int32), np.arange(n + 1)
    return sp.csr_array(parts, shape=(n, n_clusters))


def spectral_start(
    N: Matrix,
    n_clusters: int,
    *,
    rounding: Literal["qr", "kmeans"] = "qr",
    random_state: int = 0,
) -> FloatArray:
    """Rows close to labels from the leading eigenvectors of a normalized matrix.

    Parameters
    ----------
    N : array or CSR of shape (n, n)
        Affinities normalized by degrees.
    n_clusters : int
        Number of clusters.
    rounding : {"qr", "kmeans"}
        How eigenvectors become labels.
    random_state : int
        Seeds k-means.

    Returns
    -------
    array of shape (n, n_clusters)
        Rows on the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import spectral_start
    >>> spectral_start(np.kron(np.eye(2), np.full((3, 3), 1 / 3)), 2).shape
    (6, 2)
    """
    _, V = leading_eigenvectors(N, n_clusters, random_state=random_state)
    labels = cluster_qr(V) if rounding == "qr" else cluster_kmeans(V, random_state=random_state)
    return labels_start(labels, n_clusters)


def diffused_start(
    A: Matrix, n_clusters: int, random_state: np.random.RandomState, *, steps: int = 100
) -> FloatArray:
    """Random rows smoothed by a lazy random walk, then sharpened again.

    After many steps only slow modes of the graph are left; standardised and exponentiated they
    give soft regions without computing eigenvectors. Isolated objects get uniform rows.

    Parameters
    ----------
    A : array or CSR of shape (n, n)
        Affinities.
    n_clusters : int
        Number of clusters.
    random_state : numpy.random.RandomState
        The generator.
    steps : int
        Number of steps of the walk.

    Returns
    -------
    array of shape (n, n_clusters)
        Rows on the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import diffused_start
    >>> A = np.kron(np.eye(2), np.ones((3, 3)))
    >>> diffused_start(A, 2, np.random.RandomState(0)).shape
    (6, 2)
    """
    graph = Graph.of(A)
    degrees = graph.degrees()
    inverse = reciprocal(degrees)
    W = random_start(graph.n, n_clusters, random_state)
    for _ in range(steps):
        W = 0.5 * (W + inverse[:, None] * graph.product(W))
    linked = degrees > 0
    spread = W[linked].std(axis=0) if linked.any() else np.zeros(n_clusters)
    center = W[linked].mean(axis=0) if linked.any() else np.zeros(n_clusters)
    Z = np.where(linked[:, None], (W - center) / np.where(spread > 0, spread, 1.0), 0.0)
    return make_rows_sum_to_one(np.exp(Z - Z.max(axis=1, keepdims=True)))


def partition_start(K: Matrix, n_clusters: int) -> FloatArray:
    """Rows close to a partition; isolated objects are spread evenly over the clusters.

    Seeds are fixed: the start depends on the affinities only.
    """

    def find(A: Matrix) -> list[IntArray]:
        return [graph_partition(A, degree(A).matrix, n_clusters).labels]

    A = without_diagonal(without_negative(K))
    order = order_of_graph(A)
    (labels,) = partitions_of_linked(A if order is None else order.matrix(A), n_clusters, find)
    return labels_start(labels if order is None else order.back(labels), n_clusters)
