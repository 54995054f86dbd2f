"""Growth transformation of Rota Bulo & Pelillo (2010): multiplicative steps on the simplex.

As published, with one fix: eq. 7 divides by a sum that assumes rows summing to one, and therefore
amplifies their rounding errors at every step. Dividing by the sum of the numerators does not.
"""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray
from soffit.factorize.descent import Callback, Descent
from soffit.factorize.problem import (
    Factorization,
    Problem,
    best_scale,
    check_support,
    copy_start,
    exact_gram,
    loss,
    pair_gram,
)

# Iterations over which the gain is averaged, as rounding can hide the gain of a single one.
_WINDOW = 10


def solve_growth(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int = 10_000,
    tol: float = 1e-7,
    callback: Callback | None = None,
) -> Factorization:
    r"""Minimise the problem by the growth transformation, diagonal included.

    .. math:: W_{ic} \leftarrow W_{ic}\, \frac{\alpha n + [(A - \alpha W W^\top) W]_{ic}}
              {\sum_d W_{id} (\alpha n + [(A - \alpha W W^\top) W]_{id})}

    and then, for a single scale, the exact alpha of eq. 8. The loss never rises. A zero entry stays
    zero, so a start should be positive; thousands of iterations are usual. Converged when the last
    ten iterations lowered the loss by at most `tol` times its own value each.

    Parameters
    ----------
    problem : Problem
        What to fit: scale "none" or "single", diagonal included.
    start : array of shape (n, k)
        Rows on the simplex; not changed.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Relative decrease per iteration below which the search stops.
    callback : callable, optional
        Called as ``callback(iteration, loss)`` after every iteration; if it returns True, the
        search stops.

    Returns
    -------
    Factorization
        Factor, scale, loss, history and the reason for stopping.

    References
    ----------
    Rota Bulo and Pelillo, Probabilistic clustering using the Baum-Eagon inequality, ICPR 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, solve_growth
    >>> A = np.kron(np.eye(2), np.ones((3, 3)))
    >>> start = np.random.default_rng(5).dirichlet(np.ones(2), size=6)
    >>> found = solve_growth(Problem(A, 2, diagonal=True), start)
    >>> labels = found.factor.argmax(axis=1)
    >>> bool(labels[0] == labels[2] != labels[3] == labels[5])
    True
    """
    check_support("growth", problem)
    A = problem.matrix
    W = copy_start(problem, start)
    norm = problem.graph.squared_norm()
    product = A @ W
    gram, b, s = _statistics(problem, W, product)
    descent = Descent(loss(norm, b, gram**2, s), W, s, norm=norm, callback=callback)
    with descent:
        while descent.running(max_iter):
            W = _grow(W, product, gram, float(s[0]))
            product = A @ W
            gram, b, s = _statistics(problem, W, product)
            descent.record(loss(norm, b, gram**2, s), W, s)
            descent.stop_if_converged(tol, over=_WINDOW)
    return descent.result()


def _statistics(
    problem: Problem, W: FloatArray, product: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """W'W, the associations w_c'A w_c, and the corresponding scales (eq. 8)."""
    gram = exact_gram(W)
    b = np.einsum("ic,ic->c", W, product, dtype=np.float64)
    return gram, b, best_scale(problem, b, pair_gram(W, gram, diagonal=True))


def _grow(W: FloatArray, product: FloatArray, gram: FloatArray, alpha: float) -> FloatArray:
    """Eq. 7 for all rows at once; a row without growth is unchanged."""
    fitted = W @ (alpha * gram).astype(W.dtype)
    grown = W * np.maximum(alpha * len(W) + (product - fitted), 0.0)
    total = grown.sum(axis=1, keepdims=True)
    moved = np.divide(grown, total, out=W.copy(), where=total > 0)
    return np.asarray(moved, dtype=W.dtype)
