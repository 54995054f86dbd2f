"""The result of a normalization, and the simplest ones: none, and by degrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from soffit._memory import check_allocation
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.graph import Graph, row_numbers


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

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.normalize import normalize
    >>> normalize(np.ones((2, 2)), "degree").matrix
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    matrix: Matrix
    factors: FloatArray | None = None
    beta: float | None = None
    _arrays: ClassVar[dict[str, str]] = {
        "matrix": "matrix * *",
        "factors": "finite? n",
        "beta": "finite?",
    }

    def cross(self, block: Matrix) -> Matrix:
        """Normalize the (m, n) affinities of new objects like the rows of the fitted ones.

        The row of a fitted object yields its row of `matrix`. This base class changes nothing; zero
        rows are safe everywhere.
        """
        return block


def check_nonnegative(A: Matrix, *, how: str) -> None:
    """Refuse negative entries, which square roots and scaling cannot handle."""
    smallest = float(Graph.of(A).values.min(initial=0.0))
    if smallest < 0:
        raise ValueError(
            f"normalization={how!r} needs affinities >= 0, but the smallest is {smallest:.3g}. "
            "Use normalization='additive', which accepts negative entries, or clip them."
        )


def new_array(shape: tuple[int, ...], dtype: np.dtype[np.floating], *, what: str) -> FloatArray:
    """An empty array, refused early if it would not fit into memory."""
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
    rows = row_numbers(weight)
    counts = (weight.data > 0) & (rows != weight.indices)
    rows, columns = rows[counts], weight.indices[counts]
    values = Graph.of(A).at(rows, columns).astype(np.float64)
    return ObservedPairs(rows, columns, weight.data[counts].astype(np.float64), values)


@dataclass(frozen=True, eq=False, kw_only=True)
class DegreeNormalized(Normalized):
    """Affinities divided by the square roots of both degrees."""

    factors: FloatArray
    _arrays: ClassVar[dict[str, str]] = {
        "matrix": "matrix * *",
        "factors": "nonnegative n",
        "beta": "finite?",
    }

    def cross(self, block: Matrix) -> Matrix:
        """b_j x_j / sqrt(sum of b): a new object's degree is its sum over the fitted ones."""
        new = Graph.of(block)
        return new.scaled(_inverse_root(new.degrees()), self.factors).matrix


def degree(A: Matrix) -> DegreeNormalized:
    r"""Normalize by degrees, :math:`D^{-1/2} A D^{-1/2}` with :math:`D = \mathrm{diag}(A 1)`.

    An isolated object (zero row) has factor 1; its row stays zero.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric nonnegative affinities.

    Returns
    -------
    Normalized
        With `factors` = 1 / sqrt(degree).

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.normalize import degree
    >>> degree(np.array([[0.0, 4.0], [4.0, 0.0]])).matrix
    array([[0., 1.],
           [1., 0.]])

    References
    ----------
    A. Y. Ng, M. I. Jordan, Y. Weiss (2001). On spectral clustering: analysis and an algorithm.
    NIPS.
    """
    check_nonnegative(A, how="degree")
    graph = Graph.of(A)
    factors = _inverse_root(graph.degrees())
    return DegreeNormalized(
        matrix=graph.scaled(factors, factors).matrix,
        factors=factors.astype(graph.dtype, copy=False),
    )


def _inverse_root(degrees: FloatArray) -> FloatArray:
    # The product of two of these must be finite: subnormal degrees count as none.
    linked = degrees >= np.finfo(degrees.dtype).tiny
    return np.asarray(1 / np.sqrt(np.where(linked, degrees, 1)))
