"""Memberships: checks, powers, entropy and the most probable clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import entr

from soffit._parameters import WholeNumber, check_parameter
from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray, is_sparse
from soffit.graph import as_array, row_numbers, stacked

# Smaller powers leave no difference between clusters.
_LEAST_POWER = 0.01


def check_memberships(memberships: Any, name: str = "memberships") -> Any:
    """Return finite, nonnegative (n, k) memberships; float32 stays, all else becomes float64.

    They are an array, or in CSR form with sorted columns if they were sparse.
    """
    if is_sparse(memberships):
        rows = sp.csr_array(memberships)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        if rows.shape[0] == 0 or rows.nnz == 0:
            raise ValueError(f"{name} is empty, its shape is {rows.shape}; pass some entries.")
        data = check_memberships(rows.data[None, :], name)[0]
        return sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
    values = np.asarray(memberships)
    if values.dtype != np.float32:
        if values.dtype.kind == "c":
            raise TypeError(f"{name} has complex values; pass real ones.")
        try:
            values = values.astype(np.float64, copy=False)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must hold numbers, got dtype {values.dtype}.") from error
    if values.ndim != 2:
        raise ValueError(
            f"{name} must have shape (n_objects, n_clusters), got {values.ndim} dimension(s) "
            f"with shape {values.shape}."
        )
    if values.size == 0:
        raise ValueError(f"{name} is empty, its shape is {values.shape}; pass at least one entry.")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinity; remove or repair those rows.")
    if values.min() < 0:
        raise ValueError(
            f"{name} must not be negative, its smallest value is {values.min():g}; "
            "clip it at zero and divide each row by its sum."
        )
    return values


# Entries of the rows that are looked at together.
_ENTRIES = 2**20
# Memberships in CSR form have no entries below this share of the largest one of their row.
FLOOR = 1e-4


def on_simplex(rows: Any) -> Any:
    """Rows that are nonnegative and sum to one: every membership that a model returns.

    Rows that are so, up to rounding, are returned as they are. In others, entries below zero and
    entries that are no number become zero before the row is divided by its sum; a row without any
    positive entry becomes uniform. Rows in CSR form lose their smallest entries; see
    `without_traces`.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.memberships.measures import on_simplex
    >>> on_simplex(np.array([[0.5, 0.5], [-1e-9, 2.0], [0.0, np.nan]]))
    array([[0.5, 0.5],
           [0. , 1. ],
           [0.5, 0.5]])
    """
    if is_sparse(rows):
        return without_traces(rows)
    tolerance = 1e-6 if rows.dtype == np.float64 else 1e-5
    # Written so that NaN fails, too.
    fine = (rows >= 0).all(axis=1) & (abs(rows.sum(axis=1, dtype=np.float64) - 1) <= tolerance)
    if fine.all():
        return rows
    repaired = np.where(rows[~fine] > 0, rows[~fine], 0)
    repaired = np.minimum(repaired, np.finfo(rows.dtype).max)
    largest = repaired.max(axis=1, keepdims=True)
    repaired = np.where(largest > 0, repaired / np.where(largest > 0, largest, 1), 1)
    result = rows.copy()
    result[~fine] = repaired / repaired.sum(axis=1, keepdims=True)
    return result


def without_traces(rows: Any, sums: float = 1.0) -> sp.csr_array:
    """Rows in CSR form whose entries are at least `FLOOR` times the largest of their row.

    Parameters
    ----------
    rows : array or CSR of shape (n, k)
        Rows; entries below zero, or that are no number, do not count.
    sums : float
        What the rows are made to sum to. A row without any positive entry becomes uniform.

    Examples
    --------
    >>> from soffit.memberships.measures import without_traces
    >>> without_traces([[0.5, 0.5, 1e-9], [0.0, 0.0, 1.0]]).toarray()
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """
    rows = sp.csr_array(rows).sorted_indices()
    counts = np.diff(rows.indptr)
    data = np.where((rows.data > 0) & np.isfinite(rows.data), rows.data, 0)
    top = _row_max(data, rows.indptr)
    kept = (data > 0) & (data >= FLOOR * np.repeat(top, counts))
    numbers = row_numbers(rows)[kept]
    left = np.bincount(numbers, minlength=len(counts))
    indptr = np.concatenate([[0], np.cumsum(left)])
    data = data[kept]
    total = np.bincount(numbers, weights=data, minlength=len(counts))
    if (left == 0).any():
        k = rows.shape[1]
        blank = np.flatnonzero(left == 0)
        uniform = sp.csr_array(
            (np.ones(len(blank) * k), (np.repeat(blank, k), np.tile(np.arange(k), len(blank)))),
            shape=rows.shape,
        )
        there = sp.csr_array((data, rows.indices[kept], indptr), shape=rows.shape)
        return without_traces(sp.csr_array(there + uniform).astype(rows.dtype), sums)
    data = (data * (sums / np.repeat(total, left))).astype(rows.dtype)
    return sp.csr_array((data, rows.indices[kept], indptr), shape=rows.shape)


def powered(rows: sp.csr_array, power: float) -> sp.csr_array:
    """Rows in CSR form raised to a power and divided by their sums."""
    counts = np.diff(rows.indptr)
    raised = (rows.data / np.repeat(_row_max(rows.data, rows.indptr), counts)) ** power
    numbers = row_numbers(rows)
    data = raised / np.bincount(numbers, weights=raised, minlength=len(counts))[numbers]
    return sp.csr_array((data.astype(rows.dtype), rows.indices, rows.indptr), shape=rows.shape)


def soften(memberships: Any, power: float) -> Any:
    r"""Raise rows to a power of at most one and normalize them: less certain, same order.

    Parameters
    ----------
    memberships : array of shape (n, k)
        Rows on the simplex.
    power : float
        Between 0, which makes all clusters equally probable, and 1, which changes nothing.

    Returns
    -------
    ndarray of shape (n, k)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.memberships import soften
    >>> soften(np.array([[0.9, 0.1]]), 0.5)
    array([[0.75, 0.25]])
    """
    if power == 1.0:
        return memberships
    if is_sparse(memberships):
        return powered(memberships, power)
    raised = memberships ** memberships.dtype.type(power)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=memberships.dtype)


def power_to_agree(memberships: FloatArray, labels: IntArray) -> float:
    """The largest power whose mean confidence does not exceed the agreement with the labels.

    If memberships contradict one label in ten, the mean confidence is at most 0.9.
    """
    agreement = float(np.mean(memberships.argmax(axis=1) == labels))
    if float(memberships.max(axis=1).mean()) <= agreement:
        return 1.0
    # Logarithms are computed once. Relative to the largest entry of its row, which is then 1 to any
    # power, so that a confidence is the reciprocal of a sum.
    with np.errstate(divide="ignore"):
        logs = np.log(memberships)
    logs -= logs.max(axis=1, keepdims=True)
    room, ones = np.empty_like(logs), np.ones(logs.shape[1], dtype=logs.dtype)

    def excess(power: float) -> float:
        raised = np.exp(np.multiply(logs, power, out=room), out=room)
        return float(np.mean(1.0 / (raised @ ones))) - agreement

    return largest_without_excess(excess)


def largest_without_excess(excess: Callable[[float], float]) -> float:
    """The largest power up to one at which there is no excess."""
    if excess(1.0) <= 0:
        return 1.0
    if excess(_LEAST_POWER) >= 0:
        return _LEAST_POWER
    return float(brentq(excess, _LEAST_POWER, 1.0, xtol=1e-3))


def largest(memberships: Any) -> tuple[IntArray, FloatArray]:
    """The most probable cluster of each object, the first of equals, and its membership."""
    if not is_sparse(memberships):
        values = np.asarray(memberships)
        return values.argmax(axis=1), values.max(axis=1)
    counts, data = np.diff(memberships.indptr), memberships.data
    top = _row_max(data, memberships.indptr)
    is_top = np.flatnonzero((data == np.repeat(top, counts)) & (data > 0))
    numbers = row_numbers(memberships)[is_top]
    labels = np.zeros(len(counts), dtype=np.int64)
    # Backwards: the first of equals is written last.
    labels[numbers[::-1]] = memberships.indices[is_top][::-1]
    return labels, top


def dense_rows(memberships: Any, rows: Any = slice(None)) -> FloatArray:
    """Some of the rows as an array."""
    return as_array(memberships[rows])


def column(memberships: Any, cluster: int) -> FloatArray:
    """The memberships of all objects in one cluster."""
    if is_sparse(memberships):
        return as_array(memberships[:, [cluster]])[:, 0]
    return np.asarray(memberships[:, cluster])


def group_sums(rows: Any, group: IntArray, n_groups: int) -> FloatArray:
    """Sums of the rows of each group of objects, (n_groups, k), as an array."""
    if is_sparse(rows):
        return as_array(indicator(group, n_groups).T @ rows)
    return np.column_stack([np.bincount(group, column, n_groups) for column in rows.T])


def top_clusters(memberships: Any, most: int) -> tuple[IntArray, FloatArray]:
    """The most probable clusters of each object, the first of equals first, and their shares."""

    def choose(rows: slice) -> tuple[IntArray, FloatArray]:
        part = dense_rows(memberships, rows)
        order = np.argsort(-part, axis=1, kind="stable")[:, :most]
        return order, np.take_along_axis(part, order, axis=1)

    if not is_sparse(memberships) or memberships.shape[0] == 0:
        return choose(slice(None))
    n, k = memberships.shape
    blocks = pieces(n, max(_ENTRIES // k, 1))
    parts = each(lambda rows: choose(slice(rows.start, rows.stop)), blocks)
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def in_blocks(function: Callable[..., FloatArray], *parts: sp.csr_array) -> sp.csr_array:
    """A function of the rows of arrays, applied to blocks of rows in CSR form."""
    n, k = parts[0].shape

    def apply(rows: range) -> sp.csr_array:
        return without_traces(
            function(*(dense_rows(p, slice(rows.start, rows.stop)) for p in parts))
        )

    return stacked(each(apply, pieces(n, max(_ENTRIES // k, 1))))


def _row_max(data: FloatArray, indptr: IntArray) -> FloatArray:
    """The largest stored entry of each row, 0 if it has none."""
    top = np.zeros(len(indptr) - 1, dtype=data.dtype)
    there = np.flatnonzero(np.diff(indptr))
    if len(there):
        top[there] = np.maximum.reduceat(data, indptr[there])
    return top


def indicator(codes: IntArray, n_clusters: int) -> sp.csr_array:
    """Memberships of a hard clustering, one 1 per row."""
    n_objects = codes.size
    ones = np.ones(n_objects)
    return sp.csr_array((ones, codes, np.arange(n_objects + 1)), shape=(n_objects, n_clusters))


def entropy(memberships: ArrayLike) -> FloatArray:
    r"""Entropy of each object's memberships, in nats.

    .. math:: H_i = -\sum_c g_{ic} \log g_{ic}, \qquad 0 \log 0 = 0.

    The range is 0 (the object belongs to one cluster) to :math:`\log k` (it belongs equally to
    all k). Rows should sum to one; they are not rescaled.

    Parameters
    ----------
    memberships : array or sparse array of shape (n, k)
        Finite and nonnegative.

    Returns
    -------
    array of shape (n,)
        float32 for float32 input, float64 otherwise.

    Examples
    --------
    >>> from soffit.memberships import entropy
    >>> entropy([[1.0, 0.0], [0.5, 0.5]]).round(4).tolist()
    [0.0, 0.6931]
    """
    values = check_memberships(memberships)
    if is_sparse(values):
        numbers = row_numbers(values)
        summed = np.bincount(numbers, weights=entr(values.data), minlength=values.shape[0])
        return np.asarray(np.maximum(summed, 0), dtype=values.dtype)
    # A membership that exceeds one by rounding would give an entropy a hair below zero.
    return np.asarray(np.maximum(entr(values).sum(axis=1), 0), dtype=values.dtype)


def top_memberships(memberships: ArrayLike, n_top: int = 5) -> sp.csr_array:
    """The largest memberships of each object as a sparse matrix, normalized to sum to one.

    With hundreds of clusters an object belongs to a few of them; the other memberships are close to
    zero and need not be stored.

    Parameters
    ----------
    memberships : array or sparse array of shape (n, k)
        Finite and nonnegative.
    n_top : int
        Clusters kept per object. Ties go to the first; zeros are never kept.

    Returns
    -------
    csr_array of shape (n, k)
        Rows sum to one; a row of zeros stays empty.

    Examples
    --------
    >>> from soffit.memberships import top_memberships
    >>> top_memberships([[0.6, 0.2, 0.1, 0.1], [0.0, 0.0, 1.0, 0.0]], n_top=2).toarray()
    array([[0.75, 0.25, 0.  , 0.  ],
           [0.  , 0.  , 1.  , 0.  ]])
    """
    check_parameter("n_top", n_top, WholeNumber(1))
    W = check_memberships(memberships)
    n, k = W.shape
    kept = min(int(n_top), k)
    if is_sparse(W):
        return _top_entries(W, kept)

    def choose(rows: range) -> tuple[IntArray, FloatArray]:
        part = W[rows.start : rows.stop]
        columns = np.sort(np.argsort(-part, axis=1, kind="stable")[:, :kept], axis=1)
        values = np.take_along_axis(part, columns, axis=1)
        sums = values.sum(axis=1, keepdims=True)
        return columns, np.divide(values, sums, out=np.zeros_like(values), where=sums > 0)

    parts = each(choose, pieces(n, max(_ENTRIES // k, 1)))
    columns = np.concatenate([part[0] for part in parts])
    values = np.concatenate([part[1] for part in parts])
    indptr = np.arange(n + 1) * kept
    result = sp.csr_array((values.ravel(), columns.ravel(), indptr), shape=(n, k))
    result.eliminate_zeros()
    return result


def _top_entries(W: sp.csr_array, most: int) -> sp.csr_array:
    counts = np.diff(W.indptr)
    numbers = row_numbers(W)
    rank = np.empty(W.nnz, dtype=np.int64)
    rank[np.lexsort((W.indices, -W.data, numbers))] = np.arange(W.nnz)
    kept = (rank - np.repeat(W.indptr[:-1], counts) < most) & (W.data > 0)
    data, numbers = W.data[kept], numbers[kept]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=len(counts)))])
    total = np.bincount(numbers, weights=data, minlength=len(counts))
    data = (data / total[numbers]).astype(W.dtype)
    return sp.csr_array((data, W.indices[kept], indptr), shape=W.shape)
