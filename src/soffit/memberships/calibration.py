"""Memberships from a walk and a mixture: their average, and what pairs say about the mixture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray, Matrix
from soffit.affinity import SideInformation
from soffit.graph import Graph
from soffit.memberships.ensemble import soften
from soffit.memberships.mixture import SeededMixture, fit_seeded_mixture
from soffit.memberships.pairs import pair_log_likelihood
from soffit.memberships.walk import sharpen

# Smoothing draws memberships together; this power undoes it inside clusters.
_SHARPNESS = 1.5
# Partitions are sometimes wrong where nothing in the graph says so; this power allows for it.
_MODESTY = 0.9
# Weight of a mixture, beside the walk, whose pieces look as they should.
_SHARE = 0.8
# The same for a mixture that describes the corrected clusters as they are.
_SHARE_AT_REST = 0.5
# The usual mixture is given up if the pairs are better foretold without its steps by more than so
# many standard errors.
_ERRORS = 1.0
# A mixture of fewer objects foretells nothing, and directions need no more than the most.
_FEWEST_LEFT, _MOST_LEFT = 20, 2**17


def linked(block: Matrix) -> NDArray[np.bool_]:
    """Which objects had anywhere to walk, as a column."""
    return Graph.of(block).degrees()[:, None] > 0


def sharp(walked: FloatArray, block: Matrix) -> FloatArray:
    """Memberships after a walk over these affinities, without its evening out."""
    return np.where(linked(block), sharpen(walked, _SHARPNESS), walked)


def mixed(walked: FloatArray, mixture: SeededMixture, X: FloatArray) -> FloatArray:
    """The average of a walk and a mixture, the latter as far as it is to be trusted."""
    share = _SHARE * mixture.trust
    return np.asarray((1 - share) * walked + share * mixture.memberships(X), dtype=walked.dtype)


def calibrated(
    walked: FloatArray, block: Matrix, mixture: SeededMixture | None, X: FloatArray | None
) -> FloatArray:
    """Memberships from a walk and, for features, a mixture.

    Raising the result of the walk to a power counteracts its smoothing; the power is smaller where
    the walk is alone. Objects that had nowhere to walk keep the prior, unless the mixture knows
    more.

    Parameters
    ----------
    walked : array of shape (m, k)
        Memberships after the walk.
    block : array or CSR of shape (m, n)
        The affinities along which it went.
    mixture : SeededMixture, optional
        Densities of the clusters.
    X : array of shape (m, d), optional
        Features of the objects.
    """
    sharpened = sharp(walked, block)
    if mixture is not None and X is not None:
        return mixed(sharpened, mixture, X)
    return np.where(linked(block), soften(sharpened, _MODESTY), walked)


def fit_told_mixture(
    X: FloatArray,
    rows: FloatArray,
    side: SideInformation,
    walk: Callable[[FloatArray], FloatArray],
    *,
    weight: float,
    random_state: int,
) -> SeededMixture:
    """Fit the usual mixture, or one at rest if pairs that it has not seen clearly ask for it.

    Densities know nothing of pairs: the steps of EM may improve on the clusters, or walk back to
    what the pairs have corrected. Both mixtures are fitted to the objects that no pair touches,
    and averaged with a walk that begins without the touched ones. Whichever foretells the pairs
    better is right about the objects that it has not been told of; the usual one keeps its place
    within a standard error.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    rows : array of shape (n, k)
        The factor, which the pairs have shaped.
    side : SideInformation
        The pairs.
    walk : callable
        From rows to the memberships after the walk.
    weight : float
        How far pairs are trusted: each counts as so many.
    random_state : int
        Seed of the mixtures.
    """
    labels, k = rows.argmax(axis=1), rows.shape[1]
    touched = np.unique(np.concatenate([side.must.ravel(), side.cannot.ravel()]))
    left = np.setdiff1d(np.arange(len(X)), touched)

    def fit(objects: IntArray | slice, *, at_rest: bool) -> SeededMixture:
        options = {"n_steps": 0} if at_rest else {}
        found = fit_seeded_mixture(
            X[objects], labels[objects], k, random_state=random_state, **options
        )
        return replace(found, trust=found.trust * _SHARE_AT_REST / _SHARE) if at_rest else found

    everything = slice(None)
    if len(left) < _FEWEST_LEFT or side.n_pairs < 2:
        return fit(everything, at_rest=False)
    untold = rows.copy()
    untold[touched] = rows[left].mean(axis=0)
    walked = walk(untold)[touched]
    left = left[:: -(-len(left) // _MOST_LEFT)]
    usual, resting = (
        pair_log_likelihood(mixed(walked, fit(left, at_rest=rest), X[touched]), side.among(touched))
        for rest in (False, True)
    )
    return fit(everything, at_rest=_is_clear(resting - usual, weight))


def _is_clear(gains: FloatArray, weight: float) -> bool:
    error = float(gains.std(ddof=1)) / np.sqrt(weight * len(gains))
    return float(gains.mean()) > _ERRORS * error
