"""Expectation-maximisation from many starts: a short run each, then the best to convergence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from soffit._threads import each
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.factorize.descent import Callback, lowest
from soffit.factorize.divergence.em import bipartite_rows, solve_em
from soffit.factorize.divergence.relations import is_large
from soffit.factorize.divergence.sparse_rows import solve_on_support, support_start
from soffit.factorize.problem import Factorization, Problem
from soffit.factorize.starts import diffused_start, labels_start
from soffit.graph import Graph
from soffit.partition.candidates import (
    informative_partition,
    partitions_of_linked,
    spectral_partitions,
)

# Share that a start from labels spreads over all clusters: .8 on the label and .2 / m.
_SPREAD = 0.2
# Single k-means runs end in different optima; for many clusters only QR is fast enough.
_KMEANS_STARTS = 3
_MOST_KMEANS_CLUSTERS = 32
# Iterations of the short runs, how many of them are continued, and how far behind the best one they
# may be: later iterations gain less than that.
_SHORT = 15
_CONTINUED = 3
_MARGIN = 0.02
# Diffused starts where a step is cheap, the multiplications up to which it is, and the minimum
# number where it is not.
_DRAWS = 12
_CHEAP = 10**6
_LEAST_DRAWS = 2


def usual_number_of_draws(A: Matrix, n_clusters: int) -> int:
    """Number of diffused starts that a graph of this size can afford."""
    cost = Graph.of(A).n_stored * n_clusters
    return int(np.clip(_DRAWS * _CHEAP // max(cost, 1), _LEAST_DRAWS, _DRAWS))


def solve_em_from_starts(
    problem: Problem,
    random_state: np.random.RandomState,
    *,
    n_draws: int,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    phase: Callable[..., object] | None = None,
) -> Factorization:
    """The highest likelihood over spectral and `n_draws` diffused starts, without any penalty.

    Neither kind of start is always better. The order after a few iterations is nearly the final
    one, so only the leaders are continued. Both groups of runs are announced by ``phase(what)``. A
    large graph has starts from a coarser graph instead.
    """
    problem = replace(problem, sparsity=0.0, pruning=0.0)
    A, k = problem.matrix, problem.n_clusters
    if k == 1:
        # There is only one solution.
        only = np.ones((A.shape[0], 1))
        return solve_em(problem, only, max_iter=max_iter, tol=tol, callback=callback)
    if is_large(A):
        return _solve_large(problem, max_iter=max_iter, tol=tol, callback=callback, phase=phase)
    # One seed per draw, so that the draws can run in any thread.
    seeds = random_state.randint(np.iinfo(np.int32).max, size=n_draws)
    diffused = each(lambda seed: diffused_start(A, k, np.random.RandomState(seed)), seeds)
    starts = [*spectral_starts(A, k), *diffused]
    first = min(_SHORT, max_iter)
    if phase is not None:
        phase("starts")
    short: list[Factorization] = []
    for start in starts:
        short.append(solve_em(problem, start, max_iter=first, tol=tol, callback=callback))
        if short[-1].cut_short:
            return lowest(short)
    short.sort(key=lambda found: found.objective)
    limit = short[0].objective + _MARGIN * abs(short[0].objective)
    leaders = [found for found in short[:_CONTINUED] if found.objective <= limit]
    if phase is not None:
        phase("best starts")
    return lowest(
        continue_em(problem, found, max_iter=max_iter, tol=tol, callback=callback)
        for found in leaders
    )


def _solve_large(
    problem: Problem,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None,
    phase: Callable[..., object] | None,
) -> Factorization:
    """The result from the best of a few partitions of a coarser graph."""
    A, k = problem.graph.csr, problem.n_clusters
    (labels,) = partitions_of_linked(A, k, lambda inner: [informative_partition(inner, k)])
    # The share that is not on the label goes to the clusters of the neighbours.
    start = support_start(A, labels, k, spread=_SPREAD)
    if phase is not None:
        phase("iterations")
    return solve_on_support(problem, start, max_iter=max_iter, tol=tol, callback=callback)


def continue_em(
    problem: Problem,
    found: Factorization,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Factorization:
    """Continue a short run unless it has already ended; one history for both."""
    left = max_iter - found.n_iter
    if found.converged or left <= 0:
        return found

    def note(number: int, loss: float) -> object:
        return None if callback is None else callback(found.n_iter + number, loss)

    more = solve_em(problem, bipartite_rows(found), max_iter=left, tol=tol, callback=note)
    # By rounding, the second run's first value may differ from the first run's last.
    history = np.concatenate([found.history, more.history[1:]])
    return replace(more, history=history, n_iter=found.n_iter + more.n_iter)


def spectral_starts(A: Matrix, n_clusters: int) -> list[FloatArray]:
    """Rows close to labels from the leading eigenvectors, rounded by QR and by k-means.

    Isolated objects are spread evenly over the clusters.
    """

    def find(inner: Matrix) -> list[IntArray]:
        runs = _KMEANS_STARTS if n_clusters <= _MOST_KMEANS_CLUSTERS else 0
        return _distinct(spectral_partitions(inner, n_clusters, n_kmeans=runs))

    found = partitions_of_linked(A, n_clusters, find)
    return [labels_start(labels, n_clusters, spread=_SPREAD) for labels in found]


def _distinct(partitions: list[IntArray]) -> list[IntArray]:
    """Each partition once, up to the numbering of its clusters."""
    seen: dict[bytes, IntArray] = {}
    for labels in partitions:
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        seen.setdefault(np.argsort(np.argsort(first))[inverse].tobytes(), labels)
    return list(seen.values())
