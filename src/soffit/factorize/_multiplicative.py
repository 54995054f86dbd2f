"""The published update of Zass & Shashua (2005): one ratio for each entry of G, in turn."""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray
from soffit.factorize._descent import Callback
from soffit.factorize._nonnegative import check_targets, descend
from soffit.factorize._problem import Factorization, Problem
from soffit.factorize._support import check_support


def solve_multiplicative(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callback | None = None,
) -> Factorization:
    r"""Minimise the problem by the published multiplicative update, entry by entry.

    .. math:: G_{ir} \leftarrow G_{ir} \frac{\sum_{j \ne i} m_{ij} F_{ij} G_{jr}}
              {\sum_{j \ne i} m_{ij} (G G^\top)_{ij} G_{jr}}

    in the order of the rows (eq. 6; with pair weights eq. 7). The loss never rises. The paper
    says that this ends at a local minimum, but an entry that is zero stays zero, so a start should
    be positive throughout; and eq. 7 is monotone only if the diagonal has no weight, which is
    therefore left out always. Where the ratio is 0/0, because no other object shares the column,
    the entry has no part in the loss and becomes zero.

    Stops as converged when a sweep lowers the loss by at most `tol` times its own value.

    Parameters
    ----------
    problem : Problem
        What to fit: constraint "nonnegative", scale "none", no negative entries.
    start : array of shape (n, k)
        Positive; it is not changed.
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
    >>> from soffit.factorize import Problem, solve_multiplicative
    >>> F = np.kron(np.eye(2), np.ones((3, 3)))
    >>> start = np.random.default_rng(5).random((6, 2))
    >>> found = solve_multiplicative(Problem(F, 2, constraint="nonnegative"), start)
    >>> labels = found.factor.argmax(axis=1)
    >>> bool(labels[0] == labels[2] != labels[3] == labels[5])
    True

    References
    ----------
    R. Zass, A. Shashua (2005). A unifying approach to hard and probabilistic clustering. ICCV.
    """
    check_support("multiplicative", problem)
    check_targets("multiplicative", problem)
    return descend(
        problem, start, exact=False, limit=np.inf, max_iter=max_iter, tol=tol, callback=callback
    )
