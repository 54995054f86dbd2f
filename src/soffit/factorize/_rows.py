"""Row blocks: exact minimisation over one object's memberships at a time (Gauss-Seidel).

The diagonal is left out, as Zass & Shashua propose, which makes each row's problem convex. A sweep
costs nnz(A) k + n k^2; the loss never rises, because rows and scale are minimised exactly in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray
from soffit.factorize._problem import Factorization, Problem
from soffit.factorize._scale import association, best_scale, loss, pair_gram, squared_norm

_BLOCK = 128
Callback = Callable[[int, float], None]


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
    if problem.diagonal:
        raise ValueError("The row-block solver leaves the diagonal out: set diagonal=False.")
    if problem.pair_weight is not None:
        from soffit.factorize._rows_weighted import solve_weighted_rows

        return solve_weighted_rows(
            problem, start, max_iter=max_iter, tol=tol, callback=callback
        )
    theta = problem.row_factors()
    dtype = problem.matrix.dtype
    W = np.array(start, dtype=dtype, order="C")
    U = theta[:, None] * W
    gram = _gram(U)
    norm = squared_norm(problem.matrix, diagonal=False)
    b = association(problem.matrix, U, diagonal=False)
    H = pair_gram(U, gram, diagonal=False)
    s = best_scale(problem, b, H)
    history = [loss(norm, b, H, s)]
    sweep = _sparse_sweep(problem, theta) if problem.is_sparse else _dense_sweep(problem, theta)
    stopped = False
    while len(history) <= max_iter and not stopped:
        b = sweep(W, U, s, gram)
        gram = _gram(U)  # afresh, so that rounding does not add up over the sweeps
        H = pair_gram(U, gram, diagonal=False)
        s = best_scale(problem, b, H)
        history.append(loss(norm, b, H, s))
        if callback is not None:
            callback(len(history) - 1, history[-1])
        stopped = history[-2] - history[-1] <= tol * max(history[-1], 1e-12 * norm)
    return Factorization(
        factor=W,
        scale=s,
        objective=history[-1],
        history=np.array(history),
        n_iter=len(history) - 1,
        stopped="converged" if stopped else "max_iter",
    )


def _gram(U: FloatArray) -> FloatArray:
    return np.asarray(U.T @ U, dtype=np.float64)


def _sparse_sweep(problem: Problem, theta: FloatArray) -> _Sweep:
    from soffit.factorize._kernels import sweep_sparse

    A = problem.matrix
    assert sp.issparse(A)

    def sweep(W: FloatArray, U: FloatArray, s: FloatArray, gram: FloatArray) -> FloatArray:
        return np.asarray(sweep_sparse(A.indptr, A.indices, A.data, W, U, theta, s, gram))

    return sweep


def _dense_sweep(problem: Problem, theta: FloatArray) -> _Sweep:
    """Products by BLAS for a block of rows, corrected inside for the rows already moved."""
    from soffit.factorize._kernels import sweep_block

    A = np.ascontiguousarray(problem.matrix)
    n = len(A)

    def sweep(W: FloatArray, U: FloatArray, s: FloatArray, gram: FloatArray) -> FloatArray:
        total = np.zeros(problem.n_clusters)
        for first in range(0, n, _BLOCK):
            rows = A[first : first + _BLOCK]
            earlier = rows[:, :first] @ U[:first]
            later = rows[:, first:] @ U[first:]
            old = U[first : first + _BLOCK].copy()
            total += sweep_block(first, rows, earlier, later, W, U, old, theta, s, gram)
        return total

    return sweep
