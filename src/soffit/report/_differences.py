"""Which columns set a cluster apart from the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soffit._typing import FloatArray, Matrix, is_sparse

# Differences from here on, in standard deviations, are worth a mention.
_NOTABLE = 0.5
_MOST = 3


@dataclass(frozen=True, eq=False)
class ColumnMeans:
    r"""Means of every column inside every cluster, weighted by memberships.

    The standardized difference of column j in cluster c is

    .. math:: \frac{\bar x_{jc} - \bar x_{j \setminus c}}{\sigma_j},

    with the mean over the rest weighted by :math:`1 - g_{ic}` and the standard deviation over
    all objects.
    """

    inside: FloatArray  # (k, p)
    overall: FloatArray  # (p,)
    spread: FloatArray  # (p,)
    difference: FloatArray  # (k, p)
    is_binary: FloatArray  # (p,) of bool: only zeros and ones, as one-hot columns are

    @classmethod
    def of(cls, table: Matrix, memberships: FloatArray) -> ColumnMeans:
        """Measure a table."""
        n = table.shape[0]
        sums = np.asarray((table.T @ memberships).T, dtype=np.float64)
        total = np.asarray(table.sum(axis=0), dtype=np.float64).ravel()
        weight = memberships.sum(axis=0)[:, np.newaxis]
        overall = total / n
        spread = _standard_deviation(table, overall)
        inside = _divided(sums, weight)
        # Nothing is left over for a cluster that holds all objects, up to rounding.
        rest = np.where(n - weight > 1e-9 * n, n - weight, 0.0)
        outside = np.where(rest > 0, _divided(total - sums, rest), inside)
        difference = np.where(weight > 0, _divided(inside - outside, spread), 0.0)
        return cls(inside, overall, spread, difference, _is_binary(table))

    def notable(self, cluster: int) -> list[int]:
        """The columns that set a cluster apart, most telling first, at most three."""
        size = np.abs(self.difference[cluster])
        order = np.argsort(-size, kind="stable")[:_MOST]
        return [int(column) for column in order if size[column] >= _NOTABLE]


def standardized(table: Matrix, means: ColumnMeans) -> Matrix:
    """The table in standard deviations; not centred, which distances do not need."""
    scale = _divided(np.ones_like(means.spread), means.spread)
    return table.multiply(scale).tocsr() if is_sparse(table) else np.asarray(table * scale)


def _divided(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """The quotient, zero where the denominator is."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    denominator = np.broadcast_to(denominator, shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator > 0)


def _standard_deviation(table: Matrix, mean: FloatArray) -> FloatArray:
    if not is_sparse(table):
        spread = np.asarray(table.std(axis=0), dtype=np.float64)
    else:
        squares = np.asarray(table.multiply(table).sum(axis=0), dtype=np.float64).ravel()
        spread = np.sqrt(np.maximum(squares / table.shape[0] - mean**2, 0.0))
    # A constant column has no spread but that of rounding.
    return np.where(spread > 1e-12 * np.abs(mean), spread, 0.0)


def _is_binary(table: Matrix) -> FloatArray:
    if not is_sparse(table):
        return np.asarray(((table == 0) | (table == 1)).all(axis=0))
    other = table.copy()
    other.data = (other.data != 0) & (other.data != 1)
    return np.asarray(other.sum(axis=0)).ravel() == 0
