"""Memberships from a walk and a mixture: their average, and the evidence of pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray, Matrix
from soffit.affinity import SideInformation
from soffit.graph import Graph
from soffit.memberships.ensemble import soften
from soffit.memberships.mixture import SeededMixture, fit_seeded_mixture
from soffit.memberships.pairs import pair_log_likelihood
from soffit.memberships.walk import sharpen

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
    share = 1.0 if mixture.alone else _SHARE * mixture.trust
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
