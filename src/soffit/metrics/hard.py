"""Scores of hard partitions against labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from soffit._memory import check_allocation
from soffit._typing import IntArray
from soffit.memberships.measures import check_same_length, encode_labels, partners


@dataclass(frozen=True)
class Contingency:
    """Counts of objects by true class (row) and predicted cluster (column)."""

    table: sp.csr_array
    class_sizes: IntArray
    cluster_sizes: IntArray
    n_objects: int


@dataclass(frozen=True)
class PairCounts:
    """Numbers of pairs as Python integers, which cannot overflow."""

    together_in_both: int
    together_in_true: int
    together_in_predicted: int
    total: int


def contingency(y_true: Any, y_pred: Any) -> Contingency:
    """Cross-tabulate two label vectors."""
    classes, n_classes = encode_labels(y_true, "y_true")
    clusters, n_clusters = encode_labels(y_pred, "y_pred")
    check_same_length(classes.size, clusters.size, "y_true", "y_pred")
    ones = np.ones(classes.size, dtype=np.int64)
    table = sp.coo_array((ones, (classes, clusters)), shape=(n_classes, n_clusters)).tocsr()
    table.sum_duplicates()
    return Contingency(
        table=table,
        class_sizes=np.bincount(classes, minlength=n_classes),
        cluster_sizes=np.bincount(clusters, minlength=n_clusters),
        n_objects=int(classes.size),
    )


def pair_counts(counts: Contingency) -> PairCounts:
    """Pairs that lie together in both, in the true, in the predicted clustering, and all pairs."""
    return PairCounts(
        together_in_both=_pairs_within(counts.table.data),
        together_in_true=_pairs_within(counts.class_sizes),
        together_in_predicted=_pairs_within(counts.cluster_sizes),
        total=counts.n_objects * (counts.n_objects - 1) // 2,
    )


def _pairs_within(sizes: IntArray) -> int:
    # The sum is at most n (n - 1), which int64 holds up to n = 3e9.
    wide = sizes.astype(np.int64, copy=False)
    return int((wide * (wide - 1)).sum()) // 2


_AVERAGES: dict[str, Callable[[float, float], float]] = {
    "max": max,
    "min": min,
    "arithmetic": lambda first, second: (first + second) / 2,
    "geometric": lambda first, second: sqrt(first * second),
}


def accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of objects in the right cluster after the best one-to-one matching.

    Range 0 to 1, 1 for a perfect clustering. Clusters are matched to classes by the Hungarian
    method; all objects of a cluster without a class, or of a class without a cluster, count as
    wrong.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        Labels of any type. The numbers of distinct labels may differ.

    Returns
    -------
    float

    Examples
    --------
    >>> from soffit.metrics import accuracy
    >>> accuracy(["cat", "cat", "dog", "dog"], [1, 1, 0, 1])
    0.75
    """
    counts = contingency(y_true, y_pred)
    check_allocation(
        counts.table.shape,
        np.float64,
        what="accuracy",
        remedy="It matches clusters one to one; use adjusted_rand for very many clusters.",
        copies=2,
    )
    table = counts.table.toarray()
    partner = partners(table)
    matched = np.flatnonzero(partner >= 0)
    return int(table[matched, partner[matched]].sum()) / counts.n_objects


