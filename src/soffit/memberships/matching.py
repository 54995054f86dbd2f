"""Labels of any type, and two clusterings of the same objects matched to each other."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from soffit._memory import check_allocation
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.graph import as_array
from soffit.memberships.measures import check_memberships, indicator

# How each kind of NumPy type marks a missing value; the other kinds cannot.
_MISSING_TEST = {"f": np.isnan, "c": np.isnan, "m": np.isnat, "M": np.isnat}


def encode_labels(labels: Any, name: str = "labels") -> tuple[IntArray, int]:
    """Return codes 0..k-1 in the sorted order of the distinct labels, and k."""
    values = _label_array(labels)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be a vector of labels, got shape {values.shape}; "
            "use ravel() on a single column."
        )
    if values.size == 0:
        raise ValueError(f"{name} is empty; pass at least one label.")
    if values.dtype == object:
        return _encode_objects(values, name)
    missing = _MISSING_TEST.get(values.dtype.kind)
    if missing is not None and missing(values).any():
        raise ValueError(f"{name} contains NaN; remove those objects or give them a label.")
    classes, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64, copy=False), int(classes.size)


def check_same_length(first: int, second: int, first_name: str, second_name: str) -> None:
    """Raise ValueError unless both describe the same number of objects."""
    if first != second:
        raise ValueError(
            f"{first_name} describes {first} objects but {second_name} describes {second}; "
            "both must describe the same objects in the same order."
        )


def _label_array(labels: Any) -> np.ndarray[Any, np.dtype[Any]]:
    if sp.issparse(labels):
        raise TypeError("labels are sparse; pass a dense vector.")
    if isinstance(labels, (list, tuple)):
        kinds = {type(label) for label in labels}
        # NumPy would turn ["a", nan] into two strings and hide the missing value.
        if str in kinds and len(kinds) > 1:
            values = np.empty(len(labels), dtype=object)
            values[:] = labels
            return values
    return np.asarray(labels)


def _encode_objects(values: np.ndarray[Any, np.dtype[Any]], name: str) -> tuple[IntArray, int]:
    distinct = set(values.tolist())
    if any(_is_missing(label) for label in distinct):
        raise ValueError(
            f"{name} contains a missing value; remove those objects or give them a label."
        )
    try:
        ordered = sorted(distinct)
    except TypeError:  # Labels of mixed types have no natural order; any fixed one works.
        ordered = sorted(distinct, key=lambda label: (type(label).__name__, repr(label)))
    position = {label: code for code, label in enumerate(ordered)}
    codes = np.fromiter((position[label] for label in values), dtype=np.int64, count=values.size)
    return codes, len(ordered)


def _is_missing(label: Any) -> bool:
    if label is None:
        return True
    try:
        return bool(operator.ne(label, label))  # True for NaN of any type.
    except TypeError:  # pandas.NA has no truth value.
        return True


def match_clusters(reference: ArrayLike, other: ArrayLike) -> IntArray:
    r"""Order of the clusters of `other` that matches `reference` best.

    The Hungarian method finds the one-to-one matching :math:`\pi` with the largest overlap

    .. math:: \sum_c \sum_i r_{ic} \, o_{i\pi(c)},

    which is also the one with the smallest :math:`\sum_c \|r_c - o_{\pi(c)}\|^2` once the
    clustering with fewer clusters is padded with empty ones.

    Parameters
    ----------
    reference, other : array of shape (n,) or (n, k)
        Labels of any type, or memberships. The columns of a label vector are its distinct
        labels in sorted order. The numbers of clusters may differ.

    Returns
    -------
    array of int, shape (k of other,)
        A permutation `order`, so that ``other[:, order]`` has its clusters in the order of the
        reference's. Unmatched clusters of `other` come last, in their own order. If `other` has
        fewer clusters, unmatched reference clusters are skipped; `align` leaves an empty column
        for them instead.

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


def align(reference: Any, memberships: Any) -> Any:
    """Reorder the columns of `memberships` to match those of `reference`.

    Parameters
    ----------
    reference : array of shape (n,), or array or sparse array of shape (n, k_reference)
        Labels or memberships.
    memberships : array or sparse array of shape (n, k)
        Memberships to reorder.

    Returns
    -------
    array of shape (n, max(k_reference, k))
        Column c is the cluster matched to cluster c of the reference, or zero if it is unmatched.
        Unmatched clusters of `memberships` follow. A new array of the same precision, in CSR form
        if `memberships` is sparse.

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
    if is_sparse(values):
        order = _matched_first(partner, n_clusters)
        place = np.empty(n_clusters, dtype=np.int64)
        place[order] = np.concatenate(
            [np.flatnonzero(partner >= 0), partner.size + np.arange(n_clusters)]
        )[:n_clusters]
        moved = (values.data, place[values.indices], values.indptr)
        result = sp.csr_array(moved, shape=(n_objects, max(partner.size, n_clusters))).copy()
        result.sort_indices()
        return result
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
        remedy="Matching needs far fewer clusters than objects: check that you passed labels.",
    )
    table: Any = left.T @ right
    return as_array(table).astype(np.float64, copy=False)


def partners(overlap: FloatArray) -> IntArray:
    """For each row the column that the Hungarian method matches to it, -1 if unmatched."""
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
