"""Exact minimisation over one entry of G at a time, all others held."""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray
from soffit.factorize._descent import Callback
from soffit.factorize._nonnegative import descend, pair_range
from soffit.factorize._problem import Factorization, Problem
from soffit.factorize._support import check_support

# The largest entry of G, in units of the root of the largest similarity; clusters stay near 1.
_LARGEST = 3.0


def solve_coordinate(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callback | None = None,
) -> Factorization:
    r"""Minimise the problem by exact steps over the entries of G, row by row.

    .. math:: G_{ir} \leftarrow \min\Big(L, \max\Big(0, \frac{\sum_{j \ne i} m_{ij} G_{jr}
              \big(F_{ij} - \sum_{s \ne r} G_{is} G_{js}\big)}{\sum_{j \ne i} m_{ij} G_{jr}^2}
              \Big)\Big)

    Without the diagonal, a column held by one object and traces of others fits that object's
    similarities ever better as its entry grows and the traces shrink: the problem has no minimum.
    Entries are therefore kept at most :math:`L = 3 \sqrt{\max_{i \ne j} F_{ij}}` (those of a
    cluster are near a third of this), or where they started, if higher. The loss never rises.
    Zeros are left again where that pays, and negative entries of F are allowed.

    Stops as converged when a sweep lowers the loss by at most `tol` times its own value.

    Parameters
    ----------
    problem : Problem
        What to fit: constraint "nonnegative", scale "none".
    start : array of shape (n, k)
        Nonnegative; it is not changed.
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
        Factor, scale (ones), loss, history and the reason for stopping.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, solve_coordinate
    >>> F = np.kron(np.eye(2), np.ones((3, 3)))
    >>> start = np.random.default_rng(5).random((6, 2))
    >>> found = solve_coordinate(Problem(F, 2, constraint="nonnegative"), start)
    >>> bool(np.allclose(found.factor @ found.factor.T, F, atol=1e-2))
    True
    """
    check_support("coordinate", problem)
    return descend(
        problem,
        start,
        exact=True,
        limit=largest_entry(problem),
        max_iter=max_iter,
        tol=tol,
        callback=callback,
    )


def largest_entry(problem: Problem) -> float:
    """L, from the largest similarity of two objects."""
    return _LARGEST * float(np.sqrt(pair_range(problem)[1]))
