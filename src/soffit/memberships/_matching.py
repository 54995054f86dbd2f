"""Which cluster of one clustering is which cluster of another."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from soffit._memory import check_allocation
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.memberships._partition import (
    check_memberships,
    check_same_length,
    encode_labels,
    indicator,
)


def match_clusters(reference: ArrayLike, other: ArrayLike) -> IntArray:
    r"""Order of the clusters of `other` that suits `reference` best.

    The Hungarian method finds the one-to-one matching :math:`\pi` with the largest overlap

    .. math:: \sum_c \sum_i r_{ic} \, o_{i\pi(c)},

    which is also the one with the smallest :math:`\sum_c \|r_c - o_{\pi(c)}\|^2` once the
    clustering with fewer clusters is filled up with empty ones.

    Parameters
    ----------
    reference, other : array of shape (n,) or (n, k)
        Labels of any type, or memberships. The columns of a label vector are its distinct
        labels in sorted order. The numbers of clusters may differ.

    Returns
    -------
    array of int, shape (k of other,)
        A permutation `order`, so that `other[:, order]` has its clusters in the order of the
        reference's. Clusters of `other` without a partner come last, in their own order. When
        `other` has fewer clusters, reference clusters without a partner are passed over;
        `align` leaves an empty column for them instead.

    Examples
    --------
    >>> from soffit.memberships import match_clusters
    >>> match_clusters(["a", "a", "b", "c"], [2, 2, 0, 1]).tolist()
    [2, 0, 1]
    >>> match_clusters([0, 0, 1, 1], [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 0, 0]]).tolist()
    [1, 0, 2]
    """
    overlap = overlap_table(reference, other, "reference", "other")
    partner = partners(overlap)
    return _matched_first(partner, overlap.shape[1])


def align(reference: ArrayLike, memberships: ArrayLike) -> FloatArray:
    """Reorder the columns of `memberships` so that they stand under those of `reference`.

    Parameters
    ----------
    reference : array of shape (n,) or (n, k_reference)
        Labels or memberships.
    memberships : array of shape (n, k)
        What to reorder.

    Returns
    -------
    array of shape (n, max(k_reference, k))
        Column c is the cluster matched to cluster c of the reference, or zero if it has no
        partner. Clusters without a partner follow after the reference's. A new array of the
        same precision.

    Examples
    --------
    >>> from soffit.memberships import align
    >>> align(["x", "y", "y"], [[0.1, 0.9], [0.8, 0.2], [0.7, 0.3]]).tolist()
    [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]]
    >>> align(["x", "y", "z"], [[0.1, 0.9], [0.2, 0.8], [1.0, 0.0]]).shape
    (3, 3)
    """
    values = check_memberships(memberships)
    partner = partners(overlap_table(reference, values, "reference", "memberships"))
    n_objects, n_clusters = values.shape
    aligned = np.zeros((n_objects, max(partner.size, n_clusters)), dtype=values.dtype)
    matched = partner >= 0
    aligned[:, : partner.size][:, matched] = values[:, partner[matched]]
    spare = _matched_first(partner, n_clusters)[int(matched.sum()) :]
    aligned[:, partner.size : partner.size + spare.size] = values[:, spare]
    return aligned


def overlap_table(reference: Any, other: Any, reference_name: str, other_name: str) -> FloatArray:
    """Inner products of the columns of two clusterings, (k_reference, k_other)."""
    left = _columns(reference, reference_name)
    right = _columns(other, other_name)
    check_same_length(left.shape[0], right.shape[0], reference_name, other_name)
    check_allocation(
        (left.shape[1], right.shape[1]),
        np.float64,
        what="Matching clusters",
        remedy="Matching needs far fewer clusters than objects: check that labels are given.",
    )
    table: Any = left.T @ right
    return np.asarray(table.toarray() if sp.issparse(table) else table, dtype=np.float64)


def partners(overlap: FloatArray) -> IntArray:
    """For each row the column that the Hungarian method matches to it, -1 where none is left."""
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    partner = np.full(overlap.shape[0], -1, dtype=np.int64)
    partner[rows] = columns
    return partner


def _columns(clustering: Any, name: str) -> Matrix:
    """Memberships of either kind of input; labels become a sparse indicator matrix."""
    if sp.issparse(clustering) or np.ndim(clustering) == 2:
        return check_memberships(clustering, name)
    return indicator(*encode_labels(clustering, name))


def _matched_first(partner: IntArray, n_clusters: int) -> IntArray:
    matched = partner[partner >= 0]
    spare = np.setdiff1d(np.arange(n_clusters, dtype=np.int64), matched)
    return np.concatenate([matched, spare])
