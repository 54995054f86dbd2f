"""The normalized cut of a partition, and its lower bound by eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np

from soffit._typing import FloatArray, Matrix
from soffit.graph import Graph
from soffit.normalize import degree
from soffit.partition.candidates import share_inside
from soffit.partition.eigenvectors import leading_eigenvectors


def normalized_cut(A: Matrix, labels: Any) -> float:
    r"""Weight that leaves each cluster, as a fraction of the cluster's volume, summed.

    .. math:: C = \sum_r \frac{\sum_{i \in r,\, j \notin r} A_{ij}}{\sum_{i \in r,\, j} A_{ij}}
                = k - \sum_r \frac{e_r^\top A e_r}{e_r^\top D e_r}

    A cluster of isolated objects counts 1, as in the second form with 0 for 0/0.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric nonnegative affinities. The diagonal counts as the affinity inside a cluster.
    labels : array-like of shape (n,)
        Cluster of each object, any integers.

    Returns
    -------
    float
        Between 0 and the number of clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import normalized_cut
    >>> path = np.diag([1.0, 1.0, 1.0], 1) + np.diag([1.0, 1.0, 1.0], -1)
    >>> round(normalized_cut(path, [0, 0, 1, 1]), 4)
    0.6667

    References
    ----------
    M. I. Jordan (2004). Spectral clustering. Lecture notes, scribe D. Sontag. Section 3.
    """
    given = np.asarray(labels)
    if given.shape != (A.shape[0],):
        raise ValueError(
            f"labels must be a vector of {A.shape[0]} clusters, one per object, got shape "
            f"{given.shape}."
        )
    clusters, codes = np.unique(given, return_inverse=True)
    stays = share_inside(Graph.of(A).between(codes, len(clusters)))
    return float(np.sum(np.maximum(1.0 - stays, 0.0)))


def relaxed_bound(A: Matrix, n_clusters: int, *, random_state: int = 0) -> float:
    r"""The smallest possible normalized cut into k clusters, up to rounding.

    .. math:: k - \sum_{c=1}^k \lambda_c \le C, \qquad
              \lambda_1 \ge \lambda_2 \ge \dots \text{ of } D^{-1/2} A D^{-1/2}

    Without the condition that columns are indicators of clusters, the problem is an eigenvalue
    problem (proposition 1 of the lecture, with any orthogonal k x k rotation; Ky Fan's theorem).

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric nonnegative affinities.
    n_clusters : int
        Number of clusters k, at most n.
    random_state : int, default 0
        Seed of the Lanczos iterations for large matrices.

    Returns
    -------
    float
        The bound, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import normalized_cut, relaxed_bound
    >>> path = np.diag([1.0, 1.0, 1.0], 1) + np.diag([1.0, 1.0, 1.0], -1)
    >>> relaxed_bound(path, 2) <= normalized_cut(path, [0, 0, 1, 1])
    True

    References
    ----------
    M. I. Jordan (2004). Spectral clustering. Lecture notes, scribe D. Sontag. Section 3.
    """
    graph = Graph.of(A)
    n = graph.n
    if not 1 <= n_clusters <= n:
        raise ValueError(
            f"n_clusters={n_clusters} must be between 1 and the number of objects, {n}."
        )
    linked = graph.linked()
    values: FloatArray = np.empty(0)
    if len(linked):
        N = degree(graph.subgraph(linked).matrix).matrix
        values, _ = leading_eigenvectors(N, n_clusters, random_state=random_state)
    return bound_from(values, n - len(linked), n_clusters)


def bound_from(values: FloatArray, n_isolated: int, n_clusters: int) -> float:
    """The relaxed bound from the leading eigenvalues of the linked objects."""
    return max(n_clusters - float(leading_values(values, n_isolated, n_clusters).sum()), 0.0)


def leading_values(values: FloatArray, n_isolated: int, n_clusters: int) -> FloatArray:
    """The k largest eigenvalues if isolated objects, each with a zero, are counted."""
    every = np.concatenate([np.asarray(values, dtype=np.float64), np.zeros(n_isolated)])
    return np.sort(every)[::-1][:n_clusters]
