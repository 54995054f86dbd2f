"""The pairs of objects whose affinity was observed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray, Matrix


class ObservedPairs(NamedTuple):
    """All pairs i != j with a positive weight, in both directions, row by row."""

    rows: IntArray
    columns: IntArray
    weights: FloatArray
    values: FloatArray

    def matrix(self, values: FloatArray, like: Matrix) -> sp.csr_array:
        """Values of these pairs as CSR in the shape and precision of another matrix."""
        data = values.astype(like.dtype, copy=False)
        return sp.csr_array((data, (self.rows, self.columns)), shape=like.shape)

    def sums(self, values: FloatArray, n: int) -> FloatArray:
        """Sums of values over the pairs of each of n objects."""
        return np.asarray(np.bincount(self.rows, values, minlength=n), dtype=np.float64)


def observed_pairs(A: Matrix, pair_weight: Matrix) -> ObservedPairs:
    """The pairs that have a weight, and A's values there, in double precision."""
    weight = sp.csr_array(pair_weight)
    weight.sort_indices()
    rows = np.repeat(np.arange(weight.shape[0]), np.diff(weight.indptr))
    counts = (weight.data > 0) & (rows != weight.indices)
    rows, columns = rows[counts], weight.indices[counts]
    values = np.asarray(A[rows, columns], dtype=np.float64).ravel()
    return ObservedPairs(rows, columns, weight.data[counts].astype(np.float64), values)
