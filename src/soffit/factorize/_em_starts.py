"""Expectation-maximisation from many starts: a short run of each, then the best ones to the end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soffit._threads import each
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.factorize._descent import Callback
from soffit.factorize._em import bipartite_rows, solve_em
from soffit.factorize._partition import cluster_kmeans, cluster_qr
from soffit.factorize._problem import Factorization, Problem
from soffit.factorize._spectral import leading_eigenvectors
from soffit.factorize._starts import diffused_start, labels_start
from soffit.normalize import degree

# A start from labels leaves this much for all clusters together: .8 on the label and .2 / m.
_SPREAD = 0.2
# Single runs of k-means end in different optima; for many clusters QR alone is quick enough.
_KMEANS_STARTS = 3
_MOST_KMEANS_CLUSTERS = 32
# Iterations of the short runs, how many of them are continued, and how far behind the best one
# may be: what is left to gain after them is less than that.
_SHORT = 15
_CONTINUED = 3
_MARGIN = 0.02
# Diffused starts where a step is cheap, the multiplications up to which it is, and the least
# number where it is not.
_DRAWS = 12
_CHEAP = 10**6
_LEAST_DRAWS = 2
_SEEDS = np.iinfo(np.int32).max


def usual_number_of_draws(A: Matrix, n_clusters: int) -> int:
    """Diffused starts that a graph of this size can afford."""
    cost = (A.nnz if is_sparse(A) else A.size) * n_clusters
    return int(np.clip(_DRAWS * _CHEAP // max(cost, 1), _LEAST_DRAWS, _DRAWS))


def solve_em_from_starts(
    problem: Problem,
    random_state: np.random.RandomState,
    *,
    n_draws: int,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Factorization:
    """The highest likelihood over spectral and `n_draws` diffused starts, without any penalty.

    Neither kind of start is the better one everywhere. The order after a few iterations is nearly
    the final one, so only the leaders are continued.
    """
    problem = replace(problem, sparsity=0.0, pruning=0.0)
    A, k = problem.matrix, problem.n_clusters
    if k == 1:
        # There is only one answer.
        return solve_em(problem, np.ones((A.shape[0], 1)), max_iter=max_iter, tol=tol)
    # One seed a draw, so that threads may share them out.
    seeds = random_state.randint(_SEEDS, size=n_draws)
    diffused = each(lambda seed: diffused_start(A, k, np.random.RandomState(seed)), seeds)
    starts = [*spectral_starts(A, k), *diffused]
    first = min(_SHORT, max_iter)
    short = [solve_em(problem, start, max_iter=first, tol=tol) for start in starts]
    short.sort(key=lambda found: found.objective)
    limit = short[0].objective + _MARGIN * abs(short[0].objective)
    leaders = [
        continue_em(problem, found, max_iter=max_iter, tol=tol, callback=callback)
        for found in short[:_CONTINUED]
        if found.objective <= limit
    ]
    return min(leaders, key=lambda found: found.objective)


def continue_em(
    problem: Problem,
    found: Factorization,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Factorization:
    """Go on from what a short run found, unless it has ended already; one history for both."""
    left = max_iter - found.n_iter
    if found.converged or left <= 0:
        return found
    start = bipartite_rows(found)
    more = solve_em(problem, start, max_iter=left, tol=tol, callback=callback)
    # Rounding may make the first value of the second run differ from the last of the first.
    history = np.concatenate([found.history, more.history[1:]])
    return replace(more, history=history, n_iter=found.n_iter + more.n_iter)


def spectral_starts(A: Matrix, n_clusters: int) -> list[FloatArray]:
    """Rows close to labels from the leading eigenvectors, rounded by QR and by k-means.

    Objects without any tie are dealt out evenly.
    """
    n = A.shape[0]
    tied = np.flatnonzero(np.asarray(A.sum(axis=1)).ravel() > 0)
    dealt: IntArray = np.arange(n) % n_clusters
    if len(tied) <= n_clusters:
        dealt[tied] = np.arange(len(tied))
        return [labels_start(dealt, n_clusters, spread=_SPREAD)]
    inner = A if len(tied) == n else A[tied][:, tied]
    _, V = leading_eigenvectors(degree(inner).matrix, n_clusters)
    found = [cluster_qr(V)]
    if n_clusters <= _MOST_KMEANS_CLUSTERS:
        # Fixed seeds: the spectral starts are the same for every random_state.
        found += [cluster_kmeans(V, random_state=seed, n_init=1) for seed in range(_KMEANS_STARTS)]
    starts = []
    for labels in _distinct(found):
        everywhere = dealt.copy()
        everywhere[tied] = labels
        starts.append(labels_start(everywhere, n_clusters, spread=_SPREAD))
    return starts


def _distinct(partitions: list[IntArray]) -> list[IntArray]:
    """Each partition once, whatever numbers its clusters have."""
    seen: dict[bytes, IntArray] = {}
    for labels in partitions:
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        seen.setdefault(np.argsort(np.argsort(first))[inverse].tobytes(), labels)
    return list(seen.values())
