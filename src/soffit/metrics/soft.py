"""Scores of memberships as probabilities: Brier, logarithmic, distance to a true posterior."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from soffit._typing import FloatArray
from soffit.memberships.measures import check_same_length
from soffit.metrics.truth import check_probabilities, match_to_truth


def brier(y_true: ArrayLike, memberships: ArrayLike) -> float:
    r"""Mean squared difference between memberships and true labels.

    .. math:: \frac1n \sum_i \sum_c (g_{ic} - [y_i = c])^2

    Range 0 (certain and right) to 2 (certain and wrong); k equal memberships give 1 - 1/k. It
    is the smallest value over all one-to-one matchings of clusters to classes. Clusters without a
    class, and classes without a cluster, are compared with zeros.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of any type.
    memberships : array of shape (n, k)
        Rows sum to one. k may differ from the number of classes.

    Returns
    -------
    float

    References
    ----------
    Brier (1950). Verification of forecasts expressed in terms of probability. Monthly Weather
    Review 78, 1-3.

    Examples
    --------
    >>> from soffit.metrics import brier
    >>> round(brier(["a", "b"], [[0.1, 0.9], [1.0, 0.0]]), 6)
    0.01
    """
    matched = match_to_truth(y_true, memberships)
    own = matched.membership_of_truth()
    others = np.einsum("ic,ic->i", matched.memberships, matched.memberships) - own**2
    return float(np.mean(np.maximum(others, 0) + (1 - own) ** 2))


def log_loss(y_true: ArrayLike, memberships: ArrayLike, *, floor: float = 1e-3) -> float:
    r"""Mean negative logarithm of the membership in the true class, in nats.

    .. math:: -\frac1n \sum_i \log \max(g_{i y_i}, \text{floor})

    Range 0 (certain and right) to -log(floor), which is 6.9 for the default. Without a floor a
    single confident mistake would make the mean infinite. Memberships are not rescaled after
    the floor is applied. Clusters are matched to classes by their overlap, as in
    `match_clusters`; objects of a class without a cluster get the floor.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of any type.
    memberships : array of shape (n, k)
        Rows sum to one. k may differ from the number of classes.
    floor : float, default 1e-3
        Smallest membership used, between 0 and 1, both excluded.

    Returns
    -------
    float

    Examples
    --------
    >>> from soffit.metrics import log_loss
    >>> round(log_loss(["a", "b"], [[0.5, 0.5], [0.0, 1.0]]), 4)
    0.3466
    """
    if not 0 < floor < 1:
        raise ValueError(f"floor must lie between 0 and 1, got {floor!r}; try 1e-3.")
    own = match_to_truth(y_true, memberships).membership_of_truth()
    # Rows may exceed one by rounding; the loss must not become negative.
    return -float(np.mean(np.log(np.clip(own, floor, 1.0)))) + 0.0


def posterior_distance(posterior: ArrayLike, memberships: ArrayLike) -> float:
    r"""Mean total variation distance between memberships and a known posterior.

    .. math:: \min_\pi \frac1n \sum_i \frac12 \sum_c |p_{ic} - g_{i\pi(c)}|

    Range 0 (equal) to 1 (never on the same cluster). The minimum over all one-to-one matchings
    of clusters is found exactly by the Hungarian method on the distances between columns. The
    side with fewer clusters is padded with zero columns. Symmetric in its two arguments.

    Parameters
    ----------
    posterior : array of shape (n, k_posterior)
        True probabilities, for example of a known mixture. Rows sum to one.
    memberships : array of shape (n, k)
        Rows sum to one.

    Returns
    -------
    float

    Examples
    --------
    >>> from soffit.metrics import posterior_distance
    >>> round(posterior_distance([[0.9, 0.1], [0.2, 0.8]], [[0.1, 0.9], [0.7, 0.3]]), 6)
    0.05
    """
    first = check_probabilities(posterior, "posterior")
    second = check_probabilities(memberships, "memberships")
    check_same_length(first.shape[0], second.shape[0], "posterior", "memberships")
    n_clusters = max(first.shape[1], second.shape[1])
    costs = cdist(_padded(first, n_clusters).T, _padded(second, n_clusters).T, metric="cityblock")
    rows, columns = linear_sum_assignment(costs)
    distance: float = float(costs[rows, columns].sum()) / (2 * first.shape[0])
    return min(1.0, distance)


def _padded(memberships: FloatArray, n_clusters: int) -> FloatArray:
    missing = n_clusters - memberships.shape[1]
    return np.pad(memberships, ((0, 0), (0, missing))) if missing else memberships