def purity(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of objects that belong to the commonest class of their cluster.

    Range 1/(number of classes) to 1, 1 if every cluster holds one class only. Several clusters
    may stand for the same class, so purity grows with the number of clusters; n clusters of one
    object each reach 1.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        Labels of any type. Exchanging the two changes the value.

    Returns
    -------
    float

    Examples
    --------
    >>> from soffit.metrics import purity
    >>> purity(["a", "a", "b", "b"], [0, 1, 2, 2])
    1.0
    """
    counts = contingency(y_true, y_pred)
    cells = counts.table.tocoo()
    commonest = np.zeros(counts.cluster_sizes.size, dtype=np.int64)
    np.maximum.at(commonest, cells.coords[1], cells.data)
    return int(commonest.sum()) / counts.n_objects


def rand_index(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of pairs of objects on which the two clusterings agree.

    Range 0 to 1, 1 for equal clusterings. A pair counts as agreement if it is together in both
    or apart in both. Unrelated clusterings score far above 0; see `adjusted_rand`. A single
    object forms no pair and scores 1.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        Labels of any type.

    Returns
    -------
    float

    References
    ----------
    Rand (1971). Objective criteria for the evaluation of clustering methods. Journal of the
    American Statistical Association 66, 846-850.

    Examples
    --------
    >>> from soffit.metrics import rand_index
    >>> rand_index([0, 0, 1, 1], [0, 0, 1, 2])
    0.8333333333333334
    """
    pairs = pair_counts(contingency(y_true, y_pred))
    if pairs.total == 0:
        return 1.0
    apart = pairs.together_in_true + pairs.together_in_predicted - 2 * pairs.together_in_both
    return (pairs.total - apart) / pairs.total


def adjusted_rand(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    r"""Rand index corrected for chance.

    With t pairs together in both clusterings, a in the first, b in the second, N in all,

    .. math:: \frac{t - ab/N}{(a + b)/2 - ab/N}.

    Range -1/2 to 1: 1 for equal clusterings, 0 on average for unrelated ones. Computed in exact
    integers with one division at the end. Two clusterings that are both one single cluster, or
    both single objects, are equal and score 1.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        Labels of any type.

    Returns
    -------
    float

    References
    ----------
    Hubert and Arabie (1985). Comparing partitions. Journal of Classification 2, 193-218.

    Examples
    --------
    >>> from soffit.metrics import adjusted_rand
    >>> adjusted_rand([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    >>> adjusted_rand([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    pairs = pair_counts(contingency(y_true, y_pred))
    first, second = pairs.together_in_true, pairs.together_in_predicted
    by_chance = first * second
    spread = (first + second) * pairs.total - 2 * by_chance
    if spread == 0:
        return 1.0
    return 2 * (pairs.together_in_both * pairs.total - by_chance) / spread


def nmi(y_true: ArrayLike, y_pred: ArrayLike, *, average: str = "max") -> float:
    r"""Mutual information divided by a mean of the two entropies.

    .. math:: \frac{I(y, \hat y)}{\max(H(y), H(\hat y))}

    Range 0 (independent) to 1. With the default, the strictest choice, 1 means equal
    clusterings. Two clusterings that both have a single cluster score 1; if only one has, 0.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        Labels of any type.
    average : {"max", "min", "arithmetic", "geometric"}
        What to divide by.

    Returns
    -------
    float

    Examples
    --------
    >>> from soffit.metrics import nmi
    >>> round(nmi([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.6667
    >>> round(nmi([0, 0, 1, 1], [0, 0, 1, 2], average="min"), 4)
    1.0
    """
    if average not in _AVERAGES:
        raise ValueError(f"average must be one of {sorted(_AVERAGES)}, got {average!r}.")
    counts = contingency(y_true, y_pred)
    n_objects = counts.n_objects
    if counts.class_sizes.size == 1 and counts.cluster_sizes.size == 1:
        return 1.0
    scale = _AVERAGES[average](
        _entropy_of_sizes(counts.class_sizes, n_objects),
        _entropy_of_sizes(counts.cluster_sizes, n_objects),
    )
    if scale <= 0:
        return 0.0
    return float(np.clip(_mutual_information(counts) / scale, 0.0, 1.0))


def _entropy_of_sizes(sizes: IntArray, n_objects: int) -> float:
    share = sizes / n_objects
    return max(0.0, -float((share * np.log(share)).sum()))


def _mutual_information(counts: Contingency) -> float:
    cells = counts.table.tocoo()
    rows, columns = cells.coords
    # Logarithms of shares, not of products of counts, which could overflow.
    log_ratio = (
        np.log(cells.data / counts.n_objects)
        - np.log(counts.class_sizes[rows] / counts.n_objects)
        - np.log(counts.cluster_sizes[columns] / counts.n_objects)
    )
    return float((cells.data / counts.n_objects * log_ratio).sum())
