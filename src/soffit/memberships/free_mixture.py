"""A mixture that may leave the partition: one component per cluster, until EM converges.

Overlapping clusters of very unequal sizes have no valley between them, and cuts through a graph
prefer even sizes. If one Gaussian or Student t component per cluster describes the objects better
than any mixture that starts at a partition and stays near it, the components are the clusters.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soffit._threads import each
from soffit._typing import FloatArray, IntArray
from soffit.memberships.em_steps import n_parameters
from soffit.memberships.matching import align
from soffit.memberships.mixture import (
    Candidate,
    Description,
    Projection,
    SeededMixture,
    Space,
    indicator,
    promising,
    trust_in,
)
from soffit.partition.rounding import kmeans

# Steps after which starts are compared, first roughly, and until EM has converged.
_FEW_STEPS, _FIRST_STEPS, _MOST_STEPS = 3, 10, 150
# Starts that agree on this share of the objects lead to the same mixture.
_SAME = 0.99
# A start may gain this many times as much again, after few steps and after the first ones.
_EARLY_PATIENCE, _PATIENCE = 20.0, 4.0
# Starts: the partitions that are described best, and runs of k-means.
_PARTITIONS, _KMEANS_RUNS = 2, 3
# Objects per parameter that make a likelihood reliable.
_OBJECTS_PER_PARAMETER = 2.0
# Residuals that look as expected; see `trust_in`.
LEAST_TRUST = 0.99


def free_mixture(
    description: Description, n_clusters: int, *, random_state: int
) -> SeededMixture | None:
    """The mixture with one component per cluster, if nothing describes the objects better.

    It starts at partitions and at the result of k-means, in all leading directions; if logarithms
    of some columns are closer to normal, also in those. Components have one covariance each, or a
    common one. None if several components per cluster are better, if residuals contradict the
    components, or if there are too few objects.

    `description`: mixtures that start at partitions.
    `random_state`: seed of k-means.
    """
    if not _has_enough(description.whole, n_clusters, common=True):
        return None
    described = sorted((one.candidate for one in description.partitions), key=_criterion)
    best, whole = described[0], description.whole
    found = [best.advanced(_MOST_STEPS)] if len(best.owner) == n_clusters else []
    # Starts that reach the same optimum give its clusters the same numbers.
    first = _members(best, n_clusters)
    members = [
        first,
        *(align(first, _members(one, n_clusters)) for one in described[1:_PARTITIONS]),
    ]
    tails = best.fit.pieces.tails
    for space, kind, starts in (
        (whole, tails, members),
        (_logarithms(whole, description.X), np.inf, members[:1]),
    ):
        if space is not None:
            more = [align(first, one) for one in _by_kmeans(space, n_clusters, random_state)]
            found += _converged(space, kind, [*starts, *more], best)
    held = [one for one in found if _holds(one, best)]
    if not held:
        return None
    return replace(min(held, key=_criterion).mixture(n_clusters), alone=True)


def _converged(
    space: Space, tails: float, starts: list[FloatArray], best: Candidate
) -> list[Candidate]:
    """The best mixtures with a common covariance and with separate ones."""
    owner: IntArray = np.arange(starts[0].shape[1])
    starts = _different(starts)

    def compete(starts: list[FloatArray], *, common: bool) -> list[Candidate]:
        """The starts that may become better than the best, after the first steps."""

        def begin(start: FloatArray) -> Candidate:
            begun = Candidate(space, owner, space.fit(start, tails, common=common))
            return begun.advanced(_FEW_STEPS)

        begun = promising(each(begin, starts), best, _EARLY_PATIENCE)
        begun = each(lambda one: one.advanced(_FIRST_STEPS - _FEW_STEPS), begun)
        return promising(begun, best, _PATIENCE)

    found = []
    begun = compete(starts, common=True)
    if begun:
        found.append(min(begun, key=_criterion).advanced(_MOST_STEPS))
    if _has_enough(space, len(owner), common=False):
        again = [starts[0], *(one.fit.shares for one in found)]
        begun = compete(again, common=False)
        if begun:
            found.append(min(begun, key=_criterion).advanced(_MOST_STEPS))
    return found


def _different(starts: list[FloatArray]) -> list[FloatArray]:
    """Starts without those that nearly repeat an earlier one: where clusters are clear, all do."""
    kept: list[tuple[IntArray, FloatArray]] = []
    for start in starts:
        labels = start.argmax(axis=1)
        if all(np.mean(labels == other) < _SAME for other, _ in kept):
            kept.append((labels, start))
    return [start for _, start in kept]


def _criterion(candidate: Candidate) -> float:
    return candidate.criterion


def _members(candidate: Candidate, n_clusters: int) -> FloatArray:
    """Shares of the clusters."""
    return np.asarray(candidate.fit.shares @ indicator(candidate.owner, n_clusters))


def _by_kmeans(space: Space, n_clusters: int, random_state: int) -> list[FloatArray]:
    def run(number: int) -> FloatArray:
        seed = (random_state + number) % 2**31
        return indicator(kmeans(space.Z, n_clusters, random_state=seed, n_init=1), n_clusters)

    return each(run, range(_KMEANS_RUNS))


def _logarithms(whole: Space, X: FloatArray) -> Space | None:
    """Logarithms of skewed columns, with a criterion comparable to that of the columns."""
    projection = Projection.logarithmic(X)
    if projection is None or projection.directions.shape != whole.projection.directions.shape:
        return None
    lost = whole.projection.log_volume(X) - projection.log_volume(X)
    total = 2.0 * float(lost.sum() if whole.weights is None else whole.weights @ lost)
    return Space.of(projection, X, dict.fromkeys(whole.rest, total), whole.weights)


def _has_enough(space: Space, n_clusters: int, *, common: bool) -> bool:
    """Whether there are enough objects for the parameters of a component per cluster."""
    n, d = space.Z.shape
    return n >= _OBJECTS_PER_PARAMETER * n_parameters(n_clusters, d, common=common)


def _holds(free: Candidate, best: Candidate) -> bool:
    """Whether the components are the clusters: none is empty, and nothing contradicts them."""
    sizes = np.bincount(free.fit.shares.argmax(axis=1), minlength=len(free.owner))
    return bool(
        free.criterion <= best.criterion
        and _has_enough(free.space, len(free.owner), common=free.fit.common)
        and sizes.min() > free.space.Z.shape[1]
        and trust_in(free.space.Z, free.fit) >= LEAST_TRUST
    )
