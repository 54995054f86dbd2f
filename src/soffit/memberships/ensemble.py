"""Several memberships of the same objects combined, and the uncertainty they reveal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.graph import Graph, reciprocal
from soffit.memberships.matching import align
from soffit.memberships.measures import (
    entropy,
    largest,
    largest_without_excess,
    soften,
    without_traces,
)


@dataclass(frozen=True, eq=False)
class Ensemble:
    r"""Memberships averaged over resamples, with their uncertainty decomposed.

    The entropy of the average is the sum of two parts: the *overlap*, the mean entropy of the
    averaged memberships, which remains if all resamples agree; and the *instability*, the mutual
    information between an object's cluster and the resample, which is due to their disagreement.

    Parameters
    ----------
    memberships : ndarray of shape (n, k)
        The average, softened to the agreement; rows sum to one.
    overlap, instability : ndarray of shape (n,)
        The two parts of its entropy, in nats.
    agreement : float
        Share of objects on whose cluster two resamples agree, averaged over all pairs of resamples.
    cluster_stability : ndarray of shape (k,)
        Mean Jaccard overlap of each cluster with its counterpart in the resamples, 0 to 1.
    power : float
        The exponent that softened the memberships; 1 if they were not overconfident.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.memberships import combine
    >>> W = np.array([[1.0, 0.0], [0.4, 0.6]])
    >>> combine(W, [W, W]).cluster_stability
    array([1., 1.])
    """

    memberships: FloatArray
    overlap: FloatArray
    instability: FloatArray
    agreement: float
    cluster_stability: FloatArray
    power: float


def combine(
    memberships: Any,
    resamples: Sequence[Any],
    *,
    share: float = 0.5,
    weights: Sequence[float] | None = None,
) -> Ensemble:
    r"""Average memberships with those found on resamples, and soften them to the agreement.

    .. math:: \bar p_i = \Big(1 - \frac{1 - \sigma}{r} \sum_t w_t\Big) p_i^\beta
              + \frac{1 - \sigma}{r} \sum_t w_t q_{ti}^\beta

    (each power normalized to sum to one), with the clusters of every resample matched to those of
    `memberships`. The exponent :math:`\beta \le 1` is the largest for which the mean top
    membership does not exceed the share of objects on which two resamples agree: if resamples
    disagree on three objects in ten, the mean confidence is at most 0.7. Resamples of small weight
    count less in both.

    Parameters
    ----------
    memberships : array of shape (n, k)
        Memberships from all objects.
    resamples : sequence of arrays of shape (n, k)
        Memberships of the same objects from fits to subsamples; at least two.
    share : float, default 0.5
        Weight of `memberships`; the rest is divided evenly among the resamples.
    weights : sequence of float, optional
        How much of its part each resample gets, from 0 to 1; all of it by default. What is left
        goes to `memberships`.

    Returns
    -------
    Ensemble
        Average, its uncertainty in two parts, agreement and stability of clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.memberships import combine
    >>> sure = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> moved = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    >>> result = combine(sure, [sure, moved])
    >>> result.memberships[1], result.agreement
    (array([0.75, 0.25]), 0.75)
    >>> bool(result.instability[1] > result.instability[0])
    True
    """
    if len(resamples) < 2:
        raise ValueError(f"resamples must hold at least two memberships, got {len(resamples)}.")
    aligned = [align(memberships, member) for member in resamples]
    labels = np.array([largest(member)[0] for member in aligned])
    counted = np.ones(len(aligned)) if weights is None else np.asarray(weights, dtype=np.float64)
    each_part = (1.0 - share) / len(aligned) * counted
    shares = np.concatenate([[1.0 - each_part.sum()], each_part])
    parts = [memberships, *aligned]
    power = _largest_power(parts, shares, _counted_agreement(labels, counted))
    softened = [soften(part, power) for part in parts]
    average = _weighted(softened, shares)
    if is_sparse(average):
        average = without_traces(average.astype(memberships.dtype))
    else:
        average = np.asarray(average, dtype=memberships.dtype)
        average /= average.sum(axis=1, keepdims=True)
    total = entropy(average)
    overlap = np.minimum(_weighted([entropy(part) for part in softened], shares), total)
    return Ensemble(
        memberships=average,
        overlap=np.asarray(overlap, dtype=total.dtype),
        instability=np.asarray(total - overlap, dtype=total.dtype),
        agreement=pair_agreement(labels),
        cluster_stability=_jaccard(largest(memberships)[0], labels, memberships.shape[1]),
        power=power,
    )


def carried_over(memberships: Any, block: Matrix, correction: Any) -> Any:
    r"""Memberships of new objects, corrected like those of their neighbours.

    .. math:: p_i + \frac{\sum_j b_{ij} \Delta_j}{\sum_j b_{ij}}

    Parameters
    ----------
    memberships : array of shape (m, k)
        Memberships p of new objects.
    block : array or CSR of shape (m, n)
        Their affinities b to the fitted objects.
    correction : array of shape (n, k)
        What was added to the memberships of each fitted object; rows sum to zero.

    Returns
    -------
    ndarray of shape (m, k)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.memberships import carried_over
    >>> carried_over(np.array([[1.0, 0.0]]), np.array([[1.0, 1.0]]), np.array([[-0.2, 0.2]] * 2))
    array([[0.8, 0.2]])
    """
    if is_sparse(correction):
        inverse = reciprocal(Graph.of(block).degrees())
        moved = memberships + sp.diags_array(inverse) @ (sp.csr_array(block) @ correction)
        return without_traces(sp.csr_array(moved).astype(memberships.dtype))
    degrees = Graph.of(block).degrees()[:, None]
    mean = np.asarray(block @ correction) / np.where(degrees > 0, degrees, 1.0)
    moved = np.maximum(memberships + mean, 0.0)
    return np.asarray(moved / moved.sum(axis=1, keepdims=True), dtype=memberships.dtype)


def pair_agreement(labels: IntArray) -> float:
    """Share of objects with equal labels, averaged over all pairs of rows of `labels`.

    Parameters
    ----------
    labels : int array of shape (m, n)
        One row per partition, with matched numbers of clusters; -1 is left out.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.memberships import pair_agreement
    >>> pair_agreement(np.array([[0, 0, 1, 1], [0, 0, 1, 0]]))
    0.75
    """
    r, n = labels.shape
    equal = sum(np.count_nonzero(labels[a] == labels[b]) for a in range(r) for b in range(a))
    return float(equal) / (n * r * (r - 1) / 2)


def _counted_agreement(labels: IntArray, counted: FloatArray) -> float:
    """Agreement of resamples of some weights; what they lack in weight counts as agreement."""
    r = len(counted)
    pairs = [(a, b) for a in range(r) for b in range(a)]
    weights = np.array([counted[a] * counted[b] for a, b in pairs])
    if weights.sum() <= 0.0:
        return 1.0
    agree = np.average([np.mean(labels[a] == labels[b]) for a, b in pairs], weights=weights)
    return float(1.0 - counted.mean() * (1.0 - agree))


def _weighted(parts: Sequence[Any], weights: FloatArray) -> Any:
    if is_sparse(parts[0]):
        return sum(part * weight for part, weight in zip(parts, weights, strict=True))
    total = np.zeros_like(parts[0], dtype=np.float64)
    for part, weight in zip(parts, weights, strict=True):
        total += weight * part
    return total


def _largest_power(parts: Sequence[FloatArray], weights: FloatArray, target: float) -> float:
    def excess(power: float) -> float:
        average = _weighted([soften(part, power) for part in parts], weights)
        return float(largest(average)[1].mean()) - target

    return largest_without_excess(excess)


def _jaccard(labels: IntArray, resampled: IntArray, n_clusters: int) -> FloatArray:
    """Mean Jaccard index per cluster over resamples; 1 for a cluster that is empty in both."""
    result = np.zeros(n_clusters)
    for other in resampled:
        both = np.bincount(labels[labels == other], minlength=n_clusters)
        either = (
            np.bincount(labels, minlength=n_clusters)
            + np.bincount(other, minlength=n_clusters)
            - both
        )
        result += np.divide(both, either, out=np.ones(n_clusters), where=either > 0)
    return result / len(resampled)
