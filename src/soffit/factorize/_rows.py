"""Row blocks: exact minimisation over one object's memberships at a time (Gauss-Seidel).

The diagonal is left out, as Zass & Shashua propose, which makes each row's problem convex. A sweep
costs nnz(A) k + n k^2; the loss never rises, because rows and scale are minimised exactly in turn.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.sparse as sp

from soffit._threads import each
from soffit._typing import FloatArray
from soffit.factorize._descent import Callback, Descent
from soffit.factorize._problem import Factorization, Problem
from soffit.factorize._scale import (
    association,
    best_scale,
    exact_gram,
    loss,
    pair_gram,
    scale_limit,
    squared_norm,
)
from soffit.factorize._support import check_support, copy_start

# Rows whose products are formed at once, and the pieces in which threads form them.
_BLOCK = 128
_PIECE = 64
_SMALL = 2**18


class _Sweep(Protocol):
    def __call__(
        self, W: FloatArray, U: FloatArray, s: FloatArray, gram: FloatArray
    ) -> FloatArray: ...


def solve_rows(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int = 200,
    tol: float = 1e-5,
    callback: Callback | None = None,
) -> Factorization:
    """Minimise the problem by row blocks from a start with rows on the simplex.

    Stops as converged when a sweep lowers the loss by less than `tol` times its own value.

    Parameters
    ----------
    problem : Problem
        What to fit; its diagonal is left out.
    start : array of shape (n, k)
        Rows on the simplex; it is not changed.
    max_iter : int
        Largest number of sweeps.
    tol : float
        Relative decrease below which the search ends.
    callback : callable, optional
        Called as ``callback(iteration, loss)`` after every sweep.

    Returns
    -------
    Factorization
        Factor, scale, loss, history and the reason for stopping.
    """
    check_support("rows", problem)
    if problem.pair_weight is not None:
        from soffit.factorize._rows_weighted import solve_weighted_rows

        return solve_weighted_rows(problem, start, max_iter=max_iter, tol=tol, callback=callback)
    theta = problem.row_factors()
    W = copy_start(problem, start)
    U = theta[:, None] * W
    gram = exact_gram(U)
    norm = squared_norm(problem.matrix, diagonal=False)
    limit = scale_limit(problem)
    b = association(problem.matrix, U, diagonal=False)
    H = pair_gram(U, gram, diagonal=False)
    s = best_scale(problem, b, H, limit=limit)
    side = _Side(problem)
    descent = Descent(loss(norm, b, H, s) + side.loss(W), norm=norm, callback=callback)
    make_sweep = _sparse_sweep if problem.is_sparse else _dense_sweep
    sweep = make_sweep(problem, theta, side)
    converged = False
    while descent.n_iter < max_iter and not converged:
        b = sweep(W, U, s, gram)
        gram = exact_gram(U)  # afresh, so that rounding does not add up over the sweeps
        H = pair_gram(U, gram, diagonal=False)
        s = best_scale(problem, b, H, limit=limit, previous=s)
        descent.record(loss(norm, b, H, s) + side.loss(W))
        converged = descent.settled(tol)
    return descent.result(W, s, converged=converged)


class _Side:
    """Side information as the sweeps read it, and its part of the loss."""

    def __init__(self, problem: Problem) -> None:
        S = problem.side
        n = problem.n_objects
        self._matrix = sp.csr_array((n, n), dtype=problem.matrix.dtype) if S is None else S
        self._most = float(np.maximum(self._matrix.data, 0.0).sum(dtype=np.float64))
        self.arrays = (self._matrix.indptr, self._matrix.indices, self._matrix.data)

    def loss(self, W: FloatArray) -> float:
        """What pairs lose by being apart (must-link) or together (cannot-link)."""
        if self._matrix.nnz == 0:
            return 0.0
        together = np.einsum("ic,ic->", W, self._matrix @ W, dtype=np.float64)
        return self._most - float(together)


def _sparse_sweep(problem: Problem, theta: FloatArray, side: _Side) -> _Sweep:
    from soffit.factorize._kernels import sweep_sparse

    A = problem.matrix
    assert isinstance(A, sp.csr_array)

    def sweep(W: FloatArray, U: FloatArray, s: FloatArray, gram: FloatArray) -> FloatArray:
        return np.asarray(
            sweep_sparse(A.indptr, A.indices, A.data, *side.arrays, W, U, theta, s, gram)
        )

    return sweep


def _dense_sweep(problem: Problem, theta: FloatArray, side: _Side) -> _Sweep:
    """Products by BLAS for a block of rows, corrected inside for the rows already moved."""
    from soffit.factorize._kernels import sweep_block

    A = np.ascontiguousarray(problem.matrix)
    n, k = len(A), problem.n_clusters
    earlier, later = np.empty((_BLOCK, k), dtype=A.dtype), np.empty((_BLOCK, k), dtype=A.dtype)

    def sweep(W: FloatArray, U: FloatArray, s: FloatArray, gram: FloatArray) -> FloatArray:
        total = np.zeros(k)
        for first in range(0, n, _BLOCK):
            rows = A[first : first + _BLOCK]
            _products(rows, U, first, earlier, later)
            old = U[first : first + _BLOCK].copy()
            total += sweep_block(
                first, rows, earlier, later, *side.arrays, W, U, old, theta, s, gram
            )
        return total

    return sweep


def _products(
    rows: FloatArray, U: FloatArray, first: int, earlier: FloatArray, later: FloatArray
) -> None:
    """Products of a block of rows with the objects before it, and with itself and those after."""

    def multiply(piece: int) -> None:
        part = slice(piece, min(piece + _PIECE, len(rows)))
        np.matmul(rows[part, :first], U[:first], out=earlier[part])
        np.matmul(rows[part, first:], U[first:], out=later[part])

    # Small products are done before a second thread has begun.
    each(multiply, range(0, len(rows), _PIECE), 1 if rows.size < _SMALL else None)
