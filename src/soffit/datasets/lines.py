"""Crossing straight lines, which pairwise similarities cannot separate."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr
from sklearn.utils import check_random_state

from soffit._typing import FloatArray
from soffit.datasets.curves import posterior_from
from soffit.datasets.sample import (
    Sample,
    Seed,
    check_count,
    check_number,
    cluster_sizes,
    shuffled_labels,
)


def make_lines(
    n_samples: int = 300,
    *,
    n_lines: int = 3,
    noise: float = 0.01,
    offset: float = 0.1,
    n_features: int = 2,
    random_state: Seed = None,
) -> Sample:
    r"""Draw crossing straight segments with Gaussian noise and their exact posterior.

    Segment j has length 2 and the direction :math:`\pi j / k`; its middle is at distance `offset`
    from the origin, alternately to its left and right. Points are uniform along it. With u along a
    segment and v across it, measured from its middle, its density is

    .. math:: p(u, v) = \tfrac12 \Big[\Phi\Big(\frac{1 - u}{s}\Big) -
              \Phi\Big(\frac{-1 - u}{s}\Big)\Big] \, N(v; 0, s^2).

    Parameters
    ----------
    n_samples : int
        Number of points.
    n_lines : int
        Number of segments; each has the same share of the points.
    noise : float
        Standard deviation s, above zero.
    offset : float
        Distance of the segments from the origin; with 0 all cross there.
    n_features : int
        Number of coordinates, at least 2. Those after the second are noise of the same standard
        deviation and carry no information about the cluster.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Sample
        With `X`, `labels`, `posterior` and `name`.

    Examples
    --------
    >>> from soffit.datasets import make_lines
    >>> make_lines(90, n_lines=3, random_state=7).posterior.shape
    (90, 3)
    """
    n_lines = check_count(n_lines, "n_lines")
    noise = check_number(noise, "noise")
    offset = check_number(offset, "offset", positive=False)
    n_features = check_count(n_features, "n_features", minimum=2)
    sizes = cluster_sizes(check_count(n_samples, "n_samples"), n_lines, None)
    rng = check_random_state(random_state)
    labels = shuffled_labels(sizes, rng)
    angle = np.pi * np.arange(n_lines) / n_lines
    along = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    middle = np.where(np.arange(n_lines) % 2 == 0, offset, -offset)
    X = noise * rng.standard_normal((len(labels), n_features))
    X[:, :2] += rng.uniform(-1, 1, len(labels))[:, None] * along[labels]
    X[:, :2] += middle[labels][:, None] * across[labels]
    u, v = X[:, :2] @ along.T, X[:, :2] @ across.T - middle
    log_density = _log_uniform_with_noise(u, noise) - 0.5 * (v / noise) ** 2
    return Sample(X, labels, posterior_from(log_density, sizes), "lines")


def _log_uniform_with_noise(u: FloatArray, noise: float) -> FloatArray:
    """Log of Phi((1 - u) / s) - Phi((-1 - u) / s), by symmetry from the accurate side."""
    outer, inner = (1.0 - np.abs(u)) / noise, (-1.0 - np.abs(u)) / noise
    log_outer = log_ndtr(outer)
    return np.asarray(log_outer + np.log1p(-np.exp(log_ndtr(inner) - log_outer)))
