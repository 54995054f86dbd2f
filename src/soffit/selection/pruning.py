"""The number of clusters that persists longest over thresholds and over time scales."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from soffit._typing import FloatArray, IntArray, Matrix
from soffit.factorize import Problem, labels_start, leading_eigenvectors
from soffit.factorize.divergence.em import bipartite_rows, solve_em
from soffit.graph import Graph
from soffit.normalize import degree
from soffit.partition.rounding import cluster_qr

# The largest number considered, and the smallest mean cluster size.
_MOST = 24
_LEAST_SIZE = 5
# Factorizations start with more clusters than the spectrum supports.
_SURPLUS = 1.5
# Thresholds start at this share of an even cluster's weight and grow by this factor.
_FIRST_THRESHOLD = 0.1
_GROWTH = 1.2
_LAST_THRESHOLD = 0.6
# Tolerance along the path: the numbers matter, not the factors.
_TOL = 1e-4
_ITERATIONS = 60
_SPREAD = 0.2


@dataclass(frozen=True, eq=False)
class ClusterCount:
    r"""The number of clusters and the evidence for it.

    There are two kinds of evidence. A path of factorizations with a growing threshold (the prior on
    cluster weights) loses clusters one by one, and a good number survives a longer range of
    thresholds than the factor m / (m - 1) expected in a graph without structure. A random walk
    forgets the differences inside good clusters much sooner than those between them, so that the
    relaxation times :math:`-1/\log\mu_m` of its eigenvalues have a gap there. The number with the
    largest sum of both, in logarithms,

    .. math:: \log\frac{c_\text{last}(m)}{c_\text{first}(m)} - \log\frac{m}{m - 1}
              + \log\frac{\log\mu_{m+1}}{\log\mu_m},

    is selected among those whose eigenvalue lies above the spectral edge of a random graph,
    :math:`2 \sqrt{(\|N\|_F^2 - \sum_{l \le m} \mu_l^2) / n}`; if the second eigenvalue does not,
    there is one cluster.
    """

    n_clusters: int  # The selected number.
    thresholds: FloatArray  # (t,): thresholds of the path, as shares of the total weight.
    alive: IntArray  # (t,): number of clusters that survive each threshold.
    scores: FloatArray  # (most + 1,): the sum above for each number; minus infinity for 0 and 1.


_ONE = ClusterCount(1, np.zeros(0), np.zeros(0, dtype=np.int64), np.full(2, -np.inf))


def count_clusters(A: Matrix) -> ClusterCount:
    """Select the number of clusters of a graph."""
    A, values, V = _spectrum(A)
    supported = min(_n_supported(A, values), len(values) - 1)
    if supported < 2:
        return _ONE
    first = min(ceil(_SURPLUS * supported), V.shape[1])
    thresholds, alive = pruning_path(A, cluster_qr(V[:, :first]), first)
    times = relaxation_times(values)
    m = np.arange(2, supported + 1)
    gap = np.log(times[m - 1] / times[m])
    scores = np.concatenate([[-np.inf, -np.inf], lasting(alive, m) + gap])
    return ClusterCount(int(scores.argmax()), thresholds, alive, scores)


def relaxation_times(values: FloatArray) -> FloatArray:
    """Steps after which a random walk has forgotten each mode: -1 / log of its eigenvalue."""
    return np.asarray(-1.0 / np.log(np.clip(values, 1e-9, 1 - 1e-9)))


def lasting(alive: IntArray, numbers: IntArray) -> FloatArray:
    """How much longer each number survives than in a graph without structure, as a logarithm."""
    survived = np.log(_GROWTH) * np.sum(alive == numbers[:, None], axis=1)
    return np.asarray(survived - np.log(numbers / (numbers - 1)))


def starting_number(A: Matrix) -> int:
    """More clusters than the spectrum supports: where pruning with a given threshold starts."""
    A, values, _ = _spectrum(A)
    return min(ceil(_SURPLUS * _n_supported(A, values)), A.shape[0])


def _spectrum(A: Matrix) -> tuple[Matrix, FloatArray, FloatArray]:
    """The graph of the connected objects, and its leading eigenvalues and eigenvectors."""
    graph = Graph.of(A).without_strays(_MOST)
    linked = graph.linked()
    if len(linked) < 2 * _LEAST_SIZE:
        return graph.matrix[:1][:, :1], np.ones(1), np.ones((1, 1))
    A = graph.subgraph(linked).matrix
    n_vectors = min(ceil(_SURPLUS * _MOST) + 1, len(linked) // 3)
    values, V = leading_eigenvectors(degree(A).matrix, n_vectors)
    return A, np.asarray(values, dtype=np.float64), V


def _n_supported(A: Matrix, values: FloatArray) -> int:
    """Number of eigenvalues above the edge of the rest of the spectrum in a random graph."""
    most = max(min(_MOST, A.shape[0] // _LEAST_SIZE, len(values)), 1)
    edge = random_edges(degree(A).matrix, values)
    # Eigenvalue m + 1 counts if it exceeds the edge of what remains after the first m.
    stands_out = values[1:most] > edge[: most - 1]
    return 1 + (int(np.argmin(stands_out)) if not stands_out.all() else len(stands_out))


def random_edges(N: Matrix, values: FloatArray) -> FloatArray:
    """Spectral edge of a random graph with the residual of N after each leading eigenvalue."""
    left = float(np.linalg.norm(Graph.of(N).values)) ** 2 - np.cumsum(
        np.asarray(values, dtype=np.float64) ** 2
    )
    return np.asarray(2.0 * np.sqrt(np.maximum(left, 0.0) / N.shape[0]))


def pruning_path(A: Matrix, labels: IntArray, n_clusters: int) -> tuple[FloatArray, IntArray]:
    """Clusters that survive growing thresholds; each run starts from the last one."""
    rows = labels_start(labels, n_clusters, spread=_SPREAD)
    thresholds, alive = [], []
    threshold = 0.0
    while rows.shape[1] > 1 and threshold < _LAST_THRESHOLD:
        problem = Problem(
            A,
            rows.shape[1],
            scale="cluster",
            diagonal=True,
            loss="kl",
            constraint="columns",
            pruning=threshold,
        )
        rows = bipartite_rows(solve_em(problem, rows, max_iter=_ITERATIONS, tol=_TOL))
        thresholds.append(threshold)
        alive.append(rows.shape[1])
        threshold = max(threshold * _GROWTH, _FIRST_THRESHOLD / n_clusters)
    return np.array(thresholds), np.array(alive)
