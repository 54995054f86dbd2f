"""Expectation-maximisation for a graph of many objects: coarse starts, few clusters a row.

Nodes are paired along their ties until eigenvectors are cheap. Labels of the coarse nodes are
often wrong for some of the objects in them; a few sweeps over the edges put that right.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from soffit._typing import IntArray
from soffit.factorize.descent import Callback
from soffit.factorize.divergence.sparse_rows import solve_on_support, support_start
from soffit.factorize.problem import Factorization, Problem
from soffit.normalize import degree
from soffit.partition.choose import partitions_of_tied, spectral_partitions
from soffit.partition.compressive import many_clusters
from soffit.partition.multilevel import coarse_graph
from soffit.partition.sweeps import information, majority_sweeps

# Nodes of the coarser graph: at most so many, or these for each cluster.
_MOST_NODES = 40_000
_NODES_PER_CLUSTER = 40
# Runs of k-means for up to so many clusters; with more of them there are no eigenvectors.
_KMEANS_STARTS = ((32, 3), (150, 1))
_MOST_VECTORS = 150
# A start leaves this share of an object to the clusters of its neighbours.
_SPREAD = 0.2


def solve_large(
    problem: Problem,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    phase: Callable[..., object] | None = None,
) -> Factorization:
    """What the best of a few partitions through a coarser graph leads to."""
    A, k = problem.matrix, problem.n_clusters
    (labels,) = partitions_of_tied(A, k, lambda inner: [coarse_labels(inner, k)])
    start = support_start(A, labels, k, spread=_SPREAD)
    if phase is not None:
        phase("iterations")
    return solve_on_support(problem, start, max_iter=max_iter, tol=tol, callback=callback)


def coarse_labels(A: sp.csr_array, n_clusters: int) -> IntArray:
    """The most informative of some partitions of a coarser graph, made better on the graph."""
    coarse, node = coarse_graph(A, max(_MOST_NODES, _NODES_PER_CLUSTER * n_clusters))
    found = _partitions(coarse, n_clusters)
    swept = [majority_sweeps(A, labels[node], n_clusters) for labels in found]
    scores = [information(A, labels, n_clusters) for labels in swept]
    return swept[int(np.argmax(scores))]


def _partitions(A: sp.csr_array, n_clusters: int) -> list[IntArray]:
    if n_clusters > _MOST_VECTORS:
        return [many_clusters(degree(A).matrix, n_clusters, random_state=0)[0]]
    runs = next(runs for most, runs in _KMEANS_STARTS if n_clusters <= most)
    return spectral_partitions(A, n_clusters, n_kmeans=runs)
