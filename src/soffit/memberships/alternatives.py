"""Different partitions of nearly equal quality, and memberships that allow for all of them.

A partition may be stable and still be wrong: fits to subsamples then agree on the same error. But
several rules have partitioned the same graph. Where candidates of nearly equal rank contradict
each other, the data do not decide between them, and neither should the memberships.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.memberships.free_mixture import LEAST_TRUST, free_mixture
from soffit.memberships.measures import align
from soffit.memberships.mixture import SeededMixture, describe_partitions
from soffit.partition.candidates import RankedPartition

# A candidate whose rank is worse by x has exp(-5 x) times the weight of the best.
_DECISIVENESS = 5.0
# Candidates considered, by their cut, and the smallest weight relative to the best that counts.
_MOST = 5
_LEAST_WEIGHT = 0.02
# A cleaner cut by this (in logarithms) contradicts a mixture, however well it describes objects.
_LARGER_CUT = 3.0
# Share of the weight at which others would move an object.
_LEAST_LEAD = 0.99


@dataclass(frozen=True, eq=False)
class Alternative:
    """A candidate partition, its weight relative to the best, and a mixture that starts at it."""

    labels: IntArray
    weight: float
    mixture: SeededMixture | None


def weigh_partitions(
    ranked: Sequence[RankedPartition],
    X: FloatArray | None,
    n_clusters: int,
    *,
    cut: Callable[[IntArray], float],
    random_state: int,
    weights: FloatArray | None = None,
) -> list[Alternative]:
    """Candidates with their weights, the best first; candidates of negligible weight are left out.

    The rank of a partition is the logarithm of its size-aware cut minus, for features, the mean log
    density of a mixture that starts at it, penalized for its parameters: a good partition cuts few
    links, and its clusters describe the objects. If a mixture with one component per cluster
    describes them better than all of these, and does not cut very much more, it is the only one.
    If the residuals of the best mixture look as expected, its likelihood counts in full: other
    candidates are left out unless they describe the objects nearly as well.

    Parameters
    ----------
    ranked : sequence of RankedPartition
        Candidates by their cuts, the best first.
    X : array of shape (n, d) or None
        Features, if densities can be estimated from them.
    n_clusters : int
        Number of clusters.
    cut : callable
        The size-aware cut of a partition.
    random_state : int
        Seed of the sample from which mixtures are estimated.
    weights : array of shape (n,), optional
        Weights of the objects, 1 on average.
    """
    considered = ranked[:_MOST]
    cuts = np.array([one.score for one in considered])
    if X is None:
        return _weighed(considered, cuts, [None] * len(considered))
    partitions = [one.labels for one in considered]
    found = describe_partitions(
        X, partitions, n_clusters, random_state=random_state, weights=weights
    )
    free = free_mixture(found, n_clusters, random_state=random_state)
    if free is not None:
        labels = free.memberships(X).argmax(axis=1)
        if cut(labels) <= cuts.min() + _LARGER_CUT:
            return [Alternative(labels, 1.0, free)]
    densities = np.array([one.log_density for one in found.partitions])
    mixtures = [one.mixture for one in found.partitions]
    ranks = cuts - densities
    best = int(ranks.argmin())
    if mixtures[best].trust >= LEAST_TRUST:
        ranks += len(X) / _DECISIVENESS * np.maximum(densities[best] - densities, 0.0)

    def judged(one: Alternative) -> Alternative:
        """Without the mixture, if it contradicts the cut."""
        assert one.mixture is not None
        moved = one.mixture.memberships(X).argmax(axis=1)
        if cut(moved) <= cut(one.labels) + _LARGER_CUT:
            return one
        return replace(one, mixture=replace(one.mixture, trust=0.0))

    return [judged(one) for one in _weighed(considered, ranks, mixtures)]


def _weighed(
    considered: Sequence[RankedPartition],
    ranks: FloatArray,
    mixtures: Sequence[SeededMixture | None],
) -> list[Alternative]:
    """Candidates of weights that are not negligible, the best first."""
    shares = np.exp(-_DECISIVENESS * (ranks - ranks.min()))
    order = [
        number for number in np.argsort(ranks, kind="stable") if shares[number] > _LEAST_WEIGHT
    ]
    return [
        Alternative(considered[number].labels, float(shares[number]), mixtures[number])
        for number in order
    ]


def average_over(
    best: FloatArray, others: Sequence[FloatArray], weights: Sequence[float]
) -> FloatArray:
    """The weighted average of memberships, with the clusters of the others matched to the best's.

    The others resemble each other more often than not and are no independent votes: together they
    count at most as much as the best. They make an object less certain, but do not move it: where
    they would outvote the best, they count just less than it takes.

    Parameters
    ----------
    best : array of shape (n, k)
        Memberships that follow the best partition; their weight is 1.
    others : sequence of arrays of shape (n, k)
        Memberships that follow other partitions.
    weights : sequence of float
        Their weights.
    """
    added = np.zeros(best.shape)
    for other, weight in zip(others, weights, strict=True):
        added += weight * align(best, other)
    added /= max(sum(weights), 1.0)
    top = best.argmax(axis=1)[:, None]
    lead = np.take_along_axis(best, top, axis=1) - best
    loss = added - np.take_along_axis(added, top, axis=1)
    possible = np.divide(lead, loss, out=np.full(best.shape, np.inf), where=loss > 0)
    total = best + np.minimum(_LEAST_LEAD * possible.min(axis=1, keepdims=True), 1.0) * added
    return np.asarray(total / total.sum(axis=1, keepdims=True), dtype=best.dtype)
