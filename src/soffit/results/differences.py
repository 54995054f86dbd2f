"""Which columns set clusters apart, and clusters that are nothing but the values of a few."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit._wording import number, short_percent, shorten
from soffit.graph import as_array

# Differences between a cluster and the other objects from here on, in standard deviations, are
# worth a mention.
NOTABLE = 0.5
NOTABLE_WORD = 0.2
# The largest difference of a cluster without such a one, if there are more than two: outliers make
# a standard deviation large.
NOTABLE_ALONE = 0.2
# Words or genes that a larger share of the objects has tell nothing by their presence.
EVERYWHERE = 0.95
# Columns named per cluster, in a report and as JSON.
MOST_COLUMNS = 3
_ROWS_AT_ONCE = 2**16


@dataclass(frozen=True)
class Difference:
    """A column whose mean inside a cluster differs from its mean over all objects."""

    column: str
    mean: float
    overall: float
    difference: float  # in standard deviations of the column
    spread: float
    is_binary: bool
    presence: tuple[float, float] | None = None  # of a sparse table: shares of objects that have it

    @property
    def is_share(self) -> bool:
        """Whether the values are shares of objects rather than means."""
        return self.is_binary or self.presence is not None

    def values(self) -> tuple[str, str]:
        """Both means as text, the same in every output; shares of objects where these say more."""
        if self.presence is not None:
            return short_percent(self.presence[0]), short_percent(self.presence[1])
        if self.is_binary:
            return short_percent(self.mean), short_percent(self.overall)
        return number(self.mean, spread=self.spread), number(self.overall, spread=self.spread)

    def brief(self, longest: int = 30) -> str:
        """``petal_length 1.5 (overall 3.8)``, for a terminal."""
        here, everywhere = (text.replace("\N{MINUS SIGN}", "-") for text in self.values())
        return f"{shorten(self.column, longest)} {here} (overall {everywhere})"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "column": self.column,
            "mean": self.mean,
            "overall": self.overall,
            "difference": self.difference,
        } | ({} if self.presence is None else {"share": self.presence[0]})


@dataclass(frozen=True, eq=False)
class ColumnMeans:
    r"""Means of every column inside every cluster, weighted by memberships.

    Missing values (NaN) are left out. The difference of column j in cluster c is

    .. math:: \frac{\bar x_{jc} - \bar x_j}{\sigma_j},

    with the mean and the standard deviation over all objects.
    """

    inside: FloatArray  # (k, p)
    overall: FloatArray  # (p,)
    spread: FloatArray  # (p,)
    difference: FloatArray  # (k, p)
    is_binary: NDArray[np.bool_]  # (p,): only zeros and ones, as one-hot columns are
    shares: FloatArray  # (k,): sizes of the clusters, which sum to one
    # Share of objects with a value other than zero, (k + 1, p), the last row for all objects; None
    # unless the table is sparse.
    presence: FloatArray | None = None

    @classmethod
    def of(
        cls, table: Matrix, memberships: Matrix, weights: FloatArray | None = None
    ) -> ColumnMeans:
        """Measure a table, whose objects may have weights."""
        n = float(table.shape[0])
        if weights is not None:
            # Weights of 1 on average: all sums are those of as many objects.
            weights = weights * (n / weights.sum())
            memberships = _times(memberships, weights)
        sums, total = _sums(table, memberships, weights)
        sizes = np.asarray(memberships.sum(axis=0))
        weight: FloatArray = sizes[:, np.newaxis]
        count: FloatArray = np.full(table.shape[1], n)
        if np.isnan(total).any():
            sums, total, weight, count = _sums_with_gaps(table, memberships, weights)
        overall = divided(total, count)
        spread = _standard_deviation(table, overall, weights)
        inside = divided(sums, weight)
        gap = np.where(np.isclose(inside, overall, rtol=1e-12, atol=0.0), 0.0, inside - overall)
        difference = np.where(weight > 0, divided(gap, spread), 0.0)
        presence = _presence(table, memberships, weights) if is_sparse(table) else None
        shares = sizes / max(n, 1.0)
        return cls(inside, overall, spread, difference, _is_binary(table), shares, presence)

    def notable(self, cluster: int, most: int = MOST_COLUMNS) -> list[int]:
        """The columns that set a cluster apart from the others, the largest difference first.

        A cluster that holds most objects hardly differs from the mean of all, of which it is the
        larger part; so it is compared with the others. If no difference is large, the largest one
        says at least something. Of a sparse table, such as counts of words
        or genes, those that are frequent: what a cluster has says more than what it lacks. Each
        word is rare, so smaller differences count.
        """
        size = np.abs(self.difference[cluster])
        if self.presence is not None:
            # A share says nothing of a word or gene that nearly all objects have.
            tells = (self.difference[cluster] >= NOTABLE_WORD) & (self.presence[-1] < EVERYWHERE)
            size = np.where(tells, size, 0.0)
            order = np.argsort(-size, kind="stable")[:most]
            return [int(column) for column in order if size[column] > 0]
        order = np.argsort(-size, kind="stable")[:most]
        others = max(1.0 - float(self.shares[cluster]), 1e-12)
        found = [int(column) for column in order if size[column] >= NOTABLE * others]
        if found or len(self.shares) < 3:
            return found
        return [int(column) for column in order[:1] if size[column] >= NOTABLE_ALONE]


def _times(values: Matrix, weights: FloatArray | None) -> Matrix:
    """The rows of a matrix times their weights; the matrix itself without weights."""
    if weights is None:
        return values
    if is_sparse(values):
        return sp.csr_array(sp.diags_array(weights) @ values)
    return values * weights[:, np.newaxis]


def _presence(table: Matrix, memberships: Matrix, weights: FloatArray | None) -> FloatArray:
    there = table != 0
    sums = as_array((there.T @ memberships).T).astype(np.float64, copy=False)
    total = np.asarray(_times(there, weights).sum(axis=0), dtype=np.float64).ravel()
    inside = divided(sums, memberships.sum(axis=0)[:, np.newaxis])
    return np.vstack([inside, total / table.shape[0]])


def divided(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """The quotient, zero where the denominator is."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    denominator = np.broadcast_to(denominator, shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator > 0)


