"""Scores of hard partitions against labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from soffit._memory import check_allocation
from soffit._parameters import OneOf, check_parameter
from soffit._threads import without_warnings
from soffit._typing import IntArray
from soffit.memberships.matching import check_same_length, encode_labels, partners


def _codes(y_true: Any, y_pred: Any) -> tuple[IntArray, IntArray]:
    """Both label vectors as codes, checked."""
    classes, _ = encode_labels(y_true, "y_true")
    clusters, _ = encode_labels(y_pred, "y_pred")
    check_same_length(classes.size, clusters.size, "y_true", "y_pred")
    return classes, clusters


def _contingency(y_true: Any, y_pred: Any) -> sp.csr_array:
    """Numbers of objects by true class (row) and predicted cluster (column)."""
    from sklearn.metrics.cluster import contingency_matrix

    return sp.csr_array(contingency_matrix(*_codes(y_true, y_pred), sparse=True))


def _score(name: str, y_true: Any, y_pred: Any, **settings: Any) -> float:
    """The score of this name in scikit-learn."""
    import sklearn.metrics

    labels = _codes(y_true, y_pred)
    # Almost as many labels as objects do not make this a regression problem.
    with without_warnings(UserWarning, "The number of unique classes is greater"):
        return float(getattr(sklearn.metrics, name)(*labels, **settings))


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
    counts = _contingency(y_true, y_pred)
    check_allocation(
        counts.shape,
        np.float64,
        what="accuracy",
        remedy="It matches clusters one to one; use adjusted_rand for very many clusters.",
        copies=2,
    )
    table = counts.toarray()
    partner = partners(table)
    matched = np.flatnonzero(partner >= 0)
    return int(table[matched, partner[matched]].sum()) / int(table.sum())


def purity(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of objects that belong to the most frequent class of their cluster.

    Range 1/(number of classes) to 1, 1 if every cluster holds one class only. Several clusters
    may represent the same class, so purity grows with the number of clusters; n clusters of one
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
    counts = _contingency(y_true, y_pred)
    return int(counts.max(axis=0).sum()) / int(counts.sum())


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
    return _score("rand_score", y_true, y_pred)


def adjusted_rand(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    r"""Rand index corrected for chance.

    With t pairs together in both clusterings, a in the first, b in the second, N in total,

    .. math:: \frac{t - ab/N}{(a + b)/2 - ab/N}.

    Range -1/2 to 1: 1 for equal clusterings, 0 on average for unrelated ones. Two clusterings that
    are both a single cluster, or both only singletons, are equal and score 1.

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
    return _score("adjusted_rand_score", y_true, y_pred)


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
    check_parameter("average", average, OneOf(("arithmetic", "geometric", "max", "min")))
    value = _score("normalized_mutual_info_score", y_true, y_pred, average_method=average)
    return min(value, 1.0)
