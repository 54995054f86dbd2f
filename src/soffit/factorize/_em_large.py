"""Expectation-maximisation for a graph of many objects: coarse starts, few clusters a row.

Nodes are paired along their ties until eigenvectors are cheap. Labels of the coarse nodes are
often wrong for some of the objects in them; a few sweeps over the edges put that right.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from soffit._typing import IntArray
from soffit.factorize._coarse import coarse_graph
from soffit.factorize._descent import Callback, lowest
from soffit.factorize._em_partitions import spectral_partitions
from soffit.factorize._em_support import solve_on_support, support_start
from soffit.factorize._label_sweeps import majority_sweeps
from soffit.factorize._many_clusters import many_clusters
from soffit.factorize._problem import Factorization, Problem
from soffit.factorize._tied import partitions_of_tied
from soffit.normalize import degree

# Nodes of the coarser graph: at most so many, or these for each cluster.
_MOST_NODES = 40_000
_NODES_PER_CLUSTER = 40
# Runs of k-means for up to so many clusters; with more of them there are no eigenvectors.
_KMEANS_STARTS = ((32, 3), (150, 1))
_MOST_VECTORS = 150
# A start leaves this share of an object to the clusters of its neighbours.
_SPREAD = 0.2
# Partitions that agree on this share of the objects are the same start.
_SAME = 0.99
# Iterations from which the best of several starts is known.
_SHORT = 4


def solve_large(
    problem: Problem,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    phase: Callable[..., object] | None = None,
) -> Factorization:
    """The best of a few starts from a coarser graph, judged after a few iterations."""
    partitions = coarse_partitions(problem.matrix, problem.n_clusters)

    def run(labels: IntArray, most: int) -> Factorization:
        start = support_start(problem.matrix, labels, problem.n_clusters, spread=_SPREAD)
        return solve_on_support(problem, start, max_iter=most, tol=tol, callback=callback)

    best = 0
    if len(partitions) > 1:
        first = min(_SHORT, max_iter)
        if phase is not None:
            phase("starts", parts=len(partitions), max_iter=first)
        short: list[Factorization] = []
        for labels in partitions:
            short.append(run(labels, first))
            if short[-1].cut_short:
                return lowest(short)
        best = int(np.argmin([found.objective for found in short]))
        del short
    if phase is not None:
        phase("best start", max_iter=max_iter)
    return run(partitions[best], max_iter)


def coarse_partitions(A: sp.csr_array, n_clusters: int) -> list[IntArray]:
    """Different labels of all objects; those without any tie are dealt out evenly."""

    def find(inner: sp.csr_array) -> list[IntArray]:
        coarse, node = coarse_graph(inner, max(_MOST_NODES, _NODES_PER_CLUSTER * n_clusters))
        found = _partitions(coarse, n_clusters)
        swept = [majority_sweeps(inner, labels[node], n_clusters) for labels in found]
        return _different(swept, n_clusters)

    return partitions_of_tied(A, n_clusters, find)


def _different(partitions: list[IntArray], n_clusters: int) -> list[IntArray]:
    """Without those that differ from an earlier one in hardly any object."""
    kept: list[IntArray] = []
    for labels in partitions:
        if all(_agreement(labels, other, n_clusters) < _SAME for other in kept):
            kept.append(labels)
    return kept


def _agreement(labels: IntArray, other: IntArray, n_clusters: int) -> float:
    """Share of the objects of each cluster that are together in the other partition, too."""
    pairs = labels.astype(np.int64) * n_clusters + other
    together = np.bincount(pairs, minlength=n_clusters**2).reshape(n_clusters, n_clusters)
    return float(together.max(axis=1).sum() / len(labels))


def _partitions(A: sp.csr_array, n_clusters: int) -> list[IntArray]:
    if n_clusters > _MOST_VECTORS:
        return [many_clusters(degree(A).matrix, n_clusters, random_state=0)[0]]
    runs = next(runs for most, runs in _KMEANS_STARTS if n_clusters <= most)
    return spectral_partitions(A, n_clusters, n_kmeans=runs)
