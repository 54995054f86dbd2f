"""What a normalization returns, and what the normalizations share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from soffit._memory import check_allocation
from soffit._threads import row_blocks
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.graph import scaled_rows


@dataclass(frozen=True, eq=False, kw_only=True)
class Normalized:
    """A normalized affinity matrix and the rule that normalizes rows of new objects.

    Attributes
    ----------
    matrix : ndarray or csr_array of shape (n, n)
        The normalized affinities, exactly symmetric.
    factors : ndarray of shape (n,) or None
        The vector x with matrix = diag(x) A diag(x), for multiplicative normalizations.
    beta : float or None
        The common row sum, for the additive normalization.
    """

    matrix: Matrix
    factors: FloatArray | None = None
    beta: float | None = None
    _arrays: ClassVar[dict[str, str]] = {
        "matrix": "matrix * *",
        "factors": "finite? n",
        "beta": "float?",
    }

    def cross(self, block: Matrix) -> Matrix:
        """Normalize the (m, n) affinities of new objects like the rows of the fitted ones.

        The row of a fitted object gives its row of `matrix` again. This base class changes
        nothing; rows without any affinity are safe everywhere.
        """
        return block


def check_nonnegative(A: Matrix, *, how: str) -> None:
    """Refuse matrices that square roots and scaling cannot treat."""
    values: FloatArray = A.data if is_sparse(A) else A
    smallest = float(values.min()) if values.size else 0.0
    if smallest < 0:
        raise ValueError(
            f"normalization={how!r} needs affinities >= 0, but the smallest is {smallest:.3g}. "
            "Use normalization='additive', which accepts negative entries, or clip them."
        )


def row_sums(A: Matrix) -> FloatArray:
    """Sums of the rows in float64."""
    return np.asarray(A.sum(axis=1, dtype=np.float64)).ravel()


def scaled(A: Matrix, left: FloatArray, right: FloatArray) -> Matrix:
    """diag(left) A diag(right) in the storage and precision of A, symmetric if left is right."""
    if is_sparse(A):
        return scaled_rows(A, left, right)
    out = new_array(A.shape, A.dtype, what="the normalized affinity matrix")
    for rows in row_blocks(A.shape):
        out[rows] = A[rows] * (left[rows, None] * right)
    return out


def new_array(shape: tuple[int, ...], dtype: np.dtype[np.floating], *, what: str) -> FloatArray:
    """An empty array, refused early when it would not fit."""
    remedy = "Use affinity='nearest_neighbors' with normalization='degree' or 'sinkhorn'."
    check_allocation(shape, dtype, what=what, remedy=remedy)
    return np.empty(shape, dtype=dtype)


def unnormalized(A: Matrix) -> Normalized:
    """Return the affinities as they are, without a copy.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric affinities.

    Returns
    -------
    Normalized
        Its `matrix` is A itself.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.normalize import unnormalized
    >>> A = np.eye(2)
    >>> unnormalized(A).matrix is A
    True
    """
    return Normalized(matrix=A)


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
