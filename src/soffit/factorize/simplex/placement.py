"""Memberships of new objects: each solves its own row of the fitted problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.factorize.problem import Factorization, Problem
from soffit.factorize.simplex.few_entries import place_sparse_rows
from soffit.graph import replace_rows

# Objects per thread at a time.
_ROWS = 2**13
# A matrix whose eigenvalues differ by more than this factor is not inverted.
_SINGULAR = 1e-8


@dataclass(frozen=True, eq=False)
class FittedRows:
    r"""The fitted factor, as used to place new objects.

    A new object with affinities :math:`b_j` to the fitted ones gets the row that minimises the
    same loss with everything else held fixed,

    .. math:: \min_{w \in \Delta} \sum_j \big(b_j - \theta\theta_j \textstyle\sum_c s_c w_c
              W_{jc}\big)^2,

    a convex problem in k unknowns. An isolated object gets the mean membership.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, solve_rows
    >>> blocks = np.kron(np.eye(2), np.ones((3, 3)))
    >>> problem = Problem(blocks, 2)
    >>> found = solve_rows(problem, np.kron(np.eye(2), np.ones((3, 1))))
    >>> from soffit.memberships import FittedRows
    >>> FittedRows.of(problem, found).place(blocks[:1], blocks[:1].sum(axis=1)).round(2)
    array([[1., 0.]])
    """

    rows: Matrix
    scale: FloatArray
    mean_degree: float | None
    prior: FloatArray
    _arrays: ClassVar[dict[str, str]] = {
        "rows": "affinities n k",
        "scale": "nonnegative k",
        "mean_degree": "nonnegative?",
        "prior": "probabilities k",
    }

    @classmethod
    def of(cls, problem: Problem, found: Factorization) -> FittedRows:
        """Keep what the problem of a new row needs."""
        degrees, factor = problem.degrees, found.factor
        theta = problem.row_factors()
        return cls(
            rows=scaled_rows(factor, theta) if is_sparse(factor) else theta[:, None] * factor,
            scale=found.scale,
            mean_degree=None if degrees is None else float(np.mean(degrees)),
            prior=np.asarray(cls.fitted(problem, found).mean(axis=0)),
        )

    @staticmethod
    def fitted(problem: Problem, found: Factorization) -> FloatArray:
        """Memberships of the fitted objects."""
        return with_prior(found.factor, linkage(problem))

    def profiles(self) -> Matrix:
        """How similar the fitted objects are to each cluster, one column per cluster."""
        if is_sparse(self.rows):
            return self.rows * self.scale.astype(self.rows.dtype)[None, :]
        return self.rows * self.scale.astype(self.rows.dtype)

    def place(self, block: Matrix, degrees: FloatArray) -> Matrix:
        """Memberships of new objects.

        Parameters
        ----------
        block : array or CSR of shape (m, n)
            Normalized affinities of the new objects to the fitted ones.
        degrees : array of shape (m,)
            Sums of their affinities before normalization.
        """
        connected = degrees > 0
        theta = np.ones(len(degrees))
        if self.mean_degree:
            theta[connected] = np.sqrt(degrees[connected] / self.mean_degree)
        if is_sparse(self.rows):
            placed = place_sparse_rows(block, self.rows, self.scale, theta)
            return with_row(placed, ~connected | (np.diff(placed.indptr) == 0), self.prior)
        gram = np.asarray(self.rows.T @ self.rows, dtype=np.float64)
        linear = np.asarray(block @ self.rows, dtype=np.float64)
        linear = np.ascontiguousarray(linear * (self.scale / theta[:, None]))
        Q = np.outer(self.scale, self.scale) * gram
        inverse = _inverse(Q)
        placed = np.empty_like(linear)

        def solve(part: range) -> None:
            rows = slice(part.start, part.stop)
            placed[rows] = _solved(Q, inverse, linear[rows], self.prior)

        each(solve, pieces(len(placed), _ROWS))
        placed[~connected] = self.prior
        return placed.astype(self.rows.dtype)


def _inverse(Q: FloatArray) -> FloatArray | None:
    """The inverse of a positive definite matrix, or None if it is nearly singular."""
    try:
        values, vectors = np.linalg.eigh(Q)
    except np.linalg.LinAlgError:  # numbers that overflow, as a forged file may have them
        return None
    if not values[0] > _SINGULAR * values[-1]:
        return None
    return np.asarray((vectors / values) @ vectors.T)


def _solved(
    Q: FloatArray, inverse: FloatArray | None, linear: FloatArray, prior: FloatArray
) -> FloatArray:
    """The minima of w'Qw - 2c'w on the simplex, one for each row c of the linear terms.

    Where the minimum on the plane of sums of one has no negative share, it is the solution. The
    others are solved step by step.
    """
    rest: IntArray = np.arange(len(linear))
    if inverse is None:
        rows = np.tile(np.asarray(prior, dtype=np.float64), (len(linear), 1))
    else:
        rows = linear @ inverse
        share = inverse.sum(axis=0)
        rows += ((1.0 - rows.sum(axis=1)) / share.sum())[:, None] * share
        rest = np.flatnonzero(rows.min(axis=1) < 0.0)
    if len(rest):
        from soffit.factorize.simplex.kernels import solve_new_rows

        start = np.maximum(rows[rest], 0.0)
        start /= start.sum(axis=1, keepdims=True)
        solve_new_rows(Q, linear[rest], start)
        rows[rest] = start
    return rows


def linkage(problem: Problem) -> FloatArray:
    """How strongly each object is linked to others in the problem."""
    side = 0.0 if problem.side is None else np.asarray(abs(problem.side).sum(axis=1)).ravel()
    if problem.degrees is not None:
        return problem.degrees + side
    return problem.graph.degrees() - problem.graph.diagonal() + side


def with_prior(rows: Any, degrees: FloatArray) -> Any:
    """Isolated objects get the mean membership: there is no information about them."""
    isolated = degrees <= 0
    if not isolated.any():
        return rows
    if is_sparse(rows):
        k = rows.shape[1]
        return with_row(
            rows,
            isolated,
            rows[~isolated].mean(axis=0) if not isolated.all() else np.full(k, 1 / k),
        )
    rows = rows.copy()
    rows[isolated] = rows[~isolated].mean(axis=0) if not isolated.all() else 1.0 / rows.shape[1]
    return rows


def scaled_rows(rows: sp.csr_array, factors: FloatArray) -> sp.csr_array:
    """The rows of a CSR matrix, each times its factor."""
    data = rows.data * np.repeat(factors.astype(rows.dtype), np.diff(rows.indptr))
    return sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def with_row(rows: sp.csr_array, which: NDArray[np.bool_], row: FloatArray) -> sp.csr_array:
    """The same with one row in place of some."""
    if not which.any():
        return rows
    once = sp.csr_array(np.asarray(row, dtype=rows.dtype).reshape(1, -1))
    return replace_rows(rows, which, once[np.zeros(int(which.sum()), dtype=np.intp)])