def _blocks(table: Matrix) -> Iterator[tuple[slice, FloatArray]]:
    """A dense table in double precision, some rows at a time: a copy of it all may be too large."""
    for first in range(0, table.shape[0], _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        yield rows, np.asarray(table[rows], dtype=np.float64)


def _sums(
    table: Matrix, memberships: Matrix, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Sums of every column over each cluster, and over all objects."""
    if is_sparse(table):
        weighted = as_array((table.T @ memberships).T).astype(np.float64, copy=False)
        total = _times(table, weights).sum(axis=0)
        return weighted, np.asarray(total, dtype=np.float64).ravel()
    weighted = np.zeros((memberships.shape[1], table.shape[1]))
    total = np.zeros(table.shape[1])
    for rows, block in _blocks(table):
        weighted += memberships[rows].T @ block
        total += _times(block, _part(weights, rows)).sum(axis=0)
    return weighted, total


def _part(weights: FloatArray | None, rows: slice) -> FloatArray | None:
    return None if weights is None else weights[rows]


def _sums_with_gaps(
    table: FloatArray, memberships: Matrix, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Sums over the values that are there, and the memberships and objects that these have."""
    k, p = memberships.shape[1], table.shape[1]
    weighted, weight = np.zeros((k, p)), np.zeros((k, p))
    total, count = np.zeros(p), np.zeros(p)
    for rows, block in _blocks(table):
        known = ~np.isnan(block)
        values = np.where(known, block, 0.0)
        weighted += memberships[rows].T @ values
        weight += memberships[rows].T @ known
        own = _part(weights, rows)
        total += _times(values, own).sum(axis=0)
        count += _times(known, own).sum(axis=0)
    return weighted, total, weight, count


def comparable(table: FloatArray) -> FloatArray:
    """The table in standard deviations from the mean, missing values at the mean."""
    with np.errstate(invalid="ignore"):
        known = ~np.isnan(table)
        count = np.maximum(known.sum(axis=0), 1)
        mean = np.where(known, table, 0.0).sum(axis=0) / count
        steps = np.where(known, table - mean, 0.0)
    spread = np.sqrt((steps**2).sum(axis=0) / count)
    return np.asarray(steps / np.where(spread > 0, spread, 1.0))


def _standard_deviation(table: Matrix, mean: FloatArray, weights: FloatArray | None) -> FloatArray:
    n: Any = table.shape[0]
    if is_sparse(table):
        squares = _times(table.multiply(table), weights).sum(axis=0)
        squares = np.asarray(squares, dtype=np.float64).ravel()
        variance = squares / n - mean**2
        # What is left of a constant column is the rounding of its squares.
        variance = np.where(variance > 1e-12 * squares / n, variance, 0.0)
    else:
        variance = np.zeros(table.shape[1])
        known = (_times(~np.isnan(b), _part(weights, rows)) for rows, b in _blocks(table))
        n = sum(there.sum(axis=0) for there in known)
        n = np.where(n > 0, n, 1)
        for rows, block in _blocks(table):
            squares = _times((block - mean) ** 2, _part(weights, rows))
            variance += np.nansum(squares, axis=0) / n
    spread = np.sqrt(variance)
    # A constant column has no spread but that of rounding.
    return np.where(spread > 1e-12 * np.abs(mean), spread, 0.0)


def _is_binary(table: Matrix) -> NDArray[np.bool_]:
    if not is_sparse(table):
        return np.asarray(((table == 0) | (table == 1) | np.isnan(table)).all(axis=0))
    other = table.copy()
    other.data = (other.data != 0) & (other.data != 1)
    return np.asarray(np.asarray(other.sum(axis=0)).ravel() == 0)


# Columns with more values are not discrete; with more of these columns only the best are paired.
_MOST_VALUES = 20
_MOST_PAIRED = 12
# The values tell the cluster of all but this share of the objects, and of all but this share of
# those outside the largest cluster. A combination of values has this many objects at least.
_MISSES = 0.02
_MISSES_OUTSIDE = 0.1
_LEAST_PER_COMBINATION = 5
# Clusters are the values of two columns if each alone misses more than this share of those outside.
_MISSES_ALONE = 0.25


def telling_columns(values: FloatArray, names: Sequence[str], labels: IntArray) -> tuple[str, ...]:
    """The one or two columns whose values determine the clusters; none if no columns do.

    `values` (n, p): numbers and codes, NaN where missing.
    `names`: names of the columns.
    `labels` (n,): cluster of each object.
    """
    n = len(labels)
    outside = n - int(np.bincount(labels).max())
    allowed = min(_MISSES * n, _MISSES_OUTSIDE * outside)
    if outside == 0:
        return ()
    codes = {name: _codes(column) for name, column in zip(names, values.T, strict=True)}
    discrete = {name: code for name, code in codes.items() if code is not None}
    misses = {name: _misses(code, labels) for name, code in discrete.items()}
    ranked = sorted(misses, key=lambda name: (misses[name], discrete[name].max()))
    if ranked and misses[ranked[0]] <= allowed:
        return (ranked[0],)
    # Where one column nearly tells the clusters, a second one of many values only mops up.
    needed = [name for name in ranked if misses[name] > _MISSES_ALONE * outside]
    for one, other in combinations(needed[:_MOST_PAIRED], 2):
        width = int(discrete[other].max()) + 1
        both = np.unique(discrete[one] * width + discrete[other], return_inverse=True)[1]
        if (both.max() + 1) * _LEAST_PER_COMBINATION <= n and _misses(both, labels) <= allowed:
            return one, other
    return ()


def _codes(column: FloatArray) -> IntArray | None:
    """The number of each object's value, a gap being one of them; None if there are many values."""
    found, codes = np.unique(column, return_inverse=True)
    few = min(_MOST_VALUES, len(column) // _LEAST_PER_COMBINATION)
    return np.asarray(codes) if 1 < len(found) <= few else None


def _misses(codes: IntArray, labels: IntArray) -> int:
    """Objects whose cluster is not the most frequent one of their value."""
    k = int(labels.max()) + 1
    counts = np.bincount(codes * k + labels, minlength=(int(codes.max()) + 1) * k).reshape(-1, k)
    return len(labels) - int(counts.max(axis=1).sum())
