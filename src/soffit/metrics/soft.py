"""Scores of memberships as probabilities, and their calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from soffit._parameters import WholeNumber, check_parameter
from soffit._typing import FloatArray, IntArray, is_sparse
from soffit.graph import Graph, as_array
from soffit.memberships.matching import check_same_length, encode_labels, overlap_table, partners
from soffit.memberships.measures import check_memberships, largest

# Wide enough for float32 and for values rounded in a file, far too narrow for raw factors.
_ROW_SUM_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Matched:
    """Memberships and, for each object, the cluster matched to its true class (-1: none)."""

    memberships: Any
    true_cluster: IntArray

    def membership_of_truth(self) -> FloatArray:
        """Membership in the true class; zero where no cluster is matched to that class."""
        rows = np.arange(self.true_cluster.size)
        own = Graph.of(self.memberships).at(rows, self.true_cluster)
        return np.where(self.true_cluster >= 0, own, 0.0)


def match_to_truth(y_true: Any, memberships: Any) -> Matched:
    """Match clusters to classes by their overlap."""
    values = check_probabilities(memberships, "memberships")
    classes, _ = encode_labels(y_true, "y_true")
    check_same_length(classes.size, values.shape[0], "y_true", "memberships")
    partner = partners(overlap_table(classes, values, "y_true", "memberships"))
    return Matched(memberships=values, true_cluster=partner[classes])


def check_probabilities(memberships: Any, name: str) -> Any:
    """Return memberships in float64 whose rows sum to one."""
    values = check_memberships(memberships, name).astype(np.float64, copy=False)
    row_sums = np.asarray(values.sum(axis=1))
    worst = int(np.abs(row_sums - 1).argmax())
    if abs(row_sums[worst] - 1) > _ROW_SUM_TOLERANCE:
        raise ValueError(
            f"each row of {name} must sum to 1, row {worst} sums to {row_sums[worst]:g}; "
            "divide each row by its sum."
        )
    return values


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
    rows = matched.memberships
    if is_sparse(rows):
        squares = np.asarray(rows.multiply(rows).sum(axis=1))
    else:
        squares = np.einsum("ic,ic->i", rows, rows)
    others = squares - own**2
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
    first = as_array(check_probabilities(posterior, "posterior"))
    second = as_array(check_probabilities(memberships, "memberships"))
    check_same_length(first.shape[0], second.shape[0], "posterior", "memberships")
    n_clusters = max(first.shape[1], second.shape[1])
    costs = cdist(_padded(first, n_clusters).T, _padded(second, n_clusters).T, metric="cityblock")
    rows, columns = linear_sum_assignment(costs)
    distance: float = float(costs[rows, columns].sum()) / (2 * first.shape[0])
    return min(1.0, distance)


def _padded(memberships: FloatArray, n_clusters: int) -> FloatArray:
    missing = n_clusters - memberships.shape[1]
    return np.pad(memberships, ((0, 0), (0, missing))) if missing else memberships


@dataclass(frozen=True)
class CalibrationCurve:
    """Mean confidence, accuracy and number of objects of each nonempty bin.

    Examples
    --------
    >>> from soffit.metrics import calibration_curve
    >>> curve = calibration_curve([0, 0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]])
    >>> int(curve.count.sum())
    4
    """

    confidence: FloatArray
    accuracy: FloatArray
    count: IntArray


def calibration_curve(
    y_true: ArrayLike, memberships: ArrayLike, *, n_bins: int = 15
) -> CalibrationCurve:
    """Accuracy of the largest membership as a function of its size.

    Objects are sorted by their largest membership into bins of equal width over 0 to 1, each
    including its upper end. Calibrated memberships lie on the diagonal: of the objects with
    confidence 0.8, four in five are right. Clusters are matched to classes by their overlap, as
    in `match_clusters`. An object is wrong if its largest membership is in a cluster without a
    class, or if its class has no cluster.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of any type.
    memberships : array of shape (n, k)
        Rows sum to one. k may differ from the number of classes.
    n_bins : int, default 15
        Number of bins.

    Returns
    -------
    CalibrationCurve
        Arrays `confidence`, `accuracy` (both within 0 to 1) and `count`, one entry per nonempty
        bin, by increasing confidence.

    Examples
    --------
    >>> from soffit.metrics import calibration_curve
    >>> curve = calibration_curve(["a", "b", "b"], [[0.7, 0.3], [0.7, 0.3], [0.0, 1.0]], n_bins=5)
    >>> curve.accuracy.tolist(), curve.count.tolist()
    ([0.5, 1.0], [2, 1])
    """
    check_parameter("n_bins", n_bins, WholeNumber(1))
    matched = match_to_truth(y_true, memberships)
    top, confidence = largest(matched.memberships)
    confidence = np.minimum(confidence, 1.0)
    right = (top == matched.true_cluster).astype(np.float64)
    inner_edges = np.arange(1, n_bins) / n_bins
    bins = np.searchsorted(inner_edges, confidence, side="left")
    count = np.bincount(bins, minlength=n_bins)
    used = count > 0
    return CalibrationCurve(
        confidence=np.bincount(bins, confidence, n_bins)[used] / count[used],
        accuracy=np.bincount(bins, right, n_bins)[used] / count[used],
        count=count[used],
    )


def calibration_error(y_true: ArrayLike, memberships: ArrayLike, *, n_bins: int = 15) -> float:
    r"""Expected calibration error of the largest membership.

    .. math:: \sum_b \frac{n_b}{n} |\text{accuracy}_b - \text{confidence}_b|

    over the bins of `calibration_curve`. Range 0 (calibrated) to 1 (certain and always wrong).
    It does not measure how informative the memberships are; use it together with `brier`.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of any type.
    memberships : array of shape (n, k)
        Rows sum to one. k may differ from the number of classes.
    n_bins : int, default 15
        Number of bins of equal width.

    Returns
    -------
    float

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015). Obtaining well calibrated probabilities using Bayesian
    binning. AAAI, 2901-2907.

    Examples
    --------
    >>> from soffit.metrics import calibration_error
    >>> round(calibration_error(["a", "b"], [[0.9, 0.1], [0.1, 0.9]]), 6)
    0.1
    """
    curve = calibration_curve(y_true, memberships, n_bins=n_bins)
    gap = np.abs(curve.accuracy - curve.confidence)
    return float((curve.count * gap).sum() / curve.count.sum())
