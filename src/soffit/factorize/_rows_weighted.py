"""Row blocks where every pair of objects has a weight of its own, zero for unknown pairs.

Only the pairs with a positive weight are stored and visited: a sweep costs k^2 for each of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray, Matrix
from soffit.factorize._descent import Callback, Descent
from soffit.factorize._problem import Factorization, Problem
from soffit.factorize._scale import best_scale, loss, scale_limit
from soffit.factorize._support import check_support, copy_start


class KnownPairs(NamedTuple):
    """CSR arrays of the pairs i != j with positive weight: A's values and the weights."""

    indptr: IntArray
    indices: IntArray
    values: FloatArray
    weights: FloatArray


def solve_weighted_rows(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int = 200,
    tol: float = 1e-5,
    callback: Callback | None = None,
) -> Factorization:
    """Minimise the weighted problem by row blocks; what `solve_rows` does with pair weights.

    The loss never rises. A row without any known pair keeps its start. Stops as converged when a
    sweep lowers the loss by at most `tol` times its own value.

    Parameters
    ----------
    problem : Problem
        What to fit, with pair weights; its diagonal is left out, degrees are not supported.
    start : array of shape (n, k)
        Rows on the simplex; it is not changed.
    max_iter : int
        Largest number of sweeps.
    tol : float
        Relative decrease below which the search ends.
    callback : callable, optional
        Called as ``callback(iteration, loss)`` after every sweep; if it returns True, the
        search ends.

    Returns
    -------
    Factorization
        Factor, scale, loss, history and the reason for stopping.
    """
    check_support("rows", problem)
    from soffit.factorize._kernels import pair_statistics, sweep_weighted

    W = copy_start(problem, start)
    pairs = known_pairs(problem)
    norm = float(np.einsum("p,p,p->", pairs.weights, pairs.values, pairs.values, dtype=np.float64))
    limit = scale_limit(problem)
    b, H = pair_statistics(*pairs, W)
    s = best_scale(problem, b, H, limit=limit)
    descent = Descent(loss(norm, b, H, s), W, s, norm=norm, callback=callback)
    with descent:
        while descent.goes_on(max_iter):
            sweep_weighted(*pairs, W, s)
            b, H = pair_statistics(*pairs, W)
            s = best_scale(problem, b, H, limit=limit, previous=s)
            descent.record(loss(norm, b, H, s), W, s)
            descent.settle(tol)
    if descent.interrupted:
        b, H = pair_statistics(*pairs, W)
        descent.amend(loss(norm, b, H, s), W, s)
    return descent.result()


def known_pairs(problem: Problem) -> KnownPairs:
    """The pairs that count, with A's values looked up on them; the weights are made symmetric."""
    if problem.pair_weight is None:
        raise ValueError("The problem has no pair_weight; use solve_rows.")
    weight = sp.coo_array(problem.pair_weight, dtype=problem.matrix.dtype)
    if not (weight.data.min(initial=0.0) >= 0.0 and np.isfinite(weight.data).all()):
        raise ValueError("pair_weight must be nonnegative and finite; use zero for unknown pairs.")
    rows, columns = weight.coords
    counts = (rows != columns) & (weight.data > 0)
    places = (rows[counts], columns[counts])
    # The average of m_ij and m_ji gives the same loss, as A is symmetric.
    half = sp.csr_array((0.5 * weight.data[counts], places), shape=weight.shape)
    pairs = sp.csr_array(half + half.T)
    pairs.sort_indices()
    return KnownPairs(pairs.indptr, pairs.indices, _lookup(problem.matrix, pairs), pairs.data)


def _lookup(A: Matrix, pattern: sp.csr_array) -> FloatArray:
    """A's values at the stored places of the pattern, in their order."""
    n = A.shape[0]
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(pattern.indptr))
    if not isinstance(A, sp.csr_array):
        return np.asarray(A[rows, pattern.indices])
    A = A.copy()
    A.sum_duplicates()
    stored = np.repeat(np.arange(n, dtype=np.int64), np.diff(A.indptr)) * n + A.indices
    wanted = rows * n + pattern.indices
    place = np.minimum(np.searchsorted(stored, wanted), max(len(stored) - 1, 0))
    values = np.zeros(len(wanted), dtype=A.dtype)
    if len(stored):
        found = stored[place] == wanted
        values[found] = A.data[place[found]]
    return values
