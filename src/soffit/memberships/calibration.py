"""Probabilities from what a fit has found: walk, mixture, pairs and alternative partitions.

A partition may be stable and still be wrong: fits to subsamples then agree on the same error. But
several rules have partitioned the same graph. Where candidates of nearly equal rank contradict
each other, the data do not decide between them, and neither should the memberships.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray, Matrix
from soffit.affinity import SideInformation
from soffit.graph import Graph
from soffit.memberships.ensemble import soften
from soffit.memberships.measures import align
from soffit.memberships.mixture import SeededMixture, describe_partitions, fit_seeded_mixture
from soffit.memberships.pairs import pair_log_likelihood
from soffit.memberships.walk import sharpen
from soffit.partition.candidates import RankedPartition

# Smoothing draws memberships together; this power counteracts it inside clusters.
_SHARPNESS = 1.5
# Partitions are sometimes wrong without any sign of it in the graph; this power allows for it.
_MODESTY = 0.9
# Weight of the mixture relative to the walk, if its residuals look as expected.
_SHARE = 0.8
# The same for a mixture without EM steps, which describes the corrected clusters as they are.
_SHARE_FIXED = 0.5
# The mixture without EM steps is used if it predicts the pairs better by more than this many
# standard errors.
_ERRORS = 1.0
# Fewer objects make no useful mixture, and no more are needed to find directions.
_FEWEST_LEFT, _MOST_LEFT = 20, 2**17


def linked(block: Matrix) -> NDArray[np.bool_]:
    """Which objects have affinities to walk along, as a column."""
    return Graph.of(block).degrees()[:, None] > 0


def sharpened(walked: FloatArray, block: Matrix) -> FloatArray:
    """Memberships after a walk along these affinities, with its smoothing counteracted."""
    return np.where(linked(block), sharpen(walked, _SHARPNESS), walked)


def blend(walked: FloatArray, mixture: SeededMixture, X: FloatArray) -> FloatArray:
    """The average of a walk and a mixture, the latter weighted by its trust."""
    share = _SHARE * mixture.trust
    return np.asarray((1 - share) * walked + share * mixture.memberships(X), dtype=walked.dtype)


def calibrated(
    walked: FloatArray, block: Matrix, mixture: SeededMixture | None, X: FloatArray | None
) -> FloatArray:
    """Memberships from a walk and, for features, a mixture.

    Raising the result of the walk to a power counteracts its smoothing; the power is smaller if
    there is no mixture. Objects without affinities keep the prior, unless the mixture places them.

    Parameters
    ----------
    walked : array of shape (m, k)
        Memberships after the walk.
    block : array or CSR of shape (m, n)
        The affinities that it used.
    mixture : SeededMixture, optional
        Cluster densities.
    X : array of shape (m, d), optional
        Features of the objects.
    """
    rows = sharpened(walked, block)
    if mixture is not None and X is not None:
        return blend(rows, mixture, X)
    return np.where(linked(block), soften(rows, _MODESTY), walked)


def choose_mixture(
    X: FloatArray,
    rows: FloatArray,
    side: SideInformation,
    walk: Callable[[FloatArray], FloatArray],
    *,
    weight: float,
    random_state: int,
    object_weights: FloatArray | None = None,
) -> SeededMixture:
    """Fit a mixture with EM steps, or one without if held-out pairs clearly favour it.

    Densities ignore pairs: EM steps may improve the clusters, or undo the corrections by the pairs.
    Both mixtures are fitted to the objects that no pair touches, and averaged with a walk that
    starts without the touched ones. The mixture that predicts the held-out pairs better is used;
    within one standard error it is the one with EM steps.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    rows : array of shape (n, k)
        The factor, fitted with the pairs.
    side : SideInformation
        The pairs.
    walk : callable
        From rows to the memberships after the walk.
    weight : float
        How much pairs are trusted: each counts as this many.
    random_state : int
        Seed of the mixtures.
    object_weights : array of shape (n,), optional
        Weights of the objects.
    """
    labels, k = rows.argmax(axis=1), rows.shape[1]
    touched = np.unique(np.concatenate([side.must.ravel(), side.cannot.ravel()]))
    left = np.setdiff1d(np.arange(len(X)), touched)

    def fit(objects: IntArray | slice, *, fixed: bool) -> SeededMixture:
        options: dict[str, Any] = {"n_steps": 0} if fixed else {}
        found = fit_seeded_mixture(
            X[objects],
            labels[objects],
            k,
            random_state=random_state,
            weights=None if object_weights is None else object_weights[objects],
            **options,
        )
        return replace(found, trust=found.trust * _SHARE_FIXED / _SHARE) if fixed else found

    everything = slice(None)
    if len(left) < _FEWEST_LEFT or side.n_pairs < 2:
        return fit(everything, fixed=False)
    held_out = rows.copy()
    held_out[touched] = rows[left].mean(axis=0)
    walked = walk(held_out)[touched]
    left = left[:: -(-len(left) // _MOST_LEFT)]
    with_steps, without = (
        pair_log_likelihood(blend(walked, fit(left, fixed=fixed), X[touched]), side.among(touched))
        for fixed in (False, True)
    )
    return fit(everything, fixed=_is_clear(without - with_steps, weight))


def _is_clear(gains: FloatArray, weight: float) -> bool:
    error = float(gains.std(ddof=1)) / np.sqrt(weight * len(gains))
    return float(gains.mean()) > _ERRORS * error


# A candidate whose rank is worse by x has exp(-5 x) times the weight of the best.
_DECISIVENESS = 5.0
# Candidates considered, by their cut, and the smallest weight relative to the best that counts.
_MOST = 5
_LEAST_WEIGHT = 0.02
# Shares of the others' weights that are tried, until no cluster of the best is lost.
_SHARES_OF_OTHERS = (1.0, 0.5, 0.25, 0.125)


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
    random_state: int,
    weights: FloatArray | None = None,
) -> list[Alternative]:
    """Candidates with their weights, the best first; candidates of negligible weight are left out.

    The rank of a partition is the logarithm of its size-aware cut minus, for features, the mean log
    density of a mixture that starts at it, penalized for its parameters: a good partition cuts few
    links, and its clusters describe the objects.

    Parameters
    ----------
    ranked : sequence of RankedPartition
        Candidates by their cuts, the best first.
    X : array of shape (n, d) or None
        Features, if densities can be estimated from them.
    n_clusters : int
        Number of clusters.
    random_state : int
        Seed of the sample from which mixtures are estimated.
    weights : array of shape (n,), optional
        Weights of the objects, 1 on average.
    """
    considered = ranked[:_MOST]
    ranks = np.array([one.score for one in considered])
    mixtures: list[SeededMixture | None] = [None] * len(considered)
    if X is not None:
        partitions = [one.labels for one in considered]
        described = describe_partitions(
            X, partitions, n_clusters, random_state=random_state, weights=weights
        )
        ranks -= [one.log_density for one in described]
        mixtures = [one.mixture for one in described]
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

    Partitions that contradict each other in every cluster can leave one of them without any object.
    The others then count half as much, and so on, until every cluster of the best is kept.

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
    kept = np.unique(best.argmax(axis=1))
    for share in _SHARES_OF_OTHERS:
        total = best + share * added
        if np.isin(kept, total.argmax(axis=1)).all():
            return np.asarray(total / total.sum(axis=1, keepdims=True), dtype=best.dtype)
    return best
