"""Calibration of memberships: confidence against accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from soffit._typing import FloatArray, IntArray
from soffit.metrics.truth import match_to_truth


@dataclass(frozen=True)
class CalibrationCurve:
    """Mean confidence, accuracy and number of objects of each nonempty bin."""

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
    if isinstance(n_bins, bool) or not isinstance(n_bins, Integral) or n_bins < 1:
        raise ValueError(f"n_bins must be a positive integer, got {n_bins!r}; try 15.")
    matched = match_to_truth(y_true, memberships)
    top = matched.memberships.argmax(axis=1)
    confidence = np.minimum(matched.memberships.max(axis=1), 1.0)
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
